//! End-to-end tests of `query_database`: pages of rows.

use std::{io::ErrorKind, net::TcpListener};

use serde_json::{Value, json};

use super::{BIG_TABLE_ROWS, PROFILES, ShopDatabases, call_tool, with_profile};
use crate::support::McpClient as _;

const TOOL: &str = "query_database";

/// Returns the number of rows in a result.
fn row_count(structured: &Value) -> usize {
    structured["rows"].as_array().unwrap().len()
}

#[test]
fn page_contains_database_statement_and_rows() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        let arguments = with_profile(profile, &json!({ "query": "SELECT 1 AS a, 'x' AS b" }));
        let (text, structured) = call_tool(&client, TOOL, &arguments);
        let head = format!("Database: {profile}\n\nSQL Query:\nSELECT 1 AS a, 'x' AS b\n\n");
        assert_eq!(text, format!("{head}Results (1 rows):\n[\n  {{\"a\": 1, \"b\": \"x\"}}\n]"));
        assert_eq!(
            structured,
            json!({
                "database": profile, "columns": ["a", "b"], "rows": [[1, "x"]], "truncated": false,
            })
        );
        let arguments =
            with_profile(profile, &json!({ "sql": "SELECT 1 AS a, 'x' AS b", "format": "tsv" }));
        let (text, _) = call_tool(&client, TOOL, &arguments);
        assert_eq!(text, format!("{head}Results (1 rows):\na\tb\n1\tx"));
    }
}

#[test]
fn invalid_limit_defaults_to_hundred() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (limit, rows) in [
        (None, 100),
        (Some(json!(0)), 100),
        (Some(json!(-5)), 100),
        (Some(json!(30_000)), 100),
        (Some(json!("100")), 100),
        (Some(json!(1.5)), 100),
        (Some(json!(1)), 1),
        (Some(json!(1_000)), 1_000),
    ] {
        let mut arguments = with_profile("sqlite", &json!({ "query": "SELECT id FROM big" }));
        if let Some(limit) = &limit {
            arguments["limit"] = limit.clone();
        }
        let (_, structured) = call_tool(&client, TOOL, &arguments);
        assert_eq!(
            (row_count(&structured), &structured["truncated"]),
            (rows, &json!(true)),
            "{limit:?}"
        );
    }
}

#[test]
fn row_cap_ignores_limit_in_query_text() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        for query in [
            "SELECT * FROM big WHERE note='credit limit'",
            "SELECT credit_limit FROM big",
            "SELECT \"credit limit\" FROM big",
            "SELECT * FROM big -- limit\n",
            "SELECT * FROM big WHERE 1 IN (SELECT id FROM (SELECT 1 AS id LIMIT 1) AS one)",
            "WITH r AS (SELECT * FROM big LIMIT 5000) SELECT * FROM r",
        ] {
            let (text, structured) =
                call_tool(&client, TOOL, &with_profile(profile, &json!({ "query": query })));
            assert_eq!(row_count(&structured), 100, "{profile}: {query}");
            assert!(text.contains("more available - use offset=100 for next page"), "{text}");
        }
        let all = json!({ "query": "SELECT * FROM big LIMIT 30000", "limit": 1_000 });
        let (_, structured) = call_tool(&client, TOOL, &with_profile(profile, &all));
        assert_eq!((row_count(&structured), &structured["next_offset"]), (1_000, &json!(1_000)));
        let few = json!({ "query": "SELECT * FROM big LIMIT 3" });
        let (_, structured) = call_tool(&client, TOOL, &with_profile(profile, &few));
        assert_eq!((row_count(&structured), &structured["truncated"]), (3, &json!(false)));
    }
}

#[test]
fn trailing_semicolons_and_comments_are_accepted() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        for query in ["SELECT 1;", "SELECT 1;;;", "SELECT 1 ; -- done", "SELECT '1;2';"] {
            let (_, structured) =
                call_tool(&client, TOOL, &with_profile(profile, &json!({ "query": query })));
            assert_eq!(row_count(&structured), 1, "{profile}: {query}");
        }
    }
}

#[test]
fn pages_follow_query_order() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        let page = |offset: u64| {
            let query = "SELECT id, id FROM big ORDER BY id DESC";
            let arguments = json!({ "query": query, "limit": 100, "offset": offset });
            call_tool(&client, TOOL, &with_profile(profile, &arguments))
        };
        let (text, second) = page(100);
        assert!(
            text.contains("Results (rows 101-200, more available - use offset=200 for next page):")
        );
        let ids: Vec<u64> =
            second["rows"].as_array().unwrap().iter().map(|row| row[1].as_u64().unwrap()).collect();
        assert_eq!(
            ids,
            (BIG_TABLE_ROWS - 199..=BIG_TABLE_ROWS - 100).rev().collect::<Vec<_>>(),
            "{profile}"
        );
        assert_eq!(second["next_offset"], 200);
        let (text, last) = page(BIG_TABLE_ROWS - 50);
        assert!(text.contains("Results (rows 2451-2500):"), "{text}");
        assert_eq!((row_count(&last), last.get("next_offset")), (50, None));
        let (text, beyond) = page(BIG_TABLE_ROWS + 500);
        assert!(text.contains("Results (0 rows from offset 3000):\n[]"), "{text}");
        assert_eq!((row_count(&beyond), &beyond["truncated"]), (0, &json!(false)));
    }
}

#[test]
fn duplicate_column_names_keep_their_values() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        let arguments = with_profile(profile, &json!({ "query": "SELECT 1 AS a, 2 AS a" }));
        let (text, structured) = call_tool(&client, TOOL, &arguments);
        assert!(text.contains("[\"a\",\"a\"]\n\nResults (1 rows):\n[\n  [1, 2]\n]"), "{text}");
        assert_eq!(
            (&structured["columns"], &structured["rows"]),
            (&json!(["a", "a"]), &json!([[1, 2]]))
        );
    }
}

#[test]
fn writes_are_rejected_without_side_effects() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        for query in [
            "DELETE FROM users",
            "INSERT INTO users (id, email) VALUES (3, 'x')",
            "WITH x AS (DELETE FROM users RETURNING id) SELECT * FROM x",
            "SELECT 1; DROP TABLE users",
            "CREATE TABLE evil (id INTEGER)",
        ] {
            let error =
                client.expect_tool_error(TOOL, &with_profile(profile, &json!({ "query": query })));
            assert!(error.contains("read-only"), "{profile}: {query}: {error}");
        }
        let left = with_profile(profile, &json!({ "table": "users" }));
        assert!(call_tool(&client, "count_rows", &left).0.ends_with("Count: 2"), "{profile}");
    }
}

#[test]
fn address_in_query_is_never_connected_to() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    for profile in PROFILES {
        let query = format!("SELECT 1 at postgres://attacker@{address}/db");
        client.expect_tool_error(TOOL, &with_profile(profile, &json!({ "query": query })));
        let quoted = format!("SELECT 'postgres://attacker@{address}/db' AS a");
        let (_, structured) =
            call_tool(&client, TOOL, &with_profile(profile, &json!({ "query": quoted })));
        assert_eq!(row_count(&structured), 1);
    }
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn tsv_values_are_escaped_into_single_cells() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    let query = "SELECT NULL AS n, E'a\\tb\\nc\\rd' AS t, 9223372036854775807 AS i, 3.14159 AS d, \
                 true AS b, ARRAY['a', 'b'] AS l, '{\"key\":\"value\"}'::json AS o, \
                 '2024-06-15T10:30:00Z'::text AS m";
    let arguments = with_profile("postgres", &json!({ "query": query, "format": "tsv" }));
    let (text, _) = call_tool(&client, TOOL, &arguments);
    let line = "\ta\\tb\\nc\\rd\t9223372036854775807\t3.14159\ttrue\t[\"a\",\"b\"]\t\
                {\"key\":\"value\"}\t2024-06-15T10:30:00Z";
    assert!(text.ends_with(&format!("n\tt\ti\td\tb\tl\to\tm\n{line}")), "{text}");
    let none = json!({ "query": "SELECT id, email FROM users WHERE id = 0", "format": "tsv" });
    for profile in PROFILES {
        let (text, _) = call_tool(&client, TOOL, &with_profile(profile, &none));
        assert!(text.ends_with("Results (0 rows):\nid\temail"), "{profile}: {text}");
    }
}

#[test]
fn explain_show_and_pragma_are_paged() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (profile, query) in [
        ("postgres", "EXPLAIN SELECT * FROM users JOIN orders ON user_id = id ORDER BY email"),
        ("mariadb", "SHOW COLUMNS FROM users"),
        ("sqlite", "PRAGMA table_info(users)"),
    ] {
        let page = |offset: usize, limit: usize| {
            let arguments = json!({ "query": query, "offset": offset, "limit": limit });
            call_tool(&client, TOOL, &with_profile(profile, &arguments)).1
        };
        let all = page(0, 100);
        let one = page(1, 1);
        assert!(row_count(&all) > 2, "{all}");
        assert_eq!((&one["rows"][0], row_count(&one)), (&all["rows"][1], 1), "{profile}");
        assert_eq!(one["next_offset"], 2, "{profile}");
    }
}
