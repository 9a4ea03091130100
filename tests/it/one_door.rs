//! Every statement of the guard's vectors, sent to real databases by an agent whose
//! profile is that of a superuser: what is refused is refused, what reads is let
//! through, and nothing is changed by either.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::program::{Caller, Fresh, Library, Server, said};

/// Statements, as `tests/it/fixtures/sql` has them.
#[derive(Deserialize)]
struct Vectors {
    reads: Vec<String>,
    refused: BTreeMap<String, Vec<String>>,
}

impl Vectors {
    fn all(&self) -> impl Iterator<Item = (&str, bool)> {
        let refused = self.refused.values().flatten().map(|text| (text.as_str(), false));
        self.reads.iter().map(|text| (text.as_str(), true)).chain(refused)
    }
}

fn vectors(text: &str) -> Vectors {
    serde_json::from_str(text).unwrap()
}

/// Of reads, so many in a hundred may be refused.
const REFUSED_READS: usize = 2;

/// Sends every statement to the profile `shop`, and looks after each whether
/// anything is other than it was.
fn send_all(server: &Server, vectors: &Vectors, state: impl Fn() -> String) {
    let before = state();
    let (mut reads, mut wrongly) = (0, Vec::new());
    for (sql, is_read) in vectors.all() {
        let arguments = json!({ "sql": sql, "profile": "shop" });
        let call = json!({ "name": "query", "arguments": arguments });
        let result = server.client().ask("tools/call", &call);
        let text = result["content"][0]["text"].as_str().unwrap();
        let answer: Value = serde_json::from_str(text).unwrap();
        let code = answer["error"]["code"].as_str().unwrap_or("ok");
        assert_eq!(state(), before, "something has changed by: {sql}");
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
    assert!(reads > 0 && wrongly.len() * 100 <= reads * REFUSED_READS, "{wrongly:#?}");
}

/// Tables as the statements name them.
const TABLES: &str = "CREATE TABLE users (id integer PRIMARY KEY, name varchar(40)); \
    INSERT INTO users VALUES (1, 'ada'), (2, 'bob'); \
    CREATE TABLE orders (id integer PRIMARY KEY, user_id integer, total integer); \
    INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20); \
    CREATE TABLE products (id integer PRIMARY KEY, name varchar(40)); \
    CREATE TABLE logs (id integer PRIMARY KEY, msg varchar(40))";

fn serve(library: &Library, engine: &str, variable: &str, database: &Fresh) -> Server {
    let address = said(variable);
    let (start, _) = address.rsplit_once('/').unwrap();
    library.serve_set(&format!(
        "[profiles.shop]\nengine = \"{engine}\"\ndsn = \"{start}/{}\"\nallow_plaintext = true\n\
         timeout_ms = 5000\n",
        database.name()
    ))
}

#[test]
fn nothing_passes_to_postgres_that_changes_anything() {
    let (library, database) = (Library::new(), Fresh::postgres());
    database.run(TABLES);
    let server = serve(&library, "postgres", "VADEMECUM_POSTGRES", &database);
    // What is of all databases of a server may be changed by other tests.
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
    send_all(&server, &vectors(include_str!("fixtures/sql/postgres.json")), || database.ask(state));
}

#[test]
fn nothing_passes_to_mariadb_that_changes_anything() {
    let (library, database) = (Library::new(), Fresh::mariadb());
    for statement in TABLES.split("; ") {
        database.run(statement);
    }
    let server = serve(&library, "mysql", "VADEMECUM_MARIADB", &database);
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
    send_all(&server, &vectors(include_str!("fixtures/sql/mysql.json")), || database.ask(&state));
}

#[test]
fn nothing_passes_to_sqlite_that_changes_anything() {
    let library = Library::new();
    let file = library.write("shop/shop.sqlite", "");
    #[expect(clippy::disallowed_methods, reason = "it is somebody else's file")]
    rusqlite::Connection::open(&file).unwrap().execute_batch(TABLES).unwrap();
    let server = library.serve_set(&format!(
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
    send_all(&server, &vectors(include_str!("fixtures/sql/sqlite.json")), state);
}
