//! `vademecum bundle`: a file that a client installs with one click.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Cursor, Read, Write},
    process::{Command, Stdio},
    sync::LazyLock,
};

use serde_json::{Value, json};
use zip::ZipArchive;

use crate::support::{Library, TempHome};

/// A bundle as a client opens it.
type Bundle = ZipArchive<Cursor<Vec<u8>>>;

/// Makes a bundle.
fn made(home: &TempHome, arguments: &[&str]) -> Vec<u8> {
    let done = home.run(&[&["bundle", "-o", "it.mcpb"][..], arguments].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    fs::read(home.file_path("it.mcpb")).unwrap()
}

/// The bundle that is made when nothing else is said. It is made once: packing
/// takes seconds.
fn ordinary() -> &'static [u8] {
    static BUNDLE: LazyLock<Vec<u8>> = LazyLock::new(|| made(&TempHome::new(), &[]));
    &BUNDLE
}

fn opened(bundle: &[u8]) -> Bundle {
    ZipArchive::new(Cursor::new(bundle.to_owned())).unwrap()
}

fn read(bundle: &mut Bundle, name: &str) -> Vec<u8> {
    let mut content = Vec::new();
    bundle.by_name(name).unwrap().read_to_end(&mut content).unwrap();
    content
}

fn manifest(bundle: &mut Bundle) -> Value {
    serde_json::from_slice(&read(bundle, "manifest.json")).unwrap()
}

/// The platform of these tests, as manifests call it.
fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

/// Asserts that an object has these fields and no others but `optional`.
fn has_fields(value: &Value, required: &[&str], optional: &[&str]) {
    let fields: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    for field in required {
        assert!(fields.contains(field), "{field}: {value}");
    }
    for field in fields {
        assert!(required.contains(&field) || optional.contains(&field), "{field}: {value}");
    }
}

/// The specification of manifests, version 0.3, as far as it concerns this one.
fn keeps_the_specification(manifest: &Value) {
    let optional =
        "display_name license keywords compatibility user_config tools prompts_generated"
            .split(' ');
    has_fields(
        manifest,
        &["manifest_version", "name", "version", "description", "author", "server"],
        &optional.collect::<Vec<_>>(),
    );
    assert_eq!(manifest["manifest_version"], "0.3");
    assert_eq!(manifest["prompts_generated"], true);
    for field in ["name", "version", "description", "display_name", "license"] {
        assert!(manifest[field].as_str().is_some_and(|it| !it.is_empty()), "{field}");
    }
    let version = manifest["version"].as_str().unwrap();
    assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{version}");
    has_fields(&manifest["author"], &["name"], &["email", "url"]);
    assert!(manifest["keywords"].as_array().unwrap().iter().all(Value::is_string));

    let server = &manifest["server"];
    has_fields(server, &["type", "entry_point", "mcp_config"], &[]);
    assert_eq!(server["type"], "binary");
    let start = &server["mcp_config"];
    has_fields(start, &["command", "args"], &["env", "platform_overrides"]);
    assert!(start["command"].as_str().unwrap().starts_with("${__dirname}/server/"));
    assert!(start["args"].as_array().unwrap().iter().all(Value::is_string));
    for override_ in start["platform_overrides"].as_object().unwrap().values() {
        has_fields(override_, &[], &["command", "args", "env"]);
    }

    has_fields(&manifest["compatibility"], &[], &["claude_desktop", "platforms", "runtimes"]);
    for platform in manifest["compatibility"]["platforms"].as_array().unwrap() {
        assert!(["darwin", "win32", "linux"].contains(&platform.as_str().unwrap()));
    }
    for option in manifest["user_config"].as_object().unwrap().values() {
        has_fields(option, &["type", "title", "description"], &["required", "default"]);
        let kinds = ["string", "number", "boolean", "directory", "file"];
        assert!(kinds.contains(&option["type"].as_str().unwrap()));
    }
    for tool in manifest["tools"].as_array().unwrap() {
        has_fields(tool, &["name", "description"], &[]);
    }
}

#[test]
fn a_bundle_is_what_clients_install() {
    let mut bundle = opened(ordinary());
    let manifest = manifest(&mut bundle);
    keeps_the_specification(&manifest);
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["compatibility"]["platforms"], json!([platform()]));

    let program = manifest["server"]["entry_point"].as_str().unwrap();
    let names: Vec<_> = bundle.file_names().map(Result::unwrap).collect();
    assert_eq!(names, ["manifest.json", program]);
    assert_eq!(
        manifest["server"]["mcp_config"]["command"],
        format!("${{__dirname}}/{program}"),
        "what is started is what is in it"
    );
    let rights = bundle.by_name(program).unwrap().unix_mode().unwrap();
    assert_eq!(rights & 0o777, 0o755, "it may be started");

    // Clients refuse dots in the names of tools.
    let tools = manifest["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"knowledge_search"), "{names:?}");
    assert!(names.iter().all(|name| !name.contains('.')), "{names:?}");
}

#[test]
fn a_bundle_proposes_a_folder_and_builds_in_the_rest() {
    let home = TempHome::new();
    home.write_file("settings.toml", "");
    let options = ["--data", "mine", "--user", "anna", "--config", "settings.toml"];
    let manifest = manifest(&mut opened(&made(&home, &options)));
    let settings = fs::canonicalize(home.file_path("settings.toml")).unwrap();
    let expected =
        json!(["mcp", "--user", "anna", "--config", settings, "--data", "${user_config.data}",]);
    assert_eq!(manifest["server"]["mcp_config"]["args"], expected);
    let data = &manifest["user_config"]["data"];
    let proposed = data["default"].as_str().unwrap();
    // Not this home, but that of whoever installs it.
    assert!(proposed.starts_with("${HOME}") && proposed.ends_with("mine"), "{proposed}");
    assert_eq!((&data["type"], &data["required"]), (&json!("directory"), &json!(true)));
}

#[test]
fn a_client_that_starts_a_bundle_finds_the_library() {
    let library = Library::with_lanterns();
    let home = TempHome::new();
    let mut bundle = opened(ordinary());
    bundle.extract(home.file_path("installed")).unwrap();
    let start = manifest(&mut bundle)["server"]["mcp_config"].take();
    let filled = |text: &Value| {
        let installed = home.file_path("installed");
        text.as_str()
            .unwrap()
            .replace("${__dirname}", installed.to_str().unwrap())
            .replace("${user_config.data}", library.data_folder().to_str().unwrap())
    };
    let mut server = Command::new(filled(&start["command"]))
        .args(start["args"].as_array().unwrap().iter().map(filled))
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

#[test]
fn the_same_program_makes_the_same_bundle() {
    assert!(made(&TempHome::new(), &[]) == ordinary(), "two bundles of one program differ");
}

#[test]
fn a_bundle_that_cannot_be_written_is_no_panic() {
    let home = TempHome::new();
    let done = home.run(&["bundle", "-o", "missing/it.mcpb"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("cannot write missing/it.mcpb"), "{done:?}");
}
