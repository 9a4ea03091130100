//! Sources that a search queries.

use schemars::JsonSchema;
use serde::Serialize;
use vademecum_model::{Filters, Order, SourceName, Uri};

use vademecum_store::FetchProgress;

use super::{CallError, StoreFault};
use crate::collections::VisibleCollection;

/// Source to query, with its filters.
#[derive(Clone, Debug)]
pub struct SourceSelection {
    /// Source of the library, or [`SourceName::Collections`] for a collection.
    pub from_source: SourceName,
    /// The collection; `None` for a source of the library.
    pub from_collection: Option<VisibleCollection>,
    /// Filters for its items.
    pub filters: Filters,
    /// Order of its items, if it differs from the order of the search.
    pub order: Option<Order>,
}

impl SourceSelection {
    /// Selects a source of the library.
    pub fn source(source: SourceName, filters: Filters) -> Self {
        Self { from_source: source, from_collection: None, filters, order: None }
    }

    /// Selects all documents of a collection.
    pub fn collection(opened: VisibleCollection) -> Self {
        let collection = Some(opened);
        Self {
            from_collection: collection,
            ..Self::source(SourceName::Collections, Filters::default())
        }
    }

    /// Returns `true` if the item belongs to this selection.
    pub(crate) fn contains_uri(&self, uri: &Uri) -> bool {
        let in_it = |opened: &VisibleCollection| {
            let rest = uri.id.strip_prefix(opened.record.name.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.from_source == uri.source && self.from_collection.as_ref().is_none_or(in_it)
    }

    /// Creates a failure that names this source, or this collection, and the reason.
    pub(crate) fn to_failure(&self, reason: impl Into<String>) -> SourceFailure {
        let collection = self.from_collection.as_ref().map(|opened| opened.record.name.clone());
        let (source, reason) = (self.from_source, reason.into());
        SourceFailure { source, collection, reason, fetching: None }
    }
}

/// Source that returned no results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceFailure {
    /// The source.
    pub source: SourceName,
    /// The collection, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Short reason.
    pub reason: String,
    /// Progress of the first copy, if that is the reason.
    #[serde(skip)]
    #[schemars(skip)]
    pub fetching: Option<FetchProgress>,
}

impl SourceFailure {
    /// Returns a display name of the source or collection.
    pub fn display_name(&self) -> String {
        match &self.collection {
            Some(name) => format!("collection `{name}`"),
            None => self.source.to_string(),
        }
    }
}

/// Fails if no source answered.
pub(super) fn require_answer(
    failed: &[SourceFailure],
    selections: &[SourceSelection],
) -> Result<(), CallError> {
    if failed.is_empty() || failed.len() < selections.len() {
        return Ok(());
    }
    // The databases of a library are fetched at the same time; the largest one is what takes long.
    let fetching = failed.iter().map(|failed| failed.fetching).collect::<Option<Vec<_>>>();
    if let Some(slowest) = fetching.and_then(|all| all.into_iter().max_by_key(|it| it.expected)) {
        return Err(StoreFault::Fetching(slowest).into());
    }
    let reasons: Vec<String> = failed
        .iter()
        .map(|failed| format!("{} {}", failed.display_name(), failed.reason))
        .collect();
    Err(CallError::AllSourcesFailed(reasons.join("; ")))
}
