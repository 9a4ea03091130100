//! End-to-end tests of links between items.

use serde_json::{Value, json};

use crate::{
    support::{Library, McpClient, Server},
    writing::{WRITE_ENABLED, create_note},
};

/// Writes the files of a graph, imports its folder and serves the library.
pub(crate) fn serve_graph(files: &[(&str, &str)], settings: &str) -> (Library, Server) {
    let library = Library::new();
    write_graph(&library, files);
    import_graph(&library);
    let server = library.serve_with_settings(settings);
    (library, server)
}

fn write_graph(library: &Library, files: &[(&str, &str)]) {
    for (path, text) in files {
        library.write_file(&format!("graph/{path}"), text);
    }
}

fn import_graph(library: &Library) {
    let graph = library.file_path("graph");
    let done = library.run(&["import", graph.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
}

fn uri_at(client: &impl McpClient, path: &str) -> Value {
    let item = client.call_tool("knowledge.get", &json!({ "path": format!("graph/{path}") }));
    item["meta"]["uri"].clone()
}

pub(crate) fn links(client: &impl McpClient, uri: &Value) -> Value {
    client.call_tool("knowledge.links", &json!({ "uri": uri, "limit": 1000 }))
}

/// Returns the links of a list as `kind title#fragment`, in order.
pub(crate) fn shown(links: &Value, list: &str) -> Vec<String> {
    let of = |link: &Value| {
        let text = |field: &str| link[field].as_str().unwrap_or_default().to_owned();
        let name = if link["title"].is_null() { text("text") } else { text("title") };
        let fragment = text("fragment");
        let mark = if fragment.is_empty() { "" } else { "#" };
        format!("{} {name}{mark}{fragment}", text("kind"))
    };
    links[list].as_array().into_iter().flatten().map(of).collect()
}

pub(crate) fn titles(items: &Value) -> Vec<&str> {
    items.as_array().into_iter().flatten().map(|it| it["title"].as_str().unwrap()).collect()
}

#[test]
fn obsidian_links_resolve_as_in_obsidian() {
    let text = "---\nup: \"[[Oven]]\"\n---\n[[rye bread|loaf]] [[Flour#Types]] ![[Flour#^t1]] \
                [[B/Flour]] [[../Oven]] [x](Flour.md) [x](./Salt%20and%20so.md) [[#Here]] \
                ![[plan.canvas]] [[Nowhere]] [[Nowhere/Flour]] `[[Salt and so]]` %%[[Oven]]%%\n\
                ```\n[[Oven]]\n```\n[[Top]] [[Dunkel]]";
    let (_library, server) = serve_graph(
        &[
            (".obsidian/app.json", "{}"),
            ("A/Start.md", text),
            ("A/Flour.md", "# Flour in A"),
            ("A/Salt and so.md", "Salt."),
            ("A/C/Top.md", "Deep."),
            ("B/Flour.md", "# Flour in B"),
            ("B/Rye Bread.md", "---\naliases: [Dunkel]\n---\nRye."),
            ("Oven.md", "Hot."),
            ("Top.md", "# Top in root"),
            ("plan.canvas", "{\"nodes\":[]}"),
        ],
        "",
    );
    let client = server.client();
    let found = links(&client, &uri_at(&client, "A/Start.md"));
    assert_eq!(
        shown(&found, "out"),
        [
            "property Oven",
            "wikilink Rye Bread",
            "wikilink Flour in A#Types",
            "embed Flour in A#^t1",
            "wikilink Flour in B",
            "wikilink Oven",
            "markdown Flour in A",
            "markdown Salt and so",
            "wikilink Start#Here",
            "wikilink Top in root",
        ]
    );
    assert_eq!(found["out"][1]["count"], 2, "a name and an alias: {found}");
    assert_eq!(shown(&found, "files"), ["embed plan.canvas"]);
    assert_eq!(shown(&found, "unresolved"), ["wikilink Nowhere", "wikilink Nowhere/Flour"]);
    let context = found["out"][1]["context"].as_str().unwrap();
    assert!(context.starts_with("[[rye bread|loaf]] [[Flour#Types]]"), "{context}");
    let oven = links(&client, &uri_at(&client, "Oven.md"));
    assert_eq!(shown(&oven, "in"), ["property Start", "wikilink Start"]);
    assert_eq!(shown(&oven, "out"), [""; 0]);
}

#[test]
fn logseq_links_resolve_as_in_logseq() {
    let id = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
    let text = format!(
        "- [[Bread/Rye]] #flour #[[Two words]] [[ROGGEN]]\n- [[Jan 31st, 2026]] [[31-01-2026]]\n\
         - (({id})) {{{{embed (({id}))}}}}\n- [[C# basics]] [[Missing]] #missing"
    );
    let block = format!("alias:: Roggen\n\n- Knead.\n  id:: {id}");
    let (_library, server) = serve_graph(
        &[
            ("logseq/config.edn", "{}"),
            ("pages/Start.md", &text),
            ("pages/Bread___Rye.md", &block),
            ("pages/Flour.md", "- White."),
            ("pages/two words.md", "- x"),
            ("pages/C%23 basics.md", "- x"),
            ("journals/2026_01_31.md", "- Baked."),
        ],
        "",
    );
    let client = server.client();
    let found = links(&client, &uri_at(&client, "pages/Start.md"));
    assert_eq!(
        shown(&found, "out"),
        [
            "wikilink Bread/Rye",
            "tag Flour",
            "tag two words",
            "wikilink 2026-01-31",
            "block Bread/Rye",
            "embed Bread/Rye",
            "wikilink C# basics",
        ]
    );
    assert_eq!((&found["out"][0]["count"], &found["out"][3]["count"]), (&json!(2), &json!(2)));
    assert_eq!(shown(&found, "unresolved"), ["wikilink Missing"]);
}

#[test]
fn org_links_resolve_by_file_and_id() {
    let (_library, server) = serve_graph(
        &[
            ("start.org", "* Start\n[[file:sub/rye.org::*Crust][rye]] [[id:ab-1]] [[id:none-00]]"),
            ("sub/rye.org", "#+title: Rye\n* Crust"),
            ("salt.org", ":PROPERTIES:\n:ID: AB-1\n:END:\n#+title: Salt\n"),
        ],
        "",
    );
    let client = server.client();
    let found = links(&client, &uri_at(&client, "start.org"));
    assert_eq!(shown(&found, "out"), ["markdown Rye#Crust", "block Salt"]);
}

#[test]
fn link_is_resolved_while_its_target_exists() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = create_note(&client, "Bread", "See [[Flour]] and [[bread]].");
    let open = |expected: &[&str]| {
        assert_eq!(shown(&links(&client, &note["uri"]), "unresolved"), expected);
    };
    open(&["wikilink Flour"]);
    let flour = create_note(&client, "Flour", "White.");
    open(&[]);
    let found = links(&client, &flour["uri"]);
    assert_eq!(shown(&found, "in"), ["wikilink Bread"]);
    let rename = |version: i64, title: &str| {
        let change = json!({ "note_id": flour["id"], "version": version, "title": title });
        client.call_tool("notes.update", &change);
    };
    rename(1, "Meal");
    open(&["wikilink Flour"]);
    rename(2, "Flour");
    open(&[]);
    client.call_tool("notes.delete", &json!({ "note_id": flour["id"] }));
    open(&["wikilink Flour"]);
    client.call_tool(
        "notes.update",
        &json!({ "note_id": note["id"], "version": 1, "content": "See nothing." }),
    );
    open(&[]);
}

#[test]
fn renamed_file_keeps_its_item_and_links() {
    let (library, server) = serve_graph(
        &[("Start.md", "[[Old name]]"), ("Old name.md", "Text of the note."), ("Third.md", "x")],
        "",
    );
    let client = server.client();
    let before = uri_at(&client, "Old name.md");
    let from = library.file_path("graph/Old name.md");
    std::fs::rename(&from, library.file_path("graph/New name.md")).unwrap();
    import_graph(&library);
    assert_eq!(uri_at(&client, "New name.md"), before);
    let start = uri_at(&client, "Start.md");
    assert_eq!(shown(&links(&client, &start), "unresolved"), ["wikilink Old name"]);
    // The program that renames a file also changes the links to it.
    library.write_file("graph/Start.md", "[[New name]]");
    import_graph(&library);
    let found = links(&client, &start);
    assert_eq!(shown(&found, "out"), ["wikilink New name"]);
    assert_eq!((&found["out"][0]["uri"], &found["unresolved"]), (&before, &json!([])));
    std::fs::create_dir(library.file_path("graph/Sub")).unwrap();
    std::fs::rename(
        library.file_path("graph/New name.md"),
        library.file_path("graph/Sub/New name.md"),
    )
    .unwrap();
    import_graph(&library);
    assert_eq!(links(&client, &start)["out"][0]["uri"], before);
}

#[test]
fn links_of_one_graph_stay_in_it() {
    let library = Library::new();
    for (path, text) in [
        ("one/Start.md", "[[Index]]"),
        ("two/Index.md", "Index of two."),
        ("two/Start.md", "[[Index]]"),
    ] {
        library.write_file(path, text);
    }
    for folder in ["one", "two"] {
        let folder = library.file_path(folder);
        assert_eq!(library.run(&["import", folder.to_str().unwrap()]).code, 0);
    }
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let uri = |path: &str| {
        client.call_tool("knowledge.get", &json!({ "path": path }))["meta"]["uri"].clone()
    };
    assert_eq!(shown(&links(&client, &uri("one/Start.md")), "unresolved"), ["wikilink Index"]);
    assert_eq!(shown(&links(&client, &uri("two/Start.md")), "out"), ["wikilink Index"]);
    let note = create_note(&client, "Mine", "[[Index]]");
    assert_eq!(shown(&links(&client, &note["uri"]), "out"), ["wikilink Index"]);
}

#[test]
fn addresses_and_uris_and_quotes_connect_sources() {
    let library = Library::new();
    let sentence = "The crumb of a rye loaf needs a whole day before anybody can cut it well.";
    let page = format!(
        "<html><head><title>Rye</title><link rel=\"canonical\" \
         href=\"https://example.org/rye/\"></head><body><p>Long ago.</p><p>{sentence}</p></body>\
         </html>"
    );
    library.import_file("media", "rye.html", page);
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let hit = client.only_hit("media.search", &json!({ "query": "crumb" }));
    let uri = hit["uri"].as_str().unwrap();
    let quote = format!("> {}\n> {}\n", &sentence[..30], &sentence[30..]).replace("> \n", "");
    let text =
        format!("http://www.example.org/rye#top {uri} https://example.com/shared?a=1\n\n{quote}");
    let note = create_note(&client, "Quoting", &text);
    create_note(&client, "Sharing", "<https://example.com/shared?a=1>");
    let found = links(&client, &note["uri"]);
    assert_eq!(shown(&found, "out"), ["address Rye", "uri Rye", "quote Rye"], "{found}");
    assert_eq!(shown(&found, "shared"), ["address Sharing"]);
    assert_eq!(found["unresolved"], json!([]));
    let found = links(&client, &hit["uri"]);
    assert_eq!(shown(&found, "in"), ["address Quoting", "uri Quoting", "quote Quoting"], "{found}");
}

#[test]
fn second_step_is_listed_within_its_budget() {
    let mut files = vec![("Hub.md".to_owned(), String::new())];
    for number in 0..5 {
        files[0].1.extend(["[[Leaf ", &number.to_string(), "]] "]);
        let more = format!("[[Far {number}]] [[Farther {number}]] [[Hub]]");
        files.push((format!("Leaf {number}.md"), more));
        files.push((format!("Far {number}.md"), "x".to_owned()));
        files.push((format!("Farther {number}.md"), "x".to_owned()));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let (_library, server) = serve_graph(&files, "");
    let client = server.client();
    let call = |limit: usize| {
        let arguments = json!({
            "uri": uri_at(&client, "Hub.md"), "direction": "out", "depth": 2, "limit": limit,
        });
        client.call_tool("knowledge.links", &arguments)
    };
    let found = call(50);
    assert!(found.get("in").is_none(), "{found}");
    for (number, leaf) in found["out"].as_array().unwrap().iter().enumerate() {
        assert_eq!(titles(&leaf["out"]), [format!("Far {number}"), format!("Farther {number}")]);
    }
    assert_eq!(found["omitted"]["second"], 0);
    let found = call(3);
    assert_eq!(shown(&found, "out").len(), 3);
    assert_eq!((&found["omitted"]["out"], &found["omitted"]["second"]), (&json!(2), &json!(3)));
    assert_eq!(titles(&found["out"][1]["out"]), ["Far 1"]);
}

#[test]
fn hidden_items_are_absent_from_links() {
    let secret = "---\ntags: [private]\n---\n[[Open]] https://example.org/x\n> The words that \
                  nobody but the owner of this library may ever get to read.";
    let files = [
        ("Open.md", "[[Secret]] [[Both]] [[Public]] https://example.org/x"),
        ("Public.md", "The words that nobody but the owner of this library may ever get to read."),
        ("Both.md", "Public one."),
        ("diary/Secret.md", secret),
        ("diary/Newer.md", "---\ntags: [private]\nsupersedes: Public\n---\nNew."),
    ];
    let (library, server) = serve_graph(&files, "[[deny]]\ntags = [\"private\"]");
    let client = server.client();
    let found = links(&client, &uri_at(&client, "Open.md"));
    assert_eq!(shown(&found, "out"), ["wikilink Both", "wikilink Public"]);
    assert_eq!(shown(&found, "unresolved"), ["wikilink Secret"]);
    assert_eq!((shown(&found, "in").len(), shown(&found, "shared").len()), (0, 0));
    let found = links(&client, &uri_at(&client, "Public.md"));
    assert_eq!(shown(&found, "in"), ["wikilink Open"]);
    let item = client.call_tool("notes.get", &json!({ "title": "Public" }));
    assert_eq!(
        (&item["backlinks"]["total"], &item["meta"]["superseded_by"]),
        (&json!(1), &Value::Null)
    );
    let hit = client.only_hit("notes.search", &json!({ "query": "owner" }));
    assert!(hit.get("superseded_by").is_none(), "{hit}");
    // The owner's own commands see all.
    let owner = library.run(&["links", "Public"]);
    for name in ["Secret", "Newer", "Open"] {
        assert!(owner.stdout.contains(name), "{owner:?}");
    }
    let secret = library.run(&["links", "Secret", "--json"]);
    let secret: Value = serde_json::from_str(&secret.stdout).unwrap();
    let uri = secret["item"]["uri"].clone();
    for tool in ["knowledge.links", "knowledge.search"] {
        let arguments = if tool == "knowledge.links" {
            json!({ "uri": uri })
        } else {
            json!({ "query": "words", "linked_from": uri })
        };
        let error = client.expect_tool_error(tool, &arguments);
        assert!(error.contains("no item"), "{error}");
    }
}

#[test]
fn read_item_names_its_backlinks() {
    let mut files = vec![("Hub.md".to_owned(), "[[Hub]]".to_owned())];
    files.extend((0..7).map(|number| (format!("Leaf {number}.md"), "[[Hub]] [[hub]]".to_owned())));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let (_library, server) = serve_graph(&files, "");
    let client = server.client();
    for tool in ["notes.get", "knowledge.get"] {
        let item = client.call_tool(tool, &json!({ "title": "Hub" }));
        assert_eq!(
            (&item["backlinks"]["total"], titles(&item["backlinks"]["items"]).len()),
            (&json!(7), 5)
        );
        let text = client.call_tool_text(tool, &json!({ "title": "Hub" }));
        assert!(text.contains("[linked from 7: Leaf "), "{text}");
    }
    let leaf = client.call_tool("notes.get", &json!({ "title": "Leaf 1" }));
    assert!(leaf.get("backlinks").is_none(), "{leaf}");
}

#[test]
fn search_finds_only_linked_items() {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let mut uris = client.search_uris("knowledge.search", &json!({ "query": "thimble" }));
    assert_eq!(uris.len(), 5, "{uris:?}");
    // A message of a conversation has a URI of its own.
    let whole = |uri: &String| uri.split('#').next().unwrap().to_owned();
    uris.sort();
    let start =
        create_note(&client, "Start", &uris.iter().map(whole).collect::<Vec<_>>().join(" "));
    create_note(&client, "Other", "Another thimble.");
    let some = create_note(&client, "Some", &whole(&uris[1]));
    let linked = |uri: &Value| {
        let query = json!({ "query": "thimble", "linked_from": uri });
        let mut found = client.search_uris("knowledge.search", &query);
        found.sort();
        found
    };
    assert_eq!(linked(&start["uri"]), uris);
    assert_eq!(linked(&some["uri"]), uris[1..2]);
    let none = create_note(&client, "None", "Links to nothing.");
    assert!(linked(&none["uri"]).is_empty());
}

#[test]
fn bad_arguments_are_named() {
    let library = Library::new();
    let server = library.serve();
    let client = server.client();
    for (arguments, part) in [
        (json!({ "uri": "notes://none" }), "no item `notes://none`"),
        (json!({ "uri": "collections://a/b" }), "documents of collections"),
        (json!({ "uri": "notes://none", "depth": 3 }), "depth"),
        (json!({ "uri": "nowhere" }), "uri"),
    ] {
        let error = client.expect_tool_error("knowledge.links", &arguments);
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

#[test]
fn tag_includes_the_tags_below_it() {
    let (_library, server) = serve_graph(
        &[("a.md", "Oven. #work/plans/2026"), ("b.md", "Oven. #Work"), ("c.md", "Oven. #workshop")],
        "",
    );
    let client = server.client();
    for (tag, expected) in [("work", 2), ("WORK/plans", 1), ("workshop", 1), ("plans", 0)] {
        let query = json!({ "query": "oven", "tags": [tag] });
        let found = client.search_uris("knowledge.search", &query);
        assert_eq!(found.len(), expected, "{tag}: {found:?}");
        let listed = client.call_tool("knowledge.list", &json!({ "tags": [tag] }));
        assert_eq!(listed["total"], expected, "{tag}: {listed}");
    }
}
