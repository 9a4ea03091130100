//! Progress of the first copy of a database from an archive.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

/// How much of a database was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchProgress {
    /// Number of rows that were fetched.
    pub fetched: u64,
    /// Number of rows that the archive had when the copy began.
    pub expected: u64,
}

impl fmt::Display for FetchProgress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Others may have written since.
        let expected = self.expected.max(self.fetched);
        write!(formatter, "{} of {} rows", grouped(self.fetched), grouped(expected))
    }
}

/// Returns a number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Counts the rows of a database while it is copied.
#[derive(Debug, Default)]
pub struct FetchCounter {
    fetched: AtomicU64,
    /// 0 while nothing is copied.
    expected: AtomicU64,
}

/// Ends a copy when it is dropped.
#[derive(Debug)]
pub struct FetchGuard<'a>(&'a FetchCounter);

impl FetchCounter {
    /// Begins a copy of so many rows.
    pub fn begin(&self, expected: u64) -> FetchGuard<'_> {
        self.fetched.store(0, Ordering::Relaxed);
        self.expected.store(expected, Ordering::Relaxed);
        FetchGuard(self)
    }

    /// Counts a row.
    pub fn count_row(&self) {
        self.fetched.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the progress of a copy; `None` while there is none.
    pub fn progress(&self) -> Option<FetchProgress> {
        let expected = self.expected.load(Ordering::Relaxed);
        let fetched = self.fetched.load(Ordering::Relaxed);
        (expected > 0).then_some(FetchProgress { fetched, expected })
    }
}

impl Drop for FetchGuard<'_> {
    fn drop(&mut self) {
        self.0.expected.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_known_during_copy() {
        let counter = FetchCounter::default();
        assert_eq!(counter.progress(), None);
        let copying = counter.begin(1_234_567);
        (0..1_000).for_each(|_| counter.count_row());
        assert_eq!(counter.progress().unwrap().to_string(), "1,000 of 1,234,567 rows");
        drop(copying);
        assert_eq!(counter.progress(), None);
    }
}
