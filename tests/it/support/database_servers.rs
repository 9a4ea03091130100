//! Access to the database servers that `tests/servers` starts, with a separate database for each
//! test.

use std::{env, thread};

use mysql_async::prelude::Queryable;
use secrecy::{ExposeSecret, SecretString};
use tokio::runtime::Builder;
use uuid::Uuid;
use vademecum_sql::{ConnectionTarget, Engine, ServerTarget, TlsMode};

/// Returns an environment variable that `tests/servers` sets; panics if it is missing.
#[expect(clippy::disallowed_methods, reason = "tests have no settings")]
pub(crate) fn require_env(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run tests/run, or `eval \"$(tests/servers start)\"` before")
    })
}

/// A database that is dropped at the end of the test.
pub(crate) struct TestDatabase {
    engine: Engine,
    /// The connection for creating and dropping the database.
    server: ServerTarget,
    name: String,
}

impl TestDatabase {
    /// Creates a database on `PostgreSQL`.
    pub(crate) fn postgres() -> Self {
        Self::create(Engine::Postgres, "VADEMECUM_POSTGRES")
    }

    /// Creates a database on `PostgreSQL` with the pgvector extension enabled.
    pub(crate) fn pgvector() -> Self {
        let database = Self::create(Engine::Postgres, "VADEMECUM_PGVECTOR");
        database.execute("CREATE EXTENSION vector");
        database
    }

    /// Creates a database on `MariaDB`.
    pub(crate) fn mariadb() -> Self {
        Self::create(Engine::MySql, "VADEMECUM_MARIADB")
    }

    fn create(engine: Engine, variable: &str) -> Self {
        let server = parse_server_address(&require_env(variable));
        let name = format!("test_{}", Uuid::new_v4().simple());
        // Sets the character set explicitly; the default depends on the server's configuration.
        let letters = if engine == Engine::MySql { " CHARACTER SET utf8mb4" } else { "" };
        execute_on(engine, &server, &format!("CREATE DATABASE {name}{letters}"));
        Self { engine, server, name }
    }

    /// Returns the connection settings of a user with all rights.
    pub(crate) fn server(&self) -> ServerTarget {
        ServerTarget { database: self.name.clone(), ..self.server.clone() }
    }

    /// Returns the connection settings in the driver's form.
    pub(crate) fn target(&self) -> ConnectionTarget {
        self.target_with(self.server())
    }

    /// Combines other connection settings with this engine.
    pub(crate) fn target_with(&self, server: ServerTarget) -> ConnectionTarget {
        match self.engine {
            Engine::Postgres => ConnectionTarget::Postgres(server),
            Engine::MySql => ConnectionTarget::MySql(server),
            Engine::Sqlite => panic!("SQLite has no server"),
        }
    }

    /// Returns the name of the database.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Executes statements directly, without the program under test.
    pub(crate) fn execute(&self, statements: &str) {
        execute_on(self.engine, &self.server(), statements);
    }

    /// Runs [`Self::query_value`] without blocking the current async runtime.
    pub(crate) async fn query_value_async(&self, query: &str) -> String {
        let (engine, server, query) = (self.engine, self.server(), query.to_owned());
        tokio::task::spawn_blocking(move || query_value_on(engine, &server, &query)).await.unwrap()
    }

    /// Returns the first value of a query's result as text, or an empty string without rows.
    pub(crate) fn query_value(&self, query: &str) -> String {
        query_value_on(self.engine, &self.server(), query)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let force = if self.engine == Engine::Postgres { " WITH (FORCE)" } else { "" };
        execute_on(self.engine, &self.server, &format!("DROP DATABASE {}{force}", self.name));
    }
}

/// Parses an address of the form `postgres://user:password@host:port/database`.
fn parse_server_address(address: &str) -> ServerTarget {
    let parts = || {
        let (_, rest) = address.split_once("://")?;
        let (user, rest) = rest.split_once(':')?;
        let (password, rest) = rest.split_once('@')?;
        let (host, rest) = rest.split_once(':')?;
        let (port, database) = rest.split_once('/')?;
        Some(ServerTarget {
            host: host.to_owned(),
            tunnel_address: None,
            port: port.parse().ok()?,
            user: user.to_owned(),
            password: Some(SecretString::from(password)),
            database: database.to_owned(),
            tls: TlsMode::Disable,
            ca_file: None,
            allow_functions: Vec::new(),
            trust: Vec::new(),
        })
    };
    parts().unwrap_or_else(|| panic!("invalid server address: {address}"))
}

fn execute_on(engine: Engine, server: &ServerTarget, statements: &str) {
    query_value_on(engine, server, statements);
}

fn query_value_on(engine: Engine, server: &ServerTarget, statements: &str) -> String {
    let (server, statements) = (server.clone(), statements.to_owned());
    // Uses a separate thread, because the test may already run inside an async runtime.
    let thread = thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            match engine {
                Engine::Postgres => query_postgres(&server, &statements).await,
                Engine::MySql => query_mysql(&server, &statements).await,
                Engine::Sqlite => panic!("SQLite has no server"),
            }
        })
    });
    thread.join().unwrap()
}

async fn query_postgres(server: &ServerTarget, statements: &str) -> String {
    let config = server.postgres_config();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let answer = client.simple_query(statements).await;
    let answer = answer.unwrap_or_else(|error| panic!("{statements}: {:?}", error.as_db_error()));
    drop(client);
    connection.await.unwrap().unwrap();
    let value = answer.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    value.unwrap_or_default()
}

async fn query_mysql(server: &ServerTarget, statements: &str) -> String {
    let options = mysql_async::OptsBuilder::default()
        .ip_or_hostname(&server.host)
        .tcp_port(server.port)
        .user(Some(&server.user))
        .pass(server.password.as_ref().map(ExposeSecret::expose_secret))
        .db_name(Some(&server.database));
    let mut connection = mysql_async::Conn::new(options).await.unwrap();
    let answer = connection.query_iter(statements).await;
    let mut answer = answer.unwrap_or_else(|error| panic!("{statements}: {error}"));
    let rows: Vec<mysql_async::Row> = answer.collect().await.unwrap();
    answer.drop_result().await.unwrap();
    connection.disconnect().await.unwrap();
    let value = rows.first().and_then(|row| row.get_opt::<String, _>(0)?.ok());
    value.unwrap_or_default()
}
