//! Items that two machines have changed, or imported, without knowledge of each other.

use std::{thread, time::Duration};

use vademecum_characters::Characters;
use vademecum_chats::Chats;
use vademecum_model::{
    ChatDraft, DraftBody, Edit, MessageDraft, NoteDraft, SessionDetails, SourceName, Timestamp,
};
use vademecum_prompts::Prompts;

use crate::machines::{
    Machine, assert_equal, carry_between, character, edit, machines, media, note, own_folder,
    prompt, replace, settle,
};

fn file_note(content: &str) -> DraftBody {
    let (title, content) = ("Rye".to_owned(), content.to_owned());
    DraftBody::Note(NoteDraft { title, content, ..NoteDraft::default() })
}

/// Asserts that all machines have the same items, and each of the texts.
fn assert_kept(machines: &[Machine], texts: &[&str]) {
    settle(machines);
    assert_equal(machines);
    let all = machines[0].text();
    for text in texts {
        assert!(all.contains(text), "{text} is lost: {all}");
    }
}

#[test]
fn local_file_at_the_path_of_another_machine_replaces_no_item() {
    let machines = machines(2);
    machines[0].import("file:/inbox/rye.md", file_note("barley"));
    machines[0].import("file:/inbox/rye.txt", media("Leaflet", "buckwheat"));
    machines[0].import("file:/inbox/rye.json", prompt("Bake", "sorghum"));
    machines[0].import("file:/inbox/rye.png", character("Ada", "triticale", b"one"));
    settle(&machines);
    machines[1].import("file:/inbox/rye.md", file_note("oats"));
    machines[1].import("file:/inbox/rye.txt", media("Leaflet", "millet"));
    machines[1].import("file:/inbox/rye.json", prompt("Bake", "teff"));
    machines[1].import("file:/inbox/rye.png", character("Ada", "spelt", b"two"));
    let texts = ["barley", "buckwheat", "sorghum", "triticale", "oats", "millet", "teff", "spelt"];
    assert_kept(&machines, &texts);
    // Later changes of the other machine replace no file of this one either.
    machines[0].import("file:/inbox/rye.txt", media("Leaflet", "quinoa"));
    settle(&machines);
    machines[1].import("file:/inbox/rye.txt", media("Leaflet", "amaranth"));
    assert_kept(&machines, &["quinoa", "amaranth"]);
}

#[test]
fn same_origins_with_different_texts_keep_both() {
    let machines = machines(2);
    for (machine, text) in machines.iter().zip(["barley", "oats"]) {
        machine.import("items.json#1", media("Leaflet", &format!("{text} leaflet")));
        machine.import("items.json#2", prompt("Bake", &format!("{text} prompt")));
        machine.import("items.json#3", character("Ada", &format!("{text} card"), b"image"));
        machine.import("items.json#4", character("Bob", "same", text.as_bytes()));
    }
    let images = ["barley", "oats"].map(|text| format!("{:?}", Some(text.as_bytes().to_vec())));
    let texts = ["barley leaflet", "oats leaflet", "barley prompt", "oats prompt"];
    assert_kept(&machines, &texts);
    assert_kept(&machines, &["barley card", "oats card", &images[0], &images[1]]);
}

#[test]
fn items_that_differ_in_tags_only_become_one() {
    let machines = machines(2);
    for (machine, tag) in machines.iter().zip(["spring", "autumn"]) {
        let mut body = prompt("Bake", "rye");
        *body.tags_mut() = vec![tag.to_owned()];
        machine.import("items.json#1", body);
    }
    assert_kept(&machines, &["spring", "autumn"]);
    assert_eq!(machines[0].items(&Prompts).len(), 1);
}

#[test]
fn repeated_conflict_makes_another_copy() {
    let machines = machines(2);
    let id = machines[0].change(&note("Rye", "begin\n")).unwrap().to_string();
    settle(&machines);
    for theirs in ["one\n", "two\n"] {
        // The earlier change becomes the copy.
        machines[0].change(&replace(&id, "ours\n")).unwrap();
        thread::sleep(Duration::from_millis(20));
        machines[1].change(&replace(&id, theirs)).unwrap();
        assert_kept(&machines, &["ours", theirs.trim()]);
        let copies = machines[0].notes().into_iter().filter(|note| *note != id);
        for copy in copies {
            machines[0].change(&edit(&copy, Edit::Delete)).unwrap();
        }
        settle(&machines);
        assert_eq!(machines[1].notes(), std::slice::from_ref(&id));
    }
}

#[test]
fn equal_items_that_both_machines_know_stay_two() {
    let machines = machines(2);
    machines[1].import("cards.json#1", character("Ada", "same", b"image"));
    settle(&machines);
    machines[0].import("cards.json#2", character("Ada", "same", b"image"));
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[1].items(&Characters).len(), 2);
}

fn message(id: &str, minute: u32) -> MessageDraft {
    MessageDraft {
        origin: id.to_owned(),
        id: Some(id.to_owned()),
        sender: "user".to_owned(),
        content: format!("text of {id}"),
        sent_at: Timestamp::parse(&format!("2026-01-01T08:{minute:02}:00Z")).ok(),
        ..MessageDraft::default()
    }
}

fn session(title: &str, ids: &[&str]) -> DraftBody {
    DraftBody::Chat(ChatDraft {
        title: Some(title.to_owned()),
        service: Some("agent".to_owned()),
        session: Some(SessionDetails::default()),
        messages: ids.iter().zip(1..).map(|(id, minute)| message(id, minute)).collect(),
        ..ChatDraft::default()
    })
}

#[test]
fn sessions_with_shared_messages_keep_them_on_both_machines() {
    let machines = machines(2);
    machines[0].import("agent:first", session("First", &["m1", "m2", "m3"]));
    machines[1].import("agent:second", session("Second", &["m1", "m2", "m4"]));
    assert_kept(&machines, &["text of m1", "text of m2", "text of m3", "text of m4"]);
    for id in machines[0].items(&Chats) {
        for machine in &machines {
            let DraftBody::Chat(chat) = machine.body(&Chats, &id) else { panic!() };
            assert_eq!(chat.messages.len(), 3, "{chat:?}");
        }
    }
    // The sessions grow on their machines.
    machines[0].import("agent:first", session("First", &["m1", "m2", "m3", "m5"]));
    assert_kept(&machines, &["text of m1", "text of m3", "text of m5"]);
}

fn talk(character: &str) -> DraftBody {
    let DraftBody::Chat(chat) = session("Talk", &["m1"]) else { panic!() };
    let character = Some(character.to_owned());
    DraftBody::Chat(ChatDraft { character, session: None, ..chat })
}

#[test]
fn conversation_does_not_wait_for_a_deleted_character() {
    let machines = machines(2);
    machines[0].import("cards.json#1", character("Ada", "a smith", b"image"));
    machines[0].import("talks.json#1", talk("cards.json#1"));
    machines[0].remove(&Characters, "cards.json#1");
    settle(&machines);
    assert_equal(&machines);
    assert_eq!(machines[1].sync().files_read, 0);
}

#[test]
fn conversation_gets_the_character_that_arrives_later() {
    let machines = machines(2);
    machines[0].import("cards.json#1", character("Ada", "a smith", b"image"));
    machines[0].sync();
    let (own, name) = own_folder(&machines[0]).unwrap();
    let first: Vec<_> = own.read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
    machines[0].import("talks.json#1", talk("cards.json#1"));
    machines[0].sync();
    // The file with the character comes last.
    carry_between(&machines[0], &machines[1], None);
    for file in first {
        let copy = machines[1].shared().join("vademecum-sync").join(&name).join(file);
        std::fs::remove_file(copy).unwrap();
    }
    machines[1].sync();
    let id = machines[1].items(&Chats).remove(0);
    let character = |machine: &Machine| match machine.body(&Chats, &id) {
        DraftBody::Chat(chat) => chat.character,
        body => panic!("{}", body.source() == SourceName::Chats),
    };
    assert_eq!(character(&machines[1]), None);
    settle(&machines);
    assert!(machines.iter().all(|it| character(it).as_deref() == Some("cards.json#1")));
}
