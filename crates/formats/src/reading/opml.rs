//! Lists of feeds and outlines as OPML.

use vademecum_model::{NoteDraft, SourceName};

use super::entry::ReadingEntry;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::datetime,
    xml::{XmlElement, for_each_element},
};

/// Lists of feeds and outlines.
#[derive(Debug)]
pub(crate) struct Opml;

impl Format for Opml {
    fn id(&self) -> &'static str {
        "opml"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "lists of feeds and outlines (.opml)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["opml"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let opening: String = sample.head.chars().take(1_024).collect();
        opening.starts_with('<') && opening.contains("<opml")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let (mut title, mut created) = (String::new(), String::new());
        let mut outline = String::new();
        for_each_element(&text, &["head", "body"], |element| {
            if element.name == "head" {
                title = element.child_text("title");
                created = element.child_text("dateCreated");
            } else {
                add_outlines(&mut parsed, &element, &mut Vec::new(), &mut outline);
            }
        })?;
        if !outline.is_empty() {
            let note = NoteDraft {
                title,
                content: outline.trim_end().to_owned(),
                created_at: datetime::parse_text(&created),
                ..NoteDraft::default()
            };
            parsed.add_note(format!("{}#outline", input.origin()), note, &input.stem());
        }
        parsed.or_empty("it has no outlines")
    }
}

/// Adds feeds as documents, and everything else as lines of a list. The depth of the tree is bounded
/// by its parser.
fn add_outlines(
    parsed: &mut ParsedFormat,
    element: &XmlElement,
    folders: &mut Vec<String>,
    outline: &mut String,
) {
    for item in element.children("outline") {
        let names = ["text", "title"].map(|name| item.attribute(name));
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let [feed, page] = ["xmlUrl", "htmlUrl"].map(|name| item.attribute(name));
        if !feed.is_empty() {
            parsed.add_entry(ReadingEntry {
                origin: format!("feed:{feed}"),
                title: name.to_owned(),
                url: if page.is_empty() { feed } else { page }.to_owned(),
                media_type: "bookmark",
                folders: folders.clone(),
                text: item.attribute("description").to_owned(),
                fields: vec![("Feed", feed.to_owned())],
                ..ReadingEntry::default()
            });
            continue;
        }
        let before = outline.len();
        outline.extend([&"  ".repeat(folders.len()), "- ", name, "\n"]);
        let note = item.attribute("_note");
        if !note.is_empty() {
            let indent = "  ".repeat(folders.len() + 1);
            outline.extend(note.lines().flat_map(|line| [indent.as_str(), line, "\n"]));
        }
        let own = outline.len();
        folders.push(name.to_owned());
        let drafts = parsed.drafts.len();
        add_outlines(parsed, item, folders, outline);
        folders.pop();
        if outline.len() == own && parsed.drafts.len() > drafts {
            // A folder of feeds is no outline.
            outline.truncate(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, notes, parse, try_parse};

    #[test]
    fn feeds_are_bookmarks_and_outlines_a_note() {
        let opml = r#"<?xml version="1.0"?><opml version="2.0"><head><title>Grain</title>
            <dateCreated>Mon, 05 Jan 2026 10:00:00 GMT</dateCreated></head><body>
            <outline text="Food"><outline text="Rye &amp; oats" type="rss" description="About"
              xmlUrl="https://example.org/feed" htmlUrl="https://example.org"/></outline>
            <outline text="Steps" _note="slowly"><outline text="Knead"/></outline></body></opml>"#;
        assert!(detects(&Opml, "/a.opml", opml));
        let parsed = parse(&Opml, "/a.opml", opml);
        let feed = documents(&parsed)[0];
        assert_eq!(parsed.drafts[0].origin, "feed:https://example.org/feed");
        assert_eq!(
            (feed.title.as_str(), feed.url.as_deref()),
            ("Rye & oats", Some("https://example.org"))
        );
        assert_eq!(
            feed.content,
            "About\n\nAddress: https://example.org\nFolder: Food\nFeed: https://example.org/feed"
        );
        let note = notes(&parsed)[0];
        assert_eq!(
            (note.title.as_str(), note.content.as_str()),
            ("Grain", "- Steps\n  slowly\n  - Knead")
        );
        assert_eq!(note.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
    }

    #[test]
    fn deep_or_empty_outline_is_rejected() {
        let deep = format!("<opml><body>{}", "<outline>".repeat(10_000));
        assert!(try_parse(&Opml, "/a.opml", deep).is_err());
        assert!(try_parse(&Opml, "/a.opml", "<opml></opml>").is_err());
    }
}
