//! Bookmarks of Karakeep as JSON.

use std::collections::HashMap;

use serde_json::Value;
use vademecum_model::SourceName;

use super::entry::ReadingEntry;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{is_true_at, list_at, parse_entry, text_at, texts_at},
    },
};

/// Maximum number of lists in one another whose names are kept.
const MAX_FOLDERS: usize = 64;

/// Bookmarks of Karakeep.
#[derive(Debug)]
pub(crate) struct Karakeep;

impl Format for Karakeep {
    fn id(&self) -> &'static str {
        "karakeep"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "bookmarks of Karakeep (.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["bookmarks", "createdAt", "content"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let export: Value = parse_entry(&text).map_err(FormatError::new)?;
        let mut parsed = ParsedFormat::default();
        let lists = list_at(&export, "/lists").iter();
        let lists: HashMap<&str, &Value> = lists.map(|it| (text_at(it, "/id"), it)).collect();
        for bookmark in list_at(&export, "/bookmarks") {
            parsed.add_entry(entry(bookmark, &lists));
        }
        parsed.or_empty("it has no bookmarks")
    }
}

fn entry(bookmark: &Value, lists: &HashMap<&str, &Value>) -> ReadingEntry {
    let (url, text) = (text_at(bookmark, "/content/url"), text_at(bookmark, "/content/text"));
    let created = bookmark.get("createdAt").and_then(datetime::parse_json);
    let time = created.map(|it| it.to_string()).unwrap_or_default();
    let title = Some(text_at(bookmark, "/title")).filter(|it| !it.is_empty());
    let first_line = || text.lines().next().unwrap_or_default();
    let names = list_at(bookmark, "/lists").iter().filter_map(Value::as_str);
    let archived = if is_true_at(bookmark, "/archived") { "yes" } else { "" };
    ReadingEntry {
        origin: if url.is_empty() {
            format!("karakeep:{time} {}", title.unwrap_or_else(first_line))
        } else {
            format!("karakeep:{url}")
        },
        title: title.unwrap_or_else(|| if url.is_empty() { first_line() } else { url }).to_owned(),
        url: url.to_owned(),
        media_type: "bookmark",
        folders: names.flat_map(|id| path(id, lists)).take(MAX_FOLDERS).collect(),
        tags: texts_at(bookmark, "/tags"),
        note: text_at(bookmark, "/note").to_owned(),
        text: text.to_owned(),
        fields: vec![("Archived", archived.to_owned())],
        created_at: created,
        ..ReadingEntry::default()
    }
}

/// Returns the names of a list and of those around it, the outermost first.
fn path(id: &str, lists: &HashMap<&str, &Value>) -> Vec<String> {
    let (mut names, mut next) = (Vec::new(), lists.get(id));
    while let Some(list) = next.filter(|_| names.len() < MAX_FOLDERS) {
        names.push(text_at(list, "/name").to_owned());
        next = lists.get(text_at(list, "/parentId"));
    }
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn bookmark_keeps_lists_tags_and_note() {
        let json = r#"{"bookmarks": [
            {"createdAt": 1767607200, "title": "Rye", "tags": ["a"], "note": "Mine", "archived": true,
             "content": {"type": "link", "url": "https://example.org"}, "lists": ["2"]},
            {"createdAt": 1767607200, "title": null, "tags": [],
             "content": {"type": "text", "text": "Knead.\nWait."}}],
            "lists": [{"id": "1", "name": "Food", "parentId": "2"},
                      {"id": "2", "name": "Bread", "parentId": "1"}]}"#;
        assert!(detects(&Karakeep, "/a.json", json));
        let parsed = parse(&Karakeep, "/a.json", json);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "karakeep:https://example.org");
        assert_eq!((found[0].title.as_str(), found[0].tags.clone()), ("Rye", vec!["a".to_owned()]));
        assert!(found[0].content.starts_with("Mine\n\nAddress: https://example.org\nFolder: "));
        assert!(found[0].content.ends_with("Food / Bread\nArchived: yes"));
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(
            (found[1].title.as_str(), found[1].content.as_str()),
            ("Knead.", "Knead.\nWait.")
        );
    }

    #[test]
    fn export_without_bookmarks_is_rejected() {
        assert!(try_parse(&Karakeep, "/a.json", "{}").is_err());
        assert!(try_parse(&Karakeep, "/a.json", "{\"bookmarks\": [").is_err());
    }
}
