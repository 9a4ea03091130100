//! The filter object that all searches take.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_collections::Filter;
use vademecum_kit::model::Timestamp;

use crate::actors::CallError;

/// Which documents count. All that is said must hold.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FilterInput {
    /// One of these sources, by number.
    source_ids: Option<Vec<i64>>,
    /// One of these sources, by name.
    source_names: Option<Vec<String>>,
    /// One of these documents.
    doc_ids: Option<Vec<String>>,
    /// The least `Score` of the metadata.
    min_score: Option<f64>,
    /// One of these `PostTypeId`s of the metadata.
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
    /// The same, with its times read.
    pub(super) fn read(self) -> Result<Filter, CallError> {
        let wrong = |name: &str, error: &dyn std::fmt::Display| {
            CallError::Invalid(format!("filters.{name}: {error}"))
        };
        let after = self.created_after.as_deref().map(Timestamp::parse).transpose();
        let before = self.created_before.as_deref().map(Timestamp::parse_end).transpose();
        Ok(Filter {
            source_ids: self.source_ids,
            source_names: self.source_names,
            doc_ids: self.doc_ids,
            min_score: self.min_score,
            post_type_ids: self.post_type_ids,
            tags_any: self.tags_any,
            tags_all: self.tags_all,
            created_after: after.map_err(|error| wrong("created_after", &error))?,
            created_before: before.map_err(|error| wrong("created_before", &error))?,
            project_names: None,
            project_versions: None,
        })
    }
}
