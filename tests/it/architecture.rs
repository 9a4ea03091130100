//! Architecture rules that the compiler does not check: layers, files, and single owners of a task.

use std::{collections::BTreeSet, fs, path::PathBuf};

use crate::support::{
    import_graph::ImportGraph,
    workspace_files::{files, root},
};

/// Crates, top layer first. A crate depends only on crates of lower layers; those of one line do not
/// depend on each other.
const LAYERS: [&[&str]; 15] = [
    &["vademecum"],
    &["eval"],
    &["web"],
    &["tools"],
    &["services"],
    &["actors"],
    &["tldw", "import", "sync"],
    &["notes", "media", "chats", "characters", "prompts", "collections"],
    &["vault", "embed", "mcp", "oauth"],
    &["source", "accounts", "replication", "health"],
    &["search", "sql"],
    &["tunnel", "sessions"],
    &["core", "store", "sandbox", "formats"],
    &["model"],
    &["fts5"],
];

/// Maximum number of lines of a crate, without tests.
const MAX_CRATE_LINES: usize = 14_000;

/// Source files of the program below `folders`, without comment lines and unit tests.
fn code_below(folders: &[&str]) -> Vec<(String, String)> {
    let code = |text: String| {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let files = folders.iter().flat_map(|folder| files(folder, "rs"));
    files
        .filter(|(name, _)| !name.starts_with("crates/testing/"))
        .map(|(name, text)| (name, code(text)))
        .collect()
}

/// Source files of the package and its crates, without comment lines.
fn program() -> Vec<(String, String)> {
    code_below(&["src", "crates"])
}

/// Files of the program whose code contains any of `words`.
fn files_naming(words: &[&str]) -> Vec<String> {
    let names = |code: &str| words.iter().any(|word| code.contains(word));
    let named = program().into_iter().filter(|(_, code)| names(code)).map(|(name, _)| name);
    // Tests of a crate as a whole start it with what they need.
    named.filter(|name| !(name.starts_with("crates/") && name.contains("/tests/"))).collect()
}

/// Manifests of the crates: name without `vademecum-`, folder, manifest.
fn manifests() -> Vec<(String, String, toml::Table)> {
    let mut found = vec![("vademecum".to_owned(), "src".to_owned(), root().join("Cargo.toml"))];
    for group in ["crates", "sources"] {
        for entry in fs::read_dir(root().join(group)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let manifest = root().join(group).join(&name).join("Cargo.toml");
            found.push((name.clone(), format!("{group}/{name}/src"), manifest));
        }
    }
    let read = |path: PathBuf| fs::read_to_string(path).unwrap().parse().unwrap();
    found.into_iter().map(|(name, folder, path)| (name, folder, read(path))).collect()
}

/// The position of a crate in [`LAYERS`].
fn layer(name: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.contains(&name));
    found.unwrap_or_else(|| panic!("`{name}` is in no layer"))
}

/// Names of the crates of the workspace that a table of a manifest names.
fn own_dependencies(manifest: &toml::Table, table: &str) -> Vec<String> {
    let listed = manifest.get(table).and_then(toml::Value::as_table);
    let names = listed.into_iter().flat_map(|table| table.keys());
    names.filter_map(|name| name.strip_prefix("vademecum-")).map(str::to_owned).collect()
}

#[test]
fn crates_depend_on_lower_layers() {
    for (name, _, manifest) in manifests().iter().filter(|(name, ..)| name != "testing") {
        for used in own_dependencies(manifest, "dependencies") {
            assert!(layer(name) < layer(&used), "{name} depends on {used}");
        }
    }
}

#[test]
fn crates_have_at_most_14_000_lines() {
    for (name, folder, _) in manifests() {
        let lines = program_lines(&folder);
        assert!(lines <= MAX_CRATE_LINES, "{name} has {lines} lines");
    }
}

/// Number of lines of the files below `folder`, without unit tests.
fn program_lines(folder: &str) -> usize {
    let program =
        |text: &String| text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    files(folder, "rs").iter().map(|(_, text)| program(text)).sum()
}

#[test]
fn protocol_depends_on_no_database() {
    // `cargo tree` would need the registry; the manifests of the workspace say the same.
    let crates = manifests();
    let mut open = vec!["mcp".to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let (_, _, manifest) = crates.iter().find(|(known, ..)| *known == name).unwrap();
        let listed = manifest["dependencies"].as_table().unwrap();
        for database in ["rusqlite", "r2d2", "r2d2_sqlite", "vademecum-store", "vademecum-fts5"] {
            let is_optional = |value: &toml::Value| {
                value.get("optional").and_then(toml::Value::as_bool) == Some(true)
            };
            let is_used = listed.get(database).is_some_and(|value| !is_optional(value));
            assert!(!is_used, "{name} depends on {database}");
        }
        for used in own_dependencies(manifest, "dependencies") {
            if seen.insert(used.clone()) {
                open.push(used);
            }
        }
    }
}

#[test]
fn files_import_in_no_circle() {
    for (_, folder, _) in manifests() {
        let circles = ImportGraph::read(&folder).circles();
        let large: Vec<_> = circles.into_iter().filter(|circle| circle.len() > 2).collect();
        assert!(large.is_empty(), "{folder}: {large:#?}");
    }
}

#[test]
fn only_registry_names_the_sources() {
    let crates = [
        "vademecum_notes",
        "vademecum_media",
        "vademecum_chats",
        "vademecum_characters",
        "vademecum_prompts",
    ];
    assert_eq!(files_naming(&crates), ["src/registry.rs"]);
}

#[test]
fn only_config_reads_the_environment() {
    // Tests read the addresses of the servers that `tests/servers` has started, and what a process
    // that they start is to do.
    let tests = [
        "crates/sql/src/driver/unguarded.rs",
        "crates/sql/src/driver/guard_bypass_tests.rs",
        "crates/sandbox/src/system_call_tests.rs",
    ];
    for name in files_naming(&["std::env", " env::", "(env::", "var_os("]) {
        let is_config = name.starts_with("crates/core/src/config/");
        assert!(is_config || tests.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn only_transport_uses_the_web_framework() {
    for name in files_naming(&["actix_web", "actix_ws", "awc"]) {
        assert!(name.starts_with("crates/web/"), "{name}");
    }
}

#[test]
fn only_cli_prints_and_erases_errors() {
    for name in files_naming(&["anyhow::", "indicatif::"]) {
        assert!(name.starts_with("src/cli/"), "{name}");
    }
}

#[test]
fn only_mcp_writes_json_rpc_messages() {
    let others =
        ["crates/web/src/http.rs", "src/cli/get.rs", "src/cli/demo.rs", "src/fuzzing/server.rs"];
    for name in files_naming(&["jsonrpc"]) {
        assert!(name.starts_with("crates/mcp/") || others.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn only_ffi_contains_unsafe_code() {
    let mut files = files("sources", "rs");
    files.extend(program());
    for (name, text) in files {
        let unsafe_code = text.contains("unsafe {") || text.contains("unsafe fn");
        // Tests of the sandbox make system calls that it must refuse.
        let allowed = ["sources/fts5/src/ffi.rs", "crates/sandbox/src/system_call_tests.rs"];
        assert!(!unsafe_code || allowed.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn source_manifests_name_no_other_source() {
    let sources = ["notes", "media", "chats", "characters", "prompts", "collections"];
    let manifests: Vec<_> = files("sources", "toml")
        .into_iter()
        .filter(|(name, _)| name.ends_with("Cargo.toml"))
        .collect();
    // The sources, fts5 and tldw.
    assert_eq!(manifests.len(), sources.len() + 2);
    for (name, text) in manifests {
        let manifest: toml::Table = text.parse().unwrap();
        let needed: BTreeSet<&str> = ["dependencies", "dev-dependencies", "build-dependencies"]
            .iter()
            .filter_map(|section| manifest.get(*section)?.as_table())
            .flat_map(|section| section.keys().map(String::as_str))
            .collect();
        for source in sources {
            assert!(!needed.contains(format!("vademecum-{source}").as_str()), "{name}: {source}");
        }
        for foreign in ["vademecum", "tokio"] {
            assert!(!needed.contains(foreign), "{name}: {foreign}");
        }
        assert!(needed.iter().all(|it| !it.starts_with("actix")), "{name}: {needed:?}");
    }
}

/// All Rust files of the workspace.
fn all_rust() -> Vec<(String, String)> {
    ["src", "crates", "sources", "tests", "benches"]
        .iter()
        .flat_map(|folder| files(folder, "rs"))
        .collect()
}

#[test]
fn files_begin_with_a_module_comment() {
    for (name, text) in all_rust() {
        assert!(text.starts_with("//! "), "{name}");
    }
}

#[test]
fn files_have_at_most_500_lines() {
    for (name, text) in all_rust() {
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
        assert!(lines <= 500, "{name} has {lines}");
    }
}

#[test]
fn module_lists_contain_no_logic() {
    for (name, text) in all_rust() {
        let is_program = name.starts_with("src/") || name.starts_with("crates/");
        let is_list = is_program && (name.ends_with("/mod.rs") || name.ends_with("/lib.rs"));
        for word in ["fn ", "struct ", "enum ", "impl ", "const "] {
            assert!(!is_list || !text.lines().any(|line| line.starts_with(word)), "{name}: {word}");
        }
    }
}
