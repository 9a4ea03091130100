//! MCP prompts: the user's own and the built-in ones.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, claude_conversation};

/// Prompts with placeholders in both texts, without placeholders, and without a description.
const PROMPTS_CSV: &str = "\
name,details,system_prompt,prompt
Translate,Into any language.,You speak {{language}} like a {{ kind of person }}.,Translate into {{language}}: {{text}}
greet,,,Say hello to everybody who comes in.
Zebra,Black and white.,Only this.,
";

fn library_with_prompts() -> Library {
    let library = Library::new();
    library.import_file("prompts", "prompts.csv", PROMPTS_CSV);
    library
}

fn prompt_names(listed: &Value) -> Vec<&str> {
    let prompts = listed["prompts"].as_array().unwrap();
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap()).collect()
}

fn get_prompt(caller: &impl McpClient, name: &str, arguments: &Value) -> Value {
    caller.call_method("prompts/get", &json!({ "name": name, "arguments": arguments }))
}

/// Returns the text of a prompt's only message.
fn prompt_text(caller: &impl McpClient, name: &str, arguments: &Value) -> String {
    let prompt = get_prompt(caller, name, arguments);
    let [message] = prompt["messages"].as_array().unwrap().as_slice() else { panic!("{prompt}") };
    assert_eq!((&message["role"], &message["content"]["type"]), (&json!("user"), &json!("text")));
    message["content"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn prompts_list_built_ins_first_then_by_name() {
    let server = library_with_prompts().serve();
    let listed = server.client().call_method("prompts/list", &json!({}));
    assert_eq!(
        prompt_names(&listed),
        ["research", "summarize_conversation", "greet", "Translate", "Zebra"]
    );
    for prompt in listed["prompts"].as_array().unwrap() {
        assert!(!prompt["title"].as_str().unwrap().is_empty(), "{prompt}");
        assert!(!prompt["description"].as_str().unwrap().is_empty(), "{prompt}");
    }
    let translate = &listed["prompts"][3];
    assert_eq!(translate["description"], "Into any language.");
    let gap = |name: &str| json!({ "name": name, "required": true });
    assert_eq!(
        translate["arguments"],
        json!([gap("language"), gap("kind of person"), gap("text")])
    );
    assert_eq!(listed["prompts"][2]["description"], "Say hello to everybody who comes in.");
    assert_eq!(listed["prompts"][2]["arguments"], json!([]));
}

#[test]
fn prompt_placeholders_are_filled_once() {
    let library = library_with_prompts();
    let (server, pipe) = (library.serve(), library.open_stdio());
    let arguments =
        json!({ "language": "{{text}}", "kind of person": "poet", "text": "{{language}} & \"x\"" });
    let expected =
        "You speak {{text}} like a poet.\n\nTranslate into {{text}}: {{language}} & \"x\"";
    assert_eq!(prompt_text(&server.client(), "Translate", &arguments), expected);
    assert_eq!(prompt_text(&server.stateless_client(), "Translate", &arguments), expected);
    assert_eq!(prompt_text(&server.open_websocket(), "Translate", &arguments), expected);
    assert_eq!(prompt_text(&pipe, "Translate", &arguments), expected);
    assert_eq!(prompt_text(&pipe, "Zebra", &json!({})), "Only this.");
    assert_eq!(get_prompt(&pipe, "Translate", &arguments)["description"], "Into any language.");
}

#[test]
fn prompt_errors_name_wrong_arguments() {
    let server = library_with_prompts().serve();
    let client = server.client();
    let fails = |name: &str, arguments: Value| {
        let (code, problem) =
            client.expect_error("prompts/get", &json!({ "name": name, "arguments": arguments }));
        assert_eq!(code, -32_602, "{problem}");
        problem
    };
    let problem = fails("Translate", json!({ "language": "Latin", "kind of person": "x" }));
    assert!(problem.contains("`text` is missing"), "{problem}");
    let problem = fails("greet", json!({ "name": "Ada" }));
    assert!(problem.contains("`name`") && problem.contains("takes none"), "{problem}");
    let problem = fails("research", json!({ "topic": 7 }));
    assert!(problem.contains("`topic`") && problem.contains('7'), "{problem}");
    let problem = fails("research", json!({ "topic": " " }));
    assert!(problem.contains("`topic` is empty"), "{problem}");
    let problem = fails("research", json!({ "keyword": "bread" }));
    assert!(problem.contains("`topic` is missing"), "{problem}");
    let problem = fails("summarize_conversation", json!({ "id": "nowhere" }));
    assert!(problem.contains("nowhere"), "{problem}");
    for (wrong, right) in [("translat", "Translate"), ("RESERCH", "research"), ("zebras", "Zebra")]
    {
        let problem = fails(wrong, json!({}));
        assert!(problem.contains(wrong) && problem.contains(&format!("`{right}`")), "{problem}");
    }
}

#[test]
fn user_prompt_replaces_built_in_prompt() {
    let library = Library::new();
    let server = library.serve();
    let client = server.client();
    assert!(prompt_text(&client, "research", &json!({ "topic": "rye" })).contains("rye"));
    library.import_file("prompts", "prompts.csv", "name,prompt\nresearch,Look up {{what}}.\n");
    let listed = client.call_method("prompts/list", &json!({}));
    assert_eq!(prompt_names(&listed), ["summarize_conversation", "research"]);
    assert_eq!(prompt_text(&client, "research", &json!({ "what": "rye" })), "Look up rye.");
}

#[test]
fn research_prompt_contains_topic_and_filters() {
    let server = Library::new().serve();
    let plain = prompt_text(&server.client(), "research", &json!({ "topic": "How is rye sour?" }));
    assert!(plain.contains("How is rye sour?") && plain.contains("knowledge.search"), "{plain}");
    assert!(plain.contains("cite") && !plain.contains("filters"), "{plain}");
    let narrow = json!({ "topic": "rye", "keyword": "bread", "media_type": "video" });
    let narrow = prompt_text(&server.client(), "research", &narrow);
    let filters = narrow.split("filters: ").nth(1).unwrap();
    let filters = filters.split(".\n").next().unwrap();
    let filters: Value = serde_json::from_str(filters).unwrap();
    // The tool accepts the filters that the prompt suggests.
    server.client().call_tool("knowledge.search", &json!({ "query": "rye", "filters": filters }));
    assert_eq!(filters["notes"]["keywords"], json!(["bread"]));
    assert_eq!(filters["media"]["media_types"], json!(["video"]));
}

#[test]
fn summarize_prompt_embeds_conversation() {
    let library = Library::new();
    let conversation = claude_conversation(
        "Sour rye",
        [("human", "Why is rye sour?"), ("assistant", "Bacteria.")],
    );
    library.import_file("chats", "chat.json", conversation.to_string());
    let server = library.serve();
    let client = server.client();
    let hit = client.only_hit("chats.search", &json!({ "query": "bacteria" }));
    let id = hit["conversation_id"].as_str().unwrap();
    for named in [id.to_owned(), format!("chats://{id}")] {
        let prompt = get_prompt(&client, "summarize_conversation", &json!({ "id": named }));
        let [embedded, task] = prompt["messages"].as_array().unwrap().as_slice() else {
            panic!("{prompt}")
        };
        let resource = &embedded["content"]["resource"];
        assert_eq!(resource["uri"], format!("chats://{id}"));
        assert_eq!(resource["mimeType"], "application/json");
        let content: Value = serde_json::from_str(resource["text"].as_str().unwrap()).unwrap();
        assert_eq!(content["messages"][1]["content"], "Bacteria.");
        let task = task["content"]["text"].as_str().unwrap();
        assert!(task.contains("Summarize") && !task.contains("next_offset"), "{task}");
    }
}

#[test]
fn summarize_prompt_names_offset_of_rest() {
    let library = Library::new();
    let long = "A very long answer. ".repeat(2_000);
    let messages =
        (0..8).map(|number| (if number % 2 == 0 { "human" } else { "assistant" }, &long));
    library.import_file("chats", "chat.json", claude_conversation("Long", messages).to_string());
    let server = library.serve();
    let client = server.client();
    let found = client.call_tool("chats.search", &json!({ "query": "Long", "by": "title" }));
    let id = &found["results"][0]["conversation_id"];
    let prompt = get_prompt(&client, "summarize_conversation", &json!({ "id": id }));
    let task = prompt["messages"][1]["content"]["text"].as_str().unwrap();
    let offset = task.split("retrieval.offset ").nth(1).unwrap().split(',').next().unwrap();
    let offset: usize = offset.parse().unwrap();
    let rest = client.get_item("chats", id, &json!({ "mode": "full", "offset": offset }));
    assert_eq!(rest["range"]["start"], offset, "{}", rest["range"]);
}
