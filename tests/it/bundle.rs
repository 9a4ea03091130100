//! End-to-end tests of `vademecum bundle`, which creates an `.mcpb` file that a client installs
//! with one click.

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

/// An opened bundle archive.
type BundleArchive = ZipArchive<Cursor<Vec<u8>>>;

/// Creates a bundle with these arguments and returns its bytes.
fn create_bundle(home: &TempHome, arguments: &[&str]) -> Vec<u8> {
    let done = home.run(&[&["bundle", "-o", "it.mcpb"][..], arguments].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    fs::read(home.file_path("it.mcpb")).unwrap()
}

/// Returns the bundle created with default options. It is created only once because compression
/// takes seconds.
fn default_bundle() -> &'static [u8] {
    static BUNDLE: LazyLock<Vec<u8>> = LazyLock::new(|| create_bundle(&TempHome::new(), &[]));
    &BUNDLE
}

fn open_bundle(bundle: &[u8]) -> BundleArchive {
    ZipArchive::new(Cursor::new(bundle.to_owned())).unwrap()
}

fn read_entry(bundle: &mut BundleArchive, name: &str) -> Vec<u8> {
    let mut content = Vec::new();
    bundle.by_name(name).unwrap().read_to_end(&mut content).unwrap();
    content
}

fn read_manifest(bundle: &mut BundleArchive) -> Value {
    serde_json::from_slice(&read_entry(bundle, "manifest.json")).unwrap()
}

/// Returns the name of the current platform as used in manifests.
fn manifest_platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

/// Asserts that an object has all `required` fields and no others except `optional` ones.
fn assert_fields(value: &Value, required: &[&str], optional: &[&str]) {
    let fields: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    for field in required {
        assert!(fields.contains(field), "{field}: {value}");
    }
    for field in fields {
        assert!(required.contains(&field) || optional.contains(&field), "{field}: {value}");
    }
}

/// Asserts that the manifest conforms to version 0.3 of the manifest specification, as far as it
/// applies here.
fn assert_manifest_conforms(manifest: &Value) {
    let optional =
        "display_name license keywords compatibility user_config tools prompts_generated"
            .split(' ');
    assert_fields(
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
    assert_fields(&manifest["author"], &["name"], &["email", "url"]);
    assert!(manifest["keywords"].as_array().unwrap().iter().all(Value::is_string));

    let server = &manifest["server"];
    assert_fields(server, &["type", "entry_point", "mcp_config"], &[]);
    assert_eq!(server["type"], "binary");
    let start = &server["mcp_config"];
    assert_fields(start, &["command", "args"], &["env", "platform_overrides"]);
    assert!(start["command"].as_str().unwrap().starts_with("${__dirname}/server/"));
    assert!(start["args"].as_array().unwrap().iter().all(Value::is_string));
    for override_ in start["platform_overrides"].as_object().unwrap().values() {
        assert_fields(override_, &[], &["command", "args", "env"]);
    }

    assert_fields(&manifest["compatibility"], &[], &["claude_desktop", "platforms", "runtimes"]);
    for platform in manifest["compatibility"]["platforms"].as_array().unwrap() {
        assert!(["darwin", "win32", "linux"].contains(&platform.as_str().unwrap()));
    }
    for option in manifest["user_config"].as_object().unwrap().values() {
        assert_fields(option, &["type", "title", "description"], &["required", "default"]);
        let kinds = ["string", "number", "boolean", "directory", "file"];
        assert!(kinds.contains(&option["type"].as_str().unwrap()));
    }
    for tool in manifest["tools"].as_array().unwrap() {
        assert_fields(tool, &["name", "description"], &[]);
    }
}

#[test]
fn bundle_conforms_to_manifest_specification() {
    let mut bundle = open_bundle(default_bundle());
    let manifest = read_manifest(&mut bundle);
    assert_manifest_conforms(&manifest);
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["compatibility"]["platforms"], json!([manifest_platform()]));

    let program = manifest["server"]["entry_point"].as_str().unwrap();
    let names: Vec<_> = bundle.file_names().map(Result::unwrap).collect();
    assert_eq!(names, ["manifest.json", program]);
    assert_eq!(
        manifest["server"]["mcp_config"]["command"],
        format!("${{__dirname}}/{program}"),
        "the command must start the bundled program"
    );
    let rights = bundle.by_name(program).unwrap().unix_mode().unwrap();
    assert_eq!(rights & 0o777, 0o755, "the bundled program must be executable");

    // Clients reject tool names that contain dots.
    let tools = manifest["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"knowledge_search"), "{names:?}");
    assert!(names.iter().all(|name| !name.contains('.')), "{names:?}");
}

#[test]
fn bundle_makes_only_data_folder_configurable() {
    let home = TempHome::new();
    home.write_file("settings.toml", "");
    let options = ["--data", "mine", "--user", "anna", "--config", "settings.toml"];
    let manifest = read_manifest(&mut open_bundle(&create_bundle(&home, &options)));
    let settings = fs::canonicalize(home.file_path("settings.toml")).unwrap();
    let expected =
        json!(["mcp", "--user", "anna", "--config", settings, "--data", "${user_config.data}",]);
    assert_eq!(manifest["server"]["mcp_config"]["args"], expected);
    let data = &manifest["user_config"]["data"];
    let proposed = data["default"].as_str().unwrap();
    // The default refers to the home folder of the installing user, not to the current one.
    assert!(proposed.starts_with("${HOME}") && proposed.ends_with("mine"), "{proposed}");
    assert_eq!((&data["type"], &data["required"]), (&json!("directory"), &json!(true)));
}

#[test]
fn bundled_server_finds_the_library() {
    let library = Library::with_lanterns();
    let home = TempHome::new();
    let mut bundle = open_bundle(default_bundle());
    bundle.extract(home.file_path("installed")).unwrap();
    let start = read_manifest(&mut bundle)["server"]["mcp_config"].take();
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
fn bundle_is_reproducible() {
    assert!(
        create_bundle(&TempHome::new(), &[]) == default_bundle(),
        "two bundles of one program differ"
    );
}

#[test]
fn bundle_reports_unwritable_output_path() {
    let home = TempHome::new();
    let done = home.run(&["bundle", "-o", "missing/it.mcpb"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("cannot write missing/it.mcpb"), "{done:?}");
}
