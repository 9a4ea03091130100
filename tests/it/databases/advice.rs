//! End-to-end tests of `advise_indexes`: a missing index is named, an existing one never.

use serde_json::{Value, json};

use super::{call_tool, execute_each, profile_settings};
use crate::support::{HttpClient, Library, McpClient as _, TestDatabase};

const TOOL: &str = "advise_indexes";

/// A big table with indexes on the key and on `placed`.
const ORDERS_SQL: &str = "
    CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer, status varchar(9), placed date);
    INSERT INTO orders SELECT g, g % 5000, CASE g % 3 WHEN 0 THEN 'open' ELSE 'paid' END,
        date '2026-01-01' + g % 400 FROM generate_series(1, 60000) AS g;
    CREATE INDEX orders_placed_idx ON orders (placed, status);
    CREATE TABLE customers (id integer PRIMARY KEY, name text);
    INSERT INTO customers SELECT g, 'n' || g FROM generate_series(1, 5000) AS g;
    ANALYZE";

fn advise(client: &HttpClient<'_>, statements: &[&str]) -> (String, Value) {
    call_tool(client, TOOL, &json!({ "statements": statements }))
}

fn index_names(advice: &Value) -> Vec<&str> {
    let indexes = advice["indexes"].as_array().unwrap();
    indexes.iter().map(|index| index["index"].as_str().unwrap()).collect()
}

#[test]
fn missing_index_is_advised_with_costs() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(ORDERS_SQL);
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    let statement = "SELECT * FROM orders WHERE customer_id = 17";
    let (text, by_plan) = advise(&client, &[statement]);
    assert_eq!(
        (&by_plan["method"], index_names(&by_plan)),
        (&json!("plan"), vec!["orders_customer_id_idx"])
    );
    let index = &by_plan["indexes"][0];
    assert!(index["sentence"].as_str().unwrap().contains("hypopg is not installed"), "{index}");
    assert!(index.get("cost_after").is_none() && index["cost_before"].is_number(), "{index}");
    assert!(text.contains("without an estimate of the gain"), "{text}");
    database.execute("CREATE SCHEMA other; CREATE EXTENSION hypopg SCHEMA other");
    let (text, by_planner) = advise(&client, &[statement]);
    let index = &by_planner["indexes"][0];
    assert_eq!(by_planner["method"], "hypopg");
    assert_eq!(
        index["suggestion"],
        "CREATE INDEX CONCURRENTLY \"orders_customer_id_idx\" ON \"public\".\"orders\" (\"customer_id\");"
    );
    let (before, after) = (&index["cost_before"], &index["cost_after"]);
    assert!(after.as_f64().unwrap() * 10.0 < before.as_f64().unwrap(), "{index}");
    assert!(text.contains(index["sentence"].as_str().unwrap()), "{text}");
    let indexes =
        database.query_value("SELECT count(*) FROM pg_indexes WHERE tablename = 'orders'");
    assert_eq!(indexes, "2", "nothing was created");
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND \
                    query LIKE '%hypopg%' AND pid <> pg_backend_pid()";
    assert_eq!(
        database.query_value(sessions),
        "0",
        "sessions with hypothetical indexes are closed"
    );
    database.execute(index["suggestion"].as_str().unwrap());
    let (text, after) = advise(&client, &[statement]);
    assert!(index_names(&after).is_empty() && text.contains("No index is suggested"), "{after}");
}

#[test]
fn served_and_unselective_statements_get_no_advice() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(ORDERS_SQL);
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    let statements = [
        "SELECT * FROM orders WHERE id = 17",
        "SELECT * FROM orders WHERE placed = '2026-02-02' AND status = 'open'",
        "SELECT count(*) FROM orders WHERE status = 'paid'",
        "SELECT * FROM orders WHERE customer_id + 1 = 18",
        "SELECT 1",
    ];
    for is_installed in [false, true] {
        if is_installed {
            database.execute("CREATE EXTENSION hypopg");
        }
        let (_, advice) = advise(&client, &statements);
        let outcomes = advice["statements"].as_array().unwrap().iter();
        assert!(outcomes.clone().all(|it| it["outcome"] == "no_advice"), "{advice}");
        assert_eq!((outcomes.len(), index_names(&advice).len()), (5, 0), "{advice}");
    }
}

#[test]
fn conditions_of_several_kinds_share_one_index() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(ORDERS_SQL);
    database.execute("CREATE EXTENSION hypopg");
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    let (_, advice) = advise(
        &client,
        &[
            "SELECT c.name, o.placed FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = 5",
            "SELECT * FROM orders WHERE status = $1 AND customer_id = $2",
        ],
    );
    let names = index_names(&advice);
    assert_eq!(names, ["orders_customer_id_idx"], "{advice}");
    assert_eq!(advice["indexes"][0]["statements"], json!([1, 2]), "{advice}");
}

#[test]
fn index_that_finds_too_many_rows_is_improved() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(ORDERS_SQL);
    database.execute("CREATE EXTENSION hypopg");
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let statement = "SELECT * FROM orders WHERE customer_id = 3 ORDER BY id LIMIT 1";
    let (_, advice) = advise(&server.client(), &[statement]);
    assert_eq!(advice["indexes"][0]["columns"][0], "customer_id", "{advice}");
}

#[test]
fn recorded_statements_are_examined_by_default() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(ORDERS_SQL);
    database.execute("CREATE EXTENSION hypopg");
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    let error = client.expect_tool_error(TOOL, &json!({}));
    assert!(error.contains("CREATE EXTENSION pg_stat_statements"), "{error}");
    database.execute("CREATE EXTENSION pg_stat_statements");
    for _ in 0..30 {
        database.execute("SELECT sum(id) FROM orders WHERE customer_id = 99");
    }
    let (_, advice) = call_tool(&client, TOOL, &json!({}));
    assert!(index_names(&advice).contains(&"orders_customer_id_idx"), "{advice}");
    let skipped = advice["statements"].as_array().unwrap();
    let skipped = skipped.iter().find(|it| it["outcome"] == "skipped").unwrap();
    assert!(skipped["sentence"].as_str().unwrap().contains("could not be planned"), "{skipped}");
}

#[test]
fn rejected_statement_is_named_in_error() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute("CREATE TABLE t (a integer); CREATE EXTENSION hypopg");
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    for statement in [
        "DELETE FROM t",
        "SELECT 1; DROP TABLE t",
        "EXPLAIN SELECT 1",
        "SELECT 1) ; DROP TABLE t; --",
    ] {
        let arguments = json!({ "statements": ["SELECT 1", statement] });
        let error = client.expect_tool_error(TOOL, &arguments);
        assert!(error.starts_with("statements[1]: "), "{statement}: {error}");
    }
    // These pass the lexer, and the server resolves what they call.
    let statements = [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT ('5'::text).pg_sleep",
        "SELECT * FROM nowhere",
    ];
    for statement in statements {
        let result = client.tool_result(TOOL, &json!({ "statements": [statement] }));
        let skipped = result["structuredContent"]["statements"][0]["outcome"] == "skipped";
        assert!(skipped || result["isError"] == true, "{statement}: {result}");
    }
    assert_eq!(database.query_value("SELECT count(*) FROM t"), "0");
    let many = vec!["SELECT 1"; 21];
    let error = client.expect_tool_error(TOOL, &json!({ "statements": many }));
    assert!(error.contains("at most 20"), "{error}");
}

#[test]
fn mariadb_advice_follows_plan() {
    let (database, library) = (TestDatabase::mariadb(), Library::new());
    execute_each(
        &database,
        "CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT, note TEXT, placed DATE, KEY (placed));
INSERT INTO orders SELECT seq, seq % 5000, 'x', '2026-01-01' FROM seq_1_to_30000;
ANALYZE TABLE orders",
    );
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    let (_, advice) = advise(
        &client,
        &[
            "SELECT * FROM orders AS o WHERE o.customer_id = 17",
            "SELECT * FROM orders WHERE note = 'y'",
            "SELECT * FROM orders WHERE id = 5",
        ],
    );
    assert_eq!(index_names(&advice), ["orders_customer_id_idx", "orders_note_idx"], "{advice}");
    assert_eq!(
        advice["indexes"][1]["suggestion"],
        "CREATE INDEX `orders_note_idx` ON `orders` (`note`(64));"
    );
    assert!(advice["indexes"][0]["sentence"].as_str().unwrap().contains("no hypothetical indexes"));
    let error = client.expect_tool_error(TOOL, &json!({}));
    assert!(error.starts_with("statements: is empty"), "{error}");
    for index in advice["indexes"].as_array().unwrap() {
        database.execute(index["suggestion"].as_str().unwrap().trim_end_matches(';'));
    }
    let (_, after) = advise(&client, &["SELECT * FROM orders AS o WHERE o.customer_id = 17"]);
    assert!(index_names(&after).is_empty(), "{after}");
}
