//! The note of a memory.

use serde_json::Value;
use vademecum_model::{NoteDraft, Timestamp};

use crate::text::{
    datetime,
    json::{text_at, texts_at},
    keywords::distinct_keywords,
};

/// The fields of a memory, by the names that most stores use.
#[derive(Debug, Default)]
pub(super) struct MemoryNote {
    pub(super) title: String,
    /// Blocks of text; blank ones are left out.
    pub(super) blocks: Vec<String>,
    pub(super) tags: Vec<String>,
    /// Project, or another place that the store has for it.
    pub(super) project: String,
    pub(super) created_at: Option<Timestamp>,
    pub(super) modified_at: Option<Timestamp>,
}

impl MemoryNote {
    pub(super) fn into_draft(self) -> NoteDraft {
        let blocks: Vec<String> = self.blocks.iter().map(|it| it.trim().to_owned()).collect();
        let blocks: Vec<String> = blocks.into_iter().filter(|it| !it.is_empty()).collect();
        let folders = [self.project].into_iter().filter(|it| !it.trim().is_empty());
        let tags = self.tags.into_iter().filter(|it| !it.trim().is_empty());
        NoteDraft {
            title: self.title,
            content: blocks.join("\n\n"),
            tags: distinct_keywords(tags),
            folders: folders.collect(),
            created_at: self.created_at,
            modified_at: self.modified_at.or(self.created_at),
            ..NoteDraft::default()
        }
    }
}

/// Returns a list of Markdown, below a heading if it has one; empty without entries.
pub(super) fn list(heading: &str, entries: &[String]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = entries.iter().map(|entry| format!("- {}", entry.trim())).collect();
    let heading = if heading.is_empty() { String::new() } else { format!("## {heading}\n\n") };
    format!("{heading}{}", lines.join("\n"))
}

/// Returns the texts of a field that is a list, or a text that holds one as JSON.
pub(super) fn text_list(row: &Value, path: &str) -> Vec<String> {
    match row.pointer(path) {
        Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
            Ok(list @ Value::Array(_)) => texts_at(&list, ""),
            Ok(_) | Err(_) => vec![text.clone()].into_iter().filter(|it| !it.is_empty()).collect(),
        },
        Some(_) | None => texts_at(row, path),
    }
}

/// Returns the time of the first field that has one.
pub(super) fn time_at(row: &Value, paths: &[&str]) -> Option<Timestamp> {
    let times = paths.iter().filter_map(|path| datetime::parse_json(row.pointer(path)?));
    times.into_iter().next()
}

/// Returns the first text that is not blank.
pub(super) fn first_text(row: &Value, paths: &[&str]) -> String {
    let texts = paths.iter().map(|path| text_at(row, path).trim());
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_both_forms() {
        let row = serde_json::json!({ "a": "[\"x\", \"y\"]", "b": ["z"], "c": "plain", "d": "" });
        assert_eq!(text_list(&row, "/a"), ["x", "y"]);
        assert_eq!(text_list(&row, "/b"), ["z"]);
        assert_eq!(text_list(&row, "/c"), ["plain"]);
        assert!(text_list(&row, "/d").is_empty() && text_list(&row, "/e").is_empty());
        assert_eq!(list("Facts", &["x".to_owned()]), "## Facts\n\n- x");
    }
}
