//! Lists of the items of a source without a query.
//!
//! A statement returns all items that pass the filters, with short columns that an index has. One pass
//! over its rows counts them, counts their facets, and keeps the first in the requested order.

use std::collections::{HashMap, HashSet};

use rusqlite::{Row, named_params, types::ValueRef};
use serde_json::Value;
use vademecum_model::{
    Facet, FacetCounts, ItemName, ListOrder, ListRequest, ListedItem, Listing, NameForm, Uri,
};
use vademecum_store::{Parameters, Reader, StoreError};

use crate::folder_counts::FolderCounts;

/// Length of a month in a date: `2026-01`.
const MONTH_BYTES: usize = 7;

/// The statements of a source that list its items.
#[derive(Clone, Copy, Debug)]
pub struct ListStatements {
    /// Returns `key`, `id`, `title`, `created_at`, `last_modified`, `folders` (names, one a line), `origin` (if
    /// folders are counted) and `type` of all items that pass the filters, also of hidden ones.
    pub list_sql: &'static str,
    /// Returns `tag` and `items`, their number, for each tag of the items with an `id` in the JSON list
    /// `:ids`.
    pub list_tags_sql: &'static str,
    /// Returns `key`, `id` and `priority` of at most `:most` items with a name, as described at
    /// [`ItemName::forms`].
    pub find_sql: &'static str,
}

/// Lists the items of a source that are not in `hidden`, the rows that the reader may not see, in
/// ascending order. `read_uri` reads the URI of a row.
pub(crate) fn list_items(
    reader: &Reader<'_>,
    request: &ListRequest,
    statements: &ListStatements,
    (parameters, hidden): (&Parameters<'_>, &[i64]),
    read_uri: impl Fn(&Row<'_>) -> rusqlite::Result<Uri>,
) -> Result<Listing, StoreError> {
    let mut first = FirstItems::new(request.order, request.take);
    let mut facets: FacetCounts =
        request.facets.iter().map(|facet| (*facet, HashMap::default())).collect();
    let mut folders = FolderCounts::default();
    let mut ids = Vec::new();
    let mut total = 0;
    reader.for_each_row(statements.list_sql, parameters, |row| {
        if !hidden.is_empty() && hidden.binary_search(&row.get("key")?).is_ok() {
            return Ok(());
        }
        if let Some(only) = &request.only
            && !is_among(row, only)?
        {
            return Ok(());
        }
        total += 1;
        if facets.contains_key(&Facet::Tags) {
            ids.push(match row.get_ref("id")? {
                ValueRef::Integer(id) => Value::from(id),
                id => Value::from(id.as_str()?),
            });
        }
        count_facets(row, &mut facets)?;
        if facets.contains_key(&Facet::Folders) {
            folders.add(column_text(row, "origin")?, column_text(row, "folders")?);
        }
        first.push_row(row, &read_uri)
    })?;
    if let Some(counts) = facets.get_mut(&Facet::Folders) {
        *counts = folders.finish();
    }
    if let Some(tags) = facets.get_mut(&Facet::Tags) {
        let ids = Value::from(ids).to_string();
        let counted =
            reader.query_all(statements.list_tags_sql, named_params! { ":ids": ids }, |row| {
                Ok((row.get("tag")?, row.get::<_, i64>("items")?))
            })?;
        tags.extend(counted.into_iter().map(|(tag, n)| (tag, usize::try_from(n).unwrap_or(0))));
    }
    Ok(Listing { items: first.finish(), total, facets })
}

/// Returns whether the item of a row is one of these.
fn is_among(row: &Row<'_>, items: &HashSet<String>) -> rusqlite::Result<bool> {
    Ok(match row.get_ref("id")? {
        ValueRef::Integer(id) => items.contains(&id.to_string()),
        id => items.contains(id.as_str()?),
    })
}

/// Counts the facets that a row itself has.
fn count_facets(row: &Row<'_>, facets: &mut FacetCounts) -> rusqlite::Result<()> {
    for (facet, counts) in facets {
        let mut count = |value: &str| match counts.get_mut(value) {
            Some(number) => *number += 1,
            None => drop(counts.insert(value.to_owned(), 1)),
        };
        match facet {
            Facet::Types => {
                Some(column_text(row, "type")?).filter(|it| !it.is_empty()).map(&mut count);
            }
            Facet::Months => {
                column_text(row, "last_modified")?.get(..MONTH_BYTES).map(&mut count);
            }
            // Tags have a statement of their own, and the total counts the source.
            Facet::Tags | Facet::Folders | Facet::Sources => {}
        }
    }
    Ok(())
}

/// Returns a column as text without copying it; NULL as an empty text.
fn column_text<'r>(row: &'r Row<'_>, column: &str) -> rusqlite::Result<&'r str> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => "",
        value => value.as_str()?,
    })
}

/// The first items of a list. Ties are broken by the key: the last added first.
struct FirstItems {
    order: ListOrder,
    take: usize,
    kept: Vec<ListedItem>,
    /// Whether `kept` is sorted and has `take` items, so that its last item is a bound.
    is_full: bool,
}

impl FirstItems {
    fn new(order: ListOrder, take: usize) -> Self {
        Self { order, take, kept: Vec::new(), is_full: false }
    }

    /// Adds a row if it may be among the first.
    fn push_row(
        &mut self,
        row: &Row<'_>,
        read_uri: &impl Fn(&Row<'_>) -> rusqlite::Result<Uri>,
    ) -> rusqlite::Result<()> {
        if self.take == 0 {
            return Ok(());
        }
        let key: i64 = row.get("key")?;
        let lower_title;
        let sort_key = match self.order {
            ListOrder::Modified => column_text(row, "last_modified")?,
            ListOrder::Created => column_text(row, "created_at")?,
            ListOrder::Title => {
                lower_title = column_text(row, "title")?.to_lowercase();
                &lower_title
            }
        };
        let bound = self.kept.get(self.take - 1).filter(|_| self.is_full);
        let is_beyond = bound.is_some_and(|last| {
            self.order.compare(sort_key, &last.sort_key).then(last.key.cmp(&key)).is_gt()
        });
        if !is_beyond {
            self.kept.push(ListedItem { key, uri: read_uri(row)?, sort_key: sort_key.to_owned() });
            if self.kept.len() >= self.take.saturating_mul(2).max(64) {
                self.prune();
            }
        }
        Ok(())
    }

    fn prune(&mut self) {
        let order = self.order;
        self.kept.sort_by(|one, other| {
            order.compare(&one.sort_key, &other.sort_key).then(other.key.cmp(&one.key))
        });
        self.kept.truncate(self.take);
        self.is_full = self.kept.len() == self.take;
    }

    fn finish(mut self) -> Vec<ListedItem> {
        self.prune();
        self.kept
    }
}

/// Returns at most `most` items with a name, newest first. Items that have it exactly come without
/// those that have it in another form.
pub(crate) fn find_items(
    reader: &Reader<'_>,
    name: &ItemName,
    most: usize,
    find_sql: &str,
    read_uri: impl Fn(&Row<'_>) -> rusqlite::Result<Uri>,
) -> Result<Vec<ListedItem>, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    for NameForm { title, path, urls } in name.forms() {
        let parameters = named_params! {
            ":most": most, ":title": title, ":path": path, ":url": urls,
        };
        let found = reader.query_all(find_sql, parameters, |row| {
            let (key, uri) = (row.get("key")?, read_uri(row)?);
            let item = ListedItem { key, uri, sort_key: String::new() };
            Ok((row.get::<_, Option<i64>>("priority")?, item))
        })?;
        let best = found.first().map(|(priority, _)| *priority);
        if best.is_some() {
            let same = found.into_iter().filter(|(priority, _)| Some(*priority) == best);
            return Ok(same.map(|(_, item)| item).collect());
        }
    }
    Ok(Vec::new())
}
