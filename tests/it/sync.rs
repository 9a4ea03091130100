//! End-to-end tests of `vademecum sync`: libraries of several machines that exchange their changes by a
//! folder or by ssh.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use vademecum_store::{Database, Durability, Writer};

use crate::{
    faults::{rng, round_count},
    support::{CommandOutput, Library, McpClient, SeededRng, vademecum_command},
    writing::{WRITE_ENABLED, create_note, read_note, search_uris, writable_pipe},
};

/// Number of syncs of all machines after which all must be equal.
const SETTLING_ROUNDS: usize = 8;

/// Number of killed syncs in each round.
const KILLS_PER_ROUND: u64 = 4;

/// Libraries of several machines, and the folder that all of them see.
struct Machines {
    shared: TempDir,
    libraries: Vec<Library>,
}

impl Machines {
    fn new(libraries: Vec<Library>) -> Self {
        Self { shared: tempfile::tempdir().unwrap(), libraries }
    }

    fn folder(&self) -> &str {
        self.shared.path().to_str().unwrap()
    }

    fn key(&self) -> PathBuf {
        self.libraries[0].data_folder().join("users/local/sync.key")
    }

    /// Syncs a machine; all but the first one take the key of that.
    fn try_sync(&self, machine: usize) -> CommandOutput {
        let key = self.key();
        let mut arguments = vec!["sync", self.folder(), "--json"];
        if machine > 0 {
            arguments.extend(["--key", key.to_str().unwrap()]);
        }
        self.libraries[machine].run(&arguments)
    }

    fn sync(&self, machine: usize) -> Value {
        let done = self.try_sync(machine);
        assert_eq!(done.code, 0, "{done:?}");
        done.parse_json()
    }

    /// Syncs all machines until nothing is exchanged.
    fn settle(&self) {
        for _ in 0..SETTLING_ROUNDS {
            let reports = (0..self.libraries.len()).map(|machine| self.sync(machine));
            if reports.filter(|it| it["sent"] != 0 || it["received"] != 0).count() == 0 {
                return;
            }
        }
        panic!("the machines do not come to rest");
    }

    fn assert_equal(&self) {
        let exported: Vec<_> = self.libraries.iter().map(exported_files).collect();
        for other in &exported[1..] {
            for (name, text) in &exported[0] {
                assert_eq!(other.get(name), Some(text), "{}", name.display());
            }
            assert_eq!(exported[0].len(), other.len());
        }
    }

    /// Returns the files in the folder.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for folder in fs::read_dir(self.shared.path().join("vademecum-sync")).unwrap() {
            let entries = fs::read_dir(folder.unwrap().path()).unwrap();
            files.extend(entries.map(|entry| entry.unwrap().path()));
        }
        files.sort();
        files
    }
}

/// Exports a library and returns the files: items of all sources.
fn exported_files(library: &Library) -> BTreeMap<PathBuf, String> {
    let folder = library.file_path("exported");
    let done = library.run(&["export", folder.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    let mut files = BTreeMap::new();
    for source in fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()) {
        for file in fs::read_dir(&source).into_iter().flatten().map(|it| it.unwrap().path()) {
            if file.to_string_lossy().ends_with(".versions.json") {
                // Merges are recorded as changes to what each machine had.
                continue;
            }
            let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
            files.insert(file.strip_prefix(&folder).unwrap().to_owned(), text);
        }
    }
    files
}

/// Puts a program `ssh` into the path that runs the command for a host on this machine.
fn fake_ssh(folder: &Path) -> String {
    let program = folder.join("ssh");
    // The arguments are `-C -T -- HOST COMMAND`.
    fs::write(&program, "#!/bin/sh\n[ \"$4\" = laptop ] || exit 255\nexec sh -c \"$5\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    format!("{}:/usr/bin:/bin", folder.display())
}

fn sync_by_ssh(path: &str, from: &Library, to: &Library, host: &str) -> CommandOutput {
    let program = vademecum_command().get_program().to_owned();
    let output = vademecum_command()
        .env("PATH", path)
        .args(["sync", host, "--json", "--remote-program"])
        .arg(program)
        .arg("--remote-data")
        .arg(to.data_folder())
        .arg("--data")
        .arg(from.data_folder())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.into()
}

#[test]
fn new_machine_gets_items_of_all_sources() {
    let machines = Machines::new(vec![Library::with_lanterns(), Library::new()]);
    let made = machines.try_sync(0);
    assert!(made.code == 0 && made.stderr.contains("sync.key"), "{made:?}");
    machines.settle();
    machines.assert_equal();
    let check = machines.libraries[1].run(&["check"]);
    assert_eq!(check.code, 0, "{check:?}");
    assert!(machines.files().iter().all(|it| it.extension().is_some_and(|it| it == "age")));
}

#[test]
fn changes_deletions_and_undo_travel() {
    let machines = Machines::new(vec![Library::with_lanterns(), Library::new()]);
    machines.settle();
    let [one, two] = [0, 1].map(|it| writable_pipe(&machines.libraries[it]));
    let note = create_note(&one, "Anvil", "one");
    let doomed = create_note(&one, "Doomed", "zymurgy");
    machines.settle();
    let append = |at: &crate::support::StdioClient, text| {
        at.call_tool("notes.append", &json!({ "note_id": note["id"], "content": text }))
    };
    append(&one, "two");
    two.call_tool(
        "notes.update",
        &json!({ "note_id": note["id"], "version": 1, "title": "Forge" }),
    );
    two.call_tool("notes.delete", &json!({ "note_id": doomed["id"], "version": 1 }));
    machines.settle();
    machines.assert_equal();
    assert_eq!(read_note(&one, &note["id"]).0, "one\ntwo");
    assert_eq!(search_uris(&one, "forge"), [note["uri"].as_str().unwrap()]);
    assert_eq!(search_uris(&one, "zymurgy"), Vec::<String>::new());
    // A deletion that came from another machine is undone here, and there.
    let undone = machines.libraries[0].run(&["undo", "--since", "1h"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    machines.settle();
    machines.assert_equal();
}

#[test]
fn running_server_shows_received_items() {
    let machines = Machines::new(vec![Library::with_lanterns(), Library::new()]);
    let server = machines.libraries[1].serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    create_note(&client, "Kiln", "Clay.");
    machines.settle();
    assert!(!search_uris(&client, "lantern").is_empty());
    assert_eq!(search_uris(&writable_pipe(&machines.libraries[0]), "kiln").len(), 1);
}

#[test]
fn machines_sync_by_ssh() {
    let (one, two) = (Library::with_lanterns(), Library::new());
    let folder = tempfile::tempdir().unwrap();
    let path = fake_ssh(folder.path());
    let note = create_note(&writable_pipe(&two), "Kiln", "Clay.");
    let done = sync_by_ssh(&path, &one, &two, "laptop");
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.parse_json()["sent"].as_u64().unwrap() > 5 && done.parse_json()["received"] == 1);
    assert_eq!(exported_files(&one), exported_files(&two));
    let again = sync_by_ssh(&path, &one, &two, "laptop").parse_json();
    assert!(again["sent"] == 0 && again["received"] == 0, "{again}");
    // Both machines change one note, at different places.
    let edit = json!({ "note_id": note["id"], "content": "Clay.\nGlaze." });
    writable_pipe(&one).call_tool("notes.update", &with_version(edit, 1));
    let title = json!({ "note_id": note["id"], "title": "Oven" });
    writable_pipe(&two).call_tool("notes.update", &with_version(title, 1));
    let merged = sync_by_ssh(&path, &one, &two, "laptop");
    assert_eq!(merged.code, 0, "{merged:?}");
    assert_eq!(exported_files(&one), exported_files(&two));
    assert_eq!(read_note(&writable_pipe(&two), &note["id"]).0, "Clay.\nGlaze.");
    let away = sync_by_ssh(&path, &one, &two, "elsewhere");
    assert!(away.code == 1 && away.stderr.contains("elsewhere"), "{away:?}");
}

fn with_version(mut arguments: Value, version: i64) -> Value {
    arguments["version"] = version.into();
    arguments
}

#[test]
fn unsuitable_targets_are_refused() {
    let machines = Machines::new(vec![Library::with_lanterns(), Library::new()]);
    machines.sync(0);
    let refused = |arguments: &[&str], reason: &str| {
        let done = machines.libraries[1].run(arguments);
        assert!(done.code != 0 && done.stderr.contains(reason), "{arguments:?}: {done:?}");
    };
    refused(&["sync", machines.folder()], "--key");
    refused(&["sync", "/no/such/folder"], "is no folder");
    refused(&["sync", "a;b"], "neither a folder nor a host");
    let own = machines.libraries[1].data_folder().join("users/local");
    fs::create_dir_all(&own).unwrap();
    refused(&["sync", own.to_str().unwrap(), "--plain"], "in the data folder");
    let odd = machines.libraries[1].write_file("odd.key", "no key");
    refused(&["sync", machines.folder(), "--key", odd.to_str().unwrap()], "age identity");
    // A disk that is not mounted is no empty folder.
    fs::remove_dir_all(machines.shared.path().join("vademecum-sync")).unwrap();
    let missing = machines.try_sync(0);
    assert!(missing.code == 1 && missing.stderr.contains("is missing"), "{missing:?}");
}

#[test]
fn strangers_files_are_named_and_not_used() {
    let machines = Machines::new(vec![Library::with_lanterns(), Library::new()]);
    machines.settle();
    let before = exported_files(&machines.libraries[0]);
    let base = machines.shared.path().join("vademecum-sync");
    let stranger = base.join("00000000deadbeef");
    fs::create_dir(&stranger).unwrap();
    let own =
        machines.files().into_iter().find(|it| it.to_string_lossy().contains("chacha")).unwrap();
    // A copy of a real file under another name, noise, and a link to a file of the user.
    fs::copy(&own, stranger.join("chacha-0000000001.age")).unwrap();
    fs::write(stranger.join("chacha-0000000002.age"), "age-encryption.org/v1\n-> X25519 x\n")
        .unwrap();
    symlink("/etc/passwd", stranger.join("chacha-0000000003.age")).unwrap();
    let plain = json!({ "vademecum_sync": 1 }).to_string();
    fs::write(stranger.join("chacha-0000000004.plain"), plain).unwrap();
    let done = machines.try_sync(0);
    assert_eq!(done.code, 1, "{done:?}");
    let problems = done.parse_json()["problems"].as_array().unwrap().clone();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(exported_files(&machines.libraries[0]), before);
    fs::remove_dir_all(&stranger).unwrap();
    machines.settle();
}

#[test]
fn earlier_library_is_synced() {
    let machines = Machines::new(vec![Library::with_lanterns(), Library::new()]);
    for database in Database::ALL {
        let mut migrations = database.migrations().iter();
        let version = migrations.position(|sql| sql.contains("CREATE TABLE sync_items")).unwrap();
        let path =
            machines.libraries[0].data_folder().join("users/local").join(database.file_name());
        #[expect(clippy::disallowed_methods, reason = "the file is given an earlier schema")]
        let file = rusqlite::Connection::open(path).unwrap();
        let drop = "DROP TABLE sync_places; DROP TABLE sync_items; DROP TABLE sync_files;";
        file.execute_batch(&format!("{drop} PRAGMA user_version = {version}")).unwrap();
    }
    machines.settle();
    machines.assert_equal();
    assert!(exported_files(&machines.libraries[1]).len() > 5);
}

/// A two-way folder that both machines have at the same place.
struct SamePlace {
    home: TempDir,
}

impl SamePlace {
    fn path(&self) -> PathBuf {
        self.home.path().join("vault")
    }

    /// Runs a command while the folder is that of a machine.
    fn run(&self, library: &Library, machine: &str, arguments: &[&str]) {
        let own = self.home.path().join(machine);
        fs::create_dir_all(&own).unwrap();
        fs::rename(&own, self.path()).unwrap();
        let done = library.run(arguments);
        fs::rename(self.path(), &own).unwrap();
        // The tag is only in the library, which a sync reports.
        assert!(done.code == 0 || arguments[0] == "sync", "{done:?}");
    }

    fn read(&self, machine: &str, file: &str) -> Option<String> {
        fs::read_to_string(self.home.path().join(machine).join(file)).ok()
    }
}

#[test]
fn missing_file_of_another_machine_deletes_no_note() {
    let machines = Machines::new(vec![Library::new(), Library::new()]);
    let place = SamePlace { home: tempfile::tempdir().unwrap() };
    let [one, two] = [0, 1].map(|it| &machines.libraries[it]);
    for (machine, file) in [("one", "rye.txt"), ("two", "oat.txt")] {
        fs::create_dir(place.home.path().join(machine)).unwrap();
        fs::write(place.home.path().join(machine).join(file), file).unwrap();
    }
    let path = place.path();
    let import = ["import", "--two-way", path.to_str().unwrap()];
    let key = machines.key();
    let sync_one = ["sync", machines.folder()];
    let sync_two = ["sync", machines.folder(), "--key", key.to_str().unwrap()];
    place.run(one, "one", &import);
    place.run(one, "one", &sync_one);
    machines.sync(1);
    // As an earlier version of the program received the note.
    let as_imported = |writer: &Writer<'_>| {
        writer.execute("UPDATE imported SET changed_at = NULL", &[]).map(drop)
    };
    two.store(Database::Chacha).write(Durability::Full, as_imported).unwrap();
    place.run(two, "two", &import);
    // The file cannot hold the tag, so that only the library has it.
    let pipe = writable_pipe(one);
    let uri = search_uris(&pipe, "rye").remove(0);
    pipe.call_tool("knowledge.tag", &json!({ "uri": uri, "add": ["flour"] }));
    drop(pipe);
    for _ in 0..3 {
        place.run(one, "one", &sync_one);
        place.run(two, "two", &sync_two);
        place.run(two, "two", &import);
    }
    assert_eq!(search_uris(&writable_pipe(two), "rye"), std::slice::from_ref(&uri));
    assert_eq!(search_uris(&writable_pipe(one), "rye"), [uri]);
    assert_eq!(place.read("two", "rye.txt").as_deref(), Some("rye.txt"));
    // A person who deletes the file on the machine deletes the note.
    fs::remove_file(place.home.path().join("two/rye.txt")).unwrap();
    place.run(two, "two", &import);
    assert_eq!(search_uris(&writable_pipe(two), "rye"), Vec::<String>::new());
}

/// Starts a sync and kills it at a random moment. Returns `true` if it had not ended by then.
fn kill_sync(machines: &Machines, machine: usize, rng: &mut SeededRng) -> bool {
    let key = machines.key();
    let mut command = vademecum_command();
    command.args(["sync", machines.folder(), "--data"]);
    command.arg(machines.libraries[machine].data_folder());
    if machine > 0 {
        command.arg("--key").arg(key);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(rng.next_below(400) as u64));
    let is_running = process.try_wait().unwrap().is_none();
    process.kill().unwrap();
    process.wait().unwrap();
    is_running
}

/// Loses, doubles, truncates or renames a file of the folder.
fn disturb(machines: &Machines, rng: &mut SeededRng) {
    let files = machines.files();
    if files.is_empty() {
        return;
    }
    let file = rng.choose(&files);
    let beside = |name: &str| file.with_file_name(name);
    match rng.next_below(4) {
        0 => fs::remove_file(file).unwrap(),
        1 => {
            fs::copy(file, beside("chacha-0000000001 (1).age")).unwrap();
        }
        2 => {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }
        _ => fs::rename(file, beside("chacha-0000000001.sync-conflict.age")).unwrap(),
    }
}

/// Changes notes of a machine in a random way, and returns the text that must stay.
fn change_notes(library: &Library, notes: &[Value], number: usize, rng: &mut SeededRng) -> String {
    let pipe = writable_pipe(library);
    let note = rng.choose(notes);
    let word = format!("w{number}x");
    match rng.next_below(4) {
        0 => {
            pipe.call_tool("knowledge.tag", &json!({ "uri": note["uri"], "add": [word] }));
        }
        1 => {
            create_note(&pipe, &word, "A bight.");
        }
        _ => {
            pipe.call_tool("notes.append", &json!({ "note_id": note["id"], "content": word }));
        }
    }
    word
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are printed")]
fn killed_syncs_leave_machines_equal() {
    let mut rng = rng();
    let machines = Machines::new(vec![Library::new(), Library::new(), Library::new()]);
    let pipe = writable_pipe(&machines.libraries[0]);
    let notes = ["Log", "Plan", "List"].map(|title| create_note(&pipe, title, "begin"));
    drop(pipe);
    machines.settle();
    let (mut words, mut killed) = (Vec::new(), 0);
    let kills = KILLS_PER_ROUND * round_count();
    for number in 0..usize::try_from(kills).unwrap() {
        let machine = rng.next_below(machines.libraries.len());
        words.push(change_notes(&machines.libraries[machine], &notes, number, &mut rng));
        killed += usize::from(kill_sync(&machines, machine, &mut rng));
        if rng.next_below(3) == 0 {
            disturb(&machines, &mut rng);
        }
        if rng.next_below(3) == 0 {
            // A file that was truncated is a problem until its machine has written it again.
            machines.try_sync(rng.next_below(machines.libraries.len()));
        }
    }
    for machine in 0..machines.libraries.len() {
        machines.try_sync(machine);
    }
    machines.settle();
    machines.assert_equal();
    let all: Vec<String> = exported_files(&machines.libraries[0]).into_values().collect();
    let all = all.join("\n");
    let lost: Vec<&String> = words.iter().filter(|word| !all.contains(word.as_str())).collect();
    println!(
        "{kills} kills, {killed} of a running sync; {} changes, {} lost",
        words.len(),
        lost.len()
    );
    assert!(lost.is_empty(), "lost: {lost:?}");
}
