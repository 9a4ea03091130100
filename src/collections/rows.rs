//! The rows of a table, read in the order of their keys.
//!
//! With a cursor there are three steps: rows whose cursor has at least the value of
//! the last time, then the keys of all, and then the rows whose keys are neither known
//! nor were read: those that count only now. What has no key any more is gone.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};

use super::{
    CollectionError, Plan,
    chunking::Cut,
    folder::Missing,
    mapping::Mapping,
    origin::{Known, Origin, Pass, Portion},
    statement::{Bound, TableSql, parameter},
    tables::{Desk, Tables},
};
use vademecum_core::config::Table;
use vademecum_import::Problem;
use vademecum_sql::{Caps, Parameter, Rows, SqlError};

/// Rows of one statement, at most; their documents are embedded together.
const ROWS: usize = 256;
/// Keys of one statement, at most.
const KEYS: usize = 10_000;
/// Bytes of the rows of one statement, at most; a row that is longer is left out.
const BYTES: usize = 32 * 1_024 * 1_024;
/// The least time that a statement gets, whatever the profile says: nobody waits.
const PATIENCE: Duration = Duration::from_mins(1);
/// Types whose values are bytes, which are no keys.
const BYTE_TYPES: [&str; 4] = ["bytea", "binary", "varbinary", "blob"];

/// The rows of a table, on the way through them.
#[derive(Debug)]
pub(super) struct TableRows<'p> {
    name: &'p str,
    table: &'p Table,
    mapping: Mapping<'p>,
    desk: Desk,
    sql: TableSql,
    step: Step,
    /// The documents that were read in this pass.
    seen: HashSet<String>,
    progress: (usize, usize),
    cursor: Option<Value>,
}

/// What is read next.
#[derive(Debug)]
enum Step {
    /// Rows behind this key.
    Rows { since: Option<Parameter>, after: Option<Parameter> },
    /// Keys behind this one, after so many.
    Keys { after: Option<Parameter>, unseen: Vec<Parameter> },
    /// The rows of these keys.
    Unseen(Vec<Parameter>),
    /// Nothing.
    Over,
}

/// Rows, and how to go on behind them.
struct Page {
    rows: Rows,
    /// The last key; none if these were the last rows.
    after: Option<Parameter>,
}

impl<'p> TableRows<'p> {
    /// The rows of the table of a plan. Nothing is read yet.
    pub(super) fn new(
        name: &'p str,
        plan: &'p Plan,
        table: &'p Table,
        cut: Cut,
        tables: &Tables,
    ) -> Result<Self, CollectionError> {
        let failed = |error: SqlError| CollectionError::Rows {
            name: name.to_owned(),
            reason: error.message,
        };
        let desk = tables.desk(table).map_err(failed)?;
        let sql = TableSql::new(desk.connection().engine(), table).map_err(failed)?;
        Ok(Self {
            name,
            table,
            mapping: Mapping::new(plan, table, cut),
            desk,
            sql,
            step: Step::Over,
            seen: HashSet::new(),
            progress: (0, 0),
            cursor: None,
        })
    }

    fn wrong(&self, reason: String) -> CollectionError {
        CollectionError::Rows { name: self.name.to_owned(), reason }
    }

    fn read(&self, bound: &Bound, rows: usize) -> Result<Rows, CollectionError> {
        let caps = self.desk.connection().profile().caps();
        let caps = Caps { timeout: caps.timeout.max(PATIENCE), offset: 0, rows, bytes: BYTES };
        let read = self.desk.read(&bound.text, &bound.parameters, caps);
        read.map_err(|error| self.wrong(error.message))
    }

    /// The one value that a statement gives, and its type.
    fn value(&self, bound: &Bound) -> Result<(Value, String), CollectionError> {
        let Rows { mut columns, mut rows, .. } = self.read(bound, 1)?;
        let value = rows.pop().and_then(|mut row| row.pop()).unwrap_or_default();
        Ok((value, columns.pop().map(|it| it.kind).unwrap_or_default()))
    }

    /// Reads rows behind a key.
    fn page(
        &self,
        columns: &[&str],
        since: Option<&Parameter>,
        after: Option<&Parameter>,
        limit: usize,
    ) -> Result<Page, CollectionError> {
        let cursor = self.table.cursor.as_ref().map(|cursor| cursor.column.as_str());
        let bound = self.sql.rows(columns, cursor.zip(since), after, limit);
        let rows = self.read(&bound, limit)?;
        let kind = rows.columns.first().map(|it| it.kind.as_str()).unwrap_or_default();
        if BYTE_TYPES.iter().any(|bytes| kind.ends_with(bytes)) {
            let key = &self.table.pk_column;
            let problem = format!("`pk_column` is `{key}`, whose values are bytes; name another");
            return Err(self.wrong(problem));
        }
        let is_last = rows.rows.len() < limit && !rows.truncated;
        let last = rows.rows.last().and_then(|row| Some(parameter(row.first()?, kind)));
        let next = last.filter(|_| !is_last);
        if next.is_some() && next.as_ref() == after {
            return Err(self.wrong(self.not_unique()));
        }
        Ok(Page { rows, after: next })
    }

    fn not_unique(&self) -> String {
        format!(
            "several rows have the same `{}`; name a column as `pk_column` that is unique",
            self.table.pk_column
        )
    }

    /// Makes documents of rows, and tells those apart that are as they were.
    fn take(&mut self, rows: &Rows, known: Option<&Known>) -> Result<Portion, CollectionError> {
        let mut portion = Portion::default();
        for row in &rows.rows {
            let document = self.mapping.document(row);
            if !self.seen.insert(document.doc_id.clone()) {
                return Err(self.wrong(self.not_unique()));
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

    fn rows(
        &mut self,
        since: Option<Parameter>,
        after: Option<&Parameter>,
        known: Option<&Known>,
    ) -> Result<Portion, CollectionError> {
        let page = self.page(self.mapping.columns(), since.as_ref(), after, ROWS)?;
        let mut portion = self.take(&page.rows, known)?;
        let mut next = page.after;
        if page.rows.truncated && page.rows.rows.is_empty() {
            next = self.pass_over(&mut portion, since.as_ref(), after, known)?;
        }
        self.step = match (next, since) {
            (Some(key), since) => Step::Rows { since, after: Some(key) },
            (None, Some(_)) => Step::Keys { after: None, unseen: Vec::new() },
            (None, None) => Step::Over,
        };
        Ok(portion)
    }

    /// Passes over a row that is too long to be read. What was read of it before stays.
    fn pass_over(
        &mut self,
        portion: &mut Portion,
        since: Option<&Parameter>,
        after: Option<&Parameter>,
        known: Option<&Known>,
    ) -> Result<Option<Parameter>, CollectionError> {
        let page = self.page(&[&self.table.pk_column], since, after, 1)?;
        if let Some(key) = page.rows.rows.first().and_then(|row| row.first()) {
            let doc_id = self.mapping.doc_id(key);
            portion.skipped.push(Problem { place: doc_id.clone(), reason: too_long() });
            self.seen.insert(doc_id.clone());
            if known.is_some_and(|known| known.contains_key(&doc_id)) {
                portion.unchanged.push(doc_id);
            }
        }
        Ok(page.after)
    }

    fn keys(
        &mut self,
        after: Option<&Parameter>,
        mut unseen: Vec<Parameter>,
        known: Option<&Known>,
    ) -> Result<Portion, CollectionError> {
        let page = self.page(&[&self.table.pk_column], None, after, KEYS)?;
        let kind = page.rows.columns.first().map(|it| it.kind.as_str()).unwrap_or_default();
        let mut portion = Portion::default();
        for key in page.rows.rows.iter().filter_map(|row| row.first()) {
            let doc_id = self.mapping.doc_id(key);
            if self.seen.contains(&doc_id) {
                continue;
            }
            if known.is_some_and(|known| known.contains_key(&doc_id)) {
                portion.unchanged.push(doc_id);
            } else {
                unseen.push(parameter(key, kind));
            }
        }
        self.step = match page.after {
            Some(key) => Step::Keys { after: Some(key), unseen },
            None if unseen.is_empty() => Step::Over,
            None => Step::Unseen(unseen),
        };
        Ok(portion)
    }

    fn unseen(
        &mut self,
        mut keys: Vec<Parameter>,
        known: Option<&Known>,
    ) -> Result<Portion, CollectionError> {
        let rest = keys.split_off(keys.len().min(ROWS));
        let bound = self.sql.of_keys(self.mapping.columns(), &keys);
        let rows = self.read(&bound, keys.len())?;
        let mut portion = self.take(&rows, known)?;
        if rows.truncated {
            let kind = rows.columns.first().map(|it| it.kind.as_str()).unwrap_or_default();
            let last = rows.rows.last().and_then(|row| Some(parameter(row.first()?, kind)));
            let read = keys.iter().position(|key| last.as_ref() == Some(key));
            if read.is_none() {
                portion.skipped.push(Problem { place: self.name.to_owned(), reason: too_long() });
            }
            keys.drain(..=read.unwrap_or(0));
        } else {
            keys.clear();
        }
        keys.extend(rest);
        self.step = if keys.is_empty() { Step::Over } else { Step::Unseen(keys) };
        Ok(portion)
    }
}

impl Origin for TableRows<'_> {
    fn backend_type(&self) -> &'static str {
        self.desk.connection().engine().name()
    }

    fn nothing(&self) -> Option<String> {
        None
    }

    fn missing(&self) -> &[Missing] {
        &[]
    }

    fn begin(&mut self, pass: Pass) -> Result<(), CollectionError> {
        self.seen.clear();
        let mut since = None;
        if let Some(cursor) = &self.table.cursor {
            // Asked for first: what changes while rows are read is read again the next time.
            let (value, kind) = self.value(&self.sql.greatest(&cursor.column))?;
            since = match &pass {
                Pass::Since(from) if from["column"] == cursor.column.as_str() => {
                    Some(parameter(&from["value"], &kind))
                }
                Pass::Since(_) | Pass::Everything => None,
            };
            let cursor = json!({ "column": cursor.column, "value": value });
            self.cursor = (!value.is_null()).then_some(cursor);
        }
        let (count, _) = self.value(&self.sql.count())?;
        self.progress = (0, count.as_u64().and_then(|it| it.try_into().ok()).unwrap_or(0));
        self.step = Step::Rows { since, after: None };
        Ok(())
    }

    fn next(&mut self, known: Option<&Known>) -> Result<Option<Portion>, CollectionError> {
        let mut portion = match std::mem::replace(&mut self.step, Step::Over) {
            Step::Rows { since, after } => self.rows(since, after.as_ref(), known)?,
            Step::Keys { after, unseen } => self.keys(after.as_ref(), unseen, known)?,
            Step::Unseen(keys) => self.unseen(keys, known)?,
            Step::Over => return Ok(None),
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

fn too_long() -> String {
    format!("the row has more than {BYTES} bytes")
}
