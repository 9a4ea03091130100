//! The [`Source`] trait.
//!
//! A source is synchronous and offline. It does not rank across sources, paginate, keep session
//! state or check permissions. It receives the database of one user and cannot reach any other.

use std::{fmt::Debug, sync::Arc};

use rusqlite::{Row, ToSql, named_params};
use vademecum_model::{
    Change, ChangedItem, CorpusStatistics, Draft, Edit, Facet, Filters, FtsTable, Hit, ItemId,
    ItemName, ItemVersion, ListRequest, ListedItem, Listing, SaveOutcome, SourceName, SourceStats,
    StoredPrompt, Suggestions, TagChange, Uri, json_list,
};
use vademecum_search::{FtsQuery, GetRequest, HitRequest, Item, RankRequest, Ranking};
use vademecum_store::{
    Database, DerivedFtsTable, FilterStatements, Reader, Store, StoreError, Writer,
};

use crate::{
    IdType, ListStatements, RankPlan, SimilarWord, SourceError, compare_names,
    import_origins::remove_imported,
    listing::{find_items, list_items},
    rank::{cached_statistics, rank_table},
    searched_columns::searched_columns,
    spelling::find_similar_words,
    suggest::suggest_items,
};

/// Returns a row if some item supersedes another one.
const HAS_SUPERSESSIONS_SQL: &str =
    "SELECT 1 FROM links INDEXED BY links_superseding WHERE kind IN (11, 12) LIMIT 1";

/// Named parameters of a `passes` statement.
pub type FilterParameters = Vec<(&'static str, Box<dyn ToSql>)>;

/// Returns the parameters `:after`, `:before` and `:tags`, which all sources have.
pub fn shared_parameters(filters: &Filters) -> FilterParameters {
    vec![
        (":after", Box::new(filters.after)),
        (":before", Box::new(filters.before)),
        (":tags", Box::new(json_list(&filters.tags))),
    ]
}

/// Statements that every source with a table of items has in the same form. The default methods of
/// [`Source`] run them.
#[derive(Clone, Copy, Debug)]
pub struct ItemStatements {
    /// Type of the identifiers.
    pub id_type: IdType,
    /// Returns `id` and `last_modified` of the match `:key`.
    pub identify_sql: &'static str,
    /// Suggests items, as described at [`suggest_items`].
    pub suggest_sql: &'static str,
    /// Statements that list items and find them by name.
    pub list: ListStatements,
    /// Lists the versions of all items, as described at [`Reader::query_item_versions`].
    pub versions_sql: &'static str,
    /// Selects `version` and `deleted` of the item `:id`.
    pub version_sql: &'static str,
    /// Sets the `:version` of the item `:id`.
    pub set_version_sql: &'static str,
    /// Selects `media_type` and `url` of the item `:id`, also of a deleted one; `NULL` for items that
    /// have none.
    pub kind_sql: &'static str,
    /// Selects the `title` of the item `:id`, if the reader sees it.
    pub title_sql: &'static str,
    /// Returns a row if the match `:key` passes the filters in [`Source::filter_parameters`].
    pub passes_sql: &'static str,
    /// Returns a row if some item has a tag.
    pub tagged_sql: &'static str,
    /// Lists the full-text rows that a restricted reader may not see, as described at
    /// [`Reader::hidden_rows`].
    pub hidden_sql: &'static str,
    /// Counts the items, as described at [`Reader::query_source_stats`].
    pub stats_sql: &'static str,
    /// Marks the item `:id` as deleted and returns its full-text rowid as `row`.
    pub remove_sql: &'static str,
    /// Statements by which a sync with other machines finds changed items.
    pub sync: SyncStatements,
    /// Statements that check and rebuild the full-text table.
    pub derived_fts_table: DerivedFtsTable,
}

/// Statements that compare the items of a source with their state at the last sync, `sync_items`.
#[derive(Clone, Copy, Debug)]
pub struct SyncStatements {
    /// Lists at most `:limit` changed items after the row `:after`: `row`, `id`, `stamp`, and their
    /// `number` if they were synced before.
    pub changed_sql: &'static str,
    /// Lists at most `:limit` deleted items: `number` and `id`.
    pub gone_sql: &'static str,
    /// Selects the `stamp` of the item `:id`; no row for a deleted item.
    pub stamp_sql: &'static str,
}

/// A searchable collection of items that can be read and extended.
pub trait Source: Debug + Send + Sync + 'static {
    /// Returns the name by which URIs and tools refer to the source.
    fn name(&self) -> SourceName;

    /// Returns the user database that stores the items.
    fn database(&self) -> Database;

    /// Returns the full-text table and the columns that the filters select. An empty list selects
    /// all columns.
    fn searched_table(&self, filters: &Filters) -> (&'static FtsTable, Vec<&'static str>);

    /// Returns the statements for the default methods; `None` if the source has no table of items.
    fn item_statements(&self) -> Option<&'static ItemStatements> {
        None
    }

    /// Returns the statements that check and rebuild the full-text table, or `None` if the table
    /// cannot be rebuilt from rows.
    fn derived_fts_table(&self) -> Option<DerivedFtsTable> {
        self.item_statements().map(|statements| statements.derived_fts_table)
    }

    /// Returns the full-text rows that do not exist for the caller, in ascending order.
    fn hidden_rows(&self, reader: &Reader<'_>) -> Result<Arc<[i64]>, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(Arc::default()) };
        Ok(reader.hidden_rows(statements.hidden_sql)?)
    }

    /// Ranks the matches without loading their content.
    ///
    /// The order is total and does not depend on the limit. Relevance order sorts by score, then
    /// last modification, then URI. Scores are raw BM25 values.
    fn rank_matches(&self, reader: &Reader<'_>, ask: &RankRequest) -> Result<Ranking, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(Ranking::default()) };
        let (table, columns) = self.searched_table(&ask.filters);
        let columns = searched_columns(table, columns, &ask.query);
        let hidden = self.hidden_rows(reader)?;
        let mut parameters = self.filter_parameters(&ask.filters);
        parameters.push((":items", Box::new(ask.filters.items_parameter())));
        let parameters: Vec<_> =
            parameters.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        let plan = RankPlan {
            table,
            columns: &columns,
            filter: (ask.filters.exclude_items() || self.has_unlisted_items(reader)?).then_some(
                FilterStatements {
                    row_sql: statements.passes_sql,
                    all_sql: None,
                    parameters: &parameters,
                },
            ),
            hidden: &hidden,
            identify_sql: self.identify_sql(&ask.filters),
            read_uri: &|row| compare_names(ask, row, self.read_uri(row)?),
        };
        let ranking = rank_table(reader, ask, &plan)?;
        let superseding = HAS_SUPERSESSIONS_SQL;
        let has_supersessions = reader.query_first(superseding, &[], |_| Ok(()))?.is_some();
        Ok(Ranking { has_supersessions, ..ranking })
    }

    /// Returns whether there are items that pass no filter unless it asks for them.
    fn has_unlisted_items(&self, _reader: &Reader<'_>) -> Result<bool, SourceError> {
        Ok(false)
    }

    /// Returns whether no item has a tag. A restricted caller never learns of it, because hidden
    /// items may have some.
    fn lacks_tags(&self, reader: &Reader<'_>) -> Result<bool, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(false) };
        Ok(self.hidden_rows(reader)?.is_empty()
            && reader.query_first(statements.tagged_sql, &[], |_| Ok(()))?.is_none())
    }

    /// Returns the parameters of the statement `passes` besides `:key`.
    fn filter_parameters(&self, filters: &Filters) -> FilterParameters {
        shared_parameters(filters)
    }

    /// Returns the statement that identifies the match `:key`.
    fn identify_sql(&self, _: &Filters) -> &'static str {
        self.item_statements().map_or("", |statements| statements.identify_sql)
    }

    /// Reads the URI of a match from a row of [`Self::identify_sql`].
    fn read_uri(&self, row: &Row<'_>) -> rusqlite::Result<Uri> {
        let id_type = self.item_statements().map_or(IdType::Texts, |statements| statements.id_type);
        id_type.read_uri(self.name(), row)
    }

    /// Returns the cached statistics of a query, or `None` if any part is not cached. Reads no
    /// file.
    fn cached_statistics(
        &self,
        store: &Store,
        query: &FtsQuery,
        filters: &Filters,
    ) -> Option<CorpusStatistics> {
        let (table, columns) = self.searched_table(filters);
        let columns = searched_columns(table, columns, query);
        cached_statistics(&*store.index_cache(table)?, query, table, &columns)
    }

    /// Returns stored words that are similar to the given words, which are not stored themselves.
    fn similar_words(
        &self,
        reader: &Reader<'_>,
        words: &[String],
    ) -> Result<Vec<SimilarWord>, SourceError> {
        let table = self.searched_table(&Filters::default()).0;
        let hidden = self.hidden_rows(reader)?;
        Ok(find_similar_words(reader, table, words, &hidden)?)
    }

    /// Lists the items that pass the filters, without a query and without loading their content. The
    /// order is total.
    fn list_items(
        &self,
        reader: &Reader<'_>,
        request: &ListRequest,
    ) -> Result<Listing, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(Listing::default()) };
        let parameters = self.list_parameters(request);
        let parameters: Vec<_> =
            parameters.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        let read_uri = |row: &Row<'_>| statements.id_type.read_uri(self.name(), row);
        let hidden = self.hidden_rows(reader)?;
        let rows = (&*parameters, &*hidden);
        let mut listing = list_items(reader, request, &statements.list, rows, read_uri)?;
        if let Some(sources) = listing.facets.get_mut(&Facet::Sources)
            && listing.total > 0
        {
            sources.insert(self.name().to_string(), listing.total);
        }
        Ok(listing)
    }

    /// Returns the parameters of the statement `list`.
    fn list_parameters(&self, request: &ListRequest) -> FilterParameters {
        shared_parameters(&request.filters)
    }

    /// Returns at most `most` items with a name, best first.
    fn find_items(
        &self,
        reader: &Reader<'_>,
        name: &ItemName,
        most: usize,
    ) -> Result<Vec<ListedItem>, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(Vec::new()) };
        let read_uri = |row: &Row<'_>| statements.id_type.read_uri(self.name(), row);
        Ok(find_items(reader, name, most, statements.list.find_sql, read_uri)?)
    }

    /// Loads matches for a result list, in the given order. Items deleted since ranking are
    /// omitted.
    fn load_hits(&self, reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError>;

    /// Loads one item, with as much of its text as `get` requests.
    fn load_item(&self, reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError>;

    /// Loads one item as a draft that recreates it with the same identifier. The draft's origin is
    /// the item's URI.
    fn load_draft(&self, reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError>;

    /// Inserts an item, or updates the item that has the same origin.
    fn save_draft(&self, writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError>;

    /// Marks the item of a vanished origin as deleted and removes it from search. Returns whether
    /// the origin had an item.
    fn remove_origin(&self, writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(false) };
        let table = self.searched_table(&Filters::default()).0;
        remove_imported(writer, self.name(), origin, |id| {
            let this = named_params! { ":id": id };
            let row = writer.query_first(statements.remove_sql, this, |row| row.get("row"))?;
            let Some(row) = row else { return Ok(()) };
            writer.index_row(
                table,
                row,
                statements.derived_fts_table.unindex_sql,
                named_params! { ":key": row },
            )
        })
    }

    /// Replaces all fields of an item, and restores it if it was deleted. The origin of the draft is
    /// ignored. Sources whose items have no versions return an error.
    fn replace_item(
        &self,
        _writer: &Writer<'_>,
        _id: &str,
        _draft: &Draft,
    ) -> Result<(), SourceError> {
        Err(SourceError::Refused(format!("items in `{}` have no earlier versions", self.name())))
    }

    /// Applies a change that a user requested, without recording it. An earlier version is restored
    /// by `journal::apply_change` only.
    fn apply_change(
        &self,
        writer: &Writer<'_>,
        change: &Change,
    ) -> Result<ChangedItem, SourceError> {
        match change {
            Change::Add(draft) => self.insert_item(writer, draft),
            Change::Tag { id, tagging } => self.tag_item(writer, id, tagging),
            Change::Edit { id, version, edit } => self.edit_item(writer, id, *version, edit),
            Change::Restore { id, .. } => Err(SourceError::not_found("version", id)),
        }
    }

    /// Inserts an item written in the library. Sources that are not writable return an error.
    fn insert_item(
        &self,
        _writer: &Writer<'_>,
        _draft: &Draft,
    ) -> Result<ChangedItem, SourceError> {
        Err(SourceError::Refused(format!("source `{}` does not accept new items", self.name())))
    }

    /// Changes the tags of an item. Sources without tags return an error.
    fn tag_item(
        &self,
        _writer: &Writer<'_>,
        _id: &ItemId,
        _tagging: &TagChange,
    ) -> Result<ChangedItem, SourceError> {
        Err(SourceError::Refused(format!("items in `{}` have no tags", self.name())))
    }

    /// Edits or deletes an item if it is at the given `version`. Sources that are not editable
    /// return an error.
    fn edit_item(
        &self,
        _writer: &Writer<'_>,
        _id: &ItemId,
        _version: Option<i64>,
        _edit: &Edit,
    ) -> Result<ChangedItem, SourceError> {
        Err(SourceError::Refused(format!("items in `{}` cannot be edited", self.name())))
    }

    /// Returns the item kinds and the number of items of each kind. Empty for sources without
    /// kinds.
    fn item_kinds(&self, _reader: &Reader<'_>) -> Result<Vec<(String, usize)>, SourceError> {
        Ok(Vec::new())
    }

    /// Returns the items whose identifier starts with `typed` or whose title contains words
    /// starting with it, best match first. Empty input returns all items, newest first.
    fn suggest_items(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(Suggestions::default()) };
        let (table, ids) = (self.searched_table(&Filters::default()).0, statements.id_type);
        Ok(suggest_items(reader, table, ids, statements.suggest_sql, typed, most)?)
    }

    /// Returns the keywords that start with `typed`, most used first. Empty for sources that cannot
    /// be searched by keyword.
    fn suggest_keywords(
        &self,
        _reader: &Reader<'_>,
        _typed: &str,
        _most: usize,
    ) -> Result<Suggestions, SourceError> {
        Ok(Suggestions::default())
    }

    /// Returns the stored prompts, sorted by name. Empty for sources without prompts.
    fn list_prompts(&self, _reader: &Reader<'_>) -> Result<Vec<StoredPrompt>, SourceError> {
        Ok(Vec::new())
    }

    /// Returns the version of every item, for callers that track changes.
    fn list_item_versions(&self, reader: &Reader<'_>) -> Result<Vec<ItemVersion>, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(Vec::new()) };
        Ok(reader.query_item_versions(statements.versions_sql)?)
    }

    /// Returns whether an item passes the filters regardless of the query, or `None` if that
    /// depends on which part matches.
    fn passes_filters(
        &self,
        reader: &Reader<'_>,
        filters: &Filters,
        key: i64,
    ) -> Result<Option<bool>, SourceError> {
        let Some(statements) = self.item_statements().filter(|_| !filters.depend_on_match()) else {
            return Ok((*filters == Filters::default()).then_some(true));
        };
        let values = self.filter_parameters(filters);
        let items = filters.items_parameter();
        let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":key", &key), (":items", &items)];
        parameters.extend(values.iter().map(|(name, value)| (*name, value.as_ref())));
        let found = reader.query_first(statements.passes_sql, &parameters, |_| Ok(()))?;
        Ok(Some(found.is_some()))
    }

    /// Returns whether some rows may still have the form of an earlier version.
    fn has_earlier_rows(&self, _reader: &Reader<'_>) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Brings the next rows of an earlier version into the present form. Returns whether there are more.
    /// [`update_all_earlier_rows`](crate::update_all_earlier_rows) calls this until there are none.
    fn update_earlier_rows(&self, _writer: &Writer<'_>) -> Result<bool, SourceError> {
        Ok(false)
    }

    /// Returns item and passage counts.
    fn source_stats(&self, reader: &Reader<'_>) -> Result<SourceStats, SourceError> {
        let Some(statements) = self.item_statements() else { return Ok(SourceStats::default()) };
        Ok(reader.query_source_stats(statements.stats_sql)?)
    }
}
