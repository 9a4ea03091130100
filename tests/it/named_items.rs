//! End-to-end tests of reading an item by its title, path or address.

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, Server};

fn serve_vault(settings: &str) -> Server {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    for (path, text) in [
        ("Projects/House/Roof.md", "---\naliases: [Top of the house]\n---\nTiles."),
        ("Projects/Boat/Roof.md", "Canvas."),
        ("Projects/Boat/100%_done.md", "Paint."),
        ("Kitchen/Bread.md", "# Sourdough bread\nFlour."),
        ("Kitchen/bread.md", "# Other\nRye."),
        ("Private/Diary.md", "---\ntags: [private]\n---\n# Diary\nDear diary."),
    ] {
        library.write_file(&format!("vault/{path}"), text);
    }
    let vault = library.file_path("vault");
    assert_eq!(library.run(&["import", "notes", vault.to_str().unwrap()]).code, 0);
    let page = "<html><head><title>Lamps</title><link rel=\"canonical\" \
                href=\"https://example.com/lamps/\"></head><body><p>Light.</p></body></html>";
    library.import_file("media", "lamps.html", page);
    library.serve_with_settings(settings)
}

fn content(client: &HttpClient<'_>, tool: &str, arguments: &Value) -> String {
    client.call_tool(tool, arguments)["content"].to_string()
}

#[test]
fn note_is_read_by_title_alias_and_path() {
    let server = serve_vault("");
    let client = server.client();
    for (arguments, part) in [
        (json!({ "title": "sourdough BREAD" }), "Flour."),
        (json!({ "title": "Top of the house" }), "Tiles."),
        (json!({ "path": "Kitchen/Bread.md" }), "Flour."),
        (json!({ "path": "House/Roof" }), "Tiles."),
        (json!({ "path": "./Projects/Boat/100%_done.md" }), "Paint."),
    ] {
        for tool in ["notes.get", "knowledge.get"] {
            let text = content(&client, tool, &arguments);
            assert!(text.contains(part), "{tool} {arguments}: {text}");
        }
    }
    let uri = client.call_tool("notes.get", &json!({ "title": "Diary" }))["meta"]["uri"].clone();
    let by_id = client.call_tool("notes.get", &json!({ "note_id": uri }));
    assert_eq!(client.call_tool("notes.get", &json!({ "title": "Diary" })), by_id);
}

#[test]
fn item_of_every_source_is_read_by_name() {
    let server = serve_vault("");
    let client = server.client();
    for (tool, arguments) in [
        ("notes.get", json!({ "title": "Attic" })),
        ("media.get", json!({ "title": "attic" })),
        ("chats.get", json!({ "title": "Attic" })),
        ("characters.get", json!({ "name": "Attic" })),
        ("prompts.get", json!({ "prompt_id_or_name": "Attic" })),
        (
            "knowledge.get",
            json!({ "source": "prompts", "title": "Attic", "retrieval": { "mode": "full" } }),
        ),
    ] {
        assert!(content(&client, tool, &arguments).contains("thimble"), "{tool}");
    }
}

#[test]
fn document_is_read_by_address() {
    let server = serve_vault("");
    let client = server.client();
    let url = client.only_hit("media.search", &json!({ "query": "light" }))["url"].clone();
    let url = url.as_str().unwrap().to_owned();
    let other_form = url.replace("https://", "http://").trim_end_matches('/').to_owned() + "#top";
    for url in [&url, &other_form] {
        for tool in ["media.get", "knowledge.get"] {
            assert!(content(&client, tool, &json!({ "url": url })).contains("Light."), "{url}");
        }
    }
    let missing = json!({ "url": "https://example.com/" });
    let error = client.expect_tool_error("media.get", &missing);
    assert!(error.contains("url: no item is named `https://example.com/`"), "{error}");
}

#[test]
fn ambiguous_name_lists_candidates() {
    let server = serve_vault("");
    let client = server.client();
    let error = client.expect_tool_error("notes.get", &json!({ "title": "Roof" }));
    for part in [
        "title: 2 items are named `Roof`",
        "notes://",
        "folder Projects/House, 20",
        "folder Projects/Boat",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let error = client.expect_tool_error("knowledge.get", &json!({ "title": "Attic" }));
    for part in ["5 items", "notes://", "media://1", "chats://", "characters://1", "prompts://1"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // The title itself comes before the alias or file name of another note.
    assert!(content(&client, "notes.get", &json!({ "title": "Other" })).contains("Rye."));
}

#[test]
fn unknown_name_suggests_similar_titles() {
    let server = serve_vault("");
    let client = server.client();
    for (arguments, near) in [
        (json!({ "title": "Sourdogh loaf" }), "`Sourdough bread`"),
        (json!({ "title": "bread with sourdough" }), "`Sourdough bread`"),
        (json!({ "path": "Elsewhere/Sourdough.md" }), "`Sourdough bread`"),
    ] {
        let error = client.expect_tool_error("notes.get", &arguments);
        assert!(error.contains("no item is named") && error.contains(near), "{arguments}: {error}");
    }
    let error = client.expect_tool_error("notes.get", &json!({ "title": "Zyzzyva" }));
    assert!(error.starts_with("title: no item is named `Zyzzyva`;"), "{error}");
}

#[test]
fn exactly_one_name_is_required() {
    let server = serve_vault("");
    let client = server.client();
    for (tool, arguments, part) in [
        ("notes.get", json!({}), "note_id: is missing; pass one of note_id, title, path"),
        ("media.get", json!({}), "pass one of media_id, title, url"),
        (
            "knowledge.get",
            json!({ "title": "a", "path": "b" }),
            "pass only one of id, title, path, url",
        ),
        ("chats.get", json!({ "title": "  " }), "title: is empty"),
        ("characters.get", json!({ "title": "Attic" }), "title"),
    ] {
        let error = client.expect_tool_error(tool, &arguments);
        assert!(error.contains(part), "{tool} {arguments}: {error}");
    }
}

#[test]
fn denied_item_is_neither_found_nor_suggested() {
    let server = serve_vault("[[deny]]\ntags = [\"private\"]");
    let client = server.client();
    for arguments in [
        json!({ "title": "Diary" }),
        json!({ "title": "Diaries" }),
        json!({ "path": "Private/Diary.md" }),
    ] {
        let error = client.expect_tool_error("notes.get", &arguments);
        let quoted = arguments.as_object().unwrap().values().next().unwrap().as_str().unwrap();
        assert!(error.contains("no item is named"), "{error}");
        assert!(!error.replace(quoted, "").contains("Diary"), "{error}");
    }
}
