//! End-to-end tests of searches for the title, the file name, an alias or the folder of an item.

use serde_json::{Value, json};

use crate::support::{
    Library, McpClient, Server, character_card, claude_conversation, prompts_csv,
};

/// Files of a vault: path, and text. Others repeat the words of each title.
const PAGES: [(&str, &str); 12] = [
    ("Queries/Advanced Queries.md", "Filters and sorting."),
    ("Queries/Queries.md", "A first example of a page."),
    ("Queries/Queries for Tables.md", "Rows."),
    ("Setup/E-Mail Setup.md", "An account for each person."),
    ("Setup/Install.md", "# How to install it\nA short page."),
    ("Setup/iPhone15.md", "---\naliases: [Pocket device, The black one]\n---\nA telephone."),
    ("People/Ada.md", "# Ada Lovelace\nShe wrote the first program."),
    ("People/Lovelace.md", "# The family\nA family of poets."),
    ("Garden/2026-05-01.md", "Tomatoes."),
    ("Garden/Crème brûlée.md", "Sugar."),
    ("Garden/C++.md", "A language."),
    ("Garden/東京都.md", "A city."),
];

fn serve_vault() -> Server {
    let library = Library::new();
    for (path, text) in PAGES {
        library.write_file(&format!("vault/{path}"), text);
        let words = path.trim_end_matches(".md").replace('/', " ");
        let repeated = format!("{words} and {text} ").repeat(8);
        library.write_file(&format!("vault/Long/About {}.md", words.len()), &repeated);
        library.write_file(&format!("vault/Long/More on {words}, or not.md"), &repeated);
    }
    let vault = library.file_path("vault");
    let imported = library.run(&["import", "notes", vault.to_str().unwrap()]);
    assert_eq!(imported.code, 0, "{imported:?}");
    library.serve()
}

fn first_title(server: &Server, query: &str) -> String {
    let arguments = json!({ "query": query });
    let found = server.client().call_tool("knowledge.search", &arguments);
    found["results"][0]["title"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn exact_title_comes_first() {
    let server = serve_vault();
    for (query, title) in [
        ("advanced queries", "Advanced Queries"),
        ("queries", "Queries"),
        ("queries for tables", "Queries for Tables"),
        ("email setup", "E-Mail Setup"),
        ("how to install it", "How to install it"),
        ("iphone 15", "iPhone15"),
        ("ada lovelace", "Ada Lovelace"),
        ("the family", "The family"),
        ("creme brulee", "Crème brûlée"),
        ("c++", "C++"),
        ("東京都", "東京都"),
    ] {
        assert_eq!(first_title(&server, query), title, "{query}");
    }
}

#[test]
fn near_title_comes_first() {
    let server = serve_vault();
    for (query, title) in
        [("advanced query", "Advanced Queries"), ("install it", "How to install it")]
    {
        assert_eq!(first_title(&server, query), title, "{query}");
    }
}

#[test]
fn file_name_alias_and_folder_find_note() {
    let server = serve_vault();
    for (query, title) in [
        ("install", "How to install it"),
        ("lovelace", "The family"),
        ("pocket device", "iPhone15"),
        ("the black one", "iPhone15"),
        ("2026-05-01", "2026-05-01"),
    ] {
        assert_eq!(first_title(&server, query), title, "{query}");
    }
    let arguments = json!({ "query": "folder:people", "limit": 50 });
    let found = server.client().call_tool("notes.search", &arguments);
    let titles = found["results"].as_array().unwrap().iter().map(|hit| hit["title"].clone());
    let mut titles: Vec<_> = titles.collect();
    titles.sort_by_key(ToString::to_string);
    assert_eq!(titles, ["Ada Lovelace", "The family"]);
}

#[test]
fn scores_of_titles_are_ordered_on_every_page() {
    let server = serve_vault();
    let page = |limit: usize, offset: usize| {
        let arguments = json!({ "query": "queries", "limit": limit, "offset": offset });
        let found = server.open_session().call_tool("notes.search", &arguments);
        let hits = found["results"].as_array().unwrap().clone();
        let hit = |hit: &Value| (hit["uri"].to_string(), hit["score"].as_f64().unwrap());
        hits.iter().map(hit).collect::<Vec<_>>()
    };
    let all = page(20, 0);
    assert_eq!(all[0].1, 1.0);
    assert!(all.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{all:?}");
    for (start, end) in [(0, 1), (0, 3), (1, 4), (3, 6)] {
        assert_eq!(page(end - start, start), all[start..end], "{start}");
    }
}

#[test]
fn title_comes_first_in_every_source() {
    let library = Library::new();
    let words = "The lantern room of the keeper and the lantern room. ".repeat(6);
    for number in 0..4 {
        library.import_file("notes", &format!("{number}.md"), format!("# Note {number}\n{words}"));
    }
    library.import_file("media", "m.md", "# Lantern room\nOil.");
    library.import_file("prompts", "p.csv", prompts_csv([("Keeper of oil", "Answer.")]));
    library.import_file("characters", "c.json", character_card("The keeper", "Old."));
    library.import_file(
        "chats",
        "k.json",
        claude_conversation("Room of the keeper", [("human", "Hello.")]).to_string(),
    );
    let server = library.serve();
    for query in ["lantern room", "keeper of oil", "the keeper", "room of the keeper"] {
        assert_eq!(first_title(&server, query).to_lowercase(), query, "{query}");
    }
}

#[test]
fn document_with_title_comes_first_in_collection() {
    let library = Library::new();
    let words = "The lantern room of the keeper and the lantern room. ".repeat(6);
    for number in 0..4 {
        library.write_file(&format!("docs/{number}.md"), format!("# Page {number}\n{words}"));
    }
    library.write_file("docs/room.md", "# Lantern room\nOil.");
    let docs = library.file_path("docs");
    let built = library.run(&["collection", "build", "docs", docs.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let server = library.serve();
    let arguments = json!({ "query": "lantern room", "sources": ["collections"] });
    let found = server.client().call_tool("knowledge.search", &arguments);
    assert_eq!(found["results"][0]["title"], "Lantern room", "{found}");
}

#[test]
fn renamed_file_is_found_by_its_new_name() {
    let library = Library::new();
    let vault = library.file_path("vault");
    let import = || library.run(&["import", "notes", vault.to_str().unwrap()]);
    let old = library.write_file("vault/Barnacle.md", "# A heading\nText.");
    assert_eq!(import().code, 0);
    std::fs::rename(&old, vault.join("Limpet.md")).unwrap();
    assert_eq!(import().code, 0);
    let found = |query: &str| library.run(&["search", "--json", query]).stdout.contains("notes://");
    assert_eq!((found("limpet"), found("barnacle")), (true, false));
}
