//! End-to-end tests of the filters that all sources have: `after`, `before` and `tags`.

use serde_json::{Value, json};
use vademecum_store::{Database, Durability, StoreError};

use crate::{
    support::{HttpClient, Library, McpClient, SOURCES, claude_conversation, collection_fixtures},
    writing::WRITE_ENABLED,
};

/// Runs a statement on a database of the library. Imported items have the time of the import.
fn execute(library: &Library, database: Database, sql: &str) -> Result<(), StoreError> {
    let store = library.store(database);
    store.write(Durability::Full, |writer| writer.execute(sql, &[]).map(drop))
}

/// Returns a library with one item in each source, all modified at noon of 2020-05-05.
fn dated_library() -> Library {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    for (database, table) in [
        (Database::Chacha, "notes"),
        (Database::Chacha, "conversations"),
        (Database::Chacha, "character_cards"),
        (Database::Media, "Media"),
        (Database::Prompts, "Prompts"),
    ] {
        let sql = format!("UPDATE {table} SET last_modified = '2020-05-05T12:00:00.000Z'");
        execute(&library, database, &sql).unwrap();
    }
    library
}

/// Searches one source by its own tool and by `knowledge.search`, which must agree.
fn search(client: &HttpClient<'_>, source: &str, filters: &Value) -> Value {
    let mut own = filters.as_object().unwrap().clone();
    own.insert("query".to_owned(), "thimble".into());
    let mut all = own.clone();
    all.insert("sources".to_owned(), json!([source]));
    let own = client.call_tool(&format!("{source}.search"), &own.into());
    assert_eq!(own, client.call_tool("knowledge.search", &all.into()), "{source}, {filters}");
    own
}

fn count(found: &Value) -> usize {
    found["results"].as_array().unwrap().len()
}

#[test]
fn items_are_filtered_by_modification_date() {
    let server = dated_library().serve();
    let client = server.client();
    for source in SOURCES {
        let found = |after: &str, before: &str| {
            count(&search(&client, source, &json!({ "after": after, "before": before })))
        };
        assert_eq!(found("2020-05-05", "2020-05-06"), 1, "{source}");
        assert_eq!(found("2020-05-05T12:00:00Z", "2020-05-05T14:00:01+02:00"), 1, "{source}");
        assert_eq!(found("2020-05-06", "2030-01-01"), 0, "{source}: modified before");
        assert_eq!(found("2000-01-01", "2020-05-05"), 0, "{source}: a day begins at midnight");
        assert_eq!(found("2000-01-01", "2020-05-05T12:00:00Z"), 0, "{source}: exclusive");
    }
    let all = |filters: Value| {
        let mut arguments = filters.as_object().unwrap().clone();
        arguments.insert("query".to_owned(), "thimble".into());
        count(&client.call_tool("knowledge.search", &arguments.into()))
    };
    assert_eq!(all(json!({ "after": "2020-01-01" })), SOURCES.len());
    assert_eq!(all(json!({ "before": "2020-01-01" })), 0);
}

#[test]
fn messages_are_filtered_by_their_date() {
    let library = Library::new();
    let messages = (0..5).map(|number| ("human", format!("thimble number {number}")));
    let conversation = claude_conversation("Sewing", messages);
    library.import_file("chats", "talk.json", conversation.to_string());
    let server = library.serve();
    let client = server.client();
    let found = |filters: Value| count(&search(&client, "chats", &filters));
    // The conversation with its opening message, and four messages, one a minute.
    assert_eq!(found(json!({})), 5);
    let minute = |minute: usize| format!("2026-02-01T00:{minute:02}:00Z");
    assert_eq!(found(json!({ "before": minute(3) })), 2, "messages 1 and 2");
    assert_eq!(found(json!({ "after": minute(2), "before": minute(4) })), 2);
    let own = |filters: Value| {
        let mut arguments = filters.as_object().unwrap().clone();
        arguments
            .extend(json!({ "query": "thimble", "by": "message" }).as_object().unwrap().clone());
        count(&client.call_tool("chats.search", &arguments.into()))
    };
    assert_eq!(own(json!({ "before": minute(3) })), 3, "the opening message has its own date");
}

#[test]
fn items_are_filtered_by_any_tag() {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    for source in SOURCES.into_iter().filter(|source| *source != "chats") {
        let uri = search(&client, source, &json!({}))["results"][0]["uri"].clone();
        client.call_tool("knowledge.tag", &json!({ "uri": uri, "add": ["sewing", "Brass"] }));
        let found = |tags: Value| count(&search(&client, source, &json!({ "tags": tags })));
        assert_eq!(found(json!(["sewing"])), 1, "{source}");
        assert_eq!(found(json!(["none", "BRASS"])), 1, "{source}");
        assert_eq!(found(json!(["none"])), 0, "{source}");
        assert_eq!(found(json!(["sew"])), 0, "{source}");
        assert_eq!(found(json!([])), 1, "{source}");
    }
}

#[test]
fn answer_names_sources_without_tags() {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let uri = search(&client, "notes", &json!({}))["results"][0]["uri"].clone();
    client.call_tool("knowledge.tag", &json!({ "uri": uri, "add": ["sewing"] }));
    let arguments = json!({ "query": "thimble", "tags": ["sewing"] });
    let found = client.call_tool("knowledge.search", &arguments);
    assert_eq!(count(&found), 1);
    // The character has a tag from its card.
    assert_eq!(found["_meta"]["without_tags"], json!(["media", "chats", "prompts"]));
    let text = client.call_tool_text("chats.search", &arguments);
    assert!(text.contains("No item has tags in chats."), "{text}");
    let other = json!({ "query": "thimble", "tags": ["none"], "sources": ["notes"] });
    let found = client.call_tool("knowledge.search", &other);
    assert!(count(&found) == 0 && found["_meta"]["without_tags"].is_null(), "{found}");
}

#[test]
fn conversations_are_filtered_by_their_tags() {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    for sql in [
        "INSERT INTO keywords (keyword, created_at, last_modified) VALUES ('sewing', '', '')",
        "INSERT INTO conversation_keywords (conversation_id, keyword_id, created_at)
         SELECT conversations.id, keywords.id, '' FROM conversations, keywords",
    ] {
        execute(&library, Database::Chacha, sql).unwrap();
    }
    let server = library.serve();
    let client = server.client();
    let found = |tag: &str| count(&search(&client, "chats", &json!({ "tags": [tag] })));
    assert_eq!((found("Sewing"), found("none")), (1, 0));
}

#[test]
fn collections_are_filtered_by_date_and_tag() {
    let library = Library::new();
    let tagged = json!({ "Tags": "<sewing><brass>" });
    let documents = [
        collection_fixtures::chunked_document("posts:1", "One", &tagged, &["A thimble."]),
        collection_fixtures::chunked_document("posts:2", "Two", &json!({}), &["A thimble, too."]),
    ];
    collection_fixtures::insert_collection(&library, "posts", None, &documents);
    let plain = collection_fixtures::chunked_document("p:1", "P", &json!({}), &["A thimble."]);
    collection_fixtures::insert_collection(&library, "plain", None, &[plain]);
    let server = library.serve();
    let client = server.client();
    let found = |filters: Value| {
        let mut arguments = filters.as_object().unwrap().clone();
        arguments.insert("query".to_owned(), "thimble".into());
        arguments.entry("sources").or_insert(json!(["collections"]));
        client.call_tool("knowledge.search", &arguments.into())
    };
    assert_eq!(count(&found(json!({}))), 3);
    assert_eq!(count(&found(json!({ "after": "2000-01-01" }))), 3);
    assert_eq!(count(&found(json!({ "before": "2000-01-01" }))), 0);
    let of_tag = found(json!({ "tags": ["sewing"] }));
    assert_eq!(count(&of_tag), 1);
    assert_eq!(of_tag["_meta"]["without_tags"], json!(["collections"]), "{of_tag}");
}

#[test]
fn invalid_dates_are_errors() {
    let server = Library::with_item_per_source("Attic", "A single thimble.").serve();
    let client = server.client();
    for tool in ["knowledge.search", "notes.search", "media.search", "chats.search"] {
        for (name, value) in [("after", "yesterday"), ("before", "2026-02-30")] {
            let error = client.expect_tool_error(tool, &json!({ "query": "thimble", name: value }));
            assert!(error.contains(name) && error.contains("ISO 8601"), "{tool}: {error}");
        }
    }
}
