//! A person who edits files and an agent who changes notes, at random and at the same time. In the
//! end, nothing that one of them wrote is lost, and the files and the library are equal.
//!
//! Each step of a writer adds a line with a number of its own, or changes or deletes a whole note.
//! `VADEMECUM_TWO_WAY_STEPS` sets the number of steps, `VADEMECUM_FAULT_SEED` the seed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use walkdir::WalkDir;

use super::Vault;
use crate::{
    faults::{rng, round_count},
    support::{McpClient, SeededRng},
    writing::read_note,
};

/// Default number of steps of both writers together.
const DEFAULT_STEPS: usize = 5_000;
/// One of this many steps is the agent's; each is durable on disk twice.
const STEPS_PER_AGENT_STEP: usize = 5;
/// Settings with write tools and without rate limits.
const UNLIMITED: &str = "[tools]\nwrite = true\n[limits]\nrequests_per_minute = 0\n\
                         calls_per_tool_per_minute = 0";
/// Number of notes at the beginning.
const NOTES: usize = 20;

fn step_count() -> usize {
    let steps = std::env::var_os("VADEMECUM_TWO_WAY_STEPS");
    steps.map_or(DEFAULT_STEPS, |text| text.to_str().unwrap().parse().unwrap())
}

fn open_vault() -> Vault {
    let texts: Vec<(String, String)> = (0..NOTES)
        .map(|number| {
            let lines: Vec<String> =
                (0..10).map(|line| format!("line {line} of {number}\n")).collect();
            let lines = lines.concat();
            (format!("folder {}/note {number}.md", number % 3), format!("# Note {number}\n{lines}"))
        })
        .collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (&**path, &**text)).collect();
    Vault::open(&files, &["--new-notes", "Agents"])
}

/// The files below a folder, with those in the trash. Files come and go meanwhile.
fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let paths = files.map(walkdir::DirEntry::into_path);
    paths.filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.')).collect()
}

/// The text below a folder, with that in the trash.
fn all_text(folder: &Path) -> String {
    let files = list_files(folder).into_iter();
    files.map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// A person who edits files as an editor does: reads a file, changes it and saves it, in place or by
/// renaming a new file.
struct Person {
    folder: PathBuf,
    written: BTreeSet<String>,
}

impl Person {
    fn step(&mut self, number: usize, rng: &mut SeededRng) {
        let folder = &self.folder;
        let mut files = list_files(folder);
        files.retain(|path| !path.starts_with(folder.join(".trash")));
        let path = rng.choose(&files).clone();
        let Ok(text) = fs::read_to_string(&path) else { return };
        let mark = format!("person {number}.");
        match rng.next_below(20) {
            0 => {
                let renamed = folder.join(format!("moved {number}.md"));
                if fs::rename(&path, &renamed).is_err() || number.is_multiple_of(2) {
                    return;
                }
                // The file is edited at once, under its new name.
                let Ok(text) = fs::read_to_string(&renamed) else { return };
                fs::write(&renamed, format!("{text}\n{mark}\n")).unwrap();
            }
            1 => fs::write(folder.join(format!("new {number}.md")), &mark).unwrap(),
            _ => {
                let mut lines: Vec<&str> = text.lines().collect();
                let at = 1 + rng.next_below(lines.len().max(1));
                lines.insert(at.min(lines.len()), &mark);
                let new = lines.join("\n") + "\n";
                // A file that changed since it was read is read again, as editors do.
                if fs::read_to_string(&path).ok() != Some(text) {
                    return;
                }
                if rng.next_below(2) == 0 {
                    fs::write(&path, new).unwrap();
                } else {
                    let draft = path.with_extension("md~");
                    fs::write(&draft, new).unwrap();
                    fs::rename(&draft, &path).unwrap();
                }
            }
        }
        self.written.insert(mark);
    }
}

/// An agent that changes notes over MCP.
struct Agent<'c, C> {
    client: &'c C,
    written: BTreeSet<String>,
}

impl<C: McpClient> Agent<'_, C> {
    fn step(&mut self, number: usize, rng: &mut SeededRng) {
        let listed = self.client.call_tool(
            "knowledge.list",
            &json!({ "sources": ["notes"], "limit": 100, "order_by": "title" }),
        );
        let notes = listed["results"].as_array().unwrap();
        let mark = format!("agent {number}.");
        let Some(note) = notes.get(rng.next_below(notes.len().max(1))) else { return };
        let id = json!(note["uri"].as_str().unwrap().trim_start_matches("notes://"));
        let reply = match rng.next_below(20) {
            0 => {
                let title = format!("Agent's {number}");
                self.client.tool_result("notes.create", &json!({ "title": title, "content": mark }))
            }
            1 | 2 => {
                let change = json!({ "uri": note["uri"], "add": [format!("tag{number}")] });
                self.client.tool_result("knowledge.tag", &change);
                return;
            }
            3..8 => {
                let got = self.client.tool_result(
                    "notes.get",
                    &json!({ "note_id": id, "retrieval": { "mode": "full" } }),
                );
                if got["isError"] == true {
                    return;
                }
                let (text, version) = read_note(self.client, &id);
                let mut lines: Vec<&str> = text.lines().collect();
                lines.insert(rng.next_below(lines.len().max(1)).max(1).min(lines.len()), &mark);
                let text = lines.join("\n");
                let change = json!({ "note_id": id, "version": version, "content": text });
                self.client.tool_result("notes.update", &change)
            }
            _ => {
                self.client.tool_result("notes.append", &json!({ "note_id": id, "content": mark }))
            }
        };
        if reply["isError"] == false {
            self.written.insert(mark);
        }
    }
}

/// Waits until the files and the library have the same texts.
fn wait_until_equal(vault: &Vault, client: &impl McpClient) {
    let begun = Instant::now();
    loop {
        let in_files: BTreeMap<String, String> =
            vault.files().into_iter().map(|path| (vault.read(&path), path)).collect();
        let in_library: BTreeMap<String, String> = all_notes(client).into_iter().collect();
        let missing = |these: &BTreeMap<String, String>, others: &BTreeMap<String, String>| {
            let missing = these.iter().filter(|(text, _)| !others.contains_key(*text));
            missing.map(|(text, name)| format!("{name}:\n{text}")).collect::<Vec<_>>().join("\n")
        };
        let only_files = missing(&in_files, &in_library);
        let only_library = missing(&in_library, &in_files);
        if only_files.is_empty() && only_library.is_empty() {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "only in files:\n{only_files}\n\nonly in the library:\n{only_library}"
        );
        thread::sleep(Duration::from_millis(200));
    }
}

/// The texts and addresses of all notes.
fn all_notes(client: &impl McpClient) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut offset = 0;
    loop {
        let page = json!({ "sources": ["notes"], "limit": 100, "offset": offset });
        let page = client.call_tool("knowledge.list", &page);
        for item in page["results"].as_array().unwrap() {
            let id = item["uri"].as_str().unwrap().trim_start_matches("notes://");
            let arguments = json!({ "note_id": id, "retrieval": { "mode": "full" } });
            let note = client.tool_result("notes.get", &arguments);
            if note["isError"] == false {
                let text = note["structuredContent"]["content"].as_str().unwrap();
                texts.push((text.to_owned(), id.to_owned()));
            }
        }
        match page["next_offset"].as_i64() {
            Some(next) => offset = next,
            None => return texts,
        }
    }
}

/// Asserts that every mark is in a file or in the trash.
fn assert_nothing_lost(vault: &Vault, written: &BTreeSet<String>) {
    let text = all_text(&vault.folder());
    let lost: Vec<&String> = written.iter().filter(|mark| !text.contains(*mark)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
}

#[test]
fn two_writers_lose_nothing() {
    let vault = open_vault();
    let server = vault.library.serve_with_settings(UNLIMITED);
    let client = server.open_session_named("agent");
    let (mut rng, steps) = (rng(), step_count());
    let agent_steps = steps / STEPS_PER_AGENT_STEP;
    let seed = rng.next_below(1 << 30) as u64;
    let folder = vault.folder();
    let person = thread::spawn(move || {
        let mut person = Person { folder, written: BTreeSet::new() };
        let mut rng = SeededRng(seed);
        for number in 0..steps - agent_steps {
            person.step(number, &mut rng);
            // About as fast as the agent.
            thread::sleep(Duration::from_millis(20));
        }
        person.written
    });
    let mut agent = Agent { client: &client, written: BTreeSet::new() };
    (0..agent_steps).for_each(|number| agent.step(number, &mut rng));
    let written = person.join().unwrap();
    wait_until_equal(&vault, &client);
    assert_nothing_lost(&vault, &written);
    assert_nothing_lost(&vault, &agent.written);
    let report = vault.library.run(&["check"]);
    assert_eq!(report.code, 0, "{report:?}");
}

#[test]
fn killed_writer_loses_nothing() {
    let vault = open_vault();
    let settings = vault.library.write_file("unlimited.toml", UNLIMITED);
    let open = || vault.library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    let mut rng = rng();
    let mut person = Person { folder: vault.folder(), written: BTreeSet::new() };
    let mut acknowledged = BTreeSet::new();
    // 200 kills in long runs, 8 in others.
    for round in 0..round_count() * 8 / 5 {
        let client = open();
        let listed = json!({ "sources": ["notes"], "limit": 100, "order_by": "title" });
        let notes = client.call_tool("knowledge.list", &listed);
        let notes = notes["results"].as_array().unwrap().clone();
        for id in 100..120_u64 {
            let note = rng.choose(&notes)["uri"].as_str().unwrap();
            let content = format!("agent {round}.{id}.");
            let arguments = json!({ "note_id": note, "content": content });
            let params = json!({ "name": "notes.append", "arguments": arguments });
            let call =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            client.write_line(&call.to_string());
        }
        let first = usize::try_from(round).unwrap() * 100;
        (first..first + 3).for_each(|number| person.step(number, &mut rng));
        let mut replies: Vec<_> = (0..rng.next_below(20)).map(|_| client.read_message()).collect();
        replies.extend(client.kill());
        for reply in replies.iter().filter(|reply| reply["result"]["isError"] == false) {
            acknowledged.insert(format!("agent {round}.{}.", reply["id"]));
        }
        (first + 3..first + 6).for_each(|number| person.step(number, &mut rng));
    }
    let client = open();
    wait_until_equal(&vault, &client);
    assert_nothing_lost(&vault, &person.written);
    assert_nothing_lost(&vault, &acknowledged);
    assert!(!acknowledged.is_empty());
    assert_eq!(vault.library.run(&["check"]).code, 0);
}
