//! A source with its own store in a temporary folder.

use std::{sync::Arc, time::Duration};

use vademecum_model::{
    Change, ChangedItem, CorpusStatistics, Deadline, Draft, Filters, Hit, ItemId, Order,
    PageRequest, Preferences, Retrieval, RetrievalOptions, SaveOutcome, Suggestions,
};
use vademecum_replication::FollowedData;
use vademecum_search::{FtsQuery, GetRequest, HitRequest, RankRequest, RankedMatch, Ranking};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Durability, Replication as _, Store, StoreError, Writer};

/// Result of loading an item.
type LoadItemResult = Result<vademecum_search::Item, SourceError>;

/// A source with its own store in a temporary folder.
#[derive(Debug)]
pub struct SourceFixture<S> {
    /// The source under test.
    pub source: S,
    pub(crate) store: Store,
    pub(crate) folder: tempfile::TempDir,
}

impl<S: Source> SourceFixture<S> {
    /// Creates an empty store for `source`.
    pub fn new(source: S) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(source.database(), folder.path());
        Self { source, store, folder }
    }

    /// Creates a store for `source` that follows an archive as a library of `ada`.
    pub fn following(source: S, archive: &FollowedData) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(source.database(), folder.path());
        Self { source, store: archive.follow_library(store, "ada"), folder }
    }

    /// Returns all rows of the plain tables, as text.
    pub(crate) fn dump_rows(&self) -> Vec<String> {
        let tables = "SELECT name FROM pragma_table_list
                      WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'
                        AND name NOT IN ('archive_state', 'fts_versions')
                      ORDER BY name";
        let tables = self.query_lines(tables, |row| row.get::<_, String>("name"));
        let rows = tables.iter().flat_map(|table| {
            self.query_lines(&format!("SELECT * FROM \"{table}\""), |row| {
                let columns = row.as_ref().column_count();
                let values =
                    (0..columns).map(|column| row.get_ref(column).map(|it| format!("{it:?}")));
                Ok(format!("{table} {}", values.collect::<Result<Vec<_>, _>>()?.join(" | ")))
            })
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        rows
    }

    /// Returns the words of the full-text table with the number of their rows and occurrences.
    pub(crate) fn dump_words(&self) -> Vec<String> {
        let Some(table) = self.source.derived_fts_table() else { return Vec::new() };
        let words = table.table.replace("_fts", "_words");
        self.query_lines(&format!("SELECT term, doc, cnt FROM {words} ORDER BY term"), |row| {
            let (word, rows, count): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(format!("{word} {rows} {count}"))
        })
    }

    fn query_lines(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<String>,
    ) -> Vec<String> {
        self.read(|reader| Ok(reader.query_all(sql, &[], read)?)).expect("the statement runs")
    }

    /// Creates a store for `source` and saves the given drafts.
    pub fn with_drafts(source: S, drafts: &[Draft]) -> Self {
        let bench = Self::new(source);
        for draft in drafts {
            bench.save_draft(draft);
        }
        bench
    }

    /// Saves one draft. Panics if saving fails.
    pub fn save_draft(&self, draft: &Draft) -> SaveOutcome {
        self.try_save_draft(draft).expect("the draft is saved")
    }

    /// Saves one draft and returns the result.
    pub fn try_save_draft(&self, draft: &Draft) -> Result<SaveOutcome, SourceError> {
        self.store.write(Durability::Bulk, |writer| self.source.save_draft(writer, draft))
    }

    /// Applies a change with full durability.
    pub fn apply_change(&self, change: &Change) -> Result<ChangedItem, SourceError> {
        self.store.write(Durability::Full, |writer| self.source.apply_change(writer, change))
    }

    /// Ranks by relevance without filters.
    pub fn rank(&self, query: &str, take: usize) -> Ranking {
        self.rank_with(query, Filters::default(), Order::Relevance, take)
    }

    /// Ranks with the given filters and order, and normalises the scores.
    pub fn rank_with(&self, query: &str, filters: Filters, order: Order, take: usize) -> Ranking {
        let query = Arc::new(FtsQuery::parse(query));
        let request = RankRequest {
            query,
            filters,
            order,
            limit: take,
            other_statistics: CorpusStatistics::default(),
            threshold: None,
            named: None,
        };
        let mut ranking = self
            .read(|reader| self.source.rank_matches(reader, &request))
            .expect("the source ranks");
        ranking.normalise(ranking.best_score);
        ranking
    }

    /// Searches with filters and returns the hits.
    pub fn search_with(&self, query: &str, filters: Filters) -> Vec<Hit> {
        let ranked = self.rank_with(query, filters.clone(), Order::Relevance, 100).ranked;
        self.load_hits(query, filters, ranked, 300)
    }

    /// Searches without filters and returns the hits.
    pub fn search(&self, query: &str) -> Vec<Hit> {
        self.search_with(query, Filters::default())
    }

    /// Loads one item.
    pub fn load_item(&self, id: impl Into<ItemId>, options: RetrievalOptions) -> LoadItemResult {
        self.load_item_page(id, options, None)
    }

    /// Loads one item, or one page of it.
    pub fn load_item_page(
        &self,
        id: impl Into<ItemId>,
        options: RetrievalOptions,
        page: Option<PageRequest>,
    ) -> LoadItemResult {
        let retrieval = Retrieval::resolve(options, &Preferences::default());
        let get =
            GetRequest { id: id.into(), part: None, retrieval, page, recent_queries: Vec::new() };
        self.read(|reader| self.source.load_item(reader, &get))
    }

    /// Returns the completions of a partially typed text.
    pub fn suggest_items(&self, typed: &str, most: usize) -> Suggestions {
        self.read(|reader| self.source.suggest_items(reader, typed, most))
            .expect("the source suggests")
    }

    /// Runs a closure with a reader.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&vademecum_store::Reader<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.store.read(Deadline::after(Duration::from_mins(1)), work)
    }

    /// Runs a closure with a writer.
    pub fn write<T>(&self, work: impl FnMut(&Writer<'_>) -> Result<T, StoreError>) -> T {
        self.store.write(Durability::Bulk, work).expect("the write succeeds")
    }

    /// Loads matches as hits.
    pub fn load_hits(
        &self,
        query: &str,
        filters: Filters,
        matches: Vec<RankedMatch>,
        length: usize,
    ) -> Vec<Hit> {
        let view = HitRequest {
            query: Arc::new(FtsQuery::parse(query)),
            weights: Arc::default(),
            filters,
            snippet_length: length,
            highlight: true,
            matches,
        };
        self.read(|reader| self.source.load_hits(reader, &view)).expect("the source shows")
    }
}
