//! Reading of links and names. Rows of items that the reader may not see, or that were deleted, are
//! left out here, so that no later step needs to check it.

use std::{collections::HashMap, sync::Arc};

use rusqlite::named_params;
use vademecum_model::{SourceName, Uri, json_list};
use vademecum_source::{ItemStatements, Source, SourceError};
use vademecum_store::Reader;

use super::{
    LinkKind, LinkName, NameKind, QuotingItem, StoredLink, StoredName,
    quotes::{find_quoted, find_quoting, quotable_text},
};

/// Maximum number of rows that one lookup reads.
const MAX_ROWS: i64 = 20_000;

/// A request for links and names of one source.
#[derive(Clone, Debug, Default)]
pub struct LinkLookup {
    /// Items whose links are read.
    pub links_of: Vec<String>,
    /// Items whose names are read.
    pub names_of: Vec<String>,
    /// Item whose text is read, in the form in which quotes are looked up.
    pub text_of: Option<String>,
    /// Keys whose names are read.
    pub keys: Vec<String>,
    /// Keys whose links are read, with the names of the items that contain them.
    pub linked_keys: Vec<String>,
    /// Kinds of the links that are read; empty for all.
    pub kinds: Vec<LinkKind>,
    /// Keys of web addresses whose links are read as [`LinkRows::shared`].
    pub shared_keys: Vec<String>,
    /// Item that is compared with the items of the source, by its quotes and theirs.
    pub quoting_item: Option<Arc<QuotingItem>>,
}

impl LinkLookup {
    /// Returns `true` if nothing is looked up.
    pub fn is_empty(&self) -> bool {
        let lists =
            [&self.links_of, &self.names_of, &self.keys, &self.linked_keys, &self.shared_keys];
        lists.into_iter().all(Vec::is_empty)
            && self.text_of.is_none()
            && self.quoting_item.is_none()
    }
}

/// Links and names of one source, of visible items only.
#[derive(Clone, Debug, Default)]
pub struct LinkRows {
    /// Links in the requested items, and links with the requested keys.
    pub links: Vec<StoredLink>,
    /// Names of the requested items, and names with the requested keys.
    pub names: Vec<StoredName>,
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
}

impl LinkRows {
    /// Adds the rows of another source.
    pub fn extend(&mut self, other: Self) {
        self.links.extend(other.links);
        self.names.extend(other.names);
        self.text = self.text.take().or(other.text);
        self.shared.extend(other.shared);
        self.quoted.extend(other.quoted);
        self.quoting.extend(other.quoting);
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
    let links = |list: &[String], kinds: &[LinkKind], sql| -> Result<_, SourceError> {
        let Some(list) = json_list(list) else { return Ok(Vec::new()) };
        let kinds: Vec<String> = kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
        let parameters = named_params! {
            ":source": name.as_str(), ":list": list, ":kinds": json_list(&kinds), ":most": MAX_ROWS,
        };
        Ok(reader.query_all(sql, parameters, |row| StoredLink::from_row(name, row))?)
    };
    let with_keys = include_str!("sql/links_with_keys.sql");
    rows.links = links(&lookup.links_of, &lookup.kinds, include_str!("sql/links_of_items.sql"))?;
    rows.links.extend(links(&lookup.linked_keys, &lookup.kinds, with_keys)?);
    rows.shared = links(&lookup.shared_keys, &[LinkKind::Address], with_keys)?;
    read_names(name, reader, lookup, &mut rows)?;
    if let Some(item) = &lookup.quoting_item {
        compare_quotes(source, reader, item, &mut rows)?;
    }
    keep_visible(statements, reader, &mut rows)?;
    if let Some(id) = &lookup.text_of
        && rows.titles.contains_key(&Uri::item(name, id.as_str()))
    {
        rows.text = Some(quotable_text(&source.load_draft(reader, id)?.body));
    }
    Ok(rows)
}

/// Reads the names of items, also of those with the links to keys, and the names with keys.
fn read_names(
    source: SourceName,
    reader: &Reader<'_>,
    lookup: &LinkLookup,
    rows: &mut LinkRows,
) -> Result<(), SourceError> {
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
            named_params! { ":source": source.as_str(), ":list": list, ":most": MAX_ROWS };
        rows.names
            .extend(reader.query_all(sql, parameters, |row| StoredName::from_row(source, row))?);
    }
    rows.names.extend(lookup.keys.iter().filter_map(|key| uri_name(source, key)));
    let uri_key = |id: &String| format!("uri:{}", Uri::item(source, id.as_str()));
    let own = lookup.names_of.iter().filter_map(|id| uri_name(source, &uri_key(id)));
    rows.names.extend(own);
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
    use rusqlite::Connection;

    #[test]
    fn lookups_read_no_other_rows() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE imported (item TEXT)").unwrap();
        connection
            .execute_batch(include_str!("../../../../schemas/sqlite/shared/links.sql"))
            .unwrap();
        for (sql, condition) in [
            (include_str!("sql/links_of_items.sql"), "source=? AND item=?"),
            (include_str!("sql/links_with_keys.sql"), "key=? AND source=?"),
            (include_str!("sql/names_of_items.sql"), "source=? AND item=?"),
            (include_str!("sql/names_with_keys.sql"), "key=? AND source=?"),
            (include_str!("sql/quotes.sql"), "key=? AND source=?"),
        ] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps: Vec<String> = plan
                .raw_query()
                .mapped(|row| row.get("detail"))
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert!(steps.iter().any(|step| step.contains(condition)), "{steps:?}: {sql}");
        }
    }
}
