//! Documents from the rows of a table, read in the order of their keys.
//!
//! A pass with a cursor has three steps: read the rows whose cursor column has at least the value
//! of the previous pass; read all keys; read the rows whose keys are neither known nor read yet,
//! because they match the condition only now. Documents whose key is missing are removed.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};
use vademecum_core::{auth::Principal, config::CollectionTable};
use vademecum_import::Problem;
use vademecum_sql::{Parameter, QueryCaps, Rows, SqlError};

use super::{
    CollectionError, CollectionPlan,
    chunking::ChunkingMode,
    document_source::{Batch, DocumentSource, KnownHashes, SyncPass},
    folder_scan::MissingFolder,
    row_mapping::RowMapper,
    table_sql::{BoundStatement, TableSql, to_parameter},
    tables::{BlockingConnection, TableDatabases},
};

/// Maximum number of rows in one statement; their documents are embedded together.
const MAX_STATEMENT_ROWS: usize = 256;
/// Maximum number of keys in one statement.
const MAX_STATEMENT_KEYS: usize = 10_000;
/// Maximum size of the rows of one statement, in bytes. A larger row is skipped.
const MAX_STATEMENT_BYTES: usize = 32 * 1_024 * 1_024;
/// Minimum timeout of a statement, because ingest may take longer than the profile allows for
/// interactive use.
const MIN_STATEMENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Binary column types, which cannot be keys.
const BYTE_TYPES: [&str; 4] = ["bytea", "binary", "varbinary", "blob"];

/// A pass over the rows of a table.
#[derive(Debug)]
pub(super) struct TableSource<'p> {
    name: &'p str,
    table: &'p CollectionTable,
    mapping: RowMapper<'p>,
    connection: BlockingConnection,
    sql: TableSql,
    step: ReadStep,
    /// Identifiers of the documents that were read in this pass.
    seen_doc_ids: HashSet<String>,
    progress: (usize, usize),
    cursor: Option<Value>,
}

/// The next step of a pass.
#[derive(Debug)]
enum ReadStep {
    /// Read rows after this key.
    Rows { since: Option<Parameter>, after: Option<Parameter> },
    /// Read keys after this one. `unseen` collects keys whose rows must be read.
    Keys { after: Option<Parameter>, unseen: Vec<Parameter> },
    /// Read the rows with these keys.
    Unseen(Vec<Parameter>),
    /// The pass is complete.
    Done,
}

/// Rows of one statement, and the key at which to continue.
struct RowPage {
    rows: Rows,
    /// The last key, or `None` if there are no more rows.
    after: Option<Parameter>,
}

impl<'p> TableSource<'p> {
    /// Connects to the database of the plan's table with the rights of a principal. No row is read
    /// yet.
    pub(super) fn new(
        name: &'p str,
        plan: &'p CollectionPlan,
        table: &'p CollectionTable,
        cut: ChunkingMode,
        (tables, principal): (&TableDatabases, &Principal),
    ) -> Result<Self, CollectionError> {
        let failed = |error: SqlError| CollectionError::Rows {
            name: name.to_owned(),
            reason: error.message,
        };
        let pool = tables.connect_blocking(principal, table).map_err(failed)?;
        let sql = TableSql::new(pool.connection().engine(), table).map_err(failed)?;
        Ok(Self {
            name,
            table,
            mapping: RowMapper::new(plan, table, cut),
            connection: pool,
            sql,
            step: ReadStep::Done,
            seen_doc_ids: HashSet::new(),
            progress: (0, 0),
            cursor: None,
        })
    }

    fn rows_error(&self, reason: String) -> CollectionError {
        CollectionError::Rows { name: self.name.to_owned(), reason }
    }

    fn run_statement(&self, bound: &BoundStatement, rows: usize) -> Result<Rows, CollectionError> {
        let caps = self.connection.connection().profile().query_caps();
        let caps = QueryCaps {
            timeout: caps.timeout.max(MIN_STATEMENT_TIMEOUT),
            offset: 0,
            max_rows: rows,
            max_bytes: MAX_STATEMENT_BYTES,
        };
        let read = self.connection.read_rows(&bound.text, &bound.parameters, caps);
        read.map_err(|error| self.rows_error(error.message))
    }

    /// Returns the single value of a statement, and its column type.
    fn query_value(&self, bound: &BoundStatement) -> Result<(Value, String), CollectionError> {
        let Rows { mut columns, mut rows, .. } = self.run_statement(bound, 1)?;
        let value = rows.pop().and_then(|mut row| row.pop()).unwrap_or_default();
        Ok((value, columns.pop().map(|it| it.kind).unwrap_or_default()))
    }

    /// Reads rows after a key. Fails if the key is binary or not unique.
    fn query_page(
        &self,
        columns: &[&str],
        since: Option<&Parameter>,
        after: Option<&Parameter>,
        limit: usize,
    ) -> Result<RowPage, CollectionError> {
        let cursor = self.table.cursor.as_ref().map(|cursor| cursor.column.as_str());
        let bound = self.sql.select_rows(columns, cursor.zip(since), after, limit);
        let rows = self.run_statement(&bound, limit)?;
        let kind = rows.columns.first().map(|it| it.kind.as_str()).unwrap_or_default();
        if BYTE_TYPES.iter().any(|bytes| kind.ends_with(bytes)) {
            let key = &self.table.pk_column;
            let problem = format!("`pk_column` is `{key}`, whose values are bytes; name another");
            return Err(self.rows_error(problem));
        }
        let is_last = rows.rows.len() < limit && !rows.truncated;
        let last = rows.rows.last().and_then(|row| Some(to_parameter(row.first()?, kind)));
        let next = last.filter(|_| !is_last);
        if next.is_some() && next.as_ref() == after {
            return Err(self.rows_error(self.duplicate_key_message()));
        }
        Ok(RowPage { rows, after: next })
    }

    fn duplicate_key_message(&self) -> String {
        format!(
            "several rows have the same `{}`; name a column as `pk_column` that is unique",
            self.table.pk_column
        )
    }

    /// Converts rows to documents and separates unchanged ones. Fails if a key is not unique.
    fn build_batch(
        &mut self,
        rows: &Rows,
        known: Option<&KnownHashes>,
    ) -> Result<Batch, CollectionError> {
        let mut portion = Batch::default();
        for row in &rows.rows {
            let document = self.mapping.to_document(row);
            if !self.seen_doc_ids.insert(document.doc_id.clone()) {
                return Err(self.rows_error(self.duplicate_key_message()));
            }
            let hash = known.and_then(|known| known.get(&document.doc_id));
            if hash == Some(&document.content_hash) {
                portion.unchanged.push(document.doc_id);
            } else {
                portion.documents.push(document);
            }
        }
        Ok(portion)
    }

    fn next_rows(
        &mut self,
        since: Option<Parameter>,
        after: Option<&Parameter>,
        known: Option<&KnownHashes>,
    ) -> Result<Batch, CollectionError> {
        let page =
            self.query_page(self.mapping.columns(), since.as_ref(), after, MAX_STATEMENT_ROWS)?;
        let mut portion = self.build_batch(&page.rows, known)?;
        let mut next = page.after;
        if page.rows.truncated && page.rows.rows.is_empty() {
            next = self.skip_large_row(&mut portion, since.as_ref(), after, known)?;
        }
        self.step = match (next, since) {
            (Some(key), since) => ReadStep::Rows { since, after: Some(key) },
            (None, Some(_)) => ReadStep::Keys { after: None, unseen: Vec::new() },
            (None, None) => ReadStep::Done,
        };
        Ok(portion)
    }

    /// Skips a row that is too large to be read. Its document, if there is one, stays.
    fn skip_large_row(
        &mut self,
        portion: &mut Batch,
        since: Option<&Parameter>,
        after: Option<&Parameter>,
        known: Option<&KnownHashes>,
    ) -> Result<Option<Parameter>, CollectionError> {
        let page = self.query_page(&[&self.table.pk_column], since, after, 1)?;
        if let Some(key) = page.rows.rows.first().and_then(|row| row.first()) {
            let doc_id = self.mapping.doc_id(key);
            portion.skipped.push(Problem { place: doc_id.clone(), reason: row_too_large() });
            self.seen_doc_ids.insert(doc_id.clone());
            if known.is_some_and(|known| known.contains_key(&doc_id)) {
                portion.unchanged.push(doc_id);
            }
        }
        Ok(page.after)
    }

    fn next_keys(
        &mut self,
        after: Option<&Parameter>,
        mut unseen: Vec<Parameter>,
        known: Option<&KnownHashes>,
    ) -> Result<Batch, CollectionError> {
        let page = self.query_page(&[&self.table.pk_column], None, after, MAX_STATEMENT_KEYS)?;
        let kind = page.rows.columns.first().map(|it| it.kind.as_str()).unwrap_or_default();
        let mut portion = Batch::default();
        for key in page.rows.rows.iter().filter_map(|row| row.first()) {
            let doc_id = self.mapping.doc_id(key);
            if self.seen_doc_ids.contains(&doc_id) {
                continue;
            }
            if known.is_some_and(|known| known.contains_key(&doc_id)) {
                portion.unchanged.push(doc_id);
            } else {
                unseen.push(to_parameter(key, kind));
            }
        }
        self.step = match page.after {
            Some(key) => ReadStep::Keys { after: Some(key), unseen },
            None if unseen.is_empty() => ReadStep::Done,
            None => ReadStep::Unseen(unseen),
        };
        Ok(portion)
    }

    fn next_unseen(
        &mut self,
        mut keys: Vec<Parameter>,
        known: Option<&KnownHashes>,
    ) -> Result<Batch, CollectionError> {
        let rest = keys.split_off(keys.len().min(MAX_STATEMENT_ROWS));
        let bound = self.sql.select_by_keys(self.mapping.columns(), &keys);
        let rows = self.run_statement(&bound, keys.len())?;
        let mut portion = self.build_batch(&rows, known)?;
        if rows.truncated {
            let kind = rows.columns.first().map(|it| it.kind.as_str()).unwrap_or_default();
            let last = rows.rows.last().and_then(|row| Some(to_parameter(row.first()?, kind)));
            let read = keys.iter().position(|key| last.as_ref() == Some(key));
            if read.is_none() {
                portion
                    .skipped
                    .push(Problem { place: self.name.to_owned(), reason: row_too_large() });
            }
            keys.drain(..=read.unwrap_or(0));
        } else {
            keys.clear();
        }
        keys.extend(rest);
        self.step = if keys.is_empty() { ReadStep::Done } else { ReadStep::Unseen(keys) };
        Ok(portion)
    }
}

impl DocumentSource for TableSource<'_> {
    fn backend_type(&self) -> &'static str {
        self.connection.connection().engine().name()
    }

    fn unusable_reason(&self) -> Option<String> {
        None
    }

    fn missing_folders(&self) -> &[MissingFolder] {
        &[]
    }

    fn begin_pass(&mut self, pass: SyncPass) -> Result<(), CollectionError> {
        self.seen_doc_ids.clear();
        let mut since = None;
        if let Some(cursor) = &self.table.cursor {
            // Read first, so that rows that change during the pass are read again in the next one.
            let (value, kind) = self.query_value(&self.sql.max_value(&cursor.column))?;
            since = match &pass {
                SyncPass::Since(from) if from["column"] == cursor.column.as_str() => {
                    Some(to_parameter(&from["value"], &kind))
                }
                SyncPass::Since(_) | SyncPass::Full => None,
            };
            let cursor = json!({ "column": cursor.column, "value": value });
            self.cursor = (!value.is_null()).then_some(cursor);
        }
        let (count, _) = self.query_value(&self.sql.count_rows())?;
        self.progress = (0, count.as_u64().and_then(|it| it.try_into().ok()).unwrap_or(0));
        self.step = ReadStep::Rows { since, after: None };
        Ok(())
    }

    fn next_batch(
        &mut self,
        known: Option<&KnownHashes>,
    ) -> Result<Option<Batch>, CollectionError> {
        let mut portion = match std::mem::replace(&mut self.step, ReadStep::Done) {
            ReadStep::Rows { since, after } => self.next_rows(since, after.as_ref(), known)?,
            ReadStep::Keys { after, unseen } => self.next_keys(after.as_ref(), unseen, known)?,
            ReadStep::Unseen(keys) => self.next_unseen(keys, known)?,
            ReadStep::Done => return Ok(None),
        };
        let (done, of) = &mut self.progress;
        *done += portion.documents.len() + portion.unchanged.len();
        *of = (*of).max(*done);
        portion.progress = self.progress;
        Ok(Some(portion))
    }

    fn cursor(&self) -> Option<Value> {
        self.cursor.clone()
    }
}

fn row_too_large() -> String {
    format!("the row has more than {MAX_STATEMENT_BYTES} bytes")
}
