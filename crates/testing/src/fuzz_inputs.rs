//! Seeds of the fuzz targets and a deterministic mutator for their bytes.

use std::{fs, path::PathBuf};

/// Mutated inputs per seed.
const ROUNDS_PER_SEED: usize = 100;

/// Maximum number of bytes that one mutation removes, copies or replaces.
const MAX_SPAN: usize = 20;

/// Byte strings that are syntax in at least one format, or invalid everywhere.
const FRAGMENTS: [&[u8]; 20] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"---\n",
    b"\n",
    b"\0",
    b"\xff",
    b"\\",
    b"#",
    b"*",
    b"%",
    b"-1",
    b"1e999",
    b"null",
    "\u{202e}".as_bytes(),
    "é".as_bytes(),
    b"[[",
];

/// A seeded mutator: the same sequence of changes in every run.
#[derive(Debug)]
pub struct Mutator {
    state: u64,
}

impl Default for Mutator {
    fn default() -> Self {
        Self { state: 1 }
    }
}

impl Mutator {
    /// Creates a mutator at the start of its sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a number below `limit`, from a linear congruential generator (Knuth's MMIX).
    fn next_below(&mut self, limit: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap_or_default() % limit.max(1)
    }

    /// Removes, inserts, repeats or replaces a few bytes at a random position.
    pub fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let at = self.next_below(bytes.len() + 1);
        let end = (at + self.next_below(MAX_SPAN)).min(bytes.len());
        match self.next_below(4) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let fragment = FRAGMENTS[self.next_below(FRAGMENTS.len())];
                drop(bytes.splice(at..at, fragment.iter().copied()));
            }
            2 => bytes.extend_from_within(at..end),
            _ => {
                let fragment = FRAGMENTS[self.next_below(FRAGMENTS.len())];
                drop(bytes.splice(at..end, fragment.iter().copied()));
            }
        }
    }
}

/// Returns the folder with one subfolder of seeds for each fuzzed reader.
pub fn seeds_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds")
}

/// Reads the seeds of a reader, ordered by file name.
///
/// # Panics
/// Panics if the folder or one of its files cannot be read.
pub fn seeds(reader: &str) -> Vec<Vec<u8>> {
    let folder = seeds_folder().join(reader);
    let entries = fs::read_dir(folder).expect("the reader has a folder of seeds");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).expect("a readable seed")).collect()
}

/// Calls `check` with each seed of a reader, mutated up to seven times, always in the same way.
pub fn for_each_mutated_seed(reader: &str, check: impl Fn(&[u8])) {
    let mut mutator = Mutator::new();
    for seed in seeds(reader) {
        for round in 0..ROUNDS_PER_SEED {
            let mut bytes = seed.clone();
            for _ in 0..round % 8 {
                mutator.mutate(&mut bytes);
            }
            check(&bytes);
        }
    }
}
