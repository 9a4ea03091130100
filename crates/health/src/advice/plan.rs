//! Tables that a plan reads whole, and the conditions on them.

use std::{collections::HashMap, ops::ControlFlow};

use serde_json::Value;
use sqlparser::{
    ast::{ObjectNamePart, TableFactor, Visit, Visitor},
    dialect::MySqlDialect,
    parser::Parser,
};

use super::predicate::{PlanColumn, Predicate, parse_condition, parse_sort_key};
use vademecum_sql::Engine;

/// Scan of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TableScan {
    /// Schema; empty for the schema of the connection.
    pub(super) schema: String,
    /// Name of the table.
    pub(super) table: String,
    /// Alias in the statement.
    pub(super) alias: String,
    /// Estimated number of rows that meet the conditions; `None` if the server does not know.
    pub(super) kept_rows: Option<f64>,
    /// True if the whole table is read; false if an index leads to rows that are then filtered.
    pub(super) is_whole: bool,
}

/// Parts of a plan that advice depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PlanFacts {
    /// Estimated cost in the units of the server, if it reports one.
    pub(super) cost: Option<f64>,
    /// Tables that are read whole, or through an index that is not enough.
    pub(super) scans: Vec<TableScan>,
    /// Comparisons of columns.
    pub(super) predicates: Vec<Predicate>,
    /// Sort keys of each sort, if all are plain columns in one direction.
    pub(super) sorts: Vec<Vec<PlanColumn>>,
    /// Estimated rows of each alias, also of tables that are read through an index.
    pub(super) rows: HashMap<String, f64>,
    /// True if only the first rows are returned.
    pub(super) has_limit: bool,
}

/// Number of processes that share a parallel scan, as estimated.
const PARALLEL_SHARE: f64 = 3.0;

/// Reads a JSON plan of `PostgreSQL`.
pub(super) fn read_postgres_plan(plan: &Value) -> PlanFacts {
    let mut facts = PlanFacts::default();
    if let Some(root) = plan.pointer("/0/Plan") {
        facts.cost = root.get("Total Cost").and_then(Value::as_f64);
        read_postgres_step(root, &mut facts);
    }
    facts
}

fn read_postgres_step(step: &Value, facts: &mut PlanFacts) {
    let text = |name: &str| step.get(name).and_then(Value::as_str);
    let node = text("Node Type").unwrap_or_default();
    let rows = step.get("Plan Rows").and_then(Value::as_f64);
    if let (Some(alias), Some(rows)) = (text("Alias"), rows) {
        facts.rows.insert(alias.to_owned(), rows);
    }
    let is_whole = node == "Seq Scan";
    let is_filtered =
        ["Index Scan", "Bitmap Heap Scan"].contains(&node) && text("Filter").is_some();
    if let (true, Some(table)) = (is_whole || is_filtered, text("Relation Name")) {
        let is_parallel = step.get("Parallel Aware").and_then(Value::as_bool) == Some(true);
        let share = if is_parallel { PARALLEL_SHARE } else { 1.0 };
        facts.scans.push(TableScan {
            schema: text("Schema").unwrap_or_default().to_owned(),
            table: table.to_owned(),
            alias: text("Alias").unwrap_or(table).to_owned(),
            kept_rows: rows.map(|rows| rows * share),
            is_whole,
        });
    }
    for name in ["Filter", "Index Cond", "Recheck Cond", "Hash Cond", "Merge Cond", "Join Filter"] {
        let condition = text(name).unwrap_or_default();
        facts.predicates.extend(parse_condition(Engine::Postgres, condition));
    }
    facts.has_limit |= node == "Limit";
    if let Some(keys) = step.get("Sort Key").and_then(Value::as_array) {
        let keys = keys.iter().map(|key| parse_sort_key(Engine::Postgres, key.as_str()?));
        facts.sorts.extend(keys.collect::<Option<Vec<_>>>().and_then(one_direction));
    }
    for inner in step.get("Plans").and_then(Value::as_array).into_iter().flatten() {
        read_postgres_step(inner, facts);
    }
}

/// Returns the columns if all are sorted in the same direction.
fn one_direction(keys: Vec<(PlanColumn, bool)>) -> Option<Vec<PlanColumn>> {
    let first = keys.first()?.1;
    keys.iter()
        .all(|(_, direction)| *direction == first)
        .then(|| keys.into_iter().map(|(column, _)| column).collect())
}

/// Reads a JSON plan of `MySQL` or `MariaDB`, which names tables by their aliases only; the
/// statement says which tables these are.
pub(super) fn read_mysql_plan(plan: &Value, statement: &str) -> PlanFacts {
    let cost = plan.pointer("/query_block/cost_info/query_cost");
    let cost = cost.and_then(|cost| cost.as_f64().or_else(|| cost.as_str()?.parse().ok()));
    let mut facts = PlanFacts { cost, ..PlanFacts::default() };
    read_mysql_step(plan, &aliases(statement), &mut facts);
    facts
}

fn read_mysql_step(step: &Value, aliases: &HashMap<String, TableScan>, facts: &mut PlanFacts) {
    match step {
        Value::Array(items) => items.iter().for_each(|it| read_mysql_step(it, aliases, facts)),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            let rows = fields.get("rows").or_else(|| fields.get("rows_examined_per_scan"));
            let named = text("table_name").and_then(|name| aliases.get(&name.to_lowercase()));
            if let (Some(scan), Some(access)) = (named, text("access_type")) {
                facts.rows.extend(rows.and_then(Value::as_f64).map(|it| (scan.alias.clone(), it)));
                if access == "ALL" {
                    facts.scans.push(scan.clone());
                }
            }
            let condition = text("attached_condition").unwrap_or_default();
            facts.predicates.extend(parse_condition(Engine::MySql, condition));
            fields.values().for_each(|inner| read_mysql_step(inner, aliases, facts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the tables of a statement by alias in lower case, without aliases that are used twice.
fn aliases(statement: &str) -> HashMap<String, TableScan> {
    struct Tables(HashMap<String, Option<TableScan>>);
    impl Visitor for Tables {
        type Break = ();
        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, alias, .. } = factor {
                let mut names = name.0.iter().rev().filter_map(ObjectNamePart::as_ident);
                let mut next = || names.next().map(|name| name.value.clone());
                let (table, schema) = (next().unwrap_or_default(), next().unwrap_or_default());
                let alias =
                    alias.as_ref().map_or_else(|| table.clone(), |it| it.name.value.clone());
                let scan = TableScan {
                    schema,
                    table,
                    alias: alias.clone(),
                    kept_rows: None,
                    is_whole: true,
                };
                let known = self.0.entry(alias.to_lowercase());
                known.and_modify(|known| *known = None).or_insert(Some(scan));
            }
            ControlFlow::Continue(())
        }
    }
    let mut tables = Tables(HashMap::new());
    if let Ok(parsed) = Parser::parse_sql(&MySqlDialect {}, statement) {
        // The visitor never breaks.
        let (ControlFlow::Continue(()) | ControlFlow::Break(())) = parsed.visit(&mut tables);
    }
    tables.0.into_iter().filter_map(|(alias, scan)| Some((alias, scan?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn postgres_plan_has_scans_and_conditions() {
        let plan = json!([{ "Plan": {
            "Node Type": "Limit", "Total Cost": 900.5, "Plans": [{
                "Node Type": "Sort", "Sort Key": ["o.placed DESC"], "Plans": [{
                    "Node Type": "Hash Join", "Hash Cond": "(o.customer = c.id)", "Plans": [
                        { "Node Type": "Seq Scan", "Schema": "s", "Relation Name": "orders",
                          "Alias": "o", "Filter": "(o.kind = 1)", "Plan Rows": 10,
                          "Parallel Aware": true },
                        { "Node Type": "Index Scan", "Relation Name": "customers", "Alias": "c",
                          "Plan Rows": 2 },
                    ],
                }],
            }],
        }}]);
        let facts = read_postgres_plan(&plan);
        assert_eq!((facts.cost, facts.has_limit), (Some(900.5), true));
        let [scan] = facts.scans.as_slice() else { panic!("{facts:?}") };
        assert_eq!(
            (scan.schema.as_str(), scan.table.as_str(), scan.kept_rows),
            ("s", "orders", Some(30.0))
        );
        assert_eq!((facts.predicates.len(), facts.sorts.len()), (2, 1));
        assert_eq!(facts.rows["c"], 2.0);
    }

    #[test]
    fn mysql_plan_resolves_aliases() {
        let plan = json!({ "query_block": { "cost_info": { "query_cost": "12.5" }, "nested_loop": [
            { "table": { "table_name": "O", "access_type": "ALL", "rows": 500,
                         "attached_condition": "o.customer = 5" } },
            { "table": { "table_name": "c", "access_type": "eq_ref", "rows": 1 } },
        ]}});
        let statement = "SELECT 1 FROM shop.orders O JOIN customers c ON c.id = O.customer";
        let facts = read_mysql_plan(&plan, statement);
        assert_eq!(facts.cost, Some(12.5));
        let [scan] = facts.scans.as_slice() else { panic!("{facts:?}") };
        assert_eq!((scan.schema.as_str(), scan.table.as_str()), ("shop", "orders"));
        let twice = "SELECT 1 FROM orders WHERE id IN (SELECT id FROM old.orders)";
        assert!(aliases(twice).is_empty());
    }
}
