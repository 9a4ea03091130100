//! `vademecum query` and `vademecum explain` on real databases, and what `vademecum
//! mcp` serves over.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::program::{Caller, Done, Library, PROFILES, Request, Trio, program};

const BREADS: &str = "CREATE TABLE breads (id integer PRIMARY KEY, name varchar(40), note varchar(40));\n\
    INSERT INTO breads VALUES (1, 'rye', 'dark, sour'), (2, 'spelt', NULL), (30, 'a\tb', '\"x\"');\n";

fn run(trio: &Trio, arguments: &[&str]) -> Done {
    let file = trio.settings("");
    trio.library.run(&[arguments, &["--config", file.to_str().unwrap()]].concat())
}

fn query(trio: &Trio, profile: &str, more: &[&str]) -> Done {
    run(trio, &[&["query", "--profile", profile], more].concat())
}

#[test]
fn rows_are_printed_for_people_and_for_programs() {
    let trio = Trio::with(BREADS);
    let sql = "SELECT id, name, note FROM breads ORDER BY id";
    for profile in PROFILES {
        let of = |form: &str| {
            let done = query(&trio, profile, &["--format", form, sql]);
            assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
            done
        };
        let rows = json!([[1, "rye", "dark, sour"], [2, "spelt", null], [30, "a\tb", "\"x\""]]);
        let expected = json!({ "ok": true, "schema_version": 1, "data": {
            "columns": ["id", "name", "note"], "rows": rows, "truncated": false } });
        assert_eq!(of("json").json(), expected, "{profile}");
        let csv = "id,name,note\n1,rye,\"dark, sour\"\n2,spelt,\n30,a\tb,\"\"\"x\"\"\"\n";
        assert_eq!(of("csv").stdout, csv, "{profile}");
        let tsv = "id\tname\tnote\n1\trye\tdark, sour\n2\tspelt\t\\N\n30\ta\\tb\t\"x\"\n";
        assert_eq!(of("tsv").stdout, tsv, "{profile}");
        let table = "id  name   note\n--  -----  ----------\n 1  rye    dark, sour\n 2  spelt  NULL\n\
                     30  a b    \"x\"\n(3 rows)\n";
        assert_eq!(of("table").stdout, table, "{profile}");
        assert_eq!(query(&trio, profile, &[sql]).stdout, table);
        let twice = query(&trio, profile, &["--format", "json", "SELECT 1 AS a, 2 AS a"]).json();
        assert_eq!(
            (&twice["data"]["columns"], &twice["data"]["rows"]),
            (&json!(["a", "a"]), &json!([[1, 2]]))
        );
    }
}

#[test]
fn a_statement_comes_from_standard_input_as_well() {
    let trio = Trio::with(BREADS);
    let file = trio.settings("");
    let mut asked = program()
        .args(["query", "--profile", "lite", "--format", "csv", "-", "--config"])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let sql = b"SELECT name\nFROM breads -- all of them\nWHERE id < 3 ORDER BY id;\n";
    asked.stdin.take().unwrap().write_all(sql).unwrap();
    let output = asked.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "name\nrye\nspelt\n");
    let done = query(&trio, "lite", &[" "]);
    assert!(done.code == 2 && done.stderr.contains("there is no statement"), "{done:?}");
}

#[test]
fn a_command_ends_with_the_code_of_what_went_wrong() {
    let trio = Trio::with(BREADS);
    for profile in PROFILES {
        for (sql, code, name) in [
            ("SELECT id FROM breads", 0, ""),
            ("DELETE FROM breads", 4, "XSQL_RO_BLOCKED"),
            ("SELECT 1; SELECT 2", 4, "XSQL_RO_BLOCKED"),
            ("SELECT nothing FROM nowhere", 5, "XSQL_DB_EXEC_FAILED"),
        ] {
            let done = query(&trio, profile, &["--format", "json", sql]);
            assert_eq!(done.code, code, "{profile}: {done:?}");
            if code != 0 {
                let answer = done.json();
                assert_eq!(
                    (&answer["ok"], &answer["error"]["code"]),
                    (&json!(false), &json!(name))
                );
                assert!(done.stderr.lines().any(|line| line.starts_with("error: ")), "{done:?}");
            }
        }
    }
    let done = run(&trio, &["query", "SELECT 1"]);
    assert!(done.code == 2 && done.stderr.contains("lite, maria, pg"), "{done:?}");
    let done = query(&trio, "cellar", &["SELECT 1"]);
    assert!(done.code == 2 && done.stderr.contains("profile does not exist"), "{done:?}");
    let gone =
        format!("[profiles.gone]\nengine = \"sqlite\"\npath = {:?}\n", trio.library.file("gone"));
    let file = trio.library.write("gone.toml", gone);
    let done = trio.library.run(&["query", "SELECT 1", "--config", file.to_str().unwrap()]);
    assert_eq!(done.code, 3, "the only profile need not be named: {done:?}");
    let wrong = trio.library.write("wrong.toml", "[profiles.gone]\nengine = \"oracle\"\n");
    let done = trio.library.run(&["query", "SELECT 1", "--config", wrong.to_str().unwrap()]);
    assert_eq!(done.code, 2, "{done:?}");
}

#[test]
fn a_statement_writes_only_if_profile_and_command_line_say_so() {
    let trio = Trio::with(BREADS);
    let write = trio.library.write("write.toml", trio.profiles("unsafe_allow_write = true\n"));
    for profile in PROFILES {
        let sql = "INSERT INTO breads (id, name) VALUES (4, 'wheat')";
        let with = |file: &str, more: &[&str]| {
            let arguments =
                ["query", "--profile", profile, "--format", "json", sql, "--config", file];
            trio.library.run(&[&arguments, more].concat())
        };
        let read = trio.settings("");
        let (read, write) = (read.to_str().unwrap(), write.to_str().unwrap());
        let flag = ["--unsafe-allow-write"];
        for done in [with(read, &[]), with(read, &flag), with(write, &[])] {
            assert_eq!((done.code, &done.json()["error"]["code"]), (4, &json!("XSQL_RO_BLOCKED")));
        }
        assert_eq!(trio.count(profile, "SELECT count(*) FROM breads"), 3);
        let done = with(write, &flag);
        assert_eq!((done.code, &done.json()["data"]["rows_affected"]), (0, &json!(1)), "{done:?}");
        assert_eq!(trio.count(profile, "SELECT count(*) FROM breads"), 4);
    }
}

#[test]
fn a_cap_that_keeps_rows_back_is_told() {
    let trio = Trio::with(BREADS);
    let file = trio.library.write("few.toml", trio.profiles("max_rows = 2\n"));
    for profile in PROFILES {
        let sql = "SELECT id FROM breads ORDER BY id";
        let arguments = ["query", "--profile", profile, "--format", "csv", sql, "--config"];
        let done = trio.library.run(&[&arguments[..], &[file.to_str().unwrap()]].concat());
        assert_eq!((done.code, done.stdout.as_str()), (0, "id\n1\n2\n"));
        assert!(done.stderr.contains("the first 2 rows"), "{done:?}");
    }
}

#[test]
fn a_plan_is_told_by_each_engine_in_its_own_words() {
    let trio = Trio::with(BREADS);
    let explain = |profile: &str, more: &[&str]| {
        run(&trio, &[&["explain", "--profile", profile], more].concat())
    };
    let words = ["SCAN breads", "breads", "Seq Scan on breads"];
    for (profile, word) in PROFILES.into_iter().zip(words) {
        let sql = "SELECT * FROM breads WHERE name = 'rye'";
        let done = explain(profile, &[sql]);
        assert_eq!(done.code, 0, "{done:?}");
        assert!(done.stdout.contains(word), "{done:?}");
        assert!(done.stdout.contains("- Sequential scan detected on 'breads'"), "{done:?}");
        let data = explain(profile, &["--format", "json", sql]).json()["data"].clone();
        assert_eq!(data["analyzed"], false, "{data}");
        assert!(data["plan"].to_string().contains("breads"), "{data}");
        assert!(data["analysis"][0].as_str().unwrap().contains("'breads'"), "{data}");
        let done = explain(profile, &["--format", "json", "DELETE FROM breads"]);
        assert_eq!((done.code, &done.json()["error"]["code"]), (4, &json!("XSQL_RO_BLOCKED")));
    }
    let done = explain("pg", &["--analyze", "SELECT * FROM breads"]);
    assert!(done.stdout.contains("actual time"), "{done:?}");
    assert_eq!(trio.count("pg", "SELECT count(*) FROM breads"), 3);
}

const SHOP: &str = "CREATE TABLE makers (id integer PRIMARY KEY, name varchar(40) NOT NULL);\n\
    CREATE TABLE rolls (id integer PRIMARY KEY, maker integer, price integer DEFAULT 3, \
    FOREIGN KEY (maker) REFERENCES makers (id));\n\
    CREATE UNIQUE INDEX rolls_by_maker ON rolls (maker, price);\n";

#[test]
fn the_tables_of_each_engine_are_told_with_their_keys() {
    let trio = Trio::with(SHOP);
    for profile in PROFILES {
        let schema = |more: &[&str]| {
            let done = run(&trio, &[&["schema", "--profile", profile], more].concat());
            assert_eq!(done.code, 0, "{done:?}");
            done
        };
        let all = schema(&["--format", "json"]).json();
        assert_eq!((&all["ok"], &all["data"]["truncated"]), (&json!(true), &json!(false)));
        let tables = all["data"]["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 2, "{all}");
        let (makers, rolls) = (&tables[0], &tables[1]);
        assert_eq!((&makers["name"], &rolls["name"]), (&json!("makers"), &json!("rolls")));
        let id = &makers["columns"][0];
        assert_eq!((&id["name"], &id["primary_key"]), (&json!("id"), &json!(true)), "{profile}");
        let name = &makers["columns"][1];
        assert_eq!((&name["nullable"], &name["default"]), (&json!(false), &Value::Null));
        assert_eq!(rolls["columns"][2]["default"], "3");
        let key = &rolls["foreign_keys"][0];
        assert_eq!(key["columns"], json!(["maker"]), "{profile}: {rolls}");
        assert_eq!(
            (&key["referenced_table"], &key["referenced_columns"]),
            (&json!("makers"), &json!(["id"]))
        );
        let indexes = rolls["indexes"].as_array().unwrap();
        let named = indexes.iter().find(|index| index["name"] == "rolls_by_maker").unwrap();
        assert_eq!(
            (&named["columns"], &named["unique"]),
            (&json!(["maker", "price"]), &json!(true))
        );
        let some = schema(&["mak*", "nothing"]).stdout;
        assert!(some.contains("makers (TABLE)") && !some.contains("rolls"), "{some}");
        let text = schema(&["*.rolls"]).stdout;
        assert!(text.contains("  unique index rolls_by_maker (maker, price)\n"), "{text}");
        assert!(text.contains("  foreign key (maker) to "), "{text}");
    }
}

#[test]
fn mcp_server_is_mcp_by_another_name() {
    let library = Library::new();
    let mut server = program()
        .args(["mcp", "server", "--tool-names", "dotted", "--data"])
        .arg(library.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    writeln!(server.stdin.take().unwrap(), "{ping}").unwrap();
    let output = server.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["result"], output.status.code()), (&json!({}), Some(0)));
    assert_eq!(library.run(&["mcp", "client"]).code, 2, "nothing else may be said there");
}

#[test]
fn who_is_told_not_to_serve_does_not() {
    let library = Library::new();
    let file = library.write("off.toml", "[mcp]\nenabled = false\n");
    for command in ["mcp", "serve"] {
        let done = library.run(&[command, "--config", file.to_str().unwrap()]);
        assert!(done.code == 1 && done.stderr.contains("mcp.enabled"), "{done:?}");
    }
}

#[test]
fn over_http_mcp_asks_who_it_is_or_does_not_start() {
    let library = Library::new();
    let http = "[mcp]\ntransport = \"streamable_http\"\n[server]\nlisten = \"127.0.0.1:0\"\n";
    let file = library.write("single.toml", http);
    let done = library.run(&["mcp", "--config", file.to_str().unwrap()]);
    assert!(done.code == 1 && done.stderr.contains("auth.mode"), "{done:?}");
    let key = library.key("ada");
    let file = library.write("multi.toml", format!("{http}[auth]\nmode = \"multi\"\n"));
    let mut server = program()
        .args(["mcp", "--config"])
        .arg(file)
        .arg("--data")
        .arg(library.data())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(Request::new(address, "POST", "/mcp").json(&ping).send().status, 401);
    let bearer = format!("Bearer {key}");
    let known = Request::new(address, "POST", "/mcp").header("authorization", &bearer);
    assert_eq!(known.json(&ping).send().json()["result"], json!({}));
    server.kill().unwrap();
    server.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn a_pipe_that_is_told_to_stop_ends_well_while_its_client_still_holds_it() {
    for name in ["-INT", "-TERM"] {
        let library = Library::lanterns();
        let mut pipe = library.pipe();
        assert_eq!(pipe.uris("knowledge.search", &json!({ "query": "prisms" })).len(), 1);
        let begun = Instant::now();
        let sent = Command::new("kill").args([name, &pipe.process().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(pipe.wait(), Some(0), "{name}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}");
    }
}
