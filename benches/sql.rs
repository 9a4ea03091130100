//! The cost of the tool `query` compared with a plain loop that reads the same rows with a driver
//! and builds the same JSON.
//!
//! A table of ten columns is created on each engine and read completely, in turns:
//!
//! - `plain`: prepare, fetch, one `serde_json::Value` per cell, one text for the result; with sqlx
//!   (`PostgreSQL`), `mysql_async` (`MariaDB`) and rusqlite (SQLite);
//! - `query`: the whole path from JSON message to JSON message: guard, read-only transaction,
//!   limits, the result as text and structured content, and the connection reset.
//!
//! Both must return the same rows. Only the CPU time of this process counts, not that of the
//! database servers. The target is that `query` costs at most twice as much as `plain`.
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
use vademecum_benches::{Options, Report, Timing, TimingSummary};
use vademecum_core::config::Settings;

/// Number of rounds. The first one is a warm-up.
const ROUNDS: usize = 8;
/// Target: maximum ratio of the cost of `query` to that of `plain`.
const TIMES: f64 = 2.0;
/// Rows per INSERT statement.
const ROWS_PER_INSERT: usize = 500;

/// The statement to measure.
const SELECT_SQL: &str = "SELECT id, sku, name, city, note, quantity, grams, price, is_new, made \
     FROM vademecum_bench ORDER BY id";
const CREATE_TABLE_SQL: &str = "CREATE TABLE vademecum_bench (id BIGINT PRIMARY KEY, sku VARCHAR(40) NOT NULL, \
     name VARCHAR(80) NOT NULL, city VARCHAR(80), note TEXT NOT NULL, quantity INT NOT NULL, \
     grams BIGINT NOT NULL, price DOUBLE PRECISION NOT NULL, is_new SMALLINT NOT NULL, \
     made VARCHAR(40) NOT NULL)";
const DROP_TABLE_SQL: &str = "DROP TABLE IF EXISTS vademecum_bench";

fn main() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("sql");
    actix::System::new().block_on(async {
        for rows in &options.rows {
            for engine in Engine::ALL {
                Box::pin(engine.measure(*rows, &mut report)).await?;
            }
        }
        report.write(&options)
    })
}

/// The database engine.
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

    /// Returns the connection string, or the path of the SQLite file.
    #[expect(clippy::disallowed_methods, reason = "benches have no settings")]
    fn connection_string(self, folder: &Path) -> Result<String> {
        let named = match self {
            Self::Postgres => "VADEMECUM_POSTGRES",
            Self::MariaDb => "VADEMECUM_MARIADB",
            Self::Sqlite => {
                let file = folder.join("bench.db");
                return Ok(file
                    .to_str()
                    .context("the path of the folder is not UTF-8")?
                    .to_owned());
            }
        };
        env::var(named).with_context(|| {
            format!("{named} is not set: run `eval \"$(tests/servers start)\"` before")
        })
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    async fn measure(self, rows: usize, report: &mut Report) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let place = self.connection_string(folder.path())?;
        let mut plain = PlainDriver::open(self, &place).await?;
        plain.fill_table(rows).await?;
        let app = self.open_app(&folder, &place, rows)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let (plain_answer, cost) = Timing::measure(plain.read_as_json()).await;
            let (answer, query_cost) = Timing::measure(call_query(&app)).await;
            let (plain_answer, answer) = (plain_answer?, answer?);
            if round == 0 {
                let (plain_answer, answer): (Value, Value) =
                    (serde_json::from_str(&plain_answer)?, serde_json::from_str(&answer)?);
                let answer = &answer["result"]["structuredContent"];
                let count = plain_answer["data"]["rows"].as_array().map(Vec::len);
                ensure!(count == Some(rows), "the plain loop did not read all rows");
                ensure!(
                    plain_answer["data"]["rows"] == answer["data"]["rows"],
                    "the rows of `plain` and `query` differ"
                );
                ensure!(answer["data"]["truncated"] == false, "the result of `query` is truncated");
            } else {
                theirs.push(cost.cpu);
                ours.push(query_cost.cpu);
            }
        }
        plain.execute(DROP_TABLE_SQL).await?;
        let [ours, theirs] = [ours, theirs].map(TimingSummary::from_durations);
        println!("{} ({rows} rows of ten columns)", self.name());
        println!("  plain  {:>9.1} ms median", theirs.median / 1e3);
        println!(
            "  query  {:>9.1} ms median; {:.2} times (target: at most {TIMES})",
            ours.median / 1e3,
            ours.ratio_to(theirs)
        );
        report.add_entry(json!({
            "engine": self.name(), "rows": rows, "query": ours, "plain": theirs,
            "to_plain": ours.ratio_to(theirs), "target": TIMES,
        }));
        Ok(())
    }

    /// Creates the application with the database as a profile that may return all rows.
    fn open_app(self, folder: &TempDir, place: &str, rows: usize) -> Result<App> {
        let data = folder.path().join("data");
        // A JSON string is also a valid TOML string.
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

/// Calls the tool as a client does.
async fn call_query(app: &App) -> Result<String> {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "query", "arguments": { "profile": "bench", "sql": SELECT_SQL } },
    });
    let answer = app.handle_message(&message.to_string()).await.context("no answer")?;
    // Checking the suffix is cheap and sufficient.
    ensure!(answer.ends_with("\"isError\":false}}"), "{}", tail(&answer));
    Ok(answer)
}

fn tail(text: &str) -> &str {
    let from = text.char_indices().rev().nth(300).map_or(0, |(index, _)| index);
    text.get(from..).unwrap_or_default()
}

/// A connection of the plain driver.
enum PlainDriver {
    Postgres(Box<sqlx::PgConnection>),
    MariaDb(Box<mysql_async::Conn>),
    Sqlite(rusqlite::Connection),
}

impl PlainDriver {
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

    /// Executes a statement without results.
    async fn execute(&mut self, statement: &str) -> Result<()> {
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

    async fn fill_table(&mut self, rows: usize) -> Result<()> {
        self.execute(DROP_TABLE_SQL).await?;
        self.execute(CREATE_TABLE_SQL).await?;
        for begin in (0..rows).step_by(ROWS_PER_INSERT) {
            let values: Vec<String> =
                (begin..rows.min(begin + ROWS_PER_INSERT)).map(row_values).collect();
            self.execute(&format!("INSERT INTO vademecum_bench VALUES {}", values.join(",")))
                .await?;
        }
        Ok(())
    }

    /// Reads the table and serializes it as JSON.
    async fn read_as_json(&mut self) -> Result<String> {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let columns: Vec<String>;
        match self {
            Self::Postgres(connection) => {
                use sqlx::{Column as _, Executor as _};
                let described = (&mut **connection).describe(SELECT_SQL).await?;
                columns = described.columns.iter().map(|it| it.name().to_owned()).collect();
                let mut stream = sqlx::query(SELECT_SQL).fetch(&mut **connection);
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
                let mut result = connection.exec_iter(SELECT_SQL, ()).await?;
                columns = result.columns_ref().iter().map(|it| it.name_str().into()).collect();
                while let Some(mut row) = result.next().await? {
                    rows.push(vec![
                        take_cell::<i64>(&mut row, 0)?.into(),
                        take_cell::<String>(&mut row, 1)?.into(),
                        take_cell::<String>(&mut row, 2)?.into(),
                        take_cell::<Option<String>>(&mut row, 3)?.into(),
                        take_cell::<String>(&mut row, 4)?.into(),
                        take_cell::<i32>(&mut row, 5)?.into(),
                        take_cell::<i64>(&mut row, 6)?.into(),
                        take_cell::<f64>(&mut row, 7)?.into(),
                        take_cell::<i16>(&mut row, 8)?.into(),
                        take_cell::<String>(&mut row, 9)?.into(),
                    ]);
                }
            }
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(SELECT_SQL)?;
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
        let envelope = json!({ "ok": true, "schema_version": 1,
            "data": { "columns": columns, "rows": rows } });
        Ok(serde_json::to_string(&envelope)?)
    }
}

/// Takes a cell of a `MariaDB` row.
fn take_cell<T: mysql_async::prelude::FromValue>(
    row: &mut mysql_async::Row,
    index: usize,
) -> Result<T> {
    row.take(index).with_context(|| format!("column {index} is missing"))
}

/// Returns a row for the VALUES clause.
fn row_values(number: usize) -> String {
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
        // Never an integer, since JSON writers format integral floats differently.
        f64::from(u32::try_from(number % 100_000 * 2 + 1).unwrap_or_default()) / 16.0,
        number % 2,
    )
}
