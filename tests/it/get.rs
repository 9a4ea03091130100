//! End-to-end tests of reading items: every retrieval mode of every source.

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, SOURCES};

/// Returns a long text that contains `thimble` once, far from its start. All sentences differ, and
/// some letters are longer than one byte.
fn long_story() -> String {
    let sentence = |number: usize| match number {
        700 => "Under the stone lay a thimble. ".to_owned(),
        _ => format!("Sentence number {number} says nöthing. "),
    };
    (0..1_000).map(sentence).collect()
}

/// Returns the name of the `get` tool of a source and of its id argument.
fn get_tool_of(source: &str) -> (String, &'static str) {
    let argument = match source {
        "notes" => "note_id",
        "media" => "media_id",
        "chats" => "conversation_id",
        "characters" => "character_id",
        _ => "prompt_id_or_name",
    };
    (format!("{source}.get"), argument)
}

/// Returns the text of an item, or the concatenated texts of its messages.
fn content_text(item: &Value) -> String {
    match item["content"]["messages"].as_array() {
        Some(messages) => {
            messages.iter().map(|message| message["content"].as_str().unwrap()).collect()
        }
        None => item["content"].as_str().unwrap_or_else(|| panic!("{item}")).to_owned(),
    }
}

fn char_count(item: &Value) -> usize {
    content_text(item).chars().count()
}

fn find_thimble(client: &HttpClient<'_>, source: &str) -> Value {
    client.only_hit(&format!("{source}.search"), &json!({ "query": "thimble" }))
}

#[test]
fn snippet_is_the_default_mode() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = find_thimble(&client, source);
        let loc = &hit["loc"];
        let there = client.get_item(source, &hit["id"], &json!({ "loc": loc }));
        assert!((200..=300).contains(&char_count(&there)), "{source}: {there}");
        assert_eq!(
            client.get_item(source, &hit["id"], &json!({ "loc": loc, "mode": "snippet" })),
            there
        );
        assert_eq!(
            client.get_item(source, &hit["id"], &json!({ "loc": loc, "mode": "auto" })),
            there
        );
        let short =
            client.get_item(source, &hit["id"], &json!({ "loc": loc, "snippet_length": 50 }));
        assert!((25..=50).contains(&char_count(&short)), "{source}: {short}");
        let most =
            client.get_item(source, &hit["id"], &json!({ "loc": loc, "snippet_length": 5_000 }));
        assert!((900..=1_000).contains(&char_count(&most)), "{source}: {most}");
    }
}

#[test]
fn hit_loc_is_honoured_in_every_mode() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in ["notes", "media", "characters", "prompts"] {
        let hit = find_thimble(&client, source);
        for mode in ["snippet", "chunk", "chunk_with_siblings", "auto"] {
            let item =
                client.get_item(source, &hit["id"], &json!({ "mode": mode, "loc": hit["loc"] }));
            assert!(content_text(&item).contains("thimble"), "{source}, {mode}: {item}");
            assert!(char_count(&item) < long_story().chars().count() / 2, "{source}, {mode}");
            assert_eq!(item["meta"]["uri"], hit["uri"]);
        }
        let full =
            client.get_item(source, &hit["id"], &json!({ "mode": "full", "loc": hit["loc"] }));
        assert!(full["content"].to_string().contains("thimble"), "{source}");
    }
}

#[test]
fn reading_without_loc_starts_at_beginning() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in ["notes", "media", "characters", "prompts"] {
        let hit = find_thimble(&client, source);
        for mode in ["snippet", "chunk", "chunk_with_siblings"] {
            let item = client.get_item(source, &hit["id"], &json!({ "mode": mode }));
            assert_eq!(item["range"]["start"], 0, "{source}, {mode}: {item}");
        }
    }
}

#[test]
fn source_tools_equal_knowledge_get() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = find_thimble(&client, source);
        let (tool, argument) = get_tool_of(source);
        let id = match source {
            "prompts" => json!(hit["id"].to_string()),
            _ => hit["id"].clone(),
        };
        let own = client.call_tool(&tool, &json!({ argument: id }));
        let options = match source {
            "notes" | "media" => json!({}),
            _ => json!({ "mode": "full" }),
        };
        let mut same = client.get_item(source, &hit["id"], &options);
        if source == "chats" {
            same["content"]["page"] = json!(1);
            same["content"]["page_size"] = json!(50);
        }
        assert_eq!(own, same, "{source}");
        assert_eq!(own["meta"]["source"], source);
    }
}

#[test]
fn item_is_found_by_id_or_uri() {
    let server = Library::with_item_per_source("Attic", "A single thimble.").serve();
    let client = server.client();
    for source in SOURCES {
        let hit = find_thimble(&client, source);
        let by_id = client.get_item(source, &hit["id"], &json!({ "mode": "full" }));
        assert_eq!(
            client.get_item(source, &hit["uri"], &json!({ "mode": "full" })),
            by_id,
            "{source}"
        );
        assert!(by_id["content"].to_string().contains("thimble"), "{source}");
    }
    let media = find_thimble(&client, "media");
    let text = json!(media["id"].to_string());
    assert_eq!(
        client.call_tool("media.get", &json!({ "media_id": text })),
        client.call_tool("media.get", &json!({ "media_id": media["id"] })),
    );
}

#[test]
fn item_meta_equals_hit_fields() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for query in ["prisms", "paraffin", "clockwork", "donkey", "flickers"] {
        let hit = client.only_hit("knowledge.search", &json!({ "query": query }));
        let source = hit["source"].as_str().unwrap();
        let item = client.get_item(source, &hit["id"], &json!({ "mode": "full" }));
        for field in [
            "id",
            "source",
            "title",
            "uri",
            "created_at",
            "last_modified",
            "version",
            "tags",
            "media_type",
            "url",
        ] {
            assert_eq!(item["meta"][field], hit[field], "{query}: {field}");
        }
        assert!(item.get("attachments").is_some());
    }
}

#[test]
fn siblings_stay_within_token_budget() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = find_thimble(&client, source);
        for (tokens, per_token) in
            [(1, 4), (10, 4), (100, 4), (777, 4), (3_000, 4), (100, 1), (100, 20)]
        {
            for prechunked in [true, false] {
                let item = client.get_item(
                    source,
                    &hit["id"],
                    &json!({
                        "mode": "chunk_with_siblings", "loc": hit["loc"], "sibling_window": 10,
                        "max_tokens": tokens, "chars_per_token": per_token,
                        "chunk_size_tokens": 50, "prefer_prechunked": prechunked,
                    }),
                );
                let spent = char_count(&item).div_ceil(per_token);
                assert!(spent <= tokens, "{source}: {spent} of {tokens} by {per_token}");
                assert!(spent > 0, "{source}: {item}");
            }
        }
    }
}

#[test]
fn larger_budget_extends_text_around_anchor() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in ["notes", "characters", "prompts"] {
        let hit = find_thimble(&client, source);
        let with = |tokens: usize| {
            client.get_item(
                source,
                &hit["id"],
                &json!({
                    "mode": "chunk_with_siblings", "loc": hit["loc"], "max_tokens": tokens,
                    "sibling_window": 10, "chunk_size_tokens": 100,
                }),
            )
        };
        let (small, large) = (with(150), with(900));
        assert!(
            content_text(&small).contains("thimble")
                && content_text(&large).contains(&content_text(&small)),
            "{source}"
        );
        assert!(char_count(&large) > 2 * char_count(&small), "{source}");
    }
}

#[test]
fn auto_mode_reads_siblings_with_budget() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = find_thimble(&client, source);
        let with = |mode: &str| {
            client.get_item(
                source,
                &hit["id"],
                &json!({ "mode": mode, "loc": hit["loc"], "max_tokens": 800 }),
            )
        };
        assert_eq!(with("auto"), with("chunk_with_siblings"), "{source}");
    }
}

#[test]
fn stored_chunks_are_preferred_and_addressable() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    let hit = find_thimble(&client, "media");
    let index = hit["loc"]["chunk_index"].as_u64().unwrap();
    assert!(index > 3, "{hit}");
    let named =
        |loc: Value| client.get_item("media", &hit["id"], &json!({ "mode": "chunk", "loc": loc }));
    let chunk = named(json!({ "chunk_index": index }));
    assert!(content_text(&chunk).contains("thimble") && char_count(&chunk) <= 2_000, "{chunk}");
    assert_eq!(chunk["meta"]["loc"]["chunk_index"], index);
    assert_eq!(content_text(&named(hit["loc"].clone())), content_text(&chunk));
    let next = named(json!({ "chunk_index": index + 1 }));
    assert_eq!(next["range"]["start"], chunk["range"]["end"]);
}

#[test]
fn hit_loc_is_honoured_without_stored_chunks() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    let hit = find_thimble(&client, "media");
    for (mode, chunk_size_tokens, longest) in
        [("chunk", 20, 80), ("chunk", 200, 800), ("chunk_with_siblings", 100, 1_200)]
    {
        let item = client.get_item(
            "media",
            &hit["id"],
            &json!({
                "mode": mode, "loc": hit["loc"], "prefer_prechunked": false,
                "chunk_size_tokens": chunk_size_tokens,
            }),
        );
        assert!(char_count(&item) <= longest, "{mode}, {chunk_size_tokens}: {item}");
        assert!(content_text(&item).contains("thimble"), "{mode}, {chunk_size_tokens}: {item}");
    }
}

#[test]
fn unknown_place_is_an_error_naming_places() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    let refused = |source: &str, loc: Value| {
        let id = &find_thimble(&client, source)["id"];
        let (tool, argument) = get_tool_of(source);
        let mut reasons = Vec::new();
        for mode in ["snippet", "chunk", "chunk_with_siblings", "full"] {
            let retrieval = json!({ "mode": mode, "loc": loc });
            let call = json!({ "source": source, "id": id, "retrieval": retrieval });
            reasons.push(client.expect_tool_error("knowledge.get", &call));
            if matches!(source, "media" | "notes" | "chats") {
                let own = client
                    .expect_tool_error(&tool, &json!({ argument: id, "retrieval": retrieval }));
                assert_eq!(Some(&own), reasons.last(), "{source}, {mode}");
            }
        }
        reasons.dedup();
        assert_eq!(reasons.len(), 1, "{source}: {reasons:?}");
        reasons.remove(0)
    };
    let media = refused("media", json!({ "chunk_index": 4_000 }));
    assert!(media.contains("chunk_index 4000: this item has chunks 0 to "), "{media}");
    let uuid = refused("media", json!({ "chunk_uuid": "none" }));
    assert!(uuid.contains("chunk_uuid none: this item has chunks 0 to "), "{uuid}");
    let other = refused("media", json!({ "media_id": 77 }));
    assert!(other.contains("media_id 77: this item is media://"), "{other}");
    let offset = refused("notes", json!({ "approx_offset": 4_000_000 }));
    assert!(offset.contains("approx_offset 4000000: this text has "), "{offset}");
    let message = refused("chats", json!({ "message_index": 99 }));
    assert!(message.contains("message_index 99: this conversation has messages 0"), "{message}");
    let foreign = refused("notes", json!({ "message_index": 0 }));
    assert!(foreign.contains("message_index: a location in notes has "), "{foreign}");
}

#[test]
fn unknown_field_is_an_error_naming_fields() {
    let server = Library::with_item_per_source("Attic", &long_story()).serve();
    let client = server.client();
    for source in ["characters", "prompts"] {
        let id = &find_thimble(&client, source)["id"];
        let retrieval = json!({ "mode": "chunk", "loc": { "field": "colour" } });
        let call = json!({ "source": source, "id": id, "retrieval": retrieval });
        let reason = client.expect_tool_error("knowledge.get", &call);
        assert!(reason.contains("field colour: this item has the fields "), "{reason}");
    }
}

#[test]
fn pages_of_long_document_reproduce_its_text() {
    let text: String = (0..).map(|number| format!("Línie {number}: 東京\n")).take(17_500).collect();
    let text: String = text.chars().take(250_000).collect();
    assert_eq!(text.chars().count(), 250_000);
    let library = Library::new();
    library.import_file("notes", "long.txt", &text);
    library.import_file("media", "long.txt", &text);
    let server = library.serve();
    for (source, tool, argument) in
        [("notes", "notes.get", "note_id"), ("media", "media.get", "media_id")]
    {
        let hit =
            server.client().only_hit(&format!("{source}.search"), &json!({ "query": "línie" }));
        let (mut whole, mut pages, mut offset) = (String::new(), 0, json!(0));
        while !offset.is_null() {
            let page = server.client().call_tool(
                tool,
                &json!({ argument: hit["id"], "retrieval": { "mode": "full", "offset": offset } }),
            );
            whole.push_str(page["content"].as_str().unwrap());
            assert_eq!(page["range"]["total"], 250_000);
            assert_eq!(page["range"]["start"], offset);
            offset = page["range"]["next_offset"].clone();
            pages += 1;
        }
        assert!(whole == text, "{source} came back changed");
        assert_eq!(pages, 3, "{source}");
    }
}

#[test]
fn full_note_is_returned_unchanged() {
    let library = Library::new();
    let text = "---\ntags: [a]\n---\n# Odd\r\n\r\n\ttabs,  spaces, \u{1f9f5} and ｗｉｄｅ letters thimble\n\n\n";
    library.import_file("notes", "odd.md", text);
    let server = library.serve();
    let hit = find_thimble(&server.client(), "notes");
    assert_eq!(
        server.client().get_item("notes", &hit["id"], &json!({ "mode": "full" }))["content"],
        text
    );
}

#[test]
fn character_is_returned_with_all_fields() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let hit = client.only_hit("characters.search", &json!({ "query": "Orla" }));
    let item = client.call_tool("characters.get", &json!({ "character_id": hit["id"] }));
    let content = &item["content"];
    for (field, value) in [
        ("name", json!("Orla")),
        ("personality", json!("Patient, dry, curious about strangers.")),
        ("scenario", json!("A storm has cut the island off.")),
        ("first_message", json!("Mind the third step, it is loose.")),
        ("system_prompt", json!("Stay in the nineteenth century.")),
        ("alternate_greetings", json!(["You again."])),
        ("creator", json!("Vademecum")),
        ("character_version", json!("1")),
    ] {
        assert_eq!(content[field], value, "{field}");
    }
    assert_eq!(content["extensions"]["depth"], 4, "{content}");
}

#[test]
fn prompt_is_found_by_name_or_id() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let hit = client.only_hit("prompts.search", &json!({ "query": "flickers" }));
    let by_name = client.call_tool("prompts.get", &json!({ "prompt_id_or_name": "Lamp doctor" }));
    assert_eq!(
        by_name["content"],
        json!({
            "name": "Lamp doctor",
            "author": "Ines",
            "details": "Finds out why a light is out.",
            "system_prompt": "You repair lamps.",
            "user_prompt": "My lantern flickers. Ask me two questions.",
            "keywords": ["light", "repair"],
        })
    );
    for name in [hit["id"].to_string(), hit["uri"].as_str().unwrap().to_owned()] {
        assert_eq!(
            client.call_tool("prompts.get", &json!({ "prompt_id_or_name": name })),
            by_name,
            "{name}"
        );
    }
}

#[test]
fn prompt_name_takes_precedence_over_id() {
    let library = Library::new();
    library.import_file("prompts", "prompts.csv", "act,prompt\nfirst,one\n1,two\n");
    let server = library.serve();
    let get = |name: &str| {
        server.client().call_tool("prompts.get", &json!({ "prompt_id_or_name": name }))["content"]["user_prompt"].clone()
    };
    assert_eq!((get("1"), get("first"), get("2")), (json!("two"), json!("one"), json!("two")));
}

#[test]
fn range_locates_returned_text() {
    let words: Vec<String> = (0..2_000).map(|number| format!("wörd{number}")).collect();
    let text = words.join(" ");
    let server = Library::with_item_per_source("Attic", &text).serve();
    let client = server.client();
    for source in ["notes", "media"] {
        let hit = client.only_hit(&format!("{source}.search"), &json!({ "query": "wörd1000" }));
        let whole = client.get_item(source, &hit["id"], &json!({ "mode": "full" }));
        let whole = self::content_text(&whole);
        for mode in ["full", "chunk", "chunk_with_siblings", "snippet"] {
            let item =
                client.get_item(source, &hit["id"], &json!({ "mode": mode, "loc": hit["loc"] }));
            let place =
                |edge: &str| usize::try_from(item["range"][edge].as_u64().unwrap()).unwrap();
            let (start, end) = (place("start"), place("end"));
            let there: String = whole.chars().skip(start).take(end - start).collect();
            let shown = self::content_text(&item);
            let shown = shown.trim_matches(|letter: char| letter == '…' || letter.is_whitespace());
            assert_eq!(there.trim(), shown, "{source}, {mode}");
        }
    }
}

#[test]
fn chunks_end_at_headings_and_keep_tables_intact() {
    let rows: Vec<_> = (0..99).map(|row| format!("| drawer {row} | pin |\n")).collect();
    let table = format!("| where | what |\n|---|---|\n{}", rows.concat());
    let text = format!("# Attic\n\nDust.\n\n## Drawers\n\n{table}\n## Cellar\n\nA thimble.\n");
    let library = Library::with_notes([("Inventory", text)]);
    let server = library.serve();
    let client = server.client();
    let chunk = |query: &str| {
        let hit = client.only_hit("notes.search", &json!({ "query": query }));
        let retrieval = json!({ "mode": "chunk", "chunk_size_tokens": 50, "loc": hit["loc"] });
        self::content_text(&client.get_item("notes", &hit["id"], &retrieval))
    };
    assert_eq!(chunk("thimble"), "## Cellar\n\nA thimble.\n");
    assert_eq!(chunk("\"drawer 70\""), format!("## Drawers\n\n{table}\n"));
}
