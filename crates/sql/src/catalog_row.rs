//! Access by column name to the rows of catalog queries.

use serde_json::Value;

use super::{Column, Rows};

/// Row whose values are read by column name, ignoring ASCII case.
#[derive(Clone, Copy, Debug)]
pub struct CatalogRow<'a> {
    columns: &'a [Column],
    values: &'a [Value],
}

impl Rows {
    /// Returns the rows as records.
    pub fn catalog_rows(&self) -> impl Iterator<Item = CatalogRow<'_>> {
        self.rows.iter().map(|values| CatalogRow { columns: &self.columns, values })
    }
}

impl CatalogRow<'_> {
    /// Returns a value as text; `None` if it is NULL or the column is missing.
    pub fn optional_text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// Returns a value as text; empty if it is NULL or the column is missing.
    pub fn text(&self, name: &str) -> String {
        self.optional_text(name).unwrap_or_default()
    }

    /// Returns a value as a boolean; engines without booleans send 1.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(value)) => value.as_f64().is_some_and(|value| value > 0.0),
            _ => false,
        }
    }

    /// Returns a number or a text that parses as one; `None` for any other value.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.value(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let at = self.columns.iter().position(|it| it.name.eq_ignore_ascii_case(name))?;
        self.values.get(at)
    }
}
