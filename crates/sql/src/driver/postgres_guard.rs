//! Check of what a read-only statement of `PostgreSQL` calls, by the server's own resolution.
//!
//! The server parses the statement in the transaction that will run it and reports the rewritten
//! parse tree as a notice; nothing is planned or run for that. A query of the catalogs follows the
//! objects of the tree to every function that running the statement can call, and each is judged
//! (`docs/adr/0026-guard-by-resolution.md`).

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{StreamExt, stream};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::AbortHandle,
};
use tokio_postgres::{
    AsyncMessage, Client, Connection, Row, Statement,
    types::{ToSql, Type},
};

use crate::{
    Engine, ErrorCode, QueryCaps, SqlError,
    driver::{parse_tree::CalledObjects, postgres_error::statement_error},
    guard::{FunctionVerdict, PostgresFunction, ReadOnlyQuery, StatementKind, is_allowed},
    identifier::quote_identifier,
};

/// Maximum size of the parse trees of a statement, in bytes.
const MAX_TREE_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of function bodies that are parsed for a statement.
const MAX_BODIES: usize = 100;

/// Has the server report rewritten parse trees until [`ENTER_CATALOG`].
const REPORT_TREES: &str = "SET LOCAL debug_pretty_print = off; \
     SET LOCAL client_min_messages = log; SET LOCAL debug_print_rewritten = on";
/// Keeps the reports out of the server's log, where the user may decide that.
const QUIET_REPORTS: &str = include_str!("sql/postgres_quiet_reports.sql");
/// Ends the reports, and has the names in queries of the catalogs mean those of the server.
const ENTER_CATALOG: &str = include_str!("sql/postgres_enter_catalog.sql");
/// Ends [`QUIET_REPORTS`].
const LOUD_LOG: &str = include_str!("sql/postgres_loud_log.sql");
/// Restores the settings that [`ENTER_CATALOG`] changed, except for the reports.
const LEAVE_CATALOG: &str = include_str!("sql/postgres_leave_catalog.sql");
/// Asks whether the user may set what goes to the server's log; `PostgreSQL` 15 and newer.
const MAY_SET_LOG: &str = "SELECT pg_catalog.has_parameter_privilege('log_min_messages', 'SET')";

/// Function that the server calls while it parses literals of a type.
#[derive(Clone, Debug)]
struct ParseHazard {
    type_id: u32,
    type_name: String,
    schema: String,
    name: String,
}

/// Parse trees that the server reported on a connection.
#[derive(Clone, Debug, Default)]
struct ReportedTrees(Arc<Mutex<Vec<String>>>);

impl ReportedTrees {
    fn push(&self, tree: &str) {
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.iter().map(String::len).sum::<usize>() <= MAX_TREE_BYTES {
            trees.push(tree.to_owned());
        }
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Removes and returns the trees. Fails if there is none, or too much was reported.
    fn take(&self) -> Result<Vec<String>, SqlError> {
        let trees = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if trees.is_empty() {
            return Err(rejection(
                "the server did not report the parse tree of this statement, so what the statement \
                 calls cannot be checked; `debug_print_rewritten` has to be supported",
            ));
        }
        if trees.iter().map(String::len).sum::<usize>() > MAX_TREE_BYTES {
            return Err(rejection(
                "the views of this statement are too large to be checked; query fewer of them at a \
                 time",
            ));
        }
        Ok(trees)
    }
}

/// Runs a connection in the background, keeping the parse trees that it reports.
fn spawn_connection<S, T>(mut connection: Connection<S, T>, trees: ReportedTrees) -> AbortHandle
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let task = async move {
        let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
        // Callers see the end of the connection as an error of their own request.
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notice(notice) = message
                && notice.message() == "rewritten parse tree:"
            {
                trees.push(notice.detail().unwrap_or_default());
            }
        }
    };
    tokio::spawn(task).abort_handle()
}

/// Check of statements on one connection.
pub(super) struct StatementCheck {
    trees: ReportedTrees,
    parse_hazards: Statement,
    hazard_names: Statement,
    reached_functions: Statement,
    report_trees: String,
    enter_catalog: String,
    leave_and_report: String,
    /// Functions called by literals, as of the start of the transaction.
    hazards: Vec<ParseHazard>,
    allowed: Arc<[String]>,
}

/// Statement that passed the check.
pub(super) struct CheckedStatement {
    /// The statement, prepared.
    pub(super) plain: Statement,
    /// True if the statement may leave state in the session that a reset does not clear.
    pub(super) keeps_state: bool,
}

impl StatementCheck {
    /// Runs a new connection in the background and prepares the queries of the check. `allowed` are
    /// the functions that the profile allows.
    pub(super) async fn start<S, T>(
        client: &Client,
        connection: Connection<S, T>,
        allowed: Arc<[String]>,
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
        let (parse_hazards, hazard_names, reached_functions) = tokio::try_join!(
            client.prepare(include_str!("sql/postgres_parse_hazards.sql")),
            client.prepare_typed(include_str!("sql/postgres_hazard_names.sql"), &[Type::OID_ARRAY]),
            client.prepare_typed(
                include_str!("sql/postgres_reached.sql"),
                &[
                    Type::OID_ARRAY,
                    Type::OID_ARRAY,
                    Type::OID_ARRAY,
                    Type::OID_ARRAY,
                    Type::TEXT_ARRAY,
                ],
            ),
        )?;
        client.batch_execute("RESET search_path").await?;
        let [quiet, loud] = if may_set_log { [QUIET_REPORTS, LOUD_LOG] } else { [""; 2] };
        // The last statement begins the reports, so that none of these is reported.
        let report_trees = format!("{quiet}; {REPORT_TREES}");
        let check = Self {
            trees,
            parse_hazards,
            hazard_names,
            reached_functions,
            enter_catalog: format!("{ENTER_CATALOG}; {loud}"),
            leave_and_report: format!("{LEAVE_CATALOG}; {report_trees}"),
            report_trees,
            hazards: Vec::new(),
            allowed,
        };
        Ok((check, task))
    }

    /// Begins a read-only transaction with the statements `begin`, and reports trees in it.
    pub(super) async fn begin(
        &mut self,
        client: &Client,
        begin: &str,
    ) -> Result<(), tokio_postgres::Error> {
        let ((), (), hazards, ()) = tokio::try_join!(
            client.batch_execute(begin),
            client.batch_execute(&self.enter_catalog),
            client.query(&self.parse_hazards, &[]),
            client.batch_execute(&self.leave_and_report),
        )?;
        self.hazards = hazards.iter().map(read_hazard).collect::<Result<_, _>>()?;
        self.hazards.retain(|it| !is_allowed(&it.schema, &it.name, &self.allowed));
        Ok(())
    }

    /// Prepares and checks a statement in the open transaction.
    pub(super) async fn check_statement(
        &self,
        client: &Client,
        query: &ReadOnlyQuery,
        caps: QueryCaps,
    ) -> Result<CheckedStatement, SqlError> {
        let failed = |fault| statement_error(&fault, caps.timeout);
        self.check_literals(client, query, caps).await?;
        if query.kind() == StatementKind::Show {
            let plain = client.prepare(query.text()).await.map_err(failed)?;
            return Ok(CheckedStatement { plain, keeps_state: false });
        }
        self.trees.clear();
        // Of an EXPLAIN the server reports no tree; the explained query is parsed alone.
        let parsed = client.prepare(query.query_text()).await.map_err(failed)?;
        let mut objects = CalledObjects::default();
        for tree in self.trees.take()? {
            objects.add_tree(&tree)?;
        }
        if objects.changes_data {
            return Err(rejection("a part of this statement changes data; leave it out"));
        }
        let keeps_state = self.check_objects(client, objects, caps).await?;
        let plain = match query.kind() {
            StatementKind::Explain => client.prepare(query.text()).await.map_err(failed)?,
            StatementKind::Rows | StatementKind::Show => parsed,
        };
        Ok(CheckedStatement { plain, keeps_state })
    }

    /// Rejects a statement that may contain a literal whose type calls an unchecked function: parsing
    /// the statement would call it.
    async fn check_literals(
        &self,
        client: &Client,
        query: &ReadOnlyQuery,
        caps: QueryCaps,
    ) -> Result<(), SqlError> {
        if self.hazards.is_empty() {
            return Ok(());
        }
        let types: Vec<u32> = self.hazards.iter().map(|hazard| hazard.type_id).collect();
        let parameters: [&(dyn ToSql + Sync); 1] = [&types];
        let ((), rows, ()) = tokio::try_join!(
            client.batch_execute(&self.enter_catalog),
            client.query(&self.hazard_names, &parameters),
            client.batch_execute(&self.leave_and_report),
        )
        .map_err(|fault| statement_error(&fault, caps.timeout))?;
        let mut origins: BTreeMap<String, u32> = BTreeMap::new();
        for row in &rows {
            let read = || Ok((row.try_get("name")?, row.try_get("origin")?));
            let (name, origin) = read().map_err(|fault| statement_error(&fault, caps.timeout))?;
            origins.insert(name, origin);
        }
        // These two convert a text to the type that another text names.
        let converts = ["pg_input_is_valid", "pg_input_error_info"];
        let Some(type_id) = origins
            .iter()
            .find(|(name, _)| query.mentions(name))
            .map(|(_, origin)| *origin)
            .or_else(|| {
                let first = self.hazards.first().map(|hazard| hazard.type_id);
                first.filter(|_| converts.iter().any(|name| query.mentions(name)))
            })
        else {
            return Ok(());
        };
        let hazard = self.hazards.iter().find(|hazard| hazard.type_id == type_id);
        Err(hazard.map_or_else(
            || rejection("a type of this statement calls functions that cannot be checked"),
            |hazard| {
                rejection(&format!(
                    "values of the type `{}` call the function `{}.{}`, which cannot be checked; leave \
                     the type out, or list the function in `allow_functions` of the profile if it only \
                     reads",
                    hazard.type_name, hazard.schema, hazard.name
                ))
            },
        ))
    }

    /// Checks every function that the objects of a parse tree call. Returns true if one may leave
    /// state in the session.
    async fn check_objects(
        &self,
        client: &Client,
        mut objects: CalledObjects,
        caps: QueryCaps,
    ) -> Result<bool, SqlError> {
        let mut checked_bodies = BTreeSet::new();
        let mut keeps_state = false;
        loop {
            let reached = self.reached_functions(client, &objects, caps).await?;
            let mut bodies = Vec::new();
            for function in &reached {
                match function.judge(&self.allowed)? {
                    FunctionVerdict::Harmless => {}
                    FunctionVerdict::Allowed => keeps_state = true,
                    FunctionVerdict::BodyToCheck => bodies.push(function),
                    FunctionVerdict::Rejected(reason) => return Err(function.rejection(reason)),
                }
            }
            bodies.retain(|function| checked_bodies.insert(function.id));
            if bodies.is_empty() {
                return Ok(keeps_state);
            }
            let reports = client.batch_execute(&self.report_trees).await;
            reports.map_err(|fault| statement_error(&fault, caps.timeout))?;
            for function in bodies {
                if checked_bodies.len() > MAX_BODIES {
                    return Err(function.rejection("is one of too many that have to be checked"));
                }
                self.add_body(client, function, &mut objects).await?;
            }
        }
    }

    /// Queries the catalogs for the functions that running a statement can call.
    async fn reached_functions(
        &self,
        client: &Client,
        objects: &CalledObjects,
        caps: QueryCaps,
    ) -> Result<Vec<ReachedFunction>, SqlError> {
        let ids = |set: &BTreeSet<u32>| set.iter().copied().collect::<Vec<u32>>();
        let (functions, operators) = (ids(&objects.functions), ids(&objects.operators));
        let (relations, types) = (ids(&objects.relations), ids(&objects.types));
        let allowed: &[String] = &self.allowed;
        let called: [&(dyn ToSql + Sync); 5] =
            [&functions, &operators, &relations, &types, &allowed];
        let ((), rows, ()) = tokio::try_join!(
            client.batch_execute(&self.enter_catalog),
            client.query(&self.reached_functions, &called),
            client.batch_execute(LEAVE_CATALOG),
        )
        .map_err(|fault| statement_error(&fault, caps.timeout))?;
        let reached: Result<Vec<_>, _> = rows.iter().map(ReachedFunction::read).collect();
        reached.map_err(|fault| statement_error(&fault, caps.timeout))
    }

    /// Adds what the body of an SQL function calls.
    async fn add_body(
        &self,
        client: &Client,
        function: &ReachedFunction,
        objects: &mut CalledObjects,
    ) -> Result<(), SqlError> {
        self.trees.clear();
        // The body is no single SELECT, or uses something that exists only in the function.
        let prepared = client.prepare(&function.body_query()).await;
        prepared.map_err(|_| function.rejection("has a body that cannot be checked"))?;
        for tree in self.trees.take()? {
            objects.add_tree(&tree)?;
        }
        Ok(())
    }
}

/// Function that running a statement can call.
struct ReachedFunction {
    id: u32,
    function: PostgresFunction,
    /// True if the body changes data.
    changes_data: bool,
    /// Foreign table that the function reads, if it is a foreign data wrapper.
    foreign_table: Option<String>,
    argument_types: Vec<String>,
    /// Whether each argument is a row.
    argument_is_row: Vec<bool>,
    argument_names: Vec<String>,
}

impl ReachedFunction {
    fn read(row: &Row) -> Result<Self, tokio_postgres::Error> {
        let kind: &str = row.try_get("kind")?;
        let function = PostgresFunction {
            schema: row.try_get("schema")?,
            name: row.try_get("name")?,
            language: row.try_get("language")?,
            source: row.try_get("source")?,
            is_volatile: row.try_get("is_volatile")?,
            is_aggregate: row.try_get("is_aggregate")?,
            is_handler: kind == "h",
            is_user_defined: row.try_get("is_user_defined")?,
            is_extension: row.try_get("is_extension")?,
            has_settings: row.try_get("has_settings")?,
            has_parsed_body: row.try_get("has_parsed_body")?,
        };
        Ok(Self {
            id: row.try_get("oid")?,
            function,
            changes_data: kind == "d",
            foreign_table: row.try_get("via")?,
            argument_types: row.try_get("argument_types")?,
            argument_is_row: row.try_get("argument_is_row")?,
            argument_names: row.try_get::<_, Option<_>>("argument_names")?.unwrap_or_default(),
        })
    }

    fn judge(&self, allowed: &[String]) -> Result<FunctionVerdict, SqlError> {
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

    fn rejection(&self, reason: &str) -> SqlError {
        let PostgresFunction { schema, name, .. } = &self.function;
        rejection(&format!(
            "the function `{schema}.{name}` {reason}; leave out what calls it (it may be a view, operator, \
             cast or type), or list it in `allow_functions` of the profile if it only reads"
        ))
    }

    /// Returns the body as a query in which the names of the arguments have the meaning that they
    /// have in the function: columns of the body's own tables precede them.
    fn body_query(&self) -> String {
        let body = self.function.source.trim().trim_end_matches(';');
        let quoted = |name: &str| quote_identifier(Engine::Postgres, name);
        let (mut arguments, mut rows) = (Vec::new(), Vec::new());
        for (at, of) in self.argument_types.iter().enumerate() {
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

fn read_hazard(row: &Row) -> Result<ParseHazard, tokio_postgres::Error> {
    Ok(ParseHazard {
        type_id: row.try_get("type")?,
        type_name: row.try_get("type_name")?,
        schema: row.try_get("schema")?,
        name: row.try_get("name")?,
    })
}

fn rejection(message: &str) -> SqlError {
    SqlError::new(ErrorCode::XsqlRoBlocked, message)
}
