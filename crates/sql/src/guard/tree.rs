//! What the parser makes of a query.

use std::{ops::ControlFlow, thread};

use sqlparser::{
    ast::{Query, Select, SetExpr, Statement, Visit, Visitor},
    dialect::{Dialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect},
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use crate::Engine;

/// Tokens that the parser is given, at most. A chain of operators becomes a tree as
/// deep as it is long, and walking it takes as much of the stack.
const MOST_TOKENS: usize = 2_000;

/// Brackets that the parser follows into each other, at most.
const DEEPEST: usize = 40;

/// What a parser may take of the stack. It is taken only as far as it is used.
const STACK_BYTES: usize = 32 * 1_024 * 1_024;

/// Why a tree is no query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It does more than read.
    Refused(&'static str),
    /// There is no tree.
    NotUnderstood,
}

/// Whether the text from `from` on is a query that only reads.
pub(super) fn query(engine: Engine, masked: &str, from: usize, tokens: usize) -> Result<(), Fault> {
    let text = masked.get(from..).unwrap_or_default();
    apart(tokens, || {
        let mut parser = parser(engine, text)?;
        let query = whole(parser.parse_query(), &parser)?;
        seen(&*query, &mut Reading { is_condition: false })
    })
}

/// Whether the text is an expression without a query in it.
pub(super) fn condition(engine: Engine, masked: &str, tokens: usize) -> Result<(), Fault> {
    apart(tokens, || {
        let mut parser = parser(engine, masked)?;
        let expression = whole(parser.parse_expr(), &parser)?;
        seen(&expression, &mut Reading { is_condition: true })
    })
}

/// Looks at a tree on a stack of its own, which is large enough for any. Without a
/// tree, the tokens decide.
fn apart(tokens: usize, look: impl FnOnce() -> Result<(), Fault> + Send) -> Result<(), Fault> {
    if tokens > MOST_TOKENS {
        return Err(Fault::NotUnderstood);
    }
    thread::scope(|scope| {
        let looking = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, look);
        looking.ok().and_then(|it| it.join().ok()).unwrap_or(Err(Fault::NotUnderstood))
    })
}

fn seen(tree: &impl Visit, reading: &mut Reading) -> Result<(), Fault> {
    match tree.visit(reading) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(Fault::Refused(why)),
    }
}

fn parser(engine: Engine, text: &str) -> Result<Parser<'static>, Fault> {
    let dialect: &'static dyn Dialect = match engine {
        Engine::Postgres => &PostgreSqlDialect {},
        Engine::MySql => &MySqlDialect {},
        Engine::Sqlite => &SQLiteDialect {},
    };
    let parser = Parser::new(dialect).with_recursion_limit(DEEPEST).try_with_sql(text);
    parser.map_err(|_| Fault::NotUnderstood)
}

/// The tree, if it is made of all of the text.
fn whole<T>(tree: Result<T, ParserError>, parser: &Parser<'_>) -> Result<T, Fault> {
    match (tree, parser.peek_token().token) {
        (Ok(tree), Token::EOF) => Ok(tree),
        (Ok(_) | Err(_), _) => Err(Fault::NotUnderstood),
    }
}

/// Looks for what does more than read.
struct Reading {
    is_condition: bool,
}

impl Visitor for Reading {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if self.is_condition {
            return ControlFlow::Break("a condition has no sub-selects; compare columns instead");
        }
        if !query.locks.is_empty() {
            return ControlFlow::Break("the query locks rows; leave the lock out");
        }
        changing(&query.body)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        match &select.into {
            Some(_) => ControlFlow::Break("`INTO` writes what is read somewhere; leave it out"),
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

/// Whether the body of a query is one that changes data.
fn changing(body: &SetExpr) -> ControlFlow<&'static str> {
    match body {
        SetExpr::Select(_)
        | SetExpr::Query(_)
        | SetExpr::SetOperation { .. }
        | SetExpr::Values(_)
        | SetExpr::Table(_) => ControlFlow::Continue(()),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            ControlFlow::Break("the query changes data; only SELECT may stand in it")
        }
    }
}
