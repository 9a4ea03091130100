//! Check of the syntax tree that the parser builds from a query.

use std::{ops::ControlFlow, thread};

use sqlparser::{
    ast::{Query, Select, SetExpr, Statement, Visit, Visitor},
    dialect::{Dialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect},
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use crate::Engine;

/// Maximum number of tokens passed to the parser. A chain of operators becomes a tree as deep as
/// the chain is long, and visiting it needs that much stack.
const MAX_PARSED_TOKENS: usize = 2_000;

/// Recursion limit of the parser.
const MAX_PARSER_RECURSION: usize = 40;

/// Stack size of the parser thread, in bytes. Memory is committed only as it is used.
const PARSER_STACK_BYTES: usize = 32 * 1_024 * 1_024;

/// Error of a tree check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeError {
    /// The tree contains more than reads.
    Rejected(&'static str),
    /// The text could not be parsed.
    Unparsed,
}

/// Checks that the text from byte `from` on is a read-only query.
pub(super) fn check_query_tree(
    engine: Engine,
    masked: &str,
    from: usize,
    tokens: usize,
) -> Result<(), TreeError> {
    let text = masked.get(from..).unwrap_or_default();
    run_on_large_stack(tokens, || {
        let mut parser = create_parser(engine, text)?;
        let query = require_end_of_text(parser.parse_query(), &parser)?;
        visit_tree(&*query, &mut ReadOnlyVisitor { is_condition: false })
    })
}

/// Passes the tree of the text to `check`. Fails if the text is not one statement.
pub(super) fn check_statement_tree<T: Send>(
    engine: Engine,
    masked: &str,
    tokens: usize,
    check: impl FnOnce(&Statement) -> T + Send,
) -> Result<T, TreeError> {
    run_on_large_stack(tokens, || {
        let mut parser = create_parser(engine, masked)?;
        let statement = require_end_of_text(parser.parse_statement(), &parser)?;
        Ok(check(&statement))
    })
}

/// Checks that the text is an expression without a sub-select.
pub(super) fn check_condition_tree(
    engine: Engine,
    masked: &str,
    tokens: usize,
) -> Result<(), TreeError> {
    run_on_large_stack(tokens, || {
        let mut parser = create_parser(engine, masked)?;
        let expression = require_end_of_text(parser.parse_expr(), &parser)?;
        visit_tree(&expression, &mut ReadOnlyVisitor { is_condition: true })
    })
}

/// Runs the check on a thread with a large stack. Fails with [`TreeError::Unparsed`] if there are
/// too many tokens or the thread fails; then the token rules decide.
fn run_on_large_stack<T: Send>(
    tokens: usize,
    look: impl FnOnce() -> Result<T, TreeError> + Send,
) -> Result<T, TreeError> {
    if tokens > MAX_PARSED_TOKENS {
        return Err(TreeError::Unparsed);
    }
    thread::scope(|scope| {
        let looking =
            thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn_scoped(scope, look);
        looking.ok().and_then(|it| it.join().ok()).unwrap_or(Err(TreeError::Unparsed))
    })
}

fn visit_tree(tree: &impl Visit, reading: &mut ReadOnlyVisitor) -> Result<(), TreeError> {
    match tree.visit(reading) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(TreeError::Rejected(why)),
    }
}

fn create_parser(engine: Engine, text: &str) -> Result<Parser<'static>, TreeError> {
    let dialect: &'static dyn Dialect = match engine {
        Engine::Postgres => &PostgreSqlDialect {},
        Engine::MySql => &MySqlDialect {},
        Engine::Sqlite => &SQLiteDialect {},
    };
    let parser = Parser::new(dialect).with_recursion_limit(MAX_PARSER_RECURSION).try_with_sql(text);
    parser.map_err(|_| TreeError::Unparsed)
}

/// Returns the tree if the parser has consumed the whole text.
fn require_end_of_text<T>(
    tree: Result<T, ParserError>,
    parser: &Parser<'_>,
) -> Result<T, TreeError> {
    match (tree, parser.peek_token().token) {
        (Ok(tree), Token::EOF) => Ok(tree),
        (Ok(_) | Err(_), _) => Err(TreeError::Unparsed),
    }
}

/// Visitor that stops at the first node that does more than read.
struct ReadOnlyVisitor {
    is_condition: bool,
}

impl Visitor for ReadOnlyVisitor {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if self.is_condition {
            return ControlFlow::Break(
                "a condition must not contain sub-selects; compare columns instead",
            );
        }
        if !query.locks.is_empty() {
            return ControlFlow::Break("the query locks rows; leave the lock out");
        }
        check_query_body(&query.body)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        match &select.into {
            Some(_) => ControlFlow::Break("`INTO` writes the result; leave it out"),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Self::Break> {
        match statement {
            Statement::Query(_) => ControlFlow::Continue(()),
            _ => ControlFlow::Break("a statement inside the query changes data; leave it out"),
        }
    }
}

/// Rejects a query body that changes data.
fn check_query_body(body: &SetExpr) -> ControlFlow<&'static str> {
    match body {
        SetExpr::Select(_)
        | SetExpr::Query(_)
        | SetExpr::SetOperation { .. }
        | SetExpr::Values(_)
        | SetExpr::Table(_) => ControlFlow::Continue(()),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            ControlFlow::Break("the query changes data; only SELECT is allowed in it")
        }
    }
}
