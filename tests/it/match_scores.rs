//! Scores say how much of a query a match has, and matches that the query names come first
//! (`docs/adr/0080-scores-with-a-meaning.md`).

use serde_json::{Value, json};

use crate::support::{Library, McpClient as _, claude_conversation};

/// Notes about ten subjects, of forty words each.
fn library() -> Library {
    let library = Library::new();
    let subjects = [
        ("Rye bread", "rye dough sourdough oven crust"),
        ("Boiler", "boiler pressure valve radiator plumber"),
        ("Greenhouse", "greenhouse tomato seedling watering compost"),
        ("Bicycle", "bicycle chain brake saddle pump"),
        ("Lighthouse", "lighthouse lantern keeper paraffin fog"),
        ("Chess", "chess opening bishop pawn endgame"),
        ("Violin", "violin bow string rosin orchestra"),
        ("Harbour", "harbour mooring rope tide anchor"),
        ("Telescope", "telescope mirror eyepiece comet orbit"),
        ("Beehive", "beehive honey queen swarm smoker"),
    ];
    for (title, words) in subjects {
        let text = format!("# {title}\n{}", format!("{words} kept in good order. ").repeat(4));
        library.import_file("notes", &format!("{title}.md"), text);
    }
    library
}

fn search(client: &impl crate::support::McpClient, query: &str) -> Value {
    client.call_tool("knowledge.search", &json!({ "query": query }))
}

fn titles(answer: &Value) -> Vec<&str> {
    let hits = answer["results"].as_array().unwrap().iter();
    hits.map(|hit| hit["title"].as_str().unwrap()).collect()
}

#[test]
fn question_without_answer_is_not_found() {
    let server = library().serve();
    let client = server.client();
    let query = "kiln temperature for stoneware glaze kept in Reykjavik";
    let answer = search(&client, query);
    assert_eq!(answer["found"], false, "{answer}");
    assert_eq!(answer["_meta"]["found"], false, "{answer}");
    let first = &answer["results"][0];
    assert!(first["score"].as_f64().unwrap() < 0.5, "{first}");
    let missing = ["kiln", "temperature", "stoneware", "glaze", "reykjavik"];
    assert_eq!(first["missing"], json!(missing), "{first}");
    let text = client.call_tool_text("knowledge.search", &json!({ "query": query }));
    assert!(text.contains("None is likely to answer the query"), "{text}");
    assert!(text.contains("[without kiln, temperature, stoneware, glaze, reykjavik]"), "{text}");
    let deep = client.tool_result("search", &json!({ "query": query }));
    assert_eq!(deep["_meta"]["vademecum/found"], false, "{deep}");
    assert_eq!(search(&client, "xylophone")["found"], false, "nothing is no answer");
}

#[test]
fn answered_question_scores_above_the_floor() {
    let server = library().serve();
    let client = server.client();
    for (query, title) in [
        ("boiler pressure valve", "Boiler"),
        ("who lights the lantern of the lighthouse in fog", "Lighthouse"),
        ("comet", "Telescope"),
        ("honey of the queen", "Beehive"),
    ] {
        let answer = search(&client, query);
        assert_eq!((&answer["found"], titles(&answer)[0]), (&json!(true), title), "{answer}");
        assert!(answer["results"][0]["score"].as_f64().unwrap() >= 0.5, "{answer}");
        assert!(answer["_meta"].get("found").is_none(), "{answer}");
    }
    let complete = search(&client, "comet orbit");
    assert!(complete["results"][0].get("missing").is_none(), "{complete}");
    let title = search(&client, "rye bread");
    assert_eq!(title["results"][0]["score"], 1.0, "the title is the query: {title}");
}

#[test]
fn repaired_query_is_found_with_half_the_score() {
    let server = library().serve();
    let answer = search(&server.client(), "telescpoe mirror comet");
    assert_eq!((&answer["found"], titles(&answer)[0]), (&json!(true), "Telescope"), "{answer}");
    assert!(answer["_meta"]["searched_for"].is_string(), "{answer}");
    assert!(answer["results"][0]["score"].as_f64().unwrap() <= 0.5, "{answer}");
}

#[test]
fn words_in_the_title_raise_a_match() {
    let library = library();
    let notes = [
        ("Blanching", "# Blanching\nKale for the winter soup: kale is blanched, kale is frozen."),
        (
            "Winter soup",
            "# Kale soup of the winter months\nKale, potatoes, and three hours of simmering.",
        ),
    ];
    for (name, text) in notes {
        library.import_file("notes", &format!("{name}.md"), text);
    }
    let server = library.serve();
    let answer = search(&server.client(), "hearty kale soup");
    assert_eq!(titles(&answer)[0], "Kale soup of the winter months", "{answer}");
}

#[test]
fn named_person_is_the_sender() {
    let library = library();
    let chat = |title: &str, sender: &'static str| {
        let said = "The ferry to the island leaves at noon, and the ferry is small.";
        let mentions = "Ottilie was told that the ferry to the island leaves; the ferry is small.";
        let text = if sender == "Ottilie" { said } else { mentions };
        let messages = [("Bruno", "Hello."), (sender, text), ("Bruno", "Good.")];
        library.import_file(
            "chats",
            &format!("{title}.json"),
            claude_conversation(title, messages).to_string(),
        );
    };
    chat("Harbour office", "Walter");
    chat("Holidays", "Ottilie");
    let server = library.serve();
    let arguments = json!({ "query": "what did Ottilie say about the ferry" });
    let answer = server.client().call_tool("chats.search", &arguments);
    assert_eq!(titles(&answer)[0], "Holidays", "{answer}");
}

#[test]
fn conversation_does_not_fill_results_of_several_sources() {
    let library = library();
    let messages: Vec<(&'static str, String)> = (0..12)
        .map(|number| ("human", format!("The harbour mooring rope, part {number}.")))
        .collect();
    library.import_file("chats", "k.json", claude_conversation("Ropes", messages).to_string());
    let server = library.serve();
    let query = json!({ "query": "harbour mooring rope", "limit": 3 });
    let mixed = server.client().call_tool("knowledge.search", &query);
    assert!(titles(&mixed).contains(&"Harbour"), "{mixed}");
    let chats = server.client().call_tool("chats.search", &query);
    assert_eq!(titles(&chats), ["Ropes"; 3], "{chats}");
}

#[test]
fn items_of_named_date_come_first() {
    let library = library();
    for (name, date) in
        [("Spring", "2024-03-11"), ("Summer", "2024-07-02"), ("Autumn", "2023-10-05")]
    {
        let text = format!(
            "---\ndate: {date}\n---\n# {name} visit\nThe visit to the orchard, with pears."
        );
        library.import_file("notes", &format!("{name}.md"), text);
    }
    let server = library.serve();
    let client = server.client();
    for (query, title) in [
        ("visit to the orchard in March 2024", "Spring visit"),
        ("visit to the orchard on 2 July 2024", "Summer visit"),
        ("visit to the orchard in 2023", "Autumn visit"),
    ] {
        let answer = search(&client, query);
        assert_eq!(titles(&answer)[0], title, "{answer}");
        assert!(answer["results"].as_array().unwrap().len() >= 3, "nothing is left out: {answer}");
        assert!(answer["_meta"]["dates"].is_array(), "{answer}");
    }
    let text = client.call_tool_text(
        "knowledge.search",
        &json!({ "query": "visit to the orchard in March 2024" }),
    );
    assert!(text.contains("Items of 2024-03-01 to 2024-03-31 come first."), "{text}");
}
