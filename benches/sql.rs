//! What `query` costs beside a plain loop that reads the same rows with a
//! driver and builds the same JSON.
//!
//! A table of ten columns is made on each engine and read whole, in turns:
//!
//! - `plain`: prepare, fetch, one `serde_json::Value` a cell, one text of all;
//!   with sqlx (`PostgreSQL`), `mysql_async` (`MariaDB`) and rusqlite (SQLite);
//! - `query`: the whole path, JSON message in, JSON message out: guard,
//!   read-only transaction, caps, the answer as text and as structured content,
//!   and the connection reset.
//!
//! Both say the same rows, which is compared. What counts is this process; what
//! the servers spend is theirs. The target is that `query` costs at most twice
//! as much as `plain`.
//!
//! `eval "$(tests/servers start)"; cargo bench -p vademecum-benches --bench sql -- --rows 100k`

use std::{env, path::Path};

use anyhow::{Context, Result, ensure};
use futures_util::TryStreamExt;
use mysql_async::prelude::Queryable;
use serde_json::{Value, json};
use sqlx::Row as _;
use tempfile::TempDir;
use vademecum::app::App;
use vademecum_benches::{Cost, Figures, Options, Report};
use vademecum_core::config::Settings;

/// Rounds, the first of which warms up.
const ROUNDS: usize = 8;
/// How many times a plain loop a query may cost.
const TIMES: f64 = 2.0;
/// Rows that are inserted by one statement.
const BATCH: usize = 500;

/// What is read.
const READ: &str = "SELECT id, sku, name, city, note, quantity, grams, price, is_new, made \
     FROM vademecum_bench ORDER BY id";
const MAKE: &str = "CREATE TABLE vademecum_bench (id BIGINT PRIMARY KEY, sku VARCHAR(40) NOT NULL, \
     name VARCHAR(80) NOT NULL, city VARCHAR(80), note TEXT NOT NULL, quantity INT NOT NULL, \
     grams BIGINT NOT NULL, price DOUBLE PRECISION NOT NULL, is_new SMALLINT NOT NULL, \
     made VARCHAR(40) NOT NULL)";
const DROP: &str = "DROP TABLE IF EXISTS vademecum_bench";

fn main() -> Result<()> {
    let options = Options::read();
    let mut report = Report::new("sql");
    actix::System::new().block_on(async {
        for rows in &options.rows {
            for engine in Engine::ALL {
                engine.measure(*rows, &mut report).await?;
            }
        }
        report.write(&options)
    })
}

/// Which kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Postgres,
    MariaDb,
    Sqlite,
}

impl Engine {
    const ALL: [Self; 3] = [Self::Postgres, Self::MariaDb, Self::Sqlite];

    fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::Sqlite => "sqlite",
        }
    }

    /// Where it is.
    #[expect(clippy::disallowed_methods, reason = "benches have no settings")]
    fn place(self, folder: &Path) -> Result<String> {
        let named = match self {
            Self::Postgres => "VADEMECUM_POSTGRES",
            Self::MariaDb => "VADEMECUM_MARIADB",
            Self::Sqlite => {
                let file = folder.join("bench.db");
                return Ok(file.to_str().context("the folder is no UTF-8")?.to_owned());
            }
        };
        env::var(named).with_context(|| {
            format!("{named} is not set: run `eval \"$(tests/servers start)\"` before")
        })
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    async fn measure(self, rows: usize, report: &mut Report) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let place = self.place(folder.path())?;
        let mut plain = Plain::open(self, &place).await?;
        plain.fill(rows).await?;
        let app = self.app(&folder, &place, rows)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let (said, cost) = Cost::of(plain.read()).await;
            let (answer, asked) = Cost::of(ask(&app)).await;
            let (said, answer) = (said?, answer?);
            if round == 0 {
                let (said, answer): (Value, Value) =
                    (serde_json::from_str(&said)?, serde_json::from_str(&answer)?);
                let answer = &answer["result"]["structuredContent"];
                let count = said["data"]["rows"].as_array().map(Vec::len);
                ensure!(count == Some(rows), "the plain loop reads all rows");
                ensure!(said["data"]["rows"] == answer["data"]["rows"], "both say the same");
                ensure!(answer["data"]["truncated"] == false, "nothing is kept back");
            } else {
                theirs.push(cost.cpu);
                ours.push(asked.cpu);
            }
        }
        plain.run(DROP).await?;
        let [ours, theirs] = [ours, theirs].map(Figures::of);
        println!("{} ({rows} rows of ten columns)", self.name());
        println!("  plain  {:>9.1} ms median", theirs.median / 1e3);
        println!(
            "  query  {:>9.1} ms median; {:.2} times (at most {TIMES} wanted)",
            ours.median / 1e3,
            ours.to(theirs)
        );
        report.add(json!({
            "engine": self.name(), "rows": rows, "query": ours, "plain": theirs,
            "to_plain": ours.to(theirs), "target": TIMES,
        }));
        Ok(())
    }

    /// The program, with the database as a profile that may answer with all of it.
    fn app(self, folder: &TempDir, place: &str, rows: usize) -> Result<App> {
        let data = folder.path().join("data");
        // What JSON writes as a string is one in TOML as well.
        let settings = format!(
            "[storage]\ndata = {}\n[profiles.bench]\n{} = {}\nallow_plaintext = true\n\
             max_rows = {}\nmax_bytes = 1000000000\n",
            json!(data),
            if self == Self::Sqlite { "engine = \"sqlite\"\npath" } else { "dsn" },
            json!(place),
            rows + 1,
        );
        Ok(App::new(Settings::parse(&settings)?)?)
    }
}

/// Asks as a client does.
async fn ask(app: &App) -> Result<String> {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "query", "arguments": { "profile": "bench", "sql": READ } },
    });
    let answer = app.ask(&message.to_string()).await.context("no answer")?;
    // The end tells it, and costs nothing to look at.
    ensure!(answer.ends_with("\"isError\":false}}"), "{}", tail(&answer));
    Ok(answer)
}

fn tail(text: &str) -> &str {
    let from = text.char_indices().rev().nth(300).map_or(0, |(index, _)| index);
    text.get(from..).unwrap_or_default()
}

/// A driver, and nothing else.
enum Plain {
    Postgres(Box<sqlx::PgConnection>),
    MariaDb(Box<mysql_async::Conn>),
    Sqlite(rusqlite::Connection),
}

impl Plain {
    #[expect(clippy::disallowed_methods, reason = "a plain database is no store")]
    async fn open(engine: Engine, place: &str) -> Result<Self> {
        Ok(match engine {
            Engine::Postgres => {
                use sqlx::Connection as _;
                Self::Postgres(Box::new(sqlx::PgConnection::connect(place).await?))
            }
            Engine::MariaDb => Self::MariaDb(Box::new(mysql_async::Conn::from_url(place).await?)),
            Engine::Sqlite => Self::Sqlite(rusqlite::Connection::open(place)?),
        })
    }

    /// Runs a statement that gives nothing.
    async fn run(&mut self, statement: &str) -> Result<()> {
        match self {
            Self::Postgres(connection) => {
                use sqlx::Executor as _;
                connection.execute(statement).await?;
            }
            Self::MariaDb(connection) => connection.query_drop(statement).await?,
            Self::Sqlite(connection) => connection.execute_batch(statement)?,
        }
        Ok(())
    }

    async fn fill(&mut self, rows: usize) -> Result<()> {
        self.run(DROP).await?;
        self.run(MAKE).await?;
        for begin in (0..rows).step_by(BATCH) {
            let values: Vec<String> = (begin..rows.min(begin + BATCH)).map(row).collect();
            self.run(&format!("INSERT INTO vademecum_bench VALUES {}", values.join(","))).await?;
        }
        Ok(())
    }

    /// Reads the table and writes it as JSON.
    async fn read(&mut self) -> Result<String> {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let columns: Vec<String>;
        match self {
            Self::Postgres(connection) => {
                use sqlx::{Column as _, Executor as _};
                let described = (&mut **connection).describe(READ).await?;
                columns = described.columns.iter().map(|it| it.name().to_owned()).collect();
                let mut stream = sqlx::query(READ).fetch(&mut **connection);
                while let Some(row) = stream.try_next().await? {
                    rows.push(vec![
                        row.try_get::<i64, _>(0)?.into(),
                        row.try_get::<&str, _>(1)?.into(),
                        row.try_get::<&str, _>(2)?.into(),
                        row.try_get::<Option<&str>, _>(3)?.into(),
                        row.try_get::<&str, _>(4)?.into(),
                        row.try_get::<i32, _>(5)?.into(),
                        row.try_get::<i64, _>(6)?.into(),
                        row.try_get::<f64, _>(7)?.into(),
                        row.try_get::<i16, _>(8)?.into(),
                        row.try_get::<&str, _>(9)?.into(),
                    ]);
                }
            }
            Self::MariaDb(connection) => {
                let mut result = connection.exec_iter(READ, ()).await?;
                columns = result.columns_ref().iter().map(|it| it.name_str().into()).collect();
                while let Some(mut row) = result.next().await? {
                    rows.push(vec![
                        taken::<i64>(&mut row, 0)?.into(),
                        taken::<String>(&mut row, 1)?.into(),
                        taken::<String>(&mut row, 2)?.into(),
                        taken::<Option<String>>(&mut row, 3)?.into(),
                        taken::<String>(&mut row, 4)?.into(),
                        taken::<i32>(&mut row, 5)?.into(),
                        taken::<i64>(&mut row, 6)?.into(),
                        taken::<f64>(&mut row, 7)?.into(),
                        taken::<i16>(&mut row, 8)?.into(),
                        taken::<String>(&mut row, 9)?.into(),
                    ]);
                }
            }
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(READ)?;
                columns = statement.column_names().into_iter().map(str::to_owned).collect();
                let mut found = statement.query([])?;
                while let Some(row) = found.next()? {
                    rows.push(vec![
                        row.get::<_, i64>(0)?.into(),
                        row.get::<_, String>(1)?.into(),
                        row.get::<_, String>(2)?.into(),
                        row.get::<_, Option<String>>(3)?.into(),
                        row.get::<_, String>(4)?.into(),
                        row.get::<_, i32>(5)?.into(),
                        row.get::<_, i64>(6)?.into(),
                        row.get::<_, f64>(7)?.into(),
                        row.get::<_, i16>(8)?.into(),
                        row.get::<_, String>(9)?.into(),
                    ]);
                }
            }
        }
        let said = json!({ "ok": true, "schema_version": 1,
            "data": { "columns": columns, "rows": rows } });
        Ok(serde_json::to_string(&said)?)
    }
}

/// A cell of `MariaDB`.
fn taken<T: mysql_async::prelude::FromValue>(
    row: &mut mysql_async::Row,
    index: usize,
) -> Result<T> {
    row.take(index).with_context(|| format!("column {index} is missing"))
}

/// A row as it stands behind VALUES.
fn row(number: usize) -> String {
    const CITIES: [&str; 7] =
        ["'Bergen'", "'Graz'", "'Izmir'", "'Lviv'", "NULL", "'Porto'", "'Turku'"];
    let city = CITIES[number % CITIES.len()];
    let day = number % 28 + 1;
    format!(
        "({number}, 'SKU-{:08}', 'Item number {number}', {city}, \
         'Rests on shelf {} until somebody asks for \"it\"; then it is weighed and sent.', \
         {}, {}, {}, {}, '2026-11-{day:02}T09:30:00Z')",
        number * 7919 % 100_000_000,
        number % 613,
        number % 97,
        number * 31,
        // Never whole: which JSON says of a whole one is a matter of taste.
        f64::from(u32::try_from(number % 100_000 * 2 + 1).unwrap_or_default()) / 16.0,
        number % 2,
    )
}
