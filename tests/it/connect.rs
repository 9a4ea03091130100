//! End-to-end tests of `vademecum connect` and `disconnect`: their output, their changes to the
//! settings file of a client, and everything they must preserve.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Library, TempHome};

/// Clients with a settings file: the name of the client, the path of the file on Linux, and the
/// section that lists the servers.
const CLIENTS_WITH_FILE: [(&str, &str, &str); 5] = [
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
    ("claude-code", ".claude.json", "mcpServers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("vscode", ".config/Code/User/mcp.json", "servers"),
    ("codex", ".codex/config.toml", "mcp_servers"),
];

const PROGRAM: &str = env!("CARGO_BIN_EXE_vademecum");

/// Parses settings in TOML or JSON, depending on the file extension.
fn parse_settings(name: &str, text: &str) -> Value {
    if Path::new(name).extension().is_some_and(|it| it == "toml") {
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
        serde_json::to_value(table).unwrap()
    } else {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

fn assert_success(done: &CommandOutput) -> &CommandOutput {
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    done
}

fn assert_failure(done: &CommandOutput, parts: &[&str]) {
    assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{done:?}");
    for part in parts {
        assert!(done.stderr.contains(part), "{part}: {done:?}");
    }
}

#[test]
fn connect_without_write_changes_no_file() {
    for (client, _, section) in CLIENTS_WITH_FILE {
        let home = TempHome::new();
        let done = home.run(&["connect", client]);
        assert_success(&done);
        assert!(done.stdout.contains(PROGRAM) && done.stdout.contains(section), "{done:?}");
        let file = done.stdout.lines().next().unwrap().split(": add this to ").nth(1).unwrap();
        assert!(Path::new(file).starts_with(home.path()), "{file}");
        assert!(home.list_folder("").is_empty(), "{:?}", home.list_folder(""));
    }
}

#[test]
fn connect_prints_exactly_what_it_writes() {
    for (client, _, _) in CLIENTS_WITH_FILE {
        let home = TempHome::new();
        for more in [vec![], vec!["--http"], vec!["--http", "--key-env", "KEY", "--name", "other"]]
        {
            if client == "claude-desktop" && !more.is_empty() {
                continue;
            }
            let file = home.file_path("settings");
            let line = [vec!["connect", client, "--file", file.to_str().unwrap()], more].concat();
            let shown = home.run(&line);
            assert_success(&home.run(&[line, vec!["--write"]].concat()));
            assert!(
                assert_success(&shown).stdout.contains(&home.read_file("settings")),
                "{shown:?}"
            );
            fs::remove_file(file).unwrap();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn connect_writes_to_default_file_of_client() {
    for (client, file, section) in CLIENTS_WITH_FILE {
        let home = TempHome::new();
        assert_success(&home.run(&["connect", client, "--write"]));
        let entry = &parse_settings(file, &home.read_file(file))[section]["vademecum"];
        assert_eq!((&entry["command"], &entry["args"]), (&json!(PROGRAM), &json!(["mcp"])));
        let typed = ["claude-code", "cursor", "vscode"].contains(&client);
        assert_eq!(entry.get("type"), typed.then_some(&json!("stdio")), "{client}");
    }
}

#[test]
fn connect_honours_config_folder_environment_variables() {
    for (client, variable, file) in [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
    ] {
        let home = TempHome::new();
        let folder = home.file_path("elsewhere");
        assert_success(&home.run_with(&["connect", client, "--write"], &[(variable, &folder)]));
        assert_eq!(home.list_folder("elsewhere"), [file]);
    }
}

#[test]
fn written_command_starts_server_on_the_library() {
    let library = Library::with_lanterns();
    let home = TempHome::new();
    for (client, section) in [("cursor", "mcpServers"), ("codex", "mcp_servers")] {
        let file = home.file_path(if client == "codex" { "new/it.toml" } else { "new/it.json" });
        let file = file.to_str().unwrap();
        let done = library.run(&["connect", client, "--write", "--file", file]);
        assert_success(&done);
        let entry = &parse_settings(file, &fs::read_to_string(file).unwrap())[section]["vademecum"];
        let arguments = entry["args"].as_array().unwrap();
        let mut server = Command::new(entry["command"].as_str().unwrap());
        let mut server = home
            .isolate_command(&mut server)
            .args(arguments.iter().map(|it| it.as_str().unwrap()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "knowledge_search", "arguments": { "query": "lantern" },
        }});
        writeln!(server.stdin.take().unwrap(), "{call}").unwrap();
        let mut answer = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        server.wait().unwrap();
        assert!(answer.contains("notes://"), "{answer}");
    }
}

#[test]
fn relative_paths_are_written_as_absolute() {
    let home = TempHome::new();
    home.write_file("my settings.toml", "");
    let options = ["--data", "here/data", "--user", "anna", "--config", "my settings.toml"];
    let line = [&["connect", "cursor", "--write", "--file", "it.json"][..], &options].concat();
    assert_success(&home.run(&line));
    let path = |name: &str| {
        let folder = fs::canonicalize(home.path()).unwrap();
        json!(folder.join(name).to_str().unwrap())
    };
    let args =
        parse_settings("it.json", &home.read_file("it.json"))["mcpServers"]["vademecum"]["args"]
            .take();
    let expected = json!([
        "mcp",
        "--data",
        path("here/data"),
        "--user",
        "anna",
        "--config",
        path("my settings.toml")
    ]);
    assert_eq!(args, expected);
}

#[test]
fn repeated_connect_changes_nothing() {
    for (client, _, _) in CLIENTS_WITH_FILE {
        let home = TempHome::new();
        let line = ["connect", client, "--write", "--file", "it"];
        assert_success(&home.run(&line));
        let first = home.read_file("it");
        let again = home.run(&line);
        assert!(assert_success(&again).stdout.contains("Nothing to change"), "{again:?}");
        assert_eq!((home.read_file("it"), home.list_folder("")), (first, vec!["it".to_owned()]));
    }
}

#[test]
fn connect_preserves_unrelated_content() {
    let json = "{\n    \"z\": [1,2 ,3],\n    \"a\": {\"b\":\"\\u00e4\"},\n    \"mcpServers\": {\n        \
                \"git\": { \"command\": \"git-mcp\" }\n    },\n    \"last\": 1.50\n}\n";
    let jsonc = "// mine\n{\n\t/* first */ \"inputs\": [],\n\t\"servers\": {\n\t\t\"git\": \
                 { \"command\": \"git-mcp\" }, // why\n\t},\n}\n";
    let toml = "# mine\nmodel = 'x'  # why\n\n[mcp_servers.git]\ncommand = \"git-mcp\"\n\n\
                [profiles.a]\nx = 0x10\n# end\n";
    for (client, before) in
        [("claude-desktop", json), ("claude-code", json), ("vscode", jsonc), ("codex", toml)]
    {
        let home = TempHome::new();
        home.write_file("it", before);
        assert_success(&home.run(&["connect", client, "--write", "--file", "it"]));
        let after = home.read_file("it");
        // All previous lines are kept in their order, apart from commas appended to them.
        let mut lines = after.lines();
        for line in before.lines() {
            let is_kept = lines.any(|it| it == line || it == format!("{line},"));
            assert!(is_kept, "{client}: {line}\n{after}");
        }
        assert_eq!(home.read_file("it.vademecum-backup"), before);
        assert_success(&home.run(&["disconnect", client, "--file", "it"]));
        assert_eq!(home.read_file("it"), before, "{client}");
    }
}

#[test]
fn disconnect_restores_previous_file() {
    for (client, _, _) in CLIENTS_WITH_FILE {
        for before in ["", "{}", "{\"a\":1}", "{ \"mcpServers\": {}, \"servers\": {} }\r\n"] {
            let (before, home) =
                (if client == "codex" { "a = 1" } else { before }, TempHome::new());
            home.write_file("it", before);
            assert_success(&home.run(&["connect", client, "--write", "--file", "it"]));
            assert_ne!(home.read_file("it"), before);
            assert_success(&home.run(&["disconnect", client, "--file", "it"]));
            assert_eq!(home.read_file("it"), before, "{client}");
        }
    }
}

#[test]
fn disconnect_removes_file_created_by_connect() {
    for (client, _, _) in CLIENTS_WITH_FILE {
        let home = TempHome::new();
        assert_success(&home.run(&["connect", client, "--write", "--file", "new/it"]));
        assert_success(&home.run(&["disconnect", client, "--file", "new/it"]));
        assert!(home.list_folder("new").is_empty(), "{:?}", home.list_folder("new"));
        let again = home.run(&["disconnect", client, "--file", "new/it"]);
        assert!(assert_success(&again).stdout.contains("Nothing to change"), "{again:?}");
    }
}

#[test]
fn disconnect_keeps_later_changes() {
    let home = TempHome::new();
    home.write_file("it", "{\n  \"a\": 1\n}\n");
    assert_success(&home.run(&["connect", "cursor", "--write", "--file", "it"]));
    home.write_file("it", &home.read_file("it").replace("\"a\": 1", "\"a\": 2"));
    assert_success(&home.run(&["disconnect", "cursor", "--file", "it"]));
    assert_eq!(home.read_file("it"), "{\n  \"a\": 2,\n  \"mcpServers\": {}\n}\n");
}

#[test]
fn backup_keeps_the_original_file() {
    let home = TempHome::new();
    home.write_file("it", "{ \"first\": 1 }");
    for data in ["one", "two"] {
        assert_success(
            &home.run(&["connect", "cursor", "--write", "--file", "it", "--data", data]),
        );
        assert!(home.read_file("it").contains(data));
    }
    assert_eq!(home.read_file("it.vademecum-backup"), "{ \"first\": 1 }");
    assert_eq!(home.list_folder(""), ["it", "it.vademecum-backup"]);
    // The file was last changed by `connect` itself, so `disconnect` may restore the backup.
    assert_success(&home.run(&["disconnect", "cursor", "--file", "it"]));
    assert_eq!(home.read_file("it"), "{ \"first\": 1 }");
}

#[test]
fn dry_run_prints_diff_without_writing() {
    let home = TempHome::new();
    let before = "{\n  \"a\": 1\n}\n";
    home.write_file("it", before);
    for line in [vec!["--dry-run"], vec!["--dry-run", "--write"]] {
        let done = home.run(&[vec!["connect", "cursor", "--file", "it"], line].concat());
        for part in ["\n-  \"a\": 1\n", "\n+  \"a\": 1,\n", "+    \"vademecum\": {"] {
            assert!(assert_success(&done).stdout.contains(part), "{part}: {done:?}");
        }
        assert_eq!((home.read_file("it").as_str(), home.list_folder("").len()), (before, 1));
    }
    assert_success(&home.run(&["connect", "cursor", "--write", "--file", "it"]));
    let connected = home.read_file("it");
    let done = home.run(&["disconnect", "cursor", "--dry-run", "--file", "it"]);
    assert!(assert_success(&done).stdout.contains("-    \"vademecum\": {"), "{done:?}");
    assert_eq!(home.read_file("it"), connected);
}

#[test]
fn malformed_file_is_left_unchanged() {
    for (client, text, place) in [
        ("claude-desktop", "{\n  \"mcpServers\": {,}\n}", "line 2, column 18"),
        ("claude-code", "{\n  \"a\": 1, // no comments here\n  \"b\": 2\n}", "line 2, column 11"),
        ("cursor", "{ \"a\": 1", "line 1, column"),
        ("vscode", "{ \"servers\": [] }", "`servers`"),
        ("codex", "a = 1\nb = \n", "line 2, column 5"),
    ] {
        let home = TempHome::new();
        home.write_file("it", text);
        for command in [vec!["connect", client, "--write"], vec!["disconnect", client]] {
            let done = home.run(&[command, vec!["--file", "it"]].concat());
            assert_failure(&done, &[place, "was not changed", "it"]);
            assert_eq!((home.read_file("it").as_str(), home.list_folder("").len()), (text, 1));
        }
    }
}

#[test]
fn foreign_entry_is_replaced_only_if_forced() {
    for (client, text) in [
        (
            "cursor",
            r#"{"mcpServers": {"vademecum": {"command": "npx", "args": ["-y", "x"], "env": {}}}}"#,
        ),
        ("codex", "[mcp_servers.vademecum]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = {}\n"),
    ] {
        let home = TempHome::new();
        home.write_file("it", text);
        assert_failure(
            &home.run(&["connect", client, "--write", "--file", "it"]),
            &["`vademecum`", "starts `npx`", "--name", "--force"],
        );
        assert_failure(
            &home.run(&["disconnect", client, "--file", "it"]),
            &["starts `npx`", "--force"],
        );
        assert_eq!((home.read_file("it").as_str(), home.list_folder("").len()), (text, 1));
        // Another name avoids the conflict.
        assert_success(
            &home.run(&["connect", client, "--write", "--file", "it", "--name", "mine"]),
        );
        assert!(home.read_file("it").contains("npx") && home.read_file("it").contains("mine"));
        assert_success(&home.run(&["connect", client, "--write", "--file", "it", "--force"]));
        for gone in ["npx", "env"] {
            assert!(!home.read_file("it").contains(gone), "{gone}: {}", home.read_file("it"));
        }
    }
}

#[test]
fn entry_with_other_address_is_foreign() {
    let home = TempHome::new();
    let to = |url: &'static str| ["connect", "cursor", "--write", "--file", "it", "--http", url];
    assert_success(&home.run(&to("https://work.example/mcp")));
    let before = home.read_file("it");
    for line in [&to("https://other.example/mcp")[..], &to("")[..5]] {
        assert_failure(&home.run(line), &["connects to https://work.example/mcp", "--force"]);
        assert_eq!(home.read_file("it"), before);
    }
    assert_success(&home.run(&["disconnect", "cursor", "--file", "it"]));
    assert!(home.list_folder("").is_empty());
}

#[test]
fn disconnect_removes_only_the_matching_entry() {
    let home = TempHome::new();
    let text = r#"{"mcpServers": {"github": {"url": "https://github.example/mcp"}}}"#;
    home.write_file("it", text);
    let line = ["disconnect", "cursor", "--file", "it", "--name", "github"];
    assert_failure(&home.run(&line), &["connects to https://github.example/mcp"]);
    assert_eq!(home.read_file("it"), text);
    let url = ["--http", "https://github.example/mcp"];
    assert_success(&home.run(&[&line[..], &url].concat()));
    assert_eq!(home.read_file("it"), r#"{"mcpServers": {}}"#);
}

#[test]
fn connect_keeps_user_fields_of_entry() {
    let home = TempHome::new();
    assert_success(&home.run(&["connect", "cursor", "--write", "--file", "it"]));
    let more = home.read_file("it").replace("[\"mcp\"]", "[\"mcp\"],\n      \"disabled\": true");
    home.write_file("it", &more);
    assert_success(&home.run(&["connect", "cursor", "--write", "--file", "it", "--user", "anna"]));
    let entry = &parse_settings("it", &home.read_file("it"))["mcpServers"]["vademecum"];
    assert_eq!(entry["disabled"], true);
    assert_eq!(entry["args"], json!(["mcp", "--user", "anna"]));
}

#[test]
fn http_entry_uses_configured_address() {
    let home = TempHome::new();
    home.write_file("settings.toml", "[server]\nlisten = \"127.0.0.1:9000\"");
    let line = ["connect", "vscode", "--write", "--file", "it", "--config", "settings.toml"];
    assert_success(&home.run(&[&line[..], &["--http"]].concat()));
    let entry = |home: &TempHome| {
        parse_settings("it", &home.read_file("it"))["servers"]["vademecum"].clone()
    };
    assert_eq!(entry(&home), json!({ "type": "http", "url": "http://127.0.0.1:9000/mcp" }));
    // Switching back to stdio removes the address.
    assert_success(&home.run(&line));
    assert_eq!((entry(&home).get("url"), &entry(&home)["type"]), (None, &json!("stdio")));
}

#[test]
fn http_entry_uses_public_address_and_login() {
    let home = TempHome::new();
    home.write_file(
        "settings.toml",
        "[server]\npublic_url = \"https://knowledge.example\"\n[auth]\noauth = true",
    );
    let line = ["connect", "cursor", "--file", "it", "--config", "settings.toml", "--http"];
    let shown = home.run(&line);
    assert!(assert_success(&shown).stdout.contains("where you log in"), "{shown:?}");
    assert_success(&home.run(&[&line[..], &["--write"]].concat()));
    let entry = parse_settings("it", &home.read_file("it"))["mcpServers"]["vademecum"].clone();
    assert_eq!(entry, json!({ "url": "https://knowledge.example/mcp" }));
    let elsewhere = home.run(&[&line[..], &["http://127.0.0.1:1/mcp"]].concat());
    assert!(assert_success(&elsewhere).stdout.contains("If the server requires a key"));
    let chatgpt = home.run(&["connect", "chatgpt", "--config", "settings.toml", "--http"]);
    assert!(assert_success(&chatgpt).stdout.contains("\nhttps://knowledge.example/mcp\n"));
}

#[test]
fn key_is_referenced_by_environment_variable_only() {
    for (client, expected) in [
        ("claude-code", json!({ "Authorization": "Bearer ${THE_KEY}" })),
        ("cursor", json!({ "Authorization": "Bearer ${env:THE_KEY}" })),
        ("vscode", json!({ "Authorization": "Bearer ${env:THE_KEY}" })),
        ("codex", json!("THE_KEY")),
    ] {
        let home = TempHome::new();
        let file = if client == "codex" { "it.toml" } else { "it.json" };
        let line = ["connect", client, "--write", "--file", file, "--http", "https://a.example"];
        let key = ["--key-env", "THE_KEY"];
        let variables = [("THE_KEY", Path::new("secret"))];
        assert_success(&home.run_with(&[&line[..], &key].concat(), &variables));
        let all = parse_settings(file, &home.read_file(file));
        let entry = &all.as_object().unwrap().values().next().unwrap()["vademecum"];
        assert_eq!(entry["url"], "https://a.example/mcp");
        let field = if client == "codex" { "bearer_token_env_var" } else { "headers" };
        assert_eq!(entry[field], expected);
        assert!(!home.read_file(file).contains("secret"));
        let refused = home.run(&[&line[..], &["--key-env", "sk-12345"]].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
    }
}

#[test]
fn client_without_settings_file_gets_instructions() {
    let home = TempHome::new();
    let url = "https://knowledge.example/mcp";
    for line in
        [["connect", "chatgpt", "--http", url], ["connect", "claude-desktop", "--http", url]]
    {
        let done = home.run(&line);
        assert!(assert_success(&done).stdout.contains(&format!("\n{url}\n")), "{done:?}");
        assert_failure(
            &home.run(&[&line[..], &["--write"]].concat()),
            &["cannot be connected this way", "it"],
        );
    }
    // A loopback address is of no use to a remote client, so a placeholder is printed.
    let done = home.run(&["connect", "chatgpt"]);
    assert!(assert_success(&done).stdout.contains("https://<your host>/mcp"), "{done:?}");
    assert_failure(&home.run(&["disconnect", "chatgpt"]), &["in your account"]);
    assert!(home.list_folder("").is_empty());
}

#[test]
fn invalid_connect_arguments_are_rejected() {
    let home = TempHome::new();
    for line in [
        vec!["connect", "emacs"],
        vec!["connect", "cursor", "--name", "my server"],
        vec!["connect", "cursor", "--http", "ws://a/mcp"],
        vec!["connect", "cursor", "--key-env", "KEY"],
    ] {
        let done = home.run(&[line, vec!["--write", "--file", "it"]].concat());
        assert_eq!(done.code, 2, "{done:?}");
    }
    assert_failure(
        &home.run(&["connect", "cursor", "--config", "missing.toml"]),
        &["missing.toml"],
    );
    assert!(home.list_folder("").is_empty());
}

#[cfg(unix)]
#[test]
fn file_permissions_and_symlinks_are_preserved() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let home = TempHome::new();
    let real = home.write_file("dotfiles/mcp.json", "{}\n");
    symlink("dotfiles/mcp.json", home.file_path("it")).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    assert_success(&home.run(&["connect", "cursor", "--write", "--file", "it"]));
    assert!(fs::symlink_metadata(home.file_path("it")).unwrap().is_symlink());
    assert!(home.read_file("dotfiles/mcp.json").contains("vademecum"));
    for file in ["dotfiles/mcp.json", "it.vademecum-backup"] {
        let mode = fs::metadata(home.file_path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{file}");
    }
    assert_eq!(home.list_folder("dotfiles"), ["mcp.json"]);
}
