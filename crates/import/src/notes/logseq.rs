//! Pages and journals of a Logseq graph in Markdown.
//!
//! The file name determines the name of a page. Its properties are `name:: value` lines at the
//! beginning.

use std::path::Path;

use vademecum_model::{NoteDraft, SourceName};

use super::note_draft::note_draft;
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    files::neighbours::Neighbours,
    text::{
        datetime,
        keywords::{distinct_keywords, inline_tags},
        markdown::{MarkdownDocument, lines_outside_code, unwrap_wiki_link},
        title::clean_title,
    },
};

/// Version of the importer; increment when the same file produces a different note.
const VERSION: &str = "logseq/3";

/// Importer of Logseq pages.
#[derive(Debug)]
pub(crate) struct LogseqImporter;

impl Importer for LogseqImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "pages and journals of Logseq (.md)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        Confidence::ByContent.when(
            probe.has_extension(&["md"])
                && graph_folder(probe.path(), probe.neighbours()).is_some(),
        )
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let content = text.trim_start_matches('\u{feff}');
        let markdown = MarkdownDocument::parse(content);
        let properties = PageProperties::parse(markdown.body);
        let front = markdown.properties;
        let tags = front.tags.into_iter().chain(properties.tags);
        let tags = tags.chain(inline_tags(markdown.body)).chain(linked_tags(markdown.body));
        let page = page_name(&file.path, &file.neighbours);
        let named = properties.title.or(front.title).as_deref().and_then(clean_title);
        let note = NoteDraft {
            title: named.or_else(|| page.clone()).unwrap_or_else(|| file.file_stem()),
            content: content.to_owned(),
            tags: distinct_keywords(tags),
            created_at: front
                .created
                .or_else(|| datetime::parse_text(&properties.created.or(page)?)),
            modified_at: front.modified.or(file.modified),
            ..NoteDraft::default()
        };
        let aliases = front.aliases.into_iter().chain(properties.aliases).collect();
        let note = file.name_note(note, aliases);
        Ok(note_draft(VERSION, file, note).into())
    }
}

/// Returns `pages` or `journals` for a file in that folder of a graph.
fn graph_folder<'p>(path: &'p Path, neighbours: &Neighbours) -> Option<&'p str> {
    let folder = path.parent()?;
    let name = folder.file_name()?.to_str()?;
    let is_graph = || folder.parent().is_some_and(|graph| neighbours.has(&graph.join("logseq")));
    (matches!(name, "pages" | "journals") && is_graph()).then_some(name)
}

/// Returns `true` for a file in the folder in which Logseq stores its settings and backups.
pub(super) fn is_logseq_internal(probe: &FileProbe) -> bool {
    probe.path().ancestors().skip(1).any(|folder| {
        folder.file_name().is_some_and(|name| name == "logseq")
            && probe.neighbours().has(&folder.join("config.edn"))
    })
}

/// Returns the name of a page or the date of a journal; `None` for a file outside of a graph.
pub(super) fn page_name(path: &Path, neighbours: &Neighbours) -> Option<String> {
    let folder = graph_folder(path, neighbours)?;
    let stem = path.file_stem()?.to_str()?;
    let name = if folder == "journals" {
        stem.replace('_', "-")
    } else {
        percent_decode(&stem.replace("___", "/"))
    };
    clean_title(&name)
}

/// Decodes percent-encoding such as `%3A`.
fn percent_decode(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => bytes.push(byte),
            None => bytes.push(b'%'),
        }
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}

/// Properties in the first block of a page.
#[derive(Debug, Default)]
struct PageProperties {
    title: Option<String>,
    aliases: Vec<String>,
    tags: Vec<String>,
    created: Option<String>,
}

impl PageProperties {
    fn parse(body: &str) -> Self {
        let mut found = Self::default();
        for line in body.lines().skip_while(|line| line.trim().is_empty()) {
            let line = line.trim().trim_start_matches("- ");
            let Some((name, value)) = line.split_once("::") else { break };
            if name.is_empty() || name.contains(char::is_whitespace) {
                break;
            }
            let value = value.trim();
            match name.to_lowercase().as_str() {
                "title" => found.title = Some(unwrap_wiki_link(value).to_owned()),
                "alias" | "aliases" => found.aliases.extend(split_tags(value)),
                "tags" | "tag" | "keywords" => found.tags.extend(split_tags(value)),
                "created" | "created-at" | "date" => {
                    found.created = Some(unwrap_wiki_link(value).to_owned());
                }
                _ => {}
            }
        }
        found
    }
}

/// Splits `[[one]], two, #three` into tags.
pub(super) fn split_tags(value: &str) -> Vec<String> {
    let bare = value.split(',').map(|tag| {
        let tag = tag.trim().trim_start_matches('#');
        unwrap_wiki_link(tag).trim().to_owned()
    });
    bare.filter(|tag| !tag.is_empty()).collect()
}

/// Returns the tags of several words: `#[[two words]]`.
fn linked_tags(body: &str) -> Vec<String> {
    let of_line = |line: &str| -> Vec<String> {
        let after = line.split("#[[").skip(1).filter_map(|rest| Some(rest.split_once("]]")?.0));
        after.filter(|tag| !tag.trim().is_empty()).map(|tag| tag.trim().to_owned()).collect()
    };
    lines_outside_code(body).flat_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use vademecum_model::{DraftBody, Timestamp};

    use super::*;

    fn read_page(path: &str, text: &str) -> NoteDraft {
        let graph = tempfile::tempdir().unwrap();
        fs::create_dir_all(graph.path().join("logseq")).unwrap();
        let path = graph.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        assert_eq!(
            LogseqImporter.detect(&FileProbe::open(&path, None).unwrap()),
            Confidence::ByContent
        );
        let file = SourceFile::open(&path, None).unwrap();
        let DraftBody::Note(note) = LogseqImporter.parse(&file).unwrap().drafts.remove(0).body
        else {
            panic!("no note")
        };
        note
    }

    #[test]
    fn page_has_name_of_file_and_properties() {
        let text = "tags:: [[baking]], rye flour, #dough\nalias:: Loaf\nicon::\n\n- Knead. #daily #[[two words]]\n  late:: x";
        let note = read_page("pages/bread___rye%3A dark.md", text);
        assert_eq!((note.title.as_str(), note.content.as_str()), ("bread/rye: dark", text));
        assert_eq!(note.tags, ["baking", "rye flour", "dough", "daily", "two words"]);
        assert_eq!(read_page("pages/x.md", "- title:: Rye\n- x").title, "Rye");
        assert_eq!(read_page("pages/100%.md", "x").title, "100%");
        assert_eq!(read_page("pages/%ff%.md", "x").title, "%ff%");
    }

    #[test]
    fn journal_has_date_of_its_name() {
        let note = read_page("journals/2026_01_31.md", "- Baked.");
        assert_eq!(note.title, "2026-01-31");
        assert_eq!(note.created_at, Timestamp::parse("2026-01-31").ok());
        assert_eq!(
            read_page("pages/x.md", "created:: 2026-01-02\n").created_at.unwrap().to_string(),
            "2026-01-02T00:00:00.000Z"
        );
    }

    #[test]
    fn logseq_internal_files_are_detected() {
        let graph = tempfile::tempdir().unwrap();
        let old = graph.path().join("logseq/bak/pages/x.md");
        let page = graph.path().join("pages/x.md");
        for path in [&old, &page] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "- Baked.").unwrap();
        }
        let is_internal = |path: &Path| is_logseq_internal(&FileProbe::open(path, None).unwrap());
        assert!(!is_internal(&old), "some folder may be called so");
        fs::write(graph.path().join("logseq/config.edn"), "{}").unwrap();
        assert!(is_internal(&old));
        assert!(!is_internal(&page));
    }
}
