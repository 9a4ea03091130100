//! End-to-end tests of databases made to harm their reader: in a tldw directory, and in a backup.
//! Also of the modes of the files that the program writes.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::support::{
    CommandOutput, Library, McpClient, TldwDirectory, TldwVariant, vademecum_command,
};

/// Replaces `Media` by a view that never ends.
const ENDLESS_VIEW: &str = "
    DROP TABLE media_fts;
    ALTER TABLE Media RENAME TO Other;
    CREATE VIEW Media AS
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT i AS id, NULL AS url, 'a' AS title, 'article' AS type, 'lantern' AS content,
        NULL AS author, NULL AS ingestion_date, '' AS last_modified, 0 AS is_trash, 0 AS deleted,
        1 AS version
    FROM n;";

/// Links every document of many with one keyword of 16 MB, so that the list of keywords needs
/// gigabytes.
const HUGE_LISTING: &str = "
    INSERT INTO Keywords (id, keyword) VALUES (9, hex(zeroblob(8000000)));
    WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1300)
    INSERT INTO MediaKeywords (media_id, keyword_id) SELECT i, 9 FROM n;";

/// Runs a statement on a file as any program could.
fn execute_sql(path: &Path, sql: &str) {
    let connection = Connection::open_with_flags(path, OpenFlags::default()).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Waits until the reply of `media.get` contains `part`, and returns the reply.
fn wait_for_media_reply(client: &impl McpClient, part: &str) -> String {
    let begun = Instant::now();
    loop {
        let reply = client.tool_result("media.get", &json!({ "media_id": 11 })).to_string();
        if reply.contains(part) || begun.elapsed() > Duration::from_secs(30) {
            return reply;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn tldw_view_for_table_is_refused() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    tldw.execute_sql("1", 1, ENDLESS_VIEW);
    let server = library.serve_with(&["--tldw", tldw.path_str()]);
    let client = server.client();
    let reply = wait_for_media_reply(&client, "is a view");
    assert!(reply.contains("Media_DB_v2.db") && reply.contains("`Media` is a view"), "{reply}");
    assert_eq!(
        client.search_uris("knowledge.search", &json!({ "query": "quay" })),
        ["notes://n-1"]
    );
    // A copy skips this database only.
    let copied = library.run(&["import", "tldw", tldw.path_str(), "--json"]).parse_json();
    let skipped = copied["skipped"].to_string();
    assert!(skipped.contains("`Media` is a view"), "{copied}");
    assert_eq!(copied["new"], 6, "{copied}");
}

/// Returns the highest resident memory of a process so far, in MiB.
#[cfg(target_os = "linux")]
fn peak_mb(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_024
}

#[test]
#[cfg(target_os = "linux")]
fn tldw_listing_has_bounded_memory() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    tldw.execute_sql("1", 1, HUGE_LISTING);
    let server = library.serve_with(&["--tldw", tldw.path_str()]);
    let client = server.client();
    let reply = wait_for_media_reply(&client, "MB of memory");
    assert!(reply.contains("Media_DB_v2.db") && reply.contains("MB of memory"), "{reply}");
    assert!(peak_mb(server.process()) < 900);
    // The reason stays, and a repaired file is read again.
    assert!(wait_for_media_reply(&client, "MB of memory").contains("Media_DB_v2.db"));
    tldw.execute_sql("1", 1, "DELETE FROM MediaKeywords WHERE keyword_id = 9");
    let reply = wait_for_media_reply(&client, "Fresnel");
    assert!(reply.contains("Fresnel"), "{reply}");
    assert_eq!(
        client.search_uris("knowledge.search", &json!({ "query": "quay" })),
        ["notes://n-1"]
    );
}

/// Changes a database of a backup, and the manifest with it.
fn change_backup(backup: &Path, file: &str, sql: &str) {
    let path = backup.join(file);
    execute_sql(&path, sql);
    execute_sql(&path, "PRAGMA wal_checkpoint(TRUNCATE)");
    let manifest = backup.join("manifest.json");
    let mut parsed: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let files = parsed["files"].as_array_mut().unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let entry = files.iter_mut().find(|entry| entry["file"] == name).unwrap();
    entry["bytes"] = fs::metadata(&path).unwrap().len().into();
    entry["sha256"] = sha256(&path).into();
    fs::write(manifest, parsed.to_string()).unwrap();
}

fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

fn restore(library: &Library, backup: &Path, more: &[&str]) -> CommandOutput {
    library.run(&[&["restore", backup.to_str().unwrap()], more].concat())
}

/// Backs up a library with three databases, and returns the folder of the backup.
fn back_up(library: &Library, more: &[&str]) -> PathBuf {
    let folder = library.file_path("backup");
    let done = library.run(&[&["backup", folder.to_str().unwrap()], more].concat());
    assert_eq!(done.code, 0, "{done:?}");
    folder
}

#[test]
fn backup_with_foreign_objects_is_not_restored() {
    for (object, sql) in [
        (
            "foreign trigger `spy`",
            "CREATE TRIGGER spy AFTER INSERT ON notes BEGIN DELETE FROM keywords; END",
        ),
        ("foreign view `theirs`", "CREATE VIEW theirs AS SELECT 1 AS a"),
        ("foreign table `extra`", "CREATE TABLE extra (a)"),
        ("foreign index `slow`", "CREATE INDEX slow ON notes (hex(title))"),
        ("changed table `notes`", "ALTER TABLE notes ADD COLUMN more GENERATED ALWAYS AS (1)"),
    ] {
        let library = Library::with_lanterns();
        let backup = back_up(&library, &[]);
        change_backup(&backup, "users/local/chacha.db", sql);
        let other = Library::new();
        let done = restore(&other, &backup, &[]);
        assert!(done.code == 1 && done.stderr.contains(object), "{object}: {done:?}");
        assert!(done.stderr.contains("chacha.db"), "{done:?}");
        assert!(!other.data_folder().exists());
    }
}

#[test]
fn backup_of_older_schema_is_restored() {
    let library = Library::with_lanterns();
    let backup = back_up(&library, &[]);
    let path = backup.join("users/local/prompts.db");
    fs::remove_file(&path).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let first = fs::read_to_string(root.join("schemas/sqlite/prompts/0001_core.sql")).unwrap();
    let sql = format!(
        "{first} PRAGMA application_id = {}; PRAGMA user_version = 1; PRAGMA journal_mode = wal;",
        0x5641_4445
    );
    change_backup(&backup, "users/local/prompts.db", &sql);
    let other = Library::new();
    let done = restore(&other, &backup, &[]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(other.run(&["check"]).code, 0);
    other.import_file("prompts", "new.csv", "act,prompt\nThimble,Sew.\n");
}

#[test]
fn restore_brings_keys_only_with_flag() {
    let library = Library::new();
    let stranger = library.create_key("ada");
    library.import_for_user("ada", "notes", "a.md", "A thimble.");
    let backup = back_up(&library, &["--all-users"]);
    let search = json!({ "query": "thimble" });
    // A server that has its own keys keeps them.
    let other = Library::new();
    let own = other.create_key("ada");
    let done = restore(&other, &backup, &[]);
    assert!(done.code == 0 && done.stdout.contains("--with-keys"), "{done:?}");
    {
        let server = other.serve_multi_user("");
        let uris = server.client().with_bearer_token(&own).search_uris("notes.search", &search);
        assert_eq!(uris.len(), 1);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let request = server.request("POST", "/mcp").json(&ping).header("x-api-key", &stranger);
        assert_eq!(request.send().status, 401);
    }
    // A new server has no keys, and no database for them.
    let fresh = Library::new();
    let done = restore(&fresh, &backup, &["--json"]);
    assert_eq!(done.parse_json()["skipped_keys"], true, "{done:?}");
    assert!(!fresh.data_folder().join("server.db").exists());
    let with_keys = Library::new();
    assert_eq!(restore(&with_keys, &backup, &["--with-keys"]).code, 0);
    let server = with_keys.serve_multi_user("");
    let client = server.client().with_bearer_token(&stranger);
    assert_eq!(client.search_uris("notes.search", &search).len(), 1);
}

/// Asserts that only the owner has access to a folder and to everything in it.
fn assert_private(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let expected_mode = |path: &Path| if path.is_dir() { 0o700 } else { 0o600 };
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.chain([folder.clone()]) {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, expected_mode(&path), "{} has {mode:o}", path.display());
            seen += 1;
            if path.is_dir() && path != folder {
                folders.push(path);
            }
        }
    }
    assert!(seen > 3, "{seen} entries");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn files_are_private_in_premade_open_folder() {
    let library = Library::new();
    fs::create_dir(library.data_folder()).unwrap();
    set_mode(&library.data_folder(), 0o755);
    let key = library.create_key("ada");
    library.import_for_user("ada", "notes", "a.md", "A thimble.");
    {
        let server = library.serve_multi_user("");
        let client = server.client().with_bearer_token(&key);
        let search = json!({ "query": "thimble" });
        assert_eq!(client.search_uris("notes.search", &search).len(), 1);
        assert_private(&library.data_folder());
    }
    let backup = back_up(&library, &["--all-users"]);
    assert_private(&backup);
    let export = library.file_path("export");
    fs::create_dir(&export).unwrap();
    set_mode(&export, 0o755);
    let done = library.run(&["export", export.to_str().unwrap(), "--user", "ada"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_private(&export);
    // Databases of an earlier version, which a restore keeps in another folder.
    for (name, mode) in [
        ("users", 0o755),
        ("users/ada", 0o755),
        ("users/ada/chacha.db", 0o644),
        ("server.db", 0o644),
    ] {
        set_mode(&library.data_folder().join(name), mode);
    }
    let done = restore(&library, &backup, &["--force", "--with-keys"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_private(&library.data_folder());
}

#[test]
fn open_modes_are_reported_and_repaired() {
    let library = Library::with_lanterns();
    let file = library.data_folder().join("users/local/chacha.db");
    let mine = library.data_folder().join("letter.txt");
    fs::File::create(&mine).unwrap().write_all(b"Dear Ada").unwrap();
    set_mode(&mine, 0o644);
    set_mode(&file, 0o644);
    let check = library.run(&["check"]);
    assert!(check.stdout.contains("chacha.db: its mode gives other users access"), "{check:?}");
    for path in [&file, &library.data_folder()] {
        set_mode(path, 0o755);
    }
    let check = library.run(&["check", "--repair"]);
    assert!(check.stdout.contains("the access of other users was revoked"), "{check:?}");
    assert!(check.stdout.contains("only its owner has access to it"), "{check:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    assert_eq!((mode(&file), mode(&library.data_folder())), (0, 0));
    assert_eq!(mode(&mine), 0o044, "a file of the user is left as it is");
}

/// A document with an escape sequence, one that writes the clipboard, a C1 control and a character
/// that reverses the text.
const ESCAPES: &str = "# Sly\n\nA thimble\u{1b}[2J, \u{1b}]52;c;aGVsbG8=\u{7} and \u{9b}31m or \
                       \u{202e}dm.exe.\n\n\tTwo lines.\n";

fn has_controls(text: &str) -> bool {
    text.contains(|letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\t') || letter == '\u{202e}'
    })
}

#[test]
fn printed_contents_have_no_escapes() {
    let library = Library::with_notes([("sly", ESCAPES)]);
    let found = library.run(&["search", "thimble", "--json"]);
    assert!(!has_controls(&found.stdout), "{found:?}");
    let found = found.parse_json();
    let uri = found["results"][0]["uri"].as_str().unwrap();
    for arguments in [
        &["search", "thimble"][..],
        &["get", uri],
        &["get", "--mode", "snippet", uri],
        &["get", "--json", uri],
        &["sources"],
        &["check"],
    ] {
        let done = library.run(arguments);
        assert!(done.code == 0 && !has_controls(&done.stdout), "{arguments:?}: {done:?}");
        assert!(!has_controls(&done.stderr), "{arguments:?}: {done:?}");
    }
    let shown = library.run(&["get", uri]).stdout;
    assert!(shown.contains("\n\n\tTwo lines."), "{shown}");
    let json = library.run(&["get", "--json", uri]).parse_json();
    let raw = library.run(&["get", "--raw", uri]).stdout;
    assert!(raw.contains("\u{1b}]52;c;aGVsbG8=\u{7}"), "{raw:?}");
    assert!(json["content"].to_string().contains("\\u001b]52"), "JSON is exact: {json}");
}

#[test]
fn printed_rows_and_schema_have_no_escapes() {
    let library = Library::new();
    let path = library.write_file("shop.db", "");
    execute_sql(
        &path,
        "CREATE TABLE \"sly\u{1b}[2J\" (a TEXT DEFAULT '\u{1b}]52;c;aA==\u{7}');
         INSERT INTO \"sly\u{1b}[2J\" VALUES ('x\u{1b}[2J\u{9b}31m')",
    );
    let settings = library.write_file(
        "settings.toml",
        format!("[profiles.shop]\nengine = \"sqlite\"\npath = {:?}\n", path.to_str().unwrap()),
    );
    let settings = settings.to_str().unwrap();
    let statement = "SELECT * FROM \"sly\u{1b}[2J\"";
    for arguments in [
        &["query", statement][..],
        &["query", "--format", "json", statement],
        &["query", "SELECT * FROM \"\u{1b}[2J\""],
        &["schema"],
        &["explain", statement],
    ] {
        let done = library.run(&[arguments, &["--config", settings]].concat());
        assert!(!done.stdout.is_empty() || done.code != 0, "{arguments:?}: {done:?}");
        assert!(!has_controls(&done.stdout), "{arguments:?}: {done:?}");
        assert!(!has_controls(&done.stderr), "{arguments:?}: {done:?}");
    }
    let csv = ["query", "--format", "csv", statement, "--config", settings];
    let piped = library.run(&csv).stdout;
    assert!(piped.contains("x\u{1b}[2J\u{9b}31m"), "a file keeps the bytes: {piped:?}");
    if let Some(shown) = run_in_terminal(&library, &csv) {
        assert!(shown.contains('x') && !has_controls(&shown.replace('\r', "")), "{shown:?}");
    }
}

/// Runs a command under a pseudo terminal. Returns `None` if the program `script` is missing.
fn run_in_terminal(library: &Library, arguments: &[&str]) -> Option<String> {
    let program = vademecum_command().get_program().to_str()?.to_owned();
    let data = library.data_folder();
    let quoted: Vec<String> = [&program as &str]
        .iter()
        .chain(arguments)
        .chain(&["--data", data.to_str()?])
        .map(|word| format!("'{word}'"))
        .collect();
    let output =
        Command::new("script").args(["-qec", &quoted.join(" "), "/dev/null"]).output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}
