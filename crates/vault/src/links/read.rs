//! Reading of links and names. Rows of items that the reader may not see, or that were deleted, are
//! left out here, so that no later step needs to check it.

use std::collections::HashMap;

use rusqlite::named_params;
use vademecum_model::{SourceName, Uri, json_list};
use vademecum_source::{ItemStatements, Source, SourceError};
use vademecum_store::Reader;

use super::{LinkKind, LinkName, NameKind, StoredLink, StoredName};

/// Maximum number of rows that one lookup reads.
const MAX_ROWS: i64 = 20_000;

/// A request for links and names of one source.
#[derive(Clone, Debug, Default)]
pub struct LinkLookup {
    /// Items whose links are read.
    pub links_of: Vec<String>,
    /// Items whose names are read.
    pub names_of: Vec<String>,
    /// Keys whose names are read.
    pub keys: Vec<String>,
    /// Keys whose links are read, with the names of the items that contain them.
    pub linked_keys: Vec<String>,
    /// Kinds of the links that are read; empty for all.
    pub kinds: Vec<LinkKind>,
}

impl LinkLookup {
    /// Returns `true` if nothing is looked up.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.links_of, &self.names_of, &self.keys, &self.linked_keys];
        lists.into_iter().all(Vec::is_empty)
    }
}

/// Links and names of one source, of visible items only.
#[derive(Clone, Debug, Default)]
pub struct LinkRows {
    /// The links.
    pub links: Vec<StoredLink>,
    /// The names.
    pub names: Vec<StoredName>,
    /// Titles of all items in `links` and `names`.
    pub titles: HashMap<Uri, String>,
}

impl LinkRows {
    /// Adds the rows of another source.
    pub fn extend(&mut self, other: Self) {
        self.links.extend(other.links);
        self.names.extend(other.names);
        self.titles.extend(other.titles);
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
    let kinds: Vec<String> = lookup.kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
    for (list, sql) in [
        (&lookup.links_of, include_str!("sql/links_of_items.sql")),
        (&lookup.linked_keys, include_str!("sql/links_with_keys.sql")),
    ] {
        let Some(list) = json_list(list) else { continue };
        let parameters = named_params! {
            ":source": name.as_str(), ":list": list, ":kinds": json_list(&kinds), ":most": MAX_ROWS,
        };
        rows.links
            .extend(reader.query_all(sql, parameters, |row| StoredLink::from_row(name, row))?);
    }
    let mut named = lookup.names_of.clone();
    if !lookup.linked_keys.is_empty() {
        named.extend(rows.links.iter().map(|link| link.from.id.clone()));
        named.sort_unstable();
        named.dedup();
    }
    for (list, sql) in [
        (&named, include_str!("sql/names_of_items.sql")),
        (&lookup.keys, include_str!("sql/names_with_keys.sql")),
    ] {
        let Some(list) = json_list(list) else { continue };
        let parameters =
            named_params! { ":source": name.as_str(), ":list": list, ":most": MAX_ROWS };
        rows.names
            .extend(reader.query_all(sql, parameters, |row| StoredName::from_row(name, row))?);
    }
    rows.names.extend(lookup.keys.iter().filter_map(|key| uri_name(name, key)));
    rows.names.extend(
        lookup
            .names_of
            .iter()
            .filter_map(|id| uri_name(name, &format!("uri:{}", Uri::item(name, id.as_str())))),
    );
    keep_visible(statements, reader, &mut rows)?;
    Ok(rows)
}

/// Returns the name that the URI of an item of this source is; `None` for another key.
fn uri_name(source: SourceName, key: &str) -> Option<StoredName> {
    let uri: Uri = key.strip_prefix("uri:")?.parse().ok().filter(|it: &Uri| it.source == source)?;
    let name = LinkName {
        kind: NameKind::Uri,
        key: key.to_owned(),
        name: key.to_owned(),
        path: String::new(),
        space: String::new(),
    };
    Some(StoredName { uri, name })
}

/// Removes the rows of items that do not exist for the reader, and adds the titles of the others.
fn keep_visible(
    statements: &ItemStatements,
    reader: &Reader<'_>,
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
    let named = rows.names.iter().map(|name| &name.uri);
    let mut items: Vec<Uri> =
        rows.links.iter().map(|link| &link.from).chain(named).cloned().collect();
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
    rows.links.retain(|link| rows.titles.contains_key(&link.from));
    rows.names.retain(|name| rows.titles.contains_key(&name.uri));
    Ok(())
}
