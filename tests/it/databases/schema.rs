//! End-to-end tests of `get_schema_info`: tables, views and their columns.

use serde_json::{Value, json};

use super::{PROFILES, ShopDatabases, call_tool, profile_settings, with_profile};
use crate::support::{HttpClient, Library, McpClient as _, TestDatabase};

const TOOL: &str = "get_schema_info";

const HEADER_LINE: &str = "schema\ttable\ttype\ttable_desc\tcolumn\tdata_type\tnullable\tcol_desc\tis_pk\t\
                    is_unique\tfk_ref\tis_indexed\tidentity\tdefault\tis_vector\tvector_dims";

/// Returns the cells of each line below the header.
fn parse_cells(text: &str) -> Vec<Vec<&str>> {
    let (_, lines) =
        text.split_once(&format!("{HEADER_LINE}\n")).unwrap_or_else(|| panic!("{text}"));
    let cells: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert!(cells.iter().all(|cells| cells.len() == 16), "{text}");
    cells
}

/// Returns the cells of the only line for this column.
fn column_line<'a>(cells: &'a [Vec<&'a str>], table: &str, column: &str) -> &'a [&'a str] {
    let mut found = cells.iter().filter(|cells| cells[1] == table && cells[4] == column);
    let (Some(line), None) = (found.next(), found.next()) else { panic!("{table}.{column}") };
    line
}

/// Returns the text result for this part of a database.
fn schema_text(client: &HttpClient<'_>, profile: &str, part: &Value) -> String {
    call_tool(client, TOOL, &with_profile(profile, part)).0
}

#[test]
fn columns_have_sixteen_cells() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (profile, schema) in PROFILES.into_iter().zip(["public", shops.mariadb.name(), "main"]) {
        let (text, structured) = call_tool(&client, TOOL, &with_profile(profile, &json!({})));
        assert!(text.starts_with(&format!("Database: {profile}\n\n{HEADER_LINE}\n")), "{text}");
        let cells = parse_cells(&text);
        assert!(cells.iter().all(|cells| cells[0] == schema), "{text}");
        let id = column_line(&cells, "users", "id");
        assert_eq!((id[2], id[6], id[8], id[9], id[11]), ("TABLE", "NO", "true", "false", "true"));
        let email = column_line(&cells, "users", "email");
        assert_eq!((email[6], email[8], email[9], email[11]), ("NO", "false", "true", "true"));
        let age = column_line(&cells, "users", "age");
        assert_eq!(
            (age[6], age[11], age[13], age[14], age[15]),
            ("YES", "false", "5", "false", "0")
        );
        let user = column_line(&cells, "orders", "user_id");
        assert_eq!(user[10], format!("{schema}.users.id"), "{profile}");
        for key in ["number", "line"] {
            let key = column_line(&cells, "orders", key);
            assert_eq!((key[6], key[8], key[9]), ("NO", "true", "false"), "{profile}");
        }
        assert_eq!(column_line(&cells, "adults", "email")[2], "VIEW");
        column_line(&cells, "big", "credit limit");
        let tables = structured["tables"].as_array().unwrap();
        assert_eq!((tables.len(), &structured["truncated"]), (4, &json!(false)));
        let columns: usize =
            tables.iter().map(|table| table["columns"].as_array().unwrap().len()).sum();
        assert_eq!(columns, cells.len());
    }
}

#[test]
fn table_name_requires_schema_name() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (profile, schema) in PROFILES.into_iter().zip(["public", shops.mariadb.name(), "main"]) {
        let one = json!({ "schema_name": schema, "table_name": "users" });
        let said = schema_text(&client, profile, &one);
        assert!(parse_cells(&said).iter().all(|cells| cells[1] == "users"), "{said}");
        assert_eq!(parse_cells(&said).len(), 3);
        let all = schema_text(&client, profile, &json!({ "schema_name": schema, "compact": true }));
        assert!(all.contains("\n\nschema\ttable\ttype\ttable_desc\n"), "{all}");
        assert!(
            all.contains(&format!("\n{schema}\tusers\tTABLE\t")) && !all.contains("email"),
            "{all}"
        );
        let said = client
            .expect_tool_error(TOOL, &with_profile(profile, &json!({ "table_name": "users" })));
        assert_eq!(said, "table_name requires schema_name to be specified");
        let nowhere = json!({ "schema_name": "nowhere" });
        let said = schema_text(&client, profile, &nowhere);
        assert!(said.contains("No tables found") && said.contains("'nowhere'"), "{said}");
        let said =
            schema_text(&client, profile, &json!({ "schema_name": schema, "table_name": "user" }));
        assert!(said.contains(&format!("'{schema}.user' not found")), "{said}");
    }
}

#[test]
fn external_schema_changes_are_visible_immediately() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for profile in PROFILES {
        assert!(!schema_text(&client, profile, &json!({})).contains("\tlate\t"));
        shops.execute(profile, "CREATE TABLE late (id INTEGER)");
        assert!(schema_text(&client, profile, &json!({})).contains("\tlate\t"), "{profile}");
        shops.execute(profile, "DROP TABLE late");
        assert!(!schema_text(&client, profile, &json!({})).contains("\tlate\t"), "{profile}");
    }
}

#[test]
fn summary_replaces_more_than_ten_tables() {
    let shops = ShopDatabases::start();
    let client = shops.client();
    for (profile, schema) in PROFILES.into_iter().zip(["public", shops.mariadb.name(), "main"]) {
        let more = [0, 1, 2, 3, 4, 5].map(|at| format!("CREATE TABLE more_{at} (id INTEGER)"));
        shops.execute(profile, &more.join(";\n"));
        assert!(
            parse_cells(&schema_text(&client, profile, &json!({}))).len() > 10,
            "ten tables are listed in full"
        );
        shops.execute(profile, "CREATE TABLE last_one (id INTEGER)");
        let (said, structured) = call_tool(&client, TOOL, &with_profile(profile, &json!({})));
        for part in [
            "Database Schema Summary",
            "Found 11 tables across 1 schemas.",
            "Tables: adults, big, last_one, more_0, more_1, ... (+6 more)",
            &format!("get_schema_info(schema_name=\"{schema}\")"),
            "vector_tables_only=true",
            "compact=true",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!((&structured["found"], structured.get("tables")), (&json!(11), None));
        assert_eq!(structured["schemas"][0]["tables"], 11);
        let whole = schema_text(&client, profile, &json!({ "schema_name": schema }));
        column_line(&parse_cells(&whole), "last_one", "id");
        let names = schema_text(&client, profile, &json!({ "compact": true }));
        assert!(names.contains("\tlast_one\tTABLE") && !names.contains("Summary"), "{names}");
    }
}

/// Covers features that only `PostgreSQL` has.
#[test]
fn postgres_keys_partitions_comments_and_identities_are_listed() {
    let (postgres, library) = (TestDatabase::postgres(), Library::new());
    postgres.execute(
        "CREATE SCHEMA sales;
         CREATE TABLE users (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             number integer GENERATED BY DEFAULT AS IDENTITY,
             created_at timestamptz DEFAULT now(), UNIQUE (number)
         );
         COMMENT ON TABLE users IS E'User\\taccounts';
         COMMENT ON COLUMN users.created_at IS E'two\\nlines';
         CREATE TABLE third (id bigint PRIMARY KEY);
         CREATE TABLE sales.keys (a integer, b integer, PRIMARY KEY (a, b));
         CREATE TABLE links (
             x bigint REFERENCES users REFERENCES third, a integer, b integer,
             FOREIGN KEY (a, b) REFERENCES sales.keys
         );
         CREATE TABLE nothing ();
         CREATE TABLE parted (id integer PRIMARY KEY) PARTITION BY RANGE (id);
         CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
         CREATE TABLE to_parted (id integer REFERENCES parted);
         CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM users;",
    );
    let server = library.serve_with_settings(&profile_settings("shop", &postgres.target()));
    let client = server.client();
    let said = schema_text(&client, "shop", &json!({}));
    let lines = parse_cells(&said);
    let id = column_line(&lines, "users", "id");
    assert_eq!((id[3], id[5], id[12]), ("User\\taccounts", "bigint", "a"));
    let number = column_line(&lines, "users", "number");
    assert_eq!((number[9], number[12]), ("true", "d"));
    let created = column_line(&lines, "users", "created_at");
    assert_eq!((created[7], created[13]), ("two\\nlines", "now()"));
    assert_eq!(column_line(&lines, "links", "x")[10], "public.third.id, public.users.id");
    assert_eq!(column_line(&lines, "links", "a")[10], "sales.keys.a");
    assert_eq!(column_line(&lines, "links", "b")[10], "sales.keys.b");
    assert_eq!(column_line(&lines, "keys", "b")[0], "sales");
    assert_eq!(column_line(&lines, "nothing", "")[2], "TABLE");
    assert_eq!(column_line(&lines, "to_parted", "id")[10], "public.parted.id");
    assert_eq!(column_line(&lines, "counted", "n")[2], "MATERIALIZED VIEW");
    assert!(!lines.iter().any(|cells| cells[1] == "parted_1"), "{said}");
    column_line(&lines, "parted", "id");
    let partitions = json!({ "schema_name": "public", "include_partitions": true });
    column_line(&parse_cells(&schema_text(&client, "shop", &partitions)), "parted_1", "id");
    let named = json!({ "schema_name": "public", "table_name": "parted_1" });
    column_line(&parse_cells(&schema_text(&client, "shop", &named)), "parted_1", "id");
    let sales = schema_text(&client, "shop", &json!({ "schema_name": "sales" }));
    assert_eq!(parse_cells(&sales).len(), 2);
}

#[test]
fn vector_columns_are_listed_with_dimensions() {
    let (vectors, library) = (TestDatabase::pgvector(), Library::new());
    vectors.execute(
        "CREATE TABLE wiki (
             id bigint PRIMARY KEY, title text, title_embedding vector(1536), small halfvec(3), any_size vector
         );
         CREATE TABLE plain (id integer);
         CREATE VIEW seen AS SELECT id, small FROM wiki;",
    );
    let server = library.serve_with_settings(&profile_settings("shop", &vectors.target()));
    let client = server.client();
    let said = schema_text(&client, "shop", &json!({ "vector_tables_only": true }));
    let lines = parse_cells(&said);
    assert!(!lines.iter().any(|cells| cells[1] == "plain"), "{said}");
    for (column, dimensions) in [("title_embedding", "1536"), ("small", "3"), ("any_size", "0")] {
        let line = column_line(&lines, "wiki", column);
        assert_eq!((line[14], line[15]), ("true", dimensions), "{column}");
    }
    assert_eq!(column_line(&lines, "wiki", "title")[14], "false");
    column_line(&lines, "seen", "small");
    let names =
        schema_text(&client, "shop", &json!({ "vector_tables_only": true, "compact": true }));
    assert!(names.contains("\twiki\tTABLE") && !names.contains("\tplain\t"), "{names}");
    let more = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|at| format!("CREATE TABLE t{at} ()"));
    vectors.execute(&more.join(";"));
    let summary = schema_text(&client, "shop", &json!({}));
    assert!(summary.contains("Found 12 tables") && summary.contains("Vector-enabled: seen, wiki"));
}

#[test]
fn mariadb_keys_and_comments_are_listed() {
    let shops = ShopDatabases::start();
    shops.execute(
        "mariadb",
        "CREATE TABLE commented (
             id INTEGER AUTO_INCREMENT PRIMARY KEY COMMENT 'a\\tb', x INTEGER,
             FOREIGN KEY (x) REFERENCES users (id), FOREIGN KEY (x) REFERENCES big (id)
         ) COMMENT 'two\\nlines';
         CREATE SEQUENCE counter;",
    );
    let name = shops.mariadb.name();
    let part = json!({ "schema_name": name });
    let said = schema_text(&shops.client(), "mariadb", &part);
    let lines = parse_cells(&said);
    let id = column_line(&lines, "commented", "id");
    assert_eq!((id[3], id[7], id[12]), ("two\\nlines", "a\\tb", "d"));
    let x = column_line(&lines, "commented", "x");
    assert_eq!((x[10], x[13]), (format!("{name}.big.id, {name}.users.id").as_str(), ""));
    assert!(!said.contains("counter"), "{said}");
}

#[test]
fn broken_view_loses_only_its_own_columns() {
    let shops = ShopDatabases::start();
    shops.execute(
        "sqlite",
        "CREATE TABLE gone (id INTEGER); CREATE VIEW broken AS SELECT id FROM gone; DROP TABLE gone;
         CREATE TABLE linked (
             id INTEGER PRIMARY KEY, x INTEGER REFERENCES users, y INTEGER REFERENCES users (email)
         );
         CREATE VIRTUAL TABLE words USING fts5 (body);",
    );
    let said = schema_text(&shops.client(), "sqlite", &json!({ "schema_name": "main" }));
    let lines = parse_cells(&said);
    assert_eq!(column_line(&lines, "broken", "")[2], "VIEW");
    assert_eq!(column_line(&lines, "users", "id")[12], "d");
    assert_eq!(column_line(&lines, "linked", "x")[10], "main.users.id");
    assert_eq!(column_line(&lines, "linked", "y")[10], "main.users.email");
    assert!(!said.contains("words_data") && !said.contains("sqlite_"), "{said}");
}
