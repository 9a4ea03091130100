//! End-to-end tests of `execute_explain`: query plans, and the findings reported for them.

use serde_json::json;

use super::{PROFILES, ShopDatabases, call_tool, with_profile};
use crate::support::McpClient as _;

const TOOL: &str = "execute_explain";

#[test]
fn explain_options_work_with_every_query() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        for arguments in [
            json!({ "query": "SELECT 1", "analyze": false, "buffers": false }),
            json!({ "query": "WITH x AS (SELECT 1) SELECT * FROM x" }),
            json!({ "query": "SELECT 1", "format": "json" }),
            json!({ "query": "SELECT 1;", "format": "json", "analyze": false }),
            json!({ "query": "SELECT email FROM users -- all", "buffers": false }),
            json!({ "query": "VALUES (1), (2)" }),
        ] {
            let (text, structured) = call_tool(&client, TOOL, &with_profile(profile, &arguments));
            let is_analyzed = structured["analyzed"] == true;
            let title = if is_analyzed { "EXPLAIN ANALYZE Results" } else { "EXPLAIN Results" };
            let head = format!("{title}\n{}\n\nQuery: ", "=".repeat(title.len()));
            assert!(text.starts_with(&head), "{profile} {arguments}: {text}");
            assert!(text.contains("\n\nExecution Plan:\n---------------\n"), "{text}");
            assert!(text.contains("\n\nAnalysis:\n---------\n- "), "{text}");
            assert!(
                profile == "sqlite" || is_analyzed == (arguments["analyze"] != false),
                "{text}"
            );
            let is_json = arguments["format"] == "json";
            assert_eq!(structured.get("plan_json").is_some(), is_json, "{structured}");
            assert_eq!(structured["plan"].is_string(), !is_json, "{structured}");
        }
    }
}

#[test]
fn explain_rejects_other_statements() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        for query in [
            "INSERT INTO users (id, email) VALUES (9, 'x')",
            "DELETE FROM users",
            "EXPLAIN SELECT 1",
            "CREATE TABLE x AS SELECT 1",
        ] {
            let error =
                client.expect_tool_error(TOOL, &with_profile(profile, &json!({ "query": query })));
            assert!(error.starts_with("Only SELECT queries"), "{profile}: {query}: {error}");
        }
        for arguments in [json!({ "query": "" }), json!({ "query": " \n" }), json!({})] {
            let error = client.expect_tool_error(TOOL, &with_profile(profile, &arguments));
            assert!(error.contains("non-empty string"), "{error}");
        }
        let count = with_profile(profile, &json!({ "table": "users" }));
        assert_eq!(call_tool(&client, "count_rows", &count).1["count"], 2);
    }
    let writing = json!({ "query": "WITH x AS (DELETE FROM users RETURNING *) SELECT * FROM x" });
    let error = client.expect_tool_error(TOOL, &with_profile("postgres", &writing));
    assert!(error.contains("read-only"), "{error}");
    let waiting = json!({ "query": "SELECT pg_sleep(60)" });
    assert!(
        client.expect_tool_error(TOOL, &with_profile("postgres", &waiting)).contains("pg_sleep")
    );
}

#[test]
fn analysis_reports_sequential_scans_only() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        for format in ["text", "json"] {
            for analyze in [true, false] {
                let arguments = json!({
                    "query": "SELECT * FROM big WHERE note LIKE '%a'", "format": format,
                    "analyze": analyze,
                });
                let (text, structured) =
                    call_tool(&client, TOOL, &with_profile(profile, &arguments));
                let (_, analysis) = text.split_once("Analysis:\n").unwrap();
                let expected = "- Sequential scan detected on 'big' table\n\
                            - Consider adding an index if this query runs frequently";
                assert!(analysis.contains(expected), "{profile} {arguments}: {text}");
                assert_eq!(structured["analysis"][0], "Sequential scan detected on 'big' table");
                let is_measured = analyze && profile != "sqlite";
                assert_eq!(analysis.contains("Filter removed 2500 rows"), is_measured, "{text}");
            }
        }
        let arguments = json!({ "query": "SELECT id FROM big WHERE id = 5" });
        let (text, _) = call_tool(&client, TOOL, &with_profile(profile, &arguments));
        assert!(!text.contains("Sequential scan"), "{profile}: {text}");
    }
}

#[test]
fn analysis_reports_expensive_sorts() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for format in ["text", "json"] {
        let arguments = json!({
            "query": "SELECT md5(g::text) AS m FROM generate_series(1, 200000) AS g ORDER BY m",
            "format": format,
        });
        let (text, _) = call_tool(&client, TOOL, &with_profile("postgres", &arguments));
        assert!(text.contains("- Sort spilled to disk (") && text.contains("work_mem"), "{text}");
        let arguments = json!({ "query": "SELECT * FROM big ORDER BY note", "format": format });
        let (text, _) = call_tool(&client, TOOL, &with_profile("mariadb", &arguments));
        assert!(text.contains("- Sorting without an index (filesort)"), "{text}");
        let (text, _) = call_tool(&client, TOOL, &with_profile("sqlite", &arguments));
        assert!(text.contains("- ORDER BY takes a temporary B-tree"), "{text}");
    }
}
