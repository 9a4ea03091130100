//! Forms of words count in texts of their language.

use serde_json::json;

use crate::support::{Library, McpClient as _};

/// English notes, and one in each of three other languages, whose stemmers would make other words of
/// English ones.
const NOTES_OF_SEVERAL_LANGUAGES: [(&str, &str); 7] = [
    ("Cell phone", "The cell phone of the office rings when the tide tables change."),
    ("Single page", "A single page of the logbook is missing, and it was never found."),
    ("Read a file", "Read a file line by line, and count the lines that are empty."),
    ("Cellar", "What was stored in the cellar before the flood of that spring."),
    ("Bageri", "Bagaren knådar degen före soluppgången och låter den vila i en stor skål."),
    ("Kahvila", "Kahvilassa leivotaan pullaa, ja kirjastossa luetaan vanhoja kirjoja."),
    ("Fırın", "Fırıncı gün doğmadan hamuru yoğurur, kitaplarını da tezgahın altında saklar."),
];

#[test]
fn forms_count_in_texts_of_their_language() {
    let server = Library::with_notes(NOTES_OF_SEVERAL_LANGUAGES).serve();
    for (query, found) in [
        ("cellar", &["Cellar"][..]),
        ("singer", &[]),
        ("linen", &[]),
        ("pages", &["Single page"]),
        ("reads", &["Read a file"]),
        ("degar", &["Bageri"]),
        ("kirjasto", &["Kahvila"]),
        ("kitap", &["Fırın"]),
    ] {
        let arguments = json!({ "query": query, "spelling": "off", "sources": ["notes"] });
        let answer = server.client().call_tool("knowledge.search", &arguments);
        let hits = answer["results"].as_array().unwrap().iter();
        let titles: Vec<&str> = hits.map(|hit| hit["title"].as_str().unwrap()).collect();
        assert_eq!(titles, found, "{query}");
    }
}
