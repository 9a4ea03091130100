//! Two users at one server, who do whatever they like in whatever order.

use serde_json::{Value, json};

use super::Maker;
use crate::support::{
    Library, McpClient, SOURCES, SeededRng, Server, character_card, claude_conversation,
    json_rpc_request, prompts_csv,
};

/// What they do, together.
const STEPS: usize = 1_500;

/// A user, and a word that only they have ever said.
struct User {
    secret: &'static str,
    key: String,
    /// What the server has told them: ids, URIs, handles, cursors.
    told: Vec<String>,
}

/// A library with something in each source; a secret word is in every text.
fn furnish(library: &Library, name: &str, secret: &'static str) -> User {
    let text = format!("Here is the {secret} stone, and a lantern beside it.");
    let title = format!("The {secret} stone");
    let talk = format!("WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v {name}>{text}\n");
    let chat = claude_conversation(&title, [("human", text.as_str()), ("assistant", secret)]);
    library.import_for_user(
        name,
        "notes",
        "note.md",
        &format!("---\ntags: [{secret}]\n---\n{text}"),
    );
    library.import_for_user(name, "media", "talk.vtt", &talk);
    library.import_for_user(name, "chats", "chat.json", &chat.to_string());
    library.import_for_user(name, "characters", "card.json", &character_card(&title, &text));
    let prompt = prompts_csv([(title.as_str(), text.as_str())]);
    library.import_for_user(name, "prompts", "prompts.csv", &prompt);
    User { secret, key: library.create_key_with(name, &["--scope", "write"]), told: Vec::new() }
}

/// Everything in an answer that could be named in a later question.
fn names(answer: &Value, found: &mut Vec<String>) {
    match answer {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_name = ["id", "uri", "session", "nextCursor", "version", "loc"];
                match value {
                    Value::String(text) if is_name.contains(&name.as_str()) => {
                        found.push(text.clone());
                    }
                    value => names(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

impl User {
    /// Asks something, and tells the whole answer.
    fn request(&self, server: &Server, method: &str, params: &Value) -> String {
        let client = server.client().with_bearer_token(&self.key);
        client.exchange(&json_rpc_request(method, params)).to_string()
    }
}

#[test]
fn whatever_two_users_do_in_whatever_order_neither_learns_what_the_other_knows() {
    let library = Library::new();
    let mut users =
        [furnish(&library, "ada", "amethystine"), furnish(&library, "eve", "emeraldine")];
    let server = library.serve_multi_user(
        "[tools]\nwrite = true\n[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n\
         [embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n",
    );
    let tools: Vec<Value> = {
        let client = server.client().with_bearer_token(&users[0].key);
        client.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
    };
    assert!(tools.iter().any(|tool| tool["name"] == "notes.create"), "both may write");
    let mut rng = SeededRng(7_744);
    let mut own = [0, 0];
    for step in 0..STEPS {
        let who = rng.next_below(2);
        // Words that both have, and everything that either was ever told.
        let mut known: Vec<String> =
            ["stone", "lantern", "here", "new"].map(str::to_owned).to_vec();
        known.extend(SOURCES.map(str::to_owned));
        known.extend(users.iter().flat_map(|user| user.told.iter().cloned()));
        let other = users[1 - who].secret;
        // A question that says the word would have it in its answer.
        known.retain(|name| !name.contains(other));
        let (method, mut params) = match rng.next_below(10) {
            0 => ("resources/list", json!({})),
            1 => ("resources/read", json!({ "uri": rng.choose(&known) })),
            2 => ("prompts/list", json!({})),
            _ => {
                let tool = rng.choose(&tools).clone();
                let arguments = Maker { rng: &mut rng, known: &known }.arguments(&tool);
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
        names(&serde_json::from_str(&answer).unwrap(), &mut user.told);
        user.told.sort_unstable();
        user.told.dedup();
        // The latest names are as good as all.
        let many = user.told.len().saturating_sub(200);
        user.told.drain(..many);
    }
    // Otherwise nothing was looked for.
    assert!(own.iter().all(|count| *count > STEPS / 20), "{own:?}");
}
