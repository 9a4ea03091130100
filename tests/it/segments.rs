//! `rag_search` and `verify_document_access`, called as their agents do: by a
//! plain POST, without a handshake.

use serde_json::{Value, json};
use vademecum_collections::Document;

use crate::program::{Caller, Client, Library, Provider, Reply, Server, shelf};

/// The tools for everybody, not only for delegating keys.
const ON: &str = "[tools]\nrag_search = \"on\"";

/// Documents for everybody, for premium users, and one that Ada has for herself.
fn manuals() -> Library {
    let library = Library::new();
    let manual = |id: &str, title: &str, text: &str| Document {
        file_name: Some(format!("{id}.pdf")),
        file_type: Some("pdf".to_owned()),
        url: Some(format!("https://docs.example.com/{id}.pdf")),
        ..shelf::document(id, title, &json!({}), &[text])
    };
    let premium = Document {
        access: vec!["premium_access".to_owned()],
        ..manual("gold", "Gold features", "Gold features of product X. They glitter.")
    };
    shelf::put(
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

/// What a delegating key is answered that speaks for somebody with some tags.
struct Agent<'s> {
    server: &'s Server,
    key: &'s str,
}

impl<'s> Agent<'s> {
    fn of(&self, user: &str, tags: &str) -> Client<'s> {
        let client = self.server.client().bearing(self.key).with_header("x-user-id", user);
        client.with_header("x-human-uid", "human_1").with_header("x-session-tags", tags)
    }

    fn search(&self, user: &str, tags: &str, phrases: &[&str]) -> Vec<Value> {
        let result =
            call(&self.of(user, tags), "rag_search", &json!({ "search_phrases": phrases }));
        assert_eq!(result["status"], "success");
        result["segments"].as_array().unwrap().clone()
    }

    fn verify(&self, user: &str, tags: &str, uid: &str) -> Value {
        call(&self.of(user, tags), "verify_document_access", &json!({ "segment_uid": uid }))
    }
}

/// The result of a call, as a program reads it that knows no tools.
fn call(client: &Client<'_>, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "method": "tools/call", "params": params,
        "id": "request-123" });
    let answer = client.send(&message);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["id"], "request-123");
    answer["result"].clone()
}

fn names(segments: &[Value]) -> Vec<&str> {
    segments.iter().map(|segment| segment["source_file_name"].as_str().unwrap()).collect()
}

#[test]
fn the_call_of_the_contract_is_answered_as_written() {
    let library = manuals();
    let key = library.key_with("gateway", &["--delegating"]);
    library.key("user@example.com");
    let server = library.serve_many("");
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
fn one_to_five_phrases_are_taken_and_merged() {
    let library = manuals();
    let server = library.serve_set(ON);
    let client = server.client();
    for arguments in [
        json!({ "search_phrases": [] }),
        json!({ "search_phrases": ["a", "b", "c", "d", "e", "f"] }),
        json!({}),
        json!({ "search_phrases": "a" }),
        json!({ "search_phrases": [" "] }),
    ] {
        let params = json!({ "name": "rag_search", "arguments": arguments });
        assert_eq!(client.fails("tools/call", &params).0, -32_602, "{arguments}");
    }
    let search = |phrases: &[&str]| {
        let found = client.call("rag_search", &json!({ "search_phrases": phrases }));
        found["segments"].as_array().unwrap().clone()
    };
    let both = search(&["Basic features", "Setting up", "basic", "features of X", "plug it in"]);
    let found = names(&both);
    assert!(found.contains(&"basic.pdf") && found.contains(&"setup.pdf"), "{found:?}");
    let mut once = found.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), found.len(), "a document appears once");
    assert!(search(&["zzzz"]).is_empty());
}

#[test]
fn at_most_as_many_segments_as_are_set_are_answered() {
    let library = Library::new();
    let many: Vec<Document> = (0..40)
        .map(|number| shelf::document(&format!("d:{number}"), "Bread", &json!({}), &["Rye bread."]))
        .collect();
    shelf::put(&library, "many", None, &many);
    let found = |settings: &str| {
        let server = library.serve_set(&format!("{ON}\n{settings}"));
        let found = server.client().call("rag_search", &json!({ "search_phrases": ["bread"] }));
        found["segments"].as_array().unwrap().len()
    };
    assert_eq!(found(""), 8);
    assert_eq!(found("rag_search_segments = 20"), 20);
}

#[test]
fn tags_decide_what_is_found_and_what_may_still_be_seen() {
    let library = manuals();
    let key = library.key_with("gateway", &["--delegating"]);
    library.key("ada");
    let server = library.serve_many("");
    let agent = Agent { server: &server, key: &key };
    let premium = r#"["premium_access"]"#;
    let all = agent.search("ada", premium, &["features"]);
    assert_eq!(names(&all).len(), 2);
    assert_eq!(names(&agent.search("ada", "[]", &["features"])), ["basic.pdf"]);
    assert_eq!(
        names(&agent.search("ada", r#"["department:sales"]"#, &["features"])),
        ["basic.pdf"]
    );
    let gold = all.iter().find(|it| it["source_file_name"] == "gold.pdf").unwrap();
    let uid = gold["segment_uid"].as_str().unwrap();
    assert!(!uid.contains("gold"), "it is opaque");
    let allowed = agent.verify("ada", premium, uid);
    assert_eq!((&allowed["has_access"], &allowed["access_level"]), (&json!(true), &json!("view")));
    assert_eq!(allowed["refreshed_url"], "https://docs.example.com/gold.pdf");
    assert_eq!(allowed["error"], Value::Null);
    let denied = agent.verify("ada", "[]", uid);
    assert_eq!((&denied["has_access"], &denied["refreshed_url"]), (&json!(false), &Value::Null));
    assert!(denied["error"].is_string(), "{denied}");
    // Nobody can tell what is there for others from what is nowhere.
    let unknown = agent.verify("ada", "[]", &uid.replace(&uid[4..8], "AAAA"));
    assert_eq!(unknown, denied);
    for malformed in ["", "premium_access", "{}", "[1]"] {
        let answer = agent.of("ada", malformed).ping();
        assert_eq!(answer.json()["error"]["code"], -32_602, "{malformed:?}");
    }
    // What changes later counts at once.
    let collection = shelf::open(&library, "manuals");
    shelf::write(&collection, |writer| {
        collection.remove_document(writer, "gold").unwrap();
    });
    assert_eq!(agent.verify("ada", premium, uid)["has_access"], false);
}

#[test]
fn what_is_somebodys_own_is_found_by_nobody_else() {
    let library = Library::new();
    let key = library.key_with("gateway", &["--delegating"]);
    for user in ["alice", "bob"] {
        library.key(user);
        let note = format!("# Diary of {user}\n\nA secret about amethysts, by {user}.");
        library.import_for(user, "notes", &format!("{user}.md"), &note);
    }
    let plain = library.key("carol");
    let server = library.serve_many("");
    let agent = Agent { server: &server, key: &key };
    let of = |user: &str| agent.search(user, "[]", &["amethysts secret"]);
    let (alices, bobs) = (of("alice"), of("bob"));
    assert_eq!((names(&alices), names(&bobs)), (vec!["Diary of alice"], vec!["Diary of bob"]));
    assert!(alices[0]["raw_text"].as_str().unwrap().contains("by alice"));
    let uid = alices[0]["segment_uid"].as_str().unwrap();
    assert_eq!(agent.verify("alice", "[]", uid)["has_access"], true);
    let foreign = agent.verify("bob", "[]", uid);
    assert_eq!(foreign, agent.verify("bob", "[]", "nonsense"));
    assert_eq!(foreign["has_access"], false);
    let impostor = server.client().bearing(&plain).with_header("x-user-id", "alice");
    assert_eq!(impostor.ping().status, 403);
    assert_eq!(server.client().bearing("vdm_wrong").ping().status, 401);
}

#[test]
fn a_segment_keeps_its_name_when_the_server_starts_again() {
    let library = manuals();
    let search = json!({ "search_phrases": ["setting up"] });
    let uid = |server: &Server| {
        server.client().call("rag_search", &search)["segments"][0]["segment_uid"].clone()
    };
    let (first, second) = (uid(&library.serve_set(ON)), uid(&library.serve_set(ON)));
    assert_eq!(first, second);
}

#[test]
fn a_provider_that_is_down_is_a_failure_only_if_words_find_nothing() {
    let provider = Provider::new(|_| Reply::Says(400, "", "{}".to_owned()));
    let settings = format!(
        "[embeddings]\nprovider = \"openai\"\napi_base = \"{}\"\nmodel = \"m\"\n{ON}",
        provider.url("/v1")
    );
    let server = manuals().serve_set(&settings);
    let client = server.client();
    let asked =
        |phrase: &str| json!({ "name": "rag_search", "arguments": { "search_phrases": [phrase] } });
    let found = client.ask("tools/call", &asked("basic features of product X"));
    assert_eq!(found["status"], "success");
    assert_eq!(names(found["segments"].as_array().unwrap())[0], "basic.pdf");
    let (code, message) = client.fails("tools/call", &asked("zebra crossing"));
    assert_eq!(code, -32603, "{message}");
    assert!(message.starts_with("RAG search failed: openai"), "{message}");
    assert!(!message.contains("127.0.0.1"), "{message}");
}
