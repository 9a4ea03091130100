//! `rag.admin.stats` and `rag.admin.sync`: how much each collection holds, and
//! bringing it up to date while the server runs.

use std::{fs, net::TcpListener, thread, time::Instant};

use serde_json::{Value, json};

use super::program::{Caller, Client, Library};

const ON: &str = "[tools]\nrag = \"on\"\n";

fn stats(client: &Client<'_>) -> Vec<Value> {
    let answer = client.call("rag.admin.stats", &json!({}));
    assert!(answer["stats"]["ms"].is_u64(), "{answer}");
    answer["sources"].as_array().unwrap().clone()
}

fn sync(client: &Client<'_>, names: &[&str]) -> Value {
    client.call("rag.admin.sync", &json!({ "source_names": names }))
}

/// The code and the message of a tool's error.
fn error(client: &Client<'_>, tool: &str, arguments: &Value) -> (String, String) {
    let result = client.result_of(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let answer: Value = serde_json::from_str(text).unwrap();
    let said = |name: &str| answer["error"][name].as_str().unwrap().to_owned();
    (said("code"), said("message"))
}

/// Waits until the counts of the first source are so.
fn until(client: &Client<'_>, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let first = stats(client).into_iter().next().unwrap_or_default();
        if is_so(&first) {
            return first;
        }
        assert!(begun.elapsed().as_secs() < 60, "{first}");
        thread::yield_now();
    }
}

fn build(library: &Library, name: &str, folder: &str, more: &[&str]) {
    let folder = library.file(folder);
    let arguments = [&["collection", "build", name, folder.to_str().unwrap()], more].concat();
    let done = library.run(&arguments);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn documents_and_chunks_are_counted_each_by_itself() {
    let library = Library::new();
    library.write("posts/1.md", "# One\n\nText.\n\n# More\n\nText.\n");
    library.write("posts/2.md", "# Two\n\nText.\n");
    library.write("posts/3.md", "# Three\n\nText.\n");
    let server = library.serve_set(ON);
    assert_eq!(stats(&server.client()), Vec::<Value>::new());
    build(&library, "stack_posts", "posts", &[]);
    let [source] = &stats(&server.client())[..] else { panic!("one source") };
    assert_eq!(source["source_name"], "stack_posts");
    assert_eq!((&source["docs"], &source["chunks"]), (&json!(3), &json!(4)));
    assert!(source["source_id"].is_i64());
    assert!(source["last_sync"].as_str().unwrap().ends_with('Z'), "{source}");
}

#[test]
fn a_sync_brings_a_source_up_to_date_in_the_background() {
    let library = Library::new();
    library.write("posts/1.md", "# One\n\nText.\n");
    build(&library, "stack_posts", "posts", &[]);
    let server = library.serve_set(ON);
    let client = server.client();
    library.write("posts/2.md", "# Two\n\nText.\n");
    let answer = sync(&client, &["Stack_Posts", "stack_posts"]);
    assert_eq!(answer["accepted"], true, "{answer}");
    assert!(answer["job_id"].as_str().unwrap().starts_with("sync-20"), "{answer}");
    until(&client, |source| source["docs"] == 2);
    fs::remove_file(library.file("posts/1.md")).unwrap();
    // The job before may still be on its last step.
    let begun = Instant::now();
    while sync(&client, &[])["accepted"] == false {
        assert!(begun.elapsed().as_secs() < 60);
        thread::yield_now();
    }
    until(&client, |source| source["docs"] == 1);
}

#[test]
fn a_source_that_is_not_there_is_an_invalid_argument() {
    let library = Library::new();
    let server = library.serve_set(ON);
    let client = server.client();
    let call = |names: Value| error(&client, "rag.admin.sync", &json!({ "source_names": names }));
    let (code, message) = call(json!(["stack_posts"]));
    assert_eq!(code, "INVALID_ARGUMENT");
    assert!(message.contains("source_names: unknown source `stack_posts`"), "{message}");
    assert_eq!(call(json!([])).0, "INVALID_ARGUMENT");
    assert_eq!(call(json!({ "a": 1 })).0, "INVALID_ARGUMENT");
    library.write("posts/1.md", "# One\n\nText.\n");
    build(&library, "other", "posts", &["--owner", "ada"]);
    let (_, message) = call(json!(["other"]));
    assert!(!message.contains("expected one of"), "it is not named to others: {message}");
    build(&library, "shared", "posts", &[]);
    let (_, message) = call(json!(["stack_posts"]));
    assert!(message.ends_with("expected one of shared"), "{message}");
}

#[test]
fn while_a_job_runs_the_same_job_is_answered() {
    let library = Library::new();
    library.write("posts/1.md", "# One\n\nText.\n");
    // Whoever is asked for vectors takes its time.
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = format!(
        "[embeddings]\nprovider = \"ollama\"\napi_base = \"http://{}\"\nretries = 0\n",
        slow.local_addr().unwrap()
    );
    let folder = library.file("posts");
    let collection = format!("[[collections]]\nname = \"stack_posts\"\nfolders = [{folder:?}]\n");
    let server = library.serve_set(&format!("{ON}{provider}{collection}"));
    let client = server.client();
    let first = sync(&client, &["stack_posts"]);
    let second = sync(&client, &["stack_posts"]);
    assert_eq!((&first["accepted"], &second["accepted"]), (&json!(true), &json!(false)));
    assert_eq!(first["job_id"], second["job_id"]);
    assert_eq!(second["reason"], "`stack_posts` is being synced already");
    drop(slow);
    let source = until(&client, |source| source["docs"] == 1);
    assert!(source["last_error"].as_str().unwrap().contains("ollama"), "{source}");
    assert!(source["last_sync"].is_string(), "the text is there all the same: {source}");
}

#[test]
fn looking_after_collections_takes_the_right_to_do_so() {
    let library = Library::new();
    library.write("posts/1.md", "# One\n\nText.\n");
    build(&library, "adas", "posts", &["--owner", "ada"]);
    let reader = library.key_with("ada", &["--scope", "read"]);
    let [ada, bob] = ["ada", "bob"].map(|user| library.key_with(user, &["--scope", "admin"]));
    let server = library.serve_many(ON);
    let listed = |key: &str| {
        server.client().bearing(key).ask("tools/list", &json!({})).to_string().contains("rag.admin")
    };
    assert_eq!((listed(&reader), listed(&ada)), (false, true));
    let refused = server.client().bearing(&reader).send(&super::program::request(
        "tools/call",
        &json!({ "name": "rag.admin.stats", "arguments": {} }),
    ));
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(stats(&server.client().bearing(&ada)).len(), 1);
    let bob = server.client().bearing(&bob);
    assert_eq!(stats(&bob), Vec::<Value>::new());
    let arguments = json!({ "source_names": ["adas"] });
    assert_eq!(error(&bob, "rag.admin.sync", &arguments).0, "INVALID_ARGUMENT");
}
