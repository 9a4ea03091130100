//! End-to-end tests of the command line: output, exit codes and rejected arguments.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::support::{CommandOutput, HttpRequest, Library, McpClient, SOURCES, prompts_csv};

#[test]
fn demo_once_prints_hits_and_exits() {
    let done = Library::new().run(&["demo", "--once"]);
    assert_eq!(done.code, 0, "{done:?}");
    for part in [
        "notes: 3 from 3 files",
        "Serving at http://127.0.0.1:",
        "Keeping a sourdough starter",
        "notes://",
    ] {
        assert!(done.stdout.contains(part), "{part}: {done:?}");
    }
    assert!(done.stderr.is_empty(), "{done:?}");
}

#[test]
fn demo_uses_free_port_if_configured_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let library = Library::new();
    let settings = library.write_file("settings.toml", format!("[server]\nlisten = \"{address}\""));
    let done = library.run(&["demo", "--once", "--config", settings.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(!done.stdout.contains(&format!("{address}/")), "{done:?}");
}

#[test]
fn demos_run_concurrently() {
    std::thread::scope(|scope| {
        let demos = [0, 1].map(|_| scope.spawn(|| Library::new().run(&["demo", "--once"])));
        for demo in demos {
            let done = demo.join().unwrap();
            assert!(done.code == 0 && done.stdout.contains("notes://"), "{done:?}");
        }
    });
}

#[test]
fn explicit_listen_address_in_use_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for command in [vec!["demo", "--once"], vec!["serve"]] {
        let done = Library::new().run(&[command, vec!["--listen", &address]].concat());
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains(&format!("cannot listen on {address}")), "{done:?}");
    }
}

#[test]
fn demo_without_folder_leaves_no_files() {
    let temporary = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_vademecum"))
        .args(["demo", "--once"])
        .env("TMPDIR", temporary.path())
        .env("XDG_DATA_HOME", temporary.path().join("home"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn search_prints_readable_hits_and_paging() {
    let library = Library::with_lanterns();
    let done = library.run(&["search", "prisms"]);
    let uri =
        library.run(&["search", "--json", "prisms"]).parse_json()["results"][0]["uri"].clone();
    let expected = format!("1.00  The lighthouse at Skerry  [{}]\n", uri.as_str().unwrap());
    assert!(done.code == 0 && done.stdout.starts_with(&expected), "{done:?}");
    assert!(done.stdout.ends_with("1 of 1\n"), "{done:?}");
    let nothing = library.run(&["search", "zebra"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, "Nothing was found.\n"));
    let page = library.run(&["search", "lantern", "--limit", "2", "--offset", "4"]);
    assert!(page.stdout.ends_with("2 of 14; continue with --offset 6\n"), "{page:?}");
}

#[test]
fn title_with_line_breaks_prints_as_one_line() {
    let library = Library::new();
    let prompts = prompts_csv([("Rye\n1.00  Forged  [x]", "A loaf\n\nof bread.")]);
    library.import_file("prompts", "a.csv", prompts);
    let printed = library.run(&["search", "loaf"]);
    let lines: Vec<&str> = printed.stdout.lines().collect();
    assert!(lines.len() == 3 && lines[0].contains("Rye 1.00 Forged [x]"), "{printed:?}");
}

#[test]
fn search_json_equals_server_response() {
    let library = Library::with_lanterns();
    let server = library.serve();
    for (arguments, same) in [
        (vec!["lantern"], json!({ "query": "lantern" })),
        (vec!["brass", "lantern"], json!({ "query": "brass lantern" })),
        (
            vec!["lantern", "--limit", "3", "--offset", "2"],
            json!({ "query": "lantern", "limit": 3, "offset": 2 }),
        ),
        (vec!["lantern", "--recent"], json!({ "query": "lantern", "order_by": "recent" })),
        (
            vec!["lantern", "--source", "notes", "--source", "chats"],
            json!({ "query": "lantern", "sources": ["notes", "chats"] }),
        ),
        (vec!["\"whale oil\" -tent"], json!({ "query": "\"whale oil\" -tent" })),
    ] {
        let done = library.run(&[vec!["search", "--json"], arguments].concat());
        assert_eq!(done.parse_json(), server.client().call_tool("knowledge.search", &same));
    }
}

#[test]
fn get_prints_text_or_server_json() {
    let library = Library::with_lanterns();
    let server = library.serve();
    for query in ["prisms", "clockwork", "donkey", "flickers", "burner"] {
        let hit = server.client().only_hit("knowledge.search", &json!({ "query": query }));
        let uri = hit["uri"].as_str().unwrap();
        let plain = library.run(&["get", uri]);
        assert!(plain.code == 0 && plain.stdout.contains(query), "{plain:?}");
        let same = server.client().call_tool(
            "knowledge.get",
            &json!({
                "source": hit["source"], "id": uri, "retrieval": { "mode": "full" },
            }),
        );
        assert_eq!(library.run(&["get", "--json", uri]).parse_json(), same);
    }
}

#[test]
fn get_prints_continuation_offset_for_long_items() {
    let library = Library::new();
    library.import_file("notes", "long.txt", "thimble ".repeat(20_000));
    let uri =
        library.run(&["search", "--json", "thimble"]).parse_json()["results"][0]["uri"].clone();
    let uri = uri.as_str().unwrap();
    let first = library.run(&["get", uri]);
    assert!(first.stdout.ends_with("… continue with --offset 100000\n"), "{}", first.stdout.len());
    let rest = library.run(&["get", uri, "--offset", "100000"]);
    assert!(!rest.stdout.contains("continue with"));
    let brief =
        library.run(&["get", uri, "--mode", "chunk_with_siblings", "--max-tokens", "10", "--json"]);
    assert!(brief.parse_json()["content"].as_str().unwrap().chars().count() <= 40);
}

#[test]
fn invalid_commands_exit_with_error() {
    let library = Library::with_lanterns();
    for (arguments, code, part) in [
        (vec!["get", "notes://gone"], 1, "note `gone` not found"),
        (vec!["get", "gone"], 1, "no item is named `gone`"),
        (vec!["get", "notes://gone", "--mode", "all"], 1, "mode"),
        (vec!["search", ""], 1, "query"),
        (vec!["search", "lantern", "--limit", "0"], 1, "limit"),
        (vec!["search", "lantern", "--source", "recipes"], 1, "`recipes`; sources are notes"),
        (vec!["search"], 2, "QUERY"),
        (vec!["dance"], 2, "dance"),
        (vec![], 2, "Usage"),
    ] {
        let done = library.run(&arguments);
        assert!(done.code == code && done.stderr.contains(part), "{arguments:?}: {done:?}");
        assert!(done.stdout.is_empty(), "{done:?}");
    }
}

#[test]
fn check_passes_for_healthy_library() {
    let library = Library::with_lanterns();
    let done = library.run(&["check"]);
    assert_eq!(done.code, 0, "{done:?}");
    for file in ["chacha.db", "media.db", "prompts.db"] {
        let line = done.stdout.lines().find(|line| line.contains(file)).unwrap();
        assert!(line.starts_with("ok: "), "{line}");
    }
    assert!(done.stdout.contains("ok: settings"));
}

#[test]
fn check_warns_of_untrusted_proxy() {
    let library = Library::new();
    library.create_key("ada");
    let check = |settings: &str| {
        let file = library.write_file("settings.toml", settings);
        library.run(&["check", "--config", file.to_str().unwrap()]).stdout
    };
    let multi = "[auth]\nmode = \"multi\"\n";
    assert!(check(multi).contains("warning: auth.trusted_proxies"));
    let trusted = format!("{multi}trusted_proxies = [\"127.0.0.1\"]\n");
    assert!(!check(&trusted).contains("trusted_proxies"));
    assert!(!check("").contains("trusted_proxies"));
}

#[test]
fn check_does_not_create_missing_library() {
    let library = Library::new();
    let done = library.run(&["check"]);
    assert!(done.code == 0 && done.stdout.contains("does not exist yet"), "{done:?}");
    assert!(!library.data_folder().exists());
}

fn media_database(library: &Library) -> PathBuf {
    library.data_folder().join("users/local/media.db")
}

/// Asserts that `check` reports the media database as broken and that all other sources still
/// return hits.
fn assert_only_media_fails(library: &Library) {
    let check = library.run(&["check"]);
    assert_eq!(check.code, 1, "{check:?}");
    let broken: Vec<&str> =
        check.stdout.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(!broken.is_empty() && broken.iter().all(|line| line.contains("media.db")), "{check:?}");

    let server = library.serve();
    let found =
        server.client().call_tool("knowledge.search", &json!({ "query": "lantern", "limit": 100 }));
    assert_eq!(found["total_estimated"], 11, "{found}");
    let failed = found["_meta"]["failed_sources"].as_array().unwrap();
    assert!(failed.len() == 1 && failed[0]["source"] == "media", "{failed:?}");
    assert!(!failed[0]["reason"].as_str().unwrap().is_empty());
    for source in SOURCES.iter().filter(|source| **source != "media") {
        assert!(
            !server
                .client()
                .search_uris(&format!("{source}.search"), &json!({ "query": "lantern" }))
                .is_empty()
        );
    }
    for (tool, arguments) in
        [("media.search", json!({ "query": "lantern" })), ("media.get", json!({ "media_id": 1 }))]
    {
        let problem = server.client().expect_tool_error(tool, &arguments);
        assert!(
            !problem.contains(library.data_folder().to_str().unwrap()),
            "the error discloses the data folder: {problem}"
        );
    }
    for command in [&["search", "lantern"][..], &["list"]] {
        let output = library.run(command);
        assert!(output.code == 1 && output.stdout.contains("Source media failed: "), "{output:?}");
        let output = library.run(&[command, &["--json"]].concat());
        assert!(output.code == 1 && output.stdout.contains("failed_sources"), "{output:?}");
    }
}

#[test]
fn non_database_file_fails_only_its_source() {
    let library = Library::with_lanterns();
    let mut bytes = fs::read(media_database(&library)).unwrap();
    bytes[..64].fill(b'x');
    fs::write(media_database(&library), bytes).unwrap();
    assert_only_media_fails(&library);
}

#[test]
fn damaged_database_fails_only_its_source() {
    let library = Library::with_lanterns();
    let mut bytes = fs::read(media_database(&library)).unwrap();
    bytes[4_096..].fill(0xff);
    fs::write(media_database(&library), bytes).unwrap();
    assert_only_media_fails(&library);
}

#[test]
fn unknown_setting_is_rejected_by_name() {
    let library = Library::new();
    let settings = library.write_file("settings.toml", "[server]\nlissen = \"127.0.0.1:1\"\n");
    let file = settings.to_str().unwrap();
    for command in
        [vec!["serve"], vec!["mcp"], vec!["check"], vec!["search", "x"], vec!["demo", "--once"]]
    {
        let done = library.run(&[command, vec!["--config", file]].concat());
        assert_eq!(done.code, 1, "{done:?}");
        assert!(
            done.stderr.contains("lissen") && done.stderr.contains("settings.toml"),
            "{done:?}"
        );
    }
}

#[test]
fn unreadable_settings_file_is_named() {
    let library = Library::new();
    let done = library.run(&["check", "--config", "/nowhere/settings.toml"]);
    assert!(done.code == 1 && done.stderr.contains("/nowhere/settings.toml"), "{done:?}");
}

#[test]
fn non_loopback_address_is_refused() {
    let refused = |done: &CommandOutput| {
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains("127.0.0.1") && done.stdout.is_empty(), "{done:?}");
    };
    let library = Library::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7744"] {
        refused(&library.run(&["serve", "--listen", address]));
        refused(&library.run(&["demo", "--once", "--listen", address]));
        let settings =
            library.write_file("settings.toml", format!("[server]\nlisten = \"{address}\"\n"));
        refused(&library.run(&["serve", "--config", settings.to_str().unwrap()]));
    }
}

#[test]
fn commands_print_help() {
    let library = Library::new();
    for (command, part) in [
        ("", "Examples:"),
        ("demo", "temporary folder"),
        ("serve", "Examples:"),
        ("mcp", "mcpServers"),
        ("import", "Examples:"),
        ("search", "Examples:"),
        ("get", "Examples:"),
        ("check", "Exit codes: 0"),
        ("eval", "qrels/test.tsv"),
    ] {
        for help in ["--help", "-h"] {
            let arguments: Vec<&str> =
                [command, help].into_iter().filter(|it| !it.is_empty()).collect();
            let done = library.run(&arguments);
            assert!(done.code == 0 && done.stdout.contains(part), "{done:?}");
            assert!(done.stdout.contains("Usage:"), "{done:?}");
        }
    }
    let version = library.run(&["--version"]);
    assert_eq!(version.stdout.trim(), format!("vademecum {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn example_settings_start_a_server() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("config.example.toml");
    let server = Library::with_lanterns().serve_with(&["--config", example.to_str().unwrap()]);
    assert_eq!(
        server.client().search_uris("knowledge.search", &json!({ "query": "lantern" })).len(),
        14
    );
}

#[test]
fn closed_output_pipe_is_not_an_error() {
    let library = Library::with_lanterns();
    let mut process = Command::new(env!("CARGO_BIN_EXE_vademecum"))
        .args(["search", "lantern", "--data"])
        .arg(library.data_folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(process.stdout.take());
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// Overwrites four bytes in the file header of the media database, where SQLite stores the identity
/// of a file, and returns the new content of the file.
fn overwrite_header(library: &Library, place: usize, value: u32) -> Vec<u8> {
    let mut bytes = fs::read(media_database(library)).unwrap();
    bytes[place..place + 4].copy_from_slice(&value.to_be_bytes());
    fs::write(media_database(library), &bytes).unwrap();
    bytes
}

#[test]
fn foreign_database_is_never_modified() {
    // Offset 68 is the `application_id`, here of another program; offset 60 is the `user_version`,
    // here of a later version.
    for (place, value) in [(68, 7), (60, 999)] {
        let library = Library::with_lanterns();
        let bytes = overwrite_header(&library, place, value);
        assert_only_media_fails(&library);
        let file = library.write_file("more.txt", "A lantern.");
        let done = library.run(&["import", "media", file.to_str().unwrap()]);
        assert!(done.code == 1 && done.stderr.contains("media.db"), "{done:?}");
        assert!(fs::read(media_database(&library)).unwrap() == bytes, "the file was modified");
    }
}

#[test]
fn queries_and_content_are_never_logged() {
    let library = Library::new();
    let file = library.write_file("note.md", "# Attic\nA thimble and an anvil.");
    let import = library.run(&["import", "notes", file.to_str().unwrap(), "--log", "trace"]);
    let search = library.run(&["search", "thimble", "--log", "trace"]);
    assert!(search.stdout.contains("thimble") && search.stdout.contains("anvil"), "{search:?}");
    for log in [import.stderr, search.stderr] {
        for word in ["thimble", "anvil"] {
            assert!(!log.contains(word), "{log}");
        }
    }
}

/// Sends a signal to a process, as a terminal or a service manager does.
fn send_signal(process: u32, name: &str) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn demo_serves_until_interrupted() {
    let library = Library::new();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_vademecum"))
        .args(["demo", "--listen", "127.0.0.1:0", "--data"])
        .arg(library.data_folder())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let serving = lines.find(|line| line.starts_with("Serving at http://")).unwrap();
    let address = serving["Serving at http://".len()..].split('/').next().unwrap();
    lines.find(|line| line.contains("Serving until Ctrl-C")).unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let answer = HttpRequest::new(address, "POST", "/mcp").json(&ping).send();
    assert_eq!(answer.json()["result"], json!({}));
    send_signal(demo.id(), "-INT");
    assert_eq!(lines.last().as_deref(), Some("Stopped."));
    assert_eq!(demo.wait().unwrap().code(), Some(0));
}

#[test]
fn server_exits_cleanly_on_signal() {
    for name in ["-INT", "-TERM"] {
        let library = Library::with_lanterns();
        let mut server = library.serve();
        assert_eq!(
            server.client().search_uris("knowledge.search", &json!({ "query": "prisms" })).len(),
            1
        );
        send_signal(server.process(), name);
        assert_eq!(server.wait_for_exit(), Some(0), "{name}");
        assert_eq!(library.run(&["check"]).code, 0);
    }
}
