//! Sends every statement of the guard's test vectors to real databases, with a superuser profile:
//! writes are rejected, reads are accepted, and no statement changes anything.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Library, McpClient, Server, TestDatabase, require_env};

/// Test statements from `tests/it/fixtures/sql`.
#[derive(Deserialize)]
struct GuardVectors {
    reads: Vec<String>,
    refused: BTreeMap<String, Vec<String>>,
}

impl GuardVectors {
    fn iter_statements(&self) -> impl Iterator<Item = (&str, bool)> {
        let refused = self.refused.values().flatten().map(|text| (text.as_str(), false));
        self.reads.iter().map(|text| (text.as_str(), true)).chain(refused)
    }
}

fn parse_vectors(text: &str) -> GuardVectors {
    serde_json::from_str(text).unwrap()
}

/// Maximum percentage of reads that the guard may reject.
const MAX_REJECTED_READS_PERCENT: usize = 2;

/// Sends every statement to the profile `shop`, and asserts after each that the database has not
/// changed.
fn assert_guard_enforced(server: &Server, vectors: &GuardVectors, state: impl Fn() -> String) {
    let before = state();
    let (mut reads, mut wrongly) = (0, Vec::new());
    for (sql, is_read) in vectors.iter_statements() {
        let arguments = json!({ "sql": sql, "profile": "shop" });
        let call = json!({ "name": "query", "arguments": arguments });
        let result = server.client().call_method("tools/call", &call);
        let text = result["content"][0]["text"].as_str().unwrap();
        let answer: Value = serde_json::from_str(text).unwrap();
        let code = answer["error"]["code"].as_str().unwrap_or("ok");
        assert_eq!(state(), before, "database changed by: {sql}");
        if is_read {
            reads += 1;
            if code == "XSQL_RO_BLOCKED" {
                wrongly.push((sql, answer));
            }
        } else if sql.trim().is_empty() {
            assert_eq!(code, "XSQL_CFG_INVALID", "{sql}");
        } else {
            assert_eq!(code, "XSQL_RO_BLOCKED", "{sql}: {answer}");
        }
    }
    assert!(reads > 0 && wrongly.len() * 100 <= reads * MAX_REJECTED_READS_PERCENT, "{wrongly:#?}");
}

/// Creates the tables that the statements use.
const SETUP_SQL: &str = "CREATE TABLE users (id integer PRIMARY KEY, name varchar(40)); \
    INSERT INTO users VALUES (1, 'ada'), (2, 'bob'); \
    CREATE TABLE orders (id integer PRIMARY KEY, user_id integer, total integer); \
    INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20); \
    CREATE TABLE products (id integer PRIMARY KEY, name varchar(40)); \
    CREATE TABLE logs (id integer PRIMARY KEY, msg varchar(40))";

fn serve_shop_profile(
    library: &Library,
    engine: &str,
    variable: &str,
    database: &TestDatabase,
) -> Server {
    let address = require_env(variable);
    let (start, _) = address.rsplit_once('/').unwrap();
    library.serve_with_settings(&format!(
        "[profiles.shop]\nengine = \"{engine}\"\ndsn = \"{start}/{}\"\nallow_plaintext = true\n\
         timeout_ms = 5000\n",
        database.name()
    ))
}

#[test]
fn guard_blocks_all_postgres_writes() {
    let (library, database) = (Library::new(), TestDatabase::postgres());
    database.execute(SETUP_SQL);
    let server = serve_shop_profile(&library, "postgres", "VADEMECUM_POSTGRES", &database);
    // Objects shared by all databases of the server are left out, because other tests may change
    // them.
    let state = "SELECT md5(string_agg(line, '|' ORDER BY line)) FROM ( \
        SELECT concat_ws('/', 'c', oid, relname, relkind::text, relacl::text) AS line \
            FROM pg_class WHERE relname !~ '^pg_toast' \
        UNION ALL SELECT concat_ws('/', 'f', oid, proname, prosrc) FROM pg_proc \
        UNION ALL SELECT concat_ws('/', 'l', oid) FROM pg_largeobject_metadata \
        UNION ALL SELECT concat_ws('/', 's', last_value, sequencename) FROM pg_sequences \
        UNION ALL SELECT concat_ws('/', 'n', oid, nspname) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp' \
        UNION ALL SELECT concat_ws('/', 'x', oid, extname) FROM pg_extension \
        UNION ALL SELECT concat_ws('/', 'd', setdatabase, setconfig::text) FROM pg_db_role_setting \
            JOIN pg_database ON pg_database.oid = setdatabase AND datname = current_database() \
        UNION ALL SELECT concat_ws('/', 'k', classid, objid) FROM pg_locks \
            WHERE locktype = 'advisory' \
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        UNION ALL SELECT 'u' || users::text FROM users \
        UNION ALL SELECT 'o' || orders::text FROM orders) AS lines";
    assert_guard_enforced(
        &server,
        &parse_vectors(include_str!("fixtures/sql/postgres.json")),
        || database.query_value(state),
    );
}

#[test]
fn guard_blocks_all_mariadb_writes() {
    let (library, database) = (Library::new(), TestDatabase::mariadb());
    for statement in SETUP_SQL.split("; ") {
        database.execute(statement);
    }
    let server = serve_shop_profile(&library, "mysql", "VADEMECUM_MARIADB", &database);
    let name = database.name();
    let state = format!(
        "SELECT concat_ws('|', \
         (SELECT group_concat(table_name ORDER BY table_name) FROM information_schema.tables \
            WHERE table_schema = '{name}'), \
         (SELECT group_concat(routine_name ORDER BY routine_name) FROM information_schema.routines \
            WHERE routine_schema = '{name}'), \
         (SELECT group_concat(id, name ORDER BY id) FROM users), \
         (SELECT group_concat(id, total ORDER BY id) FROM orders))"
    );
    assert_guard_enforced(&server, &parse_vectors(include_str!("fixtures/sql/mysql.json")), || {
        database.query_value(&state)
    });
}

#[test]
fn guard_blocks_all_sqlite_writes() {
    let library = Library::new();
    let file = library.write_file("shop/shop.sqlite", "");
    #[expect(clippy::disallowed_methods, reason = "the file belongs to another program")]
    rusqlite::Connection::open(&file).unwrap().execute_batch(SETUP_SQL).unwrap();
    let server = library.serve_with_settings(&format!(
        "[profiles.shop]\nengine = \"sqlite\"\npath = \"{}\"\n",
        file.display()
    ));
    let state = || {
        let mut files: Vec<String> = fs::read_dir(file.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        format!("{files:?} {:?}", fs::read(&file).unwrap())
    };
    assert_guard_enforced(&server, &parse_vectors(include_str!("fixtures/sql/sqlite.json")), state);
}
