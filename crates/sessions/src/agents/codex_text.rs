//! Texts of Codex that stand under the person's role, but were not written by the person.

use serde_json::Value;

use crate::text::{content_texts, cut_leading_blocks, items, text_at};

/// Blocks that may stand before a prompt.
const BLOCKS: [&str; 10] = [
    "environment_context",
    "INSTRUCTIONS",
    "user_instructions",
    "turn_aborted",
    "subagent_notification",
    "skill",
    "goal_context",
    "codex_internal_context",
    "recommended_plugins",
    "skills_instructions",
];

/// Returns what the person wrote in a message.
pub(super) fn person_text(message: &Value) -> String {
    let kinds: Vec<&str> = message
        .get("internal_chat_message_metadata_passthrough")
        .into_iter()
        .flat_map(|about| items(about, "content_item_kinds"))
        .filter_map(Value::as_str)
        .collect();
    let content = message.get("content").unwrap_or(&Value::Null);
    let texts = content_texts(content);
    let texts: Vec<&str> = if kinds.len() == texts.len() && !kinds.is_empty() {
        let said = texts.into_iter().zip(kinds).filter(|(_, kind)| *kind == "user.text");
        said.map(|(text, _)| text).collect()
    } else {
        texts
    };
    let cut = |text: &str| -> Option<String> {
        let rest = cut_leading_blocks(text, &BLOCKS);
        // The instructions of a project begin with their file name, and end with their block.
        let rest = if rest.starts_with("# AGENTS.md") {
            rest.split_once("</INSTRUCTIONS>").map_or("", |(_, after)| after)
        } else {
            rest
        };
        let rest = rest.trim();
        (!rest.is_empty()).then(|| rest.to_owned())
    };
    texts.into_iter().filter_map(cut).collect::<Vec<_>>().join("\n")
}

/// Returns the identifier of the session that started this one, of the data of `session_meta`.
pub(super) fn parent_id(meta: &Value) -> Option<String> {
    text_at(meta, &["source", "subagent", "thread_spawn", "parent_thread_id"])
        .or_else(|| text_at(meta, &["parent_thread_id"]))
        .map(str::to_owned)
}
