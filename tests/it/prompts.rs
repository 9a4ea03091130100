//! The user's prompts, and a few of ours, as prompts of the protocol.

use serde_json::{Value, json};

use crate::program::{Caller, Library, conversation};

/// Prompts with gaps in both texts, without any, and with one of our names.
const PROMPTS: &str = "\
name,details,system_prompt,prompt
Translate,Into any language.,You speak {{language}} like a {{ kind of person }}.,Translate into {{language}}: {{text}}
greet,,,Say hello to everybody who comes in.
Zebra,Black and white.,Only this.,
";

fn library() -> Library {
    let library = Library::new();
    library.import("prompts", "prompts.csv", PROMPTS);
    library
}

fn names(listed: &Value) -> Vec<&str> {
    let prompts = listed["prompts"].as_array().unwrap();
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap()).collect()
}

fn get(caller: &impl Caller, name: &str, arguments: &Value) -> Value {
    caller.ask("prompts/get", &json!({ "name": name, "arguments": arguments }))
}

/// The only message of a prompt, which is text.
fn said(caller: &impl Caller, name: &str, arguments: &Value) -> String {
    let prompt = get(caller, name, arguments);
    let [message] = prompt["messages"].as_array().unwrap().as_slice() else { panic!("{prompt}") };
    assert_eq!((&message["role"], &message["content"]["type"]), (&json!("user"), &json!("text")));
    message["content"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn prompts_are_listed_ours_first_then_by_name() {
    let server = library().serve();
    let listed = server.client().ask("prompts/list", &json!({}));
    assert_eq!(
        names(&listed),
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
fn gaps_are_filled_and_what_is_filled_in_is_not_looked_through() {
    let library = library();
    let (server, pipe) = (library.serve(), library.pipe());
    let arguments =
        json!({ "language": "{{text}}", "kind of person": "poet", "text": "{{language}} & \"x\"" });
    let expected =
        "You speak {{text}} like a poet.\n\nTranslate into {{text}}: {{language}} & \"x\"";
    assert_eq!(said(&server.client(), "Translate", &arguments), expected);
    assert_eq!(said(&server.alone(), "Translate", &arguments), expected);
    assert_eq!(said(&server.socket(), "Translate", &arguments), expected);
    assert_eq!(said(&pipe, "Translate", &arguments), expected);
    assert_eq!(said(&pipe, "Zebra", &json!({})), "Only this.");
    assert_eq!(get(&pipe, "Translate", &arguments)["description"], "Into any language.");
}

#[test]
fn what_is_missing_or_too_much_is_named() {
    let server = library().serve();
    let client = server.client();
    let fails = |name: &str, arguments: Value| {
        let (code, problem) =
            client.fails("prompts/get", &json!({ "name": name, "arguments": arguments }));
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
fn the_users_own_takes_the_place_of_ours() {
    let library = Library::new();
    let server = library.serve();
    let client = server.client();
    assert!(said(&client, "research", &json!({ "topic": "rye" })).contains("rye"));
    library.import("prompts", "prompts.csv", "name,prompt\nresearch,Look up {{what}}.\n");
    let listed = client.ask("prompts/list", &json!({}));
    assert_eq!(names(&listed), ["summarize_conversation", "research"]);
    assert_eq!(said(&client, "research", &json!({ "what": "rye" })), "Look up rye.");
}

#[test]
fn a_research_names_its_topic_and_the_filters_to_search_with() {
    let server = Library::new().serve();
    let plain = said(&server.client(), "research", &json!({ "topic": "How is rye sour?" }));
    assert!(plain.contains("How is rye sour?") && plain.contains("knowledge.search"), "{plain}");
    assert!(plain.contains("cite") && !plain.contains("filters"), "{plain}");
    let narrow = json!({ "topic": "rye", "keyword": "bread", "media_type": "video" });
    let narrow = said(&server.client(), "research", &narrow);
    let filters = narrow.split("filters: ").nth(1).unwrap();
    let filters = filters.split(".\n").next().unwrap();
    let filters: Value = serde_json::from_str(filters).unwrap();
    // What it names is what the tool takes.
    server.client().call("knowledge.search", &json!({ "query": "rye", "filters": filters }));
    assert_eq!(filters["notes"]["keywords"], json!(["bread"]));
    assert_eq!(filters["media"]["media_types"], json!(["video"]));
}

#[test]
fn a_conversation_is_embedded_to_be_summarized() {
    let library = Library::new();
    let talk =
        conversation("Sour rye", [("human", "Why is rye sour?"), ("assistant", "Bacteria.")]);
    library.import("chats", "chat.json", talk.to_string());
    let server = library.serve();
    let client = server.client();
    let hit = client.only_hit("chats.search", &json!({ "query": "bacteria" }));
    let id = hit["conversation_id"].as_str().unwrap();
    for named in [id.to_owned(), format!("chats://{id}")] {
        let prompt = get(&client, "summarize_conversation", &json!({ "id": named }));
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
fn a_long_conversation_says_where_to_read_on() {
    let library = Library::new();
    let long = "A very long answer. ".repeat(2_000);
    let said = (0..8).map(|number| (if number % 2 == 0 { "human" } else { "assistant" }, &long));
    library.import("chats", "chat.json", conversation("Long", said).to_string());
    let server = library.serve();
    let client = server.client();
    let found = client.call("chats.search", &json!({ "query": "Long", "by": "title" }));
    let id = &found["results"][0]["conversation_id"];
    let prompt = get(&client, "summarize_conversation", &json!({ "id": id }));
    let task = prompt["messages"][1]["content"]["text"].as_str().unwrap();
    let offset = task.split("retrieval.offset ").nth(1).unwrap().split(',').next().unwrap();
    let offset: usize = offset.parse().unwrap();
    let rest = client.item("chats", id, &json!({ "mode": "full", "offset": offset }));
    assert_eq!(rest["range"]["start"], offset, "{}", rest["range"]);
}
