//! End-to-end tests of the rights to collections: those of the settings hold at once, at start and
//! after a change of the settings file.

use std::fs;

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, Server, wait_until};

/// A library with a folder, two users and a key of a gateway.
struct Handbook {
    library: Library,
    bob: String,
    gateway: String,
}

impl Handbook {
    /// Creates the library and syncs the collection with these rights.
    fn synced(rights: &str) -> Self {
        let library = Library::new();
        library.write_file("docs/pay.md", "# Pay\n\nAn amethyst for each lantern.\n");
        let (bob, _) = (library.create_key("bob"), library.create_key("ada"));
        let gateway = library.create_key_with("gateway", &["--delegating"]);
        let handbook = Self { library, bob, gateway };
        let config = handbook.write_settings(Some(rights));
        let synced = handbook.library.run(&["collection", "sync", "--config", &config]);
        assert_eq!(synced.code, 0, "{synced:?}");
        handbook
    }

    /// Writes a settings file with the collection, or without its section, and returns its path.
    fn write_settings(&self, rights: Option<&str>) -> String {
        let docs = self.library.file_path("docs");
        let section = rights.map_or_else(String::new, |rights| {
            format!(
                "[[collections]]\nname = \"handbook\"\nfolders = ['{}']\n{rights}\n",
                docs.display()
            )
        });
        let settings = format!("[auth]\nmode = \"multi\"\n[tools]\nrag = \"on\"\n{section}");
        let file = self.library.file_path("settings.toml");
        // The server must never read a file that is only half written.
        let draft = self.library.write_file("settings.draft", settings);
        fs::rename(draft, &file).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn serve(&self, rights: Option<&str>) -> Server {
        self.library.serve_with(&["--config", &self.write_settings(rights)])
    }

    /// Returns a client of the gateway for `ada` with these access tags.
    fn ada<'s>(&self, server: &'s Server, tags: &str) -> HttpClient<'s> {
        let client = server.client().with_bearer_token(&self.gateway);
        client.with_header("x-user-id", "ada").with_header("x-session-tags", tags)
    }

    fn bob<'s>(&self, server: &'s Server) -> HttpClient<'s> {
        server.client().with_bearer_token(&self.bob)
    }

    /// Runs a command with the settings file.
    fn run(&self, arguments: &[&str]) -> crate::support::CommandOutput {
        let config = self.library.file_path("settings.toml");
        self.library.run(&[arguments, &["--config", config.to_str().unwrap()]].concat())
    }
}

/// Returns whether a client sees the document, which must be the same on every path.
fn sees_handbook(client: &HttpClient<'_>) -> bool {
    let count = |result: &Value, list: &str| result[list].as_array().map_or(0, Vec::len);
    let sources = json!(["collections"]);
    let rag = client.call_tool("rag.search_fts", &json!({ "query": "amethyst" }));
    // Without a collection, `collections` names no source.
    let search = json!({ "query": "amethyst", "sources": sources });
    let found = client.tool_result("knowledge.search", &search);
    let documents = client.call_tool("rag.get_docs", &json!({ "doc_ids": ["handbook:pay.md"] }));
    let uri = json!({ "uri": "collections://handbook/handbook%3Apay.md" });
    let read = client.exchange(&crate::support::json_rpc_request("resources/read", &uri));
    let seen = [
        count(&rag, "results") > 0,
        count(&found["structuredContent"], "results") > 0,
        count(&documents, "docs") > 0,
        read["result"]["contents"].is_array(),
    ];
    assert!(seen.iter().all(|it| *it == seen[0]), "{seen:?} {rag} {found} {documents} {read}");
    seen[0]
}

#[test]
fn tightened_rights_hold_at_start() {
    for (rights, section, sees) in [
        (None, "", false),
        (Some("access_tags = [\"team:a\"]"), "needs team:a", false),
        (Some("owner = \"ada\""), "ada's", false),
        (Some(""), "shared", true),
    ] {
        let handbook = Handbook::synced("");
        let server = handbook.serve(rights);
        assert_eq!(sees_handbook(&handbook.bob(&server)), sees, "{rights:?}");
        let listed = handbook.run(&["collection", "list"]).stdout;
        let checked = handbook.run(&["check"]).stdout;
        let expected = if rights.is_none() { "closed" } else { section };
        assert!(listed.contains(expected) && checked.contains(expected), "{listed}{checked}");
    }
}

#[test]
fn loosened_rights_hold_at_start() {
    let handbook = Handbook::synced("owner = \"ada\"\naccess_tags = [\"team:a\", \"team:b\"]");
    for (rights, tags, sees) in [
        ("owner = \"ada\"\naccess_tags = [\"team:a\", \"team:b\"]", "[\"team:a\"]", false),
        ("owner = \"ada\"\naccess_tags = [\"team:a\"]", "[\"team:a\"]", true),
        ("access_tags = [\"team:c\"]", "[\"team:a\", \"team:b\"]", false),
        ("access_tags = [\"team:c\"]", "[\"team:c\"]", true),
    ] {
        let server = handbook.serve(Some(rights));
        assert_eq!(sees_handbook(&handbook.ada(&server, tags)), sees, "{rights}");
    }
    assert!(sees_handbook(&handbook.bob(&handbook.serve(Some("")))));
}

#[test]
fn changed_settings_file_changes_rights() {
    let handbook = Handbook::synced("");
    let server = handbook.serve(Some(""));
    let bob = handbook.bob(&server);
    let is_found = || {
        let found = bob.call_tool("rag.search_fts", &json!({ "query": "amethyst" }));
        !found["results"].as_array().unwrap().is_empty()
    };
    for rights in [Some("access_tags = [\"team:a\"]"), Some("owner = \"ada\"")] {
        assert!(sees_handbook(&bob), "{rights:?}");
        handbook.write_settings(rights);
        wait_until("the new rights", || !is_found());
        assert!(!sees_handbook(&bob), "{rights:?}");
        let team = handbook.ada(&server, "[\"team:a\"]");
        assert!(sees_handbook(&team), "{rights:?}");
        // A sync of the new rights changes nothing for the callers.
        let synced = handbook.run(&["collection", "sync"]);
        assert_eq!(synced.code, 0, "{synced:?}");
        assert!(!sees_handbook(&bob) && sees_handbook(&team), "{rights:?}");
        handbook.write_settings(Some(""));
        wait_until("the former rights", is_found);
    }
    handbook.write_settings(Some("access_tags = [\"team:a\"]"));
    wait_until("the new rights", || !is_found());
    // A settings file with an error changes nothing.
    handbook.write_settings(Some("access_tags = [\"\"]"));
    server.wait_for_log("collections were not reloaded");
    assert!(!sees_handbook(&bob));
}

#[test]
fn removed_section_closes_collection_until_built() {
    let handbook = Handbook::synced("");
    let server = handbook.serve(Some(""));
    handbook.write_settings(None);
    let bob = handbook.bob(&server);
    let listed = || bob.call_method("tools/list", &json!({})).to_string();
    wait_until("the tools of collections are gone", || !listed().contains("search_knowledgebase"));
    let synced = handbook.run(&["collection", "sync", "handbook"]);
    assert!(synced.code == 1 && synced.stderr.contains("its section was removed"), "{synced:?}");
    let docs = handbook.library.file_path("docs");
    let build = ["collection", "build", "handbook", docs.to_str().unwrap()];
    let built = handbook.run(&build);
    assert_eq!(built.code, 0, "{built:?}");
    wait_until("the collection is open", || listed().contains("search_knowledgebase"));
    assert!(sees_handbook(&bob));
    // The settings describe it again, so that a command cannot give it other rights.
    handbook.write_settings(Some(""));
    let refused = handbook.run(&[&build[..], &["--owner", "ada"]].concat());
    assert!(refused.code == 1 && refused.stderr.contains("the settings describe"), "{refused:?}");
}
