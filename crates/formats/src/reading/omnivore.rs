//! Exports of Omnivore: a ZIP archive with `metadata_*.json`, `content/<slug>.html` and
//! `highlights/<slug>.md`.

use std::collections::HashMap;

use serde_json::Value;
use url::Url;
use vademecum_model::SourceName;

use super::entry::{Highlight, ReadingEntry};
use crate::{
    archive::has_extension,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    html_markdown::html_to_markdown,
    text::{
        datetime,
        json::{id_at, parse_entry, split_entries, text_at, texts_at},
    },
};

/// Exports of Omnivore.
#[derive(Debug)]
pub(crate) struct Omnivore;

impl Format for Omnivore {
    fn id(&self) -> &'static str {
        "omnivore"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "saved pages of Omnivore (the export's .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.entries.iter().any(|name| is_metadata(name))
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let files = input.unpack(|name| has_extension(name, &["json", "html", "md"]))?;
        let mut parsed = ParsedFormat::default();
        let named = |name: &str| name.rsplit_once('/').map_or(name, |(_, name)| name).to_owned();
        let by_name: HashMap<String, &[u8]> =
            files.iter().map(|file| (named(&file.name), file.bytes.as_slice())).collect();
        for file in files.iter().filter(|file| is_metadata(&file.name)) {
            let text = String::from_utf8_lossy(&file.bytes);
            let entries = match split_entries(&text) {
                Ok(entries) => entries,
                Err(error) => {
                    parsed.add_problem(file.name.as_str(), error.to_string());
                    continue;
                }
            };
            for json in entries {
                match parse_entry::<Value>(json.get()) {
                    Ok(value) => add_page(&mut parsed, &value, &by_name),
                    Err(reason) => parsed.add_problem(file.name.as_str(), reason),
                }
            }
        }
        parsed.or_empty("it has no pages")
    }
}

fn is_metadata(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let middle = name.strip_prefix("metadata_").and_then(|name| name.strip_suffix(".json"));
    middle.is_some_and(|it| it.starts_with(|next: char| next.is_ascii_digit()))
}

fn add_page(parsed: &mut ParsedFormat, value: &Value, files: &HashMap<String, &[u8]>) {
    let (slug, url) = (text_at(value, "/slug"), text_at(value, "/url"));
    let file = |ending: &str| {
        let bytes = files.get(&format!("{slug}.{ending}")).copied().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let text = html_to_markdown(&file("html"), Url::parse(url).ok().as_ref());
    let text = text.unwrap_or_else(|error| {
        parsed.add_problem(format!("`{slug}`"), error.to_string());
        String::new()
    });
    let description = text_at(value, "/description");
    parsed.add_entry(ReadingEntry {
        origin: format!("omnivore:{}", id_at(value, "/id")),
        title: text_at(value, "/title").to_owned(),
        author: text_at(value, "/author").to_owned(),
        url: url.to_owned(),
        media_type: "article",
        tags: texts_at(value, "/labels"),
        text: if text.trim().is_empty() { description.to_owned() } else { text },
        fields: vec![("State", text_at(value, "/state").to_lowercase())],
        created_at: datetime::parse_text(text_at(value, "/savedAt")),
        modified_at: datetime::parse_text(text_at(value, "/updatedAt")),
        highlights: highlights(&file("md")),
        ..ReadingEntry::default()
    });
}

/// Reads quotations, each with the lines after it as its note.
fn highlights(markdown: &str) -> Vec<Highlight> {
    let mut highlights: Vec<Highlight> = Vec::new();
    let mut is_open = false;
    for line in markdown.lines() {
        if let Some(quoted) = line.strip_prefix('>') {
            if !is_open {
                highlights.push(Highlight::default());
            }
            if let Some(last) = highlights.last_mut() {
                last.text.extend([quoted.trim(), "\n"]);
            }
            is_open = true;
        } else {
            is_open = false;
            let note = highlights.last_mut().filter(|_| !line.trim().is_empty());
            if let Some(last) = note {
                last.note.extend([line.trim(), "\n"]);
            }
        }
    }
    for highlight in &mut highlights {
        highlight.text = highlight.text.trim().to_owned();
        highlight.note = highlight.note.trim().to_owned();
    }
    highlights
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn page_has_text_labels_and_highlights() {
        let zip = zip_archive(&[
            (
                "metadata_0_to_20.json",
                br#"[{"id": "p1", "slug": "rye-1", "title": "Rye", "author": "Ada", "state": "Archived",
                     "url": "https://example.org/rye", "labels": ["a"], "savedAt": "2026-01-05T10:00:00Z",
                     "description": "About"},
                    {"id": "p2", "slug": "none", "title": "Oat", "description": "About oats"}, 5]"#,
            ),
            ("content/rye-1.html", b"<p>Rye <a href='/x'>rises</a>.</p>"),
            ("highlights/rye-1.md", "> Rye rises.\n> é\n\nWhy?\n\n> Oats.\n".as_bytes()),
            ("metadata_20_to_40.json", b"[{"),
        ]);
        assert!(detects(&Omnivore, "/a.zip", &zip));
        let parsed = parse(&Omnivore, "/a.zip", &zip);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "omnivore:p1");
        assert_eq!(
            (found[0].author.as_deref(), found[0].tags.clone()),
            (Some("Ada"), vec!["a".to_owned()])
        );
        assert_eq!(
            found[0].content,
            "Rye [rises](https://example.org/x).\n\nAddress: https://example.org/rye\nState: archived\n\n\
             > Rye rises.\n> é\n\nNote: Why?\n\n> Oats."
        );
        assert_eq!(found[0].kept.as_ref().unwrap().chunks.len(), 3);
        assert_eq!(found[1].content, "About oats");
        assert_eq!(parsed.problems.len(), 2);
    }

    #[test]
    fn archive_of_another_program_is_not_detected() {
        assert!(!detects(&Omnivore, "/a.zip", zip_archive(&[("metadata_x.json", b"[]")])));
        assert!(
            try_parse(&Omnivore, "/a.zip", zip_archive(&[("metadata_0.json", b"[]")])).is_err()
        );
    }
}
