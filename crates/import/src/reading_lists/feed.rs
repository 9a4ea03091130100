//! Feeds: RSS, Atom and JSON Feed. Each entry is a document.

use feed_rs::model::{Entry, Feed};
use url::Url;
use vademecum_model::{Draft, DraftBody, MediaDraft, SourceName, Timestamp};

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile, digest,
    documents::{
        document::unreadable_error,
        html_markdown::{NestingTooDeep, html_to_markdown},
    },
    text::{datetime::parse_document_date, keywords::distinct_keywords},
};

/// Version of the importer; increment when the same file produces different documents.
const VERSION: &str = "feed/2";

/// Importer of feeds.
#[derive(Debug)]
pub(crate) struct FeedImporter;

impl Importer for FeedImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "feeds (RSS, Atom, JSON Feed)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head_text();
        let names = |marks: &[&str]| marks.iter().any(|mark| opening.contains(mark));
        let is_xml = opening.starts_with('<')
            && names(&["<rss", "http://www.w3.org/2005/Atom", "http://purl.org/rss/1.0/"]);
        let is_json = opening.starts_with('{') && names(&["https://jsonfeed.org/version/"]);
        Confidence::ByContent
            .when((is_xml && !names(&["<html"])) || is_json)
            .max(Confidence::ByName.when(probe.has_extension(&["rss", "atom"])))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        // The parser detects the encoding declared by the feed.
        let feed = feed_rs::parser::Builder::new()
            .timestamp_parser(|text| parse_document_date(text)?.to_string().parse().ok())
            .build()
            .parse(file.bytes.as_slice())
            .map_err(|error| unreadable_error(file, "a feed", &error))?;
        if feed.entries.is_empty() {
            return Err(unreadable_error(file, "a feed", &"it has no entries"));
        }
        let mut reading = ParsedFile::default();
        for (number, entry) in (1..).zip(&feed.entries) {
            match entry_document(&feed, entry, file) {
                Ok(document) => reading.drafts.push(to_draft(&feed, entry, document)),
                Err(reason) => {
                    let title = entry.title.as_ref().map_or("", |title| &title.content);
                    let place = format!("entry {number} `{title}`");
                    reading.problems.push(Problem { place, reason });
                }
            }
        }
        Ok(reading)
    }
}

/// Returns the draft of an entry. Its origin consists of the identifiers of feed and entry, so it
/// does not depend on the file.
fn to_draft(feed: &Feed, entry: &Entry, document: MediaDraft) -> Draft {
    let date = entry.updated.or(entry.published).map(|date| date.to_rfc3339()).unwrap_or_default();
    let url = document.url.as_deref().unwrap_or_default();
    let author = document.author.as_deref().unwrap_or_default();
    let parts = [&document.title, &document.content, author, url, &date, &document.tags.join(",")];
    Draft {
        origin: format!("feed:{}:{}", feed.id, entry.id),
        digest: digest(VERSION, parts.map(str::as_bytes)),
        id: None,
        body: DraftBody::Media(document),
    }
}

fn entry_document(feed: &Feed, entry: &Entry, file: &SourceFile) -> Result<MediaDraft, String> {
    let page = |link: &&feed_rs::model::Link| {
        link.rel.as_deref().is_none_or(|rel| rel == "alternate") && link.href.contains("://")
    };
    let url = entry.links.iter().find(page).map(|link| link.href.clone());
    let base = url.as_deref().and_then(|url| Url::parse(url).ok());
    let content = entry_text(entry, base.as_ref()).map_err(|error| error.to_string())?;
    if content.is_empty() {
        return Err("it holds no text".to_owned());
    }
    let title = entry.title.as_ref().map(|title| title.content.trim());
    let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| first_line(&content));
    let people = if entry.authors.is_empty() { &feed.authors } else { &entry.authors };
    let authors: Vec<&str> = people
        .iter()
        .filter_map(|person| person.name.as_deref().or(person.email.as_deref()))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    let time = |date: String| Timestamp::parse(&date).ok();
    let published = entry.published.and_then(|date| time(date.to_rfc3339()));
    let updated = entry.updated.and_then(|date| time(date.to_rfc3339()));
    Ok(MediaDraft {
        title: title.to_owned(),
        media_type: "feed".to_owned(),
        url,
        author: Some(authors.join(", ")).filter(|authors| !authors.is_empty()),
        tags: distinct_keywords(entry.categories.iter().map(|category| category.term.clone())),
        created_at: published.or(updated).or(file.modified),
        modified_at: updated.or(published).or(file.modified),
        content,
        ..MediaDraft::default()
    })
}

/// Returns the content of an entry as Markdown, or its summary if there is no content.
fn entry_text(entry: &Entry, base: Option<&Url>) -> Result<String, NestingTooDeep> {
    let whole = entry.content.as_ref().and_then(|content| content.body.as_deref());
    let summary = entry.summary.as_ref().map(|summary| summary.content.as_str());
    for html in whole.into_iter().chain(summary) {
        let text = html_to_markdown(html, base)?;
        if !text.is_empty() {
            return Ok(text);
        }
    }
    Ok(String::new())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        detection::file_probe::tests::probe_file,
        documents::document::tests::{read_document, read_error},
    };

    fn rss_feed(items: &str) -> String {
        format!(
            "<?xml version='1.0'?><rss version='2.0'><channel><title>Bakery</title>\
             <link>https://example.org/</link>{items}</channel></rss>"
        )
    }

    #[test]
    fn entry_becomes_document_with_feed_metadata() {
        let item = "<item><title>Rye &amp; wheat</title><link>https://example.org/rye</link>\
            <author>ada@example.org (Ada)</author><category>bread</category><guid>1</guid>\
            <pubDate>Fri, 03 May 2024 10:00:00 +0200</pubDate>\
            <description>&lt;h2&gt;Dough&lt;/h2&gt;&lt;p&gt;Wait &amp;amp; see.&lt;/p&gt;</description></item>";
        let entry = read_document(&FeedImporter, "/feed.xml", rss_feed(item));
        assert_eq!(entry.title, "Rye & wheat");
        assert_eq!(entry.content, "## Dough\n\nWait & see.");
        assert_eq!(entry.url.as_deref(), Some("https://example.org/rye"));
        assert!(entry.author.as_deref().unwrap().contains("Ada"), "{entry:?}");
        assert_eq!(entry.tags, ["bread"]);
        assert_eq!(entry.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
        assert_eq!(
            FeedImporter.detect(&probe_file("feed.xml", rss_feed(item))),
            Confidence::ByContent
        );
    }

    #[test]
    fn atom_and_json_feeds_are_read() {
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>T</title>\
            <author><name>Ada</name></author><entry><id>1</id><title>Rye</title>\
            <updated>2024-05-03T08:00:00Z</updated><content>Wait.</content></entry></feed>";
        let entry = read_document(&FeedImporter, "/a.atom", atom);
        assert_eq!((entry.content.as_str(), entry.author.as_deref()), ("Wait.", Some("Ada")));
        let json = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "T", "items":
            [{"id": "1", "title": "Rye", "content_text": "Wait."}]}"#;
        assert_eq!(read_document(&FeedImporter, "/a.json", json).content, "Wait.");
        assert_eq!(FeedImporter.detect(&probe_file("a.json", json)), Confidence::ByContent);
    }

    #[test]
    fn entry_origin_is_independent_of_file() {
        let feed =
            rss_feed("<item><guid>1</guid><title>T</title><description>x</description></item>");
        let origin = |path: &str| {
            FeedImporter
                .parse(&SourceFile::in_memory(path, feed.as_str()))
                .unwrap()
                .drafts
                .remove(0)
                .origin
        };
        assert_eq!(origin("/a.xml"), origin("/b.xml"));
    }

    #[test]
    fn empty_entry_is_reported_others_kept() {
        let feed =
            rss_feed("<item><title>None</title></item><item><description>x</description></item>");
        let reading = FeedImporter.parse(&SourceFile::in_memory("/a.xml", feed)).unwrap();
        assert_eq!(reading.drafts.len(), 1);
        assert_eq!(reading.problems[0].place, "entry 1 `None`");
    }

    #[test]
    fn invalid_feed_is_rejected() {
        assert!(read_error(&FeedImporter, "/a.rss", "<rss version='2.0'>").contains("as a feed"));
        assert!(read_error(&FeedImporter, "/a.rss", "words").contains("as a feed"));
        let deep = "<rss version='2.0'>".to_owned() + &"<a>".repeat(1_000_000);
        assert!(read_error(&FeedImporter, "/a.rss", deep).contains("as a feed"));
    }

    #[test]
    fn entry_keeps_its_dates_and_links() {
        let read = |item: &str| {
            let feed = SourceFile {
                modified: Timestamp::parse("2020-02-02").ok(),
                ..SourceFile::in_memory("/a.xml", rss_feed(item))
            };
            let draft = FeedImporter.parse(&feed).unwrap().drafts.remove(0);
            let DraftBody::Media(entry) = draft.body else { panic!("no document") };
            entry
        };
        let item = |date: &str| {
            format!(
                "<item><guid>1</guid><link>https://example.org/a/b</link><pubDate>{date}</pubDate>\
                 <description>&lt;a href='../c'&gt;Rye&lt;/a&gt;</description></item>"
            )
        };
        let entry = read(&item("Fri, 3 May 24 10:00 PST"));
        assert_eq!(entry.created_at, Timestamp::parse("2024-05-03T18:00:00Z").ok());
        assert_eq!(entry.content, "[Rye](https://example.org/c)");
        for broken in ["soon", "Fri, 31 Feb 2024 10:00:00 GMT", ""] {
            let entry = read(&item(broken));
            assert_eq!(entry.created_at, Timestamp::parse("2020-02-02").ok(), "{broken}");
        }
    }
}
