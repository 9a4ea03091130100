//! End-to-end tests of `rag_search` and `verify_document_access`, called the way their agents do: a
//! plain POST without a handshake.

use serde_json::{Value, json};
use vademecum_collections::Document;

use crate::{
    rag,
    support::{
        FakeProvider, HttpClient, Library, McpClient, ProviderReply, Server, collection_fixtures,
    },
};

/// Enables the tools for all callers instead of delegating keys only.
const RAG_SEARCH_ENABLED: &str = "[tools]\nrag_search = \"on\"";

/// Documents for all users, one for premium users only.
fn manuals() -> Library {
    let library = Library::new();
    let manual = |id: &str, title: &str, text: &str| Document {
        file_name: Some(format!("{id}.pdf")),
        file_type: Some("pdf".to_owned()),
        url: Some(format!("https://docs.example.com/{id}.pdf")),
        ..collection_fixtures::chunked_document(id, title, &json!({}), &[text])
    };
    let premium = Document {
        access: vec!["premium_access".to_owned()],
        ..manual("gold", "Gold features", "Gold features of product X. They glitter.")
    };
    collection_fixtures::insert_collection(
        &library,
        "manuals",
        None,
        &[
            manual("basic", "Basic features", "Basic features of product X. They work. Well."),
            manual("setup", "Setting up", "How to set up the machine: plug it in."),
            premium,
        ],
    );
    library
}

/// Client of an agent that uses a delegating key on behalf of users.
struct Agent<'s> {
    server: &'s Server,
    key: &'s str,
}

impl<'s> Agent<'s> {
    fn client_for(&self, user: &str, tags: &str) -> HttpClient<'s> {
        let client =
            self.server.client().with_bearer_token(self.key).with_header("x-user-id", user);
        client.with_header("x-human-uid", "human_1").with_header("x-session-tags", tags)
    }

    fn search(&self, user: &str, tags: &str, phrases: &[&str]) -> Vec<Value> {
        let result = call_tool(
            &self.client_for(user, tags),
            "rag_search",
            &json!({ "search_phrases": phrases }),
        );
        assert_eq!(result["status"], "success");
        result["segments"].as_array().unwrap().clone()
    }

    fn verify(&self, user: &str, tags: &str, uid: &str) -> Value {
        call_tool(
            &self.client_for(user, tags),
            "verify_document_access",
            &json!({ "segment_uid": uid }),
        )
    }
}

/// Sends a raw `tools/call` and returns its result.
fn call_tool(client: &HttpClient<'_>, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "method": "tools/call", "params": params,
        "id": "request-123" });
    let answer = client.send(&message);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["id"], "request-123");
    answer["result"].clone()
}

fn file_names(segments: &[Value]) -> Vec<&str> {
    segments.iter().map(|segment| segment["source_file_name"].as_str().unwrap()).collect()
}

#[test]
fn contract_example_gets_contract_reply() {
    let library = manuals();
    let key = library.create_key_with("gateway", &["--delegating"]);
    library.create_key("user@example.com");
    let server = library.serve_multi_user("");
    let body = r#"{
      "jsonrpc": "2.0", "method": "tools/call",
      "params": { "name": "rag_search", "arguments": { "search_phrases": [
        "product features", "Product X capabilities and specifications",
        "How does product X compare to competitors?" ] } },
      "id": "request-123"
    }"#;
    let request = server.request("POST", "/mcp").header("content-type", "application/json");
    let request = request.header("accept", "*/*").header("authorization", &format!("Bearer {key}"));
    let request = request.header("x-user-id", "user@example.com");
    let request = request.header("x-human-uid", "human_123456789");
    let tags = r#"["department:sales","premium_access"]"#;
    let answer = request.header("x-session-tags", tags).body(body).send();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.header("content-type").unwrap().starts_with("application/json"));
    let answer = answer.json();
    let result = &answer["result"];
    assert_eq!((&answer["id"], &result["status"]), (&json!("request-123"), &json!("success")));
    assert_eq!(result["structuredContent"]["segments"], result["segments"]);
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    let segments = result["segments"].as_array().unwrap();
    assert_eq!(segments.len(), 2, "{segments:?}");
    for segment in segments {
        for field in ["segment_uid", "source_file_name", "source_file_type", "raw_text"] {
            assert!(!segment[field].as_str().unwrap().is_empty(), "{segment}");
        }
        let headline = segment["headline"].as_str().unwrap();
        assert!((1..=10).contains(&headline.split_whitespace().count()), "{headline}");
        assert!(segment["source_url"].as_str().unwrap().starts_with("https://docs."));
    }
    let basic = segments.iter().find(|it| it["source_file_name"] == "basic.pdf").unwrap();
    assert_eq!(basic["headline"], "Basic features");
    assert_eq!(basic["segment_summary"], "Basic features of product X. They work. Well.");
}

#[test]
fn one_to_five_phrases_are_accepted_and_merged() {
    let library = manuals();
    let server = library.serve_with_settings(RAG_SEARCH_ENABLED);
    let client = server.client();
    for arguments in [
        json!({ "search_phrases": [] }),
        json!({ "search_phrases": ["a", "b", "c", "d", "e", "f"] }),
        json!({}),
        json!({ "search_phrases": "a" }),
        json!({ "search_phrases": [" "] }),
    ] {
        let params = json!({ "name": "rag_search", "arguments": arguments });
        assert_eq!(client.expect_error("tools/call", &params).0, -32_602, "{arguments}");
    }
    let search = |phrases: &[&str]| {
        let found = client.call_tool("rag_search", &json!({ "search_phrases": phrases }));
        found["segments"].as_array().unwrap().clone()
    };
    let both = search(&["Basic features", "Setting up", "basic", "features of X", "plug it in"]);
    let found = file_names(&both);
    assert!(found.contains(&"basic.pdf") && found.contains(&"setup.pdf"), "{found:?}");
    let mut once = found.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), found.len(), "a document appears once");
    assert!(search(&["zzzz"]).is_empty());
}

#[test]
fn segment_count_is_limited_by_setting() {
    let library = Library::new();
    let many: Vec<Document> = (0..40)
        .map(|number| {
            collection_fixtures::chunked_document(
                &format!("d:{number}"),
                "Bread",
                &json!({}),
                &["Rye bread."],
            )
        })
        .collect();
    collection_fixtures::insert_collection(&library, "many", None, &many);
    let found = |settings: &str| {
        let server = library.serve_with_settings(&format!("{RAG_SEARCH_ENABLED}\n{settings}"));
        let found =
            server.client().call_tool("rag_search", &json!({ "search_phrases": ["bread"] }));
        found["segments"].as_array().unwrap().len()
    };
    assert_eq!(found(""), 8);
    assert_eq!(found("rag_search_segments = 20"), 20);
}

#[test]
fn access_tags_restrict_search_and_verification() {
    let library = manuals();
    let key = library.create_key_with("gateway", &["--delegating"]);
    library.create_key("ada");
    let server = library.serve_multi_user("");
    let agent = Agent { server: &server, key: &key };
    let premium = r#"["premium_access"]"#;
    let all = agent.search("ada", premium, &["features"]);
    assert_eq!(file_names(&all).len(), 2);
    assert_eq!(file_names(&agent.search("ada", "[]", &["features"])), ["basic.pdf"]);
    assert_eq!(
        file_names(&agent.search("ada", r#"["department:sales"]"#, &["features"])),
        ["basic.pdf"]
    );
    let gold = all.iter().find(|it| it["source_file_name"] == "gold.pdf").unwrap();
    let uid = gold["segment_uid"].as_str().unwrap();
    assert!(!uid.contains("gold"), "the uid must be opaque");
    let allowed = agent.verify("ada", premium, uid);
    assert_eq!((&allowed["has_access"], &allowed["access_level"]), (&json!(true), &json!("view")));
    assert_eq!(allowed["refreshed_url"], "https://docs.example.com/gold.pdf");
    assert_eq!(allowed["error"], Value::Null);
    let denied = agent.verify("ada", "[]", uid);
    assert_eq!((&denied["has_access"], &denied["refreshed_url"]), (&json!(false), &Value::Null));
    assert!(denied["error"].is_string(), "{denied}");
    // Missing and forbidden documents get the same reply, so existence is not disclosed.
    let unknown = agent.verify("ada", "[]", &uid.replace(&uid[4..8], "AAAA"));
    assert_eq!(unknown, denied);
    for malformed in ["", "premium_access", "{}", "[1]"] {
        let answer = agent.client_for("ada", malformed).ping();
        assert_eq!(answer.json()["error"]["code"], -32_602, "{malformed:?}");
    }
    // A removed document is denied immediately.
    let collection = collection_fixtures::open_collection(&library, "manuals");
    collection_fixtures::write_collection(&collection, |writer| {
        collection.remove_document(writer, "gold").unwrap();
    });
    assert_eq!(agent.verify("ada", premium, uid)["has_access"], false);
}

#[test]
fn delegating_key_finds_only_represented_users_items() {
    let library = Library::new();
    let key = library.create_key_with("gateway", &["--delegating"]);
    for user in ["alice", "bob"] {
        library.create_key(user);
        let note = format!("# Diary of {user}\n\nA secret about amethysts, by {user}.");
        library.import_for_user(user, "notes", &format!("{user}.md"), &note);
    }
    let plain = library.create_key("carol");
    let server = library.serve_multi_user("");
    let agent = Agent { server: &server, key: &key };
    let of = |user: &str| agent.search(user, "[]", &["amethysts secret"]);
    let (alices, bobs) = (of("alice"), of("bob"));
    assert_eq!(
        (file_names(&alices), file_names(&bobs)),
        (vec!["Diary of alice"], vec!["Diary of bob"])
    );
    assert!(alices[0]["raw_text"].as_str().unwrap().contains("by alice"));
    let uid = alices[0]["segment_uid"].as_str().unwrap();
    assert_eq!(agent.verify("alice", "[]", uid)["has_access"], true);
    let foreign = agent.verify("bob", "[]", uid);
    assert_eq!(foreign, agent.verify("bob", "[]", "nonsense"));
    assert_eq!(foreign["has_access"], false);
    let impostor = server.client().with_bearer_token(&plain).with_header("x-user-id", "alice");
    assert_eq!(impostor.ping().status, 403);
    assert_eq!(server.client().with_bearer_token("vdm_wrong").ping().status, 401);
}

#[test]
fn segment_uid_survives_restart() {
    let library = manuals();
    let search = json!({ "search_phrases": ["setting up"] });
    let uid = |server: &Server| {
        server.client().call_tool("rag_search", &search)["segments"][0]["segment_uid"].clone()
    };
    let (first, second) = (
        uid(&library.serve_with_settings(RAG_SEARCH_ENABLED)),
        uid(&library.serve_with_settings(RAG_SEARCH_ENABLED)),
    );
    assert_eq!(first, second);
}

#[test]
fn failing_provider_matters_only_without_text_hits() {
    let provider = FakeProvider::new(|_| ProviderReply::Respond(400, "", "{}".to_owned()));
    let settings = format!(
        "[embeddings]\nprovider = \"openai\"\napi_base = \"{}\"\nmodel = \"m\"\n{RAG_SEARCH_ENABLED}",
        provider.url("/v1")
    );
    let server = manuals().serve_with_settings(&settings);
    let client = server.client();
    let search_call =
        |phrase: &str| json!({ "name": "rag_search", "arguments": { "search_phrases": [phrase] } });
    let found = client.call_method("tools/call", &search_call("basic features of product X"));
    assert_eq!(found["status"], "success");
    assert_eq!(file_names(found["segments"].as_array().unwrap())[0], "basic.pdf");
    let (code, message) = client.expect_error("tools/call", &search_call("zebra crossing"));
    assert_eq!(code, -32603, "{message}");
    assert!(message.starts_with("RAG search failed: openai"), "{message}");
    assert!(!message.contains("127.0.0.1"), "{message}");
}

#[test]
fn unrelated_query_finds_nothing_by_vector() {
    let (library, server) = rag::serve_with_vectors();
    let client = server.client();
    let near = |text: &str| client.tool_result("rag.search_vector", &json!({ "query_text": text }));
    let unrelated = near("quarterly dividends of a zinc mine");
    assert_eq!(rag::chunk_ids(&unrelated["structuredContent"]), [""; 0], "{unrelated}");
    let floor = unrelated["_meta"]["similarity_floor"].as_f64().unwrap();
    assert!((0.05..0.9).contains(&floor), "{floor}");
    let related = near("knead the dough");
    assert_eq!(rag::chunk_ids(&related["structuredContent"]).len(), 10, "{related}");
    assert_eq!(related["_meta"]["similarity_floor"], floor);
    let fused = client.call_tool("rag.search_hybrid", &json!({ "query": "zinc mine dividends" }));
    assert_eq!(rag::chunk_ids(&fused), [""; 0], "{fused}");
    let settings = format!("{}[tools]\nrag_search = \"on\"\n", rag::STUB_EMBEDDINGS);
    let server = library.serve_with_settings(&settings);
    let phrases = json!({ "search_phrases": ["dividends of a zinc mine"] });
    let segments = server.client().call_tool("rag_search", &phrases);
    assert_eq!(segments["segments"], json!([]), "{segments}");
}

/// The template holds as soon as the settings are read, also for segments of before.
#[test]
fn source_url_follows_template_of_settings() {
    let library = Library::new();
    let text = "# Oven\n\nHot.\n\n## Über Brot!\n\nAn amethyst for each lantern.\n";
    library.write_file("docs/guide/Read me.md", text);
    let settings = |url: &str| {
        let docs = library.file_path("docs");
        format!(
            "{RAG_SEARCH_ENABLED}\n[[collections]]\nname = \"manual\"\nfolders = ['{}']\n{url}",
            docs.display()
        )
    };
    let template =
        |host: &str| settings(&format!("url = \"https://{host}/{{stem}}.html#{{anchor}}\"\n"));
    let file = library.write_file("settings.toml", template("docs.example"));
    let synced = library.run(&["collection", "sync", "--config", file.to_str().unwrap()]);
    assert_eq!(synced.code, 0, "{synced:?}");
    let path = "guide/Read%20me.html#%C3%BCber-brot";
    let server = library.serve_with_settings(&template("docs.example"));
    let search = json!({ "search_phrases": ["amethyst"] });
    let segment = server.client().call_tool("rag_search", &search)["segments"][0].take();
    assert_eq!(segment["source_url"], format!("https://docs.example/{path}"), "{segment}");
    drop(server);
    let verified = |settings: &str| {
        let server = library.serve_with_settings(settings);
        let arguments = json!({ "segment_uid": segment["segment_uid"] });
        server.client().call_tool("verify_document_access", &arguments)
    };
    let found = verified(&template("new.example"));
    assert_eq!(found["refreshed_url"], format!("https://new.example/{path}"), "{found}");
    assert_eq!(verified(&settings(""))["refreshed_url"], Value::Null, "files name no address");
}
