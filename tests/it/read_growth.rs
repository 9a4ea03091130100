//! Reads cost the same in small and large libraries: each statement that a read runs makes about as many
//! steps in both.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use crate::support::{Library, McpClient, Server};

/// Number of notes in the small and in the large library.
const SIZES: [usize; 2] = [40, 400];
/// Steps that a statement may make without being compared, such as those over the tables of a schema.
const FEW_STEPS: u64 = 400;
/// Growth of the steps that counts as growth with the library, which is ten times as large. The runs of a
/// statement may be divided among several connections.
const MAX_GROWTH: u64 = 5;
/// Times that a read is repeated, so that steps of single runs add up.
const REPETITIONS: usize = 3;

/// Returns a library of notes in a folder, each with links to its neighbours, links to missing notes,
/// addresses, a tag and words of its own.
fn linked_notes(count: usize) -> Library {
    let library = Library::new();
    for number in 0..count {
        let mut text = format!("---\ntags: [plain]\n---\nown{number}word own{number}name.\n");
        for step in 1..=4 {
            let other = (number + step) % count;
            writeln!(text, "- [[Note {other}]], [[Missing {other}]]").unwrap();
            writeln!(text, "- https://example.org/{number}/{step}").unwrap();
        }
        library.write_file(&format!("vault/Note {number}.md"), text);
    }
    let done = library.run(&["import", library.file_path("vault").to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    library
}

/// Makes each read of one note. A list is counted, and reads an index of all items.
fn read_all(server: &Server) {
    let client = server.client();
    let found = client.call_tool("knowledge.search", &json!({ "query": "own7word" }));
    let uri = &found["results"][0]["uri"];
    let id = uri.as_str().unwrap().trim_start_matches("notes://");
    for _ in 0..REPETITIONS {
        for (tool, arguments) in [
            ("knowledge.get", json!({ "uri": uri })),
            ("notes.get", json!({ "note_id": id })),
            ("fetch", json!({ "id": uri })),
            ("knowledge.links", json!({ "uri": uri })),
            ("knowledge.links", json!({ "uri": uri, "depth": 2 })),
            ("knowledge.search", json!({ "query": "own7word" })),
        ] {
            client.call_tool(tool, &arguments);
        }
        let recalled = client
            .call_method("vademecum/recall", &json!({ "prompt": "what is own7word of own7name" }));
        assert!(recalled["context"].is_string(), "{recalled}");
    }
}

/// Returns the steps of each statement in one round of reads. A server that makes one round does besides
/// what the first reads of a library need; another one makes a second round.
fn steps_by_statement(size: usize, settings: &str) -> BTreeMap<String, u64> {
    let library = linked_notes(size);
    let level = "warn,sqlite_statements=trace";
    let settings = format!("[log]\nformat = \"json\"\nlevel = \"{level}\"\n{settings}");
    let [once, twice] = [1, 2].map(|rounds| {
        let server = library.serve_with_settings(&settings);
        (0..rounds).for_each(|_| read_all(&server));
        most_steps(&server.kill_and_read_log())
    });
    let more = |(sql, steps): (String, u64)| {
        let first = once.get(&sql).copied().unwrap_or(0);
        (sql, steps.saturating_sub(first))
    };
    twice.into_iter().map(more).collect()
}

/// Returns the steps of all runs of each statement.
fn most_steps(log: &str) -> BTreeMap<String, u64> {
    let mut steps = BTreeMap::new();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["message"] == "statement" {
            let most: &mut u64 =
                steps.entry(event["sql"].as_str().unwrap().to_owned()).or_default();
            *most = (*most).max(event["all_steps"].as_u64().unwrap());
        }
    }
    steps
}

fn expect_equal_steps(settings: &str) {
    let [small, large] = SIZES.map(|size| steps_by_statement(size, settings));
    assert!(large.len() > 20, "statements are traced: {large:?}");
    let grown: Vec<_> = large
        .iter()
        .map(|(sql, steps)| (sql, small.get(sql).copied().unwrap_or(0), *steps))
        .filter(|(_, before, after)| *after > FEW_STEPS.max(before * MAX_GROWTH))
        .collect();
    assert!(grown.is_empty(), "{grown:#?}");
}

#[test]
fn reads_of_large_library_take_equal_steps() {
    expect_equal_steps("");
}

#[test]
fn restricted_reads_of_large_library_take_equal_steps() {
    expect_equal_steps("[[deny]]\ntags = [\"hidden\"]\nfolders = [\"/somewhere\"]\n");
}
