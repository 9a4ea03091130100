//! Provenance of the items that agents wrote, stored beside them.

use std::collections::HashMap;

use rusqlite::named_params;
use serde_json::json;
use vademecum_model::{ContentOrigin, DerivedFrom, Hit, OriginSet, Provenance, SourceName};
use vademecum_store::{Reader, StoreError, Writer};

use crate::{
    Source,
    import_origins::{imported_items, shown_path},
};

/// Deletes all rows about an item.
const DELETE_SQL: &str = "DELETE FROM provenance WHERE source = :source AND item = :item";
/// Inserts a row about an item.
const INSERT_SQL: &str = "INSERT OR REPLACE INTO provenance (source, item, kind, name, origin) \
     VALUES (:source, :item, :kind, :name, :origin)";

/// Rows to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProvenanceRows {
    /// Without the items that agents had been shown.
    WithoutItems,
    /// All.
    All,
}

/// Returns the provenance of these items. Items that no agent wrote are absent.
pub fn read_provenance(
    reader: &Reader<'_>,
    source: SourceName,
    items: &[&str],
    rows: ProvenanceRows,
) -> Result<HashMap<String, Provenance>, StoreError> {
    let mut found: HashMap<String, Provenance> = HashMap::new();
    if items.is_empty() {
        return Ok(found);
    }
    reader.for_each_row(
        include_str!("sql/provenance.sql"),
        named_params! {
            ":items": json!(items).to_string(),
            ":source": source.as_str(),
            ":with_uris": rows == ProvenanceRows::All,
        },
        |row| {
            let known = found.entry(row.get("item")?).or_default();
            let (kind, name): (String, String) = (row.get("kind")?, row.get("name")?);
            // An origin of a newer program is not known here, and so may be any.
            let origin = |name: &str| name.parse().unwrap_or(ContentOrigin::Unknown);
            match kind.as_str() {
                "agent" => known.agents.push(name),
                "origin" => known.origins.insert(origin(&name)),
                _ => {
                    let origin = origin(&row.get::<_, String>("origin")?);
                    known
                        .derived_from
                        .extend(name.parse().ok().map(|uri| DerivedFrom { uri, origin }));
                }
            }
            Ok(())
        },
    )?;
    for known in found.values_mut() {
        known.derived_from.sort_by_key(|from| std::cmp::Reverse(from.origin));
    }
    Ok(found)
}

/// Adds to the provenance of an item.
pub fn add_provenance(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    added: &Provenance,
) -> Result<(), StoreError> {
    if added.is_empty() {
        return Ok(());
    }
    let known = writer
        .with_reader(|reader| read_provenance(reader, source, &[item], ProvenanceRows::All))?;
    let known = known.into_values().next().unwrap_or_default();
    let mut all = known.clone();
    all.merge(added);
    // An item is not derived from itself.
    all.derived_from.retain(|from| from.uri.source != source || from.uri.id != item);
    if all == known {
        return Ok(());
    }
    writer.execute(DELETE_SQL, named_params! { ":source": source.as_str(), ":item": item })?;
    let insert = |kind: &str, name: &str, origin: &str| {
        let parameters = named_params! {
            ":source": source.as_str(), ":item": item, ":kind": kind, ":name": name,
            ":origin": origin,
        };
        writer.execute(INSERT_SQL, parameters).map(drop)
    };
    for agent in &all.agents {
        insert("agent", agent, "")?;
    }
    for origin in all.origins.iter() {
        insert("origin", origin.as_str(), "")?;
    }
    for from in &all.derived_from {
        insert("uri", &from.uri.to_string(), from.origin.as_str())?;
    }
    Ok(())
}

/// Adds the provenance of one item to that of another, which has its text.
pub fn copy_provenance(
    writer: &Writer<'_>,
    source: SourceName,
    from: &str,
    to: &str,
) -> Result<(), StoreError> {
    let known = writer
        .with_reader(|reader| read_provenance(reader, source, &[from], ProvenanceRows::All))?;
    known.get(from).map_or(Ok(()), |known| add_provenance(writer, source, to, known))
}

/// Sets where the contents of hits of a source come from, their files, and which agents wrote them.
pub fn set_content_origins<'h>(
    reader: &Reader<'_>,
    source: SourceName,
    hits: impl IntoIterator<Item = &'h mut Hit>,
) -> Result<(), StoreError> {
    let hits: Vec<&mut Hit> = hits.into_iter().collect();
    let all: Vec<&str> = hits.iter().map(|hit| hit.uri.id.as_str()).collect();
    let (imported, written) = match source {
        // Agents write no documents of collections, and no import brings them.
        SourceName::Collections => (HashMap::new(), HashMap::new()),
        _ => (
            imported_items(reader, source, &all)?,
            read_provenance(reader, source, &all, ProvenanceRows::WithoutItems)?,
        ),
    };
    for hit in hits {
        let own = match hit.known_origin() {
            Some(origin) => origin,
            None if imported.contains_key(&hit.uri.id) => ContentOrigin::ImportedFile,
            None => ContentOrigin::Own,
        };
        hit.origin = own;
        let origin = imported.get(&hit.uri.id);
        hit.path = origin.and_then(|origin| shown_path(origin, hit.folder.as_deref()));
        let Some(known) = written.get(&hit.uri.id) else { continue };
        // A text of a stranger stays one after a change by an agent.
        hit.origin = own.max(ContentOrigin::Agent);
        hit.agents.clone_from(&known.agents);
        let from = known.origins.iter().filter(|origin| *origin != ContentOrigin::Agent);
        hit.derived_origins = from.collect();
    }
    Ok(())
}

/// Sets what the agents that wrote a read item had been shown. Documents of collections are not named:
/// who sees them may have changed.
pub fn set_derived_from(reader: &Reader<'_>, hit: &mut Hit) -> Result<(), StoreError> {
    if hit.agents.is_empty() {
        return Ok(());
    }
    let (source, id) = (hit.uri.source, hit.uri.id.as_str());
    let known = read_provenance(reader, source, &[id], ProvenanceRows::All)?;
    let shown = known.into_values().flat_map(|known| known.derived_from);
    hit.derived_from = shown.filter(|from| from.uri.source != SourceName::Collections).collect();
    Ok(())
}

/// Returns the origins of all that is in these items: where each comes from, and what its agents had
/// been shown. Items that never existed are absent.
pub fn origins_of_items(
    reader: &Reader<'_>,
    source: &dyn Source,
    items: &[&str],
) -> Result<HashMap<String, OriginSet>, StoreError> {
    let Some(statements) = source.item_statements() else { return Ok(HashMap::new()) };
    let imported = imported_items(reader, source.name(), items)?;
    let written = read_provenance(reader, source.name(), items, ProvenanceRows::WithoutItems)?;
    let mut found = HashMap::new();
    for item in items {
        let kind =
            reader.query_first(statements.kind_sql, named_params! { ":id": item }, |row| {
                let (media_type, url): (Option<String>, Option<String>) =
                    (row.get("media_type")?, row.get("url")?);
                Ok(ContentOrigin::of_document(media_type.as_deref(), url.as_deref()))
            })?;
        let Some(kind) = kind else { continue };
        let mut origins = written.get(*item).map_or_else(OriginSet::default, |known| known.origins);
        origins.insert(match kind {
            Some(origin) => origin,
            None if imported.contains_key(*item) => ContentOrigin::ImportedFile,
            None => ContentOrigin::Own,
        });
        found.insert((*item).to_owned(), origins);
    }
    Ok(found)
}
