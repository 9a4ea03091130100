//! Three machines with random changes, and a folder that loses, doubles, truncates, delays and reorders
//! files: in the end, all have the same items, and no added line is lost.
//!
//! `VADEMECUM_FAULT_ROUNDS` sets the number of runs, `VADEMECUM_FAULT_SEED` repeats one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step fails the test")]
#![expect(clippy::print_stdout, reason = "the seed is needed to repeat a failed test")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tempfile::TempDir;
use vademecum_model::{
    Change, ChangeAuthor, Deadline, Draft, DraftBody, Edit, FieldReplacement, ItemId, NoteDraft,
    PromptDraft, SourceName, TagChange,
};
use vademecum_notes::Notes;
use vademecum_prompts::Prompts;
use vademecum_source::{Source, SourceError};
use vademecum_store::{Database, Durability, Reader, Store, Writer};
use vademecum_sync::{FolderOptions, SyncReport, SyncedDatabase, SyncedLibrary, sync_folder};
use vademecum_vault::journal::{ConflictCopies, apply_change, read_history, save_draft};

/// Number of machines.
const MACHINES: usize = 3;
/// Number of steps of a run.
const STEPS: usize = 120;
/// Number of syncs of all machines after which nothing may be left to exchange.
const SETTLING_ROUNDS: usize = 12;

/// Pseudorandom numbers.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn choose<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        (!all.is_empty()).then(|| &all[self.below(all.len())])
    }
}

/// A machine: its library, and its copy of the folder.
struct Machine {
    home: TempDir,
    library: SyncedLibrary,
    key: Option<PathBuf>,
}

/// Content of an item by which machines are compared.
type Contents = BTreeMap<String, String>;

impl Machine {
    fn new(key: Option<PathBuf>) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("shared")).unwrap();
        let library = open(home.path());
        Self { home, library, key }
    }

    fn shared(&self) -> PathBuf {
        self.home.path().join("shared")
    }

    fn store(&self, database: Database) -> &Store {
        let mut all = self.library.databases.iter();
        all.find(|it| it.store().database() == database).unwrap().store()
    }

    fn sync(&self) -> SyncReport {
        let key_file = self.key.clone();
        let options = FolderOptions { key_file, ..FolderOptions::default() };
        sync_folder(&self.library, &self.shared(), &options).unwrap()
    }

    fn change(&self, change: &Change) -> Result<ItemId, SourceError> {
        let author = ChangeAuthor { client: "pen".to_owned(), ..ChangeAuthor::default() };
        let apply = |writer: &Writer<'_>| apply_change(&Notes, writer, change, &author);
        self.store(Database::Chacha).write(Durability::Full, apply).map(|changed| changed.id)
    }

    /// Returns the identifiers of the notes.
    fn notes(&self) -> Vec<String> {
        let list = |reader: &Reader<'_>| Notes.list_item_versions(reader);
        let found = self.store(Database::Chacha).read(soon(), list).unwrap();
        found.into_iter().map(|item| item.id).collect()
    }

    fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        let sources: [(&dyn Source, Database); 2] =
            [(&Notes, Database::Chacha), (&Prompts, Database::Prompts)];
        for (source, database) in sources {
            let read = |reader: &Reader<'_>| {
                for item in source.list_item_versions(reader)? {
                    let mut body = source.load_draft(reader, &item.id)?.body;
                    // Each library has its own spelling of a tag.
                    body.tags_mut().iter_mut().for_each(|tag| tag.make_ascii_lowercase());
                    body.tags_mut().sort();
                    body.clear_modified_at();
                    let key = match body.source() {
                        SourceName::Notes => item.id,
                        _ => body.title_mut().clone(),
                    };
                    contents.insert(key, serde_json::to_string(&body).unwrap());
                }
                Ok::<_, SourceError>(())
            };
            self.store(database).read(soon(), read).unwrap();
        }
        contents
    }

    fn history_len(&self, note: &str) -> usize {
        let read = |reader: &Reader<'_>| read_history(&Notes, reader, note, (0, 9));
        self.store(Database::Chacha).read(soon(), read).unwrap().total
    }

    /// Saves a prompt as an import does.
    fn save_prompt(&self, origin: &str, name: &str, text: &str) {
        let body = DraftBody::Prompt(PromptDraft {
            name: name.to_owned(),
            user_prompt: Some(text.to_owned()),
            ..PromptDraft::default()
        });
        let draft = Draft { origin: origin.to_owned(), digest: text.to_owned(), id: None, body };
        let author = ChangeAuthor::default();
        let save = |writer: &Writer<'_>| {
            save_draft(&Prompts, writer, &draft, &author, ConflictCopies::InLibrary)
        };
        match self.store(Database::Prompts).write(Durability::Full, save) {
            // A file that contradicts a merged prompt is refused, because a prompt has no copies.
            Ok(_) | Err(SourceError::Refused(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn open(home: &Path) -> SyncedLibrary {
    let folder = home.join("library");
    fs::create_dir_all(&folder).unwrap();
    let stores = [Database::Chacha, Database::Prompts].map(|it| Arc::new(Store::new(it, &folder)));
    let sources: [Arc<dyn Source>; 2] = [Arc::new(Notes), Arc::new(Prompts)];
    let databases = SyncedDatabase::all(&sources, &stores);
    SyncedLibrary { folder, databases }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

/// Returns machines that share the key of the first one.
fn machines(count: usize) -> Vec<Machine> {
    let first = Machine::new(None);
    first.sync();
    let key = first.library.folder.join("sync.key");
    std::iter::once(first).chain((1..count).map(|_| Machine::new(Some(key.clone())))).collect()
}

fn note(title: &str, content: &str) -> Change {
    let body = DraftBody::Note(NoteDraft {
        title: title.to_owned(),
        content: content.to_owned(),
        ..NoteDraft::default()
    });
    let (origin, digest) = (String::new(), String::new());
    Change::Add(Box::new(Draft { origin, digest, id: None, body }))
}

fn edit(id: &str, edit: Edit) -> Change {
    Change::Edit { id: ItemId::Text(id.to_owned()), version: None, edit }
}

fn replace(id: &str, content: &str) -> Change {
    let content = Some(content.to_owned());
    edit(id, Edit::Replace(FieldReplacement { content, ..FieldReplacement::default() }))
}

/// Copies the files of each machine to the other ones; with a generator, only some of them.
fn carry(machines: &[Machine], mut rng: Option<&mut Rng>) {
    for from in machines {
        for to in machines.iter().filter(|to| !std::ptr::eq(*to, from)) {
            carry_between(from, to, rng.as_deref_mut());
        }
    }
}

fn own_folder(machine: &Machine) -> Option<(PathBuf, String)> {
    let id = fs::read_to_string(machine.library.folder.join("sync.id")).ok()?;
    let id: serde_json::Value = serde_json::from_str(&id).unwrap();
    let name = id["replica"].as_str().unwrap().to_owned();
    let base = machine.shared().join("vademecum-sync");
    Some((base.join(&name), name))
}

fn carry_between(from: &Machine, to: &Machine, mut rng: Option<&mut Rng>) {
    let Some((own, name)) = own_folder(from) else { return };
    let other = to.shared().join("vademecum-sync").join(name);
    fs::create_dir_all(&other).unwrap();
    let mut luck = |odds: usize| rng.as_deref_mut().is_none_or(|rng| rng.below(odds) > 0);
    let listed = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut files = listed(&own);
    // Later files may come first.
    files.reverse();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let target = other.join(&name);
        let bytes = fs::read(&file).unwrap();
        if !luck(3) {
            continue;
        }
        // A program that copies files may be interrupted, or make a second copy.
        let part = if luck(5) { bytes.len() } else { bytes.len() / 2 };
        if fs::metadata(&target).map_or(0, |it| usize::try_from(it.len()).unwrap()) < bytes.len() {
            fs::write(&target, &bytes[..part]).unwrap();
        }
        if !luck(6) {
            fs::write(other.join(format!("copy of {name}")), &bytes).unwrap();
            fs::write(other.join(name.replace(".age", " (1).age")), &bytes).unwrap();
        }
    }
    for file in listed(&other) {
        let is_gone = !own.join(file.file_name().unwrap()).exists();
        if is_gone && luck(2) {
            fs::remove_file(file).unwrap();
        }
    }
}

/// Removes a random file of the folder of a machine.
fn lose_file(machine: &Machine, rng: &mut Rng) {
    let base = machine.shared().join("vademecum-sync");
    let mut files = Vec::new();
    for folder in fs::read_dir(base).unwrap() {
        files.extend(fs::read_dir(folder.unwrap().path()).unwrap().map(|it| it.unwrap().path()));
    }
    files.sort();
    if let Some(file) = rng.choose(&files) {
        fs::remove_file(file).unwrap();
    }
}

/// Changes a random item of a machine. Returns the line that was appended.
fn change_something(machine: &Machine, number: usize, rng: &mut Rng) -> Option<String> {
    let notes = machine.notes();
    let logs: Vec<String> = notes.iter().filter(|it| it.starts_with("log")).cloned().collect();
    // A copy of a log has lines that must be kept, too.
    let contents = machine.contents();
    let is_log = |id: &String| contents.get(id).is_some_and(|it| it.contains("\"title\":\"Log "));
    let wild: Vec<String> = notes.into_iter().filter(|id| !is_log(id)).collect();
    let line = format!("line {number}");
    let id = rng.choose(&wild).cloned();
    let changed = match (rng.below(10), id) {
        (0..=3, _) => {
            let log = rng.choose(&logs)?;
            machine.change(&edit(log, Edit::Append(line.clone()))).unwrap();
            return Some(line);
        }
        (4, _) | (_, None) => machine.change(&note(&format!("Note {number}"), "a\nb\nc\n")),
        (5, Some(id)) => {
            let lines = ["a", "b", "c"].map(|it| match rng.below(3) {
                0 => format!("{it}{number}\n"),
                _ => format!("{it}\n"),
            });
            machine.change(&replace(&id, &lines.concat()))
        }
        (6, Some(id)) => {
            let tag = |rng: &mut Rng| format!("{}{}", ["t", "T"][rng.below(2)], rng.below(4));
            let (add, remove) = ([tag(rng)], [tag(rng)]);
            let tagging = TagChange { add: add.into(), remove: remove.into(), text: None };
            machine.change(&Change::Tag { id: ItemId::Text(id), tagging })
        }
        (7, Some(id)) => machine.change(&edit(&id, Edit::Delete)),
        (8, Some(id)) => {
            let id = ItemId::Text(id);
            machine.change(&Change::Restore { id, version: 1 })
        }
        (_, Some(_)) => {
            let (origin, name) = (rng.below(4), rng.below(3));
            machine.save_prompt(
                &format!("prompts.json#{origin}"),
                &format!("Prompt {name}"),
                &format!("text {number}"),
            );
            return None;
        }
    };
    // Some changes are refused, such as to restore a version that is not kept.
    drop(changed);
    None
}

/// Syncs all machines until nothing is exchanged any more.
fn settle(machines: &[Machine]) {
    for round in 0.. {
        let mut moved = 0;
        for machine in machines {
            carry(machines, None);
            let report = machine.sync();
            assert_eq!(report.problems, Vec::<String>::new());
            moved += report.sent + report.received;
        }
        if moved == 0 {
            return;
        }
        assert!(round < SETTLING_ROUNDS, "the machines do not come to rest");
    }
}

fn assert_equal(machines: &[Machine]) {
    let first = machines[0].contents();
    for machine in &machines[1..] {
        let other = machine.contents();
        for (key, content) in &first {
            assert_eq!(other.get(key), Some(content), "{key}");
        }
        for (key, content) in &other {
            assert_eq!(first.get(key), Some(content), "{key}");
        }
    }
}

fn run(seed: u64) {
    let mut rng = Rng(seed);
    let machines = machines(MACHINES);
    for number in 0..4 {
        let Change::Add(mut draft) = note(&format!("Log {number}"), "begin") else { panic!() };
        draft.id = Some(format!("log{number}"));
        machines[0].change(&Change::Add(draft)).unwrap();
    }
    settle(&machines);
    let mut lines = Vec::new();
    for number in 0..STEPS {
        let machine = &machines[rng.below(MACHINES)];
        match rng.below(12) {
            0..=7 => lines.extend(change_something(machine, number, &mut rng)),
            8 | 9 => drop(machine.sync()),
            10 => carry(&machines, Some(&mut rng)),
            _ => lose_file(machine, &mut rng),
        }
    }
    settle(&machines);
    assert_equal(&machines);
    let all: String = machines[0].contents().into_values().collect();
    for line in &lines {
        let is_kept = [format!("\\n{line}\\n"), format!("\\n{line}\"")];
        assert!(is_kept.iter().any(|it| all.contains(it)), "{line} is lost");
    }
}

#[test]
fn machines_with_faulty_folders_become_equal() {
    let number = |name: &str| -> Option<u64> {
        env::var_os(name).map(|text| text.to_str().unwrap().parse().unwrap())
    };
    let rounds = number("VADEMECUM_FAULT_ROUNDS").unwrap_or(3);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("VADEMECUM_FAULT_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    for round in 0..rounds {
        println!("VADEMECUM_FAULT_SEED={}", seed + round);
        run(seed + round);
    }
}

#[test]
fn changes_of_one_machine_travel_with_history() {
    let machines = machines(2);
    let id = machines[0].change(&note("Rye", "one\n")).unwrap().to_string();
    settle(&machines);
    for line in ["two", "three"] {
        machines[0].change(&edit(&id, Edit::Append(line.to_owned()))).unwrap();
    }
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[1].history_len(&id), 3);
    let restore = Change::Restore { id: ItemId::Text(id.clone()), version: 2 };
    machines[1].change(&restore).unwrap();
    settle(&machines);
    assert!(machines[0].contents()[&id].contains("one\\ntwo\\n"));
    assert_eq!(machines[0].history_len(&id), 4);
    machines[0].change(&edit(&id, Edit::Delete)).unwrap();
    settle(&machines);
    assert!(machines[1].notes().is_empty());
    // The deletion can be undone on the other machine.
    let version = Change::Restore { id: ItemId::Text(id.clone()), version: 4 };
    machines[1].change(&version).unwrap();
    settle(&machines);
    assert_eq!(machines[0].notes(), [id]);
}

#[test]
fn contradicting_changes_become_one_copy_everywhere() {
    let machines = machines(3);
    let id = machines[0].change(&note("Rye", "a\nb\n")).unwrap().to_string();
    settle(&machines);
    machines[1].change(&replace(&id, "ours\nb\n")).unwrap();
    machines[2].change(&replace(&id, "theirs\nb\n")).unwrap();
    settle(&machines);
    assert_equal(&machines);
    let all = machines[0].contents();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.values().any(|it| it.contains("conflict of pen")), "{all:?}");
}

#[test]
fn same_origin_on_two_machines_is_one_item() {
    let machines = machines(2);
    for (machine, text) in machines.iter().zip(["one", "one"]) {
        machine.save_prompt("prompts.json#1", "Summarize", text);
    }
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[0].contents().len(), 1);
    for (machine, text) in machines.iter().zip(["two", "three"]) {
        machine.save_prompt("prompts.json#2", "Translate", text);
        machine.save_prompt(&format!("{text}.json"), "Explain", text);
    }
    settle(&machines);
    assert_equal(&machines);
    let names: Vec<String> = machines[0].contents().into_keys().collect();
    assert!(names.iter().filter(|name| name.starts_with("Explain")).count() == 2, "{names:?}");
}

#[test]
fn new_machine_gets_all_from_others_files() {
    let mut machines = machines(2);
    for number in 0..50 {
        machines[0].change(&note(&format!("Note {number}"), "text")).unwrap();
    }
    settle(&machines);
    let key = machines[1].key.clone();
    machines.push(Machine::new(key));
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[2].notes().len(), 50);
}

#[test]
fn rolled_back_library_loses_nothing() {
    let machines = machines(2);
    let id = machines[0].change(&note("Rye", "one\n")).unwrap().to_string();
    settle(&machines);
    let (library, kept) = (&machines[0].library.folder, machines[0].home.path().join("kept"));
    fs::create_dir(&kept).unwrap();
    let copy = |from: &Path, to: &Path| {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            // Written in place, so that the file with the identity stays the same one.
            fs::write(to.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
        }
    };
    machines[0].library.databases.iter().for_each(|it| it.store().checkpoint_and_close().unwrap());
    copy(library, &kept);
    machines[0].change(&edit(&id, Edit::Append("two".to_owned()))).unwrap();
    settle(&machines);
    machines[0].library.databases.iter().for_each(|it| it.store().checkpoint_and_close().unwrap());
    copy(&kept, library);
    machines[0].change(&edit(&id, Edit::Append("three".to_owned()))).unwrap();
    settle(&machines);
    assert_equal(&machines);
    let content = &machines[1].contents()[&id];
    assert!(content.contains("two") && content.contains("three"), "{content}");
}

#[test]
fn files_without_key_are_refused() {
    let first = Machine::new(None);
    first.change(&note("Rye", "secret")).unwrap();
    first.sync();
    let stranger = Machine::new(None);
    let (own, name) = own_folder(&first).unwrap();
    let other = stranger.shared().join("vademecum-sync").join(name);
    fs::create_dir_all(&other).unwrap();
    for entry in fs::read_dir(own).unwrap() {
        let path = entry.unwrap().path();
        assert!(!fs::read(&path).unwrap().windows(6).any(|part| part == b"secret"));
        fs::copy(&path, other.join(path.file_name().unwrap())).unwrap();
    }
    let refused = sync_folder(&stranger.library, &stranger.shared(), &FolderOptions::default());
    assert!(refused.unwrap_err().to_string().contains("--key"));
    // A stranger who has another key writes a file into the folder: it is named and not used.
    let third = Machine::new(None);
    third.change(&note("Oat", "planted")).unwrap();
    third.sync();
    carry_between(&third, &first, None);
    let report = first.sync();
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert_eq!(first.notes().len(), 1);
}
