//! End-to-end tests of the database tools, as an agent calls them: the same tables on three
//! engines, each the database of a profile.

mod activity;
mod advice;
mod count_rows;
mod explain;
mod health;
mod held_session;
mod prompts;
mod query;
mod resources;
mod schema;

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use vademecum_sql::ConnectionTarget;

use crate::support::{HttpClient, Library, McpClient as _, Server, TestDatabase};

/// Profile names, one for each engine.
const PROFILES: [&str; 3] = ["postgres", "mariadb", "sqlite"];

/// Number of rows of the table `big`.
const BIG_TABLE_ROWS: u64 = 2_500;

/// Tables in SQL that all three engines accept.
const TABLES_SQL: &str = "CREATE TABLE users (
    id INTEGER PRIMARY KEY, email VARCHAR(99) NOT NULL UNIQUE, age INTEGER DEFAULT 5
);
INSERT INTO users (id, email) VALUES (1, 'ada@example.com'), (2, 'eve@example.com');
CREATE TABLE orders (
    number INTEGER NOT NULL, line INTEGER NOT NULL, user_id INTEGER, status VARCHAR(20),
    PRIMARY KEY (number, line), FOREIGN KEY (user_id) REFERENCES users (id)
);
INSERT INTO orders VALUES (1, 1, 1, 'pending'), (1, 2, 1, 'paid'), (2, 1, 2, 'pending');
CREATE VIEW adults AS SELECT id, email FROM users WHERE age >= 18;";

/// Returns SQL that creates the table `big`, whose columns have the word `limit` in their names,
/// and fills it with `rows`.
fn big_table_sql(quote: char, rows: &str) -> String {
    format!(
        "CREATE TABLE big (id INTEGER PRIMARY KEY, note VARCHAR(40), credit_limit INTEGER, \
         {quote}credit limit{quote} INTEGER);\nINSERT INTO big {rows};"
    )
}

/// The same tables on three engines, and a server with a profile for each.
struct ShopDatabases {
    postgres: TestDatabase,
    mariadb: TestDatabase,
    library: Library,
    server: Server,
}

impl ShopDatabases {
    fn start() -> Self {
        let (postgres, mariadb, library) =
            (TestDatabase::postgres(), TestDatabase::mariadb(), Library::new());
        let counted = |number: &str, from: &str| {
            format!("SELECT {number}, 'credit limit', {number}, 0 FROM {from}")
        };
        postgres.execute(TABLES_SQL);
        postgres.execute(&big_table_sql(
            '"',
            &counted("g", &format!("generate_series(1, {BIG_TABLE_ROWS}) AS g")),
        ));
        postgres.execute("ANALYZE");
        execute_each(&mariadb, TABLES_SQL);
        execute_each(
            &mariadb,
            &big_table_sql('`', &counted("seq", &format!("seq_1_to_{BIG_TABLE_ROWS}"))),
        );
        let numbers = format!(
            "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {BIG_TABLE_ROWS}) \
             SELECT i FROM n)"
        );
        let file = library.file_path("shop.db");
        execute_on_file(
            &file,
            &format!("{TABLES_SQL}{}", big_table_sql('"', &counted("i", &numbers))),
        );
        let settings = [
            profile_settings("postgres", &postgres.target()),
            profile_settings("mariadb", &mariadb.target()),
            profile_settings("sqlite", &ConnectionTarget::Sqlite(file)),
        ];
        let server = library.serve_with_settings(&settings.concat());
        Self { postgres, mariadb, library, server }
    }

    fn client(&self) -> HttpClient<'_> {
        self.server.client()
    }

    /// Executes statements on the database of this profile, without the server under test.
    fn execute(&self, profile: &str, statements: &str) {
        match profile {
            "postgres" => self.postgres.execute(statements),
            "mariadb" => execute_each(&self.mariadb, statements),
            _ => execute_on_file(&self.library.file_path("shop.db"), statements),
        }
    }
}

/// Executes statements one by one. They are separated by a semicolon at the end of a line.
fn execute_each(database: &TestDatabase, statements: &str) {
    for statement in statements.split(";\n") {
        database.execute(statement);
    }
}

/// Executes statements on a SQLite file.
#[expect(clippy::disallowed_methods, reason = "the file belongs to another program")]
fn execute_on_file(file: &std::path::Path, statements: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    rusqlite::Connection::open(file).unwrap().execute_batch(statements).unwrap();
}

/// Returns the settings of a profile.
fn profile_settings(name: &str, target: &ConnectionTarget) -> String {
    let (engine, server) = match target {
        ConnectionTarget::Postgres(server) => ("postgres", server),
        ConnectionTarget::MySql(server) => ("mysql", server),
        ConnectionTarget::Sqlite(path) => {
            return format!(
                "[profiles.{name}]\nengine = \"sqlite\"\npath = \"{}\"\n",
                path.display()
            );
        }
    };
    let password = server.password.as_ref().unwrap().expose_secret();
    format!(
        "[profiles.{name}]\nengine = \"{engine}\"\nhost = \"{}\"\nport = {}\nuser = \"{}\"\n\
         password = \"{password}\"\nallow_plaintext = true\ndatabase = \"{}\"\ntls = \"disable\"\n",
        server.host, server.port, server.user, server.database
    )
}

/// Returns the arguments with the profile added.
fn with_profile(profile: &str, arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    arguments["profile"] = json!(profile);
    arguments
}

/// Calls a tool that must succeed and returns its text and its structured content.
fn call_tool(client: &HttpClient<'_>, tool: &str, arguments: &Value) -> (String, Value) {
    let mut result = client.tool_result(tool, arguments);
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["structuredContent"].take())
}

#[test]
fn database_tools_keep_order_and_list_profiles() {
    let shops = ShopDatabases::start();
    let listed =
        |client: &HttpClient<'_>| client.call_method("tools/list", &json!({}))["tools"].clone();
    let first = listed(&shops.client());
    assert_eq!(first, listed(&shops.client()));
    let first = first.as_array().unwrap();
    let tools = first.iter().map(|tool| tool["name"].as_str().unwrap());
    let tools: Vec<&str> =
        tools.skip_while(|name| *name != "profile_show").skip(1).take(5).collect();
    let expected =
        ["query_database", "count_rows", "execute_explain", "get_schema_info", "read_resource"];
    assert_eq!(tools, expected);
    for tool in first.iter().filter(|tool| expected.contains(&tool["name"].as_str().unwrap())) {
        let profiles = &tool["inputSchema"]["properties"]["profile"]["enum"];
        assert_eq!(profiles, &json!(["mariadb", "postgres", "sqlite"]), "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
}

#[test]
fn profile_is_required_if_there_are_several() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (tool, arguments) in [
        ("query_database", json!({ "query": "SELECT 1" })),
        ("count_rows", json!({ "table": "users" })),
        ("execute_explain", json!({ "query": "SELECT 1" })),
        ("get_schema_info", json!({})),
    ] {
        let error = client.expect_tool_error(tool, &arguments);
        assert!(
            error.contains("profile is required") && error.contains("mariadb"),
            "{tool}: {error}"
        );
        let error = client.expect_tool_error(tool, &with_profile("cellar", &arguments));
        assert!(error.contains("`cellar`"), "{tool}: {error}");
    }
}

#[test]
fn results_and_errors_disclose_no_host_or_user() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    let user = shops.postgres.server().user;
    for profile in PROFILES {
        for (tool, arguments) in [
            ("query_database", json!({ "query": "SELECT * FROM nowhere" })),
            ("count_rows", json!({ "table": "nowhere" })),
            ("execute_explain", json!({ "query": "SELECT * FROM nowhere" })),
            ("get_schema_info", json!({})),
            ("query_database", json!({ "query": "SELECT 1" })),
        ] {
            let result = client.tool_result(tool, &with_profile(profile, &arguments)).to_string();
            // The name of the program is also that of the user.
            let result = result.replace("vademecum/contents", "");
            assert!(!result.contains("127.0.0.1") && !result.contains(&user), "{tool}: {result}");
        }
    }
}

#[test]
fn disabled_tool_is_not_listed_or_callable() {
    let library = Library::new();
    execute_on_file(&library.file_path("shop.db"), TABLES_SQL);
    let lite = profile_settings("only", &ConnectionTarget::Sqlite(library.file_path("shop.db")));
    let server =
        library.serve_with_settings(&format!("[tools]\ndisabled = [\"query_database\"]\n{lite}"));
    let client = server.client();
    assert!(
        !client.call_method("tools/list", &json!({})).to_string().contains("\"query_database\"")
    );
    let call = json!({ "name": "query_database", "arguments": { "query": "SELECT 1" } });
    let (code, message) = client.expect_error("tools/call", &call);
    assert!(code == -32_602 && message.contains("is disabled"), "{message}");
    let (text, _) = call_tool(&client, "count_rows", &json!({ "table": "users" }));
    assert!(text.ends_with("Count: 2"), "a single profile is the default: {text}");
    let settings = library.write_file("more.toml", "[tools]\ndisabled = [\"read_resource\"]");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", settings.to_str().unwrap()];
    let done = library.run(&arguments);
    assert_ne!(done.code, 0, "{done:?}");
    assert!(done.stderr.contains("`read_resource` cannot be disabled"), "{done:?}");
}
