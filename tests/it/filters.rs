//! Searching: what counts, source by source, asked directly or through all.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vademecum_kit::store::{Database, Durability, Store, StoreError};

use crate::support::{Library, McpClient, SOURCES};

fn results(found: &Value) -> &Vec<Value> {
    found["results"].as_array().unwrap()
}

fn titles(found: &Value) -> Vec<&str> {
    results(found).iter().map(|hit| hit["title"].as_str().unwrap()).collect()
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn title_set(found: &Value) -> BTreeSet<String> {
    set(&titles(found))
}

#[test]
fn notes_are_kept_by_any_of_the_keywords() {
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
    assert_eq!(with(json!(["errand"])), set(&["Umbrella"]));
    assert_eq!(with(json!(["COAST"])), set(&["Camping list", "The lighthouse at Skerry"]));
    assert_eq!(with(json!(["tent", "errand"])), set(&["Camping list", "Umbrella"]));
    assert_eq!(with(json!(["nothing"])), set(&[]));
    assert_eq!(with(json!([])).len(), 3);
}

#[test]
fn media_are_kept_by_type() {
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
    assert_eq!(of(json!(["html"])), set(&["How a Fresnel lens works"]));
    assert_eq!(of(json!(["audio", "markdown"])), set(&["keeper", "Tide almanac"]));
    assert_eq!(of(json!(["pdf"])), set(&[]));
    assert_eq!(of(json!([])).len(), 3);
}

#[test]
fn media_are_kept_by_the_day_they_were_added() {
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
    assert!(between(day, day) >= 1, "a day counts to its end");
    assert!(between(added, added) >= 1, "a moment counts");
    assert_eq!(between("2000-01-01", "2999-12-31"), 3);
    assert_eq!(between("2000-01-01T00:00:00Z", "2000-12-31T23:59:59+01:00"), 0);
    assert_eq!(between("2999-01-01", "2999-12-31"), 0);
}

#[test]
fn chats_are_matched_by_title_by_message_or_by_both() {
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
            results(&direct).iter().partition(|hit| hit["uri"].as_str().unwrap().contains('#'));
        (messages.len(), conversations.len())
    };
    // Both conversations open with a message that matches.
    assert_eq!((by("title"), by("message"), by("both")), ((0, 1), (3, 0), (1, 2)));
}

#[test]
fn messages_are_kept_by_their_sender() {
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
            results(&direct)
                .iter()
                .all(|hit| hit["sender"].as_str().unwrap().eq_ignore_ascii_case(sender))
        );
        results(&direct).len()
    };
    assert_eq!((from("user"), from("human"), from("ASSISTANT"), from("nobody")), (1, 1, 1, 0));
}

#[test]
fn conversations_are_kept_by_their_character() {
    let library = Library::with_lanterns();
    give_character(&library, "Names for a boat", "Bram").unwrap();
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
        titles(&direct).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with(&bram["id"]), ["Names for a boat"]);
    assert_eq!(with(&json!(999)), [""; 0]);
}

/// No export says whom a conversation was with; other programs' libraries do.
fn give_character(library: &Library, title: &str, name: &str) -> Result<(), StoreError> {
    let store = Store::new(Database::Chacha, &library.data_folder().join("users/local"));
    let changed = store.write(Durability::Full, |writer| {
        let sql = "UPDATE conversations SET character_id = (SELECT id FROM character_cards WHERE name = :name) WHERE title = :title";
        writer.execute(sql, &[(":name", &name), (":title", &title)])
    });
    assert_eq!(changed?, 1);
    Ok(())
}

#[test]
fn prompts_are_matched_in_the_named_fields() {
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
    assert_eq!(within("lantern", json!(["name"])), set(&[poet]));
    assert_eq!(within("lantern", json!(["details"])), set(&[watch]));
    assert_eq!(within("lantern", json!(["user_prompt"])), set(&[doctor]));
    assert_eq!(within("lantern", json!(["name", "details"])), set(&[poet, watch]));
    assert_eq!(within("lantern", json!(["system_prompt", "author", "keywords"])), set(&[]));
    assert_eq!(within("repair", json!(["system_prompt"])), set(&[doctor]));
    assert_eq!(within("bram", json!(["author"])), set(&[poet]));
    assert_eq!(within("sea", json!(["keywords"])), set(&[watch]));
    assert_eq!(within("lantern", json!([])).len(), 3);
}

#[test]
fn characters_are_found_by_text_and_by_a_list_of_tags() {
    let server = Library::with_lanterns().serve();
    for query in
        [json!("island"), json!("keeper, island"), json!(["island"]), json!(["keeper", "island"])]
    {
        let found = server.client().call_tool("characters.search", &json!({ "query": query }));
        assert_eq!(titles(&found), ["Orla"], "{query}");
    }
    let both =
        server.client().call_tool("characters.search", &json!({ "query": ["island", "donkey"] }));
    assert_eq!(title_set(&both), set(&["Orla", "Bram"]));
}

#[test]
fn only_the_named_sources_are_searched() {
    let server = Library::with_lanterns().serve();
    let of = |arguments: Value| {
        let found = server.client().call_tool("knowledge.search", &arguments);
        results(&found)
            .iter()
            .map(|hit| hit["source"].as_str().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(of(json!({ "query": "lantern" })), set(&SOURCES));
    assert_eq!(
        of(json!({ "query": "lantern", "sources": ["media", "prompts"] })),
        set(&["media", "prompts"])
    );
    for source in SOURCES {
        assert_eq!(of(json!({ "query": "lantern", "sources": [source] })), set(&[source]));
    }
}

#[test]
fn a_filter_concerns_its_source_only() {
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
        set(&[
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
