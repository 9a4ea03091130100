//! Keys, and files of folders at other places.

use std::fs;

use vademecum_sync::{FolderOptions, sync_folder};

use crate::machines::{
    Machine, assert_equal, carry, carry_between, machines, note, own_folder, replace, settle,
};

#[test]
fn new_key_has_all_items_written_again() {
    let mut machines = machines(2);
    machines[0].change(&note("Rye", "barley")).unwrap();
    machines[1].change(&note("Oat", "millet")).unwrap();
    settle(&machines);
    let key = machines[0].library.folder.join("sync.key");
    for machine in &machines {
        fs::remove_file(machine.library.folder.join("sync.key")).unwrap();
    }
    let other = Machine::new(None);
    other.sync();
    fs::copy(other.library.folder.join("sync.key"), &key).unwrap();
    // The files of the other machine cannot be read until it has the key too.
    for _ in 0..2 {
        for machine in &machines {
            carry(&machines, None);
            machine.sync();
        }
    }
    settle(&machines);
    machines.push(Machine::new(Some(key)));
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[2].notes().len(), 2);
}

#[test]
fn folders_at_two_places_have_no_files_in_common() {
    let machines = machines(2);
    machines[0].change(&note("Rye", "barley")).unwrap();
    settle(&machines);
    machines[0].change(&note("Oat", "millet")).unwrap();
    // Another disk, which the second machine finds at the place of the first one.
    let stick = tempfile::tempdir().unwrap();
    sync_folder(&machines[0].library, stick.path(), &FolderOptions::default()).unwrap();
    let (_, name) = own_folder(&machines[0]).unwrap();
    let mine = machines[1].shared().join("vademecum-sync").join(&name);
    fs::remove_dir_all(&mine).unwrap();
    fs::create_dir(&mine).unwrap();
    for file in stick.path().join("vademecum-sync").join(&name).read_dir().unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), mine.join(file.file_name())).unwrap();
    }
    machines[1].sync();
    assert_eq!(machines[1].notes().len(), 2);
}

#[test]
fn file_that_is_brought_back_makes_no_new_machine() {
    let machines = machines(1);
    let id = machines[0].change(&note("Rye", "barley")).unwrap().to_string();
    machines[0].sync();
    let (own, name) = own_folder(&machines[0]).unwrap();
    let earlier: Vec<_> = own.read_dir().unwrap().map(|it| it.unwrap().path()).collect();
    let earlier: Vec<_> = earlier.iter().map(|path| (path, fs::read(path).unwrap())).collect();
    machines[0].change(&replace(&id, "millet")).unwrap();
    machines[0].sync();
    machines[0].sync();
    for (path, bytes) in &earlier {
        fs::write(path, bytes).unwrap();
    }
    // A stranger plants a file with a great number.
    fs::write(own.join("chacha-9000000000.age"), "age-encryption.org/v1\n").unwrap();
    machines[0].sync();
    assert_eq!(own_folder(&machines[0]).unwrap().1, name);
    assert!(machines[0].text().contains("millet"));
}

#[test]
fn batches_are_bounded_by_the_size_of_earlier_versions() {
    let machines = machines(2);
    for number in 0..24 {
        let id = machines[0].change(&note(&format!("Note {number}"), "begin")).unwrap();
        let words: Vec<String> =
            (0..60_000).map(|word| format!("w{}", word * 7 + number)).collect();
        let long = words.join(" ");
        machines[0].change(&replace(&id.to_string(), &long)).unwrap();
        machines[0].change(&replace(&id.to_string(), "end")).unwrap();
    }
    let report = machines[0].sync();
    assert!(report.files_written >= 2, "{report:?}");
    carry_between(&machines[0], &machines[1], None);
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[1].history_len(&machines[1].notes()[0]), 3);
}
