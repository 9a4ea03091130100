//! The list of health checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthCheck {
    /// Version, size and connections.
    Overview,
    /// Settings that endanger data.
    Settings,
    /// Reads that the cache did not serve.
    Cache,
    /// Unused space in tables and indexes.
    Bloat,
    /// Dead rows and stale statistics.
    Vacuum,
    /// Age of transaction numbers.
    Wraparound,
    /// Indexes that repeat others.
    DuplicateIndexes,
    /// Indexes that no query uses.
    UnusedIndexes,
    /// Indexes that cannot be used.
    InvalidIndexes,
    /// Foreign keys and tables without an index.
    MissingIndexes,
    /// Sessions that wait for locks.
    Locks,
    /// Transactions that have been open for long.
    Transactions,
    /// Replicas, slots and archiving.
    Replication,
    /// Sequences near their end.
    Sequences,
    /// Damage of the file; reads all of it.
    Integrity,
}

impl HealthCheck {
    /// All checks, in the order in which they are reported.
    pub const ALL: [Self; 15] = [
        Self::Overview,
        Self::Settings,
        Self::Cache,
        Self::Bloat,
        Self::Vacuum,
        Self::Wraparound,
        Self::DuplicateIndexes,
        Self::UnusedIndexes,
        Self::InvalidIndexes,
        Self::MissingIndexes,
        Self::Locks,
        Self::Transactions,
        Self::Replication,
        Self::Sequences,
        Self::Integrity,
    ];

    /// Returns the name in arguments and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Settings => "settings",
            Self::Cache => "cache",
            Self::Bloat => "bloat",
            Self::Vacuum => "vacuum",
            Self::Wraparound => "wraparound",
            Self::DuplicateIndexes => "duplicate_indexes",
            Self::UnusedIndexes => "unused_indexes",
            Self::InvalidIndexes => "invalid_indexes",
            Self::MissingIndexes => "missing_indexes",
            Self::Locks => "locks",
            Self::Transactions => "transactions",
            Self::Replication => "replication",
            Self::Sequences => "sequences",
            Self::Integrity => "integrity",
        }
    }

    /// Returns the sentence that reports a check without findings.
    pub(super) fn ok_sentence(self) -> &'static str {
        match self {
            Self::Overview => "Nothing about the server stands out.",
            Self::Settings => "No setting endangers data.",
            Self::Cache => "The cache serves at least 90% of the reads, or too few were counted.",
            Self::Bloat => "No table or index has much unused space.",
            Self::Vacuum => "Dead rows are removed and statistics are current.",
            Self::Wraparound => "Old transaction numbers are cleaned up in time.",
            Self::DuplicateIndexes => "No index repeats another.",
            Self::UnusedIndexes => "Queries use every index of at least 1 MB.",
            Self::InvalidIndexes => "Every index can be used.",
            Self::MissingIndexes => "No big table or foreign key lacks an index.",
            Self::Locks => "No session waits for a lock.",
            Self::Transactions => "No transaction has been open for long.",
            Self::Replication => "No replica, slot or archiver has a problem, or there is none.",
            Self::Sequences => "No sequence is near its end.",
            Self::Integrity => "The file is not damaged.",
        }
    }
}
