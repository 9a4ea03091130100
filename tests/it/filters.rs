//! End-to-end tests of search filters, used in the search tool of a source and in
//! `knowledge.search`.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vademecum_store::{Database, Durability, StoreError};

use crate::support::{Library, McpClient, SOURCES};

fn hits_of(found: &Value) -> &Vec<Value> {
    found["results"].as_array().unwrap()
}

fn titles_of(found: &Value) -> Vec<&str> {
    hits_of(found).iter().map(|hit| hit["title"].as_str().unwrap()).collect()
}

fn string_set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn title_set(found: &Value) -> BTreeSet<String> {
    string_set(&titles_of(found))
}

#[test]
fn notes_are_filtered_by_any_keyword() {
    let server = Library::with_lanterns().serve();
    let with = |keywords: Value| {
        let direct = server
            .client()
            .call_tool("notes.search", &json!({ "query": "lantern", "keywords": keywords }));
        let through = server.client().call_tool("knowledge.search", &json!({
            "query": "lantern", "sources": ["notes"], "filters": { "notes": { "keywords": keywords } },
        }));
        assert_eq!(direct, through);
        title_set(&direct)
    };
    assert_eq!(with(json!(["errand"])), string_set(&["Umbrella"]));
    assert_eq!(with(json!(["COAST"])), string_set(&["Camping list", "The lighthouse at Skerry"]));
    assert_eq!(with(json!(["tent", "errand"])), string_set(&["Camping list", "Umbrella"]));
    assert_eq!(with(json!(["nothing"])), string_set(&[]));
    assert_eq!(with(json!([])).len(), 3);
}

#[test]
fn media_are_filtered_by_type() {
    let server = Library::with_lanterns().serve();
    let of = |types: Value| {
        let direct = server
            .client()
            .call_tool("media.search", &json!({ "query": "lantern", "media_types": types }));
        let through = server.client().call_tool("knowledge.search", &json!({
            "query": "lantern", "sources": ["media"], "filters": { "media": { "media_types": types } },
        }));
        assert_eq!(direct, through);
        title_set(&direct)
    };
    assert_eq!(of(json!(["html"])), string_set(&["How a Fresnel lens works"]));
    assert_eq!(of(json!(["audio", "markdown"])), string_set(&["keeper", "Tide almanac"]));
    assert_eq!(of(json!(["pdf"])), string_set(&[]));
    assert_eq!(of(json!([])).len(), 3);
}

#[test]
fn media_are_filtered_by_import_date() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let between = |from: &str, to: &str| {
        let dates = json!({ "date_from": from, "date_to": to });
        let direct = json!({ "query": "lantern", "date_from": from, "date_to": to });
        let through =
            json!({ "query": "lantern", "sources": ["media"], "filters": { "media": dates } });
        let found = client.search_uris("media.search", &direct);
        assert_eq!(found, client.search_uris("knowledge.search", &through));
        found.len()
    };
    let hit = client.only_hit("media.search", &json!({ "query": "clockwork" }));
    let added = hit["created_at"].as_str().unwrap();
    let day = &added[..10];
    assert!(between(day, day) >= 1, "a range includes its whole last day");
    assert!(between(added, added) >= 1, "a range includes its exact bounds");
    assert_eq!(between("2000-01-01", "2999-12-31"), 3);
    assert_eq!(between("2000-01-01T00:00:00Z", "2000-12-31T23:59:59+01:00"), 0);
    assert_eq!(between("2999-01-01", "2999-12-31"), 0);
}

#[test]
fn chats_are_matched_by_title_message_or_both() {
    let server = Library::with_lanterns().serve();
    let by = |by: &str| {
        let direct =
            server.client().call_tool("chats.search", &json!({ "query": "lantern", "by": by }));
        let through = server.client().call_tool(
            "knowledge.search",
            &json!({
                "query": "lantern", "sources": ["chats"], "filters": { "chats": { "by": by } },
            }),
        );
        assert_eq!(direct, through);
        let (messages, conversations): (Vec<_>, Vec<_>) =
            hits_of(&direct).iter().partition(|hit| hit["uri"].as_str().unwrap().contains('#'));
        (messages.len(), conversations.len())
    };
    // Both conversations start with a matching message.
    assert_eq!((by("title"), by("message"), by("both")), ((0, 1), (3, 0), (1, 2)));
}

#[test]
fn messages_are_filtered_by_sender() {
    let server = Library::with_lanterns().serve();
    let from = |sender: &str| {
        let direct = server
            .client()
            .call_tool("chats.search", &json!({ "query": "lantern", "sender": sender }));
        let through = server.client().call_tool("knowledge.search", &json!({
            "query": "lantern", "sources": ["chats"], "filters": { "chats": { "sender": sender } },
        }));
        assert_eq!(direct, through);
        assert!(
            hits_of(&direct)
                .iter()
                .all(|hit| hit["sender"].as_str().unwrap().eq_ignore_ascii_case(sender))
        );
        hits_of(&direct).len()
    };
    assert_eq!((from("user"), from("human"), from("ASSISTANT"), from("nobody")), (1, 1, 1, 0));
}

#[test]
fn conversations_are_filtered_by_character() {
    let library = Library::with_lanterns();
    assign_character(&library, "Names for a boat", "Bram").unwrap();
    let server = library.serve();
    let bram = server.client().only_hit("characters.search", &json!({ "query": "donkey" }));
    let with = |id: &Value| {
        let direct = server
            .client()
            .call_tool("chats.search", &json!({ "query": "lantern boat", "character_id": id }));
        let through = server.client().call_tool("knowledge.search", &json!({
            "query": "lantern boat", "sources": ["chats"], "filters": { "chats": { "character_id": id } },
        }));
        assert_eq!(direct, through);
        titles_of(&direct).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with(&bram["id"]), ["Names for a boat"]);
    assert_eq!(with(&json!(999)), [""; 0]);
}

/// Assigns a character to a conversation directly in the database. Exported files never contain
/// this relation, but the databases of other programs do.
fn assign_character(library: &Library, title: &str, name: &str) -> Result<(), StoreError> {
    let store = library.store(Database::Chacha);
    let changed = store.write(Durability::Full, |writer| {
        let sql = "UPDATE conversations SET character_id = (SELECT id FROM character_cards WHERE name = :name) WHERE title = :title";
        writer.execute(sql, &[(":name", &name), (":title", &title)])
    });
    assert_eq!(changed?, 1);
    Ok(())
}

#[test]
fn prompts_are_matched_in_selected_fields() {
    let server = Library::with_lanterns().serve();
    let within = |query: &str, fields: Value| {
        let direct = server
            .client()
            .call_tool("prompts.search", &json!({ "query": query, "fields": fields }));
        let through = server.client().call_tool("knowledge.search", &json!({
            "query": query, "sources": ["prompts"], "filters": { "prompts": { "fields": fields } },
        }));
        assert_eq!(direct, through);
        title_set(&direct)
    };
    let (doctor, watch, poet) = ("Lamp doctor", "Night watch", "Lantern poet");
    assert_eq!(within("lantern", json!(["name"])), string_set(&[poet]));
    assert_eq!(within("lantern", json!(["details"])), string_set(&[watch]));
    assert_eq!(within("lantern", json!(["user_prompt"])), string_set(&[doctor]));
    assert_eq!(within("lantern", json!(["name", "details"])), string_set(&[poet, watch]));
    assert_eq!(within("lantern", json!(["system_prompt", "author", "keywords"])), string_set(&[]));
    assert_eq!(within("repair", json!(["system_prompt"])), string_set(&[doctor]));
    assert_eq!(within("bram", json!(["author"])), string_set(&[poet]));
    assert_eq!(within("sea", json!(["keywords"])), string_set(&[watch]));
    assert_eq!(within("lantern", json!([])).len(), 3);
}

#[test]
fn characters_are_found_by_text_or_tag_list() {
    let server = Library::with_lanterns().serve();
    for query in
        [json!("island"), json!("keeper, island"), json!(["island"]), json!(["keeper", "island"])]
    {
        let found = server.client().call_tool("characters.search", &json!({ "query": query }));
        assert_eq!(titles_of(&found), ["Orla"], "{query}");
    }
    let both =
        server.client().call_tool("characters.search", &json!({ "query": ["island", "donkey"] }));
    assert_eq!(title_set(&both), string_set(&["Orla", "Bram"]));
}

#[test]
fn search_covers_only_selected_sources() {
    let server = Library::with_lanterns().serve();
    let of = |arguments: Value| {
        let found = server.client().call_tool("knowledge.search", &arguments);
        hits_of(&found)
            .iter()
            .map(|hit| hit["source"].as_str().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(of(json!({ "query": "lantern" })), string_set(&SOURCES));
    assert_eq!(
        of(json!({ "query": "lantern", "sources": ["media", "prompts"] })),
        string_set(&["media", "prompts"])
    );
    for source in SOURCES {
        assert_eq!(of(json!({ "query": "lantern", "sources": [source] })), string_set(&[source]));
    }
}

#[test]
fn filters_apply_only_to_their_source() {
    let server = Library::with_lanterns().serve();
    let found = server.client().call_tool(
        "knowledge.search",
        &json!({
            "query": "lantern",
            "filters": {
                "notes": { "keywords": ["errand"] },
                "media": { "media_types": ["html"], "date_from": "2000-01-01" },
                "chats": { "by": "title" },
                "prompts": { "fields": ["name"] },
                "characters": {},
            },
        }),
    );
    assert_eq!(
        title_set(&found),
        string_set(&[
            "Umbrella",
            "How a Fresnel lens works",
            "Fixing a brass lantern",
            "Lantern poet",
            "Orla",
            "Bram"
        ])
    );
    assert_eq!(found["total_estimated"], 6);
}
