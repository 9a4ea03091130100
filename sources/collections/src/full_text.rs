//! Full-text search over chunks.

use rusqlite::{Row, ToSql, named_params};
use vademecum_model::{CorpusStatistics, Field, FtsColumn, FtsTable, Suggestions, Uri};
use vademecum_search::{FtsQuery, RankRequest, Ranking};
use vademecum_source::{IdType, RankPlan, SourceError, rank_table, suggest_items_with};
use vademecum_store::{DerivedFtsTable, FilterStatements, Reader};

use crate::{
    Access, ChunkId, Collection, Scope,
    scope::{ScopeParameters, of_counting},
};

/// Returns a row if some document has a tag.
const TAGGED_SQL: &str = "SELECT 1 FROM rag_document_tags LIMIT 1";

/// The full-text table, with the ranking weight of each column.
pub const FULL_TEXT_TABLE: FtsTable = FtsTable::new(
    "rag_fts_chunks",
    "rag_words",
    &[
        FtsColumn { name: "body", field: Field::Text, weight: 1.0 },
        FtsColumn { name: "section", field: Field::Title, weight: 1.0 },
        FtsColumn { name: "title", field: Field::Title, weight: 2.0 },
    ],
);

/// The statements that check and rebuild the full-text table from the chunks.
pub const FULL_TEXT_REBUILD: DerivedFtsTable = DerivedFtsTable {
    table: FULL_TEXT_TABLE.name,
    count_differences_sql: sql!("fts_differences"),
    fill_sql: sql!("fill_fts"),
    index: &FULL_TEXT_TABLE,
    reindex_sql: sql!("reindex"),
    unindex_sql: "DELETE FROM rag_fts_chunks WHERE rowid = :key",
};

impl Collection {
    /// Ranks the chunks that match the query. Each key is the row of a chunk; the URIs have an
    /// empty collection name, which the caller fills in. The scope has the filters; those of the
    /// request are not applied.
    pub fn rank_matches(
        &self,
        reader: &Reader<'_>,
        request: &RankRequest,
        scope: &Scope,
    ) -> Result<Ranking, SourceError> {
        let bound = scope.to_parameters();
        let parameters = bound.parameters();
        // Deleted documents and those with other access tags count in the statistics; documents that a
        // rule hides do not.
        let hidden = match scope.access.item_rules() {
            Some(_) => self.hidden_chunks(reader, &scope.access)?,
            None => Vec::new(),
        };
        let filtered = bound.is_filtered || has_hidden_documents(reader, &parameters)?;
        let plan = RankPlan {
            table: &FULL_TEXT_TABLE,
            columns: &[],
            filter: filtered.then(|| scope_filter(&bound, &parameters)),
            hidden: &hidden,
            identify_sql: sql!("identify"),
            read_uri: &|row| vademecum_source::compare_names(request, row, uri(row)?),
        };
        Ok(rank_table(reader, request, &plan)?)
    }

    /// Returns whether no document has a tag. A caller who does not see all documents never learns of
    /// it, because others may have some.
    pub fn lacks_tags(&self, reader: &Reader<'_>, access: &Access) -> Result<bool, SourceError> {
        Ok(*access == Access::Everything
            && reader.query_first(TAGGED_SQL, &[], |_| Ok(()))?.is_none())
    }

    /// Returns the chunks that a caller may not see, in ascending order.
    pub fn hidden_chunks(
        &self,
        reader: &Reader<'_>,
        access: &Access,
    ) -> Result<Vec<i64>, SourceError> {
        let bound = Scope::of(access.clone()).to_parameters();
        let parameters = bound.parameters();
        if !bound.is_filtered && !has_hidden_documents(reader, &parameters)? {
            return Ok(Vec::new());
        }
        let statement = of_counting!("../sql/hidden.sql");
        Ok(reader.query_all(statement, &parameters, |row| row.get("key"))?)
    }

    /// Returns whether any document is in scope.
    pub fn has_documents(&self, reader: &Reader<'_>, scope: &Scope) -> Result<bool, SourceError> {
        let bound = scope.to_parameters();
        let statement = of_counting!("../sql/any.sql");
        Ok(reader.query_first(statement, &bound.parameters(), |_| Ok(()))?.is_some())
    }

    /// Suggests documents whose identifier starts with `typed`, or whose title or headings have
    /// words that start with it. An empty text matches all visible documents.
    pub fn suggest_documents(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
        access: &Access,
    ) -> Result<Suggestions, SourceError> {
        let bound = Scope::of(access.clone()).to_parameters();
        let statement = (of_counting!("../sql/suggest.sql"), &bound.parameters()[..]);
        Ok(suggest_items_with(reader, &FULL_TEXT_TABLE, IdType::Texts, statement, typed, most)?)
    }

    /// Returns the statistics of a query from memory, without I/O; `None` if they are not cached.
    pub fn cached_statistics(&self, query: &FtsQuery) -> Option<CorpusStatistics> {
        vademecum_source::cached_table_statistics(self.store(), query, &FULL_TEXT_TABLE)
    }
}

/// Returns `true` if some document is hidden even without filters: by a disabled source, a deletion
/// or an access tag.
pub(crate) fn has_hidden_documents(
    reader: &Reader<'_>,
    parameters: &[(&'static str, &dyn ToSql)],
) -> Result<bool, SourceError> {
    let access = parameters.iter().find(|(name, _)| *name == ":access");
    let Some((_, access)) = access else { return Ok(true) };
    let sql = sql!("restricted");
    Ok(reader.query_one(sql, named_params! { ":access": access }, |row| row.get("restricted"))?)
}

/// Returns the filter on the chunks in scope.
pub(crate) fn scope_filter<'a>(
    bound: &ScopeParameters,
    parameters: &'a [(&'static str, &'a dyn ToSql)],
) -> FilterStatements<'a> {
    FilterStatements {
        row_sql: of_counting!("../sql/passes.sql"),
        all_sql: Some(if bound.has_documents() {
            of_counting!("../sql/allowed_of_list.sql")
        } else {
            of_counting!("../sql/allowed.sql")
        }),
        parameters,
    }
}

fn uri(row: &Row<'_>) -> rusqlite::Result<Uri> {
    let id = ChunkId { doc_id: row.get("doc_id")?, index: row.get("chunk_index")? };
    Ok(id.uri(""))
}
