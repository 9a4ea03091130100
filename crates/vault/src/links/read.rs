//! Reading of links and names. Rows of items that the reader may not see, or that were deleted, are
//! left out here, so that no later step needs to check it.

use std::{collections::HashMap, sync::Arc};

use rusqlite::named_params;
use vademecum_model::{SourceName, Uri, json_list};
use vademecum_source::{ItemStatements, Source, SourceError};
use vademecum_store::Reader;

use super::{
    LinkKey, LinkKind, LinkName, LinkPlace, NameKind, QuotingItem, StoredLink, StoredName,
    front_matter::uri_key,
    item_rows::{ItemPlace, item_links},
    link::read_place,
    quotes::{find_quoted, find_quoting, quotable_text},
};

/// Maximum number of rows that one lookup reads.
const MAX_ROWS: i64 = 20_000;
/// An address in more items of a source than this is not looked up as a shared one.
const MAX_SHARING_ITEMS: i64 = 100;

/// A request for links and names of one source.
#[derive(Clone, Debug, Default)]
pub struct LinkLookup {
    /// Items whose links are read from their texts.
    pub links_of: Vec<String>,
    /// Items whose names are read.
    pub names_of: Vec<String>,
    /// Item whose text is read, in the form in which quotes are looked up.
    pub text_of: Option<String>,
    /// Keys whose names are read.
    pub keys: Vec<LinkKey>,
    /// Items that are named by their URIs.
    pub uris: Vec<Uri>,
    /// Keys whose links are read.
    pub linked_keys: Vec<LinkKey>,
    /// Kinds of the links that are read; empty for all.
    pub kinds: Vec<LinkKind>,
    /// Keys of web addresses whose links are read as [`LinkRows::shared`].
    pub shared_keys: Vec<LinkKey>,
    /// Item that is compared with the items of the source, by its quotes and theirs.
    pub quoting_item: Option<Arc<QuotingItem>>,
}

impl LinkLookup {
    /// Returns `true` if nothing is looked up.
    pub fn is_empty(&self) -> bool {
        let items = [&self.links_of, &self.names_of].into_iter().all(Vec::is_empty);
        let keys = [&self.keys, &self.linked_keys, &self.shared_keys].into_iter();
        items
            && keys.into_iter().all(Vec::is_empty)
            && self.uris.is_empty()
            && self.text_of.is_none()
            && self.quoting_item.is_none()
    }
}

/// Links and names of one source, of visible items only.
#[derive(Clone, Debug, Default)]
pub struct LinkRows {
    /// Links in the requested items with their contexts, and links with the requested keys without.
    pub links: Vec<StoredLink>,
    /// Names of the requested items, and names with the requested keys.
    pub names: Vec<StoredName>,
    /// Places of the items with the links, and of those whose names were requested.
    pub places: HashMap<Uri, LinkPlace>,
    /// Text of the item of which it was requested, with single spaces between its words.
    pub text: Option<String>,
    /// Links to the addresses in `shared_keys`.
    pub shared: Vec<StoredLink>,
    /// Numbers of the quotes of the quoting item, and items with their text.
    pub quoted: Vec<(usize, Uri)>,
    /// Quotes of other items that are in the text of the quoting item.
    pub quoting: Vec<StoredLink>,
    /// Titles of all these items.
    pub titles: HashMap<Uri, String>,
    /// Number of links of the requested items that are not read because they have too many.
    pub omitted: usize,
}

impl LinkRows {
    /// Adds the rows of another source.
    pub fn extend(&mut self, other: Self) {
        self.links.extend(other.links);
        self.names.extend(other.names);
        self.places.extend(other.places);
        self.text = self.text.take().or(other.text);
        self.shared.extend(other.shared);
        self.quoted.extend(other.quoted);
        self.quoting.extend(other.quoting);
        self.titles.extend(other.titles);
        self.omitted += other.omitted;
    }
}

/// Reads links and names.
pub fn read_link_rows(
    source: &dyn Source,
    reader: &Reader<'_>,
    lookup: &LinkLookup,
) -> Result<LinkRows, SourceError> {
    let Some(statements) = source.item_statements() else { return Ok(LinkRows::default()) };
    let name = source.name();
    let mut rows = LinkRows::default();
    let is_superseding = |kind| LinkKind::SUPERSEDING.contains(kind);
    if !lookup.kinds.is_empty() && lookup.kinds.iter().all(is_superseding) {
        read_superseding_links(name, reader, lookup, &mut rows)?;
    } else {
        for id in &lookup.links_of {
            read_links_of_text(source, reader, (id, lookup), &mut rows)?;
        }
    }
    read_linking_rows(name, reader, lookup, &mut rows)?;
    read_names(name, reader, lookup, &mut rows)?;
    if let Some(item) = &lookup.quoting_item {
        compare_quotes(source, reader, item, &mut rows)?;
    }
    keep_visible(statements, reader, &mut rows)?;
    match &lookup.text_of {
        Some(id) if !rows.titles.contains_key(&Uri::item(name, id.as_str())) => rows.text = None,
        Some(id) if rows.text.is_none() => {
            rows.text = Some(quotable_text(&source.load_draft(reader, id)?.body));
        }
        _ => {}
    }
    Ok(rows)
}

/// Reads the links of an item from its text, and the text if it is requested.
fn read_links_of_text(
    source: &dyn Source,
    reader: &Reader<'_>,
    (id, lookup): (&str, &LinkLookup),
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
    let draft = match source.load_draft(reader, id) {
        Ok(draft) => draft,
        // It is deleted, or hidden from this reader.
        Err(SourceError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let place = ItemPlace::stored(reader, source.name(), id, &draft.body)?;
    let uri = Uri::item(source.name(), id);
    let extracted = item_links(&draft.body, &place);
    rows.omitted += extracted.omitted;
    let links = extracted.links.into_iter();
    let links = links.filter(|it| lookup.kinds.is_empty() || lookup.kinds.contains(&it.kind));
    rows.links.extend(links.map(|link| StoredLink { from: uri.clone(), link }));
    rows.places.insert(uri, place.link_place());
    if lookup.text_of.as_deref() == Some(id) {
        rows.text = Some(quotable_text(&draft.body));
    }
    Ok(())
}

/// Reads the links by which the requested items supersede others, or are superseded.
fn read_superseding_links(
    source: SourceName,
    reader: &Reader<'_>,
    lookup: &LinkLookup,
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
    let Some(list) = json_list(&lookup.links_of) else { return Ok(()) };
    let parameters = named_params! { ":source": source.as_str(), ":list": list, ":most": MAX_ROWS };
    let sql = include_str!("sql/superseding_of_items.sql");
    let mut found = read_placed_links(source, reader, (sql, parameters), rows)?;
    found.retain(|it| lookup.kinds.contains(&it.link.kind));
    rows.links.extend(found);
    Ok(())
}

/// Reads the links to keys, and those to shared addresses.
fn read_linking_rows(
    source: SourceName,
    reader: &Reader<'_>,
    lookup: &LinkLookup,
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
    let address = LinkKind::Address.number();
    let addresses = include_str!("sql/addresses_with_keys.sql");
    if let Some(list) = key_list(source, &lookup.linked_keys) {
        let kinds = lookup.kinds.iter().map(|kind| kind.number());
        let kinds = (!lookup.kinds.is_empty()).then(|| number_list(kinds));
        let parameters = named_params! { ":list": list, ":kinds": kinds, ":most": MAX_ROWS };
        let sql = include_str!("sql/links_with_keys.sql");
        let links = read_placed_links(source, reader, (sql, parameters), rows)?;
        rows.links.extend(links);
        if lookup.kinds.is_empty() || lookup.kinds.contains(&LinkKind::Address) {
            let parameters = named_params! {
                ":list": list, ":kind": address, ":most_items": None::<i64>, ":most": MAX_ROWS,
            };
            let links = read_placed_links(source, reader, (addresses, parameters), rows)?;
            rows.links.extend(links);
        }
    }
    if let Some(list) = key_list(source, &lookup.shared_keys) {
        let parameters = named_params! {
            ":list": list, ":kind": address, ":most_items": MAX_SHARING_ITEMS, ":most": MAX_ROWS,
        };
        rows.shared = read_placed_links(source, reader, (addresses, parameters), rows)?;
    }
    Ok(())
}

/// Reads links, and the places of the items that contain them.
fn read_placed_links(
    source: SourceName,
    reader: &Reader<'_>,
    (sql, parameters): (&str, &[(&str, &dyn rusqlite::ToSql)]),
    rows: &mut LinkRows,
) -> Result<Vec<StoredLink>, SourceError> {
    let placed = reader.query_all(sql, parameters, |row| {
        Ok((StoredLink::from_row(source, row)?, read_place(row)?))
    })?;
    let mut links = Vec::with_capacity(placed.len());
    for (link, (path, space)) in placed {
        rows.places.entry(link.from.clone()).or_insert(LinkPlace { path, space });
        links.push(link);
    }
    Ok(links)
}

/// Returns the JSON list of the stored form of keys; `None` without keys.
fn key_list(source: SourceName, keys: &[LinkKey]) -> Option<String> {
    (!keys.is_empty()).then(|| number_list(keys.iter().map(|key| key.in_source(source))))
}

fn number_list(numbers: impl Iterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// Reads the names of items, and the names with keys.
fn read_names(
    source: SourceName,
    reader: &Reader<'_>,
    lookup: &LinkLookup,
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
    if let Some(list) = json_list(&lookup.names_of) {
        let parameters =
            named_params! { ":source": source.as_str(), ":list": list, ":most": MAX_ROWS };
        let sql = include_str!("sql/names_of_items.sql");
        rows.names = reader.query_all(sql, parameters, |row| StoredName::from_row(source, row))?;
        for StoredName { uri, name } in &rows.names {
            let place = || LinkPlace { path: name.path.clone(), space: name.space.clone() };
            rows.places.entry(uri.clone()).or_insert_with(place);
        }
    }
    if let Some(list) = key_list(source, &lookup.keys) {
        let parameters = named_params! { ":list": list, ":most": MAX_ROWS };
        let sql = include_str!("sql/names_with_keys.sql");
        rows.names
            .extend(reader.query_all(sql, parameters, |row| StoredName::from_row(source, row))?);
    }
    let named = lookup.uris.iter().filter(|uri| uri.source == source).cloned();
    let own = lookup.names_of.iter().map(|id| Uri::item(source, id.as_str()));
    rows.names.extend(named.chain(own).filter_map(uri_name));
    Ok(())
}

/// Compares the quotes of an item with the texts of a source, and its text with their quotes.
fn compare_quotes(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &QuotingItem,
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
    for (number, quote) in item.quotes.iter().enumerate() {
        let found = find_quoted(source, reader, &item.uri, quote)?;
        rows.quoted.extend(found.into_iter().map(|uri| (number, uri)));
    }
    if !item.text.is_empty() {
        rows.quoting = find_quoting(source, reader, &item.text)?;
        rows.quoting.retain(|link| link.from != item.uri);
    }
    Ok(())
}

/// Returns the name that the URI of an item is.
pub(super) fn uri_name(uri: Uri) -> Option<StoredName> {
    let key = LinkKey::of(&uri_key(&uri.to_string())?);
    let (path, space) = (String::new(), String::new());
    Some(StoredName { uri, name: LinkName { kind: NameKind::Uri, key, name: key, path, space } })
}

/// Removes the rows of items that do not exist for the reader, and adds the titles of the others.
fn keep_visible(
    statements: &ItemStatements,
    reader: &Reader<'_>,
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
    let named = rows.names.iter().map(|name| &name.uri);
    let quoted = rows.quoted.iter().map(|(_, uri)| uri);
    let linking = rows.links.iter().chain(&rows.shared).chain(&rows.quoting);
    let mut items: Vec<Uri> =
        linking.map(|link| &link.from).chain(named).chain(quoted).cloned().collect();
    items.sort_unstable();
    items.dedup();
    for item in items {
        let id = named_params! { ":id": item.id };
        let title: Option<Option<String>> =
            reader.query_first(statements.title_sql, id, |row| row.get("title"))?;
        if let Some(title) = title {
            rows.titles.insert(item, title.unwrap_or_default());
        }
    }
    for links in [&mut rows.links, &mut rows.shared, &mut rows.quoting] {
        links.retain(|link| rows.titles.contains_key(&link.from));
    }
    rows.quoted.retain(|(_, uri)| rows.titles.contains_key(uri));
    rows.names.retain(|name| rows.titles.contains_key(&name.uri));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vademecum_model::Deadline;
    use vademecum_store::{Database, Store};

    #[test]
    fn lookups_read_no_other_rows() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        for (sql, conditions) in [
            (include_str!("sql/links_with_keys.sql"), &["(key=?)", "(rowid=?)"][..]),
            (include_str!("sql/addresses_with_keys.sql"), &["(key=?)", "(rowid=?)"]),
            (include_str!("sql/superseding_of_items.sql"), &["(source=? AND item=?)", "(item=?)"]),
            (include_str!("sql/names_of_items.sql"), &["(source=? AND item=?)", "(item=?)"]),
            (include_str!("sql/names_with_keys.sql"), &["(key=?)", "(rowid=?)"]),
            (include_str!("sql/quotes.sql"), &["(key=?)", "(rowid=?)"]),
            (include_str!("sql/origins.sql"), &["(source=? AND item=?)"]),
        ] {
            let plan = format!("EXPLAIN QUERY PLAN {sql}");
            let steps = store.read(Deadline::after(Duration::from_mins(1)), |reader| {
                reader.query_all(&plan, &[], |row| row.get::<_, String>("detail"))
            });
            let steps = steps.unwrap();
            let reads_all = |step: &&String| {
                step.starts_with("SCAN ")
                    && !step.contains("VIRTUAL TABLE")
                    && !step.contains("CONSTANT")
                    && !step.starts_with("SCAN (subquery")
            };
            assert_eq!(steps.iter().find(reads_all), None, "{sql}");
            for condition in conditions {
                assert!(steps.iter().any(|step| step.contains(condition)), "{steps:?}: {sql}");
            }
        }
    }
}
