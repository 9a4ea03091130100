//! End-to-end tests of session state: shown results, recent queries and client configuration.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, SOURCES};

/// Returns the URIs of all hits of a search outside any session.
fn all_uris(client: &HttpClient<'_>, query: &str) -> Vec<String> {
    let all = client.search_uris("knowledge.search", &json!({ "query": query, "limit": 100 }));
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    all
}

fn config_query(config: &Value) -> String {
    format!("config={}", STANDARD.encode(config.to_string()).replace('+', "%2B"))
}

/// Returns the length of the longest snippet of a search, in characters.
fn longest_snippet(client: &HttpClient<'_>, arguments: &Value) -> usize {
    let found = client.call_tool("knowledge.search", arguments);
    let lengths = found["results"].as_array().unwrap().iter();
    lengths.map(|hit| hit["snippet"].as_str().unwrap().chars().count()).max().unwrap()
}

fn haystack_text() -> String {
    format!("{} thimble {}", "hay ".repeat(600), "straw ".repeat(600))
}

#[test]
fn repeated_search_shows_every_hit_before_restarting() {
    let server = Library::with_pebbles(5).serve();
    let all = all_uris(&server.client(), "pebble");
    let session = server.open_session();
    let search = json!({ "query": "pebble", "limit": 7 });
    for _ in 0..3 {
        let mut shown = Vec::new();
        for expected in [7, 7, 7, 4] {
            let page = session.search_uris("knowledge.search", &search);
            assert_eq!(page.len(), expected);
            shown.extend(page);
        }
        assert_eq!(shown, all, "in the order of the ranking");
    }
}

#[test]
fn meta_reports_already_shown_and_restarted() {
    let server = Library::with_pebbles(2).serve();
    let session = server.open_session();
    let search = json!({ "query": "pebble", "limit": 6 });
    let pages: Vec<Value> =
        (0..3).map(|_| session.call_tool("knowledge.search", &search)).collect();
    assert!(pages[0].get("_meta").is_none(), "{}", pages[0]);
    let shown = pages[1]["_meta"]["already_shown"].as_array().unwrap();
    let named: Vec<&Value> = shown.iter().map(|it| &it["uri"]).collect();
    let first: Vec<&Value> =
        pages[0]["results"].as_array().unwrap().iter().map(|it| &it["uri"]).collect();
    assert_eq!(named, first);
    assert_eq!(pages[2]["_meta"], json!({ "restarted": true }));
    assert!(pages.iter().all(|page| page["total_estimated"] == 10));
    assert_eq!(pages[2]["results"], pages[0]["results"]);
}

/// Pages through a search by `next_offset` and returns the URIs shown.
fn page_through(client: &HttpClient<'_>, query: &str, limit: usize) -> Vec<String> {
    let (mut shown, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let page = client.call_tool(
            "knowledge.search",
            &json!({ "query": query, "limit": limit, "offset": offset }),
        );
        let hits = page["results"].as_array().unwrap();
        assert_eq!(page["has_more"], page["next_offset"].is_u64());
        assert!(hits.len() == limit || page["has_more"] == false, "a page is filled: {page}");
        shown.extend(hits.iter().map(|hit| hit["uri"].as_str().unwrap().to_owned()));
        offset = page["next_offset"].clone();
    }
    shown
}

#[test]
fn paging_in_session_shows_every_hit_once() {
    let server = Library::with_pebbles(5).serve();
    let all = all_uris(&server.client(), "pebble");
    for limit in [1, 4, 9, 25, 100] {
        assert_eq!(page_through(&server.open_session(), "pebble", limit), all, "by {limit}");
    }
}

#[test]
fn paging_skips_hits_shown_by_other_query() {
    let server = Library::with_pebbles(6).serve();
    let all = all_uris(&server.client(), "pebble");
    for limit in [1, 4, 9] {
        let session = server.open_session();
        let other = json!({ "query": "sand", "limit": 8 });
        let mut shown = session.search_uris("knowledge.search", &other);
        assert_eq!(shown.len(), 8);
        shown.extend(page_through(&session, "pebble", limit));
        assert_eq!(shown.len(), all.len(), "by {limit}: no hit is repeated");
        assert_eq!(BTreeSet::from_iter(&shown), BTreeSet::from_iter(&all), "by {limit}");
    }
}

#[test]
fn interleaved_query_does_not_break_paging() {
    let server = Library::with_pebbles(6).serve();
    let all = all_uris(&server.client(), "pebble");
    let session = server.open_session();
    let first = session.call_tool("knowledge.search", &json!({ "query": "pebble", "limit": 5 }));
    let mut shown: Vec<Value> = first["results"].as_array().unwrap().clone();
    let between = session.call_tool("knowledge.search", &json!({ "query": "sand", "limit": 10 }));
    shown.extend(between["results"].as_array().unwrap().clone());
    let rest = session.call_tool(
        "knowledge.search",
        &json!({ "query": "pebble", "limit": 100, "offset": first["next_offset"] }),
    );
    shown.extend(rest["results"].as_array().unwrap().clone());
    let uris: Vec<&str> = shown.iter().map(|hit| hit["uri"].as_str().unwrap()).collect();
    assert_eq!(uris.len(), all.len());
    assert_eq!(BTreeSet::from_iter(uris), all.iter().map(String::as_str).collect());
    assert_eq!(rest["has_more"], false);
}

#[test]
fn search_without_session_is_stateless() {
    let server = Library::with_pebbles(3).serve();
    let search = json!({ "query": "pebble", "limit": 4 });
    let first = server.client().call_tool("knowledge.search", &search);
    for _ in 0..3 {
        assert_eq!(server.client().call_tool("knowledge.search", &search), first);
    }
}

#[test]
fn sessions_are_independent() {
    let server = Library::with_pebbles(3).serve();
    let search = json!({ "query": "pebble", "limit": 4 });
    let (one, other) = (server.open_session(), server.open_session());
    let first = one.search_uris("knowledge.search", &search);
    assert_eq!(other.search_uris("knowledge.search", &search), first);
    assert_ne!(one.search_uris("knowledge.search", &search), first);
}

#[test]
fn source_search_repeats_results() {
    let server = Library::with_pebbles(5).serve();
    let session = server.open_session();
    for source in SOURCES {
        let (tool, search) = (format!("{source}.search"), json!({ "query": "pebble", "limit": 2 }));
        let first = session.call_tool(&tool, &search);
        assert_eq!(session.call_tool(&tool, &search), first, "{source}");
    }
}

#[test]
fn session_handle_works_over_stateless_requests() {
    let server = Library::with_pebbles(4).serve();
    let client = server.client();
    let all = all_uris(&client, "pebble");
    let search = |session: &Value| {
        let arguments = json!({ "query": "pebble", "limit": 9, "session": session });
        client.call_tool("knowledge.search", &arguments)
    };
    let first = search(&json!("new"));
    let handle = first["_meta"]["session"].clone();
    assert!(handle.as_str().is_some_and(|handle| handle.len() >= 32), "{first}");
    let pages = [first, search(&handle), search(&handle)];
    assert!(pages.iter().all(|page| page["_meta"]["session"] == handle));
    let shown: Vec<&str> = pages
        .iter()
        .flat_map(|page| page["results"].as_array().unwrap())
        .map(|hit| hit["uri"].as_str().unwrap())
        .collect();
    assert_eq!(shown, all);
    assert_ne!(search(&json!("new"))["_meta"]["session"], handle);
}

#[test]
fn unknown_session_handle_is_refused() {
    let server = Library::with_pebbles(1).serve();
    let session = server.open_session();
    for handle in ["never-minted", "", session.session_id()] {
        let arguments = json!({ "query": "pebble", "session": handle });
        let problem = server.client().expect_tool_error("knowledge.search", &arguments);
        assert!(problem.contains("unknown session") && problem.contains(handle), "{problem}");
    }
}

#[test]
fn openai_session_identifies_conversation() {
    let server = Library::with_pebbles(5).serve();
    let search = |conversation: &str| {
        let params = json!({
            "name": "knowledge.search",
            "arguments": { "query": "pebble" },
            "_meta": { "openai/session": conversation },
        });
        let answer = server.client().call_method("tools/call", &params);
        let results = answer["structuredContent"]["results"].as_array().unwrap().clone();
        results.iter().map(|hit| hit["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = all_uris(&server.client(), "pebble");
    let shown = [search("v1/one"), search("v1/one")].concat();
    assert_eq!(shown, all);
    assert_eq!(search("v1/other"), all[..20]);
}

#[test]
fn ended_session_is_forgotten() {
    let server = Library::with_pebbles(3).serve();
    let session = server.open_session();
    let search = json!({ "query": "pebble", "limit": 4 });
    let first = session.search_uris("knowledge.search", &search);
    let end = server.request("DELETE", "/mcp").header("mcp-session-id", session.session_id());
    assert_eq!(end.send().status, 204);
    assert_eq!(server.open_session().search_uris("knowledge.search", &search), first);
}

#[test]
fn session_remembers_limited_number_of_results() {
    let library = Library::with_pebbles(2);
    let server = library.serve_with_settings("[sessions]\nseen_uris = 4");
    let session = server.open_session();
    let search = json!({ "query": "pebble", "limit": 4 });
    let pages: Vec<_> = (0..3).map(|_| session.search_uris("knowledge.search", &search)).collect();
    assert!(pages.iter().all(|page| page.len() == 4), "{pages:?}");
    assert_ne!(pages[0], pages[1]);
    assert_eq!(pages[0], pages[2], "the oldest results are forgotten first");
}

#[test]
fn least_recently_used_session_is_evicted() {
    let server = Library::new().serve_with_settings("[sessions]\nmost = 2");
    let (one, two) = (server.open_session(), server.open_session());
    assert_eq!(one.call_method("ping", &json!({})), json!({}));
    let three = server.open_session();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let statuses = [&one, &two, &three].map(|session| session.send(&ping).status);
    assert_eq!(statuses, [200, 404, 200]);
}

#[test]
fn url_config_applies_to_request() {
    let server = Library::with_item_per_source("Attic", &haystack_text()).serve();
    let client = server.client().with_query(&config_query(&json!({ "snippet_length": 60 })));
    let search = json!({ "query": "thimble" });
    assert!((30..=60).contains(&longest_snippet(&client, &search)));
    assert!(longest_snippet(&server.client(), &search) > 200);
    let explicit = json!({ "query": "thimble", "snippet_length": 500 });
    assert!((250..=500).contains(&longest_snippet(&client, &explicit)), "an argument comes first");
    for source in SOURCES {
        let hit = client.only_hit(&format!("{source}.search"), &search);
        let arguments = json!({ "source": source, "id": hit["id"] });
        let item = client.call_tool("knowledge.get", &arguments);
        assert!(item["content"].as_str().unwrap().chars().count() <= 60, "{source}");
    }
}

#[test]
fn config_values_are_clamped() {
    let server = Library::with_item_per_source("Attic", &haystack_text()).serve();
    for (requested, least, most) in [(99_999, 900, 1_000), (0, 1, 1), (-5, 1, 1)] {
        let client =
            server.client().with_query(&config_query(&json!({ "snippet_length": requested })));
        let length = longest_snippet(&client, &json!({ "query": "thimble" }));
        assert!((least..=most).contains(&length), "{length} for {requested}");
    }
}

#[test]
fn every_config_option_is_applied() {
    let library = Library::with_lanterns();
    library.import_file("notes", "long.txt", "Under the stone lay a thimble. ".repeat(2_000));
    let server = library.serve();
    let with = |config: Value| server.client().with_query(&config_query(&config));
    let plain = server.client();
    let search = json!({ "query": "lantern" });
    assert_eq!(
        with(json!({ "order_by": "recent" })).call_tool("knowledge.search", &search),
        plain.call_tool("knowledge.search", &json!({ "query": "lantern", "order_by": "recent" })),
    );
    assert_eq!(
        with(json!({ "shape": "compact" })).call_tool("knowledge.search", &search),
        plain.call_tool("knowledge.search", &json!({ "query": "lantern", "shape": "compact" })),
    );
    let id = plain.only_hit("notes.search", &json!({ "query": "thimble" }))["id"].clone();
    let get = |client: &HttpClient<'_>, retrieval: Value| {
        client.call_tool("notes.get", &json!({ "note_id": id, "retrieval": retrieval }))
    };
    assert_eq!(
        get(&with(json!({ "max_tokens": 800 })), json!({ "mode": "auto" })),
        get(&plain, json!({ "mode": "auto", "max_tokens": 800 })),
    );
    let siblings = json!({ "mode": "chunk_with_siblings", "loc": { "approx_offset": 30_000 } });
    for (config, retrieval) in [
        (json!({ "sibling_window": 3 }), json!({ "sibling_window": 3 })),
        (json!({ "chars_per_token": 2 }), json!({ "chars_per_token": 2 })),
    ] {
        let mut explicit = siblings.clone();
        explicit.as_object_mut().unwrap().extend(retrieval.as_object().unwrap().clone());
        let granted = get(&with(config), siblings.clone());
        assert_eq!(granted, get(&plain, explicit));
        assert_ne!(granted, get(&plain, siblings.clone()));
    }
}

#[test]
fn handshake_config_applies_to_session() {
    let server = Library::with_item_per_source("Attic", &haystack_text()).serve();
    let settings = json!({ "snippet_length": 70 });
    let base64 = STANDARD.encode(settings.to_string());
    for config in [settings, json!(base64)] {
        let session = server.open_session_with(&json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" }, "config": config,
        }));
        let search = json!({ "query": "thimble", "sources": ["notes"] });
        for _ in 0..2 {
            assert!((35..=70).contains(&longest_snippet(&session, &search)));
        }
        let explicit = json!({ "query": "thimble", "sources": ["notes"], "snippet_length": 200 });
        assert!((100..=200).contains(&longest_snippet(&session, &explicit)));
        let by_address = session.with_query(&config_query(&json!({ "snippet_length": 20 })));
        assert!(
            longest_snippet(&by_address, &search) <= 20,
            "the request comes before the session"
        );
    }
}

#[test]
fn url_config_of_handshake_applies_to_session() {
    let server = Library::with_item_per_source("Attic", &haystack_text()).serve();
    let path = config_query(&json!({ "snippet_length": 70 }));
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    }});
    let opened = server.client().with_query(&path).send(&hello);
    let session = server.client().in_session(opened.header("mcp-session-id").unwrap());
    assert!((35..=70).contains(&longest_snippet(&session, &json!({ "query": "thimble" }))));
}

#[test]
fn config_with_credentials_or_user_is_refused() {
    let server = Library::new().serve();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for key in ["api_key", "token", "password", "authorization", "user", "user_id", "db_paths"] {
        let config = json!({ "snippet_length": 50, key: "eve" });
        let response = server.client().with_query(&config_query(&config)).send(&ping);
        assert_eq!(response.status, 400, "{key}");
        assert!(response.body.contains(key), "{response:?}");
        let (code, message) = server.client().expect_error(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "config": config }),
        );
        assert!(code == -32_602 && message.contains(key), "{code} {message}");
    }
}

#[test]
fn malformed_config_is_refused() {
    let server = Library::new().serve();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let odd = [
        "config=%25%25%25".to_owned(),
        "config=aGVsbG8".to_owned(),
        config_query(&json!([1, 2])),
        config_query(&json!({ "snippet_length": "long" })),
        config_query(&json!({ "order_by": "random" })),
        format!("config={}", "A".repeat(9_000)),
    ];
    for query in odd {
        let response = server.client().with_query(&query).send(&ping);
        assert!(
            response.status == 400 && response.body.contains("config"),
            "{query}: {response:?}"
        );
    }
    server.assert_alive();
}

#[test]
fn previous_query_selects_passage_of_item() {
    let server = Library::with_item_per_source("Attic", &haystack_text()).serve();
    for source in SOURCES {
        let session = server.open_session();
        let search = json!({ "query": "thimble", "sources": [source] });
        let hit = session.only_hit("knowledge.search", &search);
        let arguments = json!({ "source": source, "id": hit["id"] });
        let found = session.call_tool("knowledge.get", &arguments);
        assert!(found["content"].as_str().unwrap().contains("thimble"), "{source}: {found}");
        let blind = server.client().call_tool("knowledge.get", &arguments);
        assert!(!blind["content"].as_str().unwrap().contains("thimble"), "{source}: {blind}");
    }
}

#[test]
fn newest_matching_query_selects_passage() {
    let text = format!(
        "{} thimble {} acorn {}",
        "hay ".repeat(500),
        "hay ".repeat(500),
        "hay ".repeat(500)
    );
    let server = Library::with_notes([("Attic", text)]).serve();
    let session = server.open_session();
    let mut id = Value::Null;
    for query in ["acorn", "thimble"] {
        id = session.only_hit("notes.search", &json!({ "query": query }))["id"].clone();
    }
    session.call_tool("notes.search", &json!({ "query": "zebra" }));
    let read = |retrieval: Value| {
        let arguments = json!({ "source": "notes", "id": id, "retrieval": retrieval });
        session.call_tool("knowledge.get", &arguments)["content"].as_str().unwrap().to_owned()
    };
    assert!(read(json!({})).contains("thimble"));
    let loc = json!({ "approx_offset": 4_000 });
    assert!(read(json!({ "loc": loc })).contains("acorn"), "a loc comes first");
}
