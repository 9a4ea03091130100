//! End-to-end tests of hostile reads of `SQLite` files: each ends at its limit of CPU time, memory or
//! temporary files, whatever one step of it costs, and the reads of others go on.

use std::{
    fs,
    io::Read as _,
    net::TcpStream,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::support::{Library, McpClient, Server, child_processes, resident_mb, terminate};

/// Sorts 10 GB of text.
const HUGE_SORT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
     SELECT hex(zeroblob(2500000)) || i AS h FROM n ORDER BY h DESC";
/// Keeps 20 GB of text in a temporary table.
const HUGE_TABLE: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000), \
     m AS MATERIALIZED (SELECT hex(zeroblob(1000000)) AS h, i FROM n) \
     SELECT count(*) FROM m a JOIN m b ON a.i = b.i + 1";
/// Collects 2 GB of text in one aggregate with many parts.
const HUGE_AGGREGATE: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) \
     SELECT json_group_array(hex(zeroblob(1000))) FROM n";
/// Takes an hour for one step: the function compares 16 MB with 6 MB at each of 10 million positions.
const ONE_LONG_STEP: &str = "SELECT instr(hex(zeroblob(8000000)), hex(zeroblob(3000000)) || '1')";
/// Never ends.
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
/// Doubles a text again and again.
const DOUBLING: &str = "WITH RECURSIVE r(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM r) \
     SELECT n, length(s) FROM r";

/// Runs statements on a file as any program could.
fn execute_sql(path: &Path, sql: &str) -> Connection {
    let connection = Connection::open_with_flags(path, OpenFlags::default()).unwrap();
    connection.execute_batch(sql).unwrap();
    connection
}

/// Creates the file of the profile `shop`.
fn create_shop(library: &Library, sql: &str) -> PathBuf {
    let path = library.write_file("shop/shop.db", "");
    drop(execute_sql(&path, sql));
    path
}

fn serve_shop(library: &Library, path: &Path, timeout_ms: u32, more: &str) -> Server {
    let shown = path.display();
    library.serve_with_settings(&format!(
        "{more}\n[limits]\nconcurrent_calls_per_user = 64\n\
         [profiles.shop]\nengine = \"sqlite\"\npath = \"{shown}\"\ntimeout_ms = {timeout_ms}\n"
    ))
}

fn query_call(sql: &str) -> Value {
    json!({ "name": "query", "arguments": { "sql": sql, "profile": "shop" } })
}

/// Returns the reply of `query`: rows or an error.
fn query(server: &Server, sql: &str) -> Value {
    let result = server.client().call_method("tools/call", &query_call(sql));
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

fn query_rows(server: &Server, sql: &str) -> Value {
    query(server, sql)["data"]["rows"].clone()
}

fn error_message(reply: &Value) -> &str {
    reply["error"]["message"].as_str().unwrap_or("no error")
}

/// Sends a statement without waiting for the reply.
fn send_query(server: &Server, sql: &str) -> TcpStream {
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": query_call(sql) });
    let request = server.request("POST", "/mcp").header("accept", "application/json");
    request.json(&call).send_unread()
}

/// Waits until the server has this number of child processes that use the processor.
fn wait_for_busy_children(server: &Server, count: usize) {
    let begun = Instant::now();
    while child_processes(server.process()).iter().filter(|it| it.cpu_ticks > 5).count() != count {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn hostile_read_ends_with_its_reason() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let server = serve_shop(&library, &path, 500, "[sqlite]\nread_temp_mb = 64");
    for (sql, message, reason) in [
        (HUGE_SORT, "needs more than 64 MB of temporary files", json!("temporary_space")),
        (HUGE_TABLE, "needs more than 64 MB of temporary files", json!("temporary_space")),
        (HUGE_AGGREGATE, "needs more than 64 MB of memory", json!("memory")),
        (ONE_LONG_STEP, "took longer than 500ms", Value::Null),
        (ENDLESS, "took longer than 500ms", Value::Null),
        (DOUBLING, "larger than 16 MB", json!("value_size")),
        ("SELECT zeroblob(100000000)", "larger than 16 MB", json!("value_size")),
    ] {
        let reply = query(&server, sql);
        assert!(error_message(&reply).contains(message), "{sql}: {reply}");
        assert_eq!(reply["error"]["details"]["reason"], reason, "{sql}: {reply}");
        assert_eq!(query_rows(&server, "SELECT a FROM t"), json!([[1]]));
    }
}

/// Returns the resident memory of the server and its children, in MiB, and the size of the files
/// without a name that the children have open, in bytes.
fn measure(server: &Server) -> (u64, u64) {
    let (mut memory, mut files) = (resident_mb(server.process()), 0);
    for child in child_processes(server.process()) {
        memory += child.resident_mb;
        for descriptor in 3..64 {
            let file = fs::metadata(format!("/proc/{}/fd/{descriptor}", child.id));
            if let Ok(file) = file
                && file.is_file()
                && file.nlink() == 0
            {
                files += file.blocks() * 512;
            }
        }
    }
    (memory, files)
}

#[test]
fn hostile_reads_at_once_are_bounded() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let server = serve_shop(&library, &path, 1_000, "");
    let hostile = [HUGE_SORT, HUGE_TABLE, HUGE_AGGREGATE, ONE_LONG_STEP];
    let begun = Instant::now();
    let waiting: Vec<TcpStream> =
        (0..32).map(|number| send_query(&server, hostile[number % hostile.len()])).collect();
    let (mut memory, mut files, mut cheap) = (0, 0, 0);
    // Hostile reads wait for at most a second and use as much CPU time. On a busy machine a cheap read
    // may have no turn in time; it then says so.
    while begun.elapsed() < Duration::from_secs(if cheap == 0 { 8 } else { 4 }) {
        cheap += usize::from(query_rows(&server, "SELECT a FROM t") == json!([[1]]));
        for _ in 0..5 {
            let (resident, temporary) = measure(&server);
            (memory, files) = (memory.max(resident), files.max(temporary));
            thread::sleep(Duration::from_millis(10));
        }
    }
    for mut stream in waiting {
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let reasons = ["took longer", "temporary files", "of memory", "long statements"];
        assert!(reasons.iter().any(|reason| reply.contains(reason)), "{reply}");
    }
    assert!(memory < 512, "{memory} MB of memory");
    assert!(files > 0 && files < 1_000_000_000, "{files} bytes of temporary files");
    assert!(cheap > 0, "no cheap read was answered");
}

/// Stops a process, or lets it go on.
fn signal(name: &str, process: u32) {
    let process = process.to_string();
    assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
}

#[test]
fn read_that_waits_for_processor_is_answered() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a)");
    let server = serve_shop(&library, &path, 4_000, "");
    let caller = send_query(
        &server,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) \
         SELECT count(*) + 7 AS found FROM n",
    );
    wait_for_busy_children(&server, 1);
    let reader = child_processes(server.process()).remove(0).id;
    signal("-STOP", reader);
    // Longer than the timeout of the statement, which counts its CPU time.
    thread::sleep(Duration::from_millis(5_500));
    signal("-CONT", reader);
    let mut reply = String::new();
    (&caller).read_to_string(&mut reply).unwrap();
    assert!(reply.contains("3000007"), "{reply}");
}

#[test]
fn disconnected_caller_ends_read() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a)");
    let server = serve_shop(&library, &path, 60_000, "");
    for sql in [ENDLESS, ONE_LONG_STEP] {
        let caller = send_query(&server, sql);
        wait_for_busy_children(&server, 1);
        drop(caller);
        wait_for_busy_children(&server, 0);
    }
}

#[test]
fn shutdown_does_not_wait_for_read() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a)");
    let mut server = serve_shop(&library, &path, 60_000, "[server]\ngrace_seconds = 1");
    let _caller = send_query(&server, ONE_LONG_STEP);
    wait_for_busy_children(&server, 1);
    let children = child_processes(server.process());
    let begun = Instant::now();
    terminate(server.process());
    server.wait_for_exit();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    for child in children {
        let folder = child.variable("SQLITE_TMPDIR");
        let begun = Instant::now();
        while child.is_running() || folder.as_ref().is_some_and(|folder| Path::new(folder).exists())
        {
            assert!(begun.elapsed() < Duration::from_secs(30), "{folder:?} remains");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn killed_server_leaves_no_reader() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a)");
    let server = serve_shop(&library, &path, 60_000, "");
    let _caller = send_query(&server, ONE_LONG_STEP);
    wait_for_busy_children(&server, 1);
    let children = child_processes(server.process());
    let folders: Vec<_> = children.iter().filter_map(|it| it.variable("SQLITE_TMPDIR")).collect();
    assert!(!folders.is_empty());
    server.kill_and_read_log();
    let begun = Instant::now();
    while folders.iter().any(|folder| Path::new(folder).exists()) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{folders:?} remain");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn write_ahead_log_of_running_program_is_read() {
    let library = Library::new();
    let path = create_shop(&library, "PRAGMA journal_mode = wal; CREATE TABLE t (a)");
    let server = serve_shop(&library, &path, 5_000, "");
    assert_eq!(query_rows(&server, "SELECT count(*) FROM t"), json!([[0]]));
    let writer = execute_sql(&path, "INSERT INTO t VALUES (1)");
    assert_eq!(query_rows(&server, "SELECT count(*) FROM t"), json!([[1]]));
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(query_rows(&server, "SELECT count(*) FROM t"), json!([[1]]));
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(query_rows(&server, "SELECT count(*) FROM t"), json!([[2]]));
    assert_eq!(query_rows(&server, "PRAGMA journal_mode"), json!([["wal"]]));
}

#[test]
fn replaced_file_is_read_by_new_process() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let server = serve_shop(&library, &path, 5_000, "");
    assert_eq!(query_rows(&server, "SELECT a FROM t"), json!([[1]]));
    // The process that is idle now may not write the index of a write-ahead log.
    let _writer = execute_sql(&path, "PRAGMA journal_mode = wal; UPDATE t SET a = 2");
    assert_eq!(query_rows(&server, "SELECT a FROM t"), json!([[2]]));
    let other = library.write_file("other.db", "");
    drop(execute_sql(&other, "CREATE TABLE t (a); INSERT INTO t VALUES (3)"));
    fs::rename(&other, &path).unwrap();
    for suffix in ["-wal", "-shm"] {
        fs::remove_file(path.with_file_name(format!("shop.db{suffix}"))).unwrap();
    }
    assert_eq!(query_rows(&server, "SELECT a FROM t"), json!([[3]]));
}

#[test]
fn locked_file_is_read_after_its_lock() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let server = serve_shop(&library, &path, 1_000, "");
    let writer = execute_sql(&path, "BEGIN EXCLUSIVE");
    let begun = Instant::now();
    let reply = query(&server, "SELECT a FROM t");
    let message = error_message(&reply);
    assert!(message.contains("locked") || message.contains("took longer"), "{reply}");
    assert!(begun.elapsed() > Duration::from_millis(900), "{:?}", begun.elapsed());
    let caller = send_query(&server, "SELECT a + 40 FROM t");
    thread::sleep(Duration::from_millis(200));
    writer.execute_batch("COMMIT").unwrap();
    let mut reply = String::new();
    (&caller).read_to_string(&mut reply).unwrap();
    assert!(reply.contains("41"), "{reply}");
}

/// A schema that tries to run more than its readers ask for.
const HOSTILE_SCHEMA: &str = "
    CREATE TABLE t (a, b AS (hex(a)));
    INSERT INTO t (a) VALUES (1), (2);
    ALTER TABLE t ADD COLUMN c AS (instr(hex(zeroblob(8000000)), hex(zeroblob(3000000)) || a));
    CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM t; END;
    CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;
    CREATE VIEW loads AS SELECT load_extension('libc.so.6');
    CREATE VIEW reads AS SELECT readfile('/etc/passwd');
    CREATE VIEW paths AS SELECT file FROM pragma_database_list;
    CREATE VIEW optimizes AS SELECT * FROM pragma_optimize;
    CREATE VIEW nested AS SELECT * FROM paths, loads;
    CREATE VIRTUAL TABLE ft USING fts5 (x);
    INSERT INTO ft VALUES ('a quay'), ('a pier');
    UPDATE ft_data SET block = CAST(hex(zeroblob(100)) AS BLOB) WHERE id > 1;
    CREATE VIRTUAL TABLE rt USING rtree (id, a, b);
    UPDATE rt_node SET data = CAST(hex(zeroblob(20)) AS BLOB);
    PRAGMA default_cache_size = 1000000;";

#[test]
fn hostile_schema_runs_nothing_else() {
    let library = Library::new();
    let path = create_shop(&library, HOSTILE_SCHEMA);
    let server = serve_shop(&library, &path, 200, "");
    let before = fs::read(&path).unwrap();
    for (sql, message) in [
        ("SELECT c FROM t", "took longer"),
        ("SELECT * FROM endless", "took longer"),
        ("SELECT * FROM loads", "load_extension"),
        ("SELECT * FROM reads", "no such function"),
        ("SELECT * FROM paths", "unsafe use"),
        ("SELECT hex(file) FROM pragma_database_list", "folders of the server"),
        ("SELECT * FROM optimizes", "optimize"),
        ("SELECT * FROM nested", ""),
        ("SELECT * FROM ft('quay')", "corrupt structure"),
        ("SELECT * FROM rt WHERE a > 0", "undersize RTree blobs"),
        ("INSERT INTO t (a) VALUES (3)", "not a read"),
    ] {
        let reply = query(&server, sql);
        assert!(error_message(&reply).contains(message), "{sql}: {reply}");
        assert!(!reply.to_string().contains(path.parent().unwrap().to_str().unwrap()), "{reply}");
    }
    assert_eq!(query_rows(&server, "SELECT a, b FROM t"), json!([[1, "31"], [2, "32"]]));
    assert_eq!(query_rows(&server, "PRAGMA database_list"), json!([[0, "main", "shop.db"]]));
    assert_eq!(query_rows(&server, "PRAGMA cache_size"), json!([[-2048]]));
    assert_eq!(fs::read(&path).unwrap(), before);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn damaged_pages_are_reported() {
    let library = Library::new();
    let rows = "CREATE TABLE t (a, b); CREATE INDEX i ON t (b);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO t SELECT i, hex(randomblob(20)) FROM n;";
    let path = create_shop(&library, rows);
    let sound = fs::read(&path).unwrap();
    let server = serve_shop(&library, &path, 2_000, "");
    for seed in 1..40_usize {
        let mut bytes = sound.clone();
        // The header stays, so that the file is opened.
        for number in 0..50 {
            let at = 100 + (seed * 7_919 + number * 104_729) % (bytes.len() - 100);
            bytes[at] = bytes[at].wrapping_mul(31).wrapping_add(u8::try_from(seed).unwrap());
        }
        fs::write(&path, &bytes).unwrap();
        for sql in [
            "SELECT count(*), max(b) FROM t WHERE a > 10",
            "SELECT * FROM t ORDER BY b LIMIT 5",
            "PRAGMA integrity_check",
        ] {
            let reply = query(&server, sql);
            assert!(reply["ok"] == true || reply["error"]["code"].is_string(), "{reply}");
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, &sound).unwrap();
    assert_eq!(query_rows(&server, "SELECT count(*) FROM t"), json!([[5_000]]));
    server.assert_alive();
}

#[test]
fn command_line_reads_in_child_process() {
    let library = Library::new();
    let path = create_shop(&library, "CREATE TABLE t (a); INSERT INTO t VALUES (7.1e-10)");
    let shown = path.display();
    let settings = library.write_file(
        "settings.toml",
        format!("[profiles.shop]\nengine = \"sqlite\"\npath = \"{shown}\"\ntimeout_ms = 1000\n"),
    );
    let settings = settings.to_str().unwrap();
    let done = library.run(&["query", ONE_LONG_STEP, "--config", settings]);
    assert!(done.code == 5 && done.stderr.contains("took longer than 1s"), "{done:?}");
    let done = library.run(&["query", "SELECT a FROM t", "--config", settings]);
    assert!(done.code == 0 && done.stdout.contains("7.1e-10"), "{done:?}");
}
