//! What is kept in memory of a full-text table: how long its rows are, and the
//! postings of the phrases that were asked for lately.
//!
//! It is true for one state of the table. The state is told by two small
//! records that FTS5 changes with every write, whichever process writes, and
//! that a reader sees as of its own moment: so what is remembered is never
//! used for a table that has changed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use vademecum_fts5::{Postings, collect};

use super::{Reader, StoreError, Table, reader::interrupted, varint::varints};

/// Memory for the postings of one table, in bytes.
const MEMORY: usize = 64 << 20;

/// The tables of a store, as they are remembered.
#[derive(Debug, Default)]
pub(crate) struct Indexes(Mutex<HashMap<&'static str, Arc<Memory>>>);

impl Indexes {
    /// What is remembered of a table, of whatever state.
    pub(crate) fn known(&self, table: &Table) -> Option<Arc<Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(table.name).cloned()
    }

    fn remember(&self, table: &Table, memory: &Arc<Memory>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(table.name, Arc::clone(memory));
    }
}

/// What is kept in memory of one state of a table.
#[derive(Debug)]
pub(crate) struct Memory {
    state: State,
    lengths: OnceLock<Lengths>,
    lists: Mutex<Lists>,
}

/// A state of a table.
#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    records: Vec<Vec<u8>>,
    rows: u64,
    tokens: u64,
}

impl Memory {
    /// Rows of the table.
    pub(crate) fn rows(&self) -> u64 {
        self.state.rows
    }

    /// Words in all rows.
    pub(crate) fn tokens(&self) -> u64 {
        self.state.tokens
    }

    /// The postings of a phrase, if they are remembered.
    pub(crate) fn postings(&self, phrase: &str) -> Option<Arc<Postings>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).get(phrase)
    }
}

/// A full-text table as a reader sees it.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    reader: &'a Reader<'a>,
    table: &'static Table,
    memory: Arc<Memory>,
}

impl<'a> Index<'a> {
    /// The table at the reader's moment.
    pub(crate) fn open(
        reader: &'a Reader<'a>,
        indexes: &Indexes,
        table: &'static Table,
    ) -> Result<Self, StoreError> {
        let records = reader.all(table.state, &[], |row| row.get::<_, Vec<u8>>("block"))?;
        if let Some(memory) = indexes.known(table).filter(|known| known.state.records == records) {
            return Ok(Self { reader, table, memory });
        }
        let mut counts = varints(records.first().map_or(&[], Vec::as_slice));
        let rows = counts.next().unwrap_or(0);
        let state = State { rows, tokens: counts.sum(), records };
        let memory = Arc::new(Memory { state, lengths: OnceLock::new(), lists: Mutex::default() });
        indexes.remember(table, &memory);
        Ok(Self { reader, table, memory })
    }

    /// What is remembered of it.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The postings of a phrase, which is an expression for FTS5.
    pub(crate) fn postings(&self, phrase: &str) -> Result<Arc<Postings>, StoreError> {
        if let Some(known) = self.memory.postings(phrase) {
            return Ok(known);
        }
        let mut statement = self.reader.prepare(self.table.postings)?;
        let found = collect(&mut statement, phrase, &self.table.weights()).map_err(interrupted)?;
        let found = Arc::new(found);
        let mut lists = self.memory.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.add(phrase, &found);
        Ok(found)
    }

    /// How long its rows are.
    pub(crate) fn lengths(&self) -> Result<&Lengths, StoreError> {
        if let Some(lengths) = self.memory.lengths.get() {
            return Ok(lengths);
        }
        let mut rows = Vec::with_capacity(usize::try_from(self.memory.rows()).unwrap_or(0));
        self.reader.each(self.table.lengths, &[], |row| {
            let length: u64 = varints(row.get_ref("sz")?.as_blob()?).sum();
            rows.push((row.get("id")?, u32::try_from(length).unwrap_or(u32::MAX)));
            Ok(())
        })?;
        Ok(self.memory.lengths.get_or_init(|| Lengths::new(rows)))
    }
}

/// How many words each row has.
#[derive(Debug)]
pub(crate) enum Lengths {
    /// By row, where nearly every number is a row.
    Dense(Vec<u32>),
    /// By row, where few numbers are.
    Sparse(HashMap<i64, u32>),
}

impl Lengths {
    fn new(rows: Vec<(i64, u32)>) -> Self {
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

/// Postings by phrase; those that were not asked for longest go first.
#[derive(Debug, Default)]
struct Lists {
    by_phrase: HashMap<String, (Arc<Postings>, u64)>,
    size: usize,
    clock: u64,
}

impl Lists {
    fn get(&mut self, phrase: &str) -> Option<Arc<Postings>> {
        self.clock += 1;
        let (postings, used) = self.by_phrase.get_mut(phrase)?;
        *used = self.clock;
        Some(Arc::clone(postings))
    }

    fn add(&mut self, phrase: &str, postings: &Arc<Postings>) {
        let size = |phrase: &str, postings: &Postings| postings.size() + 2 * phrase.len() + 64;
        self.clock += 1;
        let entry = (Arc::clone(postings), self.clock);
        self.size += size(phrase, postings);
        if let Some((before, _)) = self.by_phrase.insert(phrase.to_owned(), entry) {
            self.size -= size(phrase, &before);
        }
        if self.size <= MEMORY {
            return;
        }
        let mut by_age: Vec<(u64, String)> =
            self.by_phrase.iter().map(|(phrase, (_, used))| (*used, phrase.clone())).collect();
        by_age.sort_unstable();
        // A quarter at once, so that it is not sorted anew for every phrase.
        for (_, phrase) in by_age {
            if self.size <= MEMORY / 4 * 3 {
                break;
            }
            if let Some((gone, _)) = self.by_phrase.remove(&phrase) {
                self.size -= size(&phrase, &gone);
            }
        }
    }
}
