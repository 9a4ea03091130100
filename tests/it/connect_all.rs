//! End-to-end tests of `vademecum connect --all` and `disconnect --all`: every client that is
//! installed, and files that are byte for byte the same afterwards.

use std::{collections::BTreeMap, fs, path::Path};

use jsonc_parser::{ParseOptions, cst::CstRootNode};
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::support::{CommandOutput, TempHome};

/// Clients with a settings file on Linux: a path that shows the client is installed, its settings
/// file, whether they may have comments, and the part of the file that names the server.
#[rustfmt::skip]
const CLIENTS: [(&str, &str, Comments, &str); 14] = [
    (".config/Claude/", ".config/Claude/claude_desktop_config.json", Comments::None, "/mcpServers"),
    (".claude/", ".claude.json", Comments::None, "/mcpServers"),
    (".cursor/", ".cursor/mcp.json", Comments::Slashes, "/mcpServers"),
    (".config/Code/", ".config/Code/User/mcp.json", Comments::Slashes, "/servers"),
    (".copilot/", ".copilot/mcp-config.json", Comments::None, "/mcpServers"),
    (".codex/", ".codex/config.toml", Comments::Toml, "/mcp_servers"),
    (".gemini/", ".gemini/settings.json", Comments::Slashes, "/mcpServers"),
    (".config/opencode/", ".config/opencode/opencode.jsonc", Comments::Slashes, "/mcp"),
    (".config/zed/", ".config/zed/settings.json", Comments::Slashes, "/context_servers"),
    (".codeium/windsurf/", ".codeium/windsurf/mcp_config.json", Comments::None, "/mcpServers"),
    (".config/goose/", ".config/goose/config.yaml", Comments::Yaml, "/extensions"),
    (".lmstudio/", ".lmstudio/mcp.json", Comments::None, "/mcpServers"),
    (
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        Comments::None, "/mcpServers",
    ),
    (".cline/", ".cline/data/settings/cline_mcp_settings.json", Comments::None, "/mcpServers"),
];

/// Comments of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comments {
    None,
    Slashes,
    Toml,
    Yaml,
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_vademecum");

/// A home folder in which all clients are installed, without settings.
fn home_with_clients() -> TempHome {
    let home = TempHome::new();
    for (sign, ..) in CLIENTS {
        fs::create_dir_all(home.file_path(sign)).unwrap();
    }
    home
}

/// Path and content of each file in a home folder; links have the content of their target.
fn all_files(home: &TempHome) -> BTreeMap<String, Vec<u8>> {
    let files = WalkDir::new(home.path()).into_iter().map(|entry| entry.unwrap().into_path());
    let files = files.filter(|path| !path.is_dir());
    let named = |path: std::path::PathBuf| {
        let name = path.strip_prefix(home.path()).unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap_or_default())
    };
    files.map(named).collect()
}

fn run_ok(home: &TempHome, arguments: &[&str]) -> CommandOutput {
    let done = home.run(arguments);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    done
}

/// Parses settings of any client, without their comments.
fn parse(path: &str, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    match Path::new(path).extension().unwrap().to_str().unwrap() {
        "toml" => serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap(),
        "yaml" => serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
        _ => {
            let root = CstRootNode::parse(text, &ParseOptions::default());
            let root = root.unwrap_or_else(|error| panic!("{error}: {text}"));
            root.value().unwrap().to_serde_value().unwrap()
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn all_installed_clients_are_connected_and_restored() {
    let home = home_with_clients();
    let before = all_files(&home);
    let done = run_ok(&home, &["connect", "--all", "--yes"]);
    for (_, file, _, section) in CLIENTS {
        let settings = parse(file, &home.read_file(file));
        let entry = settings.pointer(section).unwrap()["vademecum"].to_string();
        assert!(entry.contains(PROGRAM) && entry.contains("\"mcp\""), "{file}: {entry}");
        assert!(done.stdout.contains(file), "{file}: {done:?}");
    }
    let again = run_ok(&home, &["connect", "--all", "--yes"]);
    assert_eq!(again.stdout.matches("Nothing to change").count(), CLIENTS.len(), "{again:?}");
    let done = run_ok(&home, &["disconnect", "--all"]);
    assert_eq!(done.stdout.matches("Removed `vademecum`").count(), CLIENTS.len(), "{done:?}");
    assert_eq!(all_files(&home), before);
    let done = run_ok(&home, &["disconnect", "--all"]);
    assert!(done.stdout.contains("Nothing to change"), "{done:?}");
}

/// Contents of a settings file before it is connected.
fn contents(comments: Comments) -> Vec<String> {
    let texts = match comments {
        Comments::Toml => vec![
            "",
            "model = 'x'  # why\n\n[mcp_servers.git]\ncommand = \"git-mcp\"\n# end\n",
            "[mcp_servers]\n\n[profiles.a]\nx = 0x10",
        ],
        Comments::Yaml => vec![
            "",
            "GOOSE_MODEL: x # why\nextensions:\n  # first\n  git:\n    cmd: git-mcp\n\n# end\nz: 1\n",
            "extensions: {}\n",
            "a: 1",
        ],
        Comments::None | Comments::Slashes => vec![
            "",
            "{}",
            "{\"a\":1}",
            "{\n\t\"z\": [1,2 ,3],\n\t\"mcpServers\": {\n\t\t\"git\": {\"command\": \"g\"}\n\t},\n\t\"l\": 1.50\n}\n",
            "{\n    \"mcpServers\": {},\n    \"servers\": {},\n    \"mcp\": {}\n}\n",
        ],
    };
    let mut texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
    if comments == Comments::Slashes {
        texts.push(
            "// mine\n{\n\t/* first */ \"a\": [],\n\t\"mcpServers\": {\n\t\t\"git\": {},\n\t}, // why\n}".into(),
        );
    }
    let windows = texts.iter().map(|text| text.replace('\n', "\r\n")).collect::<Vec<_>>();
    let marked = texts.iter().map(|text| format!("\u{feff}{text}")).collect::<Vec<_>>();
    texts.into_iter().chain(windows).chain(marked).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn files_of_every_style_are_restored_byte_for_byte() {
    let styles = CLIENTS.map(|(_, _, comments, _)| contents(comments));
    for round in 0..styles.iter().map(Vec::len).max().unwrap() {
        let home = home_with_clients();
        for ((_, file, ..), styles) in CLIENTS.iter().zip(&styles) {
            home.write_file(file, &styles[round % styles.len()]);
        }
        let before = all_files(&home);
        // Twice: the second connection begins with what the user changed after the first.
        run_ok(&home, &["connect", "--all", "--yes"]);
        for ((_, file, _, section), (path, old)) in
            CLIENTS.iter().map(|client| (client, before.get_key_value(client.1).unwrap()))
        {
            let new = home.read_file(file);
            assert_ne!(new.as_bytes(), old, "{path}");
            assert!(!parse(file, &new).pointer(section).unwrap()["vademecum"].is_null(), "{new}");
            let is_windows = old.windows(2).any(|pair| pair == b"\r\n");
            assert!(!is_windows || !new.replace("\r\n", "").contains('\n'), "{path}: {new:?}");
        }
        run_ok(&home, &["disconnect", "--all"]);
        assert_eq!(all_files(&home), before, "round {round}");
        let edited = ".cursor/mcp.json";
        home.write_file(edited, "{ \"mcpServers\": { } }");
        let before = all_files(&home);
        run_ok(&home, &["connect", "--all", "--yes"]);
        run_ok(&home, &["disconnect", "--all"]);
        assert_eq!(all_files(&home), before, "round {round}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn links_of_dotfiles_stay_links() {
    let home = home_with_clients();
    home.write_file("dotfiles/zed.json", "{ \"theme\": \"x\" }");
    let link = home.file_path(".config/zed/settings.json");
    std::os::unix::fs::symlink("../../dotfiles/zed.json", &link).unwrap();
    let missing = home.file_path(".lmstudio/mcp.json");
    std::os::unix::fs::symlink("../dotfiles/lm.json", &missing).unwrap();
    let before = all_files(&home);
    run_ok(&home, &["connect", "--all", "--yes"]);
    assert!(home.read_file("dotfiles/zed.json").contains("vademecum"));
    assert!(home.read_file("dotfiles/lm.json").contains("vademecum"));
    run_ok(&home, &["disconnect", "--all"]);
    assert!(fs::read_link(link).is_ok() && fs::read_link(missing).is_ok());
    assert_eq!(all_files(&home), before);
}

#[cfg(target_os = "linux")]
#[test]
fn changes_are_only_shown_without_permission() {
    let home = home_with_clients();
    let before = all_files(&home);
    for line in [vec!["connect", "--all"], vec!["connect", "--all", "--dry-run", "--yes"]] {
        let done = run_ok(&home, &line);
        assert_eq!(done.stdout.matches("+++ ").count(), CLIENTS.len(), "{done:?}");
        let asks = done.stdout.contains("Nothing was written. Run again with --yes");
        assert_eq!(asks, line.len() == 2, "{done:?}");
        assert_eq!(all_files(&home), before);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn only_installed_clients_are_connected() {
    let home = TempHome::new();
    let none = home.run(&["connect", "--all", "--yes"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("no client was found"), "{none:?}");
    fs::create_dir(home.file_path(".gemini")).unwrap();
    run_ok(&home, &["connect", "--all", "--yes"]);
    assert_eq!(home.list_folder(""), [".gemini"]);
    assert_eq!(home.list_folder(".gemini"), ["settings.json"]);
}

#[cfg(target_os = "linux")]
#[test]
fn unreadable_settings_do_not_stop_the_others() {
    let home = TempHome::new();
    home.write_file(".cursor/mcp.json", "{ \"mcpServers\": ");
    home.write_file(".config/goose/config.yaml", "extensions: {git: {cmd: git}}\n");
    fs::create_dir(home.file_path(".lmstudio")).unwrap();
    fs::write(home.file_path(".lmstudio/mcp.json"), [0xff, 0xfe, b'{', 0, b'}', 0]).unwrap();
    home.write_file(
        ".gemini/settings.json",
        "{ \"mcpServers\": {\"vademecum\": {\"command\": \"npx\"}}}",
    );
    fs::create_dir(home.file_path(".copilot")).unwrap();
    let broken = all_files(&home);
    let done = home.run(&["connect", "--all", "--yes"]);
    assert_eq!(done.code, 1, "{done:?}");
    for part in [
        "Cursor: ",
        ".cursor/mcp.json was not changed, because it cannot be parsed: line 1",
        "Goose: ",
        "without braces",
        "LM Studio: ",
        "is not UTF-8 text",
        "Gemini CLI: ",
        "--force",
    ] {
        assert!(done.stderr.contains(part), "{part}: {done:?}");
    }
    let mut after = all_files(&home);
    assert!(after.remove(".copilot/mcp-config.json").is_some());
    assert_eq!(after, broken);
}

#[cfg(target_os = "linux")]
#[test]
fn all_clients_reach_a_running_server_by_their_own_fields() {
    let home = home_with_clients();
    let url = "https://knowledge.example/mcp";
    let done = home.run(&["connect", "--all", "--yes", "--http", url, "--key-env", "THE_KEY"]);
    assert_eq!(done.code, 1, "Claude Desktop has no addresses: {done:?}");
    assert!(done.stderr.contains("its settings name programs, not addresses"), "{done:?}");
    for title in ["Zed", "LM Studio"] {
        let reason = format!("{title}: {title} cannot be connected this way: it does not read");
        assert!(done.stderr.contains(&reason), "{done:?}");
    }
    let entry = |file: &str, section: &str| {
        parse(file, &home.read_file(file)).pointer(section).unwrap()["vademecum"].clone()
    };
    let header = |reference: &str| json!({ "Authorization": format!("Bearer {reference}") });
    assert_eq!(
        entry(".codeium/windsurf/mcp_config.json", "/mcpServers"),
        json!({ "serverUrl": url, "headers": header("${env:THE_KEY}") })
    );
    assert_eq!(
        entry(".config/opencode/opencode.jsonc", "/mcp"),
        json!({ "type": "remote", "url": url, "headers": header("{env:THE_KEY}") })
    );
    let goose = entry(".config/goose/config.yaml", "/extensions");
    assert_eq!(goose["uri"], url);
    assert_eq!(goose["headers"], header("${THE_KEY}"));
    assert_eq!(goose["env_keys"], json!(["THE_KEY"]));
    let cline = entry(".cline/data/settings/cline_mcp_settings.json", "/mcpServers");
    assert_eq!((&cline["type"], &cline["url"]), (&json!("streamableHttp"), &json!(url)));
    // From an address to the program, with other arguments, and away.
    run_ok(&home, &["connect", "--all", "--yes", "--force"]);
    run_ok(&home, &["connect", "--all", "--yes", "--data", "elsewhere"]);
    let goose = entry(".config/goose/config.yaml", "/extensions");
    assert_eq!((&goose["type"], &goose["uri"]), (&json!("stdio"), &Value::Null));
    run_ok(&home, &["disconnect", "--all"]);
    assert!(all_files(&home).is_empty(), "{:?}", all_files(&home).keys());
}

#[cfg(target_os = "linux")]
#[test]
fn hooks_of_recall_are_installed_where_clients_have_them() {
    let home = home_with_clients();
    run_ok(&home, &["connect", "--all", "--recall", "--yes", "--data", "elsewhere"]);
    run_ok(&home, &["connect", "--all", "--recall", "--yes"]);
    for file in [".claude/settings.json", ".codex/hooks.json"] {
        assert!(home.read_file(file).contains("recall"), "{file}");
    }
    run_ok(&home, &["disconnect", "--all"]);
    assert!(all_files(&home).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn written_path_is_the_link_that_was_called() {
    let home = TempHome::new();
    fs::create_dir_all(home.file_path("bin")).unwrap();
    let link = home.file_path("bin/vademecum");
    std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    let mut command = std::process::Command::new(&link);
    let done = home
        .isolate_command(&mut command)
        .args(["connect", "cursor", "--write", "--file", "it.json"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let entry = &parse("it.json", &home.read_file("it.json"))["mcpServers"]["vademecum"];
    let expected = home.path().join("bin/vademecum");
    assert_eq!(entry["command"], expected.to_str().unwrap());
    // Called by its own path, the program is disconnected as well.
    run_ok(&home, &["disconnect", "cursor", "--file", "it.json"]);
}
