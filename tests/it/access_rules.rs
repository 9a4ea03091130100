//! End-to-end tests of key scopes and deny rules: what they hide is as absent as another user's.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, Server, character_card, claude_conversation};

/// The word that only hidden items contain, and a word that is one edit away from it.
const SECRET: &str = "amethyst";
const NEARLY_SECRET: &str = "amethist";

/// Writes the items of a library that everybody may see.
fn import_public(library: &Library) {
    for (name, text) in
        [("Rye", "bread of rye"), ("Oven", "bread and oven and stone"), ("Salt", "salt")]
    {
        let note = format!("---\ntags: [work]\ndate: 2026-01-01\n---\n{text}");
        library.import_file("notes", &format!("public/{name}.md"), note);
        let document =
            format!("---\ntags: [work]\ndate: 2026-01-01\n---\n# {name}\n{text} deep down");
        library.import_file("media", &format!("public/{name} book.md"), document);
    }
    let chat = claude_conversation("Bread talk", [("human", "bread?"), ("assistant", "of rye")]);
    library.import_file("chats", "public/chat.json", chat.to_string());
    let card = character_card("Baker", "A baker of bread.");
    library.import_file("characters", "public/card.json", card);
    let prompts = "act,prompt,tags\n\"Baking\",\"Bake bread of ${grain}.\",\"work\"\n";
    library.import_file("prompts", "public/prompts.csv", prompts);
}

/// Writes items that contain the secret word, with the tag `private` where the source has tags.
/// They are imported last, so that all others have the same numbers without them.
fn import_private(library: &Library) {
    for number in 0..12 {
        let text = format!("bread {SECRET} number {number} oven oven salt");
        let note = format!("---\ntags: [Private, work]\ndate: 2026-01-02\n---\n{text}");
        library.import_file("notes", &format!("diary/{SECRET} {number}.md"), note);
        let document = format!("---\ntags: [private]\n---\n# {SECRET} {number}\n{text}");
        library.import_file("media", &format!("diary/{SECRET} {number} book.md"), document);
    }
    let prompts =
        format!("act,prompt,tags\n\"The {SECRET}\",\"Polish bread {SECRET}.\",\"private\"\n");
    library.import_file("prompts", "diary/prompts.csv", prompts);
}

/// Writes items of the secret word in the sources that have no tags on import.
fn import_untagged(library: &Library) {
    let text = format!("bread {SECRET}");
    let chat = claude_conversation(SECRET, [("human", text.as_str()), ("assistant", SECRET)]);
    library.import_file("chats", "diary/chat.json", chat.to_string());
    library.import_file("characters", "diary/card.json", character_card(SECRET, &text));
}

/// A request for the item with a URI.
type ItemRequest = fn(&str) -> (&'static str, Value);

/// Returns requests that show search results, counts, lists and suggestions.
fn browsing_requests() -> Vec<(&'static str, Value)> {
    let call = |name: &str, arguments: Value| {
        ("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    let complete = |uri: &str, typed: &str| {
        let argument = json!({ "name": "id", "value": typed });
        let reference = json!({ "type": "ref/resource", "uri": uri });
        ("completion/complete", json!({ "ref": reference, "argument": argument }))
    };
    let keyword = |typed: &str| {
        let argument = json!({ "name": "keyword", "value": typed });
        let reference = json!({ "type": "ref/prompt", "name": "research" });
        ("completion/complete", json!({ "ref": reference, "argument": argument }))
    };
    let mut requests = vec![
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "media://types" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": format!("The {SECRET}x") })),
        keyword(""),
        keyword("p"),
    ];
    for query in ["bread", "oven salt", SECRET, NEARLY_SECRET, "stone oven rye", "\"of rye\""] {
        for tool in ["knowledge.search", "notes.search", "media.search", "prompts.search", "search"]
        {
            requests.push(call(tool, json!({ "query": query })));
        }
        for (limit, offset) in [(1, 0), (2, 1), (5, 0)] {
            let page = json!({ "query": query, "limit": limit, "offset": offset });
            requests.push(call("knowledge.search", page));
        }
        let newest = json!({ "query": query, "order_by": "recent", "highlight": true });
        requests.push(call("knowledge.search", newest));
    }
    let facets = json!(["tags", "folders", "types", "months", "sources"]);
    for list in [
        json!({ "limit": 100, "order_by": "title", "facets": facets }),
        json!({ "limit": 2, "offset": 1, "sources": ["notes", "media"] }),
        json!({ "tags": ["private", "work"], "facets": facets }),
        json!({ "folder": "diary" }),
    ] {
        requests.push(call("knowledge.list", list));
    }
    for title in ["Rye", SECRET, NEARLY_SECRET] {
        requests.push(call("notes.get", json!({ "title": title })));
        requests.push(call("knowledge.get", json!({ "path": format!("diary/{title} 1.md") })));
    }
    for source in ["notes", "media", "prompts"] {
        let template = format!("{source}://{{id}}");
        // The identifiers of notes are random.
        let prefix = if source == "notes" { "o" } else { "1" };
        requests.extend(["", prefix, SECRET, "rye"].map(|typed| complete(&template, typed)));
    }
    requests
}

/// Removes what differs between two libraries with the same items: identifiers and times.
fn blank_identity(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let differs = [
                "id",
                "uri",
                "url",
                "created_at",
                "last_modified",
                "conversation_id",
                "message_id",
                "loc",
            ];
            fields.retain(|name, _| !differs.contains(&name.as_str()));
            fields.values_mut().for_each(blank_identity);
        }
        Value::Array(values) => values.iter_mut().for_each(blank_identity),
        _ => {}
    }
}

/// Returns the reply to a client, without identifiers and times.
fn answer(client: &impl McpClient, method: &str, params: &Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut answer = client.exchange(&request);
    let result = &mut answer["result"];
    if result.get("structuredContent").is_some() {
        result.as_object_mut().unwrap().remove("content");
    }
    if let Some(values) = result.pointer_mut("/completion/values") {
        // The identifiers of notes are random.
        *values = json!(values.as_array().unwrap().len());
    }
    if answer["result"]["isError"] == true {
        let text = &mut answer["result"]["content"][0]["text"];
        let words = text.as_str().unwrap().split(' ').filter(|word| !word.contains("://"));
        *text = json!(words.collect::<Vec<_>>().join(" "));
    }
    blank_identity(&mut answer);
    answer
}

fn tool_names(client: &impl McpClient) -> Vec<String> {
    let listed = client.call_method("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn search(client: &impl McpClient, query: &str) -> Vec<String> {
    client.search_uris("knowledge.search", &json!({ "query": query, "limit": 50 }))
}

/// Asserts that both servers reply the same to a client.
fn assert_same_answers(hiding: &impl McpClient, without: &impl McpClient) {
    for (method, params) in browsing_requests() {
        let (found, expected) = (answer(hiding, method, &params), answer(without, method, &params));
        assert_eq!(found, expected, "{method} {params}");
        let shown = found["result"].to_string().replace(NEARLY_SECRET, "");
        let quoted = params.to_string().contains(SECRET);
        assert!(quoted || !shown.contains(SECRET), "{method} {params}: {shown}");
    }
}

#[test]
fn denied_tag_leaves_no_trace_in_answers() {
    let (with, without) = (Library::new(), Library::new());
    import_public(&with);
    import_public(&without);
    import_private(&with);
    let hiding = with.serve_with_settings("[[deny]]\ntags = [\"private\"]");
    let plain = without.serve();
    assert_same_answers(&hiding.client(), &plain.client());
    assert!(search(&hiding.client(), SECRET).is_empty());
    let owner = with.run(&["search", SECRET]);
    assert!(owner.stdout.contains(SECRET), "the owner's own commands see all: {owner:?}");
}

#[test]
fn denied_folder_leaves_no_trace_in_answers() {
    let (with, without) = (Library::new(), Library::new());
    import_public(&with);
    import_public(&without);
    import_private(&with);
    let folder = with.file_path("diary");
    let rule = format!("[[deny]]\nfolders = ['{}/']", folder.display());
    // Prompts come from a file with many items, which have origins of their own.
    let settings = format!("{rule}\n[[deny]]\nsources = [\"prompts\"]\ntags = [\"private\"]");
    let hiding = with.serve_with_settings(&settings);
    assert_same_answers(&hiding.client(), &without.serve().client());
}

#[test]
fn denied_item_reads_like_an_unknown_one() {
    let library = Library::new();
    import_public(&library);
    import_private(&library);
    import_untagged(&library);
    let rules = "[[deny]]\ntags = [\"private\"]\n[[deny]]\nsources = [\"chats\", \"characters\"]";
    let (open, closed) =
        (library.serve(), library.serve_with_settings(&format!("{rules}\n[tools]\nwrite = true")));
    let (owner, caller) = (open.client(), closed.client());
    let hidden = search(&owner, SECRET);
    assert!(hidden.len() >= 27, "{hidden:?}");
    for uri in hidden {
        let (source, id) = uri.split_once("://").unwrap();
        let is_number = id.parse::<i64>().is_ok();
        let unknown_id = if is_number { "999999" } else { "no-such-item" };
        let (id, part) =
            id.split_once('#').map_or((id, String::new()), |(id, part)| (id, format!("#{part}")));
        let unknown = format!("{source}://{unknown_id}{part}");
        let masked_answer = |uri: &str, id: &str, method: &str, params: Value| {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let answer = caller.exchange(&request).to_string();
            assert!(
                answer.contains("\"error\"") || answer.contains("\"isError\":true"),
                "{answer}"
            );
            answer.replace(uri, "URI").replace(&format!("`{id}`"), "ID")
        };
        let requests: [ItemRequest; 7] = [
            |uri| ("resources/read", json!({ "uri": uri })),
            |uri| ("tools/call", json!({ "name": "fetch", "arguments": { "id": uri } })),
            |uri| ("tools/call", json!({ "name": "knowledge.get", "arguments": { "id": uri } })),
            |uri| ("tools/call", json!({ "name": "knowledge.links", "arguments": { "uri": uri } })),
            |uri| {
                ("tools/call", json!({ "name": "knowledge.related", "arguments": { "uri": uri } }))
            },
            |uri| {
                (
                    "tools/call",
                    json!({ "name": "knowledge.tag", "arguments": { "uri": uri, "add": ["x"] } }),
                )
            },
            |uri| {
                (
                    "tools/call",
                    json!({ "name": "verify_document_access", "arguments": { "segment_uid": uri } }),
                )
            },
        ];
        for request in requests {
            let ((method, denied), (_, missing)) = (request(&uri), request(&unknown));
            if denied["name"] == "knowledge.tag" && ["chats", "characters"].contains(&source) {
                continue;
            }
            let (denied, missing) = (
                masked_answer(&uri, id, method, denied),
                masked_answer(&unknown, unknown_id, method, missing),
            );
            assert_eq!(denied, missing, "{uri}");
            assert!(!denied.contains(SECRET), "{denied}");
        }
    }
    let listed = tool_names(&caller);
    assert!(!listed.iter().any(|name| name.starts_with("chats.")), "{listed:?}");
    let (_, problem) = caller.expect_error("tools/call", &json!({ "name": "chats.search" }));
    assert!(problem.contains("unknown tool") && !problem.contains("chats.get"), "{problem}");
}

#[test]
fn denied_note_cannot_be_changed_or_detected_by_writing() {
    let library = Library::new();
    import_public(&library);
    import_private(&library);
    let rules = "[[deny]]\ntags = [\"private\"]\n[tools]\nwrite = true";
    let (open, closed) = (library.serve(), library.serve_with_settings(rules));
    let (owner, caller) = (open.client(), closed.client());
    let note = &owner.call_tool("notes.search", &json!({ "query": SECRET }))["results"][0];
    for (tool, arguments) in [
        ("notes.append", json!({ "note_id": note["id"], "content": "x" })),
        ("notes.delete", json!({ "note_id": note["id"] })),
        ("knowledge.tag", json!({ "uri": note["uri"], "remove": ["private"] })),
    ] {
        let problem = caller.expect_tool_error(tool, &arguments);
        assert!(problem.contains("not found"), "{tool}: {problem}");
    }
    assert!(search(&caller, SECRET).is_empty());
    let tagged = json!({ "title": "New", "content": "quartz", "tags": ["private"] });
    let problem = caller.expect_tool_error("notes.create", &tagged);
    assert!(problem.contains("tags"), "{problem}");
    let added = caller.call_tool("notes.create", &json!({ "title": "New", "content": "quartz" }));
    assert_eq!(search(&caller, "quartz"), [added["uri"].as_str().unwrap()]);
    // A document that is identical to a hidden one is added, not found.
    let text = json!({ "title": "Twin", "content": "feldspar", "tags": ["private"] });
    let settings = library.write_file("writing.toml", "[tools]\nwrite = true");
    let pipe = library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    let hidden = pipe.call_tool("media.add", &text);
    let twin = json!({ "title": "Twin", "content": "feldspar" });
    let visible = caller.call_tool("media.add", &twin);
    assert_ne!(hidden["uri"], visible["uri"]);
    assert_eq!(caller.call_tool("media.add", &twin)["uri"], visible["uri"]);
}

#[test]
fn subscription_to_denied_note_stays_silent() {
    let library = Library::new();
    import_public(&library);
    import_private(&library);
    let rules = "[[deny]]\ntags = [\"private\"]";
    let (open, closed) =
        (library.serve_with_settings("tools.write = true"), library.serve_with_settings(rules));
    let owner = open.client();
    let note = owner.call_tool("notes.search", &json!({ "query": SECRET }))["results"][0].clone();
    let public = owner.call_tool("notes.search", &json!({ "query": "rye" }))["results"][0].clone();
    let session = closed.open_session();
    for item in [&note, &public] {
        session.call_method("resources/subscribe", &json!({ "uri": item["uri"] }));
    }
    let mut stream = session.open_notification_stream();
    for item in [&note, &public] {
        let change = json!({ "note_id": item["id"], "content": "changed" });
        owner.call_tool("notes.append", &change);
    }
    let news = stream.expect_message();
    assert_eq!(news["params"]["uri"], public["uri"], "{news}");
}

#[test]
fn key_scope_of_tools_hides_other_tools() {
    let library = Library::new();
    import_public(&library);
    let key = library.create_key_with("local", &["--tools", "notes.search,knowledge_search"]);
    let server = library.serve_multi_user("");
    let client = server.client().with_bearer_token(&key);
    assert_eq!(tool_names(&client), ["knowledge.search", "notes.search"]);
    assert_eq!(client.search_uris("notes.search", &json!({ "query": "rye" })).len(), 1);
    let get = json!({ "name": "notes.get", "arguments": { "note_id": "x" } });
    let known = client.expect_error("tools/call", &get);
    let unknown =
        client.expect_error("tools/call", &json!({ "name": "notes.gat", "arguments": {} }));
    assert_eq!(known, (unknown.0, unknown.1.replace("notes.gat", "notes.get")));
    assert_eq!(client.call_method("resources/list", &json!({}))["resources"], json!([]));
    assert_eq!(client.call_method("prompts/list", &json!({}))["prompts"], json!([]));
    for (method, params) in [
        ("resources/read", json!({ "uri": "knowledge://stats" })),
        ("resources/subscribe", json!({ "uri": "knowledge://stats" })),
        ("prompts/get", json!({ "name": "Baking", "arguments": { "grain": "rye" } })),
        ("completion/complete", json!({})),
    ] {
        assert_eq!(client.expect_error(method, &params).0, -32_601, "{method}");
    }
    let listed = library.run(&["key", "list"]).stdout;
    assert!(listed.contains("tools: notes.search, knowledge_search"), "{listed}");
}

#[test]
fn key_scope_of_sources_and_tags_hides_others() {
    let library = Library::new();
    import_public(&library);
    import_private(&library);
    let notes = library.create_key_with("local", &["--sources", "notes"]);
    let private =
        library.create_key_with("local", &["--tags", "priv*", "--sources", "notes,media"]);
    let none = library.create_key_with("local", &["--tags", "nothing"]);
    let server = library.serve_multi_user("");
    let client = |key: &str| server.client().with_bearer_token(key);
    let found = search(&client(&notes), "bread");
    assert!(found.len() == 14 && found.iter().all(|uri| uri.starts_with("notes://")), "{found:?}");
    assert!(!tool_names(&client(&notes)).contains(&"media.search".to_owned()));
    let found = search(&client(&private), "bread rye");
    assert_eq!(found.len(), 24, "{found:?}");
    assert!(search(&client(&none), "bread").is_empty());
    let stats = client(&none).call_method("resources/read", &json!({ "uri": "knowledge://stats" }));
    let stats: Value =
        serde_json::from_str(stats["contents"][0]["text"].as_str().unwrap()).unwrap();
    let items: Vec<&Value> =
        stats["sources"].as_array().unwrap().iter().map(|it| &it["items"]).collect();
    assert_eq!(items, [0, 0, 0, 0, 0]);
    let refused = library.run(&["key", "create", "--user", "local", "--sources", "notes,recipes"]);
    assert!(refused.code == 1 && refused.stderr.contains("`recipes`"), "{refused:?}");
}

#[test]
fn keys_of_one_user_share_no_session() {
    let library = Library::new();
    import_public(&library);
    let (all, some) =
        (library.create_key("local"), library.create_key_with("local", &["--sources", "notes"]));
    let server = library.serve_multi_user("");
    let begun = server
        .client()
        .with_bearer_token(&all)
        .call_tool("knowledge.search", &json!({ "query": "bread", "session": "new" }));
    let other = server.client().with_bearer_token(&some);
    let reused = json!({ "query": "bread", "session": begun["_meta"]["session"] });
    let problem = other.expect_tool_error("knowledge.search", &reused);
    assert!(problem.contains("unknown session"), "{problem}");
    let session = server.client().with_bearer_token(&all).initialize_session();
    assert_eq!(other.in_session(session.session_id()).ping().status, 404);
}

#[test]
fn deny_rule_applies_to_named_key_user_and_client() {
    let library = Library::new();
    import_public(&library);
    import_private(&library);
    let key = library.create_key_with("local", &["--name", "phone"]);
    let other = library.create_key_with("local", &["--name", "laptop"]);
    let rule = |who: &str| format!("[[deny]]\n{who}\ntags = [\"private\"]");
    let finds = |server: &Server, key: &str| {
        !search(&server.client().with_bearer_token(key), SECRET).is_empty()
    };
    let server = library.serve_multi_user(&rule("key = \"pho*\""));
    assert!(!finds(&server, &key) && finds(&server, &other));
    let server = library.serve_multi_user(&rule("user = \"loc*\""));
    assert!(!finds(&server, &key) && !finds(&server, &other));
    let server = library.serve_with_settings(&rule("client = \"cursor*\""));
    let by_name = |name: &str| search(&server.open_session_named(name), SECRET).len();
    assert_eq!(by_name("Cursor-vscode"), 0);
    assert_eq!(by_name("claude-code"), 25);
}

#[test]
fn denied_items_take_no_place_in_vector_search() {
    let library = Library::new();
    import_public(&library);
    import_private(&library);
    let stub = "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n";
    let rule = "[[deny]]\ntags = [\"private\"]\n";
    let server = library.serve_with_settings(&format!("{stub}{rule}"));
    let client = server.client();
    for mode in ["vector", "hybrid"] {
        let query = json!({ "query": format!("bread and oven and stone {SECRET}"), "mode": mode, "limit": 3 });
        let mut found = client.call_tool("knowledge.search", &query);
        let hits = found["results"].as_array_mut().unwrap();
        assert_eq!(hits.len(), 3, "{mode}: a full page: {hits:?}");
        // These are words of the query.
        for hit in hits {
            hit["missing"].take();
        }
        assert!(!found["results"].to_string().contains(SECRET), "{mode}: {found}");
    }
    let uri = &client.search_uris("notes.search", &json!({ "query": "rye" }))[0];
    let near = client.call_tool("knowledge.related", &json!({ "uri": uri, "limit": 30 }));
    assert!(!near["results"].as_array().unwrap().is_empty());
    assert!(!near.to_string().contains(SECRET), "{near}");
    let key = library.create_key_with("gateway", &["--delegating"]);
    let server = library.serve_multi_user(&format!("\n{stub}"));
    let guest = server.client().with_bearer_token(&key).with_header("x-user-id", "guest");
    let query = json!({ "query": "bread", "mode": "vector" });
    assert_eq!(guest.call_tool("knowledge.search", &query)["results"], json!([]));
    assert!(!library.data_folder().join("users/guest").exists());
}
