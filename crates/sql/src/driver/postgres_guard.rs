//! Check of what a read-only statement of `PostgreSQL` calls, by the server's own resolution.
//!
//! The server parses the statement in the transaction that will run it and reports the rewritten
//! parse tree as a notice; nothing is planned or run for that. A query of the catalogs follows the
//! objects of the tree to every function that running the statement can call, and each is judged
//! (`docs/adr/0026-guard-by-resolution.md`, `docs/adr/0048-reachable-reads.md`).

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::AbortHandle,
};
use tokio_postgres::{
    Client, Connection, Statement,
    types::{ToSql, Type},
};
use vademecum_core::config::TrustPattern;

use crate::{
    QueryCaps, SqlError,
    driver::{
        function_bodies::CheckedBodies,
        literal_check::{LiteralHazard, converts_to_named_type, may_name_type_in_literal},
        parse_tree::{CalledObjects, ServerObject},
        postgres_error::statement_error,
        reached_function::{ReachedFunction, TrustedFunctions, rejection},
        reported_trees::{ReportedTrees, spawn_connection},
    },
    guard::{FunctionVerdict, ReadOnlyQuery, StatementKind, excludes_statistics_of, is_allowed},
};

/// Has the server report rewritten parse trees until [`ENTER_CATALOG`].
const REPORT_TREES: &str = "SET LOCAL debug_pretty_print = off; \
     SET LOCAL client_min_messages = log; SET LOCAL debug_print_rewritten = on";
/// Ends the reports of [`REPORT_TREES`]. As a prepared statement, it is not reported itself.
const END_REPORTS: &str = "SET LOCAL debug_print_rewritten = off";
/// Keeps the reports out of the server's log, where the user may decide that.
const QUIET_REPORTS: &str = include_str!("sql/postgres_quiet_reports.sql");
/// Ends the reports, and has the names in queries of the catalogs mean those of the server.
const ENTER_CATALOG: &str = include_str!("sql/postgres_enter_catalog.sql");
/// Ends [`QUIET_REPORTS`].
const LOUD_LOG: &str = include_str!("sql/postgres_loud_log.sql");
/// Restores the settings that [`ENTER_CATALOG`] changed, except for the reports.
pub(super) const LEAVE_CATALOG: &str = include_str!("sql/postgres_leave_catalog.sql");
/// Asks whether the user may set what goes to the server's log; `PostgreSQL` 15 and newer.
pub(super) const MAY_SET_LOG: &str =
    "SELECT pg_catalog.has_parameter_privilege('log_min_messages', 'SET')";
/// Tables of the schema `pg_catalog` with passwords.
const SECRET_TABLES: [&str; 4] =
    ["pg_authid", "pg_foreign_server", "pg_subscription", "pg_user_mapping"];
/// Asks whether the statistics of columns have rows of the tables $1.
const SECRET_STATISTICS: &str = "SELECT EXISTS (SELECT FROM pg_stats WHERE schemaname = 'pg_catalog' \
     AND tablename = ANY ($1::text[]))";
/// Identifier of the table `pg_statistic`.
pub(super) const PG_STATISTIC: u32 = 2_619;

/// Functions that a profile permits although the check cannot prove that they only read.
#[derive(Clone, Debug, Default)]
pub(super) struct PermittedFunctions {
    /// Setting `allow_functions`.
    pub(super) allowed: Arc<[String]>,
    /// Setting `trust`.
    pub(super) trusted: Arc<[TrustPattern]>,
}

/// Check of statements on one connection.
pub(super) struct StatementCheck {
    pub(super) trees: ReportedTrees,
    literal_hazards: Statement,
    reached_functions: Statement,
    pub(super) named_objects: Statement,
    trusted_functions: Statement,
    shadowing: Statement,
    secret_statistics: Statement,
    end_reports: Statement,
    report_trees: String,
    pub(super) enter_catalog: String,
    pub(super) leave_and_report: String,
    permitted: PermittedFunctions,
    /// Functions, operators and relations of the server itself that passed; these never change.
    passed: Mutex<BTreeSet<ServerObject>>,
}

/// Statement that passed the check.
pub(super) struct CheckedStatement {
    /// The statement, prepared.
    pub(super) plain: Statement,
    /// True if the statement may leave state in the session that a reset does not clear.
    pub(super) keeps_state: bool,
}

impl StatementCheck {
    /// Runs a new connection in the background and prepares the queries of the check.
    pub(super) async fn start<S, T>(
        client: &Client,
        connection: Connection<S, T>,
        permitted: PermittedFunctions,
    ) -> Result<(Self, AbortHandle), tokio_postgres::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let trees = ReportedTrees::default();
        let is_superuser = connection.parameter("is_superuser") == Some("on");
        let task = spawn_connection(connection, trees.clone());
        let may_set_log = client.query_one(MAY_SET_LOG, &[]).await;
        let may_set_log = may_set_log.and_then(|row| row.try_get(0)).unwrap_or(is_superuser);
        client.batch_execute("SET search_path = pg_catalog").await?;
        let (oids, texts) = (Type::OID_ARRAY, Type::TEXT_ARRAY);
        let of_body = [texts.clone(), Type::TEXT, Type::OID];
        let mut reached = vec![oids.clone(); 6];
        reached.extend([texts.clone(), oids]);
        let (named, matched) = ([texts.clone(), Type::TEXT, Type::BOOL], [texts.clone(), texts]);
        let shadowed = [Type::NAME_ARRAY, Type::TEXT];
        let (
            literal_hazards,
            reached_functions,
            named_objects,
            trusted_functions,
            shadowing,
            secret_statistics,
            end_reports,
        ) = tokio::try_join!(
            client.prepare_typed(include_str!("sql/postgres_literal_hazards.sql"), &named),
            client.prepare_typed(include_str!("sql/postgres_reached.sql"), &reached),
            client.prepare_typed(include_str!("sql/postgres_named.sql"), &of_body),
            client.prepare_typed(include_str!("sql/postgres_trusted.sql"), &matched),
            client.prepare_typed(include_str!("sql/postgres_shadowing.sql"), &shadowed),
            client.prepare(SECRET_STATISTICS),
            client.prepare(END_REPORTS),
        )?;
        client.batch_execute("RESET search_path").await?;
        let [quiet, loud] = if may_set_log { [QUIET_REPORTS, LOUD_LOG] } else { [""; 2] };
        // The last statement begins the reports, so that none of these is reported.
        let report_trees = format!("{quiet}; {REPORT_TREES}");
        let check = Self {
            trees,
            literal_hazards,
            reached_functions,
            named_objects,
            trusted_functions,
            shadowing,
            secret_statistics,
            end_reports,
            enter_catalog: format!("{ENTER_CATALOG}; {loud}"),
            leave_and_report: format!("{LEAVE_CATALOG}; {report_trees}"),
            report_trees,
            permitted,
            passed: Mutex::default(),
        };
        Ok((check, task))
    }

    /// Prepares and checks a statement in the open transaction.
    pub(super) async fn check_statement(
        &self,
        client: &Client,
        query: &ReadOnlyQuery,
        caps: QueryCaps,
    ) -> Result<CheckedStatement, SqlError> {
        let failed = |fault| statement_error(&fault, caps.timeout);
        let names: Vec<&str> = query.identifiers().iter().map(|it| it.name.as_str()).collect();
        let needs_no_resolution = query.kind() == StatementKind::Show
            || query.is_own() && !self.is_shadowed(client, &names, query, caps).await?;
        if needs_no_resolution {
            let plain = client.prepare(query.text()).await.map_err(failed)?;
            return Ok(CheckedStatement { plain, keeps_state: false });
        }
        let (hazards, trust) = self.find_hazards(client, &names, query.text(), caps).await?;
        if !hazards.is_empty() {
            self.check_literals(client, &names, query, &hazards, &trust, caps).await?;
        }
        // Of an EXPLAIN the server reports no tree; the explained query is parsed alone.
        let (parsed, objects) = self.parse(client, query.query_text()).await?.map_err(failed)?;
        if objects.relations.contains(&PG_STATISTIC)
            && !excludes_statistics_of(&SECRET_TABLES, query.query_text())
        {
            self.check_statistics(client, caps).await?;
        }
        let keeps_state = self.check_objects(client, objects, &trust, caps).await?;
        let plain = match query.kind() {
            StatementKind::Explain => client.prepare(query.text()).await.map_err(failed)?,
            StatementKind::Rows | StatementKind::Show => parsed,
        };
        Ok(CheckedStatement { plain, keeps_state })
    }

    /// Asks whether names of a statement of this program may mean objects of users.
    async fn is_shadowed(
        &self,
        client: &Client,
        names: &[&str],
        query: &ReadOnlyQuery,
        caps: QueryCaps,
    ) -> Result<bool, SqlError> {
        let text = query.text();
        let asked = client.query_one(&self.shadowing, &[&names, &text]).await;
        let shadowed = asked.and_then(|row| row.try_get("is_shadowed"));
        shadowed.map_err(|fault| statement_error(&fault, caps.timeout))
    }

    /// Has the server parse a statement and report the objects in it. The inner error is that of the
    /// server. The reports must have begun; they end.
    async fn parse(
        &self,
        client: &Client,
        text: &str,
    ) -> Result<Result<(Statement, CalledObjects), tokio_postgres::Error>, SqlError> {
        self.trees.clear();
        // If the first fails, so does the second, for that reason.
        let (parsed, ended) = tokio::join!(client.prepare(text), self.end_reports(client));
        let parsed = match parsed.and_then(|parsed| ended.map(|()| parsed)) {
            Ok(parsed) => parsed,
            Err(fault) => return Ok(Err(fault)),
        };
        let mut objects = CalledObjects::default();
        for tree in self.trees.take()? {
            objects.add_tree(&tree)?;
        }
        if objects.changes_data {
            return Err(rejection("a part of this statement changes data; leave it out"));
        }
        Ok(Ok((parsed, objects)))
    }

    /// Ends the reports, so that nothing but the parsed text gets into the server's log.
    pub(super) async fn end_reports(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        client.execute(&self.end_reports, &[]).await.map(drop)
    }

    /// Queries the catalogs for functions that parsing a text with these names may call, and for the functions
    /// that are trusted. Begins the reports.
    pub(super) async fn find_hazards(
        &self,
        client: &Client,
        names: &[&str],
        text: &str,
        caps: QueryCaps,
    ) -> Result<(Vec<LiteralHazard>, TrustedFunctions), SqlError> {
        let may_name_type = may_name_type_in_literal(names);
        let asked: [&(dyn ToSql + Sync); 3] = [&names, &text, &may_name_type];
        let patterns = self.permitted.trusted.iter().filter_map(TrustPattern::like_pattern);
        let extensions = self.permitted.trusted.iter().filter_map(TrustPattern::extension);
        let (patterns, extensions): (Vec<String>, Vec<&str>) =
            (patterns.collect(), extensions.collect());
        let trusting: [&(dyn ToSql + Sync); 2] = [&patterns, &extensions];
        let is_trusting = !self.permitted.trusted.is_empty();
        let ((), hazards, trusted, ()) = tokio::try_join!(
            client.batch_execute(&self.enter_catalog),
            client.query(&self.literal_hazards, &asked),
            async {
                if is_trusting {
                    client.query(&self.trusted_functions, &trusting).await
                } else {
                    Ok(Vec::new())
                }
            },
            client.batch_execute(&self.leave_and_report),
        )
        .map_err(|fault| statement_error(&fault, caps.timeout))?;
        let read = || {
            let mut trust = TrustedFunctions::default();
            for row in &trusted {
                let is_trusted = row.try_get("is_trusted")?;
                let of = if is_trusted { &mut trust.trusted } else { &mut trust.replaceable };
                of.insert(row.try_get("oid")?);
            }
            let hazards: Result<Vec<_>, _> = hazards.iter().map(LiteralHazard::read).collect();
            Ok((hazards?, trust))
        };
        let (mut hazards, trust) = read().map_err(|fault| statement_error(&fault, caps.timeout))?;
        hazards.retain(|it| {
            !trust.trusted.contains(&it.function)
                && !is_allowed(&it.schema, &it.name, &self.permitted.allowed)
        });
        Ok((hazards, trust))
    }

    /// Rejects a statement with a literal whose type calls an unchecked function: parsing the
    /// statement would call it.
    async fn check_literals(
        &self,
        client: &Client,
        names: &[&str],
        query: &ReadOnlyQuery,
        hazards: &[LiteralHazard],
        trust: &TrustedFunctions,
        caps: QueryCaps,
    ) -> Result<(), SqlError> {
        // Modifiers of types are computed while the statement without its strings is parsed, too.
        let is_certain = |hazard: &&LiteralHazard| hazard.is_input || converts_to_named_type(names);
        if let Some(hazard) = hazards.iter().find(is_certain) {
            return Err(hazard.rejection());
        }
        let (Some(text), Some(hazard)) = (query.query_without_strings(), hazards.first()) else {
            return Ok(());
        };
        // The statement is rejected in any case if the server cannot tell the types.
        let Ok(Ok((_, objects))) = self.parse(client, &text).await else {
            return Err(hazard.rejection());
        };
        let checked = self.check_objects(client, objects, trust, caps).await;
        checked.map_err(|_| hazard.rejection())?;
        let reports = client.batch_execute(&self.report_trees).await;
        reports.map_err(|fault| statement_error(&fault, caps.timeout))
    }

    /// Checks every function that the objects of a parse tree call. Returns true if one may leave
    /// state in the session.
    async fn check_objects(
        &self,
        client: &Client,
        mut objects: CalledObjects,
        trust: &TrustedFunctions,
        caps: QueryCaps,
    ) -> Result<bool, SqlError> {
        if self.has_passed(&objects) {
            return Ok(false);
        }
        let of_server = objects.of_server_only();
        let mut checked = CheckedBodies::default();
        let mut keeps_state = false;
        loop {
            let reached = self.reached_functions(client, &objects, trust, caps).await?;
            let mut bodies = Vec::new();
            for function in &reached {
                let verdict = function.judge(&self.permitted.allowed)?;
                match verdict {
                    FunctionVerdict::Harmless => {}
                    FunctionVerdict::Allowed => keeps_state = true,
                    FunctionVerdict::BodyToCheck | FunctionVerdict::NamesToCheck => {
                        bodies.push((function, verdict));
                    }
                    FunctionVerdict::Rejected(reason) => {
                        return Err(checked.rejection(function, reason));
                    }
                }
            }
            let is_extended = self
                .add_bodies(client, &reached, &bodies, &mut checked, &mut objects, caps)
                .await?;
            let makes_values = reached.iter().any(|it| it.function.makes_values());
            let is_changed = makes_values && objects.make_read_types();
            if !is_extended && !is_changed {
                if objects.body_relations.contains(&PG_STATISTIC) {
                    self.check_statistics(client, caps).await?;
                }
                if let (Some(of_server), false) = (of_server, keeps_state) {
                    let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
                    passed.extend(of_server);
                }
                return Ok(keeps_state);
            }
        }
    }

    /// Returns true if a statement uses only what the server itself defines, and all of that has
    /// passed before.
    fn has_passed(&self, objects: &CalledObjects) -> bool {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let used = objects.of_server_only();
        used.is_some_and(|used| used.iter().all(|object| passed.contains(object)))
    }

    /// Rejects a read of the statistics of columns while they contain values of passwords.
    async fn check_statistics(&self, client: &Client, caps: QueryCaps) -> Result<(), SqlError> {
        let tables = SECRET_TABLES.as_slice();
        let asked: [&(dyn ToSql + Sync); 1] = [&tables];
        let ((), row, ()) = tokio::try_join!(
            client.batch_execute(&self.enter_catalog),
            client.query_one(&self.secret_statistics, &asked),
            client.batch_execute(LEAVE_CATALOG),
        )
        .map_err(|fault| statement_error(&fault, caps.timeout))?;
        match row.try_get(0) {
            Ok(false) => Ok(()),
            Ok(true) => Err(rejection(
                "the statistics of columns contain hashes of passwords of this server, which this user \
                 may read; read `pg_stats` alone with the condition tablename = '…', or give the profile a user \
                 without that right",
            )),
            Err(fault) => Err(statement_error(&fault, caps.timeout)),
        }
    }

    /// Queries the catalogs for the functions that running a statement can call.
    async fn reached_functions(
        &self,
        client: &Client,
        objects: &CalledObjects,
        trust: &TrustedFunctions,
        caps: QueryCaps,
    ) -> Result<Vec<ReachedFunction>, SqlError> {
        let ids = |set: &BTreeSet<u32>| set.iter().copied().collect::<Vec<u32>>();
        let (functions, operators) = (ids(&objects.functions), ids(&objects.operators));
        let (relations, bodies) = (ids(&objects.relations), ids(&objects.body_relations));
        let (types, read_types) = (ids(&objects.types), ids(&objects.read_types));
        let (allowed, trusted) = (&*self.permitted.allowed, ids(&trust.trusted));
        let called: [&(dyn ToSql + Sync); 8] =
            [&functions, &operators, &relations, &types, &read_types, &bodies, &allowed, &trusted];
        let ((), rows, ()) = tokio::try_join!(
            client.batch_execute(&self.enter_catalog),
            client.query(&self.reached_functions, &called),
            client.batch_execute(LEAVE_CATALOG),
        )
        .map_err(|fault| statement_error(&fault, caps.timeout))?;
        let reached: Result<Vec<_>, _> =
            rows.iter().map(|row| ReachedFunction::read(row, trust)).collect();
        reached.map_err(|fault| statement_error(&fault, caps.timeout))
    }
}
