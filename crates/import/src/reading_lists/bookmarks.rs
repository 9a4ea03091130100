//! Bookmarks exported by browsers and services, in the format of Netscape: one document for each.
//!
//! The format is not HTML that closes its elements, so the tags are read one after the other.

use std::collections::HashMap;

use dom_smoothie::Readability;
use vademecum_model::{Draft, DraftBody, MediaDraft, SourceName, Timestamp};

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile, digest,
    documents::document::unreadable_error,
    text::{
        datetime,
        keywords::{distinct_keywords, split_commas},
    },
};

/// Version of the importer; increment when the same bookmark produces a different document.
const VERSION: &str = "bookmarks/1";

/// Beginning of the name that the first line of the format declares.
const DOCTYPE: &str = "netscape-bookmark-file";

/// Schemes of entries that are no addresses: scripts, and queries of the browser.
const IGNORED_SCHEMES: [&str; 5] = ["javascript", "data", "place", "vbscript", "blob"];

/// Elements inside of names and descriptions.
const INLINE_TAGS: [&str; 8] = ["b", "i", "em", "strong", "span", "font", "br", "p"];

/// Maximum number of nested folders whose names are kept.
const MAX_FOLDERS: usize = 64;

/// Importer of bookmarks.
#[derive(Debug)]
pub(crate) struct BookmarkImporter;

impl Importer for BookmarkImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "bookmarks of browsers (.html)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening: String = probe.head_text().chars().take(256).collect();
        Confidence::ByContent.when(opening.to_ascii_lowercase().contains(DOCTYPE))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let bookmarks = BookmarkReader::default().read(&file.text()?);
        if bookmarks.is_empty() {
            return Err(unreadable_error(file, "bookmarks", &"it has no bookmarks"));
        }
        let mut reading = ParsedFile::default();
        let mut counts = HashMap::new();
        let (kept, ignored): (Vec<_>, Vec<_>) =
            bookmarks.into_iter().partition(Bookmark::has_address);
        for bookmark in kept {
            let count = counts.entry(bookmark.address.clone()).or_insert(0_usize);
            *count += 1;
            reading.drafts.push(bookmark.into_draft(file, *count));
        }
        if !ignored.is_empty() {
            let reason = format!(
                "{} without an address, such as scripts (`javascript:`) and searches (`place:`), \
                 cannot be opened elsewhere",
                ignored.len()
            );
            reading.problems.push(Problem { place: "bookmarks".to_owned(), reason });
        }
        Ok(reading)
    }
}

/// A bookmark of the file.
#[derive(Clone, Debug, Default)]
struct Bookmark {
    address: String,
    title: String,
    description: String,
    /// Names of the folders, the outermost first.
    folders: Vec<String>,
    tags: Vec<String>,
    added: Option<Timestamp>,
    modified: Option<Timestamp>,
}

impl Bookmark {
    /// Returns `true` if the bookmark leads to a page or file.
    fn has_address(&self) -> bool {
        let scheme = self.address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        scheme.is_some_and(|scheme| !IGNORED_SCHEMES.contains(&scheme.as_str()))
    }

    /// Returns the draft. `count` is the number of bookmarks of the file with this address so far.
    fn into_draft(self, file: &SourceFile, count: usize) -> Draft {
        let mut origin = format!("{}#{}", file.origin(), self.address);
        if count > 1 {
            origin.extend([" ", &count.to_string()]);
        }
        let time = |it: Option<Timestamp>| it.map(|it| it.to_string()).unwrap_or_default();
        let content = self.to_text();
        let (added, modified, tags) = (time(self.added), time(self.modified), self.tags.join("\n"));
        let parts = [&self.address, &self.title, &content, &tags, &added, &modified];
        let digest = digest(VERSION, parts.map(String::as_bytes));
        let created_at = self.added.or(file.modified);
        let document = MediaDraft {
            title: if self.title.is_empty() { self.address.clone() } else { self.title },
            media_type: "bookmark".to_owned(),
            content,
            tags: distinct_keywords(self.tags),
            created_at,
            modified_at: self.modified.or(created_at),
            url: Some(self.address),
            ..MediaDraft::default()
        };
        Draft { origin, digest, id: None, body: DraftBody::Media(document) }
    }

    /// Returns the text of the document: description, address and folders.
    fn to_text(&self) -> String {
        let mut text = String::new();
        if !self.description.is_empty() {
            text.extend([self.description.as_str(), "\n\n"]);
        }
        text.extend(["Address: ", &self.address]);
        if !self.folders.is_empty() {
            text.extend(["\nFolder: ", &self.folders.join(" / ")]);
        }
        text
    }
}

/// Element whose text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TextOf {
    #[default]
    Nothing,
    FolderName,
    Title,
    Description,
}

/// Reads the tags of a file in order.
#[derive(Debug, Default)]
struct BookmarkReader {
    bookmarks: Vec<Bookmark>,
    /// Names of the open folders; `None` for lists without a name, such as the outermost.
    folders: Vec<Option<String>>,
    /// Name of the folder whose list has not begun yet.
    folder_name: Option<String>,
    text_of: TextOf,
    /// If set, a description belongs to the last bookmark.
    follows_bookmark: bool,
}

impl BookmarkReader {
    fn read(mut self, text: &str) -> Vec<Bookmark> {
        let mut rest = text;
        while let Some((before, tag)) = rest.split_once('<') {
            self.add_text(before);
            let is_letter = |next: char| next.is_ascii_alphanumeric() || next == '/';
            let (name, inside) = tag.split_at(tag.find(|it| !is_letter(it)).unwrap_or(tag.len()));
            let (attributes, after) = split_tag(inside);
            self.open_tag(&name.to_ascii_lowercase(), attributes);
            rest = after;
        }
        self.bookmarks
    }

    fn open_tag(&mut self, name: &str, attributes: &str) {
        self.text_of = match name {
            "a" => {
                self.add_bookmark(attributes);
                TextOf::Title
            }
            "h3" => {
                self.folder_name = Some(String::new());
                self.follows_bookmark = false;
                TextOf::FolderName
            }
            "dl" => {
                self.folders.push(self.folder_name.take());
                TextOf::Nothing
            }
            "/dl" => {
                self.folders.pop();
                self.follows_bookmark = false;
                TextOf::Nothing
            }
            "dd" if self.follows_bookmark => TextOf::Description,
            _ if INLINE_TAGS.contains(&name.trim_matches('/')) => self.text_of,
            _ => TextOf::Nothing,
        };
    }

    fn add_bookmark(&mut self, attributes: &str) {
        let mut bookmark = Bookmark::default();
        for (name, value) in attributes_of(attributes) {
            match name.to_ascii_lowercase().as_str() {
                "href" => bookmark.address = attribute_text(value),
                "tags" => bookmark.tags = split_commas(&attribute_text(value)).collect(),
                "add_date" => bookmark.added = datetime::parse_document_date(value),
                "last_modified" => bookmark.modified = datetime::parse_document_date(value),
                _ => {}
            }
        }
        bookmark.folders = self.folders.iter().flatten().take(MAX_FOLDERS).cloned().collect();
        self.bookmarks.push(bookmark);
        self.follows_bookmark = true;
    }

    fn add_text(&mut self, text: &str) {
        let last = self.bookmarks.last_mut();
        let (target, separator) = match self.text_of {
            TextOf::Nothing => return,
            TextOf::FolderName => (self.folder_name.as_mut(), " "),
            TextOf::Title => (last.map(|it| &mut it.title), " "),
            TextOf::Description => (last.map(|it| &mut it.description), "\n"),
        };
        let text = plain_text(text.trim());
        if let Some(target) = target.filter(|_| !text.is_empty()) {
            if !target.is_empty() {
                target.push_str(separator);
            }
            target.push_str(&text);
        }
    }
}

/// Splits the rest of a tag from the text after it. A `>` in a quoted value is part of the tag.
fn split_tag(rest: &str) -> (&str, &str) {
    let (mut quote, mut before) = (None, ' ');
    for (at, next) in rest.char_indices() {
        match (quote, next) {
            (None, '>') => return (&rest[..at], &rest[at + 1..]),
            (None, '"' | '\'') if before == '=' => quote = Some(next),
            (Some(open), _) if open == next => quote = None,
            _ => {}
        }
        before = next;
    }
    rest.split_once('>').unwrap_or((rest, ""))
}

/// Returns the names and values of attributes; a value may be quoted.
fn attributes_of(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_end().rsplit(char::is_whitespace).next().unwrap_or_default();
        let after = after.trim_start();
        let quote = after.chars().next().filter(|next| matches!(next, '"' | '\''));
        let (value, next) = match quote {
            Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        found.push((name, value));
        rest = next;
    }
    found
}

/// Returns a text with its character references replaced.
fn plain_text(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    Readability::from(text).doc.select("body").text().trim().to_owned()
}

/// Returns the value of an attribute with its character references replaced. In an address, `&copy=`
/// is none.
fn attribute_text(value: &str) -> String {
    let value = value.trim();
    if !value.contains('&') {
        return value.to_owned();
    }
    let quoted = value.replace('"', "&quot;");
    let page = Readability::from(format!("<body><a href=\"{quoted}\">"));
    let read = page.doc.select_single("a").attr("href");
    read.map_or_else(|| value.to_owned(), |value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        detection::file_probe::tests::probe_file,
        documents::{HtmlImporter, document::tests::read_error},
    };

    const FIREFOX: &str = r#"<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file. DO NOT EDIT! -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>
<DL><p>
    <DT><A HREF="https://example.org/?a=1&copy=2" ADD_DATE="1714716000" LAST_MODIFIED="1714802400" ICON="data:image/png;base64,AA>==" TAGS="bread,rye &amp; wheat">Rye &lt;bread&gt;</A>
    <DD>How to <b>knead</b>
it &amp; wait.
    <HR>
    <DT><H3 ADD_DATE="1714716000" PERSONAL_TOOLBAR_FOLDER="true">Bar &amp; more</H3>
    <DD>Add bookmarks to this folder
    <DL><p>
        <DT><H3>Baking</H3>
        <DL><p>
            <DT><A HREF="https://example.org/a">A</A>
        </DL><p>
        <DT><A HREF="https://example.org/a">A</A>
        <DT><A HREF="javascript:alert('<b>')">Script</A>
        <DT><A HREF="place:sort=8">Recent</A>
    </DL><p>
    <DT><A HREF='ftp://example.org' ADD_DATE=0>
</DL>"#;

    fn read_bookmarks(text: &str) -> (Vec<(String, MediaDraft)>, Vec<Problem>) {
        let file = SourceFile {
            modified: Timestamp::parse("2020-02-02").ok(),
            ..SourceFile::in_memory("/b.html", text)
        };
        let reading = BookmarkImporter.parse(&file).unwrap();
        let drafts = reading.drafts.into_iter().map(|draft| match draft.body {
            DraftBody::Media(document) => (draft.origin, document),
            _ => panic!("no document"),
        });
        (drafts.collect(), reading.problems)
    }

    #[test]
    fn bookmark_keeps_address_folder_tags_and_dates() {
        let (bookmarks, problems) = read_bookmarks(FIREFOX);
        let (origin, first) = &bookmarks[0];
        assert_eq!(origin, "file:/b.html#https://example.org/?a=1&copy=2");
        assert_eq!(first.title, "Rye <bread>");
        assert_eq!(first.url.as_deref(), Some("https://example.org/?a=1&copy=2"));
        assert_eq!(first.tags, ["bread", "rye & wheat"]);
        assert_eq!(first.created_at.unwrap().to_string(), "2024-05-03T06:00:00.000Z");
        assert_eq!(first.modified_at.unwrap().to_string(), "2024-05-04T06:00:00.000Z");
        assert_eq!(
            first.content,
            "How to\nknead\nit & wait.\n\nAddress: https://example.org/?a=1&copy=2"
        );
        let second = &bookmarks[1].1;
        let content = "Address: https://example.org/a\nFolder: Bar & more / Baking";
        assert_eq!((second.title.as_str(), second.content.as_str()), ("A", content));
        assert_eq!(second.created_at, Timestamp::parse("2020-02-02").ok());
        assert_eq!(bookmarks[2].0, "file:/b.html#https://example.org/a 2");
        assert!(bookmarks[2].1.content.ends_with("Folder: Bar & more"), "{bookmarks:?}");
        let last = &bookmarks[3].1;
        assert_eq!((last.title.as_str(), bookmarks.len()), ("ftp://example.org", 4));
        assert!(!last.content.contains("Folder"), "{last:?}");
        assert!(problems[0].reason.starts_with("2 without an address"), "{problems:?}");
    }

    #[test]
    fn bookmark_file_is_detected_before_web_page() {
        let probe = probe_file("a.html", FIREFOX);
        assert_eq!(BookmarkImporter.detect(&probe), Confidence::ByContent);
        assert_eq!(HtmlImporter.detect(&probe), Confidence::ByName);
        let page = "<!DOCTYPE html><title>About NETSCAPE</title>";
        assert_eq!(BookmarkImporter.detect(&probe_file("a.html", page)), Confidence::NoMatch);
    }

    #[test]
    fn torn_bookmark_file_is_read_or_rejected() {
        let torn = &FIREFOX[..FIREFOX.find("Baking").unwrap()];
        assert_eq!(read_bookmarks(torn).0.len(), 1);
        for text in ["", "<", "<a", "<dl></dl></dl>", "<a href=\""] {
            let text = format!("<!DOCTYPE NETSCAPE-Bookmark-file-1>{text}");
            let parsed = BookmarkImporter.parse(&SourceFile::in_memory("/b.html", text.as_str()));
            assert!(parsed.is_err() || parsed.unwrap().drafts.is_empty(), "{text}");
        }
        assert!(read_error(&BookmarkImporter, "/b.html", "x").contains("has no bookmarks"));
    }
}
