//! The `filters` argument of all `rag.search_*` tools.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors::CallError;
use vademecum_collections::DocumentFilter;
use vademecum_model::Timestamp;

/// Document filters; all must match.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FilterInput {
    /// One of these sources, by number.
    source_ids: Option<Vec<i64>>,
    /// One of these sources, by name.
    source_names: Option<Vec<String>>,
    /// One of these documents.
    doc_ids: Option<Vec<String>>,
    /// Minimum `Score` in metadata.
    min_score: Option<f64>,
    /// One of these `PostTypeId`s in metadata.
    post_type_ids: Option<Vec<i64>>,
    /// At least one of these tags.
    tags_any: Option<Vec<String>>,
    /// All of these tags.
    tags_all: Option<Vec<String>>,
    /// ISO 8601.
    created_after: Option<String>,
    /// ISO 8601.
    created_before: Option<String>,
}

impl FilterInput {
    /// Parses the timestamps and converts the input to a filter.
    pub(super) fn into_filter(self) -> Result<DocumentFilter, CallError> {
        let wrong = |name: &str, error: &dyn std::fmt::Display| {
            CallError::Invalid(format!("filters.{name}: {error}"))
        };
        let after = self.created_after.as_deref().map(Timestamp::parse).transpose();
        let before = self.created_before.as_deref().map(Timestamp::parse_range_end).transpose();
        Ok(DocumentFilter {
            source_ids: self.source_ids,
            source_names: self.source_names,
            doc_ids: self.doc_ids,
            min_score: self.min_score,
            post_type_ids: self.post_type_ids,
            tags_any: self.tags_any,
            tags_all: self.tags_all,
            created_after: after.map_err(|error| wrong("created_after", &error))?,
            created_before: before.map_err(|error| wrong("created_before", &error))?,
            changed_after: None,
            changed_before: None,
            project_names: None,
            project_versions: None,
        })
    }
}
