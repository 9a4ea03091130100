//! What an argument that is being typed may become.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, claude_conversation, prompts_csv};

fn complete(caller: &impl McpClient, reference: &Value, argument: &str, typed: &str) -> Value {
    let params = json!({ "ref": reference, "argument": { "name": argument, "value": typed } });
    caller.call_method("completion/complete", &params)["completion"].take()
}

fn prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn template(source: &str) -> Value {
    json!({ "type": "ref/resource", "uri": format!("{source}://{{id}}") })
}

fn values(completion: &Value) -> Vec<&str> {
    completion["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

/// A library with a few items in each source.
fn bakery() -> Library {
    let library = Library::new();
    for (name, tags) in
        [("Rye bread", "baking, daily"), ("Rye fields", "walks"), ("Oats", "baking")]
    {
        library.import_file(
            "notes",
            &format!("{name}.md"),
            format!("---\ntags: [{tags}]\n---\n{name}"),
        );
    }
    for (name, text) in
        [("Rye.md", "# Rye\nGrain."), ("Oven.md", "# Oven\nHot."), ("Talk.txt", "Talk\nWords.")]
    {
        library.import_file("media", name, text);
    }
    let talks = ["Sour rye", "Sweet oats", "Rye whisky"]
        .map(|it| claude_conversation(it, [("human", "Hello.")]));
    library.import_file("chats", "chats.json", json!(talks).to_string());
    library.import_file(
        "prompts",
        "prompts.csv",
        prompts_csv([("Baker", "Bake!"), ("Rye expert", "Know!")]),
    );
    library
}

#[test]
fn ids_of_every_source_are_completed_by_id_or_by_title_over_every_transport() {
    let library = bakery();
    let (server, pipe) = (library.serve(), library.open_stdio());
    for (source, typed, count) in
        [("notes", "ry", 2), ("media", "rye", 1), ("chats", "RYE", 2), ("prompts", "rye exp", 1)]
    {
        let found = complete(&server.client(), &template(source), "id", typed);
        assert_eq!(
            (&found["total"], &found["hasMore"]),
            (&json!(count), &json!(false)),
            "{source}"
        );
        assert_eq!(complete(&server.open_websocket(), &template(source), "id", typed), found);
        assert_eq!(complete(&server.stateless_client(), &template(source), "id", typed), found);
        assert_eq!(complete(&pipe, &template(source), "id", typed), found);
        for id in values(&found) {
            let uri = format!("{source}://{id}");
            pipe.call_method("resources/read", &json!({ "uri": uri }));
            let begun: String = id.chars().take(4).collect();
            let by_id = complete(&pipe, &template(source), "id", &begun);
            assert!(values(&by_id).contains(&id), "{source} {begun}: {by_id}");
        }
    }
    assert_eq!(values(&complete(&pipe, &template("media"), "id", "1")), ["1"]);
    assert_eq!(values(&complete(&pipe, &template("characters"), "id", "")), Vec::<&str>::new());
}

#[test]
fn nothing_typed_is_the_newest_and_no_more_than_a_hundred() {
    let library = Library::with_notes((0..120).map(|number| (format!("Note {number}"), "Text.")));
    let server = library.serve();
    let all = complete(&server.client(), &template("notes"), "id", "");
    assert_eq!(
        (values(&all).len(), &all["total"], &all["hasMore"]),
        (100, &json!(120), &json!(true))
    );
    library.import_file("notes", "Newest.md", "Text.");
    let newest = server.client().only_hit("notes.search", &json!({ "query": "newest" }));
    let all = complete(&server.client(), &template("notes"), "id", "");
    assert_eq!((values(&all)[0], &all["total"]), (newest["id"].as_str().unwrap(), &json!(121)));
    let few = complete(&server.client(), &template("notes"), "id", "note 11");
    assert_eq!((&few["total"], &few["hasMore"]), (&json!(11), &json!(false)), "{few}");
}

#[test]
fn the_arguments_of_our_prompts_are_completed() {
    let server = bakery().serve();
    let client = server.client();
    let found =
        |name: &str, argument: &str, typed: &str| complete(&client, &prompt(name), argument, typed);
    let talks = found("summarize_conversation", "id", "sour");
    let [id] = values(&talks)[..] else { panic!("{talks}") };
    let read = client.call_method("resources/read", &json!({ "uri": format!("chats://{id}") }));
    assert!(read.to_string().contains("Sour rye"), "{read}");
    assert_eq!(values(&found("research", "keyword", "")), ["baking", "daily", "walks"]);
    assert_eq!(values(&found("research", "keyword", "DA")), ["daily"]);
    assert_eq!(values(&found("research", "media_type", ""))[0], "markdown");
    assert_eq!(values(&found("research", "media_type", "Mark")), ["markdown"]);
}

#[test]
fn what_is_not_known_has_no_completions() {
    let server = bakery().serve();
    let nothing = json!({ "values": [], "total": 0, "hasMore": false });
    for (reference, argument) in [
        (prompt("test_prompt_with_arguments"), "arg1"),
        (prompt("research"), "topic"),
        (prompt("Baker"), "id"),
        (template("recipes"), "id"),
        (template("notes"), "name"),
        (json!({ "type": "ref/resource", "uri": "media://types" }), "id"),
    ] {
        let found = complete(&server.client(), &reference, argument, "r");
        assert_eq!(found, nothing, "{reference} {argument}");
    }
    let odd = json!({ "ref": { "type": "ref/odd" }, "argument": { "name": "a", "value": "" } });
    assert_eq!(server.client().expect_error("completion/complete", &odd).0, -32_602);
}
