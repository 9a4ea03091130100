//! What is kept in memory of full-text tables: how long their rows are, and the
//! postings of the phrases that were asked for lately.
//!
//! It is true for one state of a table. The state is told by two small records
//! that FTS5 changes with every write, whichever process writes, and that a
//! reader sees as of its own moment: so what is remembered is never used for a
//! table that has changed. What this process writes is followed row by row,
//! so that a new note does not cost all that is known of the others.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use vademecum_fts5::Postings;

use super::{Table, varint::varints};

/// Memory for the postings of one table, in bytes.
const MEMORY: usize = 64 << 20;
/// Memory for those of all tables of this process, which have equal shares in it.
const IN_ALL: usize = 512 << 20;
/// Tables of which something is remembered.
static TABLES: AtomicUsize = AtomicUsize::new(0);
/// Rows that are looked at again after they were written; if there are more,
/// it is quicker to begin anew.
const MOST_CHANGED: usize = 64;

/// The tables of a store, as they are remembered.
#[derive(Debug, Default)]
pub(crate) struct Indexes(Mutex<HashMap<&'static str, Arc<Memory>>>);

/// A state of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    records: Vec<Vec<u8>>,
}

impl State {
    /// Of the table's records `1` and `10`.
    pub(crate) fn new(records: Vec<Vec<u8>>) -> Self {
        Self { records }
    }
}

impl Indexes {
    /// What is remembered of a table, of whatever state.
    pub(crate) fn known(&self, table: &Table) -> Option<Arc<Memory>> {
        lock(&self.0).get(table.name).cloned()
    }

    /// What is remembered of a table in this state; for a new one, nothing is.
    pub(crate) fn at(&self, table: &Table, state: State) -> Arc<Memory> {
        let mut tables = lock(&self.0);
        if let Some(memory) = tables.get(table.name).filter(|memory| memory.state == state) {
            return Arc::clone(memory);
        }
        let memory = Arc::new(Memory::new(state, Known::default()));
        tables.insert(table.name, Arc::clone(&memory));
        memory
    }

    /// These rows, which are sorted, were written, and nothing else happened
    /// between the two states.
    pub(crate) fn follow(&self, table: &Table, before: &State, after: State, rows: &[i64]) {
        let mut tables = lock(&self.0);
        if let Some(memory) = tables.get(table.name).filter(|memory| memory.state == *before) {
            let known = lock(&memory.known).changed(rows);
            tables.insert(table.name, Arc::new(Memory::new(after, known)));
        }
    }
}

/// What is kept in memory of one state of a table.
#[derive(Debug)]
pub(crate) struct Memory {
    state: State,
    rows: u64,
    tokens: u64,
    known: Mutex<Known>,
}

/// Something that is known, but for the rows that have changed since.
type But<T> = (Arc<T>, Arc<[i64]>);

#[derive(Debug, Default)]
struct Known {
    lengths: Option<But<Lengths>>,
    /// Postings by phrase, and when they were last used.
    postings: HashMap<String, (But<Postings>, u64)>,
    size: usize,
    clock: u64,
}

impl Drop for Memory {
    fn drop(&mut self) {
        TABLES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Memory {
    fn new(state: State, known: Known) -> Self {
        TABLES.fetch_add(1, Ordering::Relaxed);
        let counts = state.records.first().map_or(&[][..], Vec::as_slice);
        let mut counts = varints(counts);
        let rows = counts.next().unwrap_or(0);
        let tokens = counts.sum();
        Self { state, rows, tokens, known: Mutex::new(known) }
    }

    /// Rows of the table.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Words in all rows.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The postings of a phrase, if they are known for all rows.
    pub(crate) fn postings(&self, phrase: &str) -> Option<Arc<Postings>> {
        self.recall(phrase).filter(|(_, changed)| changed.is_empty()).map(|(known, _)| known)
    }

    /// The postings of a phrase as they were, and the rows that have changed.
    pub(super) fn recall(&self, phrase: &str) -> Option<But<Postings>> {
        let mut known = lock(&self.known);
        known.clock += 1;
        let now = known.clock;
        let (postings, used) = known.postings.get_mut(phrase)?;
        *used = now;
        Some(postings.clone())
    }

    pub(super) fn remember(&self, phrase: &str, postings: &Arc<Postings>) {
        let share = share(TABLES.load(Ordering::Relaxed));
        lock(&self.known).add(phrase, (Arc::clone(postings), Arc::default()), share);
    }

    /// How long the rows were, and which have changed.
    pub(super) fn lengths(&self) -> Option<But<Lengths>> {
        lock(&self.known).lengths.clone()
    }

    pub(super) fn remember_lengths(&self, lengths: &Arc<Lengths>) {
        lock(&self.known).lengths = Some((Arc::clone(lengths), Arc::default()));
    }
}

impl Known {
    /// The same after these rows were written.
    fn changed(&self, rows: &[i64]) -> Self {
        let mut after = Self { clock: self.clock, ..Self::default() };
        after.lengths = self.lengths.as_ref().and_then(|lengths| but(lengths, rows));
        for (phrase, (postings, used)) in &self.postings {
            if let Some(postings) = but(postings, rows) {
                after.size += size(phrase, &postings.0);
                after.postings.insert(phrase.clone(), (postings, *used));
            }
        }
        after
    }

    /// What was not used for longest goes first, if it is more than `most` bytes.
    fn add(&mut self, phrase: &str, postings: But<Postings>, most: usize) {
        self.clock += 1;
        self.size += size(phrase, &postings.0);
        if let Some((before, _)) = self.postings.insert(phrase.to_owned(), (postings, self.clock)) {
            self.size -= size(phrase, &before.0);
        }
        if self.size <= most {
            return;
        }
        let mut by_age: Vec<(u64, String)> =
            self.postings.iter().map(|(phrase, (_, used))| (*used, phrase.clone())).collect();
        by_age.sort_unstable();
        // A quarter at once, so that it is not sorted anew for every phrase.
        for (_, phrase) in by_age {
            if self.size <= most / 4 * 3 {
                break;
            }
            if let Some((gone, _)) = self.postings.remove(&phrase) {
                self.size -= size(&phrase, &gone.0);
            }
        }
    }
}

/// The memory for the postings of a table where there are so many, in bytes.
fn share(tables: usize) -> usize {
    (IN_ALL / tables.max(1)).min(MEMORY)
}

/// The memory that the postings of a phrase take, in bytes.
fn size(phrase: &str, postings: &Postings) -> usize {
    postings.size() + 2 * phrase.len() + 64
}

fn but<T>((known, changed): &But<T>, rows: &[i64]) -> Option<But<T>> {
    let mut all: Vec<i64> = changed.iter().chain(rows).copied().collect();
    all.sort_unstable();
    all.dedup();
    (all.len() <= MOST_CHANGED).then(|| (Arc::clone(known), all.into()))
}

/// How many words each row has.
#[derive(Clone, Debug)]
pub(crate) enum Lengths {
    /// By row, where nearly every number is a row.
    Dense(Vec<u32>),
    /// By row, where few numbers are.
    Sparse(HashMap<i64, u32>),
}

impl Lengths {
    pub(crate) fn new(rows: Vec<(i64, u32)>) -> Self {
        let places: Option<Vec<usize>> =
            rows.iter().map(|(row, _)| usize::try_from(*row).ok()).collect();
        let highest = places.as_ref().and_then(|places| places.iter().max().copied());
        match (places, highest) {
            (Some(places), Some(highest)) if highest / 8 <= rows.len() + 128 => {
                let mut dense = vec![0; highest + 1];
                for (place, (_, length)) in places.into_iter().zip(rows) {
                    if let Some(slot) = dense.get_mut(place) {
                        *slot = length;
                    }
                }
                Self::Dense(dense)
            }
            _ => Self::Sparse(rows.into_iter().collect()),
        }
    }

    /// The same with other lengths for some rows.
    pub(super) fn with(&self, rows: &[(i64, u32)]) -> Self {
        let mut all: HashMap<i64, u32> = match self {
            Self::Dense(dense) => {
                let last = i64::try_from(dense.len()).unwrap_or(i64::MAX);
                if rows.iter().all(|(row, _)| (0..=last).contains(row)) {
                    let mut dense = dense.clone();
                    for (row, length) in rows {
                        let place = usize::try_from(*row).unwrap_or(usize::MAX);
                        match dense.get_mut(place) {
                            Some(slot) => *slot = *length,
                            None => dense.push(*length),
                        }
                    }
                    return Self::Dense(dense);
                }
                (0..).zip(dense.iter().copied()).filter(|(_, length)| *length > 0).collect()
            }
            Self::Sparse(sparse) => sparse.clone(),
        };
        all.extend(rows.iter().copied());
        Self::new(all.into_iter().collect())
    }

    /// The words of a row; 0 if there is no such row.
    #[inline]
    pub(crate) fn of(&self, row: i64) -> u32 {
        let length = match self {
            Self::Dense(rows) => usize::try_from(row).ok().and_then(|row| rows.get(row)),
            Self::Sparse(rows) => rows.get(&row),
        };
        length.copied().unwrap_or(0)
    }
}

/// A lock whose owner panicked is still a lock: nothing here is half-written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table =
        Table { name: "fts", columns: &[], state: "", postings: "", lengths: "", words: "" };

    fn state(number: u8) -> State {
        State::new(vec![vec![1, number], vec![number]])
    }

    fn postings(rows: &[i64]) -> Arc<Postings> {
        let mut postings = Postings::default();
        for row in rows {
            postings.push(*row, 1.0, &[]);
        }
        Arc::new(postings)
    }

    #[test]
    fn another_state_is_another_memory() {
        let indexes = Indexes::default();
        indexes.at(&TABLE, state(1)).remember("x", &postings(&[1]));
        assert!(indexes.at(&TABLE, state(1)).postings("x").is_some());
        assert!(indexes.at(&TABLE, state(2)).postings("x").is_none());
        assert!(indexes.at(&TABLE, state(1)).postings("x").is_none(), "it was forgotten");
    }

    #[test]
    fn after_a_write_of_our_own_only_what_was_written_is_unknown() {
        let indexes = Indexes::default();
        indexes.at(&TABLE, state(1)).remember("x", &postings(&[1, 2]));
        indexes.follow(&TABLE, &state(1), state(2), &[2]);
        indexes.follow(&TABLE, &state(2), state(3), &[2, 7]);
        let memory = indexes.at(&TABLE, state(3));
        assert!(memory.postings("x").is_none(), "not known for all rows");
        let (known, changed) = memory.recall("x").unwrap();
        assert_eq!((known.len(), &*changed), (2, &[2, 7][..]));
        memory.remember("x", &postings(&[1, 7]));
        assert_eq!(memory.postings("x").unwrap().len(), 2);
    }

    #[test]
    fn a_write_on_top_of_a_state_that_is_not_known_is_not_followed() {
        let indexes = Indexes::default();
        indexes.at(&TABLE, state(1)).remember("x", &postings(&[1]));
        indexes.follow(&TABLE, &state(2), state(3), &[2]);
        assert!(indexes.at(&TABLE, state(3)).recall("x").is_none());
    }

    #[test]
    fn many_changes_are_not_followed_row_by_row() {
        let indexes = Indexes::default();
        indexes.at(&TABLE, state(1)).remember("x", &postings(&[1]));
        let rows: Vec<i64> = (0..1_000).collect();
        indexes.follow(&TABLE, &state(1), state(2), &rows);
        assert!(indexes.at(&TABLE, state(2)).recall("x").is_none());
    }

    #[test]
    fn what_was_not_used_for_longest_is_forgotten_when_there_is_too_much() {
        let mut known = Known::default();
        let rows: Vec<i64> = (0..1_000_000).collect();
        let postings = postings(&rows);
        let fits = MEMORY / size("00", &postings);
        for number in 0..fits + 5 {
            known.add(&format!("{number:02}"), (Arc::clone(&postings), Arc::default()), MEMORY);
        }
        assert!(known.size <= MEMORY);
        assert!(!known.postings.contains_key("00"));
        assert!(known.postings.contains_key(&format!("{:02}", fits + 4)));
    }

    #[test]
    fn all_tables_together_have_a_bound() {
        assert_eq!([0, 1, 8].map(share), [MEMORY; 3]);
        assert!((9..2_000).all(|tables| tables * share(tables) <= IN_ALL));
        let kept: Vec<_> =
            (0..2_000).map(|_| Memory::new(State::default(), Known::default())).collect();
        let rows: Vec<i64> = (0..1_000).collect();
        let postings = postings(&rows);
        for number in 0..1_000 {
            kept[0].remember(&number.to_string(), &postings);
        }
        assert!(lock(&kept[0].known).size <= IN_ALL / kept.len());
        assert!(kept[0].postings("999").is_some() && kept[0].postings("0").is_none());
    }

    #[test]
    fn lengths_are_changed_and_added() {
        for rows in [vec![(1, 5), (2, 6)], vec![(1, 5), (9_000_000_000, 6)]] {
            let (last, before) = (rows[1].0, Lengths::new(rows));
            let after = before.with(&[(1, 0), (last + 1, 8), (last, 7)]);
            assert_eq!((after.of(1), after.of(last), after.of(last + 1)), (0, 7, 8));
            assert_eq!((before.of(1), before.of(-1), before.of(last + 1)), (5, 0, 0));
        }
    }
}
