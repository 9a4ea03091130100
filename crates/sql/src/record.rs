//! Rows of statements of our own, whose columns are known.

use serde_json::Value;

use super::{Column, Rows};

/// A row whose values are read by the names of their columns.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    columns: &'a [Column],
    values: &'a [Value],
}

impl Rows {
    /// The rows, to be read by the names of their columns.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.rows.iter().map(|values| Record { columns: &self.columns, values })
    }
}

impl Record<'_> {
    /// A value as a text; nothing where there is none.
    pub fn maybe(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// A value as a text; an empty one where there is none.
    pub fn text(&self, name: &str) -> String {
        self.maybe(name).unwrap_or_default()
    }

    /// Whether a value says yes: engines without truth values say 1.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Bool(said)) => *said,
            Some(Value::Number(said)) => said.as_f64().is_some_and(|said| said > 0.0),
            _ => false,
        }
    }

    /// A value that is a number, or begins with one.
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
