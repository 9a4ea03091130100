//! End-to-end tests of isolation between users.

#[cfg(target_os = "linux")]
use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    HttpClient, Library, McpClient, SOURCES, Server, character_card, claude_conversation,
    prompts_csv,
};

/// Creates a library of two users. Each has one item per source that contains a unique word:
/// `amethyst` for Ada, `emerald` for Eve.
fn two_user_library() -> Library {
    let library = Library::new();
    for (user, word) in [("ada", "amethyst"), ("eve", "emerald")] {
        let text = format!("Here is {word}, deep in the stone.");
        let title = format!("The {word} of {user}");
        let transcript = format!("WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v {user}>{text}\n");
        let chat = claude_conversation(&title, [("human", text.as_str()), ("assistant", word)]);
        library.import_for_user(
            user,
            "notes",
            "note.md",
            &format!("---\ntags: [{word}]\n---\n{text}"),
        );
        library.import_for_user(user, "media", "talk.vtt", &transcript);
        library.import_for_user(user, "chats", "chat.json", &chat.to_string());
        library.import_for_user(user, "characters", "card.json", &character_card(&title, &text));
        library.import_for_user(
            user,
            "prompts",
            "prompts.csv",
            &prompts_csv([(title.as_str(), text.as_str())]),
        );
    }
    library
}

/// Returns the first hit of a user in each source of their own library.
fn own_hits(client: &HttpClient<'_>, word: &str) -> Vec<Value> {
    SOURCES
        .iter()
        .map(|source| {
            let found = client.call_tool(&format!("{source}.search"), &json!({ "query": word }));
            found["results"][0].clone()
        })
        .collect()
}

/// Returns requests of every kind that refer to `hits` by id, URI, location or title.
fn requests(word: &str, hits: &[Value]) -> Vec<(&'static str, Value)> {
    let call = |name: &str, arguments: Value| {
        ("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    let mut requests = vec![
        call("knowledge.search", json!({ "query": word })),
        call("knowledge.search", json!({ "query": "stone", "limit": 100 })),
        call(
            "knowledge.search",
            json!({ "query": word, "filters": { "notes": { "keywords": [word] } } }),
        ),
        call("search", json!({ "query": word })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "media://types" })),
        ("resources/read", json!({ "uri": "knowledge://stats" })),
        ("prompts/list", json!({})),
    ];
    for (source, hit) in SOURCES.iter().zip(hits) {
        let (id, uri, loc) = (&hit["id"], &hit["uri"], &hit["loc"]);
        requests.push(call(&format!("{source}.search"), json!({ "query": word })));
        requests.push(call("fetch", json!({ "id": uri })));
        requests.push(("resources/read", json!({ "uri": uri })));
        for mode in ["snippet", "chunk", "chunk_with_siblings", "full"] {
            let retrieval = json!({ "mode": mode, "loc": loc });
            requests.push(call(
                "knowledge.get",
                json!({ "source": source, "id": id, "retrieval": retrieval }),
            ));
            requests.push(call(
                "knowledge.get",
                json!({ "source": source, "id": uri, "retrieval": retrieval }),
            ));
        }
    }
    let [note, recording, chat, character, prompt] = hits else { panic!("{hits:?}") };
    requests.extend([
        call("notes.get", json!({ "note_id": note["id"] })),
        call("media.get", json!({ "media_id": recording["id"] })),
        call("media.transcript", json!({ "media_id": recording["id"], "format": "json" })),
        call("chats.get", json!({ "conversation_id": chat["conversation_id"] })),
        call("chats.get", json!({ "conversation_id": chat["message_id"] })),
        call("characters.get", json!({ "character_id": character["id"] })),
        call("prompts.get", json!({ "prompt_id_or_name": prompt["title"] })),
        call("prompts.get", json!({ "prompt_id_or_name": prompt["id"].to_string() })),
        ("prompts/get", json!({ "name": prompt["title"] })),
        ("prompts/get", summary_prompt_params(&chat["conversation_id"])),
        ("completion/complete", completion_params("ref/prompt", "research", "keyword", "")),
    ]);
    requests
}

fn summary_prompt_params(conversation: &Value) -> Value {
    json!({ "name": "summarize_conversation", "arguments": { "id": conversation } })
}

fn completion_params(kind: &str, name: &str, argument: &str, typed: &str) -> Value {
    let reference = json!({ "type": kind, "name": name, "uri": name });
    json!({ "ref": reference, "argument": { "name": argument, "value": typed } })
}

/// Returns `true` if the reply of this request has only counts and types, and no text of the user.
fn has_only_counts(method: &str, params: &Value) -> bool {
    let counts = ["media://types", "knowledge://stats"].map(|uri| json!(uri));
    method == "resources/list" || counts.contains(&params["uri"])
}

/// Returns the result as text, or an empty string if the request failed. Errors are left out
/// because they quote the request.
fn result_text(caller: &impl McpClient, method: &str, params: &Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = caller.exchange(&request);
    let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
    if refused { String::new() } else { answer["result"].to_string() }
}

#[test]
fn separate_servers_isolate_users() {
    let library = two_user_library();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    for (own, other, own_word, other_word) in
        [(&ada, &eve, "amethyst", "emerald"), (&eve, &ada, "emerald", "amethyst")]
    {
        let hits = own_hits(&own.client(), own_word);
        let (client, session, socket) =
            (other.client(), other.open_session(), other.open_websocket());
        for (method, params) in requests(own_word, &hits) {
            for reply in [
                result_text(&client, method, &params),
                result_text(&session, method, &params),
                result_text(&socket, method, &params),
            ] {
                assert!(!reply.contains(own_word), "{method} {params}: {reply}");
            }
            let at_home = result_text(&own.client(), method, &params);
            let is_disclosed = at_home.contains(own_word) || has_only_counts(method, &params);
            assert!(is_disclosed, "{method} {params}: {at_home}");
        }
        let theirs = result_text(
            &client,
            "tools/call",
            &json!({
                "name": "knowledge.search", "arguments": { "query": "stone" },
            }),
        );
        assert!(theirs.contains(other_word));
    }
}

#[test]
fn shared_server_isolates_users() {
    let library = two_user_library();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    for (own, other, own_word, other_word) in
        [(&ada, &eve, "amethyst", "emerald"), (&eve, &ada, "emerald", "amethyst")]
    {
        let own = server.client().with_bearer_token(own);
        let hits = own_hits(&own, own_word);
        let client = server.client().with_bearer_token(other);
        let (session, socket) =
            (client.clone().initialize_session(), server.open_websocket_with_token(other));
        for (method, params) in requests(own_word, &hits) {
            for reply in [
                result_text(&client, method, &params),
                result_text(&session, method, &params),
                result_text(&socket, method, &params),
            ] {
                assert!(!reply.contains(own_word), "{method} {params}: {reply}");
            }
            let at_home = result_text(&own, method, &params);
            let is_disclosed = at_home.contains(own_word) || has_only_counts(method, &params);
            assert!(is_disclosed, "{method} {params}: {at_home}");
        }
        let search = json!({ "name": "knowledge.search", "arguments": { "query": "stone" } });
        assert!(result_text(&client, "tools/call", &search).contains(other_word));
    }
}

#[test]
fn session_ids_and_handles_do_not_authenticate() {
    let library = two_user_library();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    let session = server.client().with_bearer_token(&ada).initialize_session();
    let id = session.session_id();
    let (stranger, nobody) = (server.client().with_bearer_token(&eve), server.client());
    assert_eq!(stranger.clone().in_session(id).ping().status, 404);
    assert_eq!(nobody.in_session(id).ping().status, 401);
    let path = format!("/mcp/ws?mcp-session-id={id}");
    let upgrade = || server.request("GET", &path).upgrade();
    assert_eq!(upgrade().header("x-api-key", &eve).send().status, 404);
    assert_eq!(upgrade().send().status, 401);
    let end = || server.request("DELETE", "/mcp").header("mcp-session-id", id);
    assert_eq!(end().header("x-api-key", &eve).send().status, 404);
    assert_eq!(end().send().status, 401);
    assert_eq!(session.ping().status, 200);
    let begin = json!({ "query": "stone", "session": "new" });
    let minted = session.call_tool("knowledge.search", &begin);
    let handle = json!({ "query": "stone", "session": minted["_meta"]["session"] });
    let problem = stranger.expect_tool_error("knowledge.search", &handle);
    assert!(problem.contains("unknown session"), "{problem}");
    session.call_tool("knowledge.search", &handle);
    let meta = |client: &HttpClient<'_>| {
        let result = client.call_method(
            "tools/call",
            &json!({
                "name": "search", "arguments": { "query": "stone" },
                "_meta": { "openai/session": "the same" },
            }),
        );
        result["structuredContent"]["results"].as_array().unwrap().len()
    };
    let mine = server.client().with_bearer_token(&ada);
    assert_eq!(meta(&mine), meta(&stranger), "results shown to ada must not affect eve");
}

#[test]
fn completion_offers_only_own_ids() {
    let library = two_user_library();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    let values = |server: &Server, params: &Value| {
        server.client().call_method("completion/complete", params)["completion"]["values"].clone()
    };
    for source in SOURCES {
        let template = format!("{source}://{{id}}");
        let all = completion_params("ref/resource", &template, "id", "");
        let (adas, eves) = (values(&ada, &all), values(&eve, &all));
        assert_eq!((adas.as_array().unwrap().len(), eves.as_array().unwrap().len()), (1, 1));
        // Notes and media are named after their files, which have the same names for both users.
        if !["notes", "media"].contains(&source) {
            let by_title = completion_params("ref/resource", &template, "id", "amethyst");
            assert_eq!(
                (values(&ada, &by_title), values(&eve, &by_title)),
                (adas.clone(), json!([]))
            );
        }
        let first = adas[0].as_str().unwrap();
        let by_id = completion_params("ref/resource", &template, "id", first);
        assert_eq!(values(&ada, &by_id), adas, "{source}");
        assert!(first == "1" || values(&eve, &by_id) == json!([]), "{source}");
    }
    let talks = completion_params("ref/prompt", "summarize_conversation", "id", "emerald");
    assert_eq!(
        (values(&ada, &talks), values(&eve, &talks).as_array().unwrap().len()),
        (json!([]), 1)
    );
}

#[test]
fn command_line_isolates_users() {
    let library = two_user_library();
    let found = library.run(&["search", "--json", "emerald", "--user", "ada"]).parse_json();
    assert_eq!(found["total_estimated"], 0, "{found}");
    let found = library.run(&["search", "--json", "emerald", "--user", "eve"]).parse_json();
    assert!(found["total_estimated"].as_u64().unwrap() >= 5, "{found}");
    let uri = found["results"][0]["uri"].as_str().unwrap();
    let read = library.run(&["get", uri, "--user", "ada"]);
    assert!(!read.stdout.contains("emerald"), "{read:?}");
    let found = library.run(&["search", "--json", "emerald"]).parse_json();
    assert_eq!(found["total_estimated"], 0, "the default user is a separate user: {found}");
}

#[test]
fn stdio_server_serves_single_user() {
    let library = two_user_library();
    let pipe = library.open_stdio_with(&["--user", "ada"]);
    assert!(pipe.search_uris("knowledge.search", &json!({ "query": "emerald" })).is_empty());
    assert!(!pipe.search_uris("knowledge.search", &json!({ "query": "amethyst" })).is_empty());
}

#[test]
fn user_name_cannot_escape_own_folder() {
    let library = two_user_library();
    let note = library.write_file("note.md", "A note.");
    for user in ["../eve", "..", ".", "ada/../eve", "/etc", "ada\\eve", "-eve", ".eve", "eve ", ""]
    {
        let user = format!("--user={user}");
        for command in [
            vec!["search", "emerald"],
            vec!["import", "notes", note.to_str().unwrap()],
            vec!["serve", "--listen", "127.0.0.1:0"],
            vec!["mcp"],
            vec!["check"],
        ] {
            let done = library.run(&[command, vec![user.as_str()]].concat());
            assert!(done.code == 1 && done.stdout.is_empty(), "{user}: {done:?}");
            assert!(done.stderr.contains("user"), "{user}: {done:?}");
        }
    }
    let mut users: Vec<_> = std::fs::read_dir(library.data_folder().join("users"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    users.sort();
    assert_eq!(users, ["ada", "eve"]);
}

#[test]
fn session_is_unknown_to_other_server() {
    let library = two_user_library();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    let session = ada.open_session();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(eve.client().in_session(session.session_id()).send(&ping).status, 404);
    let end = eve.request("DELETE", "/mcp").header("mcp-session-id", session.session_id());
    assert_eq!(end.send().status, 404);
    assert_eq!(session.send(&ping).status, 200);
    let minted =
        ada.client().call_tool("knowledge.search", &json!({ "query": "stone", "session": "new" }));
    let handle = &minted["_meta"]["session"];
    let problem = eve
        .client()
        .expect_tool_error("knowledge.search", &json!({ "query": "stone", "session": handle }));
    assert!(problem.contains("unknown session"), "{problem}");
}

#[test]
fn arguments_and_headers_cannot_select_user() {
    let library = two_user_library();
    let server = library.serve_with(&["--user", "ada"]);
    for field in ["user", "user_id", "_context", "db_paths", "principal"] {
        let problem = server
            .client()
            .expect_tool_error("knowledge.search", &json!({ "query": "stone", field: "eve" }));
        assert!(problem.contains(field), "{problem}");
    }
    for header in ["x-user", "authorization", "x-api-key"] {
        let search = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "knowledge.search", "arguments": { "query": "stone" },
        }});
        let response = server.request("POST", "/mcp").header(header, "eve").json(&search).send();
        assert!(
            response.body.contains("amethyst") && !response.body.contains("emerald"),
            "{header}"
        );
    }
}

/// Returns the users whose database files the server process has open.
#[cfg(target_os = "linux")]
fn open_users(server: &Server, library: &Library) -> BTreeSet<String> {
    let users = library.data_folder().canonicalize().unwrap().join("users");
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap();
    // A file may be closed between listing and reading its link.
    files
        .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok())
        .filter_map(|file| {
            let user = file.strip_prefix(&users).ok()?.components().next()?;
            Some(user.as_os_str().to_str()?.to_owned())
        })
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn open_libraries_are_limited_and_reopened() {
    let library = Library::new();
    let users = ["ada", "bob", "cyd", "dan", "eve"];
    let keys = users.map(|user| {
        library.import_for_user(user, "notes", "note.md", &format!("The house of {user}."));
        library.create_key(user)
    });
    let server = library.serve_multi_user("[storage]\nopen_libraries = 2");
    // The second round reopens the libraries that were closed.
    for _ in 0..2 {
        for (user, key) in users.iter().zip(&keys) {
            let found = server
                .client()
                .with_bearer_token(key)
                .call_tool("notes.search", &json!({ "query": "house" }));
            assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
            assert!(found["results"][0]["snippet"].as_str().unwrap().contains(user), "{found}");
        }
    }
    let latest = BTreeSet::from(["dan".to_owned(), "eve".to_owned()]);
    let begun = Instant::now();
    while open_users(&server, &library) != latest {
        let open = open_users(&server, &library);
        assert!(begun.elapsed() < Duration::from_mins(1), "{open:?} are open");
        thread::yield_now();
    }
}
