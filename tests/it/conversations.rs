//! End-to-end tests of reading conversations: page by page, and around a message.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, claude_conversation};

/// Creates a library with a conversation of 450 messages and returns it with the id of the
/// conversation.
fn long_conversation() -> (Library, Value) {
    let library = Library::new();
    let messages = (0..450).map(|number| ("human", format!("message number {number}")));
    library.import_file(
        "chats",
        "talk.json",
        claude_conversation("Long talk", messages).to_string(),
    );
    let server = library.serve();
    let hit = server.client().only_hit("chats.search", &json!({ "query": "\"long talk\"" }));
    (library, hit["conversation_id"].clone())
}

fn message_indexes(item: &Value) -> Vec<u64> {
    let messages = item["content"]["messages"].as_array().unwrap();
    messages.iter().map(|message| message["message_index"].as_u64().unwrap()).collect()
}

#[test]
fn conversation_is_read_page_by_page() {
    let (library, id) = long_conversation();
    let server = library.serve();
    let page = |page: Value, size: Value| {
        let mut arguments = json!({ "conversation_id": id });
        if !page.is_null() {
            arguments["page"] = page;
        }
        if !size.is_null() {
            arguments["page_size"] = size;
        }
        server.client().call_tool("chats.get", &arguments)
    };
    let first = page(Value::Null, Value::Null);
    assert_eq!(message_indexes(&first), (0..50).collect::<Vec<_>>());
    assert_eq!(
        (&first["content"]["total_messages"], &first["content"]["has_more"]),
        (&json!(450), &json!(true))
    );
    assert_eq!(
        (&first["content"]["page"], &first["content"]["page_size"]),
        (&json!(1), &json!(50))
    );
    assert_eq!(message_indexes(&page(json!(9), Value::Null)), (400..450).collect::<Vec<_>>());
    assert_eq!(message_indexes(&page(json!(2), json!(7))), (7..14).collect::<Vec<_>>());
    assert_eq!(message_indexes(&page(json!(2), json!(200))), (200..400).collect::<Vec<_>>());
    assert_eq!(message_indexes(&page(json!(1), json!(9_999))), (0..200).collect::<Vec<_>>());
    let last = page(json!(3), json!(200));
    assert_eq!((message_indexes(&last).len(), &last["content"]["has_more"]), (50, &json!(false)));
    let beyond = page(json!(99), Value::Null);
    assert_eq!(
        (message_indexes(&beyond).len(), &beyond["content"]["has_more"]),
        (0, &json!(false))
    );
    let message = &first["content"]["messages"][3];
    assert_eq!(
        (&message["sender"], &message["content"]),
        (&json!("human"), &json!("message number 3"))
    );
    assert_eq!(message["timestamp"], "2026-02-01T00:03:00.000Z");
}

#[test]
fn conversation_is_read_around_a_message() {
    let (library, id) = long_conversation();
    let server = library.serve();
    let client = server.client();
    let hit = client.only_hit("chats.search", &json!({ "query": "\"number 300\"" }));
    let around = |retrieval: Value| {
        client.call_tool("chats.get", &json!({ "conversation_id": id, "retrieval": retrieval }))
    };
    let loc = &hit["loc"];
    assert_eq!(loc["message_index"], 300);
    assert_eq!(around(json!({ "loc": loc }))["content"], "message number 300");
    assert_eq!(message_indexes(&around(json!({ "mode": "chunk", "loc": loc }))), [300]);
    assert_eq!(
        message_indexes(&around(json!({ "mode": "chunk_with_siblings", "loc": loc }))),
        [299, 300, 301]
    );
    let wide = json!({ "mode": "chunk_with_siblings", "loc": loc, "sibling_window": 10 });
    assert_eq!(message_indexes(&around(wide)), (290..=310).collect::<Vec<_>>());
    // The messages have 18 characters each, so three of them fit into 15 tokens.
    let tight = json!({ "mode": "auto", "loc": loc, "sibling_window": 10, "max_tokens": 15 });
    assert_eq!(message_indexes(&around(tight)), [299, 300, 301]);
    let by_index = json!({ "mode": "chunk", "loc": { "message_index": 7 } });
    assert_eq!(message_indexes(&around(by_index)), [7]);
    let full = client.call_tool(
        "chats.get",
        &json!({
            "conversation_id": id, "page": 2, "page_size": 10, "retrieval": { "mode": "full" },
        }),
    );
    assert_eq!(message_indexes(&full), (10..20).collect::<Vec<_>>());
    let by_uri = client.get_item("chats", &hit["uri"], &json!({ "mode": "chunk" }));
    assert_eq!(message_indexes(&by_uri), [300]);
}

#[test]
fn opening_message_is_found_with_or_without_conversation() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let found = |arguments: Value| client.only_hit("chats.search", &arguments);
    let whole = found(json!({ "query": "brass light", "highlight": true }));
    assert_eq!(whole["uri"], format!("chats://{}", whole["id"].as_str().unwrap()));
    assert_eq!(
        (&whole["snippet"], &whole["matched"], &whole["sender"]),
        (&json!("My lantern does not light any more."), &json!(["brass", "light"]), &json!("user"),)
    );
    let message = found(json!({ "query": "brass light", "by": "message" }));
    let uri =
        format!("{}#{}", whole["uri"].as_str().unwrap(), whole["message_id"].as_str().unwrap());
    assert_eq!((&message["uri"], &message["loc"]), (&json!(uri), &whole["loc"]));
    assert_eq!(message["loc"]["message_index"], 0);
    for retrieval in [json!({ "mode": "chunk", "loc": whole["loc"] }), json!({ "mode": "chunk" })] {
        assert_eq!(message_indexes(&client.get_item("chats", &message["uri"], &retrieval)), [0]);
    }
    assert_eq!(
        message_indexes(&client.get_item("chats", &whole["uri"], &json!({ "mode": "full" }))),
        [0, 1, 2]
    );
}

#[test]
fn pages_of_long_conversation_cover_all_messages() {
    let (library, id) = long_conversation();
    let server = library.serve();
    let (mut shown, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let page =
            server.client().get_item("chats", &id, &json!({ "mode": "full", "offset": offset }));
        shown.extend(message_indexes(&page));
        offset = page["range"]["next_offset"].clone();
    }
    assert_eq!(shown, (0..450).collect::<Vec<_>>());
}

#[test]
fn pages_of_long_messages_show_each_message() {
    let library = Library::new();
    let messages =
        (0..60).map(|number| ("human", format!("thimble {number} {}", "hay ".repeat(1_250))));
    library.import_file(
        "chats",
        "talk.json",
        claude_conversation("Long talk", messages).to_string(),
    );
    let server = library.serve();
    let client = server.client();
    let hit = client.only_hit("chats.search", &json!({ "query": "\"long talk\"" }));
    let mut shown = Vec::new();
    for page in 1.. {
        let item =
            client.call_tool("chats.get", &json!({ "conversation_id": hit["id"], "page": page }));
        shown.extend(message_indexes(&item));
        if item["content"]["has_more"] == false {
            break;
        }
    }
    assert_eq!(shown, (0..60).collect::<Vec<_>>());
}

/// Creates a library with a dialogue of two persons, and a longer conversation of a third one.
fn dialogue() -> Library {
    let library = Library::new();
    let messages_about_nets = [
        ("Zebulon", "Where did you learn to tie nets?"),
        ("Maren", "My grandmother taught me on the pier."),
        ("Zebulon", "I would like to try that."),
        ("Maren", "Come on Saturday, and bring a knife."),
    ];
    let messages_about_nets = messages_about_nets.map(|(sender, text)| (sender, text.to_owned()));
    let other = (0..30).map(|number| ("Ilse", format!("The weather report number {number}.")));
    for (file, title, messages) in [
        ("nets.json", "Nets", messages_about_nets.to_vec()),
        ("weather.json", "Weather", other.collect()),
    ] {
        let whole = claude_conversation(title, messages).to_string();
        library.import_file("chats", file, whole);
    }
    library
}

#[test]
fn messages_are_found_by_their_sender() {
    let server = dialogue().serve();
    let client = server.client();
    for query in ["Zebulon", "sender:zebulon"] {
        let found = client.call_tool("chats.search", &json!({ "query": query }));
        let hits = found["results"].as_array().unwrap();
        assert_eq!(hits.len(), 2, "{query}: {found}");
        assert!(hits.iter().all(|hit| hit["sender"] == "Zebulon"), "{query}: {found}");
    }
    let found = client.call_tool("chats.search", &json!({ "query": "what would Zebulon like?" }));
    assert_eq!(found["results"][0]["snippet"], "I would like to try that.", "{found}");
    let filtered = json!({ "query": "who taught Zebulon nets", "sender": "maren" });
    let found = client.call_tool("chats.search", &filtered);
    let hits = found["results"].as_array().unwrap();
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit["sender"] == "Maren"), "{found}");
}

#[test]
fn answer_is_found_by_words_of_its_question() {
    let server = dialogue().serve();
    let client = server.client();
    let question = json!({ "query": "Where did Maren learn to tie nets?", "highlight": true });
    let found = client.call_tool("chats.search", &question);
    let hits = found["results"].as_array().unwrap();
    let answer = hits.iter().find(|hit| hit["loc"]["message_index"] == 1).unwrap();
    assert_eq!(answer["snippet"], "My grandmother taught me on the pier.");
    assert_eq!((&answer["highlights"], &answer["matched"]), (&json!([]), &json!(["Maren"])));
    // A search for single words finds the messages that have them.
    let hit = client.only_hit("chats.search", &json!({ "query": "grandmother" }));
    assert_eq!(hit["loc"]["message_index"], 1);
    let hit = client.only_hit("chats.search", &json!({ "query": "\"on the pier\"" }));
    assert_eq!(hit["loc"]["message_index"], 1);
}
