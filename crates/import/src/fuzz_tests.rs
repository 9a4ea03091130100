//! Robustness tests of the importers of notes and chats: fixtures with pseudo-random mutations from
//! a fixed seed, and files built to exhaust time, memory or stack.

use std::time::{Duration, Instant};

use vademecum_model::{Draft, DraftBody, SourceName};
use vademecum_testing::Mutator;

use crate::{Importer, ParsedFile, SourceFile, importers_for};

/// Number of mutations of each fixture.
const MUTATIONS_PER_FIXTURE: usize = 400;

/// Maximum time to read one file. Most files take a thousandth of it.
const MAX_READ_TIME: Duration = Duration::from_secs(20);

/// Fixtures, each with fields that an importer detects.
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

fn note_and_chat_importers() -> Vec<&'static dyn Importer> {
    importers_for(SourceName::Notes).chain(importers_for(SourceName::Chats)).collect()
}

/// Asserts the properties of every result: origins, digests and messages are not empty, titles are
/// single lines, problems have a place and a reason.
fn assert_invariants(name: &str, reading: &ParsedFile) {
    for Draft { origin, digest, body, .. } in &reading.drafts {
        assert!(!origin.is_empty() && !digest.is_empty(), "{name}");
        let title = match body {
            DraftBody::Note(note) => Some(&note.title),
            DraftBody::Chat(chat) => {
                assert!(!chat.messages.is_empty(), "{name}");
                let has_text = |text: &str| !text.trim().is_empty();
                assert!(chat.messages.iter().all(|it| has_text(&it.content)), "{name}");
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
fn mutated_fixtures_break_no_importer() {
    let mut mutator = Mutator::new();
    let (mut read, mut refused) = (0, 0);
    for (name, text) in FIXTURES {
        for round in 0..MUTATIONS_PER_FIXTURE {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..round % 8 {
                mutator.mutate(&mut bytes);
            }
            let file = SourceFile::in_memory(name, bytes);
            for importer in note_and_chat_importers() {
                match importer.parse(&file) {
                    Ok(reading) => {
                        assert_invariants(name, &reading);
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

/// Reads a file with every importer, asserts time limit and properties, and returns the results.
fn read_with_all_importers(name: &str, bytes: impl Into<Vec<u8>>) -> Vec<ParsedFile> {
    let file = SourceFile::in_memory(name, bytes);
    let mut readings = Vec::new();
    for importer in note_and_chat_importers() {
        let begun = Instant::now();
        readings.extend(importer.parse(&file));
        assert!(
            begun.elapsed() < MAX_READ_TIME,
            "{importer:?} took {:?} for {name}",
            begun.elapsed()
        );
    }
    for reading in &readings {
        assert_invariants(name, reading);
    }
    readings
}

#[test]
fn deep_nesting_overflows_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{\"mapping\":{\"a\":", "}}")] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        for name in ["/a.json", "/a.jsonl", "/a.md", "/a.org"] {
            read_with_all_importers(name, deep.as_str());
        }
        read_with_all_importers("/a.md", format!("---\na: {deep}\n---\nText"));
    }
    read_with_all_importers("/a.org", format!("{} x", "*".repeat(1_000_000)));
    read_with_all_importers("/a.md", "[[".repeat(500_000));
    read_with_all_importers("/a.md", "#".repeat(1_000_000));
    read_with_all_importers("/a.md", "`#a ".repeat(10_000));
    let never_closed: Vec<String> = (1..1_400).map(|marks| "`".repeat(marks)).collect();
    read_with_all_importers("/a.md", never_closed.join(" "));
}

#[test]
fn huge_files_are_read_within_time_limit() {
    let aliases: Vec<String> = (0..100_000).map(|number| format!("a{number}")).collect();
    let readings = read_with_all_importers(
        "/a.md",
        format!("---\naliases: [{}]\n---\nText", aliases.join(", ")),
    );
    let too_long = |reading: &ParsedFile| {
        reading.problems.iter().any(|it| it.reason.contains("too long to be read"))
    };
    assert!(readings.iter().any(too_long));
    read_with_all_importers("/a.md", format!("---\n{}\n---\nText", aliases.join(": x\n") + ": x"));
    read_with_all_importers("/a.org", format!("#+filetags: :{}:", aliases.join(":")));
    read_with_all_importers("/a.md", format!("tags:: {}", aliases.join(", ")));
    read_with_all_importers("/a.md", "-".repeat(1_000_000));
    let nodes: Vec<String> = (0..20_000)
        .map(|id| {
            format!(
                r#""{id}":{{"parent":"{}","message":{{"author":{{"role":"user"}},"content":{{"parts":["x"]}}}}}}"#,
                (id + 1) % 20_000
            )
        })
        .collect();
    let circle = format!(r#"{{"title":"Circle","mapping":{{{}}}}}"#, nodes.join(","));
    let circles = read_with_all_importers("/conversations.json", circle);
    assert!(
        circles.iter().any(|reading| {
            reading.problems.iter().any(|it| it.reason.contains("form a cycle"))
        })
    );
}

#[test]
fn titles_contain_no_invisible_characters() {
    let hidden = "ab\u{202e}c";
    let note = format!("---\ntitle: \"a\\0b\\u202ec\"\n---\n{hidden}");
    let readings = read_with_all_importers("/a.md", note);
    let drafts = || readings.iter().flat_map(|reading| &reading.drafts);
    assert!(drafts().any(|draft| match &draft.body {
        DraftBody::Note(note) => note.title == "abc" && note.content.contains(hidden),
        _ => false,
    }));
}
