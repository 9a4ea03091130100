//! Check of what a read-only statement of `MySQL` and `MariaDB` calls, by their catalogs.
//!
//! These servers do not tell what a statement means, but nothing can be called there without its
//! name: functions stand before a parenthesis, views stand as themselves. Every name is looked up,
//! and the definitions of views and stored functions are checked like statements, at every level
//! (`docs/adr/0031-mysql-guard.md`).

use std::collections::BTreeSet;

use mysql_async::{Conn, Params, Value, prelude::Queryable};

use crate::{
    Engine, ErrorCode, QueryCaps, SqlError,
    driver::mysql::statement_error,
    guard::{self, QualifiedName, ReadOnlyQuery, is_allowed},
};

/// Maximum number of views and functions that are checked for a statement.
const MAX_DEFINITIONS: usize = 200;
/// Schemas whose views are part of the server.
const SERVER_SCHEMAS: [&str; 2] = ["information_schema", "performance_schema"];
/// Users that define the functions of the schema `sys`.
const SERVER_DEFINERS: [&str; 2] = ["mysql.sys@localhost", "mariadb.sys@localhost"];
/// SQL modes in which a definition has other strings, names or operators.
const OTHER_SYNTAX: [&str; 4] = ["ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "ORACLE"];

/// Definition found in the catalogs: kind, schema, name, text, definer, SQL mode.
type CatalogRow = (String, String, String, Option<String>, String, String);

/// Catalog of loadable functions that the user may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadableFunctions {
    /// `mysql.func`.
    MySqlFunc,
    /// `performance_schema.user_defined_functions`.
    PerformanceSchema,
    /// None.
    Hidden,
}

impl LoadableFunctions {
    /// Finds the catalog that the user may read.
    pub(super) async fn detect(connection: &mut Conn) -> Self {
        for (catalog, query) in [
            (Self::MySqlFunc, "SELECT 1 FROM mysql.func LIMIT 0"),
            (
                Self::PerformanceSchema,
                "SELECT 1 FROM performance_schema.user_defined_functions LIMIT 0",
            ),
        ] {
            if connection.query_drop(query).await.is_ok() {
                return catalog;
            }
        }
        Self::Hidden
    }

    fn query(self) -> Option<&'static str> {
        match self {
            Self::MySqlFunc => {
                Some("SELECT 'loadable', '', name, dl, '', '' FROM mysql.func WHERE name = ?")
            }
            Self::PerformanceSchema => Some(
                "SELECT 'loadable', '', udf_name, udf_library, '', '' \
                 FROM performance_schema.user_defined_functions WHERE udf_name = ?",
            ),
            Self::Hidden => None,
        }
    }
}

/// Names of which the definitions are still to be checked.
#[derive(Default)]
struct Names {
    functions: BTreeSet<QualifiedName>,
    relations: BTreeSet<QualifiedName>,
}

impl Names {
    /// Adds the names of a statement in a schema; `None` is the schema of the connection.
    fn add_statement(&mut self, query: &ReadOnlyQuery, schema: Option<&str>) {
        let qualify = |it: &QualifiedName| QualifiedName {
            schema: it.schema.clone().or_else(|| schema.map(str::to_owned)),
            name: it.name.clone(),
        };
        self.functions.extend(query.functions().iter().map(qualify));
        self.relations.extend(query.identifiers().iter().map(qualify));
    }
}

/// Checks a statement in the open transaction. Returns true if it may leave state in the session
/// that a reset does not clear.
pub(super) async fn check_statement(
    connection: &mut Conn,
    loadable: LoadableFunctions,
    allowed: &[String],
    query: &ReadOnlyQuery,
    caps: QueryCaps,
) -> Result<bool, SqlError> {
    let mut names = Names::default();
    names.add_statement(query, None);
    let (mut checked, mut keeps_state) = (BTreeSet::new(), false);
    loop {
        let found = find_definitions(connection, loadable, &names, caps).await?;
        names = Names::default();
        for definition in found {
            let (kind, schema, name, ..) = &definition;
            if !checked.insert((kind.clone(), schema.clone(), name.clone())) {
                continue;
            }
            if is_allowed(schema, name, allowed) {
                keeps_state = true;
            } else if let Some(inner) = check_definition(&definition)? {
                names.add_statement(&inner, Some(schema));
            }
        }
        if checked.len() > MAX_DEFINITIONS {
            let message = "this statement uses too many views and functions to be checked";
            return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message));
        }
        if names.functions.is_empty() && names.relations.is_empty() {
            return Ok(keeps_state);
        }
    }
}

/// Finds the views, foreign tables, stored and loadable functions with these names.
async fn find_definitions(
    connection: &mut Conn,
    loadable: LoadableFunctions,
    names: &Names,
    caps: QueryCaps,
) -> Result<Vec<CatalogRow>, SqlError> {
    let is_server_schema = |it: &&QualifiedName| {
        !it.schema.as_deref().is_some_and(|schema| {
            SERVER_SCHEMAS.iter().any(|server| schema.eq_ignore_ascii_case(server))
        })
    };
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    let mut add = |part, name: &QualifiedName, times| {
        parts.push(part);
        for _ in 0..times {
            values.extend([Value::from(&name.schema), Value::from(&name.name)]);
        }
    };
    for name in names.relations.iter().filter(is_server_schema) {
        add(include_str!("sql/mysql_views.sql"), name, 2);
    }
    for name in &names.functions {
        add(include_str!("sql/mysql_routines.sql"), name, 1);
    }
    if let Some(part) = loadable.query() {
        for name in names.functions.iter().filter(|name| name.schema.is_none()) {
            parts.push(part);
            values.push(Value::from(&name.name));
        }
    }
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    // The limit replaces that of the session.
    let text = format!("SELECT * FROM ({}) AS found LIMIT 100000", parts.join(" UNION ALL "));
    let rows = connection.exec(text, Params::Positional(values)).await;
    rows.map_err(|fault| statement_error(&fault, caps.timeout))
}

/// Checks a definition. Returns what it consists of, if that has to be checked too.
fn check_definition(definition: &CatalogRow) -> Result<Option<ReadOnlyQuery>, SqlError> {
    let (kind, schema, name, text, definer, mode) = definition;
    let rejected = |reason: String| {
        let message = format!(
            "the {kind} `{schema}.{name}` {reason}; leave it out, or list it in `allow_functions` of \
             the profile if it only reads"
        );
        SqlError::new(ErrorCode::XsqlRoBlocked, message)
    };
    let is_server = schema == "sys" && SERVER_DEFINERS.contains(&definer.as_str());
    let text = text.as_deref().map(str::trim).unwrap_or_default();
    let body = match kind.as_str() {
        "table" => return Err(rejected(format!("is read from elsewhere by the engine {text}"))),
        "loadable" => {
            let message = format!(
                "the function `{name}` is compiled code of the library {text}; leave it out, or list it \
                 in `allow_functions` of the profile if it only reads"
            );
            return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message));
        }
        _ if is_server => return Ok(None),
        _ if text.is_empty() => {
            let right =
                if kind == "view" { "SHOW VIEW" } else { "SHOW_ROUTINE or SELECT on mysql.proc" };
            let reason = format!("has a definition that this user cannot read (it needs {right})");
            return Err(rejected(reason));
        }
        "view" => text.to_owned(),
        _ => {
            if OTHER_SYNTAX.iter().any(|other| mode.contains(other)) {
                return Err(rejected("was defined in another SQL mode".to_owned()));
            }
            let Some(expression) = returned_expression(text) else {
                return Err(rejected("does more than to return an expression".to_owned()));
            };
            format!("SELECT ({expression}\n)")
        }
    };
    let query = guard::check_query(Engine::MySql, &body);
    query.map(Some).map_err(|error| rejected(format!("contains what is no read ({error})")))
}

/// Returns the expression of a body that consists of a RETURN only.
fn returned_expression(body: &str) -> Option<&str> {
    let body = body.trim_end_matches([';', ' ', '\t', '\r', '\n']);
    let without_end = || {
        let inner = strip_keyword(body, "BEGIN")?.trim_end();
        let end = inner.len().checked_sub("END".len())?;
        let (inner, last) = inner.split_at_checked(end)?;
        let inner = inner.trim_end().strip_suffix(';')?;
        last.eq_ignore_ascii_case("END").then_some(inner)
    };
    strip_keyword(without_end().unwrap_or(body), "RETURN")
}

/// Removes a keyword and the whitespace after it.
fn strip_keyword<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let text = text.trim_start();
    let (first, rest) = text.split_at_checked(keyword.len())?;
    let separated = rest.starts_with(|sign: char| sign.is_ascii_whitespace() || sign == '(');
    (first.eq_ignore_ascii_case(keyword) && separated).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_with_one_return_has_an_expression() {
        for (body, expression) in [
            ("RETURN a + 1", Some("a + 1")),
            ("return(a)", Some("(a)")),
            ("BEGIN RETURN a; END", Some("a")),
            ("begin\n  return lower(a);\nend", Some("lower(a)")),
            ("BEGIN SET @a = 1; RETURN a; END", None),
            ("BEGIN RETURN a; END; x", None),
            ("returning", None),
            ("", None),
        ] {
            let found = returned_expression(body);
            assert_eq!(found, expression, "{body}");
        }
        let sneaky = returned_expression("BEGIN RETURN a; DELETE FROM t; END").unwrap();
        assert!(guard::check_query(Engine::MySql, &format!("SELECT ({sneaky}\n)")).is_err());
    }

    #[test]
    fn definition_is_checked_like_a_statement() {
        let row = |kind: &str, text: Option<&str>, mode: &str| {
            let own = str::to_owned;
            (own(kind), own("shop"), own("it"), text.map(own), own("root@%"), own(mode))
        };
        let check = |kind, text, mode| check_definition(&row(kind, text, mode));
        assert!(check("view", Some("select `a` AS `a` from `shop`.`t`"), "").unwrap().is_some());
        assert!(check("function", Some("RETURN a"), "STRICT_TRANS_TABLES").unwrap().is_some());
        for (kind, text, mode, reason) in [
            ("view", Some("select sleep(1) AS `s`"), "", "sleep"),
            ("view", Some(""), "", "SHOW VIEW"),
            ("function", None, "", "SHOW_ROUTINE"),
            ("function", Some("RETURN a"), "ANSI_QUOTES", "another SQL mode"),
            ("function", Some("BEGIN SET @a = 1; RETURN 1; END"), "", "more than to return"),
            ("table", Some("FEDERATED"), "", "FEDERATED"),
            ("loadable", Some("udf.so"), "", "udf.so"),
        ] {
            let error = check(kind, text, mode).unwrap_err();
            assert!(error.message.contains(reason) && error.message.contains("it`"), "{error}");
        }
    }
}
