//! Check of the bodies of functions that a statement of `PostgreSQL` calls.
//!
//! The body of an SQL function is parsed by the server, as the function would parse it. The server
//! parses a body of `plpgsql` only while it runs, so its names are not resolved: everything that
//! could have one of them is checked (`docs/adr/0051-bodies-by-their-names.md`).

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::{Client, types::ToSql};

use crate::{
    Engine, QueryCaps, SqlError,
    driver::{
        literal_check::{converts_to_named_type, may_name_type_in_literal},
        parse_tree::CalledObjects,
        postgres_error::statement_error,
        postgres_guard::{LEAVE_CATALOG, PG_STATISTIC, StatementCheck},
        reached_function::ReachedFunction,
    },
    guard::{FunctionVerdict, PostgresFunction, body_names, replace_strings, text_names},
};

/// Maximum number of function bodies that are checked for a statement.
const MAX_BODIES: usize = 100;
/// Views that show the statistics of columns.
const STATISTICS_VIEWS: [&str; 3] = ["pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"];
/// Ends the time in which the body of a function is parsed with its own search path.
const RESTORE_PATH: &str = "SELECT pg_catalog.set_config(\
     'search_path', pg_catalog.current_setting('vademecum.search_path'), TRUE)";

/// Functions whose bodies were checked for a statement.
#[derive(Debug, Default)]
pub(super) struct CheckedBodies {
    /// Those that the server has parsed.
    parsed: BTreeSet<u32>,
    /// Those that the server has parsed without their strings.
    without_strings: BTreeSet<u32>,
    /// Those of which all names were looked up, with the names.
    named: BTreeMap<u32, (String, Vec<String>)>,
}

impl CheckedBodies {
    /// Returns the error of a function that cannot be called, with the function whose body may call it.
    pub(super) fn rejection(&self, function: &ReachedFunction, reason: &str) -> SqlError {
        let mut error = function.rejection(reason);
        let called = &function.function.name;
        let mut named = self.named.iter().filter(|(id, _)| **id != function.id);
        if let Some((_, (caller, _))) = named.find(|(_, (_, names))| names.contains(called)) {
            error.message += " (the body of `";
            error.message += caller;
            error.message += "` may call it)";
        }
        error
    }
}

impl StatementCheck {
    /// Adds what the bodies of functions call that were not checked before. Returns false if there is
    /// none.
    pub(super) async fn add_bodies(
        &self,
        client: &Client,
        reached: &[ReachedFunction],
        bodies: &[(&ReachedFunction, FunctionVerdict)],
        checked: &mut CheckedBodies,
        objects: &mut CalledObjects,
        caps: QueryCaps,
    ) -> Result<bool, SqlError> {
        // A function without a search path of its own runs with that of the function that calls it.
        let is_path_changed = reached.iter().any(|it| it.function.search_path.is_some());
        let mut is_extended = false;
        for (function, verdict) in bodies {
            let is_text = *verdict == FunctionVerdict::BodyToCheck;
            let has_callers_path = is_path_changed && function.function.search_path.is_none();
            if is_text && !checked.parsed.contains(&function.id) {
                is_extended = true;
                let without_strings = &mut checked.without_strings;
                if self.add_body(client, function, without_strings, objects, caps).await? {
                    checked.parsed.insert(function.id);
                }
            }
            if (!is_text || has_callers_path) && !checked.named.contains_key(&function.id) {
                is_extended = true;
                let names = self.add_named_objects(client, function, objects, caps).await?;
                let PostgresFunction { schema, name, .. } = &function.function;
                checked.named.insert(function.id, (format!("{schema}.{name}"), names));
            }
            if checked.parsed.len() + checked.named.len() > MAX_BODIES {
                return Err(function.rejection("is one of too many that have to be checked"));
            }
        }
        Ok(is_extended)
    }

    /// Adds every object that a name or an operator in the body of a function may mean, in any schema.
    /// Returns the names.
    async fn add_named_objects(
        &self,
        client: &Client,
        function: &ReachedFunction,
        objects: &mut CalledObjects,
        caps: QueryCaps,
    ) -> Result<Vec<String>, SqlError> {
        let text = &function.function.source;
        let Some(names) = body_names(text) else {
            return Err(function.rejection("has a body that cannot be checked"));
        };
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        if may_name_type_in_literal(&words) {
            return Err(function.rejection("has a literal that cannot be checked"));
        }
        let asked: [&(dyn ToSql + Sync); 3] = [&words, text, &function.id];
        let ((), rows, ()) = tokio::try_join!(
            client.batch_execute(&self.enter_catalog),
            client.query(&self.named_objects, &asked),
            client.batch_execute(LEAVE_CATALOG),
        )
        .map_err(|fault| statement_error(&fault, caps.timeout))?;
        for row in &rows {
            let read = || Ok((row.try_get("kind")?, row.try_get("oid")?));
            let (kind, id): (&str, u32) =
                read().map_err(|fault| statement_error(&fault, caps.timeout))?;
            match kind {
                "function" => objects.functions.insert(id),
                "operator" => objects.operators.insert(id),
                "relation" => objects.body_relations.insert(id),
                _ => objects.types.insert(id),
            };
        }
        if words.iter().any(|word| STATISTICS_VIEWS.contains(word)) {
            objects.body_relations.insert(PG_STATISTIC);
        }
        Ok(names)
    }

    /// Adds what the body of an SQL function calls. If parsing the body may call functions for its
    /// literals, only the body without its strings is added at first, and false is returned.
    async fn add_body(
        &self,
        client: &Client,
        function: &ReachedFunction,
        checked_literals: &mut BTreeSet<u32>,
        objects: &mut CalledObjects,
        caps: QueryCaps,
    ) -> Result<bool, SqlError> {
        let text = function.body_query();
        let Some(names) = text_names(Engine::Postgres, &text) else {
            return Err(function.rejection("has a body that cannot be checked"));
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (hazards, _) = self.find_hazards(client, &names, &text, caps).await?;
        if hazards.iter().any(|it| it.is_input)
            || !hazards.is_empty() && converts_to_named_type(&names)
        {
            return Err(function.rejection("has a literal that cannot be checked"));
        }
        let without_strings = replace_strings(Engine::Postgres, &text);
        match without_strings.filter(|_| !hazards.is_empty()) {
            Some(without_strings) if checked_literals.insert(function.id) => {
                self.parse_body(client, function, &without_strings, objects).await?;
                Ok(false)
            }
            _ => {
                self.parse_body(client, function, &text, objects).await?;
                Ok(true)
            }
        }
    }

    /// Has the server parse a body as it would parse it in the function. The reports must have begun;
    /// they end.
    async fn parse_body(
        &self,
        client: &Client,
        function: &ReachedFunction,
        text: &str,
        objects: &mut CalledObjects,
    ) -> Result<(), SqlError> {
        // The body is no single SELECT, or uses something that exists only in the function.
        let failed = |_| function.rejection("has a body that cannot be checked");
        if let Some(path) = &function.function.search_path {
            let path = path.replace('\'', "''");
            let set = format!("SELECT pg_catalog.set_config('search_path', '{path}', TRUE)");
            client.batch_execute(&set).await.map_err(failed)?;
        }
        self.trees.clear();
        tokio::try_join!(client.prepare(text), self.end_reports(client)).map_err(failed)?;
        for tree in self.trees.take()? {
            objects.add_body(&tree)?;
        }
        if function.function.search_path.is_some() {
            client.batch_execute(RESTORE_PATH).await.map_err(failed)?;
        }
        Ok(())
    }
}
