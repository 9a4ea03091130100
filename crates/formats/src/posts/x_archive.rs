//! An archive of X: posts (`tweets.js`) and direct messages (`direct-messages.js`). Its files are scripts
//! that assign a list to a variable.

use std::collections::HashMap;

use serde_json::Value;
use vademecum_model::{ChatDraft, MessageDraft, SourceName};

use super::post::{Post, add_threads};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime, decode_text,
        json::{id_at, list_at, parse_entry, split_entries, text_at},
    },
};

/// Beginning of the files.
const SCRIPT: &str = "window.YTD.";

/// An archive of X.
#[derive(Debug)]
pub(crate) struct XArchive;

impl Format for XArchive {
    fn id(&self) -> &'static str {
        "x_archive"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "archives of X (tweets.js, direct-messages.js, the archive's .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let kinds = ["tweet", "tweets", "direct_messages", "note_tweet"];
        let is_script = |kind: &&str| sample.head.starts_with(&format!("{SCRIPT}{kind}.part"));
        sample.packs("data/tweets.js") || kinds.iter().any(is_script)
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let mut parsed = ParsedFormat::default();
        let (mut posts, mut shared) = (Vec::new(), 0);
        let packed = if input.is_zip() { input.unpack(is_read)? } else { Vec::new() };
        let own = packed.is_empty().then_some(input.bytes);
        let mut long_texts = Vec::new();
        for bytes in own.into_iter().chain(packed.iter().map(|file| file.bytes.as_slice())) {
            let text = decode_text(bytes, None)?;
            let list =
                text.split_once('=').map_or("", |(_, list)| list.trim().trim_end_matches(';'));
            for (number, json) in (1..).zip(split_entries(list)?) {
                let entry: Value = match parse_entry(json.get()) {
                    Ok(entry) => entry,
                    Err(reason) => {
                        parsed.add_problem(format!("entry {number}"), reason);
                        continue;
                    }
                };
                if let Some(chat) = entry.get("dmConversation") {
                    add_chat(&mut parsed, chat);
                } else if let Some(long) = entry.get("noteTweet") {
                    long_texts.push(text_at(long, "/core/text").to_owned());
                } else {
                    let tweet = entry.get("tweet").unwrap_or(&entry);
                    match post(tweet) {
                        Some(post) => posts.push(post),
                        None => shared += 1,
                    }
                }
            }
        }
        // The longest text of each beginning.
        long_texts.sort_by_key(String::len);
        let by_begin = long_texts.iter().filter_map(|text| Some((begin(text)?, text))).collect();
        for post in &mut posts {
            complete(post, &by_begin);
        }
        add_threads(&mut parsed, "x", "", posts);
        parsed.add_count(shared, "post", "shared posts of others, or without an identifier");
        parsed.or_empty("it has neither posts nor messages")
    }
}

/// Returns whether a file of the archive is read. Large archives have several parts.
fn is_read(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let stem = name.strip_suffix(".js").unwrap_or_default();
    let stem = stem.split("-part").next().unwrap_or(stem);
    ["tweet", "tweets", "direct-messages", "note-tweet"].contains(&stem)
}

/// Maximum size of the text of a post with its addresses in full, in bytes. Further ones stay short.
const MAX_TEXT_BYTES: usize = 256 * 1_024;
/// Number of characters at the beginning of a long post by which it is recognised.
const BEGIN_CHARS: usize = 100;

/// Returns a post; `None` for one of another person that was shared.
fn post(tweet: &Value) -> Option<Post> {
    let id = id_at(tweet, "/id_str");
    let mut text = text_at(tweet, "/full_text").to_owned();
    if id.is_empty() || text.starts_with("RT @") {
        return None;
    }
    for path in ["/entities/urls", "/entities/media"] {
        for link in list_at(tweet, path) {
            let (short, long) = (text_at(link, "/url"), text_at(link, "/expanded_url"));
            if short.is_empty() || long.is_empty() {
                continue;
            }
            let added = text.matches(short).count().saturating_mul(long.len());
            if text.len().saturating_add(added) <= MAX_TEXT_BYTES {
                text = text.replace(short, long);
            }
        }
    }
    let tags = list_at(tweet, "/entities/hashtags").iter();
    Some(Post {
        url: format!("https://x.com/i/status/{id}"),
        id,
        answered: id_at(tweet, "/in_reply_to_status_id_str"),
        text: text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"),
        tags: tags.map(|tag| text_at(tag, "/text").to_owned()).collect(),
        created_at: parse_time(text_at(tweet, "/created_at")),
    })
}

/// Returns the beginning of a text by which a long post is recognised; `None` if the text is shorter.
fn begin(text: &str) -> Option<&str> {
    let (at, last) = text.char_indices().nth(BEGIN_CHARS - 1)?;
    text.get(..at + last.len_utf8())
}

/// Replaces the shortened text of a long post by the longest one with the same beginning.
fn complete(post: &mut Post, long_texts: &HashMap<&str, &String>) {
    let long = begin(&post.text).and_then(|begin| long_texts.get(begin));
    if let Some(text) = long.filter(|text| text.len() > post.text.len()) {
        post.text = (*text).clone();
    }
}

/// Parses `Mon Jan 05 10:00:00 +0000 2026`, or ISO 8601.
fn parse_time(text: &str) -> Option<vademecum_model::Timestamp> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    match parts.as_slice() {
        [_, month, day, time, zone, year] => {
            datetime::parse_text(&format!("{day} {month} {year} {time} {zone}"))
        }
        _ => datetime::parse_text(text),
    }
}

fn add_chat(parsed: &mut ParsedFormat, chat: &Value) {
    let mut messages = Vec::new();
    for entry in list_at(chat, "/messages") {
        let Some(said) = entry.get("messageCreate") else { continue };
        messages.push(MessageDraft {
            origin: id_at(said, "/id"),
            sender: id_at(said, "/senderId"),
            content: text_at(said, "/text").to_owned(),
            sent_at: datetime::parse_text(text_at(said, "/createdAt")),
            ..MessageDraft::default()
        });
    }
    // The newest message comes first.
    messages.sort_by_key(|message| message.sent_at);
    let id = id_at(chat, "/conversationId");
    let draft = ChatDraft {
        title: Some(format!("Messages {id}")),
        service: Some("x".to_owned()),
        messages,
        ..ChatDraft::default()
    };
    parsed.add_chat(format!("x-messages:{id}"), draft);
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{chats, detects, documents, lines, parse, try_parse};

    const TWEETS: &str = r#"window.YTD.tweets.part0 = [
        {"tweet": {"id_str": "1", "full_text": "Rye &amp; oats https://t.co/a", "created_at": "Mon Jan 05 10:00:00 +0000 2026",
          "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://example.org"}],
            "hashtags": [{"text": "bread"}]}}},
        {"tweet": {"id_str": "2", "full_text": "It rises.", "in_reply_to_status_id_str": "1",
          "created_at": "Mon Jan 05 10:01:00 +0000 2026"}},
        {"tweet": {"id_str": "3", "full_text": "RT @ben: x"}}]"#;
    const MESSAGES: &str = r#"window.YTD.direct_messages.part0 = [{"dmConversation": {"conversationId": "7-8",
        "messages": [{"messageCreate": {"id": "b", "senderId": "8", "text": "A day.", "createdAt": "2026-01-05T10:01:00Z"}},
        {"messageCreate": {"id": "a", "senderId": "7", "text": "Rest?", "createdAt": "2026-01-05T10:00:00Z"}}]}}]"#;

    #[test]
    fn addresses_do_not_grow_without_limit() {
        let link = r#"{"url": "a", "expanded_url": "aaaaaaaa"}"#;
        let links = vec![link; 30].join(",");
        let post = format!(
            r#"window.YTD.tweets.part0 = [{{"tweet": {{"id_str": "1", "full_text": "a rye",
                "created_at": "2026-01-05T10:00:00Z", "entities": {{"urls": [{links}]}}}}}}]"#
        );
        let parsed = parse(&XArchive, "/tweets.js", post);
        let text = &documents(&parsed)[0].content;
        assert!(text.len() < 2 * MAX_TEXT_BYTES && text.contains("aaaaaaaa rye"));
    }

    #[test]
    fn posts_are_threads_and_messages_chats() {
        let zip = zip_archive(&[
            ("data/tweets.js", TWEETS.as_bytes()),
            ("data/direct-messages.js", MESSAGES.as_bytes()),
            ("data/account.js", b"x"),
        ]);
        for text in [TWEETS, MESSAGES] {
            assert!(detects(&XArchive, "/a.js", text));
        }
        assert!(detects(&XArchive, "/a.zip", &zip));
        let parsed = parse(&XArchive, "/a.zip", &zip);
        let found = documents(&parsed);
        assert_eq!(found[0].content, "Rye & oats https://example.org\n\nIt rises.");
        assert_eq!((found.len(), found[0].tags.join(",")), (1, "bread".to_owned()));
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(
            lines(chats(&parsed)[0]),
            ["2026-01-05T10:00 7: Rest?", "2026-01-05T10:01 8: A day."]
        );
        assert_eq!(parsed.problems.len(), 1);
        assert!(try_parse(&XArchive, "/a.js", "window.YTD.tweets.part0 = []").is_err());
    }
}
