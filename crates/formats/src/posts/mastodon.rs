//! An archive of Mastodon: posts (`outbox.json`), and the addresses of likes and bookmarks.

use serde_json::Value;
use vademecum_model::{MediaDraft, SourceName};

use super::post::{Post, add_threads};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    html_markdown::html_to_markdown,
    text::{
        datetime, decode_text,
        json::{list_at, parse_entry, text_at},
    },
};

/// Files of an archive that are read.
const FILES: [&str; 3] = ["outbox.json", "likes.json", "bookmarks.json"];

/// An archive of Mastodon.
#[derive(Debug)]
pub(crate) struct Mastodon;

impl Format for Mastodon {
    fn id(&self) -> &'static str {
        "mastodon"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "archives of Mastodon (outbox.json, the archive's .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.packs("outbox.json")
            || sample.is_json_with(&["orderedItems"])
                && sample.head.contains("\"OrderedCollection\"")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let mut parsed = ParsedFormat::default();
        if input.is_zip() {
            let is_file = |name: &str| FILES.contains(&name.rsplit('/').next().unwrap_or(name));
            for file in input.unpack(is_file)? {
                add_collection(&mut parsed, &decode_text(&file.bytes, None)?)?;
            }
        } else {
            add_collection(&mut parsed, &input.text()?)?;
        }
        parsed.or_empty("it has no posts")
    }
}

fn add_collection(parsed: &mut ParsedFormat, text: &str) -> Result<(), FormatError> {
    let collection: Value = parse_entry(text).map_err(FormatError::new)?;
    let (mut posts, mut shared, mut author) = (Vec::new(), 0, String::new());
    for item in list_at(&collection, "/orderedItems") {
        match item {
            Value::String(url) => add_address(parsed, url),
            item if text_at(item, "/type") == "Announce" => shared += 1,
            item => {
                let note = item.get("object").filter(|it| it.is_object()).unwrap_or(item);
                text_at(item, "/actor").clone_into(&mut author);
                posts.push(post(note));
            }
        }
    }
    add_threads(parsed, "mastodon", &author, posts);
    parsed.add_count(shared, "post", "shared posts of others");
    Ok(())
}

fn post(note: &Value) -> Post {
    let html = text_at(note, "/content");
    let mut parts = vec![
        text_at(note, "/summary").to_owned(),
        html_to_markdown(html, None).unwrap_or_else(|_| html.to_owned()),
    ];
    for file in list_at(note, "/attachment") {
        let name = text_at(file, "/url").rsplit('/').next().unwrap_or_default();
        let about = text_at(file, "/name");
        parts.push(format!("[file: {name}] {about}").trim_end().to_owned());
    }
    parts.retain(|part| !part.trim().is_empty());
    let tags = list_at(note, "/tag").iter().filter(|tag| text_at(tag, "/type") == "Hashtag");
    let urls = ["/url", "/id"].map(|path| text_at(note, path));
    Post {
        id: text_at(note, "/id").to_owned(),
        answered: text_at(note, "/inReplyTo").to_owned(),
        text: parts.join("\n\n"),
        url: urls.into_iter().find(|url| !url.is_empty()).unwrap_or_default().to_owned(),
        tags: tags.map(|tag| text_at(tag, "/name").trim_start_matches('#').to_owned()).collect(),
        created_at: datetime::parse_text(text_at(note, "/published")),
    }
}

/// Adds a liked post or a bookmark, of which only the address is known.
fn add_address(parsed: &mut ParsedFormat, url: &str) {
    let document = MediaDraft {
        title: url.to_owned(),
        content: format!("Address: {url}"),
        media_type: "bookmark".to_owned(),
        url: Some(url.to_owned()),
        ..MediaDraft::default()
    };
    parsed.add_document(format!("mastodon:{url}"), document, url);
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    const OUTBOX: &str = r##"{"@context": "x", "id": "outbox.json", "type": "OrderedCollection",
        "orderedItems": [
        {"type": "Create", "actor": "https://m.example/users/ada", "published": "2026-01-05T10:01:00Z",
         "object": {"type": "Note", "id": "https://m.example/2", "inReplyTo": "https://m.example/1",
           "content": "<p>It rises.</p>", "published": "2026-01-05T10:01:00Z"}},
        {"type": "Announce", "object": "https://other.example/9"},
        {"type": "Create", "actor": "https://m.example/users/ada",
         "object": {"type": "Note", "id": "https://m.example/1", "url": "https://m.example/@ada/1",
           "content": "<p>Rye <b>bread</b></p>", "published": "2026-01-05T10:00:00Z",
           "tag": [{"type": "Hashtag", "name": "#bread"}],
           "attachment": [{"url": "/media/rye.jpg", "name": "A loaf"}]}}]}"##;

    #[test]
    fn thread_is_a_document_and_shared_posts_are_counted() {
        let likes = r#"{"type": "OrderedCollection", "orderedItems": ["https://other.example/7"]}"#;
        let zip =
            zip_archive(&[("outbox.json", OUTBOX.as_bytes()), ("likes.json", likes.as_bytes())]);
        assert!(detects(&Mastodon, "/a.zip", &zip) && detects(&Mastodon, "/outbox.json", OUTBOX));
        let parsed = parse(&Mastodon, "/outbox.json", OUTBOX);
        let found = documents(&parsed);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].content, "Rye bread\n\n[file: rye.jpg] A loaf\n\nIt rises.");
        assert_eq!(
            (found[0].title.as_str(), found[0].tags.join(",")),
            ("Rye bread", "bread".to_owned())
        );
        assert_eq!(found[0].url.as_deref(), Some("https://m.example/@ada/1"));
        assert_eq!(parsed.problems[0].to_string(), "1 post: shared posts of others");
        assert_eq!(parse(&Mastodon, "/a.zip", &zip).drafts.len(), 2);
        assert!(try_parse(&Mastodon, "/outbox.json", "{}").is_err());
    }
}
