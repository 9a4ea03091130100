//! In-memory cache of full-text tables: row lengths, and postings of recently used phrases.
//!
//! A cache is valid for one state of a table. The state is identified by two small records that
//! FTS5 changes on every write of any process and that a reader sees within its snapshot, so a
//! cache is never used for a changed table. Writes of this process are tracked by row, so a new
//! note does not invalidate the entries of other rows.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use vademecum_fts5::{Postings, RowLanguages, RowLengths};
use vademecum_model::FtsTable;

use super::{segments::SegmentRows, varint::decode_varints};

/// Reads two records of {table} that change with every write: the averages (1) and the structure
/// (10). They are two statements because SQLite builds a temporary index for `IN`.
const FTS_STATE_SQL: &str = "SELECT block FROM {table}_data WHERE id = 1 \
     UNION ALL \
     SELECT block FROM {table}_data WHERE id = 10";

/// Maximum memory for the postings of one table, in bytes.
const MAX_TABLE_CACHE_BYTES: usize = 64 << 20;
/// Maximum memory for the postings of all tables of this process, in bytes, divided equally.
const MAX_TOTAL_CACHE_BYTES: usize = 512 << 20;
/// Number of tables that have a cache.
static CACHED_TABLES: AtomicUsize = AtomicUsize::new(0);
/// Maximum number of changed rows that are reread individually. Above it, rebuilding is faster.
const MAX_CHANGED_ROWS: usize = 64;

/// Caches of the tables of a store.
#[derive(Debug, Default)]
pub(crate) struct IndexCaches(Mutex<HashMap<&'static str, TableCache>>);

/// Cache of a table in its last state, and the time of the last search of the table.
#[derive(Debug)]
struct TableCache {
    cache: Arc<IndexCache>,
    last_used: Instant,
}

/// State identifier of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableState {
    records: Vec<Vec<u8>>,
}

impl TableState {
    /// Creates the identifier from the table's records `1` and `10`.
    pub(crate) fn new(records: Vec<Vec<u8>>) -> Self {
        Self { records }
    }

    /// Returns the statement that reads the records of a table's state as `block`.
    pub(crate) fn sql(table: &FtsTable) -> String {
        table.statement(FTS_STATE_SQL)
    }
}

impl IndexCaches {
    /// Returns the cache of a table in any state.
    pub(crate) fn find_cache(&self, table: &FtsTable) -> Option<Arc<IndexCache>> {
        lock(&self.0).get(table.name).map(|it| Arc::clone(&it.cache))
    }

    /// Returns the cache of a table in the given state, creating an empty one if necessary.
    pub(crate) fn cache_for_state(&self, table: &FtsTable, state: TableState) -> Arc<IndexCache> {
        let (mut tables, last_used) = (lock(&self.0), Instant::now());
        if let Some(known) = tables.get_mut(table.name).filter(|it| it.cache.state == state) {
            known.last_used = last_used;
            return Arc::clone(&known.cache);
        }
        let cache = Arc::new(IndexCache::new(state, CacheEntries::default()));
        tables.insert(table.name, TableCache { cache: Arc::clone(&cache), last_used });
        cache
    }

    /// Removes the caches of tables that were not searched for this time.
    pub(crate) fn remove_unused(&self, min_age: Duration) {
        lock(&self.0).retain(|_, it| it.last_used.elapsed() < min_age);
    }

    /// Carries the cache over from one state to the next. `rows`, in ascending order, are the only
    /// rows written between the two states.
    pub(crate) fn advance_state(
        &self,
        table: &FtsTable,
        before: &TableState,
        after: TableState,
        rows: &[i64],
    ) {
        let mut tables = lock(&self.0);
        if let Some(known) = tables.get_mut(table.name).filter(|it| it.cache.state == *before) {
            let entries = lock(&known.cache.entries).with_changed_rows(rows);
            known.cache = Arc::new(IndexCache::new(after, entries));
        }
    }
}

/// Cache of one state of a table.
#[derive(Debug)]
pub struct IndexCache {
    state: TableState,
    rows: u64,
    tokens: u64,
    segments: OnceLock<Arc<[SegmentRows]>>,
    entries: Mutex<CacheEntries>,
}

/// A cached value, and the rows that have changed since it was read.
type WithChanges<T> = (Arc<T>, Arc<[i64]>);

#[derive(Debug, Default)]
struct CacheEntries {
    lengths: Option<WithChanges<RowLengths>>,
    languages: Option<WithChanges<RowLanguages>>,
    /// Postings by phrase, with the time of their last use.
    postings: HashMap<String, (WithChanges<Postings>, u64)>,
    total_bytes: usize,
    clock: u64,
}

impl Drop for IndexCache {
    fn drop(&mut self) {
        CACHED_TABLES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl IndexCache {
    fn new(state: TableState, known: CacheEntries) -> Self {
        CACHED_TABLES.fetch_add(1, Ordering::Relaxed);
        let counts = state.records.first().map_or(&[][..], Vec::as_slice);
        let mut counts = decode_varints(counts);
        let rows = counts.next().unwrap_or(0);
        let tokens = counts.sum();
        Self { state, rows, tokens, segments: OnceLock::new(), entries: Mutex::new(known) }
    }

    /// Returns the number of rows in the table.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of words in all rows.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns FTS5's structure record.
    pub(super) fn structure(&self) -> &[u8] {
        self.state.records.get(1).map_or(&[], Vec::as_slice)
    }

    /// Returns the segments of this state, if they were read.
    pub(super) fn segments(&self) -> Option<Arc<[SegmentRows]>> {
        self.segments.get().cloned()
    }

    /// Keeps the segments, and returns them.
    pub(super) fn store_segments(&self, segments: Arc<[SegmentRows]>) -> Arc<[SegmentRows]> {
        Arc::clone(self.segments.get_or_init(|| segments))
    }

    /// Returns the postings of a phrase if they are cached and up to date for all rows.
    pub fn postings(&self, phrase: &str) -> Option<Arc<Postings>> {
        self.postings_with_changes(phrase)
            .filter(|(_, changed)| changed.is_empty())
            .map(|(known, _)| known)
    }

    /// Returns the cached postings of a phrase and the rows that have changed since.
    pub(super) fn postings_with_changes(&self, phrase: &str) -> Option<WithChanges<Postings>> {
        let mut known = lock(&self.entries);
        known.clock += 1;
        let now = known.clock;
        let (postings, used) = known.postings.get_mut(phrase)?;
        *used = now;
        Some(postings.clone())
    }

    pub(super) fn store_postings(&self, phrase: &str, postings: &Arc<Postings>) {
        let share = table_share_bytes(CACHED_TABLES.load(Ordering::Relaxed));
        lock(&self.entries).insert_postings(phrase, (Arc::clone(postings), Arc::default()), share);
    }

    /// Returns the cached row lengths and the rows that have changed since.
    pub(super) fn lengths_with_changes(&self) -> Option<WithChanges<RowLengths>> {
        lock(&self.entries).lengths.clone()
    }

    /// Returns the cached languages of rows and the rows that have changed since.
    pub(super) fn languages_with_changes(&self) -> Option<WithChanges<RowLanguages>> {
        lock(&self.entries).languages.clone()
    }

    pub(super) fn store_languages(&self, languages: &Arc<RowLanguages>) {
        lock(&self.entries).languages = Some((Arc::clone(languages), Arc::default()));
    }

    pub(super) fn store_lengths(&self, lengths: &Arc<RowLengths>) {
        lock(&self.entries).lengths = Some((Arc::clone(lengths), Arc::default()));
    }
}

impl CacheEntries {
    /// Returns a copy of the entries with the given rows marked as changed.
    fn with_changed_rows(&self, rows: &[i64]) -> Self {
        let mut after = Self { clock: self.clock, ..Self::default() };
        after.languages = self.languages.as_ref().and_then(|known| add_changed_rows(known, rows));
        after.lengths = self.lengths.as_ref().and_then(|lengths| add_changed_rows(lengths, rows));
        for (phrase, (postings, used)) in &self.postings {
            if let Some(postings) = add_changed_rows(postings, rows) {
                after.total_bytes += entry_bytes(phrase, &postings.0);
                after.postings.insert(phrase.clone(), (postings, *used));
            }
        }
        after
    }

    /// Inserts postings and evicts the least recently used ones if the total exceeds `most` bytes.
    fn insert_postings(&mut self, phrase: &str, postings: WithChanges<Postings>, most: usize) {
        self.clock += 1;
        self.total_bytes += entry_bytes(phrase, &postings.0);
        if let Some((before, _)) = self.postings.insert(phrase.to_owned(), (postings, self.clock)) {
            self.total_bytes -= entry_bytes(phrase, &before.0);
        }
        if self.total_bytes <= most {
            return;
        }
        let mut by_age: Vec<(u64, String)> =
            self.postings.iter().map(|(phrase, (_, used))| (*used, phrase.clone())).collect();
        by_age.sort_unstable();
        // Evicts a quarter at once, so that the entries are not sorted for every phrase.
        for (_, phrase) in by_age {
            if self.total_bytes <= most / 4 * 3 {
                break;
            }
            if let Some((gone, _)) = self.postings.remove(&phrase) {
                self.total_bytes -= entry_bytes(&phrase, &gone.0);
            }
        }
    }
}

/// Returns the memory limit per table for the given number of tables, in bytes.
fn table_share_bytes(tables: usize) -> usize {
    (MAX_TOTAL_CACHE_BYTES / tables.max(1)).min(MAX_TABLE_CACHE_BYTES)
}

/// Returns the memory used by the postings of a phrase, in bytes.
fn entry_bytes(phrase: &str, postings: &Postings) -> usize {
    postings.memory_bytes() + 2 * phrase.len() + 64
}

fn add_changed_rows<T>((known, changed): &WithChanges<T>, rows: &[i64]) -> Option<WithChanges<T>> {
    let mut all: Vec<i64> = changed.iter().chain(rows).copied().collect();
    all.sort_unstable();
    all.dedup();
    (all.len() <= MAX_CHANGED_ROWS).then(|| (Arc::clone(known), all.into()))
}

/// A poisoned lock can be used: no update leaves the data inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: FtsTable = FtsTable::new("fts", "words", &[]);

    fn state(number: u8) -> TableState {
        TableState::new(vec![vec![1, number], vec![number]])
    }

    fn postings(rows: &[i64]) -> Arc<Postings> {
        let mut postings = Postings::default();
        for row in rows {
            postings.push(*row, 1.0, &[]);
        }
        Arc::new(postings)
    }

    #[test]
    fn cache_is_separate_per_state() {
        let indexes = IndexCaches::default();
        indexes.cache_for_state(&TABLE, state(1)).store_postings("x", &postings(&[1]));
        assert!(indexes.cache_for_state(&TABLE, state(1)).postings("x").is_some());
        assert!(indexes.cache_for_state(&TABLE, state(2)).postings("x").is_none());
        assert!(
            indexes.cache_for_state(&TABLE, state(1)).postings("x").is_none(),
            "it was forgotten"
        );
    }

    #[test]
    fn own_write_invalidates_only_written_rows() {
        let indexes = IndexCaches::default();
        indexes.cache_for_state(&TABLE, state(1)).store_postings("x", &postings(&[1, 2]));
        indexes.advance_state(&TABLE, &state(1), state(2), &[2]);
        indexes.advance_state(&TABLE, &state(2), state(3), &[2, 7]);
        let cache = indexes.cache_for_state(&TABLE, state(3));
        assert!(cache.postings("x").is_none(), "not known for all rows");
        let (known, changed) = cache.postings_with_changes("x").unwrap();
        assert_eq!((known.len(), &*changed), (2, &[2, 7][..]));
        cache.store_postings("x", &postings(&[1, 7]));
        assert_eq!(cache.postings("x").unwrap().len(), 2);
    }

    #[test]
    fn write_on_unknown_state_discards_cache() {
        let indexes = IndexCaches::default();
        indexes.cache_for_state(&TABLE, state(1)).store_postings("x", &postings(&[1]));
        indexes.advance_state(&TABLE, &state(2), state(3), &[2]);
        assert!(indexes.cache_for_state(&TABLE, state(3)).postings_with_changes("x").is_none());
    }

    #[test]
    fn unused_cache_is_removed_despite_writes() {
        let indexes = IndexCaches::default();
        indexes.cache_for_state(&TABLE, state(1)).store_postings("x", &postings(&[1]));
        indexes.remove_unused(Duration::from_mins(1));
        assert!(indexes.find_cache(&TABLE).is_some(), "it was used just now");
        indexes.advance_state(&TABLE, &state(1), state(2), &[2]);
        indexes.remove_unused(Duration::ZERO);
        assert!(indexes.find_cache(&TABLE).is_none());
    }

    #[test]
    fn many_changes_discard_cache_entries() {
        let indexes = IndexCaches::default();
        indexes.cache_for_state(&TABLE, state(1)).store_postings("x", &postings(&[1]));
        let rows: Vec<i64> = (0..1_000).collect();
        indexes.advance_state(&TABLE, &state(1), state(2), &rows);
        assert!(indexes.cache_for_state(&TABLE, state(2)).postings_with_changes("x").is_none());
    }

    #[test]
    fn cache_evicts_least_recently_used_postings() {
        let mut known = CacheEntries::default();
        let rows: Vec<i64> = (0..1_000_000).collect();
        let postings = postings(&rows);
        let fits = MAX_TABLE_CACHE_BYTES / entry_bytes("00", &postings);
        for number in 0..fits + 5 {
            known.insert_postings(
                &format!("{number:02}"),
                (Arc::clone(&postings), Arc::default()),
                MAX_TABLE_CACHE_BYTES,
            );
        }
        assert!(known.total_bytes <= MAX_TABLE_CACHE_BYTES);
        assert!(!known.postings.contains_key("00"));
        assert!(known.postings.contains_key(&format!("{:02}", fits + 4)));
    }

    #[test]
    fn caches_share_total_memory_limit() {
        assert_eq!([0, 1, 8].map(table_share_bytes), [MAX_TABLE_CACHE_BYTES; 3]);
        assert!(
            (9..2_000).all(|tables| tables * table_share_bytes(tables) <= MAX_TOTAL_CACHE_BYTES)
        );
        let kept: Vec<_> = (0..2_000)
            .map(|_| IndexCache::new(TableState::default(), CacheEntries::default()))
            .collect();
        let rows: Vec<i64> = (0..1_000).collect();
        let postings = postings(&rows);
        for number in 0..1_000 {
            kept[0].store_postings(&number.to_string(), &postings);
        }
        assert!(lock(&kept[0].entries).total_bytes <= MAX_TOTAL_CACHE_BYTES / kept.len());
        assert!(kept[0].postings("999").is_some() && kept[0].postings("0").is_none());
    }

    #[test]
    fn row_lengths_are_replaced_and_added() {
        for rows in [vec![(1, 5), (2, 6)], vec![(1, 5), (9_000_000_000, 6)]] {
            let (last, before) = (rows[1].0, RowLengths::new(rows));
            let after = before.with_rows(&[(1, 0), (last + 1, 8), (last, 7)]);
            assert_eq!(
                (after.words_in_row(1), after.words_in_row(last), after.words_in_row(last + 1)),
                (0, 7, 8)
            );
            assert_eq!(
                (before.words_in_row(1), before.words_in_row(-1), before.words_in_row(last + 1)),
                (5, 0, 0)
            );
        }
    }
}
