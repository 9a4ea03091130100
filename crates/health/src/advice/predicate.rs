//! Conditions of plans, parsed into comparisons of columns.

use std::ops::ControlFlow;

use sqlparser::{
    ast::{BinaryOperator, Expr, Ident, visit_expressions},
    dialect::{Dialect, MySqlDialect, PostgreSqlDialect},
    parser::Parser,
};

use vademecum_sql::Engine;

/// Maximum length of a condition in bytes. It bounds the depth of the syntax tree.
const MAX_CONDITION_BYTES: usize = 8_000;

/// Recursion limit of the parser.
const MAX_PARSER_RECURSION: usize = 40;

/// Column of a table in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanColumn {
    /// Alias of the table.
    pub(super) alias: String,
    /// Name of the column.
    pub(super) column: String,
    /// True if the column is cast to text, as the planner does with `varchar`.
    pub(super) is_cast_to_text: bool,
}

/// Comparison that an index on its column can serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predicate {
    /// Equal to one or several values.
    Equality(PlanColumn),
    /// Less or greater than a value.
    Range(PlanColumn),
    /// Equal to a column of another table.
    Join(PlanColumn, PlanColumn),
}

/// Returns the comparisons that all rows meet. Parts that cannot be parsed are left out.
pub(super) fn parse_condition(engine: Engine, text: &str) -> Vec<Predicate> {
    let Some(expression) = parse_expression(engine, text) else { return Vec::new() };
    let (mut open, mut found) = (vec![&expression], Vec::new());
    while let Some(part) = open.pop() {
        match part {
            Expr::Nested(inner) => open.push(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                open.extend([&**right, left]);
            }
            other => found.extend(comparison(other)),
        }
    }
    found
}

/// Returns the column of a sort key such as `o.created DESC`, and whether it is descending.
pub(super) fn parse_sort_key(engine: Engine, key: &str) -> Option<(PlanColumn, bool)> {
    let key = key.trim_end_matches(" NULLS FIRST").trim_end_matches(" NULLS LAST");
    let (key, is_descending) = match key.strip_suffix(" DESC") {
        Some(key) => (key, true),
        None => (key, false),
    };
    let column = plan_column(&parse_expression(engine, key)?)?;
    (!column.is_cast_to_text).then_some((column, is_descending))
}

fn parse_expression(engine: Engine, text: &str) -> Option<Expr> {
    if text.len() > MAX_CONDITION_BYTES {
        return None;
    }
    let dialect: &dyn Dialect = match engine {
        Engine::Postgres => &PostgreSqlDialect {},
        Engine::MySql | Engine::Sqlite => &MySqlDialect {},
    };
    let parser = Parser::new(dialect).with_recursion_limit(MAX_PARSER_RECURSION);
    parser.try_with_sql(text).ok()?.parse_expr().ok()
}

fn comparison(part: &Expr) -> Option<Predicate> {
    match part {
        Expr::BinaryOp { left, op, right } => {
            let is_range = matches!(
                op,
                BinaryOperator::Lt
                    | BinaryOperator::LtEq
                    | BinaryOperator::Gt
                    | BinaryOperator::GtEq
            );
            if *op != BinaryOperator::Eq && !is_range {
                return None;
            }
            match (plan_column(left), plan_column(right)) {
                (Some(one), Some(other)) if !is_range && one.alias != other.alias => {
                    Some(Predicate::Join(one, other))
                }
                (Some(column), None) if is_constant(right) => {
                    Some(column_predicate(is_range, column))
                }
                (None, Some(column)) if is_constant(left) => {
                    Some(column_predicate(is_range, column))
                }
                _ => None,
            }
        }
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } if is_constant(right) => {
            plan_column(left).map(Predicate::Equality)
        }
        Expr::InList { expr, list, negated: false } if list.iter().all(is_constant) => {
            plan_column(expr).map(Predicate::Equality)
        }
        Expr::Between { expr, negated: false, low, high, .. }
            if is_constant(low) && is_constant(high) =>
        {
            plan_column(expr).map(Predicate::Range)
        }
        _ => None,
    }
}

/// Returns the predicate that compares a column with a constant.
fn column_predicate(is_range: bool, column: PlanColumn) -> Predicate {
    if is_range { Predicate::Range(column) } else { Predicate::Equality(column) }
}

/// Returns the column that an expression consists of.
fn plan_column(part: &Expr) -> Option<PlanColumn> {
    match part {
        Expr::Nested(inner) => plan_column(inner),
        Expr::CompoundIdentifier(names) => {
            let [.., Ident { value: alias, .. }, Ident { value: column, .. }] = names.as_slice()
            else {
                return None;
            };
            let (alias, column) = (alias.clone(), column.clone());
            Some(PlanColumn { alias, column, is_cast_to_text: false })
        }
        Expr::Cast { expr, data_type, .. }
            if data_type.to_string().eq_ignore_ascii_case("text") =>
        {
            Some(PlanColumn { is_cast_to_text: true, ..plan_column(expr)? })
        }
        _ => None,
    }
}

/// Returns true if an expression depends on no column of a table.
fn is_constant(part: &Expr) -> bool {
    let visited = visit_expressions(part, |inner| match inner {
        Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    visited.is_continue()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(alias: &str, column: &str) -> PlanColumn {
        PlanColumn { alias: alias.to_owned(), column: column.to_owned(), is_cast_to_text: false }
    }

    #[test]
    fn conjuncts_become_predicates() {
        let text = "((o.customer_id = $1) AND (o.\"Placed At\" >= '2026-01-01'::date) AND \
                    ((o.status)::text = 'open'::text) AND (o.kind = ANY ('{1,2}'::integer[])) AND \
                    ((o.a = 1) OR (o.b = 2)) AND (o.c <> 3) AND (lower(o.d) = 'x'::text))";
        let status = PlanColumn { is_cast_to_text: true, ..column("o", "status") };
        assert_eq!(
            parse_condition(Engine::Postgres, text),
            [
                Predicate::Equality(column("o", "customer_id")),
                Predicate::Range(column("o", "Placed At")),
                Predicate::Equality(status),
                Predicate::Equality(column("o", "kind")),
            ]
        );
    }

    #[test]
    fn columns_of_two_tables_are_joined() {
        let joined = [Predicate::Join(column("o", "customer"), column("c", "id"))];
        assert_eq!(parse_condition(Engine::Postgres, "(o.customer = c.id)"), joined);
        assert_eq!(parse_condition(Engine::MySql, "(`s`.`o`.`customer` = `s`.`c`.`id`)"), joined);
        for text in ["(o.a = o.b)", "(o.a = (c.b + 1))", "not a condition", "(o.a < c.b)", ""] {
            assert_eq!(parse_condition(Engine::Postgres, text), [], "{text}");
        }
    }

    #[test]
    fn mysql_condition_is_parsed() {
        let text = "o.customer = 5 and o.total between 1 and 9 and o.kind in (1,2)";
        assert_eq!(
            parse_condition(Engine::MySql, text),
            [
                Predicate::Equality(column("o", "customer")),
                Predicate::Range(column("o", "total")),
                Predicate::Equality(column("o", "kind")),
            ]
        );
    }

    #[test]
    fn sort_key_has_column_and_direction() {
        let parse = |key| parse_sort_key(Engine::Postgres, key);
        assert_eq!(parse("o.created DESC NULLS LAST"), Some((column("o", "created"), true)));
        assert_eq!(parse("o.created"), Some((column("o", "created"), false)));
        assert_eq!(parse("(lower(o.name))"), None);
    }
}
