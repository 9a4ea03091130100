//! Pages of Notion: title, identifier, properties and text.

use vademecum_model::{Draft, DraftBody, NoteDraft, Timestamp};

use super::page_html;
use crate::{
    ImportError, ParsedFile, SourceFile, digest,
    text::{
        datetime,
        keywords::{distinct_keywords, inline_tags, split_commas},
        markdown::MarkdownDocument,
        title::clean_title,
    },
};

/// Version of the importer; increment when the same page produces a different note.
const VERSION: &str = "notion/1";

/// Number of hexadecimal digits of a page identifier.
const PAGE_ID_DIGITS: usize = 32;

/// Adds the note of a page. Fails if the page is not text or holds none.
pub(super) fn add_page(reading: &mut ParsedFile, file: &SourceFile) -> Result<(), ImportError> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, number) = parse_page_name(&name).unwrap_or((&name, ""));
    let (heading, text) = if file.has_extension(&["html"]) {
        let page = page_html::read_page(file)?;
        (page.title, page.content)
    } else {
        let text = file.text()?.trim_start_matches('\u{feff}').to_owned();
        (MarkdownDocument::parse(&text).opening_heading().map(str::to_owned), text)
    };
    let properties = NotionProperties::parse(&text);
    let draft = NoteDraft {
        title: heading.as_deref().and_then(clean_title).unwrap_or_else(|| stem.to_owned()),
        tags: distinct_keywords(properties.tags.into_iter().chain(inline_tags(&text))),
        created_at: properties.created,
        modified_at: properties.edited.or(file.modified),
        content: text,
        ..NoteDraft::default()
    };
    let origin = format!("notion:{number}");
    let digest = digest(VERSION, [draft.title.as_bytes(), draft.content.as_bytes()]);
    reading.drafts.push(Draft { origin, digest, id: None, body: DraftBody::Note(draft) });
    Ok(())
}

/// Returns `true` for the name of a page, in a folder or an archive.
pub(super) fn is_page_name(name: &str) -> bool {
    parse_page_name(name).is_some()
}

/// Splits the name of a page file, `Rye bread 0123….md`, into title and identifier.
fn parse_page_name(name: &str) -> Option<(&str, &str)> {
    let name = name.rsplit(['/', '\\']).next()?;
    let name = name.strip_suffix(".md").or_else(|| name.strip_suffix(".html"))?;
    let (stem, number) = name.split_at_checked(name.len().checked_sub(PAGE_ID_DIGITS)?)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((stem.strip_suffix(' ')?, number)).filter(|_| is_number)
}

/// Properties between the title and the text of a page, as `Name: value`.
#[derive(Debug, Default)]
struct NotionProperties {
    tags: Vec<String>,
    created: Option<Timestamp>,
    edited: Option<Timestamp>,
}

impl NotionProperties {
    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let lines =
            text.lines().skip_while(|line| line.trim().is_empty() || line.starts_with("# "));
        for (name, value) in lines.map_while(|line| line.split_once(": ")) {
            match name.to_lowercase().as_str() {
                "tags" | "tag" | "labels" => found.tags.extend(split_commas(value)),
                "created" | "created time" | "created at" | "date" => {
                    found.created = found.created.or_else(|| datetime::parse_text(value));
                }
                "last edited time" | "last edited" | "updated" => {
                    found.edited = datetime::parse_text(value);
                }
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Confidence, Importer, detection::file_probe::tests::probe_file, notes::NotionImporter,
        registry::importers::parse_packed_file,
    };

    const IMPORTER: NotionImporter = NotionImporter { parse_packed: parse_packed_file };
    const NUMBER: &str = "0123456789abcdef0123456789abcdef";
    const TEXT: &str = "# Rye bread\n\nTags: baking, rye flour\nCreated: January 5, 2024 2:30 PM\n\
                        Last edited time: January 6, 2024 2:30 PM\n\nKnead. #dough\n";

    fn to_notes(reading: ParsedFile) -> Vec<(String, NoteDraft)> {
        let note = |draft: Draft| match draft.body {
            DraftBody::Note(note) => (draft.origin, note),
            _ => panic!("no note"),
        };
        reading.drafts.into_iter().map(note).collect()
    }

    fn read_export(name: &str, bytes: impl Into<Vec<u8>>) -> ParsedFile {
        IMPORTER.parse(&SourceFile::in_memory(name, bytes)).unwrap()
    }

    #[test]
    fn page_is_identified_by_number_and_titled() {
        let name = format!("/Rye bread {NUMBER}.md");
        let (origin, note) = to_notes(read_export(&name, TEXT)).remove(0);
        assert_eq!(origin, format!("notion:{NUMBER}"));
        assert_eq!((note.title.as_str(), note.content.as_str()), ("Rye bread", TEXT));
        assert_eq!(note.tags, ["baking", "rye flour", "dough"]);
        assert_eq!(note.created_at.unwrap().to_string(), "2024-01-05T14:30:00.000Z");
        assert_eq!(note.modified_at.unwrap().to_string(), "2024-01-06T14:30:00.000Z");
        assert_eq!(to_notes(read_export(&name, "Text")).remove(0).1.title, "Rye bread");
    }

    #[test]
    fn html_page_is_like_its_markdown() {
        let page = "<html><head><title>Rye bread</title></head><body><article class=page><header>\
            <h1 class=page-title>Rye bread</h1><table class=properties><tbody>\
            <tr><th><span class=icon><svg></svg></span>Tags</th><td><span>baking</span>\
            <span>rye flour</span></td></tr>\
            <tr><th>Created</th><td><time>@January 5, 2024 2:30 PM</time></td></tr></tbody></table>\
            </header><div class=page-body><p>Knead <a href='https://example.org/a'>it</a>, \
            <a href='Oat%200123.html'>or not</a>.</p><ul class=to-do-list><li>\
            <div class='checkbox checkbox-on'></div><span>flour</span></li><li>\
            <div class='checkbox checkbox-off'></div><span>salt</span></li></ul></div></article>";
        let name = format!("/Rye bread {NUMBER}.html");
        assert_eq!(IMPORTER.detect(&probe_file(&name[1..], page)), Confidence::ByContent);
        let (origin, note) = to_notes(read_export(&name, page)).remove(0);
        assert_eq!((origin, note.title.as_str()), (format!("notion:{NUMBER}"), "Rye bread"));
        assert_eq!(note.tags, ["baking", "rye flour"]);
        assert_eq!(note.created_at.unwrap().to_string(), "2024-01-05T14:30:00.000Z");
        let content = "# Rye bread\n\nTags: baking, rye flour\nCreated: January 5, 2024 2:30 PM\n\n\
                       Knead [it](https://example.org/a), or not.\n\n- [x] flour\n- [ ] salt";
        assert_eq!(note.content, content);
    }

    #[test]
    fn other_file_names_are_not_pages() {
        for name in ["a.md", "0123456789abcdef0123456789abcdef.md", "é.md", ""] {
            assert_eq!(parse_page_name(name), None, "{name}");
        }
        let not_hex = format!("{}.md", "ü".repeat(40));
        assert_eq!(parse_page_name(&not_hex), None);
    }
}
