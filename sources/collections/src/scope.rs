//! The scope of a search: the filters of a caller and the documents that the caller may see.

use std::sync::Arc;

use rusqlite::ToSql;
use serde_json::json;
use vademecum_model::{Filters, SourceAccess, Timestamp, pattern_to_like};

/// A statement over the common table expression `counting`, which selects the documents in scope.
/// It is the only way to exclude documents, and takes [`ScopeParameters::parameters`].
macro_rules! of_counting {
    ($statement:literal) => {
        concat!(include_str!("../sql/counting.sql"), include_str!($statement))
    };
}
pub(crate) use of_counting;

/// The filters of a caller. A field that is `None` excludes nothing; an empty list excludes
/// everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentFilter {
    /// Numbers of sources.
    pub source_ids: Option<Vec<i64>>,
    /// Names of sources. If `source_ids` is set too, both must match.
    pub source_names: Option<Vec<String>>,
    /// Identifiers of documents.
    pub doc_ids: Option<Vec<String>>,
    /// Minimum `Score` in the metadata, inclusive.
    pub min_score: Option<f64>,
    /// Values of `PostTypeId` in the metadata.
    pub post_type_ids: Option<Vec<i64>>,
    /// Tags of which the document has at least one.
    pub tags_any: Option<Vec<String>>,
    /// Tags that the document must all have.
    pub tags_all: Option<Vec<String>>,
    /// Earliest creation time, inclusive.
    pub created_after: Option<Timestamp>,
    /// Latest creation time, inclusive.
    pub created_before: Option<Timestamp>,
    /// Earliest time of the last change in the collection, inclusive.
    pub changed_after: Option<Timestamp>,
    /// Time before which the last change in the collection was.
    pub changed_before: Option<Timestamp>,
    /// Names of projects, matched exactly.
    pub project_names: Option<Vec<String>>,
    /// Versions of projects, matched exactly.
    pub project_versions: Option<Vec<String>>,
}

/// The documents that a caller may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// All documents, for the owner of the machine.
    Everything,
    /// No documents: the caller lacks an access tag of the whole collection.
    Nothing,
    /// Documents whose access tags are all among these.
    Tags(Vec<String>),
    /// Documents that the rules for items permit as well.
    Restricted {
        /// Access tags of the caller; `None` sees documents with any tags.
        tags: Option<Vec<String>>,
        /// Rules by tag and folder. They apply to the tags and the access tags of a document.
        items: Arc<SourceAccess>,
    },
}

impl Access {
    /// Returns the access tags of the caller; `None` sees documents with any tags.
    fn tags(&self) -> Option<&[String]> {
        match self {
            Self::Everything | Self::Nothing => None,
            Self::Tags(tags) => Some(tags),
            Self::Restricted { tags, .. } => tags.as_deref(),
        }
    }

    /// Returns the rules for items, if there are any.
    pub(crate) fn item_rules(&self) -> Option<&SourceAccess> {
        match self {
            Self::Everything | Self::Nothing | Self::Tags(_) => None,
            Self::Restricted { items, .. } => Some(items),
        }
    }
}

/// The documents of a search: filtered by the caller and restricted by access tags.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// Filters of the caller.
    pub filter: DocumentFilter,
    /// Documents that the caller may see.
    pub access: Access,
}

impl From<&Filters> for DocumentFilter {
    /// Takes the filters that all sources have.
    fn from(filters: &Filters) -> Self {
        Self {
            tags_any: (!filters.tags.is_empty()).then(|| filters.tags.clone()),
            changed_after: filters.after,
            changed_before: filters.before,
            ..Self::default()
        }
    }
}

impl Scope {
    /// Creates a scope without filters.
    pub fn of(access: Access) -> Self {
        Self { filter: DocumentFilter::default(), access }
    }

    /// Converts the scope to statement parameters.
    pub(crate) fn to_parameters(&self) -> ScopeParameters {
        let filter = &self.filter;
        let texts = |list: &Option<Vec<String>>| list.as_deref().map(json_array);
        let rules = self.access.item_rules();
        let is_closed = self.access == Access::Nothing;
        let patterns = |list: &Vec<String>| {
            let like: Vec<String> = list.iter().map(|pattern| pattern_to_like(pattern)).collect();
            json_array(&like)
        };
        let numbers = |list: &Option<Vec<i64>>| list.as_ref().map(|list| json!(list).to_string());
        ScopeParameters {
            is_filtered: *filter != DocumentFilter::default() || rules.is_some() || is_closed,
            source_ids: numbers(&filter.source_ids),
            source_names: texts(&filter.source_names),
            doc_ids: texts(&filter.doc_ids),
            min_score: filter.min_score,
            post_type_ids: numbers(&filter.post_type_ids),
            tags_any: texts(&filter.tags_any),
            tags_all: texts(&filter.tags_all),
            created_after: filter.created_after,
            created_before: filter.created_before,
            changed_after: filter.changed_after,
            changed_before: filter.changed_before,
            project_names: texts(&filter.project_names),
            project_versions: texts(&filter.project_versions),
            access: self.access.tags().map(json_array),
            allowed_tags: match rules {
                // A document with none of no tags is hidden.
                None => is_closed.then(|| json_array(&[])),
                Some(rules) => rules.allowed_tags.as_ref().map(patterns),
            },
            denied_tags: rules.map(|rules| patterns(&rules.denied_tags)),
            denied_folders: rules.map(|rules| json_array(&rules.denied_folders)),
        }
    }
}

/// Formats a list, whose order has no meaning, as sorted JSON. `SQLite` makes an index of a sorted list
/// in a third of the time, and the known answers of a filter are found whatever the order of the list.
fn json_array(list: &[String]) -> String {
    let mut sorted: Vec<&String> = list.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    json!(sorted).to_string()
}

/// A scope as statement parameters; lists are JSON.
#[derive(Debug)]
pub(crate) struct ScopeParameters {
    /// A filter of the caller or a rule may exclude documents.
    pub(crate) is_filtered: bool,
    source_ids: Option<String>,
    source_names: Option<String>,
    doc_ids: Option<String>,
    min_score: Option<f64>,
    post_type_ids: Option<String>,
    tags_any: Option<String>,
    tags_all: Option<String>,
    created_after: Option<Timestamp>,
    created_before: Option<Timestamp>,
    changed_after: Option<Timestamp>,
    changed_before: Option<Timestamp>,
    project_names: Option<String>,
    project_versions: Option<String>,
    access: Option<String>,
    allowed_tags: Option<String>,
    denied_tags: Option<String>,
    denied_folders: Option<String>,
}

impl ScopeParameters {
    /// Returns whether the filter lists documents.
    pub(crate) fn has_documents(&self) -> bool {
        self.doc_ids.is_some()
    }

    pub(crate) fn parameters(&self) -> Vec<(&'static str, &dyn ToSql)> {
        vec![
            (":source_ids", &self.source_ids),
            (":source_names", &self.source_names),
            (":doc_ids", &self.doc_ids),
            (":min_score", &self.min_score),
            (":post_type_ids", &self.post_type_ids),
            (":tags_any", &self.tags_any),
            (":tags_all", &self.tags_all),
            (":created_after", &self.created_after),
            (":created_before", &self.created_before),
            (":changed_after", &self.changed_after),
            (":changed_before", &self.changed_before),
            (":project_names", &self.project_names),
            (":project_versions", &self.project_versions),
            (":access", &self.access),
            (":allowed_tags", &self.allowed_tags),
            (":denied_tags", &self.denied_tags),
            (":denied_folders", &self.denied_folders),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_list_changes_no_parameter() {
        let scope = |ids: &[&str]| {
            let doc_ids = Some(ids.iter().map(|id| (*id).to_owned()).collect());
            let filter = DocumentFilter { doc_ids, ..DocumentFilter::default() };
            Scope { filter, access: Access::Everything }.to_parameters().doc_ids
        };
        assert_eq!(scope(&["b", "a", "b"]).as_deref(), Some(r#"["a","b"]"#));
        assert_eq!(scope(&["b", "a"]), scope(&["a", "b"]));
        assert_eq!(scope(&[]).as_deref(), Some("[]"));
    }
}
