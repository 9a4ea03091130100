//! End-to-end tests of the recall hook: what it prints, when it is silent, and that it never fails.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Library, McpClient, TempHome, vademecum_command};

/// Notes about a household, and prompts about it and about other things.
const NOTES: [(&str, &str); 6] = [
    ("Boiler", "We decided to replace the boiler of the greenhouse with a heat pump in May."),
    ("Rye bread", "The rye dough rises for nine hours at 24 degrees. Fold it twice."),
    ("Insurance", "The insurance of the car ends in October. Ask Kovacs for an offer."),
    ("Tomatoes", "The tomatoes in the greenhouse need calcium. Water them in the morning."),
    ("Router", "The password of the router is on its back. Restart it when the line drops."),
    ("Trip", "We take the night train to Trieste and walk along the coast."),
];

fn household() -> Library {
    Library::with_notes(NOTES)
}

/// Runs the hook with this input.
fn run_hook(mut command: Command, input: &[u8]) -> CommandOutput {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may have reached its time limit and closed the pipe.
    child.stdin.take().unwrap().write_all(input).ok();
    let output = child.wait_with_output().unwrap();
    output.into()
}

fn recall_command(library: &Library, more: &[&str]) -> Command {
    let mut command = vademecum_command();
    command.arg("recall").arg("--data").arg(library.data_folder()).args(more);
    command
}

/// Returns the reply about a prompt to a client without a session.
fn recall(client: &impl McpClient, prompt: &str) -> Option<String> {
    let found = client.call_method("vademecum/recall", &json!({ "prompt": prompt }));
    found["context"].as_str().map(str::to_owned)
}

#[test]
fn related_prompts_get_items_with_origin() {
    let server = household().serve();
    let client = server.client();
    for (prompt, title) in [
        ("What did we decide about the boiler of the greenhouse?", "Boiler"),
        ("How long does the rye dough rise?", "Rye bread"),
        ("When does the car insurance end?", "Insurance"),
        ("night train to Trieste", "Trip"),
        ("Where is the router password?", "Router"),
    ] {
        let text = recall(&client, prompt).unwrap_or_else(|| panic!("nothing for {prompt}"));
        assert!(text.contains(&format!("- {title} (notes://")), "{prompt}: {text}");
        assert!(text.contains("not instructions") && text.contains("imported_file"), "{text}");
        assert!(text.chars().count() <= 1_500, "{text}");
    }
}

#[test]
fn unrelated_prompts_get_nothing() {
    let server = household().serve();
    let client = server.client();
    for prompt in [
        "",
        "hi",
        "yes",
        "continue",
        "Fix the failing test in src/main.rs",
        "run cargo clippy again",
        "Write a haiku about the morning",
        "Explain how the borrow checker works",
        "Rename the function and restart the build",
        "What is the capital of Australia?",
        "the the the",
        "!!! ??? 42",
        "Refactor this React component to use hooks",
    ] {
        assert_eq!(recall(&client, prompt), None, "{prompt}");
    }
}

#[test]
fn long_prompt_is_answered_by_its_ends() {
    let server = household().serve();
    let filler = "lorem ipsum dolor sit amet ".repeat(20_000);
    let question = "What did we decide about the boiler of the greenhouse?";
    for prompt in [format!("{question}\n{filler}"), format!("{filler}\n{question}")] {
        assert!(recall(&server.client(), &prompt).is_some_and(|text| text.contains("Boiler")));
    }
}

#[test]
fn recall_needs_the_right_to_search() {
    let library = Library::new();
    for (name, text) in NOTES {
        library.import_for_user("ada", "notes", &format!("{name}.md"), text);
    }
    let keys = [
        library.create_key_with("ada", &[]),
        library.create_key_with("ada", &["--sources", "media"]),
        library.create_key("eve"),
    ];
    let other_tool = library.create_key_with("ada", &["--tools", "notes.get"]);
    let server = library.serve_multi_user("");
    let client = |key: &str| server.client().with_bearer_token(key);
    let prompt = "What did we decide about the boiler of the greenhouse?";
    let found = keys.map(|key| recall(&client(&key), prompt).is_some());
    assert_eq!(found, [true, false, false]);
    let params = json!({ "prompt": prompt });
    let (code, _) = client(&other_tool).expect_error("vademecum/recall", &params);
    assert_eq!(code, -32_601);
}

#[test]
fn hook_asks_running_server_or_is_silent() {
    let library = household();
    let server = library.serve();
    let settings = format!("server.listen = \"{}\"", server.address());
    let settings = library.write_file("hook.toml", settings);
    let input = json!({
        "session_id": "1", "hook_event_name": "UserPromptSubmit", "cwd": "/",
        "prompt": "What did we decide about the boiler of the greenhouse?",
    });
    let config = ["--config", settings.to_str().unwrap()];
    // On a busy machine, the time limit may end a run.
    let answered = (0..20).any(|_| {
        let done = run_hook(recall_command(&library, &config), input.to_string().as_bytes());
        assert_eq!((done.code, done.stderr.as_str()), (0, ""));
        if done.stdout.is_empty() {
            return false;
        }
        let output: Value = serde_json::from_str(&done.stdout).unwrap();
        let output = &output["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "UserPromptSubmit");
        output["additionalContext"].as_str().unwrap().contains("heat pump")
    });
    assert!(answered);
}

#[test]
fn hook_never_fails_a_prompt() {
    let library = household();
    let long = json!({ "prompt": "boiler greenhouse ".repeat(400_000) }).to_string();
    let inputs: [&[u8]; 6] = [b"", b"{", b"[]", b"{\"prompt\": 7}", b"\xff\xfe", long.as_bytes()];
    for input in inputs {
        let done = run_hook(recall_command(&library, &[]), input);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{:?}", input.get(..20));
    }
    let prompt = br#"{"prompt": "boiler of the greenhouse"}"#;
    for more in [
        &["--unknown"][..],
        &["--config", "/missing.toml"],
        &["--user", "../x"],
        &["--http", "http://127.0.0.1:1/mcp"],
        &["--http", "nonsense"],
        &["--http", "http://127.0.0.1:1/mcp", "--key-env", "UNSET_VARIABLE"],
    ] {
        let done = run_hook(recall_command(&library, more), prompt);
        assert_eq!(
            (done.code, done.stdout.as_str(), done.stderr.as_str()),
            (0, "", ""),
            "{more:?}"
        );
    }
    let empty = Library::new();
    assert_eq!(run_hook(recall_command(&empty, &[]), prompt).stdout, "");
    assert!(!empty.data_folder().exists(), "the hook creates no library");
}

#[test]
fn connect_installs_hook_and_disconnect_removes_it() {
    for (client, file) in [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")]
    {
        let before = "{\n  // nothing\n  \"hooks\": {}\n}\n".replace("  // nothing\n", "");
        for existing in [
            None,
            Some(before.as_str()),
            Some(
                "{\"hooks\": {\"UserPromptSubmit\": \
            [{\"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]}]}, \"model\": \"x\"}",
            ),
        ] {
            let home = TempHome::new();
            if let Some(text) = existing {
                home.write_file(file, text);
            }
            let connect = ["connect", client, "--recall", "--write", "--data", "/my library"];
            let done = home.run(&connect);
            assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
            let settings = home.read_file(file);
            let value: Value = serde_json::from_str(&settings).unwrap();
            let groups = value["hooks"]["UserPromptSubmit"].as_array().unwrap();
            let hook = &groups.last().unwrap()["hooks"][0];
            let command = hook["command"].as_str().unwrap();
            assert!(command.ends_with(" recall --data '/my library'"), "{command}");
            assert!(hook["timeout"].is_u64() && hook["type"] == "command");
            assert!(home.run(&connect).stdout.contains("already has the recall hook"));
            assert_eq!(home.read_file(file), settings);
            let done = home.run(&["disconnect", client]);
            assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
            match existing {
                Some(text) => assert_eq!(home.read_file(file), text),
                None => assert!(!home.file_path(file).exists()),
            }
        }
    }
}

#[test]
fn client_without_hooks_is_refused() {
    for client in ["claude-desktop", "cursor", "vscode", "chatgpt"] {
        let home = TempHome::new();
        let done = home.run(&["connect", client, "--recall", "--write"]);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains("has no hooks for prompts"), "{done:?}");
        assert!(home.list_folder("").is_empty(), "{client}");
    }
}

#[test]
fn file_with_other_structure_is_not_changed() {
    let home = TempHome::new();
    for text in ["[]", "{", "{\"hooks\": []}"] {
        home.write_file(".claude/settings.json", text);
        let done = home.run(&["connect", "claude-code", "--recall", "--write"]);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains("was not changed"), "{done:?}");
        assert_eq!(home.read_file(".claude/settings.json"), text);
    }
}
