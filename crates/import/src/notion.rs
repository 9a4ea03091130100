//! Pages exported by Notion: Markdown files named after title and identifier of the page, in a
//! folder or an archive, which may contain nested archives.

use std::path::Path;

use vademecum_kit::model::{Draft, DraftBody, NoteDraft, SourceName, Timestamp};

use super::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    archive::{Archive, ArchiveError},
    datetime,
    digest::digest,
    file::has_extension,
    keywords::{distinct_keywords, inline_tags, split_commas},
    markdown::MarkdownDocument,
    title::clean_title,
};

/// Version of the importer; increment when the same page produces a different note.
const VERSION: &str = "notion/1";

/// Number of hexadecimal digits of a page identifier.
const PAGE_ID_DIGITS: usize = 32;

/// Importer of Notion pages.
#[derive(Debug)]
pub(super) struct NotionImporter;

impl Importer for NotionImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "pages of Notion (.md, the export's .zip)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let is_page = probe.has_extension(&["md"])
            && probe.path().file_name().and_then(|name| parse_page_name(name.to_str()?)).is_some();
        let is_export = || {
            probe
                .entries()
                .iter()
                .any(|name| parse_page_name(name).is_some() || is_nested_archive(name))
        };
        Confidence::ByContent.when(is_page || is_export())
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let mut reading = ParsedFile::default();
        if file.bytes.starts_with(b"PK\x03\x04") {
            let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
            reading.add_archive_pages(&file.bytes, true).map_err(refused)?;
        } else {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let text = file.text()?;
            reading.add_page(&name, text.trim_start_matches('\u{feff}'), file.modified);
        }
        Ok(reading)
    }
}

impl ParsedFile {
    /// Adds the pages of an archive. With `has_parts`, nested archives are read too, one level
    /// deep.
    fn add_archive_pages(&mut self, bytes: &[u8], has_parts: bool) -> Result<(), ArchiveError> {
        let mut archive = Archive::open(bytes)?;
        let mut tables = 0;
        for name in archive.file_names() {
            if parse_page_name(&name).is_some() {
                let Some(bytes) = archive.unpack_file(&name)? else { continue };
                match std::str::from_utf8(&bytes) {
                    Ok(text) => self.add_page(&name, text.trim_start_matches('\u{feff}'), None),
                    Err(error) => {
                        let reason = format!("invalid UTF-8 at byte {}", error.valid_up_to());
                        self.problems.push(Problem { place: name, reason });
                    }
                }
            } else if has_parts && is_nested_archive(&name) {
                let Some(bytes) = archive.unpack_file(&name)? else { continue };
                if let Err(error) = self.add_archive_pages(&bytes, false) {
                    self.problems.push(Problem { place: name, reason: error.to_string() });
                }
            } else if has_extension(Path::new(&name), &["csv"]) {
                tables += 1;
            }
        }
        if tables > 0 {
            let place = "databases".to_owned();
            let reason =
                format!("{tables} tables (.csv) were not imported; rows that have pages were");
            self.problems.push(Problem { place, reason });
        }
        Ok(())
    }

    fn add_page(&mut self, name: &str, text: &str, modified: Option<Timestamp>) {
        let (stem, number) = parse_page_name(name).unwrap_or((name, ""));
        let heading = MarkdownDocument::parse(text).opening_heading().map(str::to_owned);
        let properties = NotionProperties::parse(text);
        let draft = NoteDraft {
            title: heading.as_deref().and_then(clean_title).unwrap_or_else(|| stem.to_owned()),
            content: text.to_owned(),
            tags: distinct_keywords(properties.tags.into_iter().chain(inline_tags(text))),
            created_at: properties.created,
            modified_at: properties.edited.or(modified),
            ..NoteDraft::default()
        };
        let origin = format!("notion:{number}");
        let digest = digest(VERSION, [draft.title.as_bytes(), text.as_bytes()]);
        self.drafts.push(Draft { origin, digest, id: None, body: DraftBody::Note(draft) });
    }
}

/// Splits the name of a page file, `Rye bread 0123….md`, into title and identifier.
fn parse_page_name(name: &str) -> Option<(&str, &str)> {
    let name = name.rsplit(['/', '\\']).next()?.strip_suffix(".md")?;
    let (stem, number) = name.split_at_checked(name.len().checked_sub(PAGE_ID_DIGITS)?)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((stem.strip_suffix(' ')?, number)).filter(|_| is_number)
}

/// Returns `true` for a nested archive of a Notion export.
fn is_nested_archive(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("ExportBlock-") && has_extension(Path::new(name), &["zip"])
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
    use crate::file_probe::tests::{probe_file, zip_archive};

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
        NotionImporter.parse(&SourceFile::in_memory(name, bytes)).unwrap()
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
    fn export_is_read_from_nested_archives() {
        let page = format!("Export/Rye bread {NUMBER}.md");
        let inner = zip_archive(&[(page.as_str(), TEXT.as_bytes()), ("a.csv", b"x")]);
        let outer = zip_archive(&[("ExportBlock-1-Part-1.zip", &inner), ("x.png", b"x")]);
        for zip in [&inner, &outer] {
            assert_eq!(
                NotionImporter.detect(&probe_file("export.zip", zip)),
                Confidence::ByContent
            );
            let reading = read_export("/export.zip", zip.as_slice());
            assert_eq!(reading.problems[0].place, "databases");
            assert_eq!(to_notes(reading)[0].1.title, "Rye bread");
        }
        let nested = zip_archive(&[("ExportBlock-1-Part-1.zip", &outer)]);
        assert!(
            read_export("/export.zip", nested).drafts.is_empty(),
            "archives do not nest on and on"
        );
        let broken =
            zip_archive(&[("ExportBlock-1-Part-1.zip", b"PK"), (page.as_str(), b"a\xffb")]);
        assert_eq!(read_export("/export.zip", broken).problems.len(), 2);
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
