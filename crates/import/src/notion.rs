//! Pages that Notion exports: Markdown whose file is called by the page's title
//! and its number, in a folder or in the archive, which may hold further ones.

use std::path::Path;

use vademecum_kit::model::{Body, Draft, NoteDraft, SourceName, Timestamp};

use super::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    archive::{Archive, ArchiveError},
    digest::digest,
    file::ends_in,
    keywords::{between_commas, distinct, inline_tags},
    markdown::Markdown,
    moment,
    title::title,
};

/// Goes up when the same page makes another note than before.
const VERSION: &str = "notion/1";

/// How many digits the number of a page has.
const DIGITS: usize = 32;

/// Reads such pages.
#[derive(Debug)]
pub(super) struct Notion;

impl Importer for Notion {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format(&self) -> &'static str {
        "pages of Notion (.md, the export's .zip)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let is_page = glance.ends_in(&["md"])
            && glance.path().file_name().and_then(|name| page(name.to_str()?)).is_some();
        let is_export =
            || glance.entries().iter().any(|name| page(name).is_some() || is_part(name));
        Fit::Content.when(is_page || is_export())
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let mut reading = Reading::default();
        if file.bytes.starts_with(b"PK\x03\x04") {
            let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
            reading.unpack(&file.bytes, true).map_err(refused)?;
        } else {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let text = file.text()?;
            reading.page(&name, text.trim_start_matches('\u{feff}'), file.modified);
        }
        Ok(reading)
    }
}

impl Reading {
    /// Adds the pages of an archive, and of those packed in it, but not of
    /// those packed in these.
    fn unpack(&mut self, bytes: &[u8], has_parts: bool) -> Result<(), ArchiveError> {
        let mut archive = Archive::open(bytes)?;
        let mut tables = 0;
        for name in archive.names() {
            if page(&name).is_some() {
                let Some(bytes) = archive.unpack(&name)? else { continue };
                match std::str::from_utf8(&bytes) {
                    Ok(text) => self.page(&name, text.trim_start_matches('\u{feff}'), None),
                    Err(error) => {
                        let reason = format!(
                            "it is not UTF-8 text, byte {} does not belong",
                            error.valid_up_to()
                        );
                        self.problems.push(Problem { place: name, reason });
                    }
                }
            } else if has_parts && is_part(&name) {
                let Some(bytes) = archive.unpack(&name)? else { continue };
                if let Err(error) = self.unpack(&bytes, false) {
                    self.problems.push(Problem { place: name, reason: error.to_string() });
                }
            } else if ends_in(Path::new(&name), &["csv"]) {
                tables += 1;
            }
        }
        if tables > 0 {
            let place = "databases".to_owned();
            let reason = format!(
                "{tables} tables (.csv) are no notes; their rows are, where they have pages"
            );
            self.problems.push(Problem { place, reason });
        }
        Ok(())
    }

    fn page(&mut self, name: &str, text: &str, modified: Option<Timestamp>) {
        let (stem, number) = page(name).unwrap_or((name, ""));
        let heading = Markdown::parse(text).opening_heading().map(str::to_owned);
        let properties = Properties::read(text);
        let draft = NoteDraft {
            title: heading.as_deref().and_then(title).unwrap_or_else(|| stem.to_owned()),
            content: text.to_owned(),
            tags: distinct(properties.tags.into_iter().chain(inline_tags(text))),
            created_at: properties.created,
            modified_at: properties.edited.or(modified),
        };
        let origin = format!("notion:{number}");
        let digest = digest(VERSION, [draft.title.as_bytes(), text.as_bytes()]);
        self.drafts.push(Draft { origin, digest, id: None, body: Body::Note(draft) });
    }
}

/// The title and the number in the name of a page: `Rye bread 0123….md`.
fn page(name: &str) -> Option<(&str, &str)> {
    let name = name.rsplit(['/', '\\']).next()?.strip_suffix(".md")?;
    let (stem, number) = name.split_at_checked(name.len().checked_sub(DIGITS)?)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((stem.strip_suffix(' ')?, number)).filter(|_| is_number)
}

/// Whether that is a part of an export that Notion packs by itself.
fn is_part(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("ExportBlock-") && ends_in(Path::new(name), &["zip"])
}

/// What stands between the title of a page and its text, as `Name: value`.
#[derive(Debug, Default)]
struct Properties {
    tags: Vec<String>,
    created: Option<Timestamp>,
    edited: Option<Timestamp>,
}

impl Properties {
    fn read(text: &str) -> Self {
        let mut found = Self::default();
        let lines =
            text.lines().skip_while(|line| line.trim().is_empty() || line.starts_with("# "));
        for (name, value) in lines.map_while(|line| line.split_once(": ")) {
            match name.to_lowercase().as_str() {
                "tags" | "tag" | "labels" => found.tags.extend(between_commas(value)),
                "created" | "created time" | "created at" | "date" => {
                    found.created = found.created.or_else(|| moment::parse(value));
                }
                "last edited time" | "last edited" | "updated" => {
                    found.edited = moment::parse(value);
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
    use crate::glance::tests::{glance, packed};

    const NUMBER: &str = "0123456789abcdef0123456789abcdef";
    const TEXT: &str = "# Rye bread\n\nTags: baking, rye flour\nCreated: January 5, 2024 2:30 PM\n\
                        Last edited time: January 6, 2024 2:30 PM\n\nKnead. #dough\n";

    fn notes(reading: Reading) -> Vec<(String, NoteDraft)> {
        let note = |draft: Draft| match draft.body {
            Body::Note(note) => (draft.origin, note),
            _ => panic!("no note"),
        };
        reading.drafts.into_iter().map(note).collect()
    }

    fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Reading {
        Notion.read(&SourceFile::example(name, bytes)).unwrap()
    }

    #[test]
    fn a_page_is_known_by_its_number_and_called_by_its_title() {
        let name = format!("/Rye bread {NUMBER}.md");
        let (origin, note) = notes(read(&name, TEXT)).remove(0);
        assert_eq!(origin, format!("notion:{NUMBER}"));
        assert_eq!((note.title.as_str(), note.content.as_str()), ("Rye bread", TEXT));
        assert_eq!(note.tags, ["baking", "rye flour", "dough"]);
        assert_eq!(note.created_at.unwrap().to_string(), "2024-01-05T14:30:00.000Z");
        assert_eq!(note.modified_at.unwrap().to_string(), "2024-01-06T14:30:00.000Z");
        assert_eq!(notes(read(&name, "Text")).remove(0).1.title, "Rye bread");
    }

    #[test]
    fn an_export_is_read_out_of_its_archive_and_those_in_it() {
        let page = format!("Export/Rye bread {NUMBER}.md");
        let inner = packed(&[(page.as_str(), TEXT.as_bytes()), ("a.csv", b"x")]);
        let outer = packed(&[("ExportBlock-1-Part-1.zip", &inner), ("x.png", b"x")]);
        for zip in [&inner, &outer] {
            assert_eq!(Notion.recognise(&glance("export.zip", zip)), Fit::Content);
            let reading = read("/export.zip", zip.as_slice());
            assert_eq!(reading.problems[0].place, "databases");
            assert_eq!(notes(reading)[0].1.title, "Rye bread");
        }
        let nested = packed(&[("ExportBlock-1-Part-1.zip", &outer)]);
        assert!(read("/export.zip", nested).drafts.is_empty(), "archives do not nest on and on");
        let broken = packed(&[("ExportBlock-1-Part-1.zip", b"PK"), (page.as_str(), b"a\xffb")]);
        assert_eq!(read("/export.zip", broken).problems.len(), 2);
    }

    #[test]
    fn other_names_have_no_number() {
        for name in ["a.md", "0123456789abcdef0123456789abcdef.md", "é.md", ""] {
            assert_eq!(page(name), None, "{name}");
        }
        let not_hex = format!("{}.md", "ü".repeat(40));
        assert_eq!(page(&not_hex), None);
    }
}
