//! End-to-end tests of `vademecum bundle --plugin`: a folder in the format Agent Plugins 1.0.0.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::support::{CommandOutput, TempHome};

fn write_plugin(home: &TempHome, arguments: &[&str]) -> CommandOutput {
    let done = home.run(&[&["bundle", "--plugin", "it"][..], arguments].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    done
}

fn read_json(home: &TempHome, path: &str) -> Value {
    serde_json::from_str(&home.read_file(&format!("it/{path}"))).unwrap()
}

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Asserts what the two schemas of the format and its text require.
fn assert_conforms(home: &TempHome) {
    let manifest = read_json(home, "plugin.json");
    let allowed = BTreeSet::from([
        "$schema",
        "name",
        "version",
        "description",
        "author",
        "homepage",
        "repository",
        "license",
        "keywords",
        "extensions",
    ]);
    assert!(fields(&manifest).is_subset(&allowed), "{manifest}");
    assert_eq!(manifest["$schema"], "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json");
    let name = manifest["name"].as_str().unwrap();
    assert!((1..=64).contains(&name.len()), "{name}");
    assert!(name.chars().all(|it| it.is_ascii_lowercase()), "{name}");
    for field in ["version", "description", "license"] {
        assert!(manifest[field].is_string(), "{field}");
    }
    assert!(fields(&manifest["author"]).is_subset(&BTreeSet::from(["name", "email", "url"])));
    assert!(manifest["keywords"].as_array().unwrap().iter().all(Value::is_string));

    let servers = read_json(home, "mcp.json");
    assert_eq!(fields(&servers), BTreeSet::from(["$schema", "mcpServers"]));
    assert_eq!(servers["$schema"], "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json");
    for server in servers["mcpServers"].as_object().unwrap().values() {
        assert_eq!(server["type"], "stdio");
        let allowed = BTreeSet::from(["type", "command", "args", "env", "cwd"]);
        assert!(fields(server).is_subset(&allowed), "{server}");
        assert!(server["args"].as_array().unwrap().iter().all(Value::is_string));
        // A bare name, or a path in the plugin.
        let command = server["command"].as_str().unwrap();
        match command.strip_prefix("./") {
            Some(path) => assert!(home.file_path("it").join(path).is_file(), "{command}"),
            None => assert!(!command.contains(['/', '\\', ' ', '$']), "{command}"),
        }
    }
    let skills = home.list_folder("it/skills");
    assert!(!skills.is_empty());
    for skill in skills {
        let text = home.read_file(&format!("it/skills/{skill}/SKILL.md"));
        assert!(text.starts_with(&format!("---\nname: {skill}\ndescription: ")), "{text}");
    }
}

#[test]
fn plugin_conforms_to_its_format() {
    let home = TempHome::new();
    let done = write_plugin(&home, &[]);
    assert!(done.stdout.contains("claude plugin marketplace add it"), "{done:?}");
    assert!(done.stdout.contains("from the search path (PATH)"), "{done:?}");
    assert_conforms(&home);
    let server = json!({ "type": "stdio", "command": "vademecum", "args": ["mcp"] });
    assert_eq!(read_json(&home, "mcp.json")["mcpServers"], json!({ "vademecum": server }));
    let hook = &read_json(&home, "hooks/hooks.json")["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    assert_eq!(hook["command"], "vademecum recall");
    let claude = read_json(&home, ".claude-plugin/plugin.json");
    let market = read_json(&home, ".claude-plugin/marketplace.json");
    assert_eq!(claude["name"], market["plugins"][0]["name"]);
    assert_eq!(claude["version"], read_json(&home, "plugin.json")["version"]);
    assert_eq!(market["plugins"][0]["source"], "./");
}

#[test]
fn plugin_names_the_library_of_its_options() {
    let home = TempHome::new();
    write_plugin(&home, &["--data", "/my notes", "--user", "ada"]);
    let arguments = json!(["mcp", "--data", "/my notes", "--user", "ada"]);
    assert_eq!(read_json(&home, "mcp.json")["mcpServers"]["vademecum"]["args"], arguments);
    let claude = read_json(&home, ".claude-plugin/plugin.json");
    assert_eq!(claude["mcpServers"]["vademecum"]["args"], arguments);
    let hook = &read_json(&home, "hooks/hooks.json")["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    assert_eq!(hook["command"], "vademecum recall --data '/my notes' --user ada");
}

#[cfg(unix)]
#[test]
fn plugin_with_program_needs_no_installed_one() {
    let home = TempHome::new();
    write_plugin(&home, &["--with-program"]);
    assert_conforms(&home);
    let server = &read_json(&home, "mcp.json")["mcpServers"]["vademecum"];
    let packed = home.file_path("it").join(server["command"].as_str().unwrap());
    let mut command = std::process::Command::new(packed);
    let done = home.isolate_command(&mut command).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&done.stdout).starts_with("vademecum "), "{done:?}");
    let claude = read_json(&home, ".claude-plugin/plugin.json");
    let command = &claude["mcpServers"]["vademecum"]["command"];
    assert_eq!(command, "${CLAUDE_PLUGIN_ROOT}/bin/vademecum");
    // Written again without the program, the folder does not keep it.
    write_plugin(&home, &[]);
    assert!(!home.file_path("it/bin/vademecum").exists());
    assert_conforms(&home);
}

#[test]
fn folder_of_others_is_not_overwritten() {
    let home = TempHome::new();
    home.write_file("it/plugin.json", "{ \"name\": \"other\" }");
    let refused = home.run(&["bundle", "--plugin", "it"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("it is not empty"), "{refused:?}");
    assert_eq!(home.list_folder("it"), ["plugin.json"]);
    fs::remove_file(home.file_path("it/plugin.json")).unwrap();
    write_plugin(&home, &[]);
    // An earlier version is replaced, and other files in its folder stay.
    home.write_file("it/.git/config", "mine");
    home.write_file("it/mcp.json", "{}");
    write_plugin(&home, &[]);
    assert_eq!(home.read_file("it/.git/config"), "mine");
    assert_conforms(&home);
    let is_temporary =
        |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with(".tmp");
    let files = WalkDir::new(home.file_path("it")).into_iter().map(|it| it.unwrap().into_path());
    assert!(!files.into_iter().any(|path| is_temporary(&path)));
}
