//! Check of statements for profiles that may change rows of named tables, and nothing else.
//!
//! The statement is one INSERT, UPDATE or DELETE that the parser understands: what it cannot read is
//! rejected. All tables that it names are tables of the profile, also those that it only reads, because
//! a view may call a function that writes. It calls functions of a list only.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Delete, Expr, FromTable, Insert, ObjectName, ObjectNamePart, OnConflictAction, OnInsert, Query,
    Select, SetExpr, Statement, TableFactor, TableObject, TableWithJoins, Update, Visit as _,
    Visitor,
};
use vademecum_core::config::ChangeKind;

use super::{
    change_functions::is_harmless,
    functions::called_functions,
    lexer::tokenize,
    read::single_statement,
    rejection::{reject, reject_at},
    statement::WriteStatement,
    token::{Token, TokenKind},
    tree::{self, TreeError},
};
use crate::{Engine, SqlError};

/// Changes that a profile permits.
#[derive(Clone, Copy, Debug)]
pub struct ChangeLimits<'l> {
    /// Kinds of statements.
    pub kinds: &'l [ChangeKind],
    /// Tables, as they are written in statements.
    pub tables: &'l [String],
    /// Functions that may be called, besides those that are known to be harmless.
    pub functions: &'l [String],
}

/// Returns true if the statement begins like a change of rows.
pub fn is_change(engine: Engine, text: &str) -> bool {
    tokenize(engine, text)
        .is_ok_and(|lexed| lexed.tokens.first().is_some_and(|first| kind_of_verb(first).is_some()))
}

/// Checks that the text is one statement that changes rows within the limits.
pub fn check_change(
    engine: Engine,
    text: &str,
    limits: ChangeLimits<'_>,
) -> Result<WriteStatement, SqlError> {
    let lexed = single_statement(text, tokenize(engine, text)?)?;
    let Some(first) = lexed.tokens.first() else {
        return Err(reject("the statement is empty; write one"));
    };
    let permitted: Vec<String> =
        limits.kinds.iter().map(|kind| kind.name().to_ascii_uppercase()).collect();
    let kind = kind_of_verb(first).filter(|kind| limits.kinds.contains(kind));
    let Some(kind) = kind else {
        let message =
            format!("a change with this profile begins with {}; write one", permitted.join(", "));
        return Err(reject_at(text, first.offset, &message));
    };
    // The parser sees other signs in quoted names as underscores.
    let is_strange = |token: &&Token| {
        token.kind == TokenKind::Name
            && !token.text.chars().all(|sign| sign.is_alphanumeric() || sign == '_')
    };
    if let Some(token) = lexed.tokens.iter().find(is_strange) {
        let message = "names in a change consist of letters, digits and `_`";
        return Err(reject_at(text, token.offset, message));
    }
    called_functions(engine, text, &lexed.tokens)?;
    let checked =
        tree::check_statement_tree(engine, &lexed.masked, lexed.tokens.len(), |statement| {
            let mut reading = ChangeVisitor { engine, limits, is_inside: false };
            let parts = check_form(engine, statement, kind, limits.kinds);
            parts.and_then(|()| match statement.visit(&mut reading) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(why) => Err(why),
            })
        });
    match checked {
        Ok(Ok(())) => Ok(WriteStatement { engine, text: lexed.without_comments.trim().to_owned() }),
        Ok(Err(why)) => Err(reject_at(text, first.offset, &why)),
        Err(TreeError::Rejected(why)) => Err(reject_at(text, first.offset, why)),
        Err(TreeError::Unparsed) => {
            let message = "the change is not understood; simplify it";
            Err(reject_at(text, first.offset, message))
        }
    }
}

fn kind_of_verb(token: &Token) -> Option<ChangeKind> {
    ChangeKind::ALL.into_iter().find(|kind| token.is_word(kind.name()))
}

/// Checks that the statement changes one table, in a form of this kind.
fn check_form(
    engine: Engine,
    statement: &Statement,
    kind: ChangeKind,
    permitted: &[ChangeKind],
) -> Result<(), String> {
    match (statement, kind) {
        (Statement::Insert(insert), ChangeKind::Insert) => check_insert(insert, permitted),
        (Statement::Update(update), ChangeKind::Update) => check_update(engine, update),
        (Statement::Delete(delete), ChangeKind::Delete) => check_delete(engine, delete),
        _ => Err("the change is not understood; simplify it".to_owned()),
    }
}

fn check_insert(insert: &Insert, permitted: &[ChangeKind]) -> Result<(), String> {
    let is_plain = insert.into
        && insert.or.is_none()
        && !insert.overwrite
        && !insert.replace_into
        && !insert.has_table_keyword
        && insert.partitioned.is_none()
        && insert.multi_table_insert_type.is_none()
        && insert.multi_table_into_clauses.is_empty()
        && insert.output.is_none()
        && matches!(insert.table, TableObject::TableName(_));
    if !is_plain {
        return Err(
            "write INSERT INTO and the name of the table; other forms may replace rows".into()
        );
    }
    let updates = match &insert.on {
        None => false,
        Some(OnInsert::OnConflict(conflict)) => {
            !matches!(conflict.action, OnConflictAction::DoNothing)
        }
        Some(_) => true,
    };
    if updates && !permitted.contains(&ChangeKind::Update) {
        return Err("the profile does not permit UPDATE, also not for rows that exist".to_owned());
    }
    Ok(())
}

fn check_update(engine: Engine, update: &Update) -> Result<(), String> {
    let reads_others = update.from.is_some() && engine == Engine::MySql;
    if update.or.is_some() || update.output.is_some() || reads_others {
        return Err("write UPDATE, the name of one table and SET".to_owned());
    }
    check_target(&update.table)
}

fn check_delete(engine: Engine, delete: &Delete) -> Result<(), String> {
    let reads_others = delete.using.is_some() && engine != Engine::Postgres;
    let from = match &delete.from {
        FromTable::WithFromKeyword(from) if delete.tables.is_empty() && !reads_others => from,
        _ => return Err("write DELETE FROM and the name of one table".to_owned()),
    };
    match from.as_slice() {
        [table] if delete.output.is_none() => check_target(table),
        _ => Err("a change names one table after DELETE FROM".to_owned()),
    }
}

fn check_target(table: &TableWithJoins) -> Result<(), String> {
    let is_table = matches!(table.relation, TableFactor::Table { args: None, .. });
    if is_table && table.joins.is_empty() {
        return Ok(());
    }
    Err("a change names one table, without a join".to_owned())
}

/// Visitor that stops at the first node that is not permitted.
struct ChangeVisitor<'l> {
    engine: Engine,
    limits: ChangeLimits<'l>,
    /// The visitor is inside the statement that it checks.
    is_inside: bool,
}

impl ChangeVisitor<'_> {
    fn check_table(&self, name: &ObjectName) -> Result<(), String> {
        let written = self.read_name(name);
        let listed = |table: &&String| {
            let parts: Vec<&str> = table.split('.').collect();
            written.as_ref().is_some_and(|written| self.is_same(written, &parts))
        };
        if self.limits.tables.iter().any(|table| listed(&table)) {
            return Ok(());
        }
        let tables = self.limits.tables.join(", ");
        Err(format!("`{name}` is no table of this profile, which has {tables}; write it like this"))
    }

    /// Returns the parts of a name as the engine reads them.
    fn read_name(&self, name: &ObjectName) -> Option<Vec<String>> {
        let part = |part: &ObjectNamePart| {
            let ident = part.as_ident()?;
            let folds = match self.engine {
                Engine::Postgres => ident.quote_style.is_none(),
                Engine::Sqlite => true,
                Engine::MySql => false,
            };
            Some(if folds { ident.value.to_ascii_lowercase() } else { ident.value.clone() })
        };
        name.0.iter().map(part).collect()
    }

    fn is_same(&self, written: &[String], listed: &[&str]) -> bool {
        if self.engine != Engine::Sqlite {
            return written.iter().map(String::as_str).eq(listed.iter().copied());
        }
        // Without a schema, `SQLite` finds tables of `main`, because there are no others.
        let written = written.strip_prefix(&["main".to_owned()]).unwrap_or(written);
        let listed = listed.strip_prefix(&["main"]).unwrap_or(listed);
        written.iter().map(String::clone).eq(listed.iter().map(|part| part.to_ascii_lowercase()))
    }

    fn check_function(&self, name: &ObjectName) -> Result<(), String> {
        let written = self.read_name(name).unwrap_or_default();
        let full = written.join(".").to_ascii_lowercase();
        let own = match self.engine {
            Engine::Postgres => full.strip_prefix("pg_catalog.").unwrap_or(&full),
            Engine::MySql | Engine::Sqlite => &full,
        };
        let is_listed = self.limits.functions.iter().any(|it| it.eq_ignore_ascii_case(&full));
        if is_listed || is_harmless(self.engine, own) {
            return Ok(());
        }
        Err(format!(
            "the function `{name}` is not known to be harmless; pass its result as a value, or add it \
             to allow_functions of the profile"
        ))
    }
}

impl Visitor for ChangeVisitor<'_> {
    type Break = String;

    fn pre_visit_statement(&mut self, _: &Statement) -> ControlFlow<String> {
        if std::mem::replace(&mut self.is_inside, true) {
            return ControlFlow::Break("a change contains no other statement".to_owned());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        if query.with.is_some() {
            return ControlFlow::Break("a change has no WITH; use a sub-select".to_owned());
        }
        if !query.locks.is_empty() {
            return ControlFlow::Break("the query locks rows; leave the lock out".to_owned());
        }
        if is_plain_body(&query.body) {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break("a query in a change begins with SELECT or VALUES".to_owned())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<String> {
        match &select.into {
            Some(_) => ControlFlow::Break("`INTO` writes the result; leave it out".to_owned()),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<String> {
        self.check_table(relation).map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<String> {
        match factor {
            TableFactor::Table { args: None, .. }
            | TableFactor::Derived { .. }
            | TableFactor::NestedJoin { .. } => ControlFlow::Continue(()),
            _ => ControlFlow::Break("a change reads tables only, no functions in FROM".to_owned()),
        }
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<String> {
        match expression {
            Expr::Function(function) => {
                let checked = self.check_function(&function.name);
                checked.map_or_else(ControlFlow::Break, ControlFlow::Continue)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns true if a query consists of SELECT and VALUES.
fn is_plain_body(body: &SetExpr) -> bool {
    match body {
        // Queries and selects are visited themselves.
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => true,
        SetExpr::SetOperation { left, right, .. } => is_plain_body(left) && is_plain_body(right),
        SetExpr::Table(_)
        | SetExpr::Insert(_)
        | SetExpr::Update(_)
        | SetExpr::Delete(_)
        | SetExpr::Merge(_) => false,
    }
}
