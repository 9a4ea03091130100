//! End-to-end tests of `query`, `profile_list` and `profile_show` against `PostgreSQL`, `MariaDB` and
//! SQLite.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, Server, TestDatabase, require_env};

/// Test databases of the profiles `pg`, `maria` and `lite`, with the same table in each.
struct ProfileDatabases {
    library: Library,
    postgres: TestDatabase,
    maria: TestDatabase,
}

impl ProfileDatabases {
    fn new() -> Self {
        let shop = Self {
            library: Library::new(),
            postgres: TestDatabase::postgres(),
            maria: TestDatabase::mariadb(),
        };
        let table = "CREATE TABLE breads (id integer PRIMARY KEY, name varchar(40)); \
                     INSERT INTO breads VALUES (1, 'rye'), (2, 'spelt'), (3, 'wheat')";
        shop.postgres.execute(table);
        for statement in table.split("; ") {
            shop.maria.execute(statement);
        }
        let lite = shop.library.write_file("shop.sqlite", "");
        #[expect(clippy::disallowed_methods, reason = "the file belongs to another program")]
        rusqlite::Connection::open(lite).unwrap().execute_batch(table).unwrap();
        shop
    }

    /// Returns the settings of the three profiles. `more` is appended to each profile.
    fn settings(&self, more: &str) -> String {
        let lite = self.library.file_path("shop.sqlite");
        let pg = require_env("VADEMECUM_POSTGRES");
        let maria = require_env("VADEMECUM_MARIADB");
        let at = |address: &str, database: &str| {
            let (start, _) = address.rsplit_once('/').unwrap();
            format!("{start}/{database}")
        };
        format!(
            "[profiles.pg]\nengine = \"postgres\"\ndsn = \"{}\"\nallow_plaintext = true\n\
             description = \"The shop\"\n{more}\
             [profiles.maria]\nengine = \"mysql\"\ndsn = \"{}\"\nallow_plaintext = true\n{more}\
             [profiles.lite]\nengine = \"sqlite\"\npath = \"{}\"\n{more}",
            at(&pg, self.postgres.name()),
            at(&maria, self.maria.name()),
            lite.display(),
        )
    }

    fn serve(&self) -> Server {
        self.library.serve_with_settings(&self.settings(""))
    }
}

const PROFILES: [&str; 3] = ["lite", "maria", "pg"];

fn query_data(server: &Server, profile: &str, sql: &str) -> Value {
    let answer = server.client().call_tool("query", &json!({ "sql": sql, "profile": profile }));
    assert_eq!((&answer["ok"], &answer["schema_version"]), (&json!(true), &json!(1)), "{answer}");
    answer["data"].clone()
}

/// Calls a tool that must fail and returns the `error` object of its reply.
fn expect_error(server: &Server, tool: &str, arguments: &Value) -> Value {
    let text = server.client().expect_tool_error(tool, arguments);
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    assert_eq!((&answer["ok"], &answer["schema_version"]), (&json!(false), &json!(1)), "{answer}");
    answer["error"].clone()
}

#[test]
fn query_returns_rows_in_column_order() {
    let shop = ProfileDatabases::new();
    let server = shop.serve();
    for profile in PROFILES {
        let data = query_data(&server, profile, "SELECT 1 AS num, 'hello' AS msg");
        let expected =
            json!({ "columns": ["num", "msg"], "rows": [[1, "hello"]], "truncated": false });
        assert_eq!(data, expected, "{profile}");
        let data = query_data(&server, profile, "SELECT 1 as n UNION SELECT 2 UNION SELECT 3");
        assert_eq!(data["rows"].as_array().unwrap().len(), 3, "{profile}");
        let data = query_data(&server, profile, "SELECT 1 AS a, 2 AS a");
        assert_eq!((&data["columns"], &data["rows"]), (&json!(["a", "a"]), &json!([[1, 2]])));
        let data = query_data(&server, profile, "SELECT name FROM breads ORDER BY id;");
        assert_eq!(data["rows"], json!([["rye"], ["spelt"], ["wheat"]]), "{profile}");
    }
    let data = query_data(&server, "pg", "SELECT 9007199254740993, 1.50, 'NaN'::numeric");
    let exact = data["rows"][0].to_string();
    assert!(exact.contains("9007199254740993") && exact.contains("1.50"), "{exact}");
}

#[test]
fn query_reports_code_for_missing_or_unknown_arguments() {
    let shop = ProfileDatabases::new();
    let server = shop.serve();
    for (arguments, message, reason) in [
        (json!({ "profile": "pg" }), "sql is required", "argument_required"),
        (json!({ "sql": "SELECT 1" }), "profile is required", "argument_required"),
        (
            json!({ "sql": "SELECT 1", "profile": "nope" }),
            "profile does not exist",
            "profile_not_found",
        ),
    ] {
        let error = expect_error(&server, "query", &arguments);
        assert_eq!(error["code"], "XSQL_CFG_INVALID", "{error}");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{error}");
        assert_eq!(error["details"]["reason"], reason, "{error}");
    }
    let error =
        expect_error(&server, "query", &json!({ "sql": "SELECT nothing", "profile": "pg" }));
    assert_eq!(error["code"], "XSQL_DB_EXEC_FAILED", "{error}");
    assert!(error["message"].as_str().unwrap().contains("nothing"), "{error}");
}

#[test]
fn query_blocks_writes_without_side_effects() {
    let shop = ProfileDatabases::new();
    let server = shop.serve();
    for profile in PROFILES {
        for sql in [
            "INSERT INTO breads VALUES (4, 'oat')",
            "UPDATE breads SET name = 'x'",
            "DELETE FROM breads",
            "CREATE TABLE other (id integer)",
            "DROP TABLE breads",
            "SELECT 1; DELETE FROM breads",
            "WITH gone AS (DELETE FROM breads RETURNING id) SELECT * FROM gone",
        ] {
            let error = expect_error(&server, "query", &json!({ "sql": sql, "profile": profile }));
            assert_eq!(error["code"], "XSQL_RO_BLOCKED", "{profile}: {sql}: {error}");
            assert!(!error["details"]["reason"].is_null(), "{profile}: {sql}: {error}");
        }
        let data = query_data(&server, profile, "SELECT id, name FROM breads ORDER BY id");
        assert_eq!(data["rows"], json!([[1, "rye"], [2, "spelt"], [3, "wheat"]]), "{profile}");
    }
}

#[test]
fn query_reports_truncation_and_cancels_slow_statements() {
    let shop = ProfileDatabases::new();
    let server =
        shop.library.serve_with_settings(&shop.settings("max_rows = 2\ntimeout_ms = 700\n"));
    for profile in PROFILES {
        let data = query_data(&server, profile, "SELECT id FROM breads ORDER BY id");
        assert_eq!((&data["rows"], &data["truncated"]), (&json!([[1], [2]]), &json!(true)));
        assert!(data["read_on"].as_str().unwrap().contains("add OFFSET 2"), "{data}");
    }
    let endless =
        json!({ "sql": "SELECT count(*) FROM generate_series(1, 1000000000) a", "profile": "pg" });
    let error = expect_error(&server, "query", &endless);
    assert_eq!(error["code"], "XSQL_DB_EXEC_FAILED", "{error}");
    let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
                   AND query LIKE '%generate_series(1, 1000000000)%' AND pid <> pg_backend_pid()";
    assert_eq!(shop.postgres.query_value(running), "0");
}

#[test]
fn query_writes_if_server_and_profile_allow() {
    let shop = ProfileDatabases::new();
    let write = "[tools]\nwrite = true\n";
    let server = shop
        .library
        .serve_with_settings(&format!("{write}{}", shop.settings("unsafe_allow_write = true\n")));
    for profile in PROFILES {
        let data = query_data(&server, profile, "UPDATE breads SET name = 'oat' WHERE id > 1");
        assert_eq!(data["rows_affected"], 2, "{profile}: {data}");
        let data = query_data(&server, profile, "SELECT name FROM breads ORDER BY id");
        assert_eq!(data["rows"], json!([["rye"], ["oat"], ["oat"]]), "{profile}");
        let two = json!({ "sql": "DELETE FROM breads; DELETE FROM breads", "profile": profile });
        expect_error(&server, "query", &two);
    }
    let hints = |server: &Server| {
        let listed = server.client().call_method("tools/list", &json!({}));
        let mut tools = listed["tools"].as_array().unwrap().iter();
        tools.find(|tool| tool["name"] == "query").unwrap()["annotations"].clone()
    };
    assert_eq!(hints(&server)["destructiveHint"], true);
    assert_eq!(hints(&shop.serve())["readOnlyHint"], true);
    // Neither setting is sufficient alone.
    for settings in
        [shop.settings("unsafe_allow_write = true\n"), format!("{write}{}", shop.settings(""))]
    {
        let server = shop.library.serve_with_settings(&settings);
        let delete = json!({ "sql": "DELETE FROM breads", "profile": "pg" });
        assert_eq!(expect_error(&server, "query", &delete)["code"], "XSQL_RO_BLOCKED");
    }
}

#[test]
fn profiles_listed_by_name_without_secrets() {
    let shop = ProfileDatabases::new();
    let server = shop.serve();
    let list = server.client().call_tool("profile_list", &json!({}))["data"]["profiles"].clone();
    let listed: Vec<_> =
        list.as_array().unwrap().iter().map(|it| (&it["name"], &it["mode"])).collect();
    let read_only = json!("read-only");
    assert_eq!(
        listed,
        [(&json!("lite"), &read_only), (&json!("maria"), &read_only), (&json!("pg"), &read_only)]
    );
    assert_eq!((&list[2]["db"], &list[2]["description"]), (&json!("postgres"), &json!("The shop")));
    let shown = server.client().call_tool("profile_show", &json!({ "name": "pg" }));
    let data = &shown["data"];
    assert_eq!((&data["password"], &data["unsafe_allow_write"]), (&json!("***"), &json!(false)));
    assert_eq!(data["database"], shop.postgres.name());
    let address = require_env("VADEMECUM_POSTGRES");
    let (_, secret) =
        address.split_once('@').map_or(("", ""), |(user, _)| user.rsplit_once(':').unwrap());
    assert!(!shown.to_string().contains(secret), "{shown}");
    let error = expect_error(&server, "profile_show", &json!({ "name": "nope" }));
    assert_eq!(error["details"]["reason"], "profile_not_found");
}

#[test]
fn query_tool_lists_only_profiles_of_caller() {
    let shop = ProfileDatabases::new();
    let listed = |server: &Server| -> Vec<Value> {
        server.client().call_method("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
    };
    let tools = listed(&shop.serve());
    let tool = tools.iter().find(|tool| tool["name"] == "query").unwrap();
    assert_eq!(tool["inputSchema"]["properties"]["profile"]["enum"], json!(PROFILES));
    assert_eq!(tool["inputSchema"]["required"], json!(["sql", "profile"]));
    let without = listed(&Library::new().serve());
    assert!(without.iter().all(|tool| tool["name"] != "query"));
    let switched_on = listed(&Library::new().serve_with_settings("[tools]\ndatabases = \"on\"\n"));
    assert!(switched_on.iter().any(|tool| tool["name"] == "query"));
}

#[test]
fn unreachable_database_fails_only_its_own_calls() {
    let shop = ProfileDatabases::new();
    let settings = shop.settings("connect_timeout_ms = 1000\n");
    let gone = "[profiles.gone]\nengine = \"postgres\"\ndsn = \"postgres://u:p@127.0.0.1:1/x\"\nallow_plaintext = true\n";
    let server = shop.library.serve_with_settings(&format!("{settings}{gone}"));
    let error = expect_error(&server, "query", &json!({ "sql": "SELECT 1", "profile": "gone" }));
    assert_eq!(error["code"], "XSQL_DB_CONNECT_FAILED", "{error}");
    for secret in ["127.0.0.1", "u:p", ":1"] {
        assert!(!error.to_string().contains(secret), "{secret}: {error}");
    }
    assert_eq!(query_data(&server, "pg", "SELECT 1")["rows"], json!([[1]]));
    shop.postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    assert_eq!(query_data(&server, "pg", "SELECT 2")["rows"], json!([[2]]));
}

#[test]
fn default_profile_serves_calls_without_profile() {
    let shop = ProfileDatabases::new();
    let mark = |settings: &str, profile: &str| {
        let section = format!("[profiles.{profile}]\n");
        settings.replace(&section, &format!("{section}default = true\n"))
    };
    let one = mark(&shop.settings(""), "maria");
    let server = shop.library.serve_with_settings(&one);
    let client = server.client();
    let version = json!({ "sql": "SELECT version()" });
    let data = client.call_tool("query", &version)["data"].clone();
    assert!(data["rows"][0][0].as_str().unwrap().contains("MariaDB"), "{data}");
    let blank = json!({ "sql": "SELECT version()", "profile": " " });
    assert_eq!(client.call_tool("query", &blank)["data"], data);
    let named = json!({ "sql": "SELECT 1", "profile": "pg" });
    assert_eq!(client.call_tool("query", &named)["data"]["rows"], json!([[1]]));
    let schema = client.tool_result("get_schema_info", &json!({}));
    assert_eq!(schema["structuredContent"]["database"], "maria", "{schema}");
    let listed = client.call_tool("profile_list", &json!({}))["data"]["profiles"].clone();
    let marked: Vec<_> = listed.as_array().unwrap().iter().map(|it| &it["default"]).collect();
    assert_eq!(marked, [&Value::Null, &json!(true), &Value::Null]);
    let both = shop.library.serve_with_settings(&mark(&one, "pg"));
    let error = expect_error(&both, "query", &json!({ "sql": "SELECT 1" }));
    assert_eq!(error["details"]["reason"], "profile_required", "{error}");
    assert!(error["message"].as_str().unwrap().contains("maria, pg"), "{error}");
}

#[test]
fn default_profile_of_other_users_is_ignored() {
    let shop = ProfileDatabases::new();
    let [ada, bob] = ["ada", "bob"].map(|user| shop.library.create_key(user));
    let settings = shop.settings("users = [\"ada\"]\n");
    let settings = settings.replace("[profiles.pg]\n", "[profiles.pg]\ndefault = true\n");
    let (start, rest) = settings.split_once("[profiles.maria]").unwrap();
    let rest = rest.replace("\"ada\"", "\"ada\", \"bob\"");
    let server = shop.library.serve_multi_user(&format!("{start}[profiles.maria]{rest}"));
    let client = |key: &str| server.client().with_bearer_token(key);
    let version = json!({ "query": "SELECT version()" });
    let result = client(&ada).tool_result("query_database", &version);
    assert_eq!(result["structuredContent"]["database"], "pg", "{result}");
    let error = client(&bob).expect_tool_error("query_database", &version);
    assert!(error.contains("available profiles: lite, maria"), "{error}");
    for uri in ["pg://system_info", "pg://pg/system_info"] {
        let error = client(&bob).expect_error(
            "tools/call",
            &json!({
                "name": "read_resource", "arguments": { "uri": uri, "profile": "pg" }
            }),
        );
        assert!(error.1.contains("no resource"), "{error:?}");
        let error = client(&bob).expect_error("resources/read", &json!({ "uri": uri }));
        assert!(error.1.contains("no resource") && !error.1.contains("pg-"), "{error:?}");
    }
    let listed = client(&bob).call_method("resources/list", &json!({})).to_string();
    assert!(listed.contains("mysql://") && !listed.contains("pg://"), "{listed}");
}

#[test]
fn write_mode_of_profile_is_shown() {
    let shop = ProfileDatabases::new();
    let profiles = shop.settings("unsafe_allow_write = true\n");
    for (server, mode) in [
        (shop.library.serve_with_settings(&profiles), "read-only"),
        (
            shop.library.serve_with_settings(&format!("[tools]\nwrite = true\n{profiles}")),
            "read-write",
        ),
    ] {
        let client = server.client();
        let listed = client.call_tool("profile_list", &json!({}))["data"]["profiles"].clone();
        assert!(listed.as_array().unwrap().iter().all(|it| it["mode"] == mode), "{listed}");
        let shown = client.call_tool("profile_show", &json!({ "name": "pg" }))["data"].clone();
        assert_eq!((&shown["mode"], &shown["unsafe_allow_write"]), (&json!(mode), &json!(true)));
        let schema = client.tool_result("get_schema_info", &json!({ "profile": "pg" }));
        assert_eq!(schema["structuredContent"]["mode"], mode, "{schema}");
        let second = schema["content"][1]["text"].as_str().unwrap();
        assert!(second.starts_with(&format!("Access: {mode}")), "{second}");
        let resources = client.call_method("resources/list", &json!({})).to_string();
        assert!(resources.contains(&format!("which is {mode}.")), "{resources}");
    }
}

/// A profile with `allow` changes rows of its tables and nothing else, on every engine.
#[test]
fn changes_are_limited_to_tables_of_profile() {
    let shop = ProfileDatabases::new();
    for statement in ["CREATE TABLE secrets (id integer)", "INSERT INTO secrets VALUES (1)"] {
        shop.postgres.execute(statement);
        shop.maria.execute(statement);
    }
    let names = |table: &str| format!("allow = [\"insert\", \"update\"]\ntables = [\"{table}\"]\n");
    let settings = shop.settings(&names("breads"));
    let settings = settings.replacen(&names("breads"), &names("public.breads"), 1);
    let server = shop.library.serve_with_settings(&format!("[tools]\nwrite = true\n{settings}"));
    for profile in PROFILES {
        let breads = if profile == "pg" { "public.breads" } else { "breads" };
        let of = |sql: &str| query_data(&server, profile, &sql.replace("breads", breads));
        assert_eq!(of("INSERT INTO breads (id, name) VALUES (4, 'oat')")["rows_affected"], 1);
        assert_eq!(of("UPDATE breads SET name = upper(name) WHERE id > 2")["rows_affected"], 2);
        // Reads are read-only statements as before.
        let read = of("SELECT name FROM breads WHERE id > 2 ORDER BY id");
        assert_eq!(read["rows"], json!([["WHEAT"], ["OAT"]]), "{profile}");
        assert_eq!(read["rows_affected"], Value::Null, "{profile}");
        for sql in [
            "DELETE FROM breads",
            "DROP TABLE breads",
            "CREATE TABLE x (a integer)",
            "INSERT INTO secrets VALUES (2)",
            "UPDATE secrets SET id = 3",
            "INSERT INTO breads (id) SELECT id FROM secrets",
            "INSERT INTO breads (id) VALUES (9); DROP TABLE breads",
            "WITH x AS (SELECT 1) INSERT INTO breads (id) SELECT 9",
        ] {
            let sql = sql.replace("breads", breads);
            let error = expect_error(&server, "query", &json!({ "sql": sql, "profile": profile }));
            assert_eq!(error["code"], "XSQL_RO_BLOCKED", "{profile} {sql}: {error}");
        }
        let shown = server.client().call_tool("profile_show", &json!({ "name": profile }));
        assert_eq!(shown["data"]["mode"], "read-write");
        assert_eq!(shown["data"]["allow"], json!(["insert", "update"]), "{shown}");
        assert_eq!(shown["data"]["tables"], json!([breads]), "{shown}");
    }
    drop(server);
    // Without `tools.write`, nothing is changed.
    let server = shop.library.serve_with_settings(&settings);
    for profile in PROFILES {
        let sql = "INSERT INTO public.breads (id) VALUES (9)";
        let error = expect_error(&server, "query", &json!({ "sql": sql, "profile": profile }));
        assert_eq!(error["code"], "XSQL_RO_BLOCKED", "{profile}: {error}");
    }
}

#[test]
fn profile_of_several_databases_lets_calls_choose() {
    let library = Library::new();
    let databases = [TestDatabase::postgres(), TestDatabase::postgres()];
    let address = require_env("VADEMECUM_POSTGRES");
    for (database, number) in databases.iter().zip(1..) {
        database.execute(&format!("CREATE TABLE t AS SELECT {number} AS number"));
    }
    let [first, second] = databases.each_ref().map(TestDatabase::name);
    let server = library.serve_with_settings(&format!(
        "[profiles.shop]\ndsn = \"{address}\"\nallow_plaintext = true\ndefault = true\n\
         databases = [\"{first}\", \"{second}\"]\n"
    ));
    let names = [format!("shop.{first}"), format!("shop.{second}")];
    for (name, number) in names.iter().zip(1..) {
        assert_eq!(query_data(&server, name, "SELECT number FROM t")["rows"], json!([[number]]));
    }
    let listed = server.client().call_method("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let query = tools.iter().find(|tool| tool["name"] == "query").unwrap();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(query["inputSchema"]["properties"]["profile"]["enum"], json!(sorted));
    // Calls that name none use the first.
    let page = json!({ "query": "SELECT number FROM t" });
    let page = server.client().tool_result("query_database", &page)["structuredContent"].take();
    assert_eq!((&page["database"], &page["rows"]), (&json!(names[0]), &json!([[1]])));
    let error = expect_error(&server, "query", &json!({ "sql": "SELECT 1", "profile": "shop" }));
    assert!(error["message"].as_str().unwrap().contains(&names[1]), "{error}");
}
