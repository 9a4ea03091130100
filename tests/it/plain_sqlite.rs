//! Databases of the program in other SQLite programs: SQLite 3.37 and later opens, reads, checks
//! and writes the plain tables without the functions and the tokenizer of this program.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::json;

use crate::support::{Library, McpClient, folder_snapshot};

const STUB_EMBEDDINGS: &str =
    "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 32\n";

/// Functions of SQLite 3.37 that the schemas use outside virtual tables.
const KNOWN_FUNCTIONS: [&str; 10] = [
    "char",
    "coalesce",
    "group_concat",
    "json_each",
    "json_extract",
    "json_valid",
    "length",
    "nullif",
    "RAISE",
    "substr",
];

/// Syntax that SQLite 3.37 rejects, in upper case.
const NEWER_SYNTAX: [&str; 5] =
    ["->", " RIGHT JOIN ", " FULL ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM "];

/// Tables with content in [`full_library`], by file.
const FILLED_TABLES: [(&str, &[&str]); 9] = [
    ("audit.db", &["entry"]),
    ("server.db", &["users", "api_keys", "collections"]),
    ("embeddings.db", &["vectors"]),
    ("collections/kb.1.db", &["rag_documents", "rag_chunks", "rag_codes", "rag_vectors"]),
    ("users/local/chacha.db", &["notes", "conversations", "messages", "character_cards"]),
    ("users/local/media.db", &["Media", "imported"]),
    ("users/local/prompts.db", &["Prompts", "imported"]),
    ("users/local/imports.db", &["files"]),
    ("users/local/index.db", &["rag_documents", "rag_chunks", "rag_vectors"]),
];

/// Creates a library with an item in each source, vectors, a collection and a user.
fn full_library() -> Library {
    let library = Library::with_item_per_source("Lantern", "A lantern hangs in the window.");
    library.create_key("ada");
    library.write_file("docs/a.md", "# Bight\n\nA bight is a loop of rope.\n");
    let settings = library.write_file("settings.toml", STUB_EMBEDDINGS);
    let docs = library.file_path("docs");
    let build = ["collection", "build", "kb", docs.to_str().unwrap(), "--config"];
    let done = library.run(&[&build[..], &[settings.to_str().unwrap()]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let server = library.serve_with_settings(STUB_EMBEDDINGS);
    let query = json!({ "query": "lantern", "mode": "vector" });
    let found = server.client().call_tool("knowledge.search", &query);
    assert_eq!(found["results"].as_array().unwrap().len(), 5, "{found}");
    drop(server.kill_and_read_log());
    library
}

/// Opens a database without the functions and the tokenizer of the program.
pub(crate) fn open_plainly(path: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).unwrap()
}

fn query_rows<T>(
    connection: &Connection,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = statement.query_map([], read).unwrap();
    rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Reads all plain tables and views and runs the integrity check. Returns the row counts.
pub(crate) fn read_plain_tables(connection: &Connection) -> BTreeMap<String, usize> {
    let names: Vec<String> = query_rows(
        connection,
        "SELECT name FROM sqlite_schema
         WHERE type IN ('table', 'view') AND sql NOT LIKE 'CREATE VIRTUAL TABLE %'",
        |row| row.get(0),
    );
    let counts = names.into_iter().map(|name| {
        let rows = query_rows(connection, &format!("SELECT * FROM \"{name}\""), |row| {
            (0..row.as_ref().column_count()).try_for_each(|at| row.get_ref(at).map(drop))
        });
        (name, rows.len())
    });
    let counts = counts.collect();
    let checked: Vec<String> = query_rows(connection, "PRAGMA integrity_check", |row| row.get(0));
    assert_eq!(checked, ["ok"]);
    counts
}

/// Asserts that a schema has nothing that SQLite 3.37 rejects or only this program has.
pub(crate) fn assert_portable_schema(connection: &Connection) {
    // SQLite itself makes `sqlite_sequence` and the tables with a name in single quotes.
    let statements: Vec<String> = query_rows(
        connection,
        "SELECT sql FROM sqlite_schema
         WHERE sql NOT LIKE 'CREATE VIRTUAL TABLE %' AND sql NOT LIKE 'CREATE TABLE ''%'
           AND name <> 'sqlite_sequence'",
        |row| row.get(0),
    );
    for statement in statements {
        assert_eq!(unportable_sql(&statement), Vec::<String>::new(), "{statement}");
    }
}

/// Returns the functions and syntax of a statement that SQLite 3.37 may not have. Relies on the
/// layout of the schemas: only a function name stands directly before a parenthesis.
fn unportable_sql(statement: &str) -> Vec<String> {
    let lines = statement.lines().map(|line| line.split("--").next().unwrap_or_default());
    let code = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let code = code.split('\'').step_by(2).collect::<Vec<_>>().join("''");
    let upper = code.to_uppercase();
    let newer = NEWER_SYNTAX.iter().filter(|syntax| upper.contains(**syntax));
    let mut found: Vec<String> = newer.map(|syntax| syntax.trim().to_owned()).collect();
    // For each open parenthesis, the function whose arguments it encloses.
    let mut open: Vec<&str> = Vec::new();
    for (at, character) in code.char_indices() {
        match character {
            '(' => {
                let before = &code[..at];
                let start = before.rfind(|it: char| !it.is_alphanumeric() && it != '_');
                let name = &before[start.map_or(0, |start| start + 1)..];
                if !name.is_empty() && !KNOWN_FUNCTIONS.contains(&name) {
                    found.push(format!("{name}()"));
                }
                open.push(name);
            }
            ')' => {
                open.pop();
            }
            _ if upper[at..].starts_with("ORDER BY ") => {
                if let Some(function) = open.last().filter(|name| !name.is_empty()) {
                    found.push(format!("{function}(… ORDER BY …)"));
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn databases_are_readable_without_own_functions() {
    let library = full_library();
    let data = library.data_folder();
    let mut paths: Vec<PathBuf> = folder_snapshot(&data).into_keys().collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "db"));
    let mut expected = FILLED_TABLES.map(|(name, _)| data.join(name));
    expected.sort();
    assert_eq!(paths, expected);
    for (name, tables) in FILLED_TABLES {
        let connection = open_plainly(&data.join(name));
        let counts = read_plain_tables(&connection);
        for table in tables {
            assert!(counts[*table] > 0, "{name}: {table} is empty: {counts:?}");
        }
        assert_portable_schema(&connection);
    }
}

#[test]
fn plain_tables_are_writable_without_own_functions() {
    let library = Library::with_item_per_source("Lantern", "A lantern hangs in the window.");
    let folder = library.data_folder().join("users/local");
    for (name, statement) in [
        ("chacha.db", "UPDATE notes SET title = 'Beacon'"),
        ("chacha.db", "UPDATE conversations SET title = 'Beacon'"),
        ("chacha.db", "UPDATE character_cards SET name = 'Beacon'"),
        ("media.db", "UPDATE Media SET title = 'Beacon'"),
        ("prompts.db", "UPDATE Prompts SET name = 'Beacon'"),
    ] {
        let changed = open_plainly(&folder.join(name)).execute(statement, []).unwrap();
        assert_eq!(changed, 1, "{statement}");
    }
    let server = library.serve();
    for source in ["notes", "chats", "characters", "media", "prompts"] {
        let tool = format!("{source}.search");
        let hit = server.client().only_hit(&tool, &json!({ "query": "hangs" }));
        assert_eq!(hit["title"], "Beacon", "{hit}");
    }
}

#[test]
fn shipped_schemas_need_only_sqlite_3_37() {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/sqlite");
    for folder in fs::read_dir(schemas).unwrap() {
        let connection = Connection::open_in_memory().unwrap();
        vademecum_fts5::register(&connection).unwrap();
        let folder = folder.unwrap().path();
        if folder.ends_with("shared") {
            // These extend the databases of a library.
            let core = include_str!("../../schemas/sqlite/prompts/0001_core.sql");
            connection.execute_batch(core).unwrap();
        }
        for path in folder_snapshot(&folder).keys() {
            if path.to_str().unwrap().ends_with("_row_digests.sql") {
                for shared in [
                    include_str!("../../schemas/sqlite/shared/journal.sql"),
                    include_str!("../../schemas/sqlite/shared/links.sql"),
                    include_str!("../../schemas/sqlite/shared/provenance.sql"),
                ] {
                    connection.execute_batch(shared).unwrap();
                }
            }
            connection.execute_batch(&fs::read_to_string(path).unwrap()).unwrap();
        }
        assert_portable_schema(&connection);
    }
}

#[test]
fn unportable_sql_is_detected() {
    let replaced = include_str!("../../schemas/sqlite/chacha/0005_character_texts.sql");
    let view = replaced.split_once("CREATE VIEW").unwrap().1;
    let view = view.split_once("DROP TABLE").unwrap().0;
    let found = unportable_sql(view);
    for newer in ["->", "concat_ws()", "group_concat(… ORDER BY …)"] {
        assert!(found.iter().any(|it| it == newer), "{newer}: {found:?}");
    }
    for (sql, newer) in [
        ("CREATE INDEX i ON t (vademecum_fold(a))", "vademecum_fold()"),
        ("CREATE VIEW v AS SELECT a FROM t FULL JOIN u", "FULL"),
        ("CREATE VIEW v AS SELECT a IS NOT DISTINCT FROM b FROM t", "IS NOT DISTINCT FROM"),
    ] {
        assert_eq!(unportable_sql(sql), [newer], "{sql}");
    }
    let known = "CREATE VIEW v AS SELECT length('->(') FROM (SELECT a FROM t ORDER BY a) -- x(";
    assert_eq!(unportable_sql(known), Vec::<String>::new());
}
