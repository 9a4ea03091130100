//! What holds for every file that is made to break a reader of notes or chats:
//! fixtures with bytes changed at random, always the same ones, and files that
//! are built to cost time, memory or stack.

use std::time::{Duration, Instant};

use vademecum_kit::model::{Body, Draft, SourceName};

use vademecum_testing::Mutator;

use super::{Importer, Reading, SourceFile, importers};

/// How often each fixture is changed and read.
const ROUNDS: usize = 400;

/// What one file may cost. Most take a thousandth of it.
const BOUND: Duration = Duration::from_secs(20);

/// Every fixture has a part of what some reader looks for.
const FIXTURES: [(&str, &str); 10] = [
    (
        "/a.md",
        "---\ntitle: Rye\ntags: [a, b]\naliases: [x]\ndate: 2026-01-31\n---\n# Rye\n#one [[two|2]] `x`\n```\n#no\n```\n",
    ),
    ("/2026-01-31.md", "+++\ntitle = \"Rye\"\ntags = [\"a\"]\n[extra]\nx = 1\n+++\nText #tag\n"),
    ("/pages/a___b%3A.md", "tags:: [[a]], b\ntitle:: Rye\n\n- x #[[two words]]\n"),
    (
        "/a.org",
        ":PROPERTIES:\n:CREATED: [2026-01-31 Sat]\n:END:\n#+title: Rye\n#+filetags: :a:b:\n* TODO [#A] Knead :c:\n#+begin_src\n* x\n#+end_src\n",
    ),
    (
        "/keep.json",
        r#"{"title":"Rye","textContent":"x","listContent":[{"text":"a","isChecked":true}],"labels":[{"name":"b"}],"isTrashed":false,"createdTimestampUsec":1704465012000000,"userEditedTimestampUsec":1}"#,
    ),
    (
        "/Rye 0123456789abcdef0123456789abcdef.md",
        "# Rye\n\nTags: a, b\nCreated: January 5, 2024 2:30 PM\n\nText\n",
    ),
    (
        "/conversations.json",
        r#"[{"id":"c","title":"Rye","create_time":1704465012.5,"current_node":"c","mapping":{"r":{"parent":null,"message":null},"a":{"parent":"r","message":{"id":"a","author":{"role":"user"},"create_time":1,"content":{"parts":["x",{"content_type":"image"}]}}},"b":{"parent":"a","message":{"author":{"role":"assistant"},"content":{"parts":["y"]},"metadata":{"model_slug":"one"}}},"c":{"parent":"a","message":{"author":{"role":"assistant"},"content":{"parts":["z"]}}}}}]"#,
    ),
    (
        "/conversations.json",
        r#"[{"uuid":"c","name":"Rye","current_leaf_message_uuid":"b","chat_messages":[{"uuid":"a","parent_message_uuid":"0","sender":"human","text":"x","attachments":[{"file_name":"a","extracted_content":"b"}],"created_at":"2024-01-12T11:00:00Z"},{"uuid":"b","sender":"assistant","content":[{"type":"tool_use","name":"t","input":{"a":1}},{"type":"odd","x":[1]}]}]}]"#,
    ),
    (
        "/a.jsonl",
        "{\"user_name\":\"A\",\"character_name\":\"B\",\"create_date\":\"2024-1-5 @14h 30m 12s\"}\n{\"name\":\"B\",\"is_user\":false,\"mes\":\"x\",\"swipe_id\":1,\"swipes\":[\"y\",\"x\"],\"swipe_info\":[{\"extra\":{\"model\":\"m\"}}],\"send_date\":\"January 5, 2024 2:30pm\"}\n",
    ),
    (
        "/b.jsonl",
        "{\"role\":\"user\",\"content\":\"x\",\"timestamp\":1704465012}\n{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"y\"}],\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}]}\n",
    ),
];

fn readers() -> Vec<&'static dyn Importer> {
    importers(SourceName::Notes).chain(importers(SourceName::Chats)).collect()
}

/// What every reading keeps, whatever was read.
fn check(name: &str, reading: &Reading) {
    for Draft { origin, digest, body, .. } in &reading.drafts {
        assert!(!origin.is_empty() && !digest.is_empty(), "{name}");
        let title = match body {
            Body::Note(note) => Some(&note.title),
            Body::Chat(chat) => {
                assert!(!chat.messages.is_empty(), "{name}");
                let said = |text: &str| !text.trim().is_empty();
                assert!(chat.messages.iter().all(|it| said(&it.content)), "{name}");
                chat.title.as_ref()
            }
            _ => panic!("{name} became something else"),
        };
        let is_line =
            |title: &String| !title.is_empty() && !title.contains(['\n', '\0', '\u{202e}']);
        assert!(title.is_none_or(is_line), "{name}: {title:?}");
    }
    assert!(reading.problems.iter().all(|it| !it.place.is_empty() && !it.reason.is_empty()));
}

#[test]
fn whatever_bytes_change_nothing_breaks() {
    let mut mutator = Mutator::new();
    let (mut read, mut refused) = (0, 0);
    for (name, text) in FIXTURES {
        for round in 0..ROUNDS {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..round % 8 {
                mutator.mutate(&mut bytes);
            }
            let file = SourceFile::example(name, bytes);
            for importer in readers() {
                match importer.read(&file) {
                    Ok(reading) => {
                        check(name, &reading);
                        read += 1;
                    }
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(read > 1_000 && refused > 1_000, "{read} {refused}");
}

/// Reads a file with every reader, within bounds, and gives what they gave.
fn read_all(name: &str, bytes: impl Into<Vec<u8>>) -> Vec<Reading> {
    let file = SourceFile::example(name, bytes);
    let mut readings = Vec::new();
    for importer in readers() {
        let begun = Instant::now();
        readings.extend(importer.read(&file));
        assert!(begun.elapsed() < BOUND, "{importer:?} took {:?} for {name}", begun.elapsed());
    }
    for reading in &readings {
        check(name, reading);
    }
    readings
}

#[test]
fn depth_costs_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{\"mapping\":{\"a\":", "}}")] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        for name in ["/a.json", "/a.jsonl", "/a.md", "/a.org"] {
            read_all(name, deep.as_str());
        }
        read_all("/a.md", format!("---\na: {deep}\n---\nText"));
    }
    read_all("/a.org", format!("{} x", "*".repeat(1_000_000)));
    read_all("/a.md", "[[".repeat(500_000));
    read_all("/a.md", "#".repeat(1_000_000));
    read_all("/a.md", "`#a ".repeat(10_000));
    let never_closed: Vec<String> = (1..1_400).map(|marks| "`".repeat(marks)).collect();
    read_all("/a.md", never_closed.join(" "));
}

#[test]
fn much_of_anything_is_read_within_bounds() {
    let aliases: Vec<String> = (0..100_000).map(|number| format!("a{number}")).collect();
    let readings = read_all("/a.md", format!("---\naliases: [{}]\n---\nText", aliases.join(", ")));
    let too_long = |reading: &Reading| {
        reading.problems.iter().any(|it| it.reason.contains("too long to be read"))
    };
    assert!(readings.iter().any(too_long));
    read_all("/a.md", format!("---\n{}\n---\nText", aliases.join(": x\n") + ": x"));
    read_all("/a.org", format!("#+filetags: :{}:", aliases.join(":")));
    read_all("/a.md", format!("tags:: {}", aliases.join(", ")));
    read_all("/a.md", "-".repeat(1_000_000));
    let nodes: Vec<String> = (0..20_000)
        .map(|id| {
            format!(
                r#""{id}":{{"parent":"{}","message":{{"author":{{"role":"user"}},"content":{{"parts":["x"]}}}}}}"#,
                (id + 1) % 20_000
            )
        })
        .collect();
    let circle = format!(r#"{{"title":"Circle","mapping":{{{}}}}}"#, nodes.join(","));
    let circles = read_all("/conversations.json", circle);
    assert!(
        circles
            .iter()
            .any(|reading| { reading.problems.iter().any(|it| it.reason.contains("in a circle")) })
    );
}

#[test]
fn what_cannot_be_seen_is_in_no_title() {
    let hidden = "ab\u{202e}c";
    let note = format!("---\ntitle: \"a\\0b\\u202ec\"\n---\n{hidden}");
    let readings = read_all("/a.md", note);
    assert!(readings.iter().any(|reading| match &reading.drafts[0].body {
        Body::Note(note) => note.title == "abc" && note.content.contains(hidden),
        _ => false,
    }));
}
