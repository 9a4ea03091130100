//! End-to-end tests of sections of notes: `title#heading` in `get`, `links` and `related`.

use serde_json::{Value, json};

use crate::support::{Library, McpClient};

fn library() -> Library {
    Library::with_notes([
        (
            "Rye bread",
            "Intro of the [[Oven]].\n\n# Dough\nFlour and water. [[Flour]]\n## Rest\nTwo hours by the \
             zymurgy chart.\n\n# Crust\nBake hot. [[Oven]] https://example.org/crust ^hot\n",
        ),
        ("C# notes", "# Types\nEverything is an object.\n"),
        ("Flour", "See [[Rye bread#Dough]] and [[Rye bread]].\n"),
        ("Oven", "Old. [[Rye bread#crust|hot]]\n"),
        ("Beer", "A zymurgy chart tells how long the wort rests: hours, two of them.\n"),
    ])
}

fn content(client: &impl McpClient, arguments: &Value) -> String {
    client.call_tool("knowledge.get", arguments)["content"].as_str().unwrap().to_owned()
}

#[test]
fn section_is_read_by_title_and_heading() {
    let server = library().serve();
    let client = server.client();
    for (title, begin, end) in [
        ("Rye bread#Crust", "# Crust", "^hot\n"),
        ("rye bread # crust", "# Crust", "^hot\n"),
        ("Rye bread#Dough", "# Dough", "chart.\n\n"),
        ("Rye bread#Dough#Rest", "## Rest", "chart.\n\n"),
        ("Rye bread#^hot", "Bake hot.", "^hot\n"),
        ("C# notes#Types", "# Types", "object.\n"),
    ] {
        let text = content(&client, &json!({ "title": title }));
        assert!(text.starts_with(begin) && text.ends_with(end), "{title}: {text:?}");
    }
    assert!(content(&client, &json!({ "title": "C# notes" })).contains("Everything is an object."));
    let item = client.call_tool("notes.get", &json!({ "title": "Rye bread#Crust" }));
    let uri = item["meta"]["uri"].as_str().unwrap();
    let by_uri = content(&client, &json!({ "id": format!("{uri}#Crust") }));
    assert_eq!(item["content"], by_uri);
    let by_path = content(&client, &json!({ "path": "Rye bread.md#Crust" }));
    assert_eq!(by_path, by_uri);
    let by_loc = json!({ "id": uri, "retrieval": { "loc": { "heading": "Crust" } } });
    assert_eq!(content(&client, &by_loc), by_uri);
    let short = json!({ "title": "Rye bread#Dough",
        "retrieval": { "mode": "snippet", "snippet_length": 20 } });
    let short = content(&client, &short);
    assert!(short.chars().count() <= 20 && short.contains("Dough"), "{short}");
    let fetched = client.call_tool("fetch", &json!({ "id": format!("{uri}#Crust") }));
    assert_eq!(fetched["text"], by_uri);
}

#[test]
fn unknown_section_names_those_that_exist() {
    let server = library().serve();
    let client = server.client();
    let error = client.expect_tool_error("knowledge.get", &json!({ "title": "Rye bread#Crumb" }));
    assert!(
        error.contains("heading Crumb: this text has the headings Dough; Rest; Crust"),
        "{error}"
    );
    let error = client.expect_tool_error("knowledge.get", &json!({ "title": "No bread#Crust" }));
    assert!(error.contains("no item is named `No bread#Crust`"), "{error}");
    let error = client.expect_tool_error("knowledge.links", &json!({ "uri": "Rye bread#Crumb" }));
    assert!(error.contains("this text has the headings"), "{error}");
}

#[test]
fn links_of_section_are_those_in_it_and_to_it() {
    let server = library().serve();
    let client = server.client();
    let links = client.call_tool("knowledge.links", &json!({ "uri": "Rye bread#Dough" }));
    let titles = |list: &str| -> Vec<&str> {
        let list = links[list].as_array().unwrap();
        list.iter().map(|it| it["title"].as_str().unwrap()).collect()
    };
    assert_eq!((titles("out"), titles("in")), (vec!["Flour"], vec!["Flour"]));
    let crust = client.call_tool("knowledge.links", &json!({ "uri": "Rye bread#Crust" }));
    assert_eq!(crust["out"][0]["title"], "Oven", "{crust}");
    assert_eq!(crust["in"].as_array().unwrap().len(), 1, "{crust}");
    let whole = client.call_tool("knowledge.links", &json!({ "uri": "Rye bread" }));
    assert_eq!(whole["in"].as_array().unwrap().len(), 3, "{whole}");
}

#[test]
fn links_of_a_long_section_are_all_there() {
    let section =
        format!("# Long\n[[Flour]]\n{}\n[[Oven]]\n# Other\n[[Beer]]\n", "Word. ".repeat(40_000));
    let library = library();
    library.import_file("notes", "Long.md", &section);
    let server = library.serve();
    let links = server.client().call_tool("knowledge.links", &json!({ "uri": "Long#Long" }));
    let titles = links["out"].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap());
    assert_eq!(titles.collect::<Vec<_>>(), ["Flour", "Oven"], "{links}");
}

#[test]
fn related_items_of_section_are_like_its_text() {
    let server = library().serve();
    let client = server.client();
    let like = client.call_tool("knowledge.related", &json!({ "uri": "Rye bread#Rest" }));
    assert_eq!(like["results"][0]["title"], "Beer", "{like}");
}

#[test]
fn commands_take_title_and_heading() {
    let library = library();
    let read = library.run(&["get", "Rye bread#Crust"]);
    assert!(read.stdout.starts_with("# Crust") && !read.stdout.contains("Dough"), "{read:?}");
    let links = library.run(&["links", "Rye bread#Dough"]);
    assert!(links.stdout.contains("Links to: 1") && links.stdout.contains("Flour"), "{links:?}");
    assert!(library.run(&["links", "Rye bread"]).stdout.contains("Links to: 2"));
}

#[test]
fn addresses_take_no_room_of_links() {
    let addresses =
        (0..2_213).map(|it| format!("https://example.org/{it}\n")).collect::<Vec<_>>().concat();
    let links = (0..87).map(|it| format!("[[Note {it}]]\n")).collect::<Vec<_>>().concat();
    let mut notes: Vec<(String, String)> =
        (0..87).map(|it| (format!("Note {it}"), "x".to_owned())).collect();
    notes.push(("Hub".to_owned(), addresses + &links));
    let server = Library::with_notes(notes).serve();
    let client = server.client();
    let found = client.call_tool("knowledge.links", &json!({ "uri": "Hub", "limit": 1000 }));
    assert_eq!(found["out"].as_array().unwrap().len(), 87);
    assert_eq!(found["omitted"]["out"], 0, "{}", found["omitted"]);
    let last = client.call_tool("knowledge.links", &json!({ "uri": "Note 86" }));
    assert_eq!(last["in"][0]["title"], "Hub", "{last}");
}

#[test]
fn links_beyond_the_maximum_are_counted() {
    let links = (0..20_050).map(|it| format!("[[n{it}]] ")).collect::<Vec<_>>().concat();
    let server = Library::with_notes([("Hub", links)]).serve();
    let client = server.client();
    let found = client.call_tool("knowledge.links", &json!({ "uri": "Hub", "direction": "out" }));
    assert_eq!(found["omitted"]["unread"], 50, "{}", found["omitted"]);
    let text =
        client.call_tool_text("knowledge.links", &json!({ "uri": "Hub", "direction": "out" }));
    assert!(text.contains("50 further links in it are not read"), "{text}");
}
