//! Single changes, deletions, copies and faults.

use std::{fs, path::Path};

use vademecum_model::{Change, Edit, ItemId};
use vademecum_sync::{FolderOptions, sync_folder};

use crate::machines::{
    Machine, assert_equal, carry_between, edit, machines, note, own_folder, prompt, replace, settle,
};

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
    let restore = Change::Restore { id: ItemId::Text(id.clone()), version: 2, present: None };
    machines[1].change(&restore).unwrap();
    settle(&machines);
    assert!(machines[0].contents()[&id].contains("one\\ntwo\\n"));
    assert_eq!(machines[0].history_len(&id), 4);
    machines[0].change(&edit(&id, Edit::Delete)).unwrap();
    settle(&machines);
    assert!(machines[1].notes().is_empty());
    // The deletion can be undone on the other machine.
    let version = Change::Restore { id: ItemId::Text(id.clone()), version: 4, present: None };
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
        machine.import("prompts.json#1", prompt("Summarize", text));
    }
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[0].contents().len(), 1);
    for (machine, text) in machines.iter().zip(["two", "three"]) {
        machine.import("prompts.json#2", prompt("Translate", text));
        machine.import(&format!("{text}.json"), prompt("Explain", text));
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
