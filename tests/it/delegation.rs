//! End-to-end tests of gateways that act for users: users without an account, patterns of users and
//! tags, and the form of errors.

use serde_json::{Value, json};
use vademecum_collections::Document;

use crate::support::{
    HttpClient, HttpRequest, HttpResponse, Library, McpClient, Server,
    collection_fixtures::{chunked_document, insert_collection},
};

/// The tags of the contract's request.
const TAGS: &str = r#"["department:sales", "region:north", "Q4-2024", "premium_access"]"#;

/// Creates collections for all users, for users with a tag, and for Alice and Bob alone.
fn collections() -> Library {
    let library = Library::new();
    let manual = |id: &str, text: &str| Document {
        file_name: Some(format!("{id}.pdf")),
        file_type: Some("pdf".to_owned()),
        ..chunked_document(id, id, &json!({}), &[text])
    };
    let premium = Document {
        access: vec!["premium_access".to_owned()],
        ..manual("gold", "Gold features of product X.")
    };
    let documents = [manual("basic", "Basic features of product X."), premium];
    insert_collection(&library, "manuals", None, &documents);
    for owner in ["alice", "bob"] {
        let own = [manual(owner, "Private features of product X.")];
        insert_collection(&library, &format!("of-{owner}"), Some(owner), &own);
    }
    library
}

/// Builds the request of the contract, word for word, except for the key.
fn contract_request<'a>(server: &'a Server, key: &str, user: &str, tags: &str) -> HttpRequest<'a> {
    let body = r#"{
      "jsonrpc": "2.0",
      "method": "tools/call",
      "params": {
        "name": "rag_search",
        "arguments": {
          "search_phrases": [
            "key features?",
            "Product X capabilities and specifications",
            "How does product X compare to competitors?",
            "Product X technical documentation",
            "Benefits and limitations of product X"
          ]
        }
      },
      "id": "request-123"
    }"#;
    server
        .request("POST", "/mcp")
        .header("content-type", "application/json")
        .header("accept", "*/*")
        .header("authorization", &format!("Bearer {key}"))
        .header("x-user-id", user)
        .header("x-human-uid", "human_123456789")
        .header("x-session-tags", tags)
        .body(body)
}

/// Returns the names of the documents in a successful reply, sorted.
fn found_files(response: &HttpResponse) -> Vec<String> {
    assert_eq!(response.status, 200, "{response:?}");
    let answer = response.json();
    assert_eq!(
        (&answer["jsonrpc"], &answer["id"], &answer["result"]["status"]),
        (&json!("2.0"), &json!("request-123"), &json!("success")),
        "{answer}"
    );
    let segments = answer["result"]["segments"].as_array().unwrap();
    let mut names: Vec<String> = segments
        .iter()
        .map(|segment| segment["source_file_name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn assert_json_rpc_error(response: &HttpResponse, status: u16, code: i64, text: &str) {
    assert_eq!(response.status, status, "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/json"), "{response:?}");
    let answer = response.json();
    assert_eq!((&answer["jsonrpc"], &answer["error"]["code"]), (&json!("2.0"), &json!(code)));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(text), "{message}");
}

#[test]
fn gateway_acts_for_user_without_account() {
    let library = collections();
    let key = library.create_key_with("gateway", &["--delegating"]);
    let server = library.serve_multi_user("");
    let ask =
        |user: &str, tags: &str| found_files(&contract_request(&server, &key, user, tags).send());
    assert_eq!(ask("user@example.com", TAGS), ["basic.pdf", "gold.pdf"]);
    assert_eq!(ask("user@example.com", "[]"), ["basic.pdf"]);
    assert_eq!(ask("alice", "[]"), ["alice.pdf", "basic.pdf"]);
    assert_eq!(ask("bob", TAGS), ["basic.pdf", "bob.pdf", "gold.pdf"]);
    assert!(!library.data_folder().join("users").exists(), "no folder is created");
}

#[test]
fn user_without_account_has_no_library() {
    let library = collections();
    // The first library needs no account.
    library.import_for_user("gone@example.com", "notes", "note.md", "amethyst");
    library.import_for_user("ada", "notes", "note.md", "amethyst");
    let key = library.create_key_with("gateway", &["--delegating", "--scope", "write"]);
    let server = library.serve_multi_user("[tools]\nwrite = true");
    let guest = |user: &str| -> HttpClient<'_> {
        server.client().with_bearer_token(&key).with_header("x-user-id", user)
    };
    for user in ["new@example.com", "gone@example.com"] {
        let client = guest(user);
        for query in ["amethyst", "amethist"] {
            let found = client.call_tool("knowledge.search", &json!({ "query": query }));
            assert_eq!(found["total_estimated"], 0, "{found}");
        }
        let problem = client.expect_tool_error("knowledge.get", &json!({ "id": "notes://x" }));
        assert_eq!(problem, "note `x` not found; use search to find it");
        let unknown =
            json!({ "name": "notes.create", "arguments": { "title": "a", "content": "b" } });
        assert!(client.expect_error("tools/call", &unknown).1.contains("unknown tool"));
        let tag = json!({ "uri": "media://1", "add": ["x"] });
        assert!(client.expect_tool_error("knowledge.tag", &tag).contains("not found"));
        let stats = client.call_method("resources/read", &json!({ "uri": "knowledge://stats" }));
        let stats: Value =
            serde_json::from_str(stats["contents"][0]["text"].as_str().unwrap()).unwrap();
        assert!(stats["sources"].as_array().unwrap().iter().all(|it| it["items"] == 0), "{stats}");
        assert_eq!(stats["databases"], json!([]));
        client.call_method("prompts/list", &json!({}));
        client.call_method("resources/read", &json!({ "uri": "media://types" }));
    }
    assert!(!library.data_folder().join("users/new@example.com").exists());
}

#[test]
fn delegating_key_is_bound_to_users_and_tags() {
    let library = collections();
    let options =
        ["--delegating", "--users", "team-*,*@example.com", "--tags", "department:*,premium*"];
    let key = library.create_key_with("gateway", &options);
    library.import_for_user("gateway", "notes", "note.md", "amethyst");
    let server = library.serve_multi_user("");
    let ask = |user: &str, tags: &str| contract_request(&server, &key, user, tags).send();
    let tags = r#"["premium_access","department:sales"]"#;
    assert_eq!(found_files(&ask("team-a", tags)), ["basic.pdf", "gold.pdf"]);
    assert_json_rpc_error(&ask("alice", tags), 403, -32_001, "`alice`");
    assert_json_rpc_error(&ask("team-a", TAGS), 403, -32_001, "`Q4-2024`");
    let own = server.client().with_bearer_token(&key);
    let found = own.search_uris("knowledge.search", &json!({ "query": "amethyst" }));
    assert!(found.is_empty(), "the owner is not in the scope: {found:?}");
    let listed = library.run(&["key", "list"]).stdout;
    assert!(
        listed.contains("users: team-*, *@example.com; session tags: department:*"),
        "{listed}"
    );
    let refused = library.run(&["key", "create", "--user", "gateway", "--users", "a"]);
    assert!(refused.code != 0 && refused.stderr.contains("--delegating"), "{refused:?}");
}

#[test]
fn gateway_errors_are_json_rpc() {
    let library = collections();
    let key = library.create_key_with("gateway", &["--delegating"]);
    let plain = library.create_key("alice");
    let server = library.serve_multi_user("");
    let ask = |key: &str, user: &str, tags: &str| contract_request(&server, key, user, tags).send();
    assert_json_rpc_error(&ask(&key, "alice", "premium_access"), 400, -32_602, "x-session-tags");
    assert_json_rpc_error(&ask(&key, "alice", "{}"), 400, -32_602, "JSON array");
    assert_json_rpc_error(&ask(&key, "../alice", "[]"), 400, -32_602, "x-user-id");
    assert_json_rpc_error(&ask(&plain, "alice", "[]"), 403, -32_001, "x-user-id");
    assert_json_rpc_error(&ask("wrong", "alice", "[]"), 401, -32_001, "not valid");
    let unsigned = server.request("POST", "/mcp").header("content-type", "application/json");
    let unsigned = unsigned.header("x-user-id", "alice").body("{}").send();
    assert_json_rpc_error(&unsigned, 401, -32_001, "authentication required");
}

#[test]
fn desktop_server_delegates_only_if_configured() {
    let library = collections();
    library.import_for_user("local", "notes", "note.md", "amethyst");
    let refusing = library.serve();
    let refused = contract_request(&refusing, "any", "user@example.com", TAGS).send();
    assert_json_rpc_error(&refused, 403, -32_001, "x-user-id");
    let server = library.serve_with_settings("[auth]\ndelegate_local = true");
    let answer = contract_request(&server, "any", "user@example.com", TAGS).send();
    assert_eq!(found_files(&answer), ["basic.pdf", "gold.pdf"]);
    let without_tags = contract_request(&server, "any", "local", "[]").send();
    assert_eq!(found_files(&without_tags), ["basic.pdf"]);
    let finds = |client: HttpClient<'_>| {
        client.search_uris("knowledge.search", &json!({ "query": "amethyst" })).len()
    };
    let as_user = |user: &str| server.client().with_header("x-user-id", user);
    assert_eq!((finds(as_user("user@example.com")), finds(as_user("local"))), (0, 1));
    assert_eq!(finds(server.client()), 1, "the user's own requests see all");
    assert!(!library.data_folder().join("users/user@example.com").exists());
}
