//! Pocket's export as a page: `ril_export.html`, with a list for each status.

use vademecum_model::SourceName;

use super::entry::ReadingEntry;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    html_markdown::parse_html,
    text::{datetime, keywords::split_commas},
};

/// Saved pages of Pocket.
#[derive(Debug)]
pub(crate) struct PocketPage;

impl Format for PocketPage {
    fn id(&self) -> &'static str {
        "pocket_page"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "saved pages of Pocket (ril_export.html)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.contains_all(&["<title>Pocket Export</title>"])
            || sample.contains_all(&["time_added=\"", "tags=\"", "<ul>", "href="])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let page = parse_html(&text).map_err(|error| FormatError::new(error.to_string()))?;
        let mut parsed = ParsedFormat::default();
        let mut status = String::new();
        for element in &page.doc.select("h1, a[href]") {
            let Some(url) = element.attr("href") else {
                element.text().trim().clone_into(&mut status);
                continue;
            };
            let added = element.attr("time_added").unwrap_or_default();
            let title = element.text().trim().to_owned();
            parsed.add_entry(ReadingEntry {
                origin: format!("pocket:{url}"),
                title: if title.is_empty() { url.to_string() } else { title },
                url: url.to_string(),
                media_type: "bookmark",
                tags: split_commas(&element.attr("tags").unwrap_or_default()).collect(),
                fields: vec![("Status", status.clone())],
                created_at: datetime::parse_text(&added),
                ..ReadingEntry::default()
            });
        }
        parsed.or_empty("it has no saved pages")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn page_keeps_tags_date_and_status() {
        let text = r#"<!DOCTYPE html><html><head><title>Pocket Export</title></head><body>
            <h1>Unread</h1><ul><li><a href="https://example.org/rye" time_added="1767607200"
            tags="bread,slow">Rye</a></li></ul><h1>Read Archive</h1><ul><li><a
            href="https://example.org/oat" time_added="1767607260" tags="">https://example.org/oat</a></li></ul>
            </body></html>"#;
        assert!(detects(&PocketPage, "/ril_export.html", text));
        let parsed = parse(&PocketPage, "/ril_export.html", text);
        let found = documents(&parsed);
        assert_eq!((found.len(), found[0].title.as_str()), (2, "Rye"));
        assert_eq!(found[0].tags, ["bread", "slow"]);
        assert!(found[0].content.contains("Status: Unread"), "{}", found[0].content);
        assert!(found[1].content.contains("Status: Read Archive"));
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert!(try_parse(&PocketPage, "/ril_export.html", "<p>x</p>").is_err());
    }
}
