//! Feeds: RSS, Atom and JSON Feed, each entry a document.

use feed_rs::model::{Entry, Feed};
use vademecum_kit::model::{Body, Draft, MediaDraft, SourceName, Timestamp};

use super::{
    document::unreadable,
    markup::{TooDeep, markdown},
};
use crate::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, digest::digest,
    keywords::distinct,
};

/// Goes up when the same file makes other documents than before.
const VERSION: &str = "feed/1";

/// Reads feeds.
#[derive(Debug)]
pub(crate) struct Feeds;

impl Importer for Feeds {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "feeds (RSS, Atom, JSON Feed)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.opening();
        let names = |marks: &[&str]| marks.iter().any(|mark| opening.contains(mark));
        let is_xml = opening.starts_with('<')
            && names(&["<rss", "http://www.w3.org/2005/Atom", "http://purl.org/rss/1.0/"]);
        let is_json = opening.starts_with('{') && names(&["https://jsonfeed.org/version/"]);
        Fit::Content
            .when((is_xml && !names(&["<html"])) || is_json)
            .max(Fit::Name.when(glance.ends_in(&["rss", "atom"])))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        // It names its encoding itself.
        let feed = feed_rs::parser::parse(file.bytes.as_slice())
            .map_err(|error| unreadable(file, "a feed", &error))?;
        if feed.entries.is_empty() {
            return Err(unreadable(file, "a feed", &"it has no entries"));
        }
        let mut reading = Reading::default();
        for (number, entry) in (1..).zip(&feed.entries) {
            match document(&feed, entry, file) {
                Ok(document) => reading.drafts.push(draft(&feed, entry, document)),
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

/// An entry is known by its own name, wherever the feed was saved.
fn draft(feed: &Feed, entry: &Entry, document: MediaDraft) -> Draft {
    let date = document.modified_at.map(|date| date.to_string()).unwrap_or_default();
    let url = document.url.as_deref().unwrap_or_default();
    let author = document.author.as_deref().unwrap_or_default();
    let parts = [&document.title, &document.content, author, url, &date, &document.tags.join(",")];
    Draft {
        origin: format!("feed:{}:{}", feed.id, entry.id),
        digest: digest(VERSION, parts.map(str::as_bytes)),
        id: None,
        body: Body::Media(document),
    }
}

fn document(feed: &Feed, entry: &Entry, file: &SourceFile) -> Result<MediaDraft, String> {
    let content = text(entry).map_err(|error| error.to_string())?;
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
    let date = entry.updated.or(entry.published);
    let page = |link: &&feed_rs::model::Link| {
        link.rel.as_deref().is_none_or(|rel| rel == "alternate") && link.href.contains("://")
    };
    Ok(MediaDraft {
        title: title.to_owned(),
        media_type: "feed".to_owned(),
        url: entry.links.iter().find(page).map(|link| link.href.clone()),
        author: Some(authors.join(", ")).filter(|authors| !authors.is_empty()),
        tags: distinct(entry.categories.iter().map(|category| category.term.clone())),
        modified_at: date
            .and_then(|date| Timestamp::parse(&date.to_rfc3339()).ok())
            .or(file.modified),
        content,
        ..MediaDraft::default()
    })
}

/// What an entry says: all of it, or else its summary.
fn text(entry: &Entry) -> Result<String, TooDeep> {
    let whole = entry.content.as_ref().and_then(|content| content.body.as_deref());
    let summary = entry.summary.as_ref().map(|summary| summary.content.as_str());
    for html in whole.into_iter().chain(summary) {
        let text = markdown(html)?;
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
        glance::tests::glance,
        media::document::tests::{read, refused},
    };

    fn rss(items: &str) -> String {
        format!(
            "<?xml version='1.0'?><rss version='2.0'><channel><title>Bakery</title>\
             <link>https://example.org/</link>{items}</channel></rss>"
        )
    }

    #[test]
    fn an_entry_is_a_document_with_what_the_feed_says_of_it() {
        let item = "<item><title>Rye &amp; wheat</title><link>https://example.org/rye</link>\
            <author>ada@example.org (Ada)</author><category>bread</category><guid>1</guid>\
            <pubDate>Fri, 03 May 2024 10:00:00 +0200</pubDate>\
            <description>&lt;h2&gt;Dough&lt;/h2&gt;&lt;p&gt;Wait &amp;amp; see.&lt;/p&gt;</description></item>";
        let entry = read(&Feeds, "/feed.xml", rss(item));
        assert_eq!(entry.title, "Rye & wheat");
        assert_eq!(entry.content, "## Dough\n\nWait & see.");
        assert_eq!(entry.url.as_deref(), Some("https://example.org/rye"));
        assert!(entry.author.as_deref().unwrap().contains("Ada"), "{entry:?}");
        assert_eq!(entry.tags, ["bread"]);
        assert_eq!(entry.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
        assert_eq!(Feeds.recognise(&glance("feed.xml", rss(item))), Fit::Content);
    }

    #[test]
    fn atom_and_json_feeds_are_read_as_well() {
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>T</title>\
            <author><name>Ada</name></author><entry><id>1</id><title>Rye</title>\
            <updated>2024-05-03T08:00:00Z</updated><content>Wait.</content></entry></feed>";
        let entry = read(&Feeds, "/a.atom", atom);
        assert_eq!((entry.content.as_str(), entry.author.as_deref()), ("Wait.", Some("Ada")));
        let json = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "T", "items":
            [{"id": "1", "title": "Rye", "content_text": "Wait."}]}"#;
        assert_eq!(read(&Feeds, "/a.json", json).content, "Wait.");
        assert_eq!(Feeds.recognise(&glance("a.json", json)), Fit::Content);
    }

    #[test]
    fn an_entry_is_known_wherever_its_feed_is_saved() {
        let feed = rss("<item><guid>1</guid><title>T</title><description>x</description></item>");
        let origin = |path: &str| {
            Feeds.read(&SourceFile::example(path, feed.as_str())).unwrap().drafts.remove(0).origin
        };
        assert_eq!(origin("/a.xml"), origin("/b.xml"));
    }

    #[test]
    fn an_empty_entry_is_named_and_the_rest_goes_in() {
        let feed = rss("<item><title>None</title></item><item><description>x</description></item>");
        let reading = Feeds.read(&SourceFile::example("/a.xml", feed)).unwrap();
        assert_eq!(reading.drafts.len(), 1);
        assert_eq!(reading.problems[0].place, "entry 1 `None`");
    }

    #[test]
    fn what_is_no_feed_is_refused() {
        assert!(refused(&Feeds, "/a.rss", "<rss version='2.0'>").contains("as a feed"));
        assert!(refused(&Feeds, "/a.rss", "words").contains("as a feed"));
        let deep = "<rss version='2.0'>".to_owned() + &"<a>".repeat(1_000_000);
        assert!(refused(&Feeds, "/a.rss", deep).contains("as a feed"));
    }
}
