//! End-to-end tests of the language that get tools show.

use serde_json::{Value, json};

use crate::support::{Library, McpClient};

#[test]
fn item_shows_language_of_its_text() {
    let german =
        "Der alte Leuchtturm steht auf einer Klippe, und das Licht ist in der Nacht zu sehen.";
    let notes = [
        ("German", format!("{german}\n").repeat(200)),
        ("English", "The old lighthouse is on a cliff, and it is seen at night.".to_owned()),
        ("Unknown", "Zzyzx 1234.".to_owned()),
    ];
    let library = Library::with_notes(notes);
    library.import_file("prompts", "prompt.md", format!("# Prompt\n{german}"));
    let server = library.serve();
    let client = server.client();
    let language = |source: &str, query: &str, mode: &str| {
        let found = client.call_tool(&format!("{source}.search"), &json!({ "query": query }));
        let id = &found["results"][0]["id"];
        client.get_item(source, id, &json!({ "mode": mode }))["language"].clone()
    };
    for mode in ["snippet", "chunk", "full"] {
        assert_eq!(language("notes", "leuchtturm", mode), "de", "{mode}");
        assert_eq!(language("notes", "lighthouse", mode), "en", "{mode}");
        assert_eq!(language("notes", "zzyzx", mode), Value::Null, "{mode}");
        assert_eq!(language("prompts", "leuchtturm", mode), "de", "{mode}");
    }
}
