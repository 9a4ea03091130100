//! What one user has, another never sees.

#[cfg(target_os = "linux")]
use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::program::{Caller, Client, Library, SOURCES, Server, card, conversation, prompts};

/// A library of two users; each has one item in each source, with a word of
/// their own in it.
fn shared() -> Library {
    let library = Library::new();
    for (user, word) in [("ada", "amethyst"), ("eve", "emerald")] {
        let text = format!("Here is {word}, deep in the stone.");
        let title = format!("The {word} of {user}");
        let talk = format!("WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v {user}>{text}\n");
        let chat = conversation(&title, [("human", text.as_str()), ("assistant", word)]);
        library.import_for(user, "notes", "note.md", &format!("---\ntags: [{word}]\n---\n{text}"));
        library.import_for(user, "media", "talk.vtt", &talk);
        library.import_for(user, "chats", "chat.json", &chat.to_string());
        library.import_for(user, "characters", "card.json", &card(&title, &text));
        library.import_for(
            user,
            "prompts",
            "prompts.csv",
            &prompts([(title.as_str(), text.as_str())]),
        );
    }
    library
}

/// The hits of a user in their own library, one for each source.
fn own_hits(client: &Client<'_>, word: &str) -> Vec<Value> {
    SOURCES
        .iter()
        .map(|source| {
            let found = client.call(&format!("{source}.search"), &json!({ "query": word }));
            found["results"][0].clone()
        })
        .collect()
}

/// Everything that can be asked with what `hits` say about themselves.
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
    let [note, talk, chat, character, prompt] = hits else { panic!("{hits:?}") };
    requests.extend([
        call("notes.get", json!({ "note_id": note["id"] })),
        call("media.get", json!({ "media_id": talk["id"] })),
        call("media.transcript", json!({ "media_id": talk["id"], "format": "json" })),
        call("chats.get", json!({ "conversation_id": chat["conversation_id"] })),
        call("chats.get", json!({ "conversation_id": chat["message_id"] })),
        call("characters.get", json!({ "character_id": character["id"] })),
        call("prompts.get", json!({ "prompt_id_or_name": prompt["title"] })),
        call("prompts.get", json!({ "prompt_id_or_name": prompt["id"].to_string() })),
        ("prompts/get", json!({ "name": prompt["title"] })),
        ("prompts/get", summary(&chat["conversation_id"])),
        ("completion/complete", completion("ref/prompt", "research", "keyword", "")),
    ]);
    requests
}

fn summary(conversation: &Value) -> Value {
    json!({ "name": "summarize_conversation", "arguments": { "id": conversation } })
}

fn completion(kind: &str, name: &str, argument: &str, typed: &str) -> Value {
    let reference = json!({ "type": kind, "name": name, "uri": name });
    json!({ "ref": reference, "argument": { "name": argument, "value": typed } })
}

/// Whether the answer has numbers and kinds only, and no words of the user's.
fn counts_only(method: &str, params: &Value) -> bool {
    let counts = ["media://types", "knowledge://stats"].map(|uri| json!(uri));
    method == "resources/list" || counts.contains(&params["uri"])
}

/// What a server answers, whether it can or not, without what was asked.
fn answer(caller: &impl Caller, method: &str, params: &Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = caller.exchange(&request);
    let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
    if refused { String::new() } else { answer["result"].to_string() }
}

#[test]
fn no_tool_shows_one_user_what_another_has() {
    let library = shared();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    for (own, other, own_word, other_word) in
        [(&ada, &eve, "amethyst", "emerald"), (&eve, &ada, "emerald", "amethyst")]
    {
        let hits = own_hits(&own.client(), own_word);
        let (client, session, socket) = (other.client(), other.session(), other.socket());
        for (method, params) in requests(own_word, &hits) {
            for told in [
                answer(&client, method, &params),
                answer(&session, method, &params),
                answer(&socket, method, &params),
            ] {
                assert!(!told.contains(own_word), "{method} {params}: {told}");
            }
            let at_home = answer(&own.client(), method, &params);
            let is_told = at_home.contains(own_word) || counts_only(method, &params);
            assert!(is_told, "{method} {params}: {at_home}");
        }
        let theirs = answer(
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
fn one_server_shows_no_user_what_another_has() {
    let library = shared();
    let (ada, eve) = (library.key("ada"), library.key("eve"));
    let server = library.serve_many("");
    for (own, other, own_word, other_word) in
        [(&ada, &eve, "amethyst", "emerald"), (&eve, &ada, "emerald", "amethyst")]
    {
        let own = server.client().bearing(own);
        let hits = own_hits(&own, own_word);
        let client = server.client().bearing(other);
        let (session, socket) = (client.clone().shake_hands(), server.socket_of(other));
        for (method, params) in requests(own_word, &hits) {
            for told in [
                answer(&client, method, &params),
                answer(&session, method, &params),
                answer(&socket, method, &params),
            ] {
                assert!(!told.contains(own_word), "{method} {params}: {told}");
            }
            let at_home = answer(&own, method, &params);
            let is_told = at_home.contains(own_word) || counts_only(method, &params);
            assert!(is_told, "{method} {params}: {at_home}");
        }
        let search = json!({ "name": "knowledge.search", "arguments": { "query": "stone" } });
        assert!(answer(&client, "tools/call", &search).contains(other_word));
    }
}

#[test]
fn possession_of_a_session_or_a_handle_is_not_authentication() {
    let library = shared();
    let (ada, eve) = (library.key("ada"), library.key("eve"));
    let server = library.serve_many("");
    let session = server.client().bearing(&ada).shake_hands();
    let id = session.session_id();
    let (stranger, nobody) = (server.client().bearing(&eve), server.client());
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
    let minted = session.call("knowledge.search", &begin);
    let handle = json!({ "query": "stone", "session": minted["_meta"]["session"] });
    let problem = stranger.refuses("knowledge.search", &handle);
    assert!(problem.contains("unknown session"), "{problem}");
    session.call("knowledge.search", &handle);
    let meta = |client: &Client<'_>| {
        let result = client.ask(
            "tools/call",
            &json!({
                "name": "search", "arguments": { "query": "stone" },
                "_meta": { "openai/session": "the same" },
            }),
        );
        result["structuredContent"]["results"].as_array().unwrap().len()
    };
    let mine = server.client().bearing(&ada);
    assert_eq!(meta(&mine), meta(&stranger), "what ada was shown is nothing to eve");
}

#[test]
fn no_id_of_one_user_is_completed_for_another() {
    let library = shared();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    let values = |server: &Server, params: &Value| {
        server.client().ask("completion/complete", params)["completion"]["values"].clone()
    };
    for source in SOURCES {
        let template = format!("{source}://{{id}}");
        let all = completion("ref/resource", &template, "id", "");
        let (adas, eves) = (values(&ada, &all), values(&eve, &all));
        assert_eq!((adas.as_array().unwrap().len(), eves.as_array().unwrap().len()), (1, 1));
        // Notes and media are called after their files, which have the same names.
        if !["notes", "media"].contains(&source) {
            let by_title = completion("ref/resource", &template, "id", "amethyst");
            assert_eq!(
                (values(&ada, &by_title), values(&eve, &by_title)),
                (adas.clone(), json!([]))
            );
        }
        let first = adas[0].as_str().unwrap();
        let by_id = completion("ref/resource", &template, "id", first);
        assert_eq!(values(&ada, &by_id), adas, "{source}");
        assert!(first == "1" || values(&eve, &by_id) == json!([]), "{source}");
    }
    let talks = completion("ref/prompt", "summarize_conversation", "id", "emerald");
    assert_eq!(
        (values(&ada, &talks), values(&eve, &talks).as_array().unwrap().len()),
        (json!([]), 1)
    );
}

#[test]
fn the_command_line_keeps_users_apart_as_well() {
    let library = shared();
    let found = library.run(&["search", "--json", "emerald", "--user", "ada"]).json();
    assert_eq!(found["total_estimated"], 0, "{found}");
    let found = library.run(&["search", "--json", "emerald", "--user", "eve"]).json();
    assert!(found["total_estimated"].as_u64().unwrap() >= 5, "{found}");
    let uri = found["results"][0]["uri"].as_str().unwrap();
    let read = library.run(&["get", uri, "--user", "ada"]);
    assert!(!read.stdout.contains("emerald"), "{read:?}");
    let found = library.run(&["search", "--json", "emerald"]).json();
    assert_eq!(found["total_estimated"], 0, "nobody in particular is somebody else: {found}");
}

#[test]
fn a_pipe_belongs_to_one_user() {
    let library = shared();
    let pipe = library.pipe_with(&["--user", "ada"]);
    assert!(pipe.uris("knowledge.search", &json!({ "query": "emerald" })).is_empty());
    assert!(!pipe.uris("knowledge.search", &json!({ "query": "amethyst" })).is_empty());
}

#[test]
fn no_name_leads_into_the_folder_of_another() {
    let library = shared();
    let note = library.write("note.md", "A note.");
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
    let mut users: Vec<_> = std::fs::read_dir(library.data().join("users"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    users.sort();
    assert_eq!(users, ["ada", "eve"]);
}

#[test]
fn the_session_of_one_server_is_nothing_to_another() {
    let library = shared();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    let session = ada.session();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(eve.client().in_session(session.session_id()).send(&ping).status, 404);
    let end = eve.request("DELETE", "/mcp").header("mcp-session-id", session.session_id());
    assert_eq!(end.send().status, 404);
    assert_eq!(session.send(&ping).status, 200);
    let minted =
        ada.client().call("knowledge.search", &json!({ "query": "stone", "session": "new" }));
    let handle = &minted["_meta"]["session"];
    let problem =
        eve.client().refuses("knowledge.search", &json!({ "query": "stone", "session": handle }));
    assert!(problem.contains("unknown session"), "{problem}");
}

#[test]
fn no_argument_names_a_user() {
    let library = shared();
    let server = library.serve_with(&["--user", "ada"]);
    for field in ["user", "user_id", "_context", "db_paths", "principal"] {
        let problem =
            server.client().refuses("knowledge.search", &json!({ "query": "stone", field: "eve" }));
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

/// Users of whom this server has a file open.
#[cfg(target_os = "linux")]
fn open_users(server: &Server, library: &Library) -> BTreeSet<String> {
    let users = library.data().canonicalize().unwrap().join("users");
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap();
    // What was open a moment ago may be closed by now.
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
fn no_more_libraries_are_open_than_may_be_and_each_answers() {
    let library = Library::new();
    let users = ["ada", "bob", "cyd", "dan", "eve"];
    let keys = users.map(|user| {
        library.import_for(user, "notes", "note.md", &format!("The house of {user}."));
        library.key(user)
    });
    let server = library.serve_many("[storage]\nopen_libraries = 2");
    // Twice: who was closed is opened again.
    for _ in 0..2 {
        for (user, key) in users.iter().zip(&keys) {
            let found =
                server.client().bearing(key).call("notes.search", &json!({ "query": "house" }));
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
