//! Pages and journals of a Logseq graph in Markdown.
//!
//! A page has its name from its file, and its properties as `name:: value`
//! before everything else.

use std::path::Path;

use vademecum_kit::model::{Body, Draft, NoteDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile,
    digest::digest,
    keywords::{distinct, inline_tags},
    markdown::{Markdown, lines_outside_code, unlink},
    moment,
    title::title,
};

/// Goes up when the same file makes another note than before.
const VERSION: &str = "logseq/1";

/// Reads Logseq's notes.
#[derive(Debug)]
pub(super) struct Logseq;

impl Importer for Logseq {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format(&self) -> &'static str {
        "pages and journals of Logseq (.md)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        Fit::Content.when(glance.ends_in(&["md"]) && folder_in_graph(glance.path()).is_some())
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let content = text.trim_start_matches('\u{feff}');
        let markdown = Markdown::parse(content);
        let properties = Properties::read(markdown.body);
        let front = markdown.properties;
        let tags = front.tags.into_iter().chain(properties.tags);
        let tags = tags.chain(inline_tags(markdown.body)).chain(linked_tags(markdown.body));
        let named = properties.title.or(front.title).as_deref().and_then(title);
        let note = NoteDraft {
            title: named.or_else(|| page_name(&file.path)).unwrap_or_else(|| file.stem()),
            content: content.to_owned(),
            tags: distinct(tags),
            created_at: front
                .created
                .or_else(|| moment::parse(&properties.created.or_else(|| page_name(&file.path))?)),
            modified_at: front.modified.or(file.modified),
        };
        // The title may come from the name alone.
        let parts = [file.bytes.as_slice(), note.title.as_bytes()];
        let digest = digest(VERSION, parts);
        Ok(Draft { origin: file.origin(), digest, id: None, body: Body::Note(note) }.into())
    }
}

/// `pages` or `journals`, for a file in that folder of a graph.
fn folder_in_graph(path: &Path) -> Option<&str> {
    let folder = path.parent()?;
    let name = folder.file_name()?.to_str()?;
    let is_graph = || folder.parent().is_some_and(|graph| graph.join("logseq").is_dir());
    (matches!(name, "pages" | "journals") && is_graph()).then_some(name)
}

/// Whether a file lies in the folder in which Logseq keeps its settings and
/// copies of old pages.
pub(super) fn is_kept_by_logseq(path: &Path) -> bool {
    path.ancestors().skip(1).any(|folder| {
        folder.file_name().is_some_and(|name| name == "logseq")
            && folder.join("config.edn").is_file()
    })
}

/// The name of a page or the day of a journal, for a file of a graph.
pub(super) fn page_name(path: &Path) -> Option<String> {
    let folder = folder_in_graph(path)?;
    let stem = path.file_stem()?.to_str()?;
    let name = if folder == "journals" {
        stem.replace('_', "-")
    } else {
        decoded(&stem.replace("___", "/"))
    };
    title(&name)
}

/// `%3A` and the like as what they stand for.
fn decoded(name: &str) -> String {
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

/// What the first block of a page says about it.
#[derive(Debug, Default)]
struct Properties {
    title: Option<String>,
    tags: Vec<String>,
    created: Option<String>,
}

impl Properties {
    fn read(body: &str) -> Self {
        let mut found = Self::default();
        for line in body.lines().skip_while(|line| line.trim().is_empty()) {
            let line = line.trim().trim_start_matches("- ");
            let Some((name, value)) = line.split_once("::") else { break };
            if name.is_empty() || name.contains(char::is_whitespace) {
                break;
            }
            let value = value.trim();
            match name.to_lowercase().as_str() {
                "title" => found.title = Some(unlink(value).to_owned()),
                "tags" | "tag" | "keywords" => found.tags.extend(listed(value)),
                "created" | "created-at" | "date" => found.created = Some(unlink(value).to_owned()),
                _ => {}
            }
        }
        found
    }
}

/// `[[one]], two, #three` as a list.
fn listed(value: &str) -> Vec<String> {
    let bare = value.split(',').map(|tag| {
        let tag = tag.trim().trim_start_matches('#');
        unlink(tag).trim().to_owned()
    });
    bare.filter(|tag| !tag.is_empty()).collect()
}

/// Tags of several words: `#[[two words]]`.
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

    use vademecum_kit::model::Timestamp;

    use super::*;

    fn read(path: &str, text: &str) -> NoteDraft {
        let graph = tempfile::tempdir().unwrap();
        fs::create_dir_all(graph.path().join("logseq")).unwrap();
        let path = graph.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        assert_eq!(Logseq.recognise(&Glance::take(&path, None).unwrap()), Fit::Content);
        let file = SourceFile::open(&path, None).unwrap();
        let Body::Note(note) = Logseq.read(&file).unwrap().drafts.remove(0).body else {
            panic!("no note")
        };
        note
    }

    #[test]
    fn a_page_has_its_name_from_its_file_and_its_properties() {
        let text = "tags:: [[baking]], rye flour, #dough\nalias:: Loaf\nicon::\n\n- Knead. #daily #[[two words]]\n  late:: x";
        let note = read("pages/bread___rye%3A dark.md", text);
        assert_eq!((note.title.as_str(), note.content.as_str()), ("bread/rye: dark", text));
        assert_eq!(note.tags, ["baking", "rye flour", "dough", "daily", "two words"]);
        assert_eq!(read("pages/x.md", "- title:: Rye\n- x").title, "Rye");
        assert_eq!(read("pages/100%.md", "x").title, "100%");
        assert_eq!(read("pages/%ff%.md", "x").title, "%ff%");
    }

    #[test]
    fn a_journal_is_of_its_day() {
        let note = read("journals/2026_01_31.md", "- Baked.");
        assert_eq!(note.title, "2026-01-31");
        assert_eq!(note.created_at, Timestamp::parse("2026-01-31").ok());
        assert_eq!(
            read("pages/x.md", "created:: 2026-01-02\n").created_at.unwrap().to_string(),
            "2026-01-02T00:00:00.000Z"
        );
    }

    #[test]
    fn what_logseq_keeps_for_itself_is_known() {
        let graph = tempfile::tempdir().unwrap();
        let old = graph.path().join("logseq/bak/pages/x.md");
        fs::create_dir_all(old.parent().unwrap()).unwrap();
        assert!(!is_kept_by_logseq(&old), "some folder may be called so");
        fs::write(graph.path().join("logseq/config.edn"), "{}").unwrap();
        assert!(is_kept_by_logseq(&old));
        assert!(!is_kept_by_logseq(&graph.path().join("pages/x.md")));
    }
}
