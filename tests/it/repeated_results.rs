//! End-to-end tests of results that a session has shown before: nothing is hidden, and the answer names
//! them at their rank.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    support::{HttpClient, Library, McpClient, Server},
    writing::{WRITE_ENABLED, create_note},
};

const ADJECTIVES: [&str; 20] = [
    "amber", "brass", "cedar", "dusty", "early", "frozen", "golden", "hollow", "iron", "jade",
    "knotted", "linen", "mossy", "narrow", "oaken", "pale", "quiet", "rusty", "silver", "tidal",
];

const NOUNS: [&str; 10] = [
    "anchor", "barrel", "compass", "drawer", "easel", "funnel", "gate", "hammer", "inkwell",
    "kettle",
];

/// Creates a library with 200 notes. Each shares its words with 28 others.
fn library_of_things() -> Library {
    let notes = ADJECTIVES.iter().flat_map(|adjective| {
        NOUNS.iter().map(move |noun| {
            let text = format!("The {adjective} thing in the shed is a {noun}, bought long ago.");
            (format!("{adjective} {noun}"), text)
        })
    });
    Library::with_notes(notes)
}

/// Returns whether the first three lines of the text of an answer name an item with this title.
fn is_answered_first(client: &HttpClient<'_>, query: &str, title: &str) -> bool {
    let text = client.call_tool_text("knowledge.search", &json!({ "query": query }));
    text.lines().take(3).any(|line| line.starts_with(&format!("- {title} — ")))
}

#[test]
fn answers_of_long_session_stay_in_first_lines() {
    let library = library_of_things();
    let server = library
        .serve_with_settings("[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0");
    let session = server.open_session();
    let (mut fresh, mut repeated, mut asked) = (0, 0, 0);
    for adjective in ADJECTIVES {
        for noun in NOUNS {
            let title = format!("{adjective} {noun}");
            for query in [
                title.clone(),
                format!("which {noun} did we buy that is {adjective}?"),
                format!("{noun} {adjective} shed"),
            ] {
                asked += 1;
                fresh += usize::from(is_answered_first(&server.client(), &query, &title));
                repeated += usize::from(is_answered_first(&session, &query, &title));
            }
        }
    }
    assert_eq!(asked, 600);
    assert!(fresh >= 590, "{fresh} fresh answers");
    assert!(repeated * 100 >= fresh * 98, "{repeated} of {fresh}");
}

fn uris(found: &Value) -> Vec<String> {
    let hits = found["results"].as_array().unwrap().iter();
    hits.map(|hit| hit["uri"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that the results and the matches shown before are those of a fresh search, by rank.
fn assert_complete(found: &Value, fresh: &[String]) {
    let mut results = uris(found).into_iter();
    let shown = found["_meta"]["already_shown"].as_array().unwrap();
    let merged: Vec<String> = (1..=fresh.len())
        .filter_map(|rank| match shown.iter().find(|it| it["rank"] == rank) {
            Some(it) => Some(it["uri"].as_str().unwrap().to_owned()),
            None => results.next(),
        })
        .collect();
    assert_eq!(merged, fresh, "{found}");
}

#[test]
fn rephrased_question_names_shown_items_at_rank() {
    let server = library_of_things().serve();
    let session = server.open_session();
    session.call_tool("knowledge.search", &json!({ "query": "amber kettle", "limit": 4 }));
    let rephrased = json!({ "query": "a kettle, of amber", "limit": 9 });
    let fresh = server.client().search_uris("knowledge.search", &rephrased);
    let result = session.tool_result("knowledge.search", &rephrased);
    let found = &result["structuredContent"];
    assert_complete(found, &fresh);
    assert_eq!(found["_meta"]["already_shown"][0]["title"], "amber kettle");
    assert_eq!(result["_meta"]["vademecum/already_shown"], found["_meta"]["already_shown"]);
    let text = result["content"][0]["text"].as_str().unwrap();
    let lines = text.lines().filter(|line| line.starts_with("- "));
    let in_order: Vec<bool> =
        lines.zip(&fresh).map(|(line, uri)| line.contains(&format!("— {uri}"))).collect();
    assert!(in_order.len() == fresh.len() && in_order.iter().all(|is_right| *is_right), "{text}");
    assert!(text.lines().next().unwrap().ends_with("— shown before"), "{text}");
}

#[test]
fn page_names_as_many_shown_items_as_results() {
    let server = library_of_things().serve();
    let session = server.open_session();
    session.call_tool("knowledge.search", &json!({ "query": "shed", "limit": 60 }));
    for (limit, named, all) in [(1, 10, 60), (15, 15, 61), (100, 76, 76)] {
        let handle = json!({ "query": "shed", "limit": limit });
        let found = session.call_tool("knowledge.search", &handle);
        assert_eq!(found["_meta"]["already_shown"].as_array().unwrap().len(), named);
        let more = found["_meta"]["more_already_shown"].as_u64().unwrap_or(0);
        assert_eq!(more + named as u64, all, "{limit}");
    }
}

#[test]
fn other_searches_of_a_session_answer_in_full() {
    let server = library_of_things().serve();
    let session = server.open_session();
    let search = json!({ "query": "amber kettle" });
    let (fresh, notes) =
        (session.call_tool("search", &search), session.call_tool("notes.search", &search));
    session.call_tool("knowledge.search", &search);
    for _ in 0..2 {
        assert_eq!(session.call_tool("search", &search), fresh);
        assert_eq!(session.call_tool("notes.search", &search), notes);
    }
    assert_eq!(fresh["results"].as_array().unwrap().len(), 20);
}

#[test]
fn stdio_client_gets_full_answers_that_mark_repeats() {
    let library = library_of_things();
    let pipe = library.open_stdio();
    let search = json!({ "query": "amber kettle", "limit": 3 });
    let first = pipe.call_tool("knowledge.search", &search);
    assert!(first.get("_meta").is_none(), "{first}");
    for query in ["amber kettle", "kettle (amber)"] {
        let again = pipe.tool_result("knowledge.search", &json!({ "query": query, "limit": 3 }));
        assert_eq!(uris(&again["structuredContent"]), uris(&first));
        let shown = &again["structuredContent"]["_meta"]["already_shown"];
        let named: Vec<&str> =
            shown.as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap()).collect();
        assert_eq!(named, uris(&first));
        let text = again["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.matches("— shown before\n").count(), 3, "{text}");
    }
    let named = json!({ "query": "amber kettle", "limit": 3, "session": "new" });
    let handle = pipe.call_tool("knowledge.search", &named)["_meta"]["session"].clone();
    let more = json!({ "query": "amber kettle", "limit": 3, "session": handle });
    let more = pipe.call_tool("knowledge.search", &more);
    assert!(uris(&more).iter().all(|uri| !uris(&first).contains(uri)), "a handle asks for more");
}

#[test]
fn setting_decides_about_repeated_results() {
    let library = library_of_things();
    let search = json!({ "query": "amber kettle", "limit": 3 });
    for (settings, is_full, is_named) in [
        ("[session]\nrepeat = \"filter\"", false, true),
        ("[session]\nrepeat = \"mark\"", true, true),
        ("[sessions]\nrepeat = \"show\"", true, false),
    ] {
        let server = library.serve_with_settings(settings);
        let session = server.open_session();
        let first = session.call_tool("knowledge.search", &search);
        let again = session.call_tool("knowledge.search", &search);
        assert_eq!(again["results"] == first["results"], is_full, "{settings}");
        assert_eq!(again["_meta"]["already_shown"].is_array(), is_named, "{settings}");
    }
}

#[test]
fn names_of_shown_items_keep_the_token_budget() {
    let server = library_of_things().serve();
    let session = server.open_session();
    session.call_tool("knowledge.search", &json!({ "query": "shed", "limit": 100 }));
    let search = json!({ "query": "shed", "limit": 100, "max_tokens": 700 });
    let found = session.call_tool("knowledge.search", &search);
    let named = found["_meta"]["already_shown"].as_array().map_or(0, Vec::len);
    let more = found["_meta"]["more_already_shown"].as_u64().unwrap();
    assert_eq!(named as u64 + more, 100, "{found}");
    assert!(found.to_string().len() < 4 * 700, "{found}");
}

const MAIL: &str = "From: eve@example.com\r\nTo: ada@example.com\r\nSubject: Amber lantern\r\n\
                    Date: Mon, 1 Jan 2024 10:00:00 +0000\r\n\r\nBuy the amber lantern.\r\n";

/// Returns the origins of a note that a session writes after a search with this handle.
fn origins_after_search(server: &Server, handle: &Value) -> (Value, String) {
    let agent = server.open_session();
    let search = json!({ "query": "amber", "session": handle });
    let found = agent.call_tool("knowledge.search", &search);
    let note = create_note(&agent, "Beacon", "What matters.");
    let read = server.client().call_tool("knowledge.get", &json!({ "id": note["uri"] }));
    let mut origins = String::new();
    write!(origins, "{}", read["meta"]["derived_origins"]).unwrap();
    (found, origins)
}

/// A session that is named only the title of a mail has been shown words of that mail.
#[test]
fn named_mail_is_remembered_as_shown() {
    let library = Library::new();
    library.import_file("media", "mail.eml", MAIL);
    let server = library.serve_with_settings(WRITE_ENABLED);
    let first = server
        .client()
        .call_tool("knowledge.search", &json!({ "query": "amber", "session": "new" }));
    let another = library.import_file("notes", "amber.md", "Amber is resin.");
    let (found, origins) = origins_after_search(&server, &first["_meta"]["session"]);
    assert_eq!(found["_meta"]["already_shown"][0]["title"], "Amber lantern", "{found} {another:?}");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert!(origins.contains("mail"), "{origins}");
}
