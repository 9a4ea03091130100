//! Sessions of coding agents: found in their usual places, imported without secrets, searched by project
//! and agent.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
};

use serde_json::{Value, json};
use vademecum_store::Database;

use crate::plain_sqlite;
use crate::support::{CommandOutput, Library, McpClient as _, TempHome, vademecum_command};

const SECRET: &str = "ghp_0a9B8c7D6e5F4g3H2i1J0k9L8m7N6o5P4q3R";
const CLAUDE_FILE: &str = ".claude/projects/-home-ada-garden/garden-1.jsonl";

/// A line of Claude Code with the person's words.
fn prompt(uuid: &str, parent: &str, session: &str, text: &str) -> String {
    let line = json!({
        "type": "user", "uuid": uuid, "parentUuid": (!parent.is_empty()).then_some(parent),
        "timestamp": "2026-03-01T09:00:00Z", "sessionId": session, "cwd": "/home/ada/garden",
        "message": { "role": "user", "content": text },
    });
    format!("{line}\n")
}

fn home_with_sessions() -> TempHome {
    let home = TempHome::new();
    for (seed, path) in [
        ("claude_code.jsonl", CLAUDE_FILE),
        ("codex.jsonl", ".codex/sessions/2026/03/01/rollout-1.jsonl"),
        ("opencode.db", ".local/share/opencode/opencode.db"),
    ] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/sessions");
        let path = home.file_path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(from.join(seed), path).unwrap();
    }
    home
}

fn import_sessions(home: &TempHome, library: &Library, more: &[&str]) -> CommandOutput {
    let data = library.data_folder();
    let data = data.to_str().unwrap();
    home.run(&[&["import", "sessions", "--data", data], more].concat())
}

fn import_counts(home: &TempHome, library: &Library) -> [u64; 3] {
    let done = import_sessions(home, library, &["--yes", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    ["new", "updated", "unchanged"].map(|name| done.parse_json()[name].as_u64().unwrap())
}

fn append(home: &TempHome, text: &str) {
    let path = home.file_path(CLAUDE_FILE);
    let whole = fs::read_to_string(&path).unwrap() + text;
    fs::write(path, whole).unwrap();
}

fn hits(library: &Library, filters: &Value) -> Vec<Value> {
    let server = library.serve();
    let found = server.client().call_tool("chats.search", filters);
    found["results"].as_array().unwrap().clone()
}

#[test]
fn sessions_are_counted_first_and_imported_once() {
    let (home, library) = (home_with_sessions(), Library::new());
    let dry = import_sessions(&home, &library, &[]);
    for line in ["Claude Code: 1 file in ", "Codex: 1 file in ", "OpenCode: 1 file in ", "6 new"] {
        assert!(dry.stdout.contains(line), "{line}: {dry:?}");
    }
    assert!(dry.stderr.contains("--yes"), "{dry:?}");
    // Each session has a log.
    assert_eq!(import_counts(&home, &library), [6, 0, 0]);
    assert_eq!(import_counts(&home, &library), [0, 0, 6]);
    // A line that is being written waits.
    append(&home, r#"{"type":"user","uuid":"u5","#);
    assert_eq!(import_counts(&home, &library), [0, 0, 6]);
    fs::remove_dir_all(home.file_path(".claude")).unwrap();
    assert_eq!(import_counts(&home, &library), [0, 0, 4]);
    assert_eq!(hits(&library, &json!({ "query": "tomatoes" })).len(), 3);
}

#[test]
fn sessions_are_filtered_by_project_and_agent() {
    let (home, library) = (home_with_sessions(), Library::new());
    library.import_file(
        "chats",
        "other.jsonl",
        "{\"role\":\"user\",\"content\":\"Which bed has the tomatoes?\"}\n",
    );
    import_counts(&home, &library);
    let count = |filters: Value| {
        let mut filters = filters;
        filters["query"] = json!("tomatoes");
        hits(&library, &filters).len()
    };
    assert_eq!(count(json!({})), 4);
    assert_eq!(count(json!({ "project": "garden" })), 3);
    assert_eq!(count(json!({ "project": "/home/ada/garden", "agent": "codex" })), 1);
    assert_eq!(count(json!({ "project": "kitchen" })), 0);
    let server = library.serve();
    let client = server.client();
    let filters = json!({ "chats": { "agent": "claude-code", "project": "garden" } });
    let found = client.call_tool(
        "knowledge.search",
        &json!({ "query": "tomatoes", "sources": ["chats"], "filters": filters }),
    );
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn commands_are_searched_and_logs_on_request() {
    let (home, library) = (home_with_sessions(), Library::new());
    import_counts(&home, &library);
    let server = library.serve();
    let client = server.client();
    let search = |query: &str, with_logs: bool| {
        let asked = json!({ "query": query, "agent": "claude-code", "with_logs": with_logs });
        let found = client.call_tool("chats.search", &asked);
        found["results"].as_array().unwrap().clone()
    };
    let command = search("cat", false);
    assert_eq!(command.len(), 1, "{command:?}");
    let id = command[0]["conversation_id"].clone();
    let read = client.call_tool("chats.get", &json!({ "conversation_id": id }));
    let content = &read["content"];
    assert_eq!(content["messages"].as_array().unwrap().len(), 2, "{read}");
    assert_eq!(content["messages"][1]["commands"], json!(["cat beds.txt"]));
    assert_eq!(content["session"]["folder"], json!("/home/ada/garden"));
    assert_eq!(content["session"]["conversations"][0]["is_log"], json!(true));
    // The conversation leaves out reasoning and the output of tools.
    assert!(search("look", false).is_empty());
    assert_eq!(search("look", true).len(), 1);
}

#[test]
fn secrets_are_removed_before_anything_is_stored() {
    let (home, library) = (home_with_sessions(), Library::new());
    append(&home, &prompt("u5", "u4", "garden-1", &format!("Use {SECRET} please.")));
    let done = import_sessions(&home, &library, &["--yes"]);
    assert!(done.stdout.contains("1 secret removed from sessions: github-token 1"), "{done:?}");
    for entry in walkdir::WalkDir::new(library.data_folder()) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!found, "{}", entry.path().display());
        }
    }
    let found = hits(&library, &json!({ "query": "redacted please" }));
    assert_eq!(found[0]["snippet"], json!("Use [redacted: github-token] please."), "{found:?}");
    let kept = Library::new();
    let done = import_sessions(&home, &kept, &["--yes", "--keep-secrets"]);
    assert!(!done.stdout.contains("removed from sessions"), "{done:?}");
    assert!(!hits(&kept, &json!({ "query": SECRET })).is_empty());
}

#[test]
fn rewound_and_copied_turns_are_not_doubled() {
    let (home, library) = (home_with_sessions(), Library::new());
    append(&home, &prompt("u5", "u4", "garden-1", "A marrow?"));
    import_counts(&home, &library);
    assert_eq!(hits(&library, &json!({ "query": "marrow" })).len(), 1);
    // The person takes it back and asks something else.
    append(&home, &prompt("u6", "u4", "garden-1", "A radish?"));
    import_counts(&home, &library);
    assert!(hits(&library, &json!({ "query": "marrow" })).is_empty());
    assert_eq!(hits(&library, &json!({ "query": "radish" })).len(), 1);
    // A fork copies all lines into a file of its own.
    let text = home.read_file(CLAUDE_FILE).replace("\"garden-1\"", "\"garden-2\"");
    let fork = text + &prompt("u7", "u6", "garden-2", "A leek?");
    home.write_file(&CLAUDE_FILE.replace("garden-1", "garden-2"), &fork);
    import_counts(&home, &library);
    for word in ["radish", "leek"] {
        assert_eq!(hits(&library, &json!({ "query": word })).len(), 1, "{word}");
    }
}

#[test]
fn broken_session_is_one_line_of_problems() {
    let library = Library::new();
    let first = prompt("u1", "", "s", "Hello.");
    let broken = "{\"type\": \"user\", oh\n".repeat(3_000);
    let path = library.write_file("in/s.jsonl", format!("{first}{broken}"));
    let done = library.run(&["import", path.to_str().unwrap()]);
    let lines: Vec<&str> =
        done.stderr.lines().filter(|line| line.contains("read in part")).collect();
    assert_eq!(lines.len(), 1, "{done:?}");
    assert!(lines[0].contains("3000 of its lines"), "{done:?}");
}

/// A running `import sessions --watch`.
struct WatchedSessions {
    process: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl WatchedSessions {
    fn start(home: &TempHome, library: &Library) -> Self {
        let mut command = vademecum_command();
        let mut process = home
            .isolate_command(&mut command)
            .args(["import", "sessions", "--yes", "--watch", "--json", "--data"])
            .arg(library.data_folder())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// Waits for the next summary.
    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

impl Drop for WatchedSessions {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn watch_imports_appended_turns() {
    let (home, library) = (home_with_sessions(), Library::new());
    let mut watching = WatchedSessions::start(&home, &library);
    assert_eq!(watching.next()["new"], json!(6));
    append(&home, &prompt("u5", "u4", "garden-1", "A marrow?"));
    assert_eq!(watching.next()["updated"], json!(1));
    drop(watching);
    assert_eq!(hits(&library, &json!({ "query": "marrow" })).len(), 1);
}

/// Writes at the end of the file, as programs do.
fn append_bytes(home: &TempHome, text: &str) {
    let path = home.file_path(CLAUDE_FILE);
    let mut file = fs::File::options().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn watch_reads_only_what_was_appended() {
    let (home, library) = (home_with_sessions(), Library::new());
    // Most of a session is output of tools.
    let result = json!({
        "type": "user", "uuid": "u5", "parentUuid": "u4", "sessionId": "garden-1",
        "timestamp": "2026-03-01T09:00:00Z", "message": { "role": "user", "content":
            [{ "type": "tool_result", "content": "word ".repeat(400_000) }] },
    });
    append_bytes(&home, &format!("{result}\n"));
    let size = fs::metadata(home.file_path(CLAUDE_FILE)).unwrap().len();
    let mut watching = WatchedSessions::start(&home, &library);
    assert!(watching.next()["bytes"].as_u64().unwrap() > size);
    // The anchor is 1 KiB.
    let mut read_bytes = |line: &str| {
        append_bytes(&home, line);
        let summary = watching.next();
        assert_eq!(summary["updated"], json!(1), "{summary}");
        summary["bytes"].as_u64().unwrap() - u64::try_from(line.len()).unwrap()
    };
    let mut parent = "u5".to_owned();
    for (number, word) in ["marrow", "radish", "leek"].into_iter().enumerate() {
        let uuid = format!("w{number}");
        let read = read_bytes(&prompt(&uuid, &parent, "garden-1", &format!("A {word}?")));
        assert!(read <= 1_024, "{read} bytes");
        parent = uuid;
    }
    // A rewind changes earlier turns, so that the whole file is read.
    assert!(read_bytes(&prompt("w9", "w0", "garden-1", "A quince?")) > size);
    // A secret in the added lines may be in the earlier ones, too.
    assert!(read_bytes(&prompt("w10", "w9", "garden-1", &format!("Use {SECRET}."))) > size);
    assert!(read_bytes(&prompt("w11", "w10", "garden-1", &format!("Again {SECRET}."))) <= 1_024);
    drop(watching);
    for (word, count) in [("marrow", 1), ("radish", 0), ("leek", 0), ("quince", 1), (SECRET, 0)] {
        assert_eq!(hits(&library, &json!({ "query": word })).len(), count, "{word}");
    }
    // An import of all files finds nothing to change.
    assert_eq!(import_counts(&home, &library)[0], 0);
    assert_eq!(hits(&library, &json!({ "query": "again" })).len(), 1);
    fs::remove_dir_all(home.file_path(".claude")).unwrap();
    import_counts(&home, &library);
    assert_eq!(hits(&library, &json!({ "query": "quince" })).len(), 1);
}

#[test]
fn watch_lets_torn_lines_wait() {
    let (home, library) = (home_with_sessions(), Library::new());
    let mut watching = WatchedSessions::start(&home, &library);
    watching.next();
    append_bytes(&home, &prompt("u5", "u4", "garden-1", "A marrow?"));
    watching.next();
    let line = prompt("u6", "u5", "garden-1", "A radish?");
    let (begin, end) = line.split_at(40);
    append_bytes(&home, begin);
    append_bytes(&home, end);
    assert_eq!(watching.next()["skipped"], json!([]));
    // New sessions are found, too.
    let other = prompt("o1", "", "other", "A fennel?");
    home.write_file(&CLAUDE_FILE.replace("garden-1", "other"), &other);
    assert_eq!(watching.next()["new"], json!(1));
    drop(watching);
    for word in ["marrow", "radish", "fennel"] {
        assert_eq!(hits(&library, &json!({ "query": word })).len(), 1, "{word}");
    }
}

#[test]
fn log_is_hidden_with_its_session() {
    let (home, library) = (home_with_sessions(), Library::new());
    import_counts(&home, &library);
    // Only the session itself gets the tag.
    let tag = "
        INSERT INTO keywords (keyword, created_at, last_modified) VALUES ('private', '', '');
        INSERT INTO conversation_keywords (conversation_id, keyword_id, created_at)
        SELECT id, last_insert_rowid(), ''
        FROM conversations
        WHERE source = 'claude-code' AND is_log IS NULL;";
    let path = library.store(Database::Chacha).path().to_owned();
    let database = plain_sqlite::open_plainly(&path);
    database.execute_batch(tag).unwrap();
    drop(database);
    let server = library.serve_with_settings("[[deny]]\ntags = [\"private\"]");
    let client = server.client();
    for (agent, count) in [("claude-code", 0), ("codex", 1)] {
        let asked = json!({ "query": "look", "agent": agent, "with_logs": true });
        let found = client.call_tool("chats.search", &asked);
        assert_eq!(found["results"].as_array().unwrap().len(), count, "{agent}: {found}");
    }
}
