//! The rules of the house that a compiler does not know.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The rooms, from the top floor down. Imports point down.
const FLOORS: [&[&str]; 6] = [
    &["main", "cli", "app", "registry", "fuzzing"],
    &["transport"],
    &["tools"],
    &["actors"],
    &["mcp", "auth", "config", "collections", "embed", "sql", "import", "telemetry"],
    &[],
];

/// Neighbours on a floor who may be asked all the same.
const SIDEWAYS: [(&str, &str); 18] = [
    ("cli", "app"),
    ("cli", "registry"),
    ("app", "registry"),
    ("fuzzing", "app"),
    ("fuzzing", "registry"),
    ("mcp", "auth"),
    ("mcp", "telemetry"),
    ("telemetry", "config"),
    ("auth", "config"),
    ("embed", "config"),
    ("sql", "auth"),
    ("sql", "telemetry"),
    ("sql", "config"),
    ("collections", "auth"),
    ("collections", "config"),
    ("collections", "embed"),
    ("collections", "import"),
    ("collections", "sql"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder that end in `extension`, with their names from the
/// root on.
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

/// The files of the program, without comments.
fn program() -> Vec<(String, String)> {
    let code = |text: String| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.collect::<Vec<_>>().join("\n")
    };
    files("src", "rs").into_iter().map(|(name, text)| (name, code(text))).collect()
}

/// The room that a file of the program is in.
fn room(name: &str) -> &str {
    let inside = name.strip_prefix("src/").unwrap();
    inside.split(['/', '.']).next().unwrap()
}

fn floor(room: &str) -> usize {
    let found = FLOORS.iter().position(|rooms| rooms.contains(&room));
    FLOORS.len() - found.unwrap_or_else(|| panic!("`{room}` is on no floor"))
}

/// The rooms that some code names as `crate::room` or `crate::{room, room::…}`.
fn rooms_named(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        let word = |text: &str| -> String {
            text.trim_start().chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
        };
        match rest.strip_prefix('{') {
            None => drop(rooms.insert(word(rest))),
            Some(list) => rooms.extend(top_level(list).iter().map(|item| word(item))),
        }
    }
    rooms.retain(|room| !room.is_empty());
    rooms
}

/// The items of a list up to its closing brace, not those of lists inside.
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

/// The files of the program that name any of `words`.
fn naming(words: &[&str]) -> Vec<String> {
    let names = |code: &str| words.iter().any(|word| code.contains(word));
    program().into_iter().filter(|(_, code)| names(code)).map(|(name, _)| name).collect()
}

#[test]
fn rooms_are_recognised_however_they_are_imported() {
    let code =
        "use crate::auth::X;\nuse crate::{\n a::{b, c},\n d,\n e::f,\n};\nlet x = crate::g::h();";
    assert_eq!(rooms_named(code), BTreeSet::from(["a", "auth", "d", "e", "g"].map(str::to_owned)));
}

#[test]
fn imports_point_down() {
    for (name, code) in program() {
        let here = room(&name);
        if here == "lib" {
            continue;
        }
        for there in rooms_named(&code).iter().filter(|there| *there != here) {
            let down = floor(there) < floor(here);
            let sideways = SIDEWAYS.contains(&(here, there.as_str()));
            assert!(down || sideways, "{name} imports `{there}`");
        }
    }
}

#[test]
fn one_list_names_the_sources() {
    let crates = [
        "vademecum_notes",
        "vademecum_media",
        "vademecum_chats",
        "vademecum_characters",
        "vademecum_prompts",
    ];
    assert_eq!(naming(&crates), ["src/registry.rs"]);
}

#[test]
fn only_the_settings_read_the_environment() {
    // Where `tests/servers` has started servers, it says to tests.
    let tests = ["src/sql/driver/unguarded.rs"];
    for name in naming(&["std::env", " env::", "(env::", "var_os("]) {
        assert!(name.starts_with("src/config/") || tests.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn only_the_transports_know_the_web() {
    for name in naming(&["actix_web", "actix_ws", "awc"]) {
        assert!(name.starts_with("src/transport/") || name == "src/cli/demo.rs", "{name}");
    }
}

#[test]
fn only_the_protocol_writes_messages() {
    let others =
        ["src/cli/get.rs", "src/cli/demo.rs", "src/fuzzing/server.rs", "src/transport/http.rs"];
    for name in naming(&["jsonrpc"]) {
        assert!(name.starts_with("src/mcp/") || others.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn only_one_file_is_unsafe() {
    let mut files = files("sources", "rs");
    files.extend(program());
    for (name, text) in files {
        let unsafe_code = text.contains("unsafe {") || text.contains("unsafe fn");
        assert!(!unsafe_code || name == "sources/fts5/src/ffi.rs", "{name}");
    }
}

#[test]
fn a_source_knows_the_kit_and_no_other_source() {
    let sources = ["notes", "media", "chats", "characters", "prompts", "collections"];
    let manifests: Vec<_> = files("sources", "toml")
        .into_iter()
        .filter(|(name, _)| name.ends_with("Cargo.toml"))
        .collect();
    // The sources, the kit, what stands below the kit, and what reads another program's files.
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

/// Every file of Rust, wherever it is.
fn all_rust() -> Vec<(String, String)> {
    ["src", "sources", "tests", "benches"].iter().flat_map(|folder| files(folder, "rs")).collect()
}

#[test]
fn a_file_begins_with_what_it_is() {
    for (name, text) in all_rust() {
        assert!(text.starts_with("//! "), "{name}");
    }
}

#[test]
fn a_file_has_at_most_five_hundred_lines_before_its_tests() {
    for (name, text) in all_rust() {
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
        assert!(lines <= 500, "{name} has {lines}");
    }
}

#[test]
fn a_list_of_rooms_has_no_logic() {
    for (name, text) in all_rust() {
        let is_list = name.starts_with("src/") && name.ends_with("mod.rs") || name == "src/lib.rs";
        for word in ["fn ", "struct ", "enum ", "impl ", "const "] {
            assert!(!is_list || !text.lines().any(|line| line.starts_with(word)), "{name}: {word}");
        }
    }
}
