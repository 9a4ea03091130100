//! The row of a collection in the catalogue.

use vademecum_model::Timestamp;

/// The row of a collection in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionRecord {
    /// Number of the collection, also used as that of its source.
    pub source_id: i64,
    /// Name of the collection, also used as that of its source.
    pub name: String,
    /// Owner; without one, all users see the collection.
    pub owner: Option<String>,
    /// Name of its database file, in the folder of collections.
    pub file: String,
    /// Its [`super::CollectionPlan`], as JSON.
    pub plan: String,
    /// Time of the last change.
    pub updated_at: Option<Timestamp>,
}
