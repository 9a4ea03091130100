//! End-to-end tests of key scopes and deny rules for documents of collections.

use serde_json::{Value, json};
use vademecum_collections::Document;

use crate::{
    rag,
    support::{
        HttpClient, Library, McpClient, Server,
        collection_fixtures::{
            chunked_document, embed_collection, insert_collection, sample_posts,
        },
        wait_until,
    },
};

/// A word that is one edit away from a word that only a hidden document contains.
const NEARLY_SECRET: &str = "amethist";

/// Creates a server with a collection `handbook` of two documents and a collection `other`, and a
/// key with these options.
fn serve_collections(options: &[&str], settings: &str) -> (Library, Server, String) {
    let library = Library::new();
    let document = |id: &str, tag: &str, text: &str| {
        chunked_document(id, id, &json!({ "Tags": format!("<{tag}>") }), &[text, "bread again"])
    };
    let (work, private) = (
        document("handbook:ovens.md", "work", "bread from ovens"),
        document("handbook:hr/pay.md", "private", "bread of amethyst"),
    );
    insert_collection(&library, "handbook", None, &[work, private]);
    insert_collection(&library, "other", None, &[document("other:1", "work", "bread elsewhere")]);
    let key = library.create_key_with("ada", options);
    let server = library.serve_multi_user(settings);
    (library, server, key)
}

/// Returns the documents that search and listing show.
fn shown_documents(client: &HttpClient<'_>) -> Vec<String> {
    let from_rag = client.call_tool("rag.search_fts", &json!({ "query": "bread", "k": 50 }));
    let mut documents: Vec<String> = from_rag["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["doc_id"].as_str().unwrap().to_owned())
        .collect();
    documents.sort();
    documents.dedup();
    for id in ["handbook:ovens.md", "handbook:hr/pay.md", "other:1"] {
        let read = client.call_tool("rag.get_docs", &json!({ "doc_ids": [id] }));
        let is_read = !read["docs"].as_array().unwrap().is_empty();
        assert_eq!(is_read, documents.contains(&id.to_owned()), "{read}");
    }
    if documents.is_empty() {
        return documents;
    }
    let found = client.call_tool(
        "knowledge.search",
        &json!({ "query": "bread", "sources": ["collections"], "limit": 50 }),
    );
    assert_eq!(found["total_estimated"], documents.len() * 2, "{found}");
    let fuzzy = client.call_tool(
        "knowledge.search",
        &json!({ "query": NEARLY_SECRET, "sources": ["collections"] }),
    );
    let secret_visible = documents.iter().any(|id| id.contains("pay"));
    assert_eq!(fuzzy["total_estimated"] != 0, secret_visible, "{fuzzy}");
    documents
}

#[test]
fn key_scope_of_collections_hides_others() {
    let (_library, server, key) = serve_collections(&["--collections", "hand*"], "");
    let client = server.client().with_bearer_token(&key);
    assert_eq!(shown_documents(&client), ["handbook:hr/pay.md", "handbook:ovens.md"]);
    let unknown = |name: &str| {
        let problem = client
            .expect_tool_error("knowledge.search", &json!({ "query": "bread", "sources": [name] }));
        problem.replace(name, "NAME")
    };
    assert_eq!(unknown("other"), unknown("ather"));
}

#[test]
fn rules_hide_documents_of_collections() {
    let deny = "[[deny]]\nsources = [\"collections\"]\n";
    for (options, rules, expected) in [
        (&["--tags", "work"][..], String::new(), &["handbook:ovens.md", "other:1"][..]),
        (&[], format!("{deny}tags = [\"PRIV*\"]"), &["handbook:ovens.md", "other:1"]),
        (&["--collections", "other"], String::new(), &["other:1"]),
        (&["--sources", "notes"], String::new(), &[]),
        (&[], deny.to_owned(), &[]),
    ] {
        let (_library, server, key) =
            serve_collections(options, &format!("[tools]\nrag = \"on\"\n{rules}"));
        let client = server.client().with_bearer_token(&key);
        assert_eq!(shown_documents(&client), expected, "{options:?} {rules}");
    }
}

#[test]
fn denied_folder_hides_documents_of_collection() {
    let library = Library::new();
    library.write_file("docs/ovens.md", "bread from ovens");
    library.write_file("docs/hr/pay.md", "bread of amethyst");
    let docs = library.file_path("docs");
    let built = library.run(&["collection", "build", "docs", docs.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let found = |folder: &str| {
        let rule = format!("[[deny]]\nfolders = ['{}']", docs.join(folder).display());
        let server = library.serve_with_settings(&rule);
        let query = json!({ "query": "bread", "sources": ["docs"] });
        server.client().call_tool("knowledge.search", &query)["total_estimated"].clone()
    };
    assert_eq!((found("hr"), found("h"), found(".")), (json!(1), json!(2), json!(0)));
}

#[test]
fn collection_without_vectors_leaves_answers_of_others() {
    let library = Library::new();
    let (bob, posts) = (library.create_key("bob"), sample_posts());
    insert_collection(&library, "posts", None, &posts);
    embed_collection(&library, "posts", 64);
    let document = |id: &str, access: &[&str]| Document {
        access: access.iter().map(|tag| (*tag).to_owned()).collect(),
        ..chunked_document(id, "MySQL", &json!({}), &["Plain MySQL."])
    };
    insert_collection(&library, "plain", None, &[document("plain:1", &[])]);
    let hidden = document("hidden:1", &["staff"]);
    insert_collection(&library, "hidden", None, &[hidden]);
    let server = library.serve_multi_user(rag::STUB_EMBEDDINGS);
    let client = server.client().with_bearer_token(&bob);
    let search = |filters: Value, query: &str| {
        let arguments = json!({ "query_text": query, "filters": filters });
        client.call_tool("rag.search_vector", &arguments)
    };
    let failed = json!([{ "source_name": "plain", "reason": "it has no vectors" }]);
    let found = search(json!({}), "mysql json index");
    assert!(!rag::chunk_ids(&found).is_empty(), "{found}");
    assert_eq!(found["stats"]["failed"], failed);
    // The other collection has no hits either.
    let found = search(json!({ "tags_any": ["nothing"], "source_names": ["posts"] }), "mysql");
    assert_eq!((rag::chunk_ids(&found).len(), &found["stats"]["failed"]), (0, &Value::Null));
    let found = search(json!({ "source_names": ["hidden"] }), "mysql");
    assert_eq!((rag::chunk_ids(&found).len(), &found["stats"]["failed"]), (0, &Value::Null));
    // The only document in scope cannot be compared.
    let found = search(json!({ "doc_ids": ["plain:1"] }), "mysql");
    assert_eq!((rag::chunk_ids(&found).len(), &found["stats"]["failed"]), (0, &failed));
}

#[test]
fn collection_without_visible_documents_stays_unnamed() {
    let library = Library::new();
    let tagged = Document {
        access: vec!["premium".to_owned()],
        ..chunked_document("secret:1", "Secret", &json!({}), &["bread of amethyst"])
    };
    insert_collection(&library, "secret", None, &[tagged]);
    let plain = chunked_document("open:1", "Open", &json!({}), &["bread from ovens"]);
    insert_collection(&library, "open", None, &[plain]);
    insert_collection(&library, "secretary", Some("eve"), &[]);
    let keys = [
        library.create_key_with("ada", &["--scope", "write"]),
        library.create_key_with("gateway", &["--delegating"]),
        library.create_key_with("root", &["--scope", "admin"]),
    ];
    let server = library.serve_multi_user("[tools]\nrag = \"on\"");
    let [user, gateway, root] = keys.each_ref().map(|key| server.client().with_bearer_token(key));
    let member = gateway.with_header("x-session-tags", "[\"premium\"]");
    let completed = |client: &HttpClient<'_>, typed: &str| {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "collections://{collection}/{document}" },
            "argument": { "name": "collection", "value": typed },
        });
        client.call_method("completion/complete", &params)["completion"]["values"].clone()
    };
    assert_eq!(completed(&user, ""), json!(["open"]));
    assert_eq!(completed(&member, "sec"), json!(["secret"]), "a member sees its document");
    assert_eq!(completed(&root, "sec"), json!(["secret"]), "an administrator syncs it");
    let unknown = |name: &str| {
        let search = json!({ "query": "bread", "sources": ["open", name] });
        let read = json!({ "source": "collections", "id": format!("collections://{name}/1") });
        [("knowledge.search", search), ("knowledge.get", read)]
            .map(|(tool, arguments)| user.expect_tool_error(tool, &arguments).replace(name, "NAME"))
    };
    let problems = unknown("secret");
    assert_eq!(problems, unknown("sacred"), "missing and hidden ones get the same reply");
    assert!(problems[0].contains("`open`") && !problems[0].contains("secret"), "{problems:?}");
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let listed = user.call_method(method, &json!({})).to_string();
        assert!(!listed.contains("secret"), "{method}: {listed}");
    }
}

#[test]
fn rag_tools_are_listed_to_those_who_see_documents() {
    let library = Library::new();
    let post = |access: &[&str]| Document {
        access: access.iter().map(|tag| (*tag).to_owned()).collect(),
        ..chunked_document("post:1", "Amethyst", &json!({}), &["An amethyst."])
    };
    insert_collection(&library, "secret", None, &[post(&["team:a"])]);
    let bob = library.create_key("bob");
    let gateway = library.create_key_with("gateway", &["--delegating"]);
    let server = library.serve_multi_user("");
    let listed =
        |client: &HttpClient<'_>, method: &str| client.call_method(method, &json!({})).to_string();
    let sees = |client: HttpClient<'_>| {
        let tools = listed(&client, "tools/list");
        let templates = listed(&client, "resources/templates/list");
        let seen = [
            tools.contains("\"rag.search_fts\""),
            tools.contains("\"search_knowledgebase\""),
            templates.contains("collections://"),
        ];
        assert!(seen.iter().all(|it| *it == seen[0]), "{seen:?}");
        seen[0]
    };
    let tagged = |tags: &str| {
        let client = server.client().with_bearer_token(&gateway);
        client.with_header("x-user-id", "bob").with_header("x-session-tags", tags)
    };
    assert!(!sees(server.client().with_bearer_token(&bob)));
    assert!(sees(tagged("[\"team:a\"]")));
    assert!(!sees(tagged("[\"team:b\"]")));
    insert_collection(&library, "open", None, &[post(&[])]);
    wait_until("the open collection is seen", || {
        listed(&server.client().with_bearer_token(&bob), "tools/list").contains("rag.search_fts")
    });
}
