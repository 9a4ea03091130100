//! Prompts of the Gemini app in Google Takeout: `MyActivity.json` of `Gemini Apps`, newest first.
//!
//! An entry is a prompt with its answers. It names no conversation, except in newer exports by an
//! address: entries with the same one are one conversation.

use std::collections::HashMap;

use serde_json::Value;
use vademecum_model::{ChatDraft, SourceName};

use super::reply::reply;
use crate::{
    digest,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    html_markdown::html_to_markdown,
    text::{
        datetime,
        json::{list_at, parse_entry, split_entries, text_at},
    },
};

/// Words before a prompt, in the languages of accounts.
const PROMPT_WORDS: [&str; 10] = [
    "Prompted ",
    "Asked ",
    "Said ",
    "Eingegebener Prompt: ",
    "Gefragt: ",
    "Requête envoyée : ",
    "Prompt: ",
    "Instrucción: ",
    "Pediste ",
    "Richiesta: ",
];
/// Name of the product.
const PRODUCT: &str = "Gemini";

/// Prompts of the Gemini app.
#[derive(Debug)]
pub(crate) struct GeminiActivity;

impl Format for GeminiActivity {
    fn id(&self) -> &'static str {
        "gemini_activity"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "prompts of Gemini in Google Takeout (MyActivity.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["header", "title", "time", "products"])
            && sample.head.contains("\"Gemini")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let (mut chats, mut others) = (Vec::<(String, ChatDraft)>::new(), 0);
        let mut places = HashMap::new();
        let entries = split_entries(&text)?;
        for (at, json) in entries.iter().enumerate().rev() {
            let entry: Value = match parse_entry(json.get()) {
                Ok(entry) => entry,
                Err(reason) => {
                    parsed.add_problem(format!("entry {}", at + 1), reason);
                    continue;
                }
            };
            let Some(prompt) = prompt(&entry) else {
                others += 1;
                continue;
            };
            add_prompt((&mut chats, &mut places), &entry, prompt);
        }
        for (origin, chat) in chats {
            parsed.add_chat(origin, chat);
        }
        parsed.add_count(others, "record", "it is no prompt of Gemini");
        parsed.or_empty("it has no entries")
    }
}

/// Returns the prompt of an entry. An entry with an answer is one, also in a language without a known
/// word; feedback and settings have none.
fn prompt(entry: &Value) -> Option<&str> {
    let products = list_at(entry, "/products").iter().filter_map(Value::as_str);
    if !products.chain([text_at(entry, "/header")]).any(|name| name.contains(PRODUCT)) {
        return None;
    }
    let title = text_at(entry, "/title");
    let known = PROMPT_WORDS.iter().find_map(|word| title.strip_prefix(word));
    let has_answer = !list_at(entry, "/safeHtmlItem").is_empty();
    known.or_else(|| has_answer.then_some(title)).filter(|prompt| !prompt.trim().is_empty())
}

/// Adds a prompt with its answer to the conversations. `places` are their indexes by origin.
fn add_prompt(
    (chats, places): (&mut Vec<(String, ChatDraft)>, &mut HashMap<String, usize>),
    entry: &Value,
    prompt: &str,
) {
    let time = text_at(entry, "/time");
    let at = datetime::parse_text(time);
    let id: String =
        digest("gemini", [time.as_bytes(), prompt.as_bytes()]).chars().take(16).collect();
    let links = list_at(entry, "/details").iter().map(|it| text_at(it, "/url"));
    let link =
        links.chain([text_at(entry, "/titleUrl")]).find(|it| it.contains("gemini.google.com/app/"));
    let name = link.and_then(|link| link.rsplit('/').next()).unwrap_or(&id);
    let origin = format!("gemini:{name}");
    let mut messages = vec![reply(&id, "user", prompt, at, "")];
    // The first draft is the one that was shown.
    for draft in list_at(entry, "/safeHtmlItem").iter().take(1) {
        let html = text_at(draft, "/html");
        let text = html_to_markdown(html, None).unwrap_or_else(|_| html.to_owned());
        messages.push(reply(&format!("{id}-1"), "assistant", &text, at, ""));
    }
    let place = *places.entry(origin.clone()).or_insert(chats.len());
    if let Some((_, chat)) = chats.get_mut(place) {
        chat.messages.extend(messages);
    } else {
        let title = prompt.lines().next().map(str::to_owned);
        let service = Some("gemini".to_owned());
        chats.push((origin, ChatDraft { title, service, messages, ..ChatDraft::default() }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    fn entry(title: &str, minute: usize, html: &str, url: &str) -> String {
        format!(
            r#"{{"header": "Gemini Apps", "title": "{title}", "time": "2026-01-05T10:0{minute}:00Z",
              "products": ["Gemini Apps"], "details": [{{"url": "{url}"}}],
              "safeHtmlItem": [{html}]}}"#
        )
    }

    #[test]
    fn prompts_are_conversations_joined_by_address() {
        let answer = r#"{"html": "<p>A <b>day</b>.</p>"}, {"html": "<p>Not shown.</p>"}"#;
        let newer = entry("Prompted And oats?", 2, answer, "https://gemini.google.com/app/x");
        let feedback = entry("Gave feedback: Good", 1, "", "");
        let older = entry("Prompted Rest?", 0, answer, "https://gemini.google.com/app/x");
        let alone = entry("Prompted Salt?", 0, "", "");
        let text = format!("[{newer}, {feedback}, {older}, {alone}, 5]");
        assert!(detects(&GeminiActivity, "/MyActivity.json", &text));
        let parsed = parse(&GeminiActivity, "/MyActivity.json", &text);
        let found = chats(&parsed);
        assert_eq!(found.len(), 2);
        assert_eq!(lines(found[0]), ["2026-01-05T10:00 user: Salt?"]);
        assert_eq!(
            lines(found[1]),
            [
                "2026-01-05T10:00 user: Rest?",
                "2026-01-05T10:00 assistant: A day.",
                "2026-01-05T10:02 user: And oats?",
                "2026-01-05T10:02 assistant: A day."
            ]
        );
        assert_eq!(parsed.drafts[1].origin, "gemini:x");
        // A later export has more entries before these.
        let first = parse(&GeminiActivity, "/a.json", format!("[{alone}]")).drafts.remove(0);
        assert_eq!(first.origin, parsed.drafts[0].origin);
        assert_eq!(first.digest, parsed.drafts[0].digest);
        assert!(try_parse(&GeminiActivity, "/a.json", "[]").is_err());
    }
}
