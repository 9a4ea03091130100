//! Functions that running a statement of `PostgreSQL` can call, as the catalogs describe them.

use std::collections::BTreeSet;

use tokio_postgres::Row;

use crate::{
    Engine, ErrorCode, SqlError,
    guard::{FunctionVerdict, PostgresFunction, is_allowed},
    identifier::quote_identifier,
};

/// Functions that match the setting `trust` of the profile.
#[derive(Clone, Debug, Default)]
pub(super) struct TrustedFunctions {
    /// Those that only roles with all rights in the database can create or replace.
    pub(super) trusted: BTreeSet<u32>,
    /// The others.
    pub(super) replaceable: BTreeSet<u32>,
}

/// Function that running a statement can call.
pub(super) struct ReachedFunction {
    pub(super) id: u32,
    pub(super) function: PostgresFunction,
    /// True if the profile trusts the function by its name, but other roles may replace it.
    is_replaceable: bool,
    /// True if the body changes data.
    changes_data: bool,
    /// Foreign table that the function reads, if it is a foreign data wrapper.
    foreign_table: Option<String>,
    /// Whether each argument is a row.
    argument_is_row: Vec<bool>,
    argument_names: Vec<String>,
}

impl ReachedFunction {
    pub(super) fn read(row: &Row, trust: &TrustedFunctions) -> Result<Self, tokio_postgres::Error> {
        let kind: &str = row.try_get("kind")?;
        let id = row.try_get("oid")?;
        let function = PostgresFunction {
            schema: row.try_get("schema")?,
            name: row.try_get("name")?,
            language: row.try_get("language")?,
            source: row.try_get("source")?,
            is_volatile: row.try_get("is_volatile")?,
            is_aggregate: row.try_get("is_aggregate")?,
            is_handler: kind == "h",
            is_type_function: kind == "i",
            is_user_defined: row.try_get("is_user_defined")?,
            is_extension: row.try_get("is_extension")?,
            has_settings: row.try_get("has_settings")?,
            has_parsed_body: row.try_get("has_parsed_body")?,
            search_path: row.try_get("search_path")?,
            is_trusted: trust.trusted.contains(&id),
            argument_types: row.try_get("argument_types")?,
        };
        Ok(Self {
            id,
            function,
            is_replaceable: trust.replaceable.contains(&id),
            changes_data: kind == "d",
            foreign_table: row.try_get("via")?,
            argument_is_row: row.try_get("argument_is_row")?,
            argument_names: row.try_get::<_, Option<_>>("argument_names")?.unwrap_or_default(),
        })
    }

    pub(super) fn judge(&self, allowed: &[String]) -> Result<FunctionVerdict, SqlError> {
        let PostgresFunction { schema, name, .. } = &self.function;
        if let Some(table) = &self.foreign_table
            && !is_allowed(schema, name, allowed)
        {
            return Err(rejection(&format!(
                "the foreign table `{table}` reads outside this database through `{schema}.{name}`; \
                 leave it out, or list that function in `allow_functions` of the profile"
            )));
        }
        if self.changes_data && !is_allowed(schema, name, allowed) {
            return Ok(FunctionVerdict::Rejected("changes data"));
        }
        Ok(self.function.judge(allowed))
    }

    pub(super) fn rejection(&self, reason: &str) -> SqlError {
        let PostgresFunction { schema, name, .. } = &self.function;
        if self.is_replaceable {
            return rejection(&format!(
                "the function `{schema}.{name}` {reason}, and is not trusted, because another role owns it, \
                 owns its schema or may create functions in that; take these privileges away, or list it \
                 in `allow_functions` of the profile"
            ));
        }
        let is_checkable = matches!(self.function.language.as_str(), "sql" | "plpgsql");
        let remedy = if self.function.is_volatile && is_checkable {
            "have its owner declare it STABLE, or list it in `allow_functions` of the profile"
        } else {
            "list it in `allow_functions` or `trust` of the profile"
        };
        rejection(&format!(
            "the function `{schema}.{name}` {reason}; leave out what calls it (it may be a view, operator, \
             cast or type), or {remedy} if it only reads"
        ))
    }

    /// Returns the body as a query in which the names of the arguments have the meaning that they
    /// have in the function: columns of the body's own tables precede them.
    pub(super) fn body_query(&self) -> String {
        let body = self.function.source.trim().trim_end_matches(';');
        let quoted = |name: &str| quote_identifier(Engine::Postgres, name);
        let (mut arguments, mut rows) = (Vec::new(), Vec::new());
        for (at, of) in self.function.argument_types.iter().enumerate() {
            let value = format!("${}::{of}", at + 1);
            let name = self.argument_names.get(at).filter(|name| !name.is_empty());
            if let (Some(name), Some(true)) = (name, self.argument_is_row.get(at)) {
                rows.push(format!(" CROSS JOIN (SELECT ({value}).*) AS {}", quoted(name)));
            }
            let name = name.map_or_else(|| format!("?{at}"), Clone::clone);
            arguments.push(format!("{value} AS {}", quoted(&name)));
        }
        format!(
            "SELECT FROM (SELECT {}) AS {}{} CROSS JOIN LATERAL (\n{body}\n) AS \"?body\"",
            arguments.join(", "),
            quoted(&self.function.name),
            rows.concat()
        )
    }
}

/// Returns the error of a statement that is not proved to only read.
pub(super) fn rejection(message: &str) -> SqlError {
    SqlError::new(ErrorCode::XsqlRoBlocked, message)
}
