//! Functions that a `PostgreSQL` server calls while it only parses a statement.
//!
//! Parsing converts literals, which calls input functions and the checks of domains. The catalogs
//! tell which types are reached by the names of a statement and have such a function that is not a
//! compiled one. If there is one, the statement is first parsed with parameters in place of its
//! strings: the server then reports to which types it would convert them, and converts nothing.

use tokio_postgres::Row;

use crate::{SqlError, driver::reached_function::rejection};

/// Names of types and functions that convert a text to the type that another text names.
const NAMES_TYPE: [&str; 13] = [
    "pg_input_is_valid",
    "pg_input_error_info",
    "regoperator",
    "regoperatorin",
    "regprocedure",
    "regprocedurein",
    "regtype",
    "regtypein",
    "to_regoperator",
    "to_regprocedure",
    "to_regtype",
    "to_regtypemod",
    "pg_get_object_address",
];

/// Returns true if a statement with these names may name a type in a literal.
pub(super) fn may_name_type_in_literal(names: &[&str]) -> bool {
    names.iter().any(|name| NAMES_TYPE.contains(name))
}

/// Returns true if a statement with these names may convert a text to a type that a literal names.
pub(super) fn converts_to_named_type(names: &[&str]) -> bool {
    names.iter().any(|name| ["pg_input_is_valid", "pg_input_error_info"].contains(name))
}

/// Function that the server calls while it parses literals of a type.
#[derive(Clone, Debug)]
pub(super) struct LiteralHazard {
    pub(super) function: u32,
    pub(super) schema: String,
    pub(super) name: String,
    type_name: String,
    /// True for a function of a base type, which is also called for modifiers of the type.
    pub(super) is_input: bool,
}

impl LiteralHazard {
    pub(super) fn read(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            function: row.try_get("function")?,
            schema: row.try_get("schema")?,
            name: row.try_get("name")?,
            type_name: row.try_get("type_name")?,
            is_input: row.try_get("is_input")?,
        })
    }

    pub(super) fn rejection(&self) -> SqlError {
        rejection(&format!(
            "values of the type `{}` call the function `{}.{}`, which cannot be checked; leave the type \
             out, or list the function in `allow_functions` of the profile if it only reads",
            self.type_name, self.schema, self.name
        ))
    }
}
