//! Annotations of Hypothesis as JSON: one document for each annotated page.

use std::collections::HashMap;

use serde_json::Value;
use vademecum_model::SourceName;

use super::entry::{Highlight, ReadingEntry};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{list_at, parse_entry, split_entries, text_at, texts_at},
    },
};

/// Annotations of Hypothesis.
#[derive(Debug)]
pub(crate) struct Hypothesis;

impl Format for Hypothesis {
    fn id(&self) -> &'static str {
        "hypothesis"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "annotations of Hypothesis (.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["uri", "target", "user"]) && sample.head.contains("acct:")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let mut rows: Vec<Value> = Vec::new();
        for (number, json) in (1..).zip(split_entries(&text)?) {
            match parse_entry::<Value>(json.get()) {
                Ok(value) if value.get("rows").is_some() => {
                    rows.extend(list_at(&value, "/rows").iter().cloned());
                }
                Ok(value) => rows.push(value),
                Err(reason) => parsed.add_problem(format!("annotation {number}"), reason),
            }
        }
        // Oldest first, so that replies follow what they answer.
        rows.sort_by(|a, b| text_at(a, "/created").cmp(text_at(b, "/created")));
        let mut pages: Vec<ReadingEntry> = Vec::new();
        // Page and highlight of each annotation.
        let mut places: HashMap<String, (usize, usize)> = HashMap::new();
        for row in &rows {
            let uri = text_at(row, "/uri");
            let page = pages.iter().position(|page| page.url == uri).unwrap_or_else(|| {
                pages.push(new_page(row, uri));
                pages.len() - 1
            });
            let Some(entry) = pages.get_mut(page) else { continue };
            entry.modified_at =
                entry.modified_at.max(datetime::parse_text(text_at(row, "/updated")));
            let answered =
                texts_at(row, "/references").pop().and_then(|id| places.get(&id).copied());
            let answered = answered.filter(|(of, _)| *of == page);
            if let Some(highlight) = answered.and_then(|(_, at)| entry.highlights.get_mut(at)) {
                let reply = format!("\n\n{}: {}", user(row), text_at(row, "/text"));
                highlight.note.push_str(&reply);
                places.insert(text_at(row, "/id").to_owned(), answered.unwrap_or_default());
                continue;
            }
            places.insert(text_at(row, "/id").to_owned(), (page, entry.highlights.len()));
            entry.highlights.push(highlight(row));
        }
        for page in pages {
            parsed.add_entry(page);
        }
        parsed.or_empty("it has no annotations")
    }
}

fn new_page(row: &Value, uri: &str) -> ReadingEntry {
    let title = list_at(row, "/document/title").first().and_then(Value::as_str);
    ReadingEntry {
        origin: format!("hypothesis:{uri}"),
        title: title.unwrap_or(uri).to_owned(),
        url: uri.to_owned(),
        media_type: "article",
        created_at: datetime::parse_text(text_at(row, "/created")),
        ..ReadingEntry::default()
    }
}

fn highlight(row: &Value) -> Highlight {
    let selectors = list_at(row, "/target").iter().flat_map(|it| list_at(it, "/selector"));
    let exact = selectors.map(|it| text_at(it, "/exact")).find(|exact| !exact.is_empty());
    Highlight {
        text: exact.unwrap_or_default().to_owned(),
        note: text_at(row, "/text").to_owned(),
        tags: texts_at(row, "/tags"),
        created_at: datetime::parse_text(text_at(row, "/created")),
        ..Highlight::default()
    }
}

/// Returns the name of the user in `acct:ada@hypothes.is`.
fn user(row: &Value) -> &str {
    let user = text_at(row, "/user");
    let user = user.strip_prefix("acct:").unwrap_or(user);
    user.split('@').next().unwrap_or(user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    const ROWS: &str = r#"{"total": 3, "rows": [
        {"id": "r", "uri": "https://example.org/rye", "user": "acct:ben@hypothes.is",
         "text": "A day.", "references": ["a"], "created": "2026-01-05T10:01:00+00:00"},
        {"id": "a", "uri": "https://example.org/rye", "user": "acct:ada@hypothes.is", "text": "Why?",
         "tags": ["bread"], "created": "2026-01-05T10:00:00+00:00",
         "updated": "2026-01-06T10:00:00+00:00", "document": {"title": ["Rye"]},
         "target": [{"selector": [{"type": "RangeSelector"},
            {"type": "TextQuoteSelector", "exact": "Rye rises."}]}]},
        {"id": "b", "uri": "https://example.org/oat", "user": "acct:ada@hypothes.is", "text": "Note.",
         "created": "2026-01-05T10:02:00+00:00"}]}"#;

    #[test]
    fn page_has_highlights_notes_tags_and_replies() {
        assert!(detects(&Hypothesis, "/a.json", ROWS));
        let parsed = parse(&Hypothesis, "/a.json", ROWS);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "hypothesis:https://example.org/rye");
        assert_eq!(
            (found[0].title.as_str(), found[0].tags.clone()),
            ("Rye", vec!["bread".to_owned()])
        );
        let content = &found[0].content;
        assert!(
            content.ends_with("> Rye rises.\n\n2026-01-05 · #bread\n\nNote: Why?\n\nben: A day."),
            "{content}"
        );
        assert_eq!(found[0].modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
        assert_eq!(found[1].title, "https://example.org/oat");
    }

    #[test]
    fn list_and_broken_annotation_are_read() {
        let list = r#"[{"uri": "x", "target": [], "user": "acct:a"}, 5]"#;
        assert_eq!(parse(&Hypothesis, "/a.json", list).drafts.len(), 2);
        assert!(try_parse(&Hypothesis, "/a.json", r#"{"rows": []}"#).is_err());
    }
}
