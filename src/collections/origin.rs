//! Where the documents of a collection come from: read portion by portion, and
//! compared with what is there.

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_collections::Document;

use super::{CollectionError, folder::Missing};
use vademecum_import::Problem;

/// What is there: documents and their content hashes.
pub(super) type Known = BTreeMap<String, String>;

/// Something that documents are read from.
pub(super) trait Origin {
    /// What it is: `folder`, or the engine of a database.
    fn backend_type(&self) -> &'static str;

    /// Why no collection can be made of it at all, if so.
    fn nothing(&self) -> Option<String>;

    /// What is passed over as a whole, of which everything stays as it is.
    fn missing(&self) -> &[Missing];

    /// Begins at the front.
    fn begin(&mut self, pass: Pass) -> Result<(), CollectionError>;

    /// The next portion; nothing, if all was read. What is as it is `known` is not
    /// given again. All portions together name every document that there is.
    fn next(&mut self, known: Option<&Known>) -> Result<Option<Portion>, CollectionError>;

    /// Where to go on the next time, once all was read.
    fn cursor(&self) -> Option<Value>;
}

/// How much is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pass {
    /// All of it.
    Everything,
    /// What may have changed since it was read up to there.
    Since(Value),
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Portion {
    /// Documents that are not what is known of them.
    pub(super) documents: Vec<Document>,
    /// The names of those that are.
    pub(super) unchanged: Vec<String>,
    /// Things of kinds that are not read.
    pub(super) passed: usize,
    /// What cannot be read, and why.
    pub(super) skipped: Vec<Problem>,
    /// How far this is, of how much.
    pub(super) progress: (usize, usize),
}
