//! SQL statements that read a table. Names are quoted, values are bound, and the condition of the
//! plan has passed the SQL guard.

use std::fmt::Write as _;

use serde_json::Value;
use vademecum_core::config::CollectionTable;
use vademecum_sql::{Engine, Parameter, SqlError, guard, quote_identifier};

/// Builds the statements for one table.
#[derive(Debug)]
pub struct TableSql {
    engine: Engine,
    table: String,
    key: String,
    /// Condition that applies to every statement.
    condition: String,
}

/// A statement with the values to bind.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundStatement {
    /// SQL text.
    pub text: String,
    /// Values, in the order of their placeholders.
    pub parameters: Vec<Parameter>,
}

impl TableSql {
    /// Creates the builder for a table. Fails if the guard rejects the condition.
    pub fn new(engine: Engine, table: &CollectionTable) -> Result<Self, SqlError> {
        let key = quote_identifier(engine, &table.pk_column);
        let mut condition = format!("{key} IS NOT NULL");
        if let Some(text) = &table.condition {
            let checked = guard::check_condition(engine, text)?;
            // Writing to a `String` cannot fail.
            write!(condition, " AND ({})", checked.text()).ok();
        }
        let table: Vec<String> =
            table.table.split('.').map(|it| quote_identifier(engine, it)).collect();
        Ok(Self { engine, table: table.join("."), key, condition })
    }

    /// Selects at most `limit` rows ordered by key, beginning after the key `after`. With `since`,
    /// only rows where that column has at least that value.
    pub(crate) fn select_rows(
        &self,
        columns: &[&str],
        since: Option<(&str, &Parameter)>,
        after: Option<&Parameter>,
        limit: usize,
    ) -> BoundStatement {
        let mut bound = self.select_where(&self.column_list(columns));
        if let Some((column, value)) = since {
            let column = quote_identifier(self.engine, column);
            bound.push_condition(self.engine, &format!("{column} >= "), value);
        }
        if let Some(key) = after {
            bound.push_condition(self.engine, &format!("{} > ", self.key), key);
        }
        write!(bound.text, " ORDER BY {} LIMIT {limit}", self.key).ok();
        bound
    }

    /// Selects the rows with these keys.
    pub fn select_by_keys(&self, columns: &[&str], keys: &[Parameter]) -> BoundStatement {
        let mut bound = self.select_where(&self.column_list(columns));
        let placeholders: Vec<String> =
            (1..=keys.len()).map(|at| placeholder(self.engine, at)).collect();
        let (key, placeholders) = (&self.key, placeholders.join(", "));
        write!(bound.text, " AND {key} IN ({placeholders}) ORDER BY {key}").ok();
        bound.parameters.extend_from_slice(keys);
        bound
    }

    /// Counts the rows that satisfy the condition of the table.
    pub(crate) fn count_rows(&self) -> BoundStatement {
        self.select_where("count(*)")
    }

    /// Selects the greatest value of a column.
    pub(crate) fn max_value(&self, column: &str) -> BoundStatement {
        self.select_where(&format!("max({})", quote_identifier(self.engine, column)))
    }

    fn column_list(&self, columns: &[&str]) -> String {
        let names: Vec<String> =
            columns.iter().map(|name| quote_identifier(self.engine, name)).collect();
        names.join(", ")
    }

    fn select_where(&self, what: &str) -> BoundStatement {
        let text = format!("SELECT {what} FROM {} WHERE {}", self.table, self.condition);
        BoundStatement { text, parameters: Vec::new() }
    }
}

impl BoundStatement {
    fn push_condition(&mut self, engine: Engine, condition: &str, value: &Parameter) {
        self.parameters.push(value.clone());
        let place = placeholder(engine, self.parameters.len());
        write!(self.text, " AND {condition}{place}").ok();
    }
}

/// Returns the placeholder of the parameter `number`, counted from 1.
fn placeholder(engine: Engine, number: usize) -> String {
    match engine {
        Engine::Postgres => format!("${number}"),
        Engine::MySql | Engine::Sqlite => "?".to_owned(),
    }
}

/// Converts a value that was read from a column of type `kind` to a parameter. Integers that JSON
/// cannot represent were read as text; they become integers again, so that they are compared as
/// numbers.
pub fn to_parameter(value: &Value, kind: &str) -> Parameter {
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

    fn table(condition: Option<&str>) -> CollectionTable {
        let text = "profile = \"p\"\ntable = \"blog.po\\\"s`ts\"\npk_column = \"I`\\\"d\"\n\
                    doc_map.body.concat = [{ col = \"Body\" }]";
        CollectionTable { condition: condition.map(str::to_owned), ..toml::from_str(text).unwrap() }
    }

    #[test]
    fn statements_quote_names_and_bind_values() {
        let (seven, since) = (Parameter::Integer(7), Parameter::Text("2024".to_owned()));
        let text = |engine| {
            let sql = TableSql::new(engine, &table(Some("score > 3 OR pinned"))).unwrap();
            sql.select_rows(&["Body"], Some(("at", &since)), Some(&seven), 5)
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
            guard::check_query(engine, &text(engine).text).unwrap();
            let sql = TableSql::new(engine, &table(None)).unwrap();
            for bound in [
                sql.count_rows(),
                sql.max_value("at"),
                sql.select_by_keys(&["a"], &[Parameter::Null]),
            ] {
                guard::check_query(engine, &bound.text).unwrap();
            }
        }
    }

    #[test]
    fn condition_with_second_statement_is_rejected() {
        for text in ["1 = 1) OR (1 = 1", "true; DROP TABLE a", "id IN (SELECT 1)", "a -- b"] {
            assert!(TableSql::new(Engine::Postgres, &table(Some(text))).is_err(), "{text}");
        }
    }

    #[test]
    fn large_integer_text_becomes_integer() {
        let given = |value: Value, kind: &str| to_parameter(&value, kind);
        let great = Parameter::Integer(9_007_199_254_740_993);
        assert_eq!(given(json!("9007199254740993"), "bigint"), great);
        let text = Parameter::Text("9007199254740993".to_owned());
        assert_eq!(given(json!("9007199254740993"), "varchar"), text);
        assert_eq!(given(json!(3), "int4"), Parameter::Integer(3));
        assert_eq!(given(json!(0.5), "real"), Parameter::Real(0.5));
    }
}
