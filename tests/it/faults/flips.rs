//! Damage of single bytes: each is reported by `check` or has no effect, and no wrong text is shown.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{report_lines, rng, round_count};
use crate::{
    support::{CommandOutput, Library, McpClient, StdioClient},
    writing::WRITE_ENABLED,
};

/// Number of damaged bytes in each file, for each round: 1,000 in `tests/run --long`.
const FLIPS_PER_ROUND: u64 = 2;
/// Databases with items.
const DATABASES: [&str; 3] = ["chacha.db", "media.db", "prompts.db"];

/// Creates a library with several items in each source, of which a note has versions.
fn library_with_versions() -> Library {
    let library = Library::with_pebbles(6);
    let settings = library.write_file("writing.toml", WRITE_ENABLED);
    let pipe = library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    for number in 0..12 {
        let (title, text) =
            (format!("Mooring {number}"), format!("Rope {number} holds. ").repeat(40));
        let tags = json!(["harbour", format!("quay{number}")]);
        let note = json!({ "title": title, "content": text, "tags": tags });
        let id = pipe.call_tool("notes.create", &note)["id"].clone();
        for line in ["A bollard.", "A cleat."] {
            pipe.call_tool("notes.append", &json!({ "note_id": id, "content": line }));
        }
    }
    library
}

/// Returns the result of a call; notifications are ignored.
fn call(pipe: &StdioClient, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params });
    pipe.write_line(&message.to_string());
    loop {
        let mut answer = pipe.read_message();
        if answer["id"] == 77 {
            return answer["result"].take();
        }
    }
}

/// Returns the answer for each item and each search: the result, or `None` for an error.
fn read_everything(library: &Library, uris: &[String]) -> BTreeMap<String, Option<Value>> {
    let pipe = library.open_stdio();
    let mut read = BTreeMap::new();
    for uri in uris {
        let item = json!({ "id": uri, "retrieval": { "mode": "full" } });
        let answer = call(&pipe, "knowledge.get", &item);
        let is_error = answer["isError"] == true;
        read.insert(uri.clone(), (!is_error).then(|| answer["structuredContent"].clone()));
    }
    for (index, word) in ["pebble", "rope", "bollard", "quay7", "beach"].into_iter().enumerate() {
        let query = json!({ "query": word, "limit": 50, "session": "new" });
        let mut answer = call(&pipe, "knowledge.search", &query);
        let failed = answer["structuredContent"]["_meta"]["failed_sources"].as_array();
        let is_whole = answer["isError"] == false && failed.is_none_or(Vec::is_empty);
        let mut hits = answer["structuredContent"]["results"].take();
        if let Some(hits) = hits.as_array_mut() {
            hits.sort_by_key(|hit| hit["uri"].to_string());
            // Scores depend on words of other items.
            for hit in hits {
                hit["score"] = Value::Null;
            }
        }
        read.insert(format!("search {index} {word}"), is_whole.then_some(hits));
    }
    read
}

fn all_uris(library: &Library) -> Vec<String> {
    let listed = library.run(&["list", "--json", "--limit", "100"]).parse_json();
    let hits = listed["items"].as_array().or_else(|| listed["results"].as_array());
    let uris = hits.unwrap_or_else(|| panic!("{listed}")).iter();
    uris.map(|hit| hit["uri"].as_str().unwrap().to_owned()).collect()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::remove_dir_all(to).ok();
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Returns the findings about databases of the user that are no confirmation.
fn problems(check: &CommandOutput) -> Vec<&str> {
    ["error", "warning", "repaired"]
        .into_iter()
        .flat_map(|level| report_lines(check, level))
        .filter(|line| line.contains(".db"))
        .collect()
}

/// Counts of what became of damaged bytes.
#[derive(Debug, Default)]
struct Outcomes {
    without_effect: usize,
    found: usize,
    /// All answers are right after the repair.
    healed: usize,
    /// Answers that are errors after the repair.
    refused: usize,
}

#[test]
fn every_damaged_byte_is_found_or_without_effect() {
    let library = library_with_versions();
    let folder = library.data_folder().join("users/local");
    let (whole, backup) = (library.file_path("whole"), library.file_path("backup"));
    assert_eq!(library.run(&["check", "--repair"]).code, 0);
    assert_eq!(library.run(&["backup", backup.to_str().unwrap()]).code, 0);
    let uris = all_uris(&library);
    assert!(uris.len() > 30, "{uris:?}");
    let right = read_everything(&library, &uris);
    assert!(right.values().all(Option::is_some), "{right:?}");
    copy_folder(&folder, &whole);
    let mut rng = rng();
    for name in DATABASES {
        let mut outcomes = Outcomes::default();
        for flip in 0..round_count() * FLIPS_PER_ROUND {
            copy_folder(&whole, &folder);
            let path: PathBuf = folder.join(name);
            let mut bytes = fs::read(&path).unwrap();
            let (place, mask) = (rng.next_below(bytes.len()), 1 + rng.next_below(255));
            bytes[place] ^= u8::try_from(mask).unwrap();
            fs::write(&path, bytes).unwrap();
            let context = format!("{name}: byte {place} ^ {mask:#x}");
            let check = library.run(&["check"]);
            if problems(&check).is_empty() {
                assert_eq!(check.code, 0, "{context}: {check:?}");
                assert_same(&read_everything(&library, &uris), &right, &context);
                outcomes.without_effect += 1;
                continue;
            }
            outcomes.found += 1;
            let mut repair = vec!["check", "--repair"];
            if flip % 2 == 1 {
                repair.extend(["--from-backup", backup.to_str().unwrap()]);
            }
            let repaired = library.run(&repair);
            let read = read_everything(&library, &uris);
            for (what, answer) in &read {
                assert!(
                    answer.is_none()
                        || answer == &right[what]
                        || hides(answer.as_ref(), right[what].as_ref()),
                    "{context}: {what}: {answer:?} instead of {:?}; {check:?} {repaired:?}",
                    right[what]
                );
            }
            if read == right {
                outcomes.healed += 1;
            } else {
                outcomes.refused += 1;
                let other: Vec<_> =
                    read.keys().filter(|what| read[*what] != right[*what]).collect();
                assert_eq!(repaired.code, 1, "{context}: {check:?} {repaired:?} {other:?}");
            }
        }
        report(name, &outcomes);
    }
}

/// Returns whether hits are the right ones, except those of which the text is not shown.
fn hides(answer: Option<&Value>, right: Option<&Value>) -> bool {
    let (Some(answer), Some(right)) = (answer, right) else { return false };
    let (Some(answer), Some(right)) = (answer.as_array(), right.as_array()) else { return false };
    answer.iter().all(|hit| {
        let is_hidden =
            hit["snippet"].as_str().is_some_and(|it| it.contains("is damaged on the disk"));
        right.contains(hit) || (is_hidden && hit["title"].is_null())
    })
}

fn assert_same(
    read: &BTreeMap<String, Option<Value>>,
    right: &BTreeMap<String, Option<Value>>,
    context: &str,
) {
    for (what, answer) in read {
        assert_eq!(answer, &right[what], "{context}: {what}");
    }
}

#[expect(clippy::print_stdout, reason = "the figures are in the documentation")]
fn report(name: &str, outcomes: &Outcomes) {
    println!("{name}: {outcomes:?}");
}

/// Returns the positions of a text in a file.
fn positions(bytes: &[u8], text: &str) -> Vec<usize> {
    let found = bytes.windows(text.len()).enumerate();
    found.filter(|(_, window)| *window == text.as_bytes()).map(|(place, _)| place).collect()
}

/// Searches, lists and reads as a caller for whom settings hide an item, which is refused.
fn read_restricted(library: &Library, settings: &Path, hidden_id: &str) -> String {
    let pipe = library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    let found = call(&pipe, "knowledge.search", &json!({ "query": "amber" }));
    let listed = call(&pipe, "knowledge.list", &json!({ "limit": 50 }));
    let read = call(&pipe, "notes.get", &json!({ "note_id": hidden_id }));
    assert_eq!(read["isError"], true, "{read}");
    format!("{found} {listed}")
}

#[test]
fn damaged_tag_or_origin_shows_no_denied_item() {
    let library = Library::new();
    let writing = library.write_file("writing.toml", WRITE_ENABLED);
    let pipe = library.open_stdio_with(&["--config", writing.to_str().unwrap()]);
    let note = json!({ "title": "Vault", "content": "The amber chalice.", "tags": ["classified"] });
    let own = pipe.call_tool("notes.create", &note)["id"].as_str().unwrap().to_owned();
    library.import_file("notes", "hidden/pier.md", "# Pier\n\nThe amber buoy.\n");
    let found = pipe.call_tool("notes.search", &json!({ "query": "buoy" }));
    let imported = found["results"][0]["id"].as_str().unwrap().to_owned();
    drop(pipe);
    assert_eq!(library.run(&["check", "--repair"]).code, 0);
    let folder = library.data_folder().join("users/local");
    let (file, whole) = (folder.join("chacha.db"), library.file_path("whole"));
    copy_folder(&folder, &whole);
    let bytes = fs::read(&file).unwrap();
    let denied_folder = format!("folders = ['{}']", library.file_path("hidden").display());
    let (own, imported) = ((own.as_str(), "chalice"), (imported.as_str(), "buoy"));
    for (rule, text, (hidden, hidden_word), (_, shown_word)) in [
        ("tags = [\"classified\"]", "classified", own, imported),
        ("origins = [\"agent\"]", "agent", own, imported),
        ("origins = [\"imported_file\"]", "pier.md", imported, own),
        (denied_folder.as_str(), "/hidden/", imported, own),
    ] {
        let settings = library.write_file("deny.toml", format!("[[deny]]\n{rule}"));
        copy_folder(&whole, &folder);
        let right = read_restricted(&library, &settings, hidden);
        let has_item = right.contains(hidden_word) || right.contains(hidden);
        assert!(right.contains(shown_word) && !has_item, "{rule}: {right}");
        let ends = [hidden, text].into_iter().flat_map(|text| {
            positions(&bytes, text).into_iter().map(move |place| place + text.len() - 1)
        });
        let ends: Vec<usize> = ends.collect();
        assert!(ends.len() > 5, "{rule}: {ends:?}");
        for end in ends {
            copy_folder(&whole, &folder);
            let mut damaged = bytes.clone();
            damaged[end] ^= 1;
            fs::write(&file, damaged).unwrap();
            let shown = read_restricted(&library, &settings, hidden);
            let has_item = shown.contains(hidden_word) || shown.contains(hidden);
            assert!(!has_item, "{rule}: byte {end}: {shown}");
        }
    }
}
