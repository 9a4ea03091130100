//! Finding chunks by their words.

use rusqlite::{Row, ToSql, named_params};
use vademecum_kit::{
    model::{Ask, Field, Ranking, Statistics, Suggestions, Uri},
    retrieve::{FtsQuery, Ids, Plan, rank, suggest_among},
    source::SourceError,
    store::{Column, Derived, Reader, Table},
};

use crate::{Access, ChunkId, Collection, Scope, scope::of_counting};

/// The full-text table, and how much a word counts in each of its columns.
pub const TABLE: Table = Table {
    name: "rag_fts_chunks",
    columns: &[
        Column { name: "title", field: Field::Title, weight: 2.0 },
        Column { name: "section", field: Field::Title, weight: 1.0 },
        Column { name: "body", field: Field::Text, weight: 1.0 },
    ],
    state: include_str!("../sql/state.sql"),
    postings: include_str!("../sql/postings.sql"),
    lengths: include_str!("../sql/lengths.sql"),
    words: include_str!("../sql/words.sql"),
};

/// The full-text table as what can be made anew from the chunks.
pub const DERIVED: Derived = Derived {
    table: TABLE.name,
    drift: include_str!("../sql/drift.sql"),
    fill: include_str!("../sql/fill.sql"),
};

impl Collection {
    /// Finds the chunks that come first by their words, as `ask` says: `key` is
    /// the chunk, the pointer names none of the collections. `ask.filters` are
    /// those of libraries and mean nothing here.
    pub fn rank(
        &self,
        reader: &Reader<'_>,
        ask: &Ask,
        scope: &Scope,
    ) -> Result<Ranking, SourceError> {
        let bound = scope.bound();
        let parameters = bound.parameters();
        let filtered = bound.filtered || restricted(reader, &parameters)?;
        let plan = Plan {
            table: &TABLE,
            columns: &[],
            passes: filtered.then_some((of_counting!("../sql/passes.sql"), &parameters[..])),
            identify: include_str!("../sql/identify.sql"),
            uri,
        };
        Ok(rank(reader, ask, &plan)?)
    }

    /// The documents whose identifier begins with `typed`, or whose title or
    /// headings have words that begin so; all that may be seen, for nothing.
    pub fn suggest(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
        access: &Access,
    ) -> Result<Suggestions, SourceError> {
        let bound = Scope::of(access.clone()).bound();
        let statement = (of_counting!("../sql/suggest.sql"), &bound.parameters()[..]);
        Ok(suggest_among(reader, &TABLE, Ids::Texts, statement, typed, most)?)
    }

    /// The statistics of a query as far as they are remembered; looks at no file.
    pub fn known(&self, query: &FtsQuery) -> Option<Statistics> {
        vademecum_kit::retrieve::known_in(self.store(), query, &TABLE)
    }
}

/// Whether there is anything that does not count though nobody filters.
pub(crate) fn restricted(
    reader: &Reader<'_>,
    parameters: &[(&'static str, &dyn ToSql)],
) -> Result<bool, SourceError> {
    let access = parameters.iter().find(|(name, _)| *name == ":access");
    let Some((_, access)) = access else { return Ok(true) };
    let sql = include_str!("../sql/restricted.sql");
    Ok(reader.one(sql, named_params! { ":access": access }, |row| row.get("restricted"))?)
}

fn uri(row: &Row<'_>) -> rusqlite::Result<Uri> {
    let id = ChunkId { doc_id: row.get("doc_id")?, index: row.get("chunk_index")? };
    Ok(id.uri(""))
}
