//! End-to-end tests of reading collection documents by URI: as items, as resources and on the
//! command line.

use serde_json::{Value, json};
use vademecum_collections::Document;

use crate::support::{HttpClient, Library, McpClient, Server, collection_fixtures};

const MANUAL_URI: &str = "collections://kb/manual.md";
/// A document name with all characters that have a meaning in URIs.
const ODD_NAME: &str = "a#b%c/ü x.md";

/// Returns the chunks of a long document. Some letters are longer than one byte.
fn manual_chunks() -> Vec<String> {
    let sentence = |chunk: usize, number: usize| format!("Chunk {chunk} says nöthing {number}. ");
    (0..60).map(|chunk| (0..80).map(|number| sentence(chunk, number)).collect()).collect()
}

/// Creates a collection with a long document that has a heading above each chunk, a short document
/// with an odd name and a restricted document, and another collection that only Bob may read.
fn collections_library() -> Library {
    let library = Library::new();
    let chunks = manual_chunks();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let about = json!({ "Tags": "<baking><rye>", "CreationDate": "2022-05-01T00:00:00Z" });
    let mut manual = Document {
        url: Some("https://docs.example.com/manual".to_owned()),
        file_type: Some("md".to_owned()),
        ..collection_fixtures::chunked_document("manual.md", "The manual", &about, &chunks)
    };
    for (number, chunk) in manual.chunks.iter_mut().enumerate() {
        chunk.section = Some(format!("Guide › Part {number}"));
    }
    let odd =
        collection_fixtures::chunked_document(ODD_NAME, "Odd", &json!({}), &["One. ", "Two."]);
    let gold = Document {
        access: vec!["premium".to_owned()],
        ..collection_fixtures::chunked_document("gold.md", "Gold", &json!({}), &["It glitters."])
    };
    collection_fixtures::insert_collection(&library, "kb", None, &[manual, odd, gold]);
    let secret = collection_fixtures::chunked_document(
        "manual.md",
        "Secret",
        &json!({}),
        &["A secret of Bob."],
    );
    collection_fixtures::insert_collection(&library, "bobs", Some("bob"), &[secret]);
    library
}

fn get_item(client: &HttpClient<'_>, uri: &str, retrieval: &Value) -> Value {
    client.call_tool("knowledge.get", &json!({ "id": uri, "retrieval": retrieval }))
}

fn content_text(item: &Value) -> &str {
    item["content"].as_str().unwrap_or_else(|| panic!("{item}"))
}

/// Returns the text of a resource.
fn read_resource_text(client: &impl McpClient, uri: &str) -> String {
    let read = client.call_method("resources/read", &json!({ "uri": uri }));
    let contents = &read["contents"][0];
    assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("text/plain")));
    contents["text"].as_str().unwrap().to_owned()
}

#[test]
fn chunk_uri_is_read_in_every_mode() {
    let server = collections_library().serve();
    let client = server.client();
    let (uri, chunks) = (format!("{MANUAL_URI}#40"), manual_chunks());
    let whole = get_item(&client, &uri, &json!({ "mode": "chunk" }));
    assert_eq!(content_text(&whole), chunks[40]);
    assert_eq!(whole["meta"]["loc"]["chunk_index"], 40);
    let section = json!([{ "type": "section", "section_path": "Guide › Part 40" }]);
    assert_eq!(whole["attachments"], section);
    for retrieval in [json!({}), json!({ "mode": "snippet" }), json!({ "mode": "auto" })] {
        let snippet = get_item(&client, &uri, &retrieval);
        assert!(content_text(&snippet).contains("Chunk 40 says nöthing 0."), "{snippet}");
        assert!(content_text(&snippet).chars().count() <= 300, "{snippet}");
    }
    let siblings = get_item(&client, &uri, &json!({ "mode": "chunk_with_siblings" }));
    assert_eq!(content_text(&siblings), chunks[39..=41].concat());
    let auto = get_item(&client, &uri, &json!({ "mode": "auto", "max_tokens": 5_000 }));
    assert_eq!(auto["content"], siblings["content"]);
    let full = get_item(&client, &uri, &json!({ "mode": "full" }));
    assert!(content_text(&full).starts_with(&chunks[0]), "the whole document");
    for item in [whole, siblings, full] {
        assert_eq!(item["meta"]["uri"], uri.as_str());
        assert_eq!(
            (&item["meta"]["id"], &item["meta"]["source"]),
            (&json!("manual.md#40"), &json!("collections"))
        );
    }
}

#[test]
fn siblings_are_limited_by_token_budget() {
    let server = collections_library().serve();
    let client = server.client();
    let chunks = manual_chunks();
    let size = chunks[40].chars().count();
    let read = |window: usize, times: usize| {
        let tokens = size * times / 4 + 100;
        let retrieval = json!({ "mode": "chunk_with_siblings", "sibling_window": window, "max_tokens": tokens });
        content_text(&get_item(&client, &format!("{MANUAL_URI}#40"), &retrieval)).to_owned()
    };
    assert_eq!(read(2, 1), chunks[40]);
    assert_eq!(read(2, 3), chunks[39..=41].concat());
    assert_eq!(read(2, 9), chunks[38..=42].concat());
    assert_eq!(read(0, 9), chunks[40]);
}

#[test]
fn explicit_loc_overrides_chunk_in_uri() {
    let server = collections_library().serve();
    let client = server.client();
    let loc = json!({ "mode": "chunk", "loc": { "chunk_index": 3 } });
    assert_eq!(
        content_text(&get_item(&client, &format!("{MANUAL_URI}#40"), &loc)),
        manual_chunks()[3]
    );
    assert_eq!(content_text(&get_item(&client, MANUAL_URI, &loc)), manual_chunks()[3]);
    let anew = json!({ "mode": "chunk", "prefer_prechunked": false, "chunk_size_tokens": 50 });
    let item = get_item(&client, &format!("{MANUAL_URI}#40"), &anew);
    assert!(content_text(&item).contains("Chunk 40 says nöthing 0."), "{item}");
    assert!(content_text(&item).chars().count() <= 200, "{item}");
}

#[test]
fn long_document_is_read_page_by_page() {
    let server = collections_library().serve();
    let client = server.client();
    let body = manual_chunks().concat();
    let (mut read, mut offset, mut pages) = (String::new(), json!(0), 0);
    while !offset.is_null() {
        let page = get_item(&client, MANUAL_URI, &json!({ "mode": "full", "offset": offset }));
        assert_eq!(page["range"]["total"], body.chars().count());
        read.push_str(content_text(&page));
        offset = page["range"]["next_offset"].clone();
        pages += 1;
    }
    assert!(read == body && pages > 1, "{pages} pages");
}

#[test]
fn item_meta_contains_document_metadata() {
    let server = collections_library().serve();
    let meta = get_item(&server.client(), MANUAL_URI, &json!({}))["meta"].take();
    let known = json!({
        "id": "manual.md", "source": "collections", "uri": MANUAL_URI, "title": "The manual",
        "tags": ["baking", "rye"], "media_type": "md", "url": "https://docs.example.com/manual",
    });
    for (name, value) in known.as_object().unwrap() {
        assert_eq!(&meta[name], value, "{name}");
    }
    assert!(meta["created_at"].as_str().unwrap().starts_with("2022-05-01"), "{meta}");
    assert!(meta["last_modified"].is_string(), "{meta}");
}

#[test]
fn oddly_named_document_is_readable_everywhere() {
    let library = collections_library();
    let (server, pipe) = (library.serve(), library.open_stdio());
    let client = server.client();
    let uri = "collections://kb/a%23b%25c/%C3%BC%20x.md";
    for encoded in [uri, "collections://KB/a%23b%25c%2F%C3%BC%20x.md"] {
        let item = get_item(&client, encoded, &json!({ "mode": "full" }));
        assert_eq!((content_text(&item), &item["meta"]["uri"]), ("One. Two.", &json!(uri)));
        assert_eq!(item["meta"]["id"], ODD_NAME);
        let second = format!("{encoded}#1");
        assert_eq!(content_text(&get_item(&client, &second, &json!({ "mode": "chunk" }))), "Two.");
        assert_eq!(read_resource_text(&client, encoded), "One. Two.");
        assert_eq!(read_resource_text(&pipe, &second), "One. Two.");
        let fetched = client.call_tool("fetch", &json!({ "id": second }));
        assert_eq!((&fetched["id"], &fetched["text"]), (&json!(second), &json!("One. Two.")));
        let done = library.run(&["get", "--mode", "chunk", &second]);
        assert_eq!((done.code, done.stdout.trim()), (0, "Two."), "{done:?}");
    }
}

#[test]
fn bare_id_resolves_to_first_matching_collection() {
    let server = collections_library().serve();
    let client = server.client();
    let chunk = json!({ "mode": "chunk" });
    for (id, uri, expected) in [
        (ODD_NAME.to_owned(), "collections://kb/a%23b%25c/%C3%BC%20x.md", "One. "),
        (format!("{ODD_NAME}#1"), "collections://kb/a%23b%25c/%C3%BC%20x.md#1", "Two."),
    ] {
        let item = client.get_item("collections", &json!(id), &chunk);
        assert_eq!((content_text(&item), &item["meta"]["uri"]), (expected, &json!(uri)), "{id}");
    }
    for id in ["no such thing", "manual.md#999", "7"] {
        let arguments = json!({ "source": "collections", "id": id });
        let problem = client.expect_tool_error("knowledge.get", &arguments);
        assert!(problem.contains(&format!("`{id}` not found")), "{problem}");
    }
}

#[test]
fn fetch_marks_long_document_as_truncated() {
    let server = collections_library().serve();
    let fetched = server.client().call_tool("fetch", &json!({ "id": MANUAL_URI }));
    assert_eq!(fetched["metadata"]["truncated"], "true");
    assert_eq!(fetched["metadata"]["web_address"], "https://docs.example.com/manual");
    let path = MANUAL_URI.replace("://", "/");
    assert_eq!(fetched["url"], format!("http://{}/i/{path}", server.address()));
}

/// Returns the error messages for a missing URI from each way to read one, preceded by the error
/// code.
fn not_found_messages(client: &HttpClient<'_>, uri: &str) -> Vec<String> {
    let (code, resource) = client.expect_error("resources/read", &json!({ "uri": uri }));
    let got = client.expect_tool_error("knowledge.get", &json!({ "id": uri }));
    vec![code.to_string(), resource, got, client.expect_tool_error("fetch", &json!({ "id": uri }))]
}

/// Replaces a name in all messages.
fn replace_name(refusals: &[String], from: &str, to: &str) -> Vec<String> {
    refusals.iter().map(|text| text.replace(from, to)).collect()
}

#[test]
fn foreign_collection_is_reported_as_missing() {
    let library = collections_library();
    let (ada, bob) = (library.create_key("ada"), library.create_key("bob"));
    let server = library.serve_multi_user("");
    let (ada, bob) =
        (server.client().with_bearer_token(&ada), server.client().with_bearer_token(&bob));
    let uri = "collections://bobs/manual.md#0";
    assert_eq!(content_text(&get_item(&bob, uri, &json!({}))), "A secret of Bob.");
    let foreign = not_found_messages(&ada, uri);
    let unknown = not_found_messages(&ada, "collections://none/manual.md#0");
    assert!(foreign[1].contains("there is no collection `bobs`"), "{foreign:?}");
    assert_eq!(replace_name(&foreign, "bobs", "none"), unknown);
    let arguments =
        json!({ "source": "collections", "id": "manual.md", "retrieval": { "mode": "full" } });
    let first = ada.call_tool("knowledge.get", &arguments);
    assert_eq!(first["meta"]["uri"], MANUAL_URI);
}

#[test]
fn restricted_document_is_reported_as_missing() {
    let library = collections_library();
    let key = library.create_key_with("gateway", &["--delegating"]);
    library.create_key("ada");
    let server = library.serve_multi_user("");
    let of = |tags: &str| {
        let client = server.client().with_bearer_token(&key).with_header("x-user-id", "ada");
        client.with_header("x-session-tags", tags)
    };
    let (with, without) = (of(r#"["premium"]"#), of("[]"));
    let uri = "collections://kb/gold.md";
    assert_eq!(content_text(&get_item(&with, uri, &json!({ "mode": "full" }))), "It glitters.");
    let closed = not_found_messages(&without, uri);
    assert!(closed[1].contains("document `collections://kb/gold.md` not found"), "{closed:?}");
    assert_eq!(
        replace_name(&closed, "gold", "none"),
        not_found_messages(&without, "collections://kb/none.md")
    );
    assert_eq!(not_found_messages(&without, "collections://kb/gold.md#0").len(), 4);
    let document = |client: &HttpClient<'_>| {
        request_completion(client, "document", "go", &json!({ "collection": "kb" }))
    };
    assert_eq!(document(&with)["values"], json!(["gold.md"]));
    assert_eq!(document(&without)["values"], json!([]));
}

#[test]
fn invalid_uri_error_states_expected_form() {
    let server = collections_library().serve();
    let client = server.client();
    for (uri, expected) in [
        ("collections://kb", "expected collections://<collection>/<document>"),
        ("collections://kb/manual.md#last", "expected collections://<collection>/<document>"),
        ("collections://kb/manual.md#60", "chunk `collections://kb/manual.md#60` not found"),
    ] {
        for problem in not_found_messages(&client, uri).iter().skip(1) {
            assert!(problem.contains(expected), "{problem}");
        }
    }
}

fn list_templates(server: &Server) -> Vec<Value> {
    let listed = server.client().call_method("resources/templates/list", &json!({}));
    listed["resourceTemplates"].as_array().unwrap().clone()
}

fn request_completion(
    client: &HttpClient<'_>,
    argument: &str,
    typed: &str,
    others: &Value,
) -> Value {
    let params = json!({
        "ref": { "type": "ref/resource", "uri": "collections://{collection}/{document}" },
        "argument": { "name": argument, "value": typed },
        "context": { "arguments": others },
    });
    client.call_method("completion/complete", &params)["completion"].take()
}

#[test]
fn document_template_is_listed_only_with_collections() {
    let server = collections_library().serve();
    let (listed, without) = (list_templates(&server), list_templates(&Library::new().serve()));
    assert_eq!((listed.len(), without.len()), (6, 5));
    assert_eq!(listed[5]["uriTemplate"], "collections://{collection}/{document}");
    assert_eq!(listed[5]["mimeType"], "text/plain");
}

#[test]
fn collection_and_document_names_are_completed() {
    let server = collections_library().serve();
    let client = server.client();
    let nothing = json!({ "values": [], "total": 0, "hasMore": false });
    let names = |typed: &str| request_completion(&client, "collection", typed, &json!({}));
    assert_eq!((&names("K")["values"], &names("")["total"]), (&json!(["kb"]), &json!(1)));
    assert_eq!(names("bobs")["values"], json!([]));
    let document = |typed: &str, collection: &str| {
        request_completion(&client, "document", typed, &json!({ "collection": collection }))
    };
    for (typed, found) in [("man", "manual.md"), ("MANUAL", "manual.md"), ("a#", ODD_NAME)] {
        assert_eq!(document(typed, "kb")["values"], json!([found]), "{typed}");
    }
    assert_eq!(document("", "kb")["total"], 3);
    assert_eq!(document("man", "bobs")["values"], json!([]));
    assert_eq!(request_completion(&client, "document", "man", &json!({})), nothing);
    let empty = Library::new().serve();
    assert_eq!(request_completion(&empty.client(), "collection", "", &json!({})), nothing);
}

#[test]
fn cut_document_names_call_that_reads_on() {
    let library = Library::new();
    let huge = "MySQL ".repeat(400_000);
    let document = collection_fixtures::chunked_document("huge:1", "Huge", &json!({}), &[&huge]);
    collection_fixtures::insert_collection(&library, "huge", None, &[document]);
    let server = library.serve();
    let read = server.client().call_tool("rag.get_docs", &json!({ "doc_ids": ["huge:1"] }));
    let cut = &read["docs"][0];
    assert_eq!(
        (cut["body"].as_str().unwrap().len(), &read["truncated"]),
        (2_000_000, &json!(true))
    );
    let read_on = cut["read_on"].as_str().unwrap();
    let (head, call) = read_on.split_once("knowledge.get ").unwrap();
    assert_eq!(head, "[0 to 2000000 of 2400000; read on with ");
    let arguments: Value = serde_json::from_str(call.trim_end_matches(']')).unwrap();
    let rest = server.client().call_tool("knowledge.get", &arguments);
    assert_eq!(rest["range"]["start"], 2_000_000);
}

/// Another program holds the file of a collection: the search may succeed later.
#[test]
fn search_that_waits_too_long_exceeds_deadline() {
    let library = Library::new();
    collection_fixtures::insert_posts(&library);
    let file =
        collection_fixtures::open_collection(&library, "stack_posts").store().path().to_owned();
    #[expect(clippy::disallowed_methods, reason = "another program locks the file")]
    let other = rusqlite::Connection::open(file).unwrap();
    other
        .execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE lock (a); COMMIT;",
        )
        .unwrap();
    let server = library.serve_with_settings("[limits]\nsource_ms = 300\n[tools]\nrag = \"on\"\n");
    for (tool, arguments) in [
        ("rag.search_fts", json!({ "query": "mysql" })),
        ("rag.get_docs", json!({ "doc_ids": ["posts:1"] })),
    ] {
        let text = server.client().expect_tool_error(tool, &arguments);
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(error["error"]["code"], "DEADLINE_EXCEEDED", "{tool}: {text}");
    }
    drop(other);
    let found = server.client().call_tool("rag.search_fts", &json!({ "query": "mysql" }));
    assert!(!found["results"].as_array().unwrap().is_empty(), "{found}");
}
