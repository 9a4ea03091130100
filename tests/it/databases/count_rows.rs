//! End-to-end tests of `count_rows`, which counts all rows of a table or those that meet a
//! condition.

use serde_json::json;

use super::{PROFILES, ShopDatabases, call_tool, with_profile};
use crate::support::McpClient as _;

const TOOL: &str = "count_rows";

#[test]
fn rows_are_counted_with_optional_condition() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (profile, table) in [
        ("postgres", "\"public\".\"orders\""),
        ("mariadb", "`orders`"),
        ("sqlite", "`main`.`orders`"),
    ] {
        let (text, structured) =
            call_tool(&client, TOOL, &with_profile(profile, &json!({ "table": "orders" })));
        let query = format!("SELECT count(*) AS n FROM {table}");
        assert_eq!(text, format!("Database: {profile}\n\nSQL Query:\n{query}\n\nCount: 3"));
        assert_eq!(structured, json!({ "database": profile, "query": query, "count": 3 }));
        let pending = json!({ "table": "orders", "where": "status = 'pending' AND number > 1" });
        assert_eq!(
            call_tool(&client, TOOL, &with_profile(profile, &pending)).1["count"],
            1,
            "{profile}"
        );
    }
}

#[test]
fn oddly_named_or_other_schema_table_is_counted() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    shops.execute(
        "postgres",
        "CREATE SCHEMA sales; CREATE TABLE sales.orders (id integer); \
        INSERT INTO sales.orders VALUES (1); CREATE TABLE \"odd \"\"; x\" (id integer)",
    );
    shops.execute("mariadb", "CREATE TABLE `odd ``; x` (id INTEGER)");
    shops.execute("sqlite", "CREATE TABLE \"odd \"\"; x\" (id INTEGER)");
    let sales = json!({ "table": "orders", "schema": "sales" });
    assert_eq!(call_tool(&client, TOOL, &with_profile("postgres", &sales)).1["count"], 1);
    for (profile, name) in PROFILES.into_iter().zip(["odd \"; x", "odd `; x", "odd \"; x"]) {
        let arguments = with_profile(profile, &json!({ "table": name }));
        assert_eq!(call_tool(&client, TOOL, &arguments).1["count"], 0, "{profile}");
    }
}

#[test]
fn column_named_like_keyword_is_compared() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (profile, column, condition) in [
        ("postgres", "\"values\"", "\"values\" = 5"),
        ("postgres", "\"values\"", "values = 5"),
        ("postgres", "\"values\"", "(values > 4) AND values NOT IN (6)"),
        ("mariadb", "`values`", "`values` = 5"),
        ("sqlite", "\"values\"", "\"values\" = 5"),
    ] {
        shops.execute(
            profile,
            &format!(
                "DROP TABLE IF EXISTS measured; CREATE TABLE measured ({column} integer); \
                 INSERT INTO measured VALUES (5), (6)"
            ),
        );
        let arguments = with_profile(profile, &json!({ "table": "measured", "where": condition }));
        assert_eq!(call_tool(&client, TOOL, &arguments).1["count"], 1, "{profile}: {condition}");
        let hidden = json!({ "table": "measured", "where": "1 = (values (1))" });
        client.expect_tool_error(TOOL, &with_profile(profile, &hidden));
    }
}

#[test]
fn condition_with_subquery_or_second_statement_is_rejected() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        for condition in [
            "1 = 1) OR EXISTS (SELECT 1",
            "id IN (SELECT user_id FROM orders)",
            "1 = 1; DELETE FROM users",
            "1 = 1 -- all",
            "1 = 1 UNION SELECT 1",
        ] {
            let arguments = with_profile(profile, &json!({ "table": "users", "where": condition }));
            let error = client.expect_tool_error(TOOL, &arguments);
            assert!(
                error.contains("read-only") || error.contains("syntax"),
                "{condition}: {error}"
            );
        }
        let error =
            client.expect_tool_error(TOOL, &with_profile(profile, &json!({ "table": "nowhere" })));
        assert!(error.contains("nowhere"), "{error}");
        let error = client.expect_tool_error(TOOL, &with_profile(profile, &json!({ "table": "" })));
        assert!(error.contains("get_schema_info"), "{error}");
    }
}
