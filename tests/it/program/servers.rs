//! Database servers that `tests/servers` has started, and a database of its own for
//! each test.

use std::{env, thread};

use mysql_async::prelude::Queryable;
use secrecy::{ExposeSecret, SecretString};
use tokio::runtime::Builder;
use uuid::Uuid;
use vademecum_sql::{ConnectionTarget, Engine, ServerTarget, TlsMode};

/// What `tests/servers` says under this name.
#[expect(clippy::disallowed_methods, reason = "tests have no settings")]
pub(crate) fn said(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run tests/run, or `eval \"$(tests/servers start)\"` before")
    })
}

/// A database that is gone when the test ends.
pub(crate) struct Fresh {
    engine: Engine,
    /// The server where it is made and dropped.
    server: ServerTarget,
    name: String,
}

impl Fresh {
    /// On `PostgreSQL`.
    pub(crate) fn postgres() -> Self {
        Self::on(Engine::Postgres, "VADEMECUM_POSTGRES")
    }

    /// On `PostgreSQL` with pgvector, which is made ready.
    pub(crate) fn pgvector() -> Self {
        let database = Self::on(Engine::Postgres, "VADEMECUM_PGVECTOR");
        database.run("CREATE EXTENSION vector");
        database
    }

    /// On `MariaDB`.
    pub(crate) fn mariadb() -> Self {
        Self::on(Engine::MySql, "VADEMECUM_MARIADB")
    }

    fn on(engine: Engine, variable: &str) -> Self {
        let server = server(&said(variable));
        let name = format!("test_{}", Uuid::new_v4().simple());
        // Whatever letters the server would take by itself.
        let letters = if engine == Engine::MySql { " CHARACTER SET utf8mb4" } else { "" };
        run(engine, &server, &format!("CREATE DATABASE {name}{letters}"));
        Self { engine, server, name }
    }

    /// Where it is, for somebody who may do everything.
    pub(crate) fn server(&self) -> ServerTarget {
        ServerTarget { database: self.name.clone(), ..self.server.clone() }
    }

    /// The same, as the driver takes it.
    pub(crate) fn target(&self) -> ConnectionTarget {
        self.target_of(self.server())
    }

    /// The same with other settings.
    pub(crate) fn target_of(&self, server: ServerTarget) -> ConnectionTarget {
        match self.engine {
            Engine::Postgres => ConnectionTarget::Postgres(server),
            Engine::MySql => ConnectionTarget::MySql(server),
            Engine::Sqlite => panic!("files have no server"),
        }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs statements beside the program.
    pub(crate) fn run(&self, statements: &str) {
        run(self.engine, &self.server(), statements);
    }

    /// The same as [`Self::ask`], for a runtime that has other things to do meanwhile.
    pub(crate) async fn ask_beside(&self, query: &str) -> String {
        let (engine, server, query) = (self.engine, self.server(), query.to_owned());
        tokio::task::spawn_blocking(move || ask(engine, &server, &query)).await.unwrap()
    }

    /// The first value that a query gives, as a text.
    pub(crate) fn ask(&self, query: &str) -> String {
        ask(self.engine, &self.server(), query)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let force = if self.engine == Engine::Postgres { " WITH (FORCE)" } else { "" };
        run(self.engine, &self.server, &format!("DROP DATABASE {}{force}", self.name));
    }
}

/// `postgres://user:password@host:port/database`
fn server(address: &str) -> ServerTarget {
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
        })
    };
    parts().unwrap_or_else(|| panic!("not the address of a server: {address}"))
}

fn run(engine: Engine, server: &ServerTarget, statements: &str) {
    ask(engine, server, statements);
}

fn ask(engine: Engine, server: &ServerTarget, statements: &str) -> String {
    let (server, statements) = (server.clone(), statements.to_owned());
    // On a thread of its own, since the test may run in a runtime.
    let asked = thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            match engine {
                Engine::Postgres => ask_postgres(&server, &statements).await,
                Engine::MySql => ask_mysql(&server, &statements).await,
                Engine::Sqlite => panic!("files have no server"),
            }
        })
    });
    asked.join().unwrap()
}

async fn ask_postgres(server: &ServerTarget, statements: &str) -> String {
    let mut config = tokio_postgres::Config::new();
    config.host(&server.host).port(server.port).user(&server.user).dbname(&server.database);
    config.password(server.password.as_ref().unwrap().expose_secret());
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

async fn ask_mysql(server: &ServerTarget, statements: &str) -> String {
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
