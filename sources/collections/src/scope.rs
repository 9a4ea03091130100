//! Which documents of a collection count: what a caller asks for, and what a
//! caller may see.

use rusqlite::ToSql;
use serde_json::json;
use vademecum_kit::model::Timestamp;

/// A statement that reads of `counting`, the documents that count. This is the
/// only way to leave out what may not be seen, and takes [`Bound::parameters`].
macro_rules! of_counting {
    ($statement:literal) => {
        concat!(include_str!("../sql/counting.sql"), include_str!($statement))
    };
}
pub(crate) use of_counting;

/// What a caller asks for. What is not set excludes nothing; an empty list of
/// something allows nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// One of these sources, by number.
    pub source_ids: Option<Vec<i64>>,
    /// One of these sources, by name. With `source_ids`, both must hold.
    pub source_names: Option<Vec<String>>,
    /// One of these documents.
    pub doc_ids: Option<Vec<String>>,
    /// The `Score` of the metadata is this or higher.
    pub min_score: Option<f64>,
    /// The `PostTypeId` of the metadata is one of these.
    pub post_type_ids: Option<Vec<i64>>,
    /// At least one of these tags.
    pub tags_any: Option<Vec<String>>,
    /// All of these tags.
    pub tags_all: Option<Vec<String>>,
    /// Made then or later, as its metadata say.
    pub created_after: Option<Timestamp>,
    /// Made then or earlier.
    pub created_before: Option<Timestamp>,
    /// Of one of these projects, named exactly so.
    pub project_names: Option<Vec<String>>,
    /// Of one of these versions, named exactly so.
    pub project_versions: Option<Vec<String>>,
}

/// What a caller may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything: the owner of the machine.
    Everything,
    /// Documents all of whose access tags are among these.
    Tags(Vec<String>),
}

/// Which documents count.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// What is asked for.
    pub filter: Filter,
    /// What may be seen.
    pub access: Access,
}

impl Scope {
    /// Everything that may be seen.
    pub fn of(access: Access) -> Self {
        Self { filter: Filter::default(), access }
    }

    /// The same as parameters of the statements that know them.
    pub(crate) fn bound(&self) -> Bound {
        let filter = &self.filter;
        let texts = |list: &Option<Vec<String>>| list.as_ref().map(|list| json!(list).to_string());
        let numbers = |list: &Option<Vec<i64>>| list.as_ref().map(|list| json!(list).to_string());
        Bound {
            filtered: *filter != Filter::default(),
            source_ids: numbers(&filter.source_ids),
            source_names: texts(&filter.source_names),
            doc_ids: texts(&filter.doc_ids),
            min_score: filter.min_score,
            post_type_ids: numbers(&filter.post_type_ids),
            tags_any: texts(&filter.tags_any),
            tags_all: texts(&filter.tags_all),
            created_after: filter.created_after,
            created_before: filter.created_before,
            project_names: texts(&filter.project_names),
            project_versions: texts(&filter.project_versions),
            access: match &self.access {
                Access::Everything => None,
                Access::Tags(tags) => Some(json!(tags).to_string()),
            },
        }
    }
}

/// A scope as parameters.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Whether the caller asks for less than all.
    pub(crate) filtered: bool,
    source_ids: Option<String>,
    source_names: Option<String>,
    doc_ids: Option<String>,
    min_score: Option<f64>,
    post_type_ids: Option<String>,
    tags_any: Option<String>,
    tags_all: Option<String>,
    created_after: Option<Timestamp>,
    created_before: Option<Timestamp>,
    project_names: Option<String>,
    project_versions: Option<String>,
    access: Option<String>,
}

impl Bound {
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
            (":project_names", &self.project_names),
            (":project_versions", &self.project_versions),
            (":access", &self.access),
        ]
    }
}
