//! Isolation of two users of one server, checked with randomized requests in random order.

use serde_json::{Value, json};

use super::ArgumentGenerator;
use crate::support::{
    Library, McpClient, SOURCES, SeededRng, Server, character_card, claude_conversation,
    json_rpc_request, prompts_csv,
};

/// Total number of requests of both users.
const TOTAL_REQUESTS: usize = 1_500;

/// A user, and a secret word that occurs only in the texts of this user.
struct TestUser {
    secret: &'static str,
    key: String,
    /// Ids, URIs, session handles and cursors that the server has returned to this user.
    returned_names: Vec<String>,
}

/// Imports one item into each source; the text of every item contains the secret word.
fn create_user(library: &Library, name: &str, secret: &'static str) -> TestUser {
    let text = format!("Here is the {secret} stone, and a lantern beside it.");
    let title = format!("The {secret} stone");
    let transcript = format!("WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v {name}>{text}\n");
    let chat = claude_conversation(&title, [("human", text.as_str()), ("assistant", secret)]);
    library.import_for_user(
        name,
        "notes",
        "note.md",
        &format!("---\ntags: [{secret}]\n---\n{text}"),
    );
    library.import_for_user(name, "media", "talk.vtt", &transcript);
    library.import_for_user(name, "chats", "chat.json", &chat.to_string());
    library.import_for_user(name, "characters", "card.json", &character_card(&title, &text));
    let prompt = prompts_csv([(title.as_str(), text.as_str())]);
    library.import_for_user(name, "prompts", "prompts.csv", &prompt);
    TestUser {
        secret,
        key: library.create_key_with(name, &["--scope", "write"]),
        returned_names: Vec::new(),
    }
}

/// Collects all values of a reply that a later request could refer to.
fn collect_names(answer: &Value, found: &mut Vec<String>) {
    match answer {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_name = ["id", "uri", "session", "nextCursor", "version", "loc"];
                match value {
                    Value::String(text) if is_name.contains(&name.as_str()) => {
                        found.push(text.clone());
                    }
                    value => collect_names(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_names(value, found)),
        _ => {}
    }
}

impl TestUser {
    /// Sends a request as this user and returns the full reply as text.
    fn request(&self, server: &Server, method: &str, params: &Value) -> String {
        let client = server.client().with_bearer_token(&self.key);
        client.exchange(&json_rpc_request(method, params)).to_string()
    }
}

#[test]
fn random_requests_never_disclose_other_users_data() {
    let library = Library::new();
    let mut users =
        [create_user(&library, "ada", "amethystine"), create_user(&library, "eve", "emeraldine")];
    let server = library.serve_multi_user(
        "[tools]\nwrite = true\n[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n\
         [embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n",
    );
    let tools: Vec<Value> = {
        let client = server.client().with_bearer_token(&users[0].key);
        client.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
    };
    assert!(
        tools.iter().any(|tool| tool["name"] == "notes.create"),
        "both users have the write scope"
    );
    let mut rng = SeededRng(7_744);
    let mut own = [0, 0];
    for step in 0..TOTAL_REQUESTS {
        let who = rng.next_below(2);
        // Words that both users have, and all values that the server has returned to either user.
        let mut known: Vec<String> =
            ["stone", "lantern", "here", "new"].map(str::to_owned).to_vec();
        known.extend(SOURCES.map(str::to_owned));
        known.extend(users.iter().flat_map(|user| user.returned_names.iter().cloned()));
        let other = users[1 - who].secret;
        // A request that contains the secret word would have it echoed in the reply.
        known.retain(|name| !name.contains(other));
        let (method, mut params) = match rng.next_below(10) {
            0 => ("resources/list", json!({})),
            1 => ("resources/read", json!({ "uri": rng.choose(&known) })),
            2 => ("prompts/list", json!({})),
            _ => {
                let tool = rng.choose(&tools).clone();
                let arguments = ArgumentGenerator { rng: &mut rng, known_texts: &known }
                    .generate_arguments(&tool);
                ("tools/call", json!({ "name": tool["name"], "arguments": arguments }))
            }
        };
        if params["name"] == "notes.create" && params["arguments"].is_object() {
            let text = format!("A note on {} things like a stone.", users[who].secret);
            params["arguments"]["content"] = text.into();
        }
        let answer = users[who].request(&server, method, &params);
        assert!(!answer.contains(other), "step {step}: {method} {params}: {answer}");
        if answer.contains(users[who].secret) {
            own[who] += 1;
        }
        let user = &mut users[who];
        collect_names(&serde_json::from_str(&answer).unwrap(), &mut user.returned_names);
        user.returned_names.sort_unstable();
        user.returned_names.dedup();
        // The most recent values are sufficient.
        let many = user.returned_names.len().saturating_sub(200);
        user.returned_names.drain(..many);
    }
    // The test is meaningful only if both users find their own texts often enough.
    assert!(own.iter().all(|count| *count > TOTAL_REQUESTS / 20), "{own:?}");
}
