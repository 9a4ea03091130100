//! Check of what a read-only statement of `MySQL` and `MariaDB` calls, by their catalogs.
//!
//! These servers do not tell what a statement means, but nothing can be called there without its
//! name: functions stand before a parenthesis, views stand as themselves. Every name is looked up,
//! and the definitions of views and stored functions are checked like statements, at every level
//! (`docs/adr/0031-mysql-guard.md`).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
};

use mysql_async::{Conn, prelude::Queryable};

use crate::{
    Engine, ErrorCode, QueryCaps, SqlError,
    driver::mysql_error::statement_error,
    guard::{self, QualifiedName, ReadOnlyQuery, StatementKind, is_allowed, is_server_function},
};

/// Reads the definitions of stored functions.
const MYSQL_ROUTINES_SQL: &str = "SELECT 'function', routine_schema, routine_name, routine_definition, definer, sql_mode \
     FROM information_schema.routines WHERE routine_type = 'FUNCTION' \
     AND routine_schema = {schema} AND routine_name IN ({names})";
/// Lists the tables that the account can see.
const MYSQL_SEEN_SQL: &str = "SELECT 'seen', table_schema, table_name, '', '', '' \
     FROM information_schema.tables \
     WHERE table_schema = {schema} AND table_name IN ({names})";

/// Maximum number of views and functions that are checked for a statement.
const MAX_DEFINITIONS: usize = 200;
/// Schemas whose views are part of the server.
const SERVER_SCHEMAS: [&str; 2] = ["information_schema", "performance_schema"];
/// Users that define the functions of the schema `sys`.
const SERVER_DEFINERS: [&str; 2] = ["mysql.sys@localhost", "mariadb.sys@localhost"];
/// SQL modes in which a definition has other strings, names or operators.
const OTHER_SYNTAX: [&str; 4] = ["ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "ORACLE"];

/// Kind of a relation of which the catalogs show that it exists.
const SEEN: &str = "seen";

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
            // In MySQL, only this one has the functions of components.
            (
                Self::PerformanceSchema,
                "SELECT 1 FROM performance_schema.user_defined_functions LIMIT 0",
            ),
            (Self::MySqlFunc, "SELECT 1 FROM mysql.func LIMIT 0"),
        ] {
            if connection.query_drop(query).await.is_ok() {
                return catalog;
            }
        }
        Self::Hidden
    }

    fn query(self) -> Option<&'static str> {
        match self {
            Self::MySqlFunc => Some(
                "SELECT 'loadable', '', name, dl, '', '' FROM mysql.func WHERE name IN ({names})",
            ),
            Self::PerformanceSchema => Some(
                "SELECT 'loadable', '', udf_name, COALESCE(udf_library, 'mysqld'), '', '' \
                 FROM performance_schema.user_defined_functions WHERE udf_name IN ({names})",
            ),
            Self::Hidden => None,
        }
    }
}

/// Name in a statement or a definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UsedName {
    /// Schema that the name is written with, or else the one of the definition; `None` is the one
    /// of the connection.
    schema: Option<String>,
    name: String,
    is_qualified: bool,
}

/// Names of which the definitions are still to be checked.
#[derive(Default)]
struct Names {
    functions: BTreeSet<UsedName>,
    relations: BTreeSet<UsedName>,
    /// Relations that definitions read, so that the user has to see what they are.
    required: BTreeSet<UsedName>,
}

impl Names {
    fn of_statement(query: &ReadOnlyQuery) -> Self {
        let mut names = Self::default();
        names.add(query, None);
        names
    }

    /// Adds the names of a definition in a schema.
    fn add_definition(&mut self, query: &ReadOnlyQuery, kind: &str, schema: &str) {
        self.add(query, Some(schema));
        let sources = query.source_tables().iter();
        // In a view, the server prints tables with their schema, and only names of WITH without.
        let required = sources.filter(|it| it.schema.is_some() || kind != "view");
        self.required.extend(required.map(|it| UsedName::new(it, Some(schema))));
    }

    fn add(&mut self, query: &ReadOnlyQuery, schema: Option<&str>) {
        self.functions.extend(query.functions().iter().map(|it| UsedName::new(it, schema)));
        self.relations.extend(query.identifiers().iter().map(|it| UsedName::new(it, schema)));
    }

    fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.relations.is_empty()
    }
}

impl UsedName {
    fn new(name: &QualifiedName, schema: Option<&str>) -> Self {
        Self {
            schema: name.schema.clone().or_else(|| schema.map(str::to_owned)),
            name: name.name.clone(),
            is_qualified: name.schema.is_some(),
        }
    }

    /// Returns true for names of schemas that hold no definitions of users.
    fn is_of_server(&self) -> bool {
        self.schema.as_deref().is_some_and(|schema| {
            SERVER_SCHEMAS.iter().any(|server| schema.eq_ignore_ascii_case(server))
        })
    }

    /// Returns true if the row of the catalogs has this name.
    fn is_named_in(&self, (_, schema, name, ..): &CatalogRow) -> bool {
        let is_same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        is_same(name, &self.name) && self.schema.as_deref().is_none_or(|it| is_same(it, schema))
    }
}

impl fmt::Display for UsedName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(out, "{schema}.{}", self.name),
            None => out.write_str(&self.name),
        }
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
    if query.kind() == StatementKind::Show && !query.mentions("where") {
        // SHOW and DESCRIBE evaluate no other expressions.
        return Ok(false);
    }
    let mut names = Names::of_statement(query);
    let (mut checked, mut keeps_state) = (BTreeSet::new(), false);
    while !names.is_empty() {
        let found = find_definitions(connection, loadable, &names, caps).await?;
        check_resolved(&names, &found, loadable, allowed)?;
        names = Names::default();
        for definition in found {
            let (kind, schema, name, ..) = &definition;
            if kind == SEEN || !checked.insert((kind.clone(), schema.clone(), name.clone())) {
                continue;
            }
            if is_allowed(schema, name, allowed) {
                keeps_state = true;
            } else if let Some(inner) = check_definition(&definition)? {
                names.add_definition(&inner, kind, schema);
            }
        }
        if checked.len() > MAX_DEFINITIONS {
            return Err(rejection(
                "this statement uses too many views and functions to be checked",
            ));
        }
    }
    Ok(keeps_state)
}

/// Finds the views, foreign tables, password tables, stored and loadable functions with these
/// names.
async fn find_definitions(
    connection: &mut Conn,
    loadable: LoadableFunctions,
    names: &Names,
    caps: QueryCaps,
) -> Result<Vec<CatalogRow>, SqlError> {
    let relations = names.relations.iter().filter(|name| !name.is_of_server());
    let required = names.required.iter().filter(|name| !name.is_of_server());
    let mut parts = catalog_queries(include_str!("sql/mysql_views.sql"), relations);
    parts.extend(catalog_queries(MYSQL_SEEN_SQL, required));
    parts.extend(catalog_queries(MYSQL_ROUTINES_SQL, &names.functions));
    if let Some(query) = loadable.query() {
        let unqualified = names.functions.iter().filter(|name| !name.is_qualified);
        parts.extend(catalog_queries(query, unqualified));
    }
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    // The limit replaces that of the session.
    let text = format!("SELECT * FROM ({}) AS found LIMIT 1000000", parts.join(" UNION ALL "));
    let rows = connection.query(text).await;
    rows.map_err(|fault| statement_error(&fault, caps.timeout))
}

/// Returns the query for each schema of the names. A name is written in hexadecimal digits, which
/// need no escapes.
fn catalog_queries<'a>(query: &str, names: impl IntoIterator<Item = &'a UsedName>) -> Vec<String> {
    let literal = |text: &str| {
        let mut literal = "_utf8mb4 X'".to_owned();
        for byte in text.bytes() {
            write!(literal, "{byte:02x}").ok();
        }
        literal + "'"
    };
    let mut by_schema: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for name in names {
        by_schema.entry(name.schema.as_deref()).or_default().push(literal(&name.name));
    }
    let fill_in = |(schema, names): (Option<&str>, Vec<String>)| {
        let schema = schema.map_or_else(|| "DATABASE()".to_owned(), literal);
        query.replace("{schema}", &schema).replace("{names}", &names.join(", "))
    };
    by_schema.into_iter().map(fill_in).collect()
}

/// Rejects names of which the catalogs do not show what they mean.
fn check_resolved(
    names: &Names,
    found: &[CatalogRow],
    loadable: LoadableFunctions,
    allowed: &[String],
) -> Result<(), SqlError> {
    let is_found = |name: &UsedName, kind: &str| {
        found.iter().any(|row| row.0 == kind && name.is_named_in(row))
    };
    for name in &names.functions {
        let schema = name.schema.as_deref().unwrap_or_default();
        if is_found(name, "function") || is_allowed(schema, &name.name, allowed) {
            continue;
        }
        if name.is_qualified {
            return Err(rejection(&format!(
                "the function `{name}` does not exist, or this user cannot see what it does (it needs \
                 EXECUTE on it); leave it out, or list it in `allow_functions` of the profile if it \
                 only reads"
            )));
        }
        if loadable == LoadableFunctions::Hidden && !is_server_function(&name.name) {
            return Err(rejection(&format!(
                "the function `{}` may be compiled code, which this user cannot see (it needs SELECT on \
                 mysql.func or performance_schema.user_defined_functions); leave it out, or list it \
                 in `allow_functions` of the profile if it only reads",
                name.name
            )));
        }
    }
    let hidden = names.required.iter().find(|name| !name.is_of_server() && !is_found(name, SEEN));
    hidden.map_or(Ok(()), |name| {
        Err(rejection(&format!(
            "a view or function of this statement reads `{name}`, and this user cannot see what that is \
             (it needs SELECT on it); leave it out, or list that view or function in `allow_functions` \
             of the profile if it only reads"
        )))
    })
}

fn rejection(message: &str) -> SqlError {
    SqlError::new(ErrorCode::XsqlRoBlocked, message)
}

/// Checks a definition. Returns what it consists of, if that has to be checked too.
fn check_definition(definition: &CatalogRow) -> Result<Option<ReadOnlyQuery>, SqlError> {
    let (kind, schema, name, text, definer, mode) = definition;
    let rejected = |reason: String| {
        rejection(&format!(
            "the {kind} `{schema}.{name}` {reason}; leave it out, or list it in `allow_functions` of \
             the profile if it only reads"
        ))
    };
    let is_server = schema == "sys" && SERVER_DEFINERS.contains(&definer.as_str());
    let text = text.as_deref().map(str::trim).unwrap_or_default();
    let body = match kind.as_str() {
        "table" => return Err(rejected(format!("is read from elsewhere by the engine {text}"))),
        "password table" => {
            return Err(rejection(&format!(
                "the table `{schema}.{name}` holds passwords; read another table"
            )));
        }
        "statement table" => {
            return Err(rejection(&format!(
                "the table `{schema}.{name}` shows statements of other accounts; leave it out"
            )));
        }
        "loadable" => {
            return Err(rejection(&format!(
                "the function `{name}` is compiled code of the library {text}; leave it out, or list it \
                 in `allow_functions` of the profile if it only reads"
            )));
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
