//! Architecture rules that the compiler does not check: layers, files, and single owners of a task.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Modules of the package `vademecum`, top layer first. A module imports only modules that come
/// after it. The direction between crates is kept by their manifests.
const LAYERS: [&str; 11] = [
    "main",
    "cli",
    "fuzzing",
    "app",
    "registry",
    "transport",
    "pages",
    "tools",
    "services",
    "actors",
    "collections",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below `folder` with the given extension, ordered by path: path from the root, contents.
fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

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

/// The top-level module of a file below `src`.
fn module(name: &str) -> &str {
    let inside = name.strip_prefix("src/").unwrap();
    inside.split(['/', '.']).next().unwrap()
}

/// The position of a module in [`LAYERS`].
fn layer(module: &str) -> usize {
    let found = LAYERS.iter().position(|it| *it == module);
    found.unwrap_or_else(|| panic!("`{module}` is in no layer"))
}

/// Modules that `code` imports as `crate::module` or `crate::{module, module::…}`.
fn imported_modules(code: &str) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        let word = |text: &str| -> String {
            text.trim_start().chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
        };
        match rest.strip_prefix('{') {
            None => drop(modules.insert(word(rest))),
            Some(list) => modules.extend(top_level(list).iter().map(|item| word(item))),
        }
    }
    modules.retain(|module| !module.is_empty());
    modules
}

/// Items of an import list up to its closing brace; nested lists stay within their item.
fn top_level(list: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for letter in list.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(String::new()),
            letter => items.last_mut().unwrap().push(letter),
        }
    }
    items
}

/// Files of the program whose code contains any of `words`.
fn files_naming(words: &[&str]) -> Vec<String> {
    let names = |code: &str| words.iter().any(|word| code.contains(word));
    program().into_iter().filter(|(_, code)| names(code)).map(|(name, _)| name).collect()
}

#[test]
fn import_scan_reads_nested_lists_and_paths() {
    let code =
        "use crate::auth::X;\nuse crate::{\n a::{b, c},\n d,\n e::f,\n};\nlet x = crate::g::h();";
    assert_eq!(
        imported_modules(code),
        BTreeSet::from(["a", "auth", "d", "e", "g"].map(str::to_owned))
    );
}

#[test]
fn imports_point_to_lower_layers() {
    for (name, code) in code_below(&["src"]) {
        let importer = module(&name);
        if importer == "lib" {
            continue;
        }
        for imported in imported_modules(&code).iter().filter(|it| *it != importer) {
            assert!(layer(importer) < layer(imported), "{name} imports `{imported}`");
        }
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
    // A test reads the addresses of the servers that `tests/servers` has started.
    let tests =
        ["crates/sql/src/driver/unguarded.rs", "crates/sql/src/driver/guard_bypass_tests.rs"];
    for name in files_naming(&["std::env", " env::", "(env::", "var_os("]) {
        let is_config = name.starts_with("crates/core/src/config/");
        assert!(is_config || tests.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn only_transport_uses_the_web_framework() {
    for name in files_naming(&["actix_web", "actix_ws", "awc"]) {
        assert!(name.starts_with("src/transport/"), "{name}");
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
        ["src/cli/get.rs", "src/cli/demo.rs", "src/fuzzing/server.rs", "src/transport/http.rs"];
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
        assert!(!unsafe_code || name == "sources/fts5/src/ffi.rs", "{name}");
    }
}

#[test]
fn source_manifests_name_no_other_source() {
    let sources = ["notes", "media", "chats", "characters", "prompts", "collections"];
    let manifests: Vec<_> = files("sources", "toml")
        .into_iter()
        .filter(|(name, _)| name.ends_with("Cargo.toml"))
        .collect();
    // The sources, the kit, fts5 and tldw.
    assert_eq!(manifests.len(), sources.len() + 3);
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
