//! End-to-end tests of `get_schema_info`: tables, views and their columns.

use serde_json::{Value, json};
use vademecum_sql::ServerTarget;

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
        let text = schema_text(&client, profile, &one);
        assert!(parse_cells(&text).iter().all(|cells| cells[1] == "users"), "{text}");
        assert_eq!(parse_cells(&text).len(), 3);
        let all = schema_text(&client, profile, &json!({ "schema_name": schema, "compact": true }));
        assert!(all.contains("\n\nschema\ttable\ttype\ttable_desc\n"), "{all}");
        assert!(
            all.contains(&format!("\n{schema}\tusers\tTABLE\t")) && !all.contains("email"),
            "{all}"
        );
        let error = client
            .expect_tool_error(TOOL, &with_profile(profile, &json!({ "table_name": "users" })));
        assert_eq!(error, "table_name requires schema_name to be specified");
        let nowhere = json!({ "schema_name": "nowhere" });
        let text = schema_text(&client, profile, &nowhere);
        assert!(text.contains("No tables found") && text.contains("'nowhere'"), "{text}");
        let text =
            schema_text(&client, profile, &json!({ "schema_name": schema, "table_name": "user" }));
        assert!(text.contains(&format!("'{schema}.user' not found")), "{text}");
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
        let (text, structured) = call_tool(&client, TOOL, &with_profile(profile, &json!({})));
        for part in [
            "Database Schema Summary",
            "Found 11 tables across 1 schemas.",
            "Tables: adults, big, last_one, more_0, more_1, ... (+6 more)",
            &format!("get_schema_info(schema_name=\"{schema}\")"),
            "vector_tables_only=true",
            "compact=true",
        ] {
            assert!(text.contains(part), "{part}: {text}");
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
    let text = schema_text(&client, "shop", &json!({}));
    let lines = parse_cells(&text);
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
    assert!(!lines.iter().any(|cells| cells[1] == "parted_1"), "{text}");
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
    let text = schema_text(&client, "shop", &json!({ "vector_tables_only": true }));
    let lines = parse_cells(&text);
    assert!(!lines.iter().any(|cells| cells[1] == "plain"), "{text}");
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
    let text = schema_text(&shops.client(), "mariadb", &part);
    let lines = parse_cells(&text);
    let id = column_line(&lines, "commented", "id");
    assert_eq!((id[3], id[7], id[12]), ("two\\nlines", "a\\tb", "d"));
    let x = column_line(&lines, "commented", "x");
    assert_eq!((x[10], x[13]), (format!("{name}.big.id, {name}.users.id").as_str(), ""));
    assert!(!text.contains("counter"), "{text}");
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
    let text = schema_text(&shops.client(), "sqlite", &json!({ "schema_name": "main" }));
    let lines = parse_cells(&text);
    assert_eq!(column_line(&lines, "broken", "")[2], "VIEW");
    assert_eq!(column_line(&lines, "users", "id")[12], "d");
    assert_eq!(column_line(&lines, "linked", "x")[10], "main.users.id");
    assert_eq!(column_line(&lines, "linked", "y")[10], "main.users.email");
    assert!(!text.contains("words_data") && !text.contains("sqlite_"), "{text}");
}

/// Returns the objects of the structured result, as kind, name and definition.
fn listed_objects(structured: &Value) -> Vec<(String, String, String)> {
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    let objects = structured["objects"].as_array().unwrap().iter();
    objects.map(|it| (text(it, "kind"), text(it, "name"), text(it, "definition"))).collect()
}

/// Asserts that exactly one object has this kind and name, and that its definition has this part.
fn assert_object(objects: &[(String, String, String)], kind: &str, name: &str, part: &str) {
    let found: Vec<_> =
        objects.iter().filter(|(of, named, _)| of == kind && named == name).collect();
    let [(_, _, definition)] = found.as_slice() else { panic!("{kind} {name}: {objects:?}") };
    assert!(definition.contains(part), "{kind} {name}: {definition}");
}

#[test]
fn postgres_objects_are_listed_for_reader() {
    let database = TestDatabase::postgres();
    database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'so so', 'glad');
         CREATE DOMAIN price AS numeric(10, 2) CHECK (VALUE >= 0);
         CREATE SEQUENCE ticket START 5 INCREMENT 5;
         CREATE TABLE area (id int, zone int, PRIMARY KEY (id, zone));
         CREATE TABLE sales (
             id int GENERATED ALWAYS AS IDENTITY, at date NOT NULL, moods mood[], cost price,
             twice numeric GENERATED ALWAYS AS (id * 2) STORED, area int, zone int,
             FOREIGN KEY (area, zone) REFERENCES area ON DELETE CASCADE,
             CONSTRAINT recent CHECK (at > '2000-01-01')
         ) PARTITION BY RANGE (at);
         CREATE TABLE sales_25 PARTITION OF sales
             FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
         CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE FUNCTION tax(amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE
             AS 'SELECT amount';
         CREATE TRIGGER touched BEFORE UPDATE ON sales FOR EACH ROW EXECUTE FUNCTION touch();
         CREATE EXTENSION file_fdw;
         CREATE SERVER far FOREIGN DATA WRAPPER file_fdw;
         CREATE FOREIGN TABLE away (id int) SERVER far OPTIONS (filename '/secret/path');",
    );
    let role = &database.name()[..30];
    database.execute(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"
    ));
    let reader =
        ServerTarget { user: role.to_owned(), password: Some("x".into()), ..database.server() };
    let library = Library::new();
    let settings = profile_settings("shop", &database.target_with(reader));
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let (_, structured) = call_tool(&client, TOOL, &json!({}));
    let objects = listed_objects(&structured);
    for (kind, name, part) in [
        ("enum", "mood", "'sad', 'so so', 'glad'"),
        ("domain", "price", "numeric(10,2) CHECK"),
        ("generated", "stored", "(id * 2)"),
        ("check", "recent", "at > '2000-01-01'"),
        ("foreign key", "sales_area_zone_fkey", "ON DELETE CASCADE"),
        ("primary key", "area_pkey", "(id, zone)"),
        ("partitioned", "sales", "RANGE (at), partitions: 1"),
        ("partition", "sales_25", "FROM ('2025-01-01') TO ('2026-01-01')"),
        ("foreign table", "far", "wrapper file_fdw"),
        ("trigger", "touched", "BEFORE UPDATE ON"),
        ("sequence", "sales_id_seq", "integer, 1 to 2147483647, step 1"),
        ("sequence", "ticket", "step 5"),
        ("function", "tax(amount numeric)", "returns numeric, sql, immutable"),
        ("function", "touch()", "returns trigger, plpgsql, volatile"),
        ("extension", "file_fdw", "version 1"),
    ] {
        assert_object(&objects, kind, name, part);
    }
    assert!(!structured.to_string().contains("/secret/path"), "options are not shown");
    let one = json!({ "schema_name": "public", "table_name": "area" });
    let result = client.tool_result(TOOL, &one);
    let objects = listed_objects(&result["structuredContent"]);
    assert_eq!(objects.len(), 1, "objects of other tables: {objects:?}");
    let second = result["content"][1]["text"].as_str().unwrap();
    let expected = "kind\tschema\ttable\tcolumn\tname\tdefinition\n\
                    primary key\tpublic\tarea\t\tarea_pkey\tPRIMARY KEY (id, zone)";
    assert!(second.ends_with(expected), "{second}");
    let names = call_tool(&client, TOOL, &json!({ "compact": true })).1;
    assert_eq!(names.get("objects"), None, "only with columns: {names}");
    drop(server);
    database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn mariadb_and_sqlite_objects_are_listed() {
    let shops = ShopDatabases::start();
    shops.execute(
        "mariadb",
        "CREATE TABLE sales (
             id INTEGER PRIMARY KEY, mood ENUM('sad', 'glad'), one INTEGER CHECK (one > 0),
             twice INTEGER GENERATED ALWAYS AS (id * 2) STORED, CONSTRAINT small CHECK (id < 100)
         );\nCREATE TABLE other (one INTEGER CHECK (one > 7));
         CREATE TABLE logs (at DATE) PARTITION BY RANGE (YEAR(at)) (
             PARTITION old VALUES LESS THAN (2025), PARTITION new VALUES LESS THAN MAXVALUE
         );\nCREATE TRIGGER touched BEFORE UPDATE ON sales FOR EACH ROW SET NEW.one = 1;
         CREATE FUNCTION tax(amount INTEGER) RETURNS INTEGER DETERMINISTIC RETURN amount;
         CREATE SEQUENCE ticket",
    );
    let client = shops.client();
    let schema = |profile| call_tool(&client, TOOL, &with_profile(profile, &json!({}))).1;
    let structured = schema("mariadb");
    let objects = listed_objects(&structured);
    for (kind, name, part) in [
        ("generated", "stored", "`id` * 2"),
        ("check", "small", "`id` < 100"),
        ("foreign key", "orders_ibfk_1", "(user_id) REFERENCES"),
        ("primary key", "PRIMARY", "(number, line)"),
        ("partitioned", "logs", "RANGE (year(`at`)), partitions: 2"),
        ("partition", "old", "2025"),
        ("partition", "new", "MAXVALUE"),
        ("trigger", "touched", "BEFORE UPDATE FOR EACH ROW SET NEW.one = 1"),
        ("function", "tax(amount int(11))", "returns int(11)"),
        ("sequence", "ticket", ""),
    ] {
        assert_object(&objects, kind, name, part);
    }
    let of_column: Vec<_> = objects.iter().filter(|(_, name, _)| name == "one").collect();
    assert_eq!(of_column.len(), 2, "one check in each of two tables: {of_column:?}");
    let user = &shops.mariadb.name()[..30];
    shops.execute(
        "mariadb",
        &format!(
            "CREATE USER '{user}'@'%' IDENTIFIED BY 'x';
             GRANT SELECT ON {}.* TO '{user}'@'%'",
            shops.mariadb.name()
        ),
    );
    let reader = ServerTarget {
        user: user.to_owned(),
        password: Some("x".into()),
        ..shops.mariadb.server()
    };
    let library = Library::new();
    let target = shops.mariadb.target_with(reader);
    let server = library.serve_with_settings(&profile_settings("shop", &target));
    let read = listed_objects(&call_tool(&server.client(), TOOL, &json!({})).1);
    let needs_more = |kind: &str| ["trigger", "function"].contains(&kind);
    let kinds = |objects: &[(String, String, String)]| -> Vec<(String, String)> {
        let kept = objects.iter().filter(|(kind, ..)| !needs_more(kind));
        kept.map(|(kind, name, _)| (kind.clone(), name.clone())).collect()
    };
    assert_eq!(kinds(&read), kinds(&objects), "triggers and functions need more than SELECT");
    shops.execute("mariadb", &format!("DROP USER '{user}'@'%'"));
    assert!(structured["tables"].to_string().contains("enum('sad','glad')"), "{structured}");
    shops.execute(
        "sqlite",
        "CREATE TABLE sales (id INTEGER CHECK (id > 0), twice INTEGER AS (id * 2));
         CREATE TRIGGER touched AFTER INSERT ON sales BEGIN SELECT 1; END;
         CREATE VIRTUAL TABLE words USING fts5 (body);",
    );
    let structured = schema("sqlite");
    let objects = listed_objects(&structured);
    for (kind, name, part) in [
        ("table", "sales", "CHECK (id > 0), twice INTEGER AS (id * 2)"),
        ("table", "words", "USING fts5"),
        ("trigger", "touched", "AFTER INSERT ON sales"),
    ] {
        assert_object(&objects, kind, name, part);
    }
}
