//! What a source must be able to do.
//!
//! A source is synchronous and offline. It does not rank across sources,
//! page, remember or check who asks: it is handed one user's database, and
//! there is no other that it could reach.

use std::fmt::Debug;

use crate::{
    model::{
        Ask, Change, Draft, Edit, Filters, Get, Hit, Holdings, Item, ItemId, Ranking, Saved,
        SourceName, Stamped, Statistics, StoredPrompt, Suggestions, Tagging, Uri, View, Written,
    },
    retrieve::{self, FtsQuery, Similar},
    store::{Database, Derived, Reader, Store, StoreError, Table, Writer},
};

/// Something that can be searched, read and added to.
pub trait Source: Debug + Send + Sync + 'static {
    /// What it is called.
    fn name(&self) -> SourceName;

    /// Which of the user's databases it lives in.
    fn database(&self) -> Database;

    /// The full-text table that is searched, and the columns of it that count
    /// with these filters; all, if none is named.
    fn searched(&self, filters: &Filters) -> (&'static Table, Vec<&'static str>);

    /// The full-text table that is searched, as what can be made anew from rows; `None`
    /// for a source whose words are nobody's to mend.
    fn derived(&self) -> Option<Derived> {
        None
    }

    /// Finds the matches that come first, without reading them.
    ///
    /// The order is total and does not depend on how many are asked for: by
    /// relevance it is score, then last modification, then URI. Scores are raw.
    fn rank(&self, reader: &Reader<'_>, ask: &Ask) -> Result<Ranking, SourceError>;

    /// The statistics of a query as far as they are remembered; `None` if they
    /// are not. Looks at no file.
    fn known(&self, store: &Store, query: &FtsQuery, filters: &Filters) -> Option<Statistics> {
        let (table, columns) = self.searched(filters);
        retrieve::known(&*store.memory(table)?, query, table, &columns)
    }

    /// The stored words that look like any of these, which are not stored.
    fn similar(&self, reader: &Reader<'_>, words: &[String]) -> Result<Vec<Similar>, SourceError> {
        Ok(retrieve::similar(reader, self.searched(&Filters::default()).0, words)?)
    }

    /// Reads matches for a list of results, in the order they are given.
    /// What has vanished meanwhile is left out.
    fn show(&self, reader: &Reader<'_>, view: &View) -> Result<Vec<Hit>, SourceError>;

    /// Reads one item.
    fn get(&self, reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError>;

    /// Reads one item as the draft that would make it again, its identifier
    /// included. Its origin is its URI.
    fn draft(&self, reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError>;

    /// Adds an item, or brings the one of the same origin up to date.
    fn save(&self, writer: &Writer<'_>, draft: &Draft) -> Result<Saved, SourceError>;

    /// Takes the item of an origin away, because the origin is gone: marks it as
    /// deleted, and makes it unfindable. Tells whether there was one.
    fn remove(&self, writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError>;

    /// Changes what it holds, as somebody asks for.
    fn change(&self, writer: &Writer<'_>, change: &Change) -> Result<Written, SourceError> {
        match change {
            Change::Add(draft) => self.add(writer, draft),
            Change::Tag { id, tagging } => self.tag(writer, id, tagging),
            Change::Edit { id, version, edit } => self.edit(writer, id, *version, edit),
        }
    }

    /// Adds an item that was written here, for a source in which one writes.
    fn add(&self, _writer: &Writer<'_>, _draft: &Draft) -> Result<Written, SourceError> {
        Err(SourceError::Refused(format!("nothing can be written into `{}`", self.name())))
    }

    /// Changes the tags of an item, for a source whose items have some.
    fn tag(
        &self,
        _writer: &Writer<'_>,
        _id: &ItemId,
        _tagging: &Tagging,
    ) -> Result<Written, SourceError> {
        Err(SourceError::Refused(format!("what is in `{}` has no tags", self.name())))
    }

    /// Edits or deletes an item, for a source in which one writes. One that is
    /// not at the `version` that is given is left alone.
    fn edit(
        &self,
        _writer: &Writer<'_>,
        _id: &ItemId,
        _version: Option<i64>,
        _edit: &Edit,
    ) -> Result<Written, SourceError> {
        Err(SourceError::Refused(format!("what is in `{}` cannot be edited", self.name())))
    }

    /// The kinds of items it holds and how many there are of each, for a
    /// source that has kinds.
    fn kinds(&self, _reader: &Reader<'_>) -> Result<Vec<(String, usize)>, SourceError> {
        Ok(Vec::new())
    }

    /// The items whose identifier begins with `typed`, or whose title has words
    /// that begin so: best first, and all, newest first, for nothing.
    fn suggest(
        &self,
        _reader: &Reader<'_>,
        _typed: &str,
        _most: usize,
    ) -> Result<Suggestions, SourceError> {
        Ok(Suggestions::default())
    }

    /// The keywords of its items that begin with `typed`, the most used first,
    /// for a source that can be searched by keyword.
    fn keywords(
        &self,
        _reader: &Reader<'_>,
        _typed: &str,
        _most: usize,
    ) -> Result<Suggestions, SourceError> {
        Ok(Suggestions::default())
    }

    /// The prompts that can be filled in and sent, by name, for a source that
    /// holds such.
    fn prompts(&self, _reader: &Reader<'_>) -> Result<Vec<StoredPrompt>, SourceError> {
        Ok(Vec::new())
    }

    /// All of its items, for whoever follows what becomes of them.
    fn contents(&self, _reader: &Reader<'_>) -> Result<Vec<Stamped>, SourceError> {
        Ok(Vec::new())
    }

    /// Whether an item counts with these filters, whatever is looked for; `None`
    /// if that depends on what of it matches.
    fn counts(
        &self,
        _reader: &Reader<'_>,
        filters: &Filters,
        _key: i64,
    ) -> Result<Option<bool>, SourceError> {
        Ok((*filters == Filters::default()).then_some(true))
    }

    /// How much it holds.
    fn holdings(&self, _reader: &Reader<'_>) -> Result<Holdings, SourceError> {
        Ok(Holdings::default())
    }
}

/// Why a source could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such item.
    #[error("{what} `{id}` is not there")]
    NotFound {
        /// What was looked for: `note`, `media` …
        what: &'static str,
        /// Its identifier, as it was given.
        id: String,
    },
    /// The request cannot be met as it stands; says why.
    #[error("{0}")]
    Refused(String),
    /// The source cannot answer now, whatever is asked; says why.
    #[error("{0}")]
    Unavailable(String),
    /// The database could not be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SourceError {
    /// There is no `what` with this identifier.
    pub fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    /// An item is not at the version that was `expected`, but at the one `found`.
    pub fn stale(uri: &Uri, expected: i64, found: i64) -> Self {
        Self::Refused(format!(
            "`{uri}` is at version {found}, not {expected}: it was changed meanwhile; read it \
             again, then pass version {found} with what it should become"
        ))
    }
}
