//! End-to-end tests of `rag.admin.stats` and `rag.admin.sync`: counts of each collection, and
//! background synchronization while the server runs.

use std::{fs, net::TcpListener, thread, time::Instant};

use serde_json::{Value, json};

use super::support::{HttpClient, Library, McpClient};

const RAG_ENABLED: &str = "[tools]\nrag = \"on\"\n";

fn fetch_stats(client: &HttpClient<'_>) -> Vec<Value> {
    let answer = client.call_tool("rag.admin.stats", &json!({}));
    assert!(answer["stats"]["ms"].is_u64(), "{answer}");
    answer["sources"].as_array().unwrap().clone()
}

fn request_sync(client: &HttpClient<'_>, names: &[&str]) -> Value {
    client.call_tool("rag.admin.sync", &json!({ "source_names": names }))
}

/// Calls a tool that must fail and returns the code and the message of the error.
fn expect_error(client: &HttpClient<'_>, tool: &str, arguments: &Value) -> (String, String) {
    let result = client.tool_result(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let answer: Value = serde_json::from_str(text).unwrap();
    let error_field = |name: &str| answer["error"][name].as_str().unwrap().to_owned();
    (error_field("code"), error_field("message"))
}

/// Polls `rag.admin.stats` until the first source satisfies the condition, for at most 60 seconds.
fn wait_for_first_source(client: &HttpClient<'_>, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let first = fetch_stats(client).into_iter().next().unwrap_or_default();
        if is_so(&first) {
            return first;
        }
        assert!(begun.elapsed().as_secs() < 60, "{first}");
        thread::yield_now();
    }
}

fn build_collection(library: &Library, name: &str, folder: &str, more: &[&str]) {
    let folder = library.file_path(folder);
    let arguments = [&["collection", "build", name, folder.to_str().unwrap()], more].concat();
    let done = library.run(&arguments);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn stats_count_documents_and_chunks_separately() {
    let library = Library::new();
    library.write_file("posts/1.md", "# One\n\nText.\n\n# More\n\nText.\n");
    library.write_file("posts/2.md", "# Two\n\nText.\n");
    library.write_file("posts/3.md", "# Three\n\nText.\n");
    let server = library.serve_with_settings(RAG_ENABLED);
    assert_eq!(fetch_stats(&server.client()), Vec::<Value>::new());
    build_collection(&library, "stack_posts", "posts", &[]);
    let [source] = &fetch_stats(&server.client())[..] else { panic!("one source") };
    assert_eq!(source["source_name"], "stack_posts");
    assert_eq!((&source["docs"], &source["chunks"]), (&json!(3), &json!(4)));
    assert!(source["source_id"].is_i64());
    assert!(source["last_sync"].as_str().unwrap().ends_with('Z'), "{source}");
}

#[test]
fn sync_updates_source_in_background() {
    let library = Library::new();
    library.write_file("posts/1.md", "# One\n\nText.\n");
    build_collection(&library, "stack_posts", "posts", &[]);
    let server = library.serve_with_settings(RAG_ENABLED);
    let client = server.client();
    library.write_file("posts/2.md", "# Two\n\nText.\n");
    let answer = request_sync(&client, &["Stack_Posts", "stack_posts"]);
    assert_eq!(answer["accepted"], true, "{answer}");
    assert!(answer["job_id"].as_str().unwrap().starts_with("sync-20"), "{answer}");
    wait_for_first_source(&client, |source| source["docs"] == 2);
    fs::remove_file(library.file_path("posts/1.md")).unwrap();
    // The previous job may still be completing its last step.
    let begun = Instant::now();
    while request_sync(&client, &[])["accepted"] == false {
        assert!(begun.elapsed().as_secs() < 60);
        thread::yield_now();
    }
    wait_for_first_source(&client, |source| source["docs"] == 1);
}

#[test]
fn sync_rejects_unknown_source() {
    let library = Library::new();
    let server = library.serve_with_settings(RAG_ENABLED);
    let client = server.client();
    let call =
        |names: Value| expect_error(&client, "rag.admin.sync", &json!({ "source_names": names }));
    let (code, message) = call(json!(["stack_posts"]));
    assert_eq!(code, "INVALID_ARGUMENT");
    assert!(message.contains("source_names: unknown source `stack_posts`"), "{message}");
    assert_eq!(call(json!([])).0, "INVALID_ARGUMENT");
    assert_eq!(call(json!({ "a": 1 })).0, "INVALID_ARGUMENT");
    library.write_file("posts/1.md", "# One\n\nText.\n");
    build_collection(&library, "other", "posts", &["--owner", "ada"]);
    let (_, message) = call(json!(["other"]));
    assert!(
        !message.contains("expected one of"),
        "private collections must not be disclosed: {message}"
    );
    build_collection(&library, "shared", "posts", &[]);
    let (_, message) = call(json!(["stack_posts"]));
    assert!(message.ends_with("expected one of shared"), "{message}");
}

#[test]
fn sync_returns_running_job() {
    let library = Library::new();
    library.write_file("posts/1.md", "# One\n\nText.\n");
    // An embedding provider that accepts connections but never replies.
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = format!(
        "[embeddings]\nprovider = \"ollama\"\napi_base = \"http://{}\"\nretries = 0\n",
        slow.local_addr().unwrap()
    );
    let folder = library.file_path("posts");
    let collection = format!("[[collections]]\nname = \"stack_posts\"\nfolders = [{folder:?}]\n");
    let server = library.serve_with_settings(&format!("{RAG_ENABLED}{provider}{collection}"));
    let client = server.client();
    let first = request_sync(&client, &["stack_posts"]);
    let second = request_sync(&client, &["stack_posts"]);
    assert_eq!((&first["accepted"], &second["accepted"]), (&json!(true), &json!(false)));
    assert_eq!(first["job_id"], second["job_id"]);
    assert_eq!(second["reason"], "`stack_posts` is being synced already");
    drop(slow);
    let source = wait_for_first_source(&client, |source| source["docs"] == 1);
    assert!(source["last_error"].as_str().unwrap().contains("ollama"), "{source}");
    assert!(source["last_sync"].is_string(), "text is synced although embedding failed: {source}");
}

#[test]
fn admin_tools_require_admin_scope() {
    let library = Library::new();
    library.write_file("posts/1.md", "# One\n\nText.\n");
    build_collection(&library, "adas", "posts", &["--owner", "ada"]);
    let reader = library.create_key_with("ada", &["--scope", "read"]);
    let [ada, bob] =
        ["ada", "bob"].map(|user| library.create_key_with(user, &["--scope", "admin"]));
    let server = library.serve_multi_user(RAG_ENABLED);
    let listed = |key: &str| {
        server
            .client()
            .with_bearer_token(key)
            .call_method("tools/list", &json!({}))
            .to_string()
            .contains("rag.admin")
    };
    assert_eq!((listed(&reader), listed(&ada)), (false, true));
    let refused =
        server.client().with_bearer_token(&reader).send(&super::support::json_rpc_request(
            "tools/call",
            &json!({ "name": "rag.admin.stats", "arguments": {} }),
        ));
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(fetch_stats(&server.client().with_bearer_token(&ada)).len(), 1);
    let bob = server.client().with_bearer_token(&bob);
    assert_eq!(fetch_stats(&bob), Vec::<Value>::new());
    let arguments = json!({ "source_names": ["adas"] });
    assert_eq!(expect_error(&bob, "rag.admin.sync", &arguments).0, "INVALID_ARGUMENT");
}
