//! End-to-end tests of `completion/complete` for resource templates and prompts.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, claude_conversation, prompts_csv};

fn request_completion(
    caller: &impl McpClient,
    reference: &Value,
    argument: &str,
    typed: &str,
) -> Value {
    let params = json!({ "ref": reference, "argument": { "name": argument, "value": typed } });
    caller.call_method("completion/complete", &params)["completion"].take()
}

fn prompt_reference(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn template_reference(source: &str) -> Value {
    json!({ "type": "ref/resource", "uri": format!("{source}://{{id}}") })
}

fn completion_values(completion: &Value) -> Vec<&str> {
    completion["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

/// Creates a library with a few items in most sources.
fn bakery_library() -> Library {
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
fn ids_are_completed_by_id_or_title() {
    let library = bakery_library();
    let (server, pipe) = (library.serve(), library.open_stdio());
    for (source, typed, count) in
        [("notes", "ry", 2), ("media", "rye", 1), ("chats", "RYE", 2), ("prompts", "rye exp", 1)]
    {
        let found = request_completion(&server.client(), &template_reference(source), "id", typed);
        assert_eq!(
            (&found["total"], &found["hasMore"]),
            (&json!(count), &json!(false)),
            "{source}"
        );
        assert_eq!(
            request_completion(&server.open_websocket(), &template_reference(source), "id", typed),
            found
        );
        assert_eq!(
            request_completion(
                &server.stateless_client(),
                &template_reference(source),
                "id",
                typed
            ),
            found
        );
        assert_eq!(request_completion(&pipe, &template_reference(source), "id", typed), found);
        for id in completion_values(&found) {
            let uri = format!("{source}://{id}");
            pipe.call_method("resources/read", &json!({ "uri": uri }));
            let begun: String = id.chars().take(4).collect();
            let by_id = request_completion(&pipe, &template_reference(source), "id", &begun);
            assert!(completion_values(&by_id).contains(&id), "{source} {begun}: {by_id}");
        }
    }
    assert_eq!(
        completion_values(&request_completion(&pipe, &template_reference("media"), "id", "1")),
        ["1"]
    );
    assert_eq!(
        completion_values(&request_completion(&pipe, &template_reference("characters"), "id", "")),
        Vec::<&str>::new()
    );
}

#[test]
fn empty_prefix_completes_to_hundred_newest_ids() {
    let library = Library::with_notes((0..120).map(|number| (format!("Note {number}"), "Text.")));
    let server = library.serve();
    let all = request_completion(&server.client(), &template_reference("notes"), "id", "");
    assert_eq!(
        (completion_values(&all).len(), &all["total"], &all["hasMore"]),
        (100, &json!(120), &json!(true))
    );
    library.import_file("notes", "Newest.md", "Text.");
    let newest = server.client().only_hit("notes.search", &json!({ "query": "newest" }));
    let all = request_completion(&server.client(), &template_reference("notes"), "id", "");
    assert_eq!(
        (completion_values(&all)[0], &all["total"]),
        (newest["id"].as_str().unwrap(), &json!(121))
    );
    let few = request_completion(&server.client(), &template_reference("notes"), "id", "note 11");
    assert_eq!((&few["total"], &few["hasMore"]), (&json!(11), &json!(false)), "{few}");
}

#[test]
fn prompt_arguments_are_completed() {
    let server = bakery_library().serve();
    let client = server.client();
    let found = |name: &str, argument: &str, typed: &str| {
        request_completion(&client, &prompt_reference(name), argument, typed)
    };
    let talks = found("summarize_conversation", "id", "sour");
    let [id] = completion_values(&talks)[..] else { panic!("{talks}") };
    let read = client.call_method("resources/read", &json!({ "uri": format!("chats://{id}") }));
    assert!(read.to_string().contains("Sour rye"), "{read}");
    assert_eq!(completion_values(&found("research", "keyword", "")), ["baking", "daily", "walks"]);
    assert_eq!(completion_values(&found("research", "keyword", "DA")), ["daily"]);
    assert_eq!(completion_values(&found("research", "media_type", ""))[0], "markdown");
    assert_eq!(completion_values(&found("research", "media_type", "Mark")), ["markdown"]);
}

#[test]
fn unknown_references_have_no_completions() {
    let server = bakery_library().serve();
    let nothing = json!({ "values": [], "total": 0, "hasMore": false });
    for (reference, argument) in [
        (prompt_reference("test_prompt_with_arguments"), "arg1"),
        (prompt_reference("research"), "topic"),
        (prompt_reference("Baker"), "id"),
        (template_reference("recipes"), "id"),
        (template_reference("notes"), "name"),
        (json!({ "type": "ref/resource", "uri": "media://types" }), "id"),
    ] {
        let found = request_completion(&server.client(), &reference, argument, "r");
        assert_eq!(found, nothing, "{reference} {argument}");
    }
    let odd = json!({ "ref": { "type": "ref/odd" }, "argument": { "name": "a", "value": "" } });
    assert_eq!(server.client().expect_error("completion/complete", &odd).0, -32_602);
}
