//! End-to-end tests of `vademecum query`, `explain` and `schema` on real databases, and of the
//! transports of `vademecum mcp`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    AllEngines, CommandOutput, HttpRequest, Library, McpClient, PROFILES, vademecum_command,
};
#[cfg(target_os = "linux")]
use crate::support::{child_processes, peak_resident_mb, wait_until};

const BREADS_SQL: &str = "CREATE TABLE breads (id integer PRIMARY KEY, name varchar(40), note varchar(40));\n\
    INSERT INTO breads VALUES (1, 'rye', 'dark, sour'), (2, 'spelt', NULL), (30, 'a\tb', '\"x\"');\n";

fn run_with_profiles(trio: &AllEngines, arguments: &[&str]) -> CommandOutput {
    let file = trio.write_settings("");
    trio.library.run(&[arguments, &["--config", file.to_str().unwrap()]].concat())
}

fn run_query(trio: &AllEngines, profile: &str, more: &[&str]) -> CommandOutput {
    run_with_profiles(trio, &[&["query", "--profile", profile], more].concat())
}

#[test]
fn query_prints_rows_in_every_format() {
    let trio = AllEngines::with_statements(BREADS_SQL);
    let sql = "SELECT id, name, note FROM breads ORDER BY id";
    for profile in PROFILES {
        let of = |form: &str| {
            let done = run_query(&trio, profile, &["--format", form, sql]);
            assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
            done
        };
        let rows = json!([[1, "rye", "dark, sour"], [2, "spelt", null], [30, "a\tb", "\"x\""]]);
        let expected = json!({ "ok": true, "schema_version": 1, "data": {
            "columns": ["id", "name", "note"], "rows": rows, "truncated": false } });
        assert_eq!(of("json").parse_json(), expected, "{profile}");
        let csv = "id,name,note\n1,rye,\"dark, sour\"\n2,spelt,\n30,a\tb,\"\"\"x\"\"\"\n";
        assert_eq!(of("csv").stdout, csv, "{profile}");
        let tsv = "id\tname\tnote\n1\trye\tdark, sour\n2\tspelt\t\\N\n30\ta\\tb\t\"x\"\n";
        assert_eq!(of("tsv").stdout, tsv, "{profile}");
        let lines = of("jsonl").stdout;
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[1], json!({ "id": 2, "name": "spelt", "note": null }), "{profile}");
        assert_eq!(lines.len(), 3, "{profile}");
        let table = "id  name   note\n--  -----  ----------\n 1  rye    dark, sour\n 2  spelt  NULL\n\
                     30  a b    \"x\"\n(3 rows)\n";
        assert_eq!(of("table").stdout, table, "{profile}");
        assert_eq!(run_query(&trio, profile, &[sql]).stdout, table);
        let twice =
            run_query(&trio, profile, &["--format", "json", "SELECT 1 AS a, 2 AS a"]).parse_json();
        assert_eq!(
            (&twice["data"]["columns"], &twice["data"]["rows"]),
            (&json!(["a", "a"]), &json!([[1, 2]]))
        );
    }
}

#[test]
fn query_reads_statement_from_standard_input() {
    let trio = AllEngines::with_statements(BREADS_SQL);
    let file = trio.write_settings("");
    let mut process = vademecum_command()
        .args(["query", "--profile", "lite", "--format", "csv", "-", "--config"])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let sql = b"SELECT name\nFROM breads -- all of them\nWHERE id < 3 ORDER BY id;\n";
    process.stdin.take().unwrap().write_all(sql).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "name\nrye\nspelt\n");
    let done = run_query(&trio, "lite", &[" "]);
    assert!(done.code == 2 && done.stderr.contains("no statement given"), "{done:?}");
}

#[test]
fn query_exit_code_identifies_error() {
    let trio = AllEngines::with_statements(BREADS_SQL);
    for profile in PROFILES {
        for (sql, code, name) in [
            ("SELECT id FROM breads", 0, ""),
            ("DELETE FROM breads", 4, "XSQL_RO_BLOCKED"),
            ("SELECT 1; SELECT 2", 4, "XSQL_RO_BLOCKED"),
            ("SELECT nothing FROM nowhere", 5, "XSQL_DB_EXEC_FAILED"),
        ] {
            let done = run_query(&trio, profile, &["--format", "json", sql]);
            assert_eq!(done.code, code, "{profile}: {done:?}");
            if code != 0 {
                let answer = done.parse_json();
                assert_eq!(
                    (&answer["ok"], &answer["schema_version"], &answer["error"]["code"]),
                    (&json!(false), &json!(1), &json!(name))
                );
                assert!(done.stderr.lines().any(|line| line.starts_with("error: ")), "{done:?}");
            }
        }
    }
    let done = run_with_profiles(&trio, &["query", "SELECT 1"]);
    assert!(done.code == 2 && done.stderr.contains("lite, maria, pg"), "{done:?}");
    let done = run_query(&trio, "cellar", &["SELECT 1"]);
    assert!(done.code == 2 && done.stderr.contains("profile does not exist"), "{done:?}");
    let gone = format!(
        "[profiles.gone]\nengine = \"sqlite\"\npath = {:?}\n",
        trio.library.file_path("gone")
    );
    let file = trio.library.write_file("gone.toml", gone);
    let done = trio.library.run(&["query", "SELECT 1", "--config", file.to_str().unwrap()]);
    assert_eq!(done.code, 3, "a single profile is the default: {done:?}");
    let wrong = trio.library.write_file("wrong.toml", "[profiles.gone]\nengine = \"oracle\"\n");
    let done = trio.library.run(&["query", "SELECT 1", "--config", wrong.to_str().unwrap()]);
    assert_eq!(done.code, 2, "{done:?}");
}

#[test]
fn query_writes_only_with_profile_setting_and_flag() {
    let trio = AllEngines::with_statements(BREADS_SQL);
    let write =
        trio.library.write_file("write.toml", trio.profile_settings("unsafe_allow_write = true\n"));
    for profile in PROFILES {
        let sql = "INSERT INTO breads (id, name) VALUES (4, 'wheat')";
        let with = |file: &str, more: &[&str]| {
            let arguments =
                ["query", "--profile", profile, "--format", "json", sql, "--config", file];
            trio.library.run(&[&arguments, more].concat())
        };
        let read = trio.write_settings("");
        let (read, write) = (read.to_str().unwrap(), write.to_str().unwrap());
        let flag = ["--unsafe-allow-write"];
        for done in [with(read, &[]), with(read, &flag), with(write, &[])] {
            assert_eq!(
                (done.code, &done.parse_json()["error"]["code"]),
                (4, &json!("XSQL_RO_BLOCKED"))
            );
        }
        assert_eq!(trio.query_count(profile, "SELECT count(*) FROM breads"), 3);
        let done = with(write, &flag);
        assert_eq!(
            (done.code, &done.parse_json()["data"]["rows_affected"]),
            (0, &json!(1)),
            "{done:?}"
        );
        assert_eq!(trio.query_count(profile, "SELECT count(*) FROM breads"), 4);
    }
}

#[test]
fn query_warns_when_rows_are_truncated() {
    let trio = AllEngines::with_statements(BREADS_SQL);
    let file = trio.library.write_file("few.toml", trio.profile_settings("max_rows = 2\n"));
    for profile in PROFILES {
        let sql = "SELECT id FROM breads ORDER BY id";
        let arguments = ["query", "--profile", profile, "--format", "csv", sql, "--config"];
        let done = trio.library.run(&[&arguments[..], &[file.to_str().unwrap()]].concat());
        assert_eq!((done.code, done.stdout.as_str()), (0, "id\n1\n2\n"));
        assert!(done.stderr.contains("the first 2 rows"), "{done:?}");
    }
}

#[test]
fn explain_prints_native_plan_of_each_engine() {
    let trio = AllEngines::with_statements(BREADS_SQL);
    let explain = |profile: &str, more: &[&str]| {
        run_with_profiles(&trio, &[&["explain", "--profile", profile], more].concat())
    };
    let words = ["SCAN breads", "breads", "Seq Scan on breads"];
    for (profile, word) in PROFILES.into_iter().zip(words) {
        let sql = "SELECT * FROM breads WHERE name = 'rye'";
        let done = explain(profile, &[sql]);
        assert_eq!(done.code, 0, "{done:?}");
        assert!(done.stdout.contains(word), "{done:?}");
        assert!(done.stdout.contains("- Sequential scan detected on 'breads'"), "{done:?}");
        let data = explain(profile, &["--format", "json", sql]).parse_json()["data"].clone();
        assert_eq!(data["analyzed"], false, "{data}");
        assert!(data["plan"].to_string().contains("breads"), "{data}");
        assert!(data["analysis"][0].as_str().unwrap().contains("'breads'"), "{data}");
        let done = explain(profile, &["--format", "json", "DELETE FROM breads"]);
        assert_eq!(
            (done.code, &done.parse_json()["error"]["code"]),
            (4, &json!("XSQL_RO_BLOCKED"))
        );
    }
    let done = explain("pg", &["--analyze", "SELECT * FROM breads"]);
    assert!(done.stdout.contains("actual time"), "{done:?}");
    assert_eq!(trio.query_count("pg", "SELECT count(*) FROM breads"), 3);
}

const SHOP_SQL: &str = "CREATE TABLE makers (id integer PRIMARY KEY, name varchar(40) NOT NULL);\n\
    CREATE TABLE rolls (id integer PRIMARY KEY, maker integer, price integer DEFAULT 3, \
    FOREIGN KEY (maker) REFERENCES makers (id));\n\
    CREATE UNIQUE INDEX rolls_by_maker ON rolls (maker, price);\n";

#[test]
fn schema_lists_tables_with_keys_and_indexes() {
    let trio = AllEngines::with_statements(SHOP_SQL);
    for profile in PROFILES {
        let schema = |more: &[&str]| {
            let done =
                run_with_profiles(&trio, &[&["schema", "--profile", profile], more].concat());
            assert_eq!(done.code, 0, "{done:?}");
            done
        };
        let all = schema(&["--format", "json"]).parse_json();
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
fn mcp_server_is_alias_of_mcp() {
    let library = Library::new();
    let mut server = vademecum_command()
        .args(["mcp", "server", "--tool-names", "dotted", "--data"])
        .arg(library.data_folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    writeln!(server.stdin.take().unwrap(), "{ping}").unwrap();
    let output = server.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["result"], output.status.code()), (&json!({}), Some(0)));
    assert_eq!(library.run(&["mcp", "client"]).code, 2, "`mcp` accepts no other subcommand");
}

#[test]
fn disabled_mcp_setting_prevents_serving() {
    let library = Library::new();
    let file = library.write_file("off.toml", "[mcp]\nenabled = false\n");
    for command in ["mcp", "serve"] {
        let done = library.run(&[command, "--config", file.to_str().unwrap()]);
        assert!(done.code == 1 && done.stderr.contains("mcp.enabled"), "{done:?}");
    }
}

#[test]
fn mcp_over_http_requires_authentication() {
    let library = Library::new();
    let http = "[mcp]\ntransport = \"streamable_http\"\n[server]\nlisten = \"127.0.0.1:0\"\n";
    let file = library.write_file("single.toml", http);
    let done = library.run(&["mcp", "--config", file.to_str().unwrap()]);
    assert!(done.code == 1 && done.stderr.contains("auth.mode"), "{done:?}");
    let key = library.create_key("ada");
    let file = library.write_file("multi.toml", format!("{http}[auth]\nmode = \"multi\"\n"));
    let mut server = vademecum_command()
        .args(["mcp", "--config"])
        .arg(file)
        .arg("--data")
        .arg(library.data_folder())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(HttpRequest::new(address, "POST", "/mcp").json(&ping).send().status, 401);
    let bearer = format!("Bearer {key}");
    let known = HttpRequest::new(address, "POST", "/mcp").header("authorization", &bearer);
    assert_eq!(known.json(&ping).send().json()["result"], json!({}));
    server.kill().unwrap();
    server.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn stdio_server_exits_cleanly_on_signal() {
    for name in ["-INT", "-TERM"] {
        let library = Library::with_lanterns();
        let mut pipe = library.open_stdio();
        assert_eq!(pipe.search_uris("knowledge.search", &json!({ "query": "prisms" })).len(), 1);
        let begun = Instant::now();
        let sent = Command::new("kill").args([name, &pipe.process().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(pipe.wait_for_exit(), Some(0), "{name}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}");
    }
}

/// A table of a hundred rows with a text of a hundred letters.
fn hundred_rows() -> String {
    let text = "x".repeat(100);
    let rows: Vec<String> = (0..100).map(|number| format!("({number}, '{text}')")).collect();
    format!(
        "CREATE TABLE hundred (n integer, t varchar(100));\nINSERT INTO hundred VALUES {};\n",
        rows.join(", ")
    )
}

/// Starts a query on the database of a profile without narrow limits.
fn spawn_query(trio: &AllEngines, arguments: &[&str]) -> Child {
    let limits = "max_rows = 10000000\nmax_bytes = 4000000000\ntimeout_ms = 600000\n";
    let settings = trio.library.write_file("large.toml", trio.profile_settings(limits));
    let mut command = vademecum_command();
    command.arg("query").args(arguments).arg("--config").arg(settings);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn rows_are_printed_as_they_arrive() {
    const ROWS: usize = 300_000;
    let trio = AllEngines::with_statements(&hundred_rows());
    let sql = format!(
        "SELECT a.n, b.n AS m, c.t FROM hundred a, hundred b, hundred c WHERE a.n < {}",
        ROWS / 10_000
    );
    for profile in PROFILES {
        for form in ["csv", "jsonl"] {
            let arguments = ["--profile", profile, "--format", form, &sql];
            let mut process = spawn_query(&trio, &arguments);
            let output = BufReader::new(process.stdout.take().unwrap());
            let header = usize::from(form == "csv");
            let mut peak = 0;
            for (number, line) in output.lines().enumerate() {
                assert!(line.unwrap().len() > 100 || number < header);
                // The program waits for this reader, so it still runs.
                if number == ROWS / 2 {
                    peak = peak_resident_mb(process.id());
                }
                assert!(number < ROWS + header);
            }
            assert!(process.wait().unwrap().success(), "{profile} {form}");
            assert!((1..100).contains(&peak), "{profile} {form}: {peak} MB");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn closed_output_ends_query() {
    let trio = AllEngines::with_statements(&hundred_rows());
    let sql = "SELECT a.n FROM hundred a, hundred b, hundred c";
    for profile in PROFILES {
        let arguments = ["--profile", profile, "--format", "tsv", sql];
        let mut process = spawn_query(&trio, &arguments);
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(process.wait().unwrap().success(), "{profile}");
        assert_eq!(line, "n\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn interrupt_cancels_statement_at_database() {
    let trio = AllEngines::with_statements(&hundred_rows());
    let tables: Vec<String> = (0..9).map(|number| format!("hundred t{number}")).collect();
    let sql = format!("SELECT count(*) FROM {} WHERE t0.n + t8.n < 0", tables.join(", "));
    let running = |profile: &str| match profile {
        "pg" => trio.query_count(
            profile,
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
             AND datname = current_database() AND query LIKE '%hundred%' \
             AND pid <> pg_backend_pid()",
        ),
        _ => trio.query_count(
            profile,
            "SELECT count(*) FROM information_schema.processlist WHERE db = database() \
             AND info LIKE '%hundred%' AND id <> connection_id()",
        ),
    };
    for (profile, signal, code) in
        [("pg", "TERM", 143), ("maria", "INT", 130), ("pg", "INT", 130), ("lite", "TERM", 143)]
    {
        let mut process = spawn_query(&trio, &["--profile", profile, "--format", "csv", &sql]);
        let mut readers = Vec::new();
        wait_until("the statement to run", || match profile {
            "lite" => {
                readers = child_processes(process.id());
                readers.iter().any(|reader| reader.cpu_ticks > 10)
            }
            _ => running(profile) == 1,
        });
        let id = process.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(code), "{profile}");
        match profile {
            "lite" => wait_until("the reader to end", || {
                readers.iter().all(|reader| !reader.is_running())
            }),
            _ => wait_until("the statement to end", || running(profile) == 0),
        }
    }
}
