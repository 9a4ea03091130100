//! Three machines with random changes, and a folder that loses, doubles, truncates, delays and reorders
//! files: in the end, all have the same items, and no added line is lost.
//!
//! `VADEMECUM_FAULT_ROUNDS` sets the number of runs, `VADEMECUM_FAULT_SEED` repeats one.

use std::{
    env, fs,
    time::{SystemTime, UNIX_EPOCH},
};

use vademecum_model::{Change, Edit, ItemId, TagChange};

use crate::machines::{
    Machine, Rng, assert_equal, carry, character, edit, machines, media, note, prompt, replace,
    settle,
};

/// Number of machines.
const MACHINES: usize = 3;
/// Number of steps of a run.
const STEPS: usize = 120;

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
    let changed = match (rng.below(13), id) {
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
            machine.change(&Change::Restore { id, version: 1, present: None })
        }
        (9, Some(_)) => {
            let (origin, name) = (rng.below(4), rng.below(3));
            let body = prompt(&format!("Prompt {name}"), &format!("text {number}"));
            machine.import(&format!("prompts.json#{origin}"), body);
            return None;
        }
        (10, Some(_)) => {
            let origin = format!("file:/inbox/{}.txt", rng.below(3));
            machine.import(&origin, media("Leaflet", &format!("text {number}")));
            return None;
        }
        (11, Some(_)) => {
            let (origin, image) = (format!("cards.json#{}", rng.below(3)), [0, 1, 2]);
            let image = &image[..=rng.below(3)];
            machine.import(&origin, character("Ada", &format!("text {number}"), image));
            return None;
        }
        (_, Some(_)) => {
            // Two machines have another file at the same path. A machine that imports its file again
            // replaces the text.
            let origin = format!("file:/inbox/new {}.txt", number / 2);
            let other = format!("begin\\nline {}", number ^ 1);
            if contents.values().any(|text| text.contains(&other)) {
                return None;
            }
            let content = format!("begin\n{line}");
            machine.import(&origin, media("Sheet", &content));
            return Some(line);
        }
    };
    // Some changes are refused, such as to restore a version that is not kept.
    drop(changed);
    None
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
