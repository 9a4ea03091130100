//! End-to-end tests of `max_tokens` in `knowledge.search`: the answer as it is received stays within
//! the budget, and the reply says what is left out, which can be read.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vademecum_tools::estimate_tokens;

use crate::support::{
    HttpClient, Library, McpClient, character_card, claude_conversation, prompts_csv,
};

/// Number of items in the library.
const ITEMS: usize = 36;

/// Returns a library whose items differ in the sizes of title, text and tags, and in script.
fn uneven_library() -> Library {
    let library = Library::new();
    for number in 0..12 {
        let tags: Vec<String> = (0..number * 4).map(|tag| format!("tag-{number}-{tag}")).collect();
        let title = "Thimble ".repeat(1 + number % 5);
        let text = match number % 3 {
            0 => "A thimble. ".to_owned(),
            1 => "The thimble \"of\" brass\tand\nsilver lies here. ".repeat(number * 9),
            _ => format!("thimble {}", "頂針在這裡，很舊。".repeat(number * 20)),
        };
        let tags = tags.join(", ");
        let note = format!("---\ntags: [{tags}]\n---\n# {title}{number}\n\n{text}");
        library.write_file(&format!("notes/{number}.md"), note);
        library.write_file(&format!("media/{number}.md"), format!("# M{number} {title}\n\n{text}"));
        let conversation = claude_conversation(&format!("Talk {number}"), [("human", &text)]);
        library.write_file(&format!("chats/{number}.json"), conversation.to_string());
    }
    library.write_file("characters/other.json", character_card("Other", "Nothing."));
    library.write_file("prompts/other.csv", prompts_csv([("Other", "Nothing.")]));
    library.import_folders();
    library
}

/// Searches and returns the structured content and the estimated tokens of the whole answer.
fn search(client: &HttpClient<'_>, arguments: &Value) -> (Value, usize) {
    let call = json!({ "name": "knowledge.search", "arguments": arguments });
    let received = client.call_method("tools/call", &call);
    assert_eq!(received["isError"], false, "{received}");
    let content = received["structuredContent"].clone();
    let text = received["content"][0]["text"].as_str().unwrap();
    let tokens = estimate_tokens(text) + estimate_tokens(&content.to_string());
    (content, tokens)
}

fn uris(content: &Value) -> Vec<String> {
    let uri = |hit: &Value| hit.get("uri").unwrap_or(&hit["id"]).as_str().unwrap().to_owned();
    content["results"].as_array().unwrap().iter().map(uri).collect()
}

#[test]
fn answers_stay_within_every_budget() {
    let server = uneven_library().serve();
    let client = server.client();
    let (all, _) = search(&client, &json!({ "query": "thimble", "limit": 100 }));
    assert_eq!(uris(&all).len(), ITEMS);
    for options in [
        json!({}),
        json!({ "snippet_length": 1_000, "highlight": true }),
        json!({ "shape": "compact", "snippet_length": 40 }),
        json!({ "limit": 100, "session": "new", "order_by": "recent" }),
    ] {
        let mut arguments = options.as_object().unwrap().clone();
        arguments.insert("query".to_owned(), "thimble".into());
        let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(20);
        let mut last = 0;
        for max_tokens in [1, 90, 250, 400, 777, 1_500, 2_600, 5_000, 9_000, 20_000, 200_000] {
            arguments.insert("max_tokens".to_owned(), max_tokens.into());
            let (found, tokens) = search(&client, &arguments.clone().into());
            let shown = uris(&found).len();
            assert!(shown == 1 || tokens <= max_tokens, "{options}: {tokens} of {max_tokens}");
            assert!(shown >= last.max(1), "{options}: {shown} after {last}");
            last = shown;
            let page = ITEMS.min(usize::try_from(limit).unwrap());
            let left_out = found["_meta"]["left_out"].as_u64().unwrap_or(0);
            assert_eq!(shown as u64 + left_out, page as u64, "{options}, {max_tokens}");
            assert_eq!(found["has_more"], shown < ITEMS);
            let next = if shown < ITEMS { json!(shown) } else { Value::Null };
            assert_eq!(found["next_offset"], next, "{options}, {max_tokens}");
        }
        assert_eq!(last, ITEMS.min(usize::try_from(limit).unwrap()), "{options}");
    }
}

#[test]
fn pages_within_budget_cover_all_results() {
    let server = uneven_library().serve();
    let client = server.client();
    let (mut offset, mut shown) = (json!(0), Vec::new());
    while !offset.is_null() {
        let page =
            json!({ "query": "thimble", "limit": 100, "offset": offset, "max_tokens": 1_200 });
        let (found, _) = search(&client, &page);
        shown.extend(uris(&found));
        offset = found["next_offset"].clone();
    }
    assert_eq!((shown.len(), shown.iter().collect::<BTreeSet<_>>().len()), (ITEMS, ITEMS));
}

#[test]
fn session_shows_later_what_budget_left_out() {
    let server = uneven_library().serve();
    let client = server.client();
    let (mut handle, mut shown) = (json!("new"), BTreeSet::new());
    while shown.len() < ITEMS {
        let page = json!({ "query": "thimble", "max_tokens": 1_500, "session": handle });
        let (found, _) = search(&client, &page);
        handle = found["_meta"]["session"].clone();
        let before = shown.len();
        shown.extend(uris(&found));
        assert_eq!(shown.len() - before, uris(&found).len(), "a result came again: {found}");
    }
    let note = "max_tokens left out";
    let page = json!({ "query": "thimble", "max_tokens": 1_500 });
    assert!(client.call_tool_text("knowledge.search", &page).contains(note));
}

#[test]
fn results_list_twenty_tags_and_count_others() {
    let server = uneven_library().serve();
    let client = server.client();
    for tool in ["notes.search", "knowledge.search"] {
        let query = json!({ "query": "\"tag-11-43\"", "limit": 1 });
        let hit = client.call_tool(tool, &query)["results"][0].clone();
        assert_eq!(hit["tags"].as_array().unwrap().len(), 20, "{tool}: {hit}");
        assert_eq!(hit["omitted_tags"], 24, "{tool}");
        let item = client.get_item("notes", &hit["id"], &json!({}));
        assert_eq!(item["meta"]["tags"].as_array().unwrap().len(), 44, "{tool}");
    }
}
