//! Size limits, in bytes, of the output that clients pay for: the tool list, which is part of every
//! conversation, and the text of each result.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, character_card, claude_conversation, prompts_csv};

/// Maximum size of the `tools/list` result, in bytes.
const MAX_TOOL_LIST_BYTES: usize = 12_288;
/// Maximum size of the text of ten hits, in bytes.
const MAX_TEN_HITS_BYTES: usize = 4_096;

#[test]
fn tool_list_stays_within_size_limit() {
    let server = Library::new().serve();
    for client in [
        server.client(),
        server.open_session_named("openai-mcp"),
        server.open_session_named("claude-ai"),
    ] {
        let listed = client.call_method("tools/list", &json!({}));
        assert!(listed["tools"].as_array().unwrap().len() >= 13);
        let bytes = listed.to_string().len();
        assert!(bytes <= MAX_TOOL_LIST_BYTES, "{bytes} bytes of {MAX_TOOL_LIST_BYTES}");
    }
}

/// Returns a long title, as real documents have them.
fn long_title(number: usize) -> String {
    format!(
        "Minutes of the {number}th meeting of the working group on the restoration of the old \
         harbour lighthouse, its lantern room and the keeper\u{2019}s cottage (second draft)"
    )
}

fn long_text(number: usize) -> String {
    let before =
        "The chair opened the meeting and thanked everybody for coming. ".repeat(number % 5);
    format!(
        "{before}It was agreed that the lantern has to be cleaned before the winter, because the \
         brackish spray leaves a crust of salt on the panes. {}",
        "Further points were put off until the next meeting of the group. ".repeat(20)
    )
}

fn meeting_minutes_library() -> Library {
    let library = Library::new();
    for number in 0..12 {
        library.write_file(
            &format!("notes/{number}.md"),
            format!("# {}\n{}", long_title(number), long_text(number)),
        );
        library.write_file(
            &format!("media/{number}.md"),
            format!("# {}\n{}", long_title(number), long_text(number)),
        );
        library.write_file(
            &format!("characters/{number}.json"),
            character_card(&long_title(number), &long_text(number)),
        );
    }
    let chats = (0..12).map(|number| {
        let texts = ["What was agreed?".to_owned(), long_text(number)];
        claude_conversation(&long_title(number), ["human", "assistant"].into_iter().zip(texts))
    });
    library.write_file("chats/chats.json", Value::from(chats.collect::<Vec<_>>()).to_string());
    let named: Vec<(String, String)> =
        (0..12).map(|number| (long_title(number), long_text(number))).collect();
    let named = named.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    library.write_file("prompts/prompts.csv", prompts_csv(named));
    library.import_folders();
    library
}

const SEARCH_TOOLS: [&str; 6] = [
    "knowledge.search",
    "notes.search",
    "media.search",
    "chats.search",
    "characters.search",
    "prompts.search",
];

#[test]
fn ten_hits_fit_size_limit_and_show_match() {
    let server = meeting_minutes_library().serve();
    let client = server.client();
    for tool in SEARCH_TOOLS {
        for highlight in [false, true] {
            let arguments = json!({
                "query": "brackish lantern crust", "limit": 10, "highlight": highlight,
            });
            let found = client.call_tool(tool, &arguments);
            assert_eq!(found["results"].as_array().unwrap().len(), 10, "{tool}");
            let text = client.call_tool_text(tool, &arguments);
            assert!(text.len() <= MAX_TEN_HITS_BYTES, "{tool}: {} bytes\n{text}", text.len());
            assert_eq!(text.matches("  ").count(), 10, "{text}");
            let snippets: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
            assert_eq!(snippets.len(), 10, "{tool}: {text}");
            for snippet in snippets {
                assert!(snippet.contains("brackish"), "{tool}: {snippet}\n{text}");
            }
        }
    }
}

#[test]
fn text_of_hit_is_independent_of_page_length() {
    let server = meeting_minutes_library().serve();
    let client = server.client();
    let tell = |limit: usize| {
        let arguments = json!({ "query": "brackish lantern crust", "limit": limit });
        client.call_tool_text("knowledge.search", &arguments)
    };
    let hits = |text: &str| -> Vec<String> {
        let of_hits = |line: &&str| line.starts_with("- ") || line.starts_with("  ");
        text.lines().filter(of_hits).map(ToOwned::to_owned).collect()
    };
    let (short, long) = (hits(&tell(10)), hits(&tell(60)));
    assert_eq!((short.len(), long.len()), (20, 120));
    assert_eq!(long[..20], short);
}

#[test]
fn text_of_ten_cjk_hits_stays_within_limit() {
    let text = "港の古い灯台の修復について話し合いました。".repeat(30);
    let notes = (0..10).map(|number| {
        (
            format!("灯台{number}"),
            format!("# {}{number}\n{text}塩の結晶。{text}", "灯台の記録".repeat(20)),
        )
    });
    let server = Library::with_notes(notes).serve();
    let arguments = json!({ "query": "塩の結晶", "limit": 10 });
    let found = server.client().call_tool("notes.search", &arguments);
    assert_eq!(found["results"].as_array().unwrap().len(), 10);
    let text = server.client().call_tool_text("notes.search", &arguments);
    assert!(
        text.len() <= MAX_TEN_HITS_BYTES && !text.contains('\u{fffd}'),
        "{} bytes\n{text}",
        text.len()
    );
    let shown = text.lines().filter(|line| line.starts_with("  ") && line.contains("結晶")).count();
    assert_eq!(shown, 10, "{text}");
}

/// Simulates a client that reads only the text content of a result.
#[test]
fn text_output_suffices_to_cite_read_and_continue() {
    let server = meeting_minutes_library().serve();
    let client = server.client();
    let query =
        json!({ "query": "brackish", "limit": 5, "sources": ["notes", "media"], "session": "new" });
    let text = client.call_tool_text("knowledge.search", &query);
    let head = text.lines().find(|line| line.starts_with("- ")).unwrap();
    let (place, date) = head.rsplit_once(" — ").unwrap();
    let digits = date.bytes().filter(u8::is_ascii_digit).count();
    assert!(date.len() == 10 && digits == 8, "{head}");
    let (uri, loc) = place.rsplit_once(" — ").unwrap().1.split_once(" loc ").unwrap();
    let loc: Value = serde_json::from_str(loc).unwrap();
    let there = json!({ "id": uri, "retrieval": { "mode": "snippet", "loc": loc } });
    assert!(client.call_tool_text("knowledge.get", &there).contains("brackish"), "{head}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("5 of 24 matches; for more pass offset 5."), "{last}");
    let (_, session) = last.rsplit_once("session: ").unwrap();
    let again = json!({ "query": "brackish", "limit": 5, "session": session });
    assert!(!client.call_tool_text("knowledge.search", &again).contains(uri), "{text}");
}

#[test]
fn long_item_text_states_valid_continuation_arguments() {
    let words = "An endless tale of the sea. ".repeat(5_000);
    let server = Library::with_notes([("tale", words)]).serve();
    let client = server.client();
    let hit = client.only_hit("notes.search", &json!({ "query": "endless" }));
    let text = client.call_tool_text(
        "notes.get",
        &json!({ "note_id": hit["uri"], "retrieval": { "mode": "full" } }),
    );
    let (_, rest) = text.rsplit_once("read on with retrieval ").unwrap();
    let retrieval: Value = serde_json::from_str(rest.trim().strip_suffix(']').unwrap()).unwrap();
    let more =
        client.call_tool("notes.get", &json!({ "note_id": hit["uri"], "retrieval": retrieval }));
    assert_eq!(more["range"]["start"], 100_000, "{more}");
}

#[test]
fn text_reports_empty_results_and_corrected_queries() {
    let server = meeting_minutes_library().serve();
    let client = server.client();
    assert_eq!(
        client.call_tool_text("notes.search", &json!({ "query": "xylophone" })),
        "Nothing was found.\n"
    );
    let suggested = client.call_tool_text("notes.search", &json!({ "query": "brakish" }));
    assert!(suggested.contains("Did you mean: brackish?"), "{suggested}");
    let repaired = client.call_tool_text("knowledge.search", &json!({ "query": "brakish" }));
    assert!(repaired.contains("searched for: brackish"), "{repaired}");
}
