//! Bookmarks in the files of browsers: `Bookmarks` of Chrome, Edge and Brave, and the backups of
//! Firefox (`.json`, `.jsonlz4`).

use serde_json::Value;
use vademecum_model::{SourceName, Timestamp};

use super::entry::ReadingEntry;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    lz4,
    text::{
        decode_text,
        json::{list_at, parse_entry, text_at},
        keywords::split_commas,
    },
};

/// First bytes of a backup that Firefox has compressed. The unpacked size follows.
const MOZ_LZ4: &[u8] = b"mozLz40\0";

/// Seconds from the beginning of 1601, from which Chrome counts, to that of 1970.
const SECONDS_1601: f64 = 11_644_473_600.0;

/// Schemes of entries that lead to no page: scripts, and queries of the browser.
const IGNORED_SCHEMES: [&str; 5] = ["javascript:", "data:", "place:", "about:", "chrome:"];

/// Bookmarks of browsers.
#[derive(Debug)]
pub(crate) struct BrowserBookmarks;

impl Format for BrowserBookmarks {
    fn id(&self) -> &'static str {
        "browser_bookmarks"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "bookmarks in files of Chrome, Edge, Brave and Firefox"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.bytes.starts_with(MOZ_LZ4)
            || sample.is_json_with(&["roots", "bookmark_bar"])
            || sample.is_json_with(&["guid", "text/x-moz-place-container"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let unpacked;
        let bytes = match input.bytes.strip_prefix(MOZ_LZ4) {
            Some(packed) => {
                unpacked = lz4::unpack_block(packed).map_err(FormatError::new)?;
                unpacked.as_slice()
            }
            None => input.bytes,
        };
        let text = decode_text(bytes, None)?;
        let root: Value = parse_entry(&text).map_err(FormatError::new)?;
        let mut reader = BookmarkTree::default();
        match root.get("roots").and_then(Value::as_object) {
            Some(roots) => {
                for root in roots.values() {
                    reader.add_node(root);
                }
            }
            None => reader.add_node(&root),
        }
        let mut parsed = ParsedFormat::default();
        for entry in reader.entries {
            parsed.add_entry(entry);
        }
        parsed.add_count(reader.ignored, "bookmark", "they lead to no page");
        parsed.or_empty("it has no bookmarks")
    }
}

/// The bookmarks of a tree of folders. Its depth is bounded by the parser of JSON.
#[derive(Debug, Default)]
struct BookmarkTree {
    entries: Vec<ReadingEntry>,
    folders: Vec<String>,
    ignored: usize,
}

impl BookmarkTree {
    fn add_node(&mut self, node: &Value) {
        let name = ["/name", "/title"].map(|path| text_at(node, path));
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let url = ["/url", "/uri"].map(|path| text_at(node, path));
        let url = url.into_iter().find(|url| !url.is_empty()).unwrap_or_default();
        if url.is_empty() {
            self.folders.push(name.to_owned());
            for child in list_at(node, "/children") {
                self.add_node(child);
            }
            self.folders.pop();
        } else if IGNORED_SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
            self.ignored += 1;
        } else {
            let guid = text_at(node, "/guid");
            self.entries.push(ReadingEntry {
                origin: format!("bookmark:{}", if guid.is_empty() { url } else { guid }),
                title: if name.is_empty() { url } else { name }.to_owned(),
                url: url.to_owned(),
                media_type: "bookmark",
                folders: self.folders.iter().filter(|it| !it.is_empty()).cloned().collect(),
                tags: split_commas(text_at(node, "/tags")).collect(),
                created_at: chrome_time(node, "date_added")
                    .or_else(|| firefox_time(node, "dateAdded")),
                modified_at: firefox_time(node, "lastModified"),
                ..ReadingEntry::default()
            });
        }
    }
}

/// Reads microseconds since 1601, which are a text.
fn chrome_time(node: &Value, field: &str) -> Option<Timestamp> {
    let micros: f64 = node.get(field)?.as_str()?.parse().ok()?;
    Timestamp::from_unix_seconds(micros / 1e6 - SECONDS_1601).filter(|_| micros > 0.0)
}

/// Reads microseconds since 1970.
fn firefox_time(node: &Value, field: &str) -> Option<Timestamp> {
    Timestamp::from_unix_seconds(node.get(field)?.as_f64()? / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn chrome_bookmark_keeps_folder_and_date() {
        let json = r#"{"checksum": "x", "roots": {"bookmark_bar": {"children": [
            {"type": "folder", "name": "Bread", "children": [{"type": "url", "name": "Rye",
             "guid": "g1", "url": "https://example.org", "date_added": "13412080800000000"}]},
            {"type": "url", "name": "x", "url": "javascript:alert(1)"}],
            "name": "Bookmarks bar", "type": "folder"}, "other": {"children": []}}}"#;
        assert!(detects(&BrowserBookmarks, "/Bookmarks", json));
        let parsed = parse(&BrowserBookmarks, "/Bookmarks", json);
        assert_eq!(parsed.drafts[0].origin, "bookmark:g1");
        let found = documents(&parsed)[0];
        assert_eq!(found.content, "Address: https://example.org\nFolder: Bookmarks bar / Bread");
        assert_eq!(found.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(parsed.problems[0].place, "1 bookmark");
    }

    #[test]
    fn firefox_backup_is_read_also_compressed() {
        let json = r#"{"guid": "root________", "title": "", "type": "text/x-moz-place-container",
            "children": [{"guid": "menu", "title": "menu", "type": "text/x-moz-place-container",
            "children": [{"guid": "g2", "title": "Rye", "uri": "https://example.org", "tags": "a,b",
            "dateAdded": 1767607200000000, "lastModified": 1767607260000000}]}]}"#;
        assert!(detects(&BrowserBookmarks, "/bookmarks.json", json));
        let plain = parse(&BrowserBookmarks, "/bookmarks.json", json);
        let found = documents(&plain)[0];
        assert_eq!(found.tags, ["a", "b"]);
        assert_eq!(found.content, "Address: https://example.org\nFolder: menu");
        assert_eq!(found.modified_at.unwrap().to_string(), "2026-01-05T10:01:00.000Z");
        let packed = [MOZ_LZ4, &lz4::tests::pack_literals(json.as_bytes())].concat();
        assert!(detects(&BrowserBookmarks, "/bookmarks.jsonlz4", &packed));
        let parsed = parse(&BrowserBookmarks, "/bookmarks.jsonlz4", &packed);
        assert_eq!(parsed.drafts[0].digest, plain.drafts[0].digest);
    }

    #[test]
    fn damaged_file_is_rejected() {
        let deep = format!("{}{}", r#"{"children": ["#.repeat(200), "]}".repeat(200));
        for bytes in [b"{}".as_slice(), MOZ_LZ4, b"mozLz40\0\xff\xff\xff\xff\xf0", deep.as_bytes()]
        {
            assert!(try_parse(&BrowserBookmarks, "/a", bytes).is_err());
        }
    }
}
