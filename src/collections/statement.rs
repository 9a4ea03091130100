//! The statements that a table is read with. Names are quoted, values are bound; the
//! condition of the plan has passed the guard.

use std::fmt::Write as _;

use serde_json::Value;

use vademecum_core::config::Table;
use vademecum_sql::{Engine, Parameter, SqlError, guard, quoted};

/// What statements about one table have in common.
#[derive(Debug)]
pub(crate) struct TableSql {
    engine: Engine,
    table: String,
    key: String,
    /// The condition that every row must meet.
    condition: String,
}

/// A statement, and the values for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    /// The statement.
    pub(crate) text: String,
    /// The values, in order.
    pub(crate) parameters: Vec<Parameter>,
}

impl TableSql {
    /// Those about this table, in the language of this engine.
    pub(crate) fn new(engine: Engine, table: &Table) -> Result<Self, SqlError> {
        let key = quoted(engine, &table.pk_column);
        let mut condition = format!("{key} IS NOT NULL");
        if let Some(text) = &table.condition {
            let checked = guard::condition(engine, text)?;
            // Writing into a string cannot fail.
            write!(condition, " AND ({})", checked.text()).ok();
        }
        let table: Vec<String> = table.table.split('.').map(|it| quoted(engine, it)).collect();
        Ok(Self { engine, table: table.join("."), key, condition })
    }

    /// Rows by their keys: those behind one, as many as `limit`. With `since`, only
    /// those where that column has at least that value.
    pub(crate) fn rows(
        &self,
        columns: &[&str],
        since: Option<(&str, &Parameter)>,
        after: Option<&Parameter>,
        limit: usize,
    ) -> Bound {
        let mut bound = self.select(&self.names(columns));
        if let Some((column, value)) = since {
            let column = quoted(self.engine, column);
            bound.and(self.engine, &format!("{column} >= "), value);
        }
        if let Some(key) = after {
            bound.and(self.engine, &format!("{} > ", self.key), key);
        }
        write!(bound.text, " ORDER BY {} LIMIT {limit}", self.key).ok();
        bound
    }

    /// The rows with these keys.
    pub(crate) fn of_keys(&self, columns: &[&str], keys: &[Parameter]) -> Bound {
        let mut bound = self.select(&self.names(columns));
        let places: Vec<String> = (1..=keys.len()).map(|at| place(self.engine, at)).collect();
        let (key, places) = (&self.key, places.join(", "));
        write!(bound.text, " AND {key} IN ({places}) ORDER BY {key}").ok();
        bound.parameters.extend_from_slice(keys);
        bound
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> Bound {
        self.select("count(*)")
    }

    /// The greatest value of a column.
    pub(crate) fn greatest(&self, column: &str) -> Bound {
        self.select(&format!("max({})", quoted(self.engine, column)))
    }

    fn names(&self, columns: &[&str]) -> String {
        let names: Vec<String> = columns.iter().map(|name| quoted(self.engine, name)).collect();
        names.join(", ")
    }

    fn select(&self, what: &str) -> Bound {
        let text = format!("SELECT {what} FROM {} WHERE {}", self.table, self.condition);
        Bound { text, parameters: Vec::new() }
    }
}

impl Bound {
    fn and(&mut self, engine: Engine, condition: &str, value: &Parameter) {
        self.parameters.push(value.clone());
        let place = place(engine, self.parameters.len());
        write!(self.text, " AND {condition}{place}").ok();
    }
}

/// Where a value goes.
fn place(engine: Engine, number: usize) -> String {
    match engine {
        Engine::Postgres => format!("${number}"),
        Engine::MySql | Engine::Sqlite => "?".to_owned(),
    }
}

/// A value of a column of this type, as it is given back. Numbers that JSON cannot hold
/// come as texts, and are given as numbers: else they would be compared as texts.
pub(crate) fn parameter(value: &Value, kind: &str) -> Parameter {
    match value {
        Value::Null => Parameter::Null,
        Value::Bool(is_so) => Parameter::Text(is_so.to_string()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Parameter::Integer(whole),
            (None, Some(real)) => Parameter::Real(real),
            (None, None) => Parameter::Text(number.to_string()),
        },
        Value::String(text) if kind.contains("int") => {
            text.parse().map_or_else(|_| Parameter::Text(text.clone()), Parameter::Integer)
        }
        Value::String(text) => Parameter::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Parameter::Text(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(condition: Option<&str>) -> Table {
        let text = "profile = \"p\"\ntable = \"blog.po\\\"s`ts\"\npk_column = \"I`\\\"d\"\n\
                    doc_map.body.concat = [{ col = \"Body\" }]";
        Table { condition: condition.map(str::to_owned), ..toml::from_str(text).unwrap() }
    }

    #[test]
    fn names_are_quoted_and_values_are_bound() {
        let (seven, since) = (Parameter::Integer(7), Parameter::Text("2024".to_owned()));
        let text = |engine| {
            let sql = TableSql::new(engine, &table(Some("score > 3 OR pinned"))).unwrap();
            sql.rows(&["Body"], Some(("at", &since)), Some(&seven), 5)
        };
        let postgres = text(Engine::Postgres);
        assert_eq!(
            postgres.text,
            "SELECT \"Body\" FROM \"blog\".\"po\"\"s`ts\" WHERE \"I`\"\"d\" IS NOT NULL AND \
             (score > 3 OR pinned) AND \"at\" >= $1 AND \"I`\"\"d\" > $2 ORDER BY \"I`\"\"d\" LIMIT 5"
        );
        assert_eq!(postgres.parameters, [since.clone(), seven.clone()]);
        let sqlite = text(Engine::Sqlite).text;
        assert!(sqlite.contains("`po\"s``ts` WHERE `I``\"d` IS NOT NULL"), "{sqlite}");
        for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
            guard::read(engine, &text(engine).text).unwrap();
            let sql = TableSql::new(engine, &table(None)).unwrap();
            for bound in [sql.count(), sql.greatest("at"), sql.of_keys(&["a"], &[Parameter::Null])]
            {
                guard::read(engine, &bound.text).unwrap();
            }
        }
    }

    #[test]
    fn a_condition_that_is_more_than_one_is_refused() {
        for text in ["1 = 1) OR (1 = 1", "true; DROP TABLE a", "id IN (SELECT 1)", "a -- b"] {
            assert!(TableSql::new(Engine::Postgres, &table(Some(text))).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_that_json_cannot_hold_is_a_number_again() {
        let given = |value: Value, kind: &str| parameter(&value, kind);
        let great = Parameter::Integer(9_007_199_254_740_993);
        assert_eq!(given(json!("9007199254740993"), "bigint"), great);
        let text = Parameter::Text("9007199254740993".to_owned());
        assert_eq!(given(json!("9007199254740993"), "varchar"), text);
        assert_eq!(given(json!(3), "int4"), Parameter::Integer(3));
        assert_eq!(given(json!(0.5), "real"), Parameter::Real(0.5));
    }
}
