//! Sessions of other clients, held open by a test.

use std::{
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use mysql_async::prelude::Queryable;
use secrecy::ExposeSecret;
use tokio::{runtime::Builder, sync::oneshot};
use vademecum_sql::{ConnectionTarget, ServerTarget};

/// Maximum time to wait for a condition.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Interval between looks at a condition. `MariaDB` refreshes its list of lock waits only when nobody
/// has read it for 100 ms.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Session that runs statements and stays open until it is dropped.
pub(super) struct HeldSession {
    release: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HeldSession {
    /// Opens a session and begins to run the statements.
    pub(super) fn start(target: ConnectionTarget, statements: &'static str) -> Self {
        let (release, released) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                match target {
                    ConnectionTarget::Postgres(server) => {
                        hold_postgres(&server, statements, released).await;
                    }
                    ConnectionTarget::MySql(server) => {
                        hold_mysql(&server, statements, released).await;
                    }
                    ConnectionTarget::Sqlite(_) => panic!("SQLite has no sessions"),
                }
            });
        });
        Self { release: Some(release), thread: Some(thread) }
    }
}

impl Drop for HeldSession {
    fn drop(&mut self) {
        drop(self.release.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Calls `look` until it returns a value.
pub(super) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < MAX_WAIT, "{what} did not happen");
        thread::sleep(LOOK_INTERVAL);
    }
}

async fn hold_postgres(server: &ServerTarget, statements: &str, released: oneshot::Receiver<()>) {
    let config = server.postgres_config();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(statements).await.unwrap();
    drop(released.await);
    drop(client);
    drop(connection.await);
}

async fn hold_mysql(server: &ServerTarget, statements: &str, released: oneshot::Receiver<()>) {
    let options = mysql_async::OptsBuilder::default()
        .ip_or_hostname(&server.host)
        .tcp_port(server.port)
        .user(Some(&server.user))
        .pass(server.password.as_ref().map(ExposeSecret::expose_secret))
        .db_name(Some(&server.database));
    let mut connection = mysql_async::Conn::new(options).await.unwrap();
    for statement in statements.split(";\n") {
        connection.query_drop(statement).await.unwrap();
    }
    drop(released.await);
    connection.disconnect().await.unwrap();
}
