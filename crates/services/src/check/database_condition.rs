//! The condition of a database: its problems, and what must be rebuilt or updated.

use vademecum_actors::error_chain;
use vademecum_model::SourceName;
use vademecum_store::{DerivedFtsTable, FtsDifferences, StoreError, StoreProblem};

/// Problems of a database, and derived data that must be rebuilt.
#[derive(Debug, Default)]
pub(super) struct DatabaseCondition {
    pub(super) schema: usize,
    pub(super) problems: Vec<StoreProblem>,
    pub(super) drifts: Vec<(DerivedFtsTable, FtsDifferences)>,
    /// Full-text tables with other words than their rows.
    pub(super) misspelt: Vec<DerivedFtsTable>,
    /// Full-text tables of an earlier version.
    pub(super) outdated: Vec<DerivedFtsTable>,
    /// Sources with items whose links have not been read.
    pub(super) unread_links: Vec<SourceName>,
    /// Sources with rows in the form of an earlier version.
    pub(super) earlier_rows: Vec<SourceName>,
    /// Bytes of unused pages, if they are a large part of the file.
    pub(super) unused_bytes: Option<u64>,
    /// The reason why it cannot be opened, if so.
    pub(super) closed: Option<String>,
}

impl DatabaseCondition {
    pub(super) fn closed(error: &StoreError) -> Self {
        Self { closed: Some(error_chain(error)), ..Self::default() }
    }

    pub(super) fn is_healthy(&self) -> bool {
        let is_current = self.drifts.is_empty()
            && self.misspelt.is_empty()
            && self.outdated.is_empty()
            && self.unread_links.is_empty()
            && self.earlier_rows.is_empty();
        let is_compact = self.unused_bytes.is_none();
        self.problems.is_empty() && is_current && is_compact && self.closed.is_none()
    }
}
