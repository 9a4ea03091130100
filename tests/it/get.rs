//! Reading: every mode of every source.

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, SOURCES};

/// A long text with one `thimble` deep in it. Its sentences differ, and some
/// of its letters are longer than a byte.
fn story() -> String {
    let sentence = |number: usize| match number {
        700 => "Under the stone lay a thimble. ".to_owned(),
        _ => format!("Sentence number {number} says nöthing. "),
    };
    (0..1_000).map(sentence).collect()
}

/// What is needed to read each source by its own tool: name and argument.
fn own_tool(source: &str) -> (String, &'static str) {
    let argument = match source {
        "notes" => "note_id",
        "media" => "media_id",
        "chats" => "conversation_id",
        "characters" => "character_id",
        _ => "prompt_id_or_name",
    };
    (format!("{source}.get"), argument)
}

/// The text of an answer: itself, or that of the messages in it.
fn text(item: &Value) -> String {
    match item["content"]["messages"].as_array() {
        Some(messages) => {
            messages.iter().map(|message| message["content"].as_str().unwrap()).collect()
        }
        None => item["content"].as_str().unwrap_or_else(|| panic!("{item}")).to_owned(),
    }
}

fn characters(item: &Value) -> usize {
    text(item).chars().count()
}

fn thimble(client: &HttpClient<'_>, source: &str) -> Value {
    client.only_hit(&format!("{source}.search"), &json!({ "query": "thimble" }))
}

#[test]
fn a_snippet_is_what_one_gets_if_nobody_says() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = thimble(&client, source);
        let loc = &hit["loc"];
        let there = client.get_item(source, &hit["id"], &json!({ "loc": loc }));
        assert!((200..=300).contains(&characters(&there)), "{source}: {there}");
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
        assert!((25..=50).contains(&characters(&short)), "{source}: {short}");
        let most =
            client.get_item(source, &hit["id"], &json!({ "loc": loc, "snippet_length": 5_000 }));
        assert!((900..=1_000).contains(&characters(&most)), "{source}: {most}");
    }
}

#[test]
fn the_loc_of_a_hit_is_read_in_every_mode() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    for source in ["notes", "media", "characters", "prompts"] {
        let hit = thimble(&client, source);
        for mode in ["snippet", "chunk", "chunk_with_siblings", "auto"] {
            let item =
                client.get_item(source, &hit["id"], &json!({ "mode": mode, "loc": hit["loc"] }));
            assert!(text(&item).contains("thimble"), "{source}, {mode}: {item}");
            assert!(characters(&item) < story().chars().count() / 2, "{source}, {mode}");
            assert_eq!(item["meta"]["uri"], hit["uri"]);
        }
        let full =
            client.get_item(source, &hit["id"], &json!({ "mode": "full", "loc": hit["loc"] }));
        assert!(full["content"].to_string().contains("thimble"), "{source}");
    }
}

#[test]
fn without_a_loc_one_reads_from_the_beginning() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    for source in ["notes", "media", "characters", "prompts"] {
        let hit = thimble(&client, source);
        for mode in ["snippet", "chunk", "chunk_with_siblings"] {
            let item = client.get_item(source, &hit["id"], &json!({ "mode": mode }));
            assert_eq!(item["range"]["start"], 0, "{source}, {mode}: {item}");
        }
    }
}

#[test]
fn each_source_is_read_by_its_own_tool_as_well() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = thimble(&client, source);
        let (tool, argument) = own_tool(source);
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
fn an_item_is_named_by_its_id_or_by_its_uri() {
    let server = Library::with_item_per_source("Attic", "A single thimble.").serve();
    let client = server.client();
    for source in SOURCES {
        let hit = thimble(&client, source);
        let by_id = client.get_item(source, &hit["id"], &json!({ "mode": "full" }));
        assert_eq!(
            client.get_item(source, &hit["uri"], &json!({ "mode": "full" })),
            by_id,
            "{source}"
        );
        assert!(by_id["content"].to_string().contains("thimble"), "{source}");
    }
    let media = thimble(&client, "media");
    let text = json!(media["id"].to_string());
    assert_eq!(
        client.call_tool("media.get", &json!({ "media_id": text })),
        client.call_tool("media.get", &json!({ "media_id": media["id"] })),
    );
}

#[test]
fn what_an_item_is_stands_in_its_meta() {
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
fn siblings_stay_within_the_budget() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = thimble(&client, source);
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
                let spent = characters(&item).div_ceil(per_token);
                assert!(spent <= tokens, "{source}: {spent} of {tokens} by {per_token}");
                assert!(spent > 0, "{source}: {item}");
            }
        }
    }
}

#[test]
fn a_larger_budget_reads_more_around_the_anchor() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    for source in ["notes", "characters", "prompts"] {
        let hit = thimble(&client, source);
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
            text(&small).contains("thimble") && text(&large).contains(&text(&small)),
            "{source}"
        );
        assert!(characters(&large) > 2 * characters(&small), "{source}");
    }
}

#[test]
fn auto_reads_siblings_if_there_is_a_budget() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    for source in SOURCES {
        let hit = thimble(&client, source);
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
fn stored_chunks_are_preferred_and_can_be_named() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    let hit = thimble(&client, "media");
    let index = hit["loc"]["chunk_index"].as_u64().unwrap();
    assert!(index > 3, "{hit}");
    let named =
        |loc: Value| client.get_item("media", &hit["id"], &json!({ "mode": "chunk", "loc": loc }));
    let chunk = named(json!({ "chunk_index": index }));
    assert!(text(&chunk).contains("thimble") && characters(&chunk) <= 2_000, "{chunk}");
    assert_eq!(chunk["meta"]["loc"]["chunk_index"], index);
    assert_eq!(text(&named(hit["loc"].clone())), text(&chunk));
    let next = named(json!({ "chunk_index": index + 1 }));
    assert_eq!(next["range"]["start"], chunk["range"]["end"]);
}

#[test]
fn the_loc_of_a_hit_is_read_there_without_stored_chunks_too() {
    let server = Library::with_item_per_source("Attic", &story()).serve();
    let client = server.client();
    let hit = thimble(&client, "media");
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
        assert!(characters(&item) <= longest, "{mode}, {chunk_size_tokens}: {item}");
        assert!(text(&item).contains("thimble"), "{mode}, {chunk_size_tokens}: {item}");
    }
}

#[test]
fn the_pages_of_a_long_document_make_it_whole_again() {
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
fn a_note_is_read_whole_as_it_was_written() {
    let library = Library::new();
    let text = "---\ntags: [a]\n---\n# Odd\r\n\r\n\ttabs,  spaces, \u{1f9f5} and ｗｉｄｅ letters thimble\n\n\n";
    library.import_file("notes", "odd.md", text);
    let server = library.serve();
    let hit = thimble(&server.client(), "notes");
    assert_eq!(
        server.client().get_item("notes", &hit["id"], &json!({ "mode": "full" }))["content"],
        text
    );
}

#[test]
fn a_character_is_read_with_all_its_fields() {
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
fn a_prompt_is_read_by_name_and_by_id() {
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
fn a_prompt_that_is_named_like_an_id_is_meant_first() {
    let library = Library::new();
    library.import_file("prompts", "prompts.csv", "act,prompt\nfirst,one\n1,two\n");
    let server = library.serve();
    let get = |name: &str| {
        server.client().call_tool("prompts.get", &json!({ "prompt_id_or_name": name }))["content"]["user_prompt"].clone()
    };
    assert_eq!((get("1"), get("first"), get("2")), (json!("two"), json!("one"), json!("two")));
}

#[test]
fn the_range_of_an_answer_is_where_its_text_stands() {
    let words: Vec<String> = (0..2_000).map(|number| format!("wörd{number}")).collect();
    let text = words.join(" ");
    let server = Library::with_item_per_source("Attic", &text).serve();
    let client = server.client();
    for source in ["notes", "media"] {
        let hit = client.only_hit(&format!("{source}.search"), &json!({ "query": "wörd1000" }));
        let whole = client.get_item(source, &hit["id"], &json!({ "mode": "full" }));
        let whole = self::text(&whole);
        for mode in ["full", "chunk", "chunk_with_siblings", "snippet"] {
            let item =
                client.get_item(source, &hit["id"], &json!({ "mode": mode, "loc": hit["loc"] }));
            let place =
                |edge: &str| usize::try_from(item["range"][edge].as_u64().unwrap()).unwrap();
            let (start, end) = (place("start"), place("end"));
            let there: String = whole.chars().skip(start).take(end - start).collect();
            let shown = self::text(&item);
            let shown = shown.trim_matches(|letter: char| letter == '…' || letter.is_whitespace());
            assert_eq!(there.trim(), shown, "{source}, {mode}");
        }
    }
}

#[test]
fn a_chunk_ends_at_the_next_heading_and_holds_tables_whole() {
    let rows: Vec<_> = (0..99).map(|row| format!("| drawer {row} | pin |\n")).collect();
    let table = format!("| where | what |\n|---|---|\n{}", rows.concat());
    let text = format!("# Attic\n\nDust.\n\n## Drawers\n\n{table}\n## Cellar\n\nA thimble.\n");
    let library = Library::with_notes([("Inventory", text)]);
    let server = library.serve();
    let client = server.client();
    let chunk = |query: &str| {
        let hit = client.only_hit("notes.search", &json!({ "query": query }));
        let retrieval = json!({ "mode": "chunk", "chunk_size_tokens": 50, "loc": hit["loc"] });
        self::text(&client.get_item("notes", &hit["id"], &retrieval))
    };
    assert_eq!(chunk("thimble"), "## Cellar\n\nA thimble.\n");
    assert_eq!(chunk("\"drawer 70\""), format!("## Drawers\n\n{table}\n"));
}
