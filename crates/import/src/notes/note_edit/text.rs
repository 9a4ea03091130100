//! The new text of the file of a note that was changed in the library.

use std::{borrow::Cow, path::Path};

use vademecum_model::NoteDraft;

use super::{TagEdit, front_matter, logseq, org};
use crate::{
    files::neighbours::Neighbours,
    notes::logseq::page_name,
    text::{markdown::MarkdownDocument, title::clean_title},
};

/// How a file says the title and the tags of its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteSyntax {
    /// Front matter, and a first heading.
    Markdown,
    /// Properties at the beginning of a page.
    Logseq,
    /// Keywords, and a first headline.
    Org,
    /// Not at all: the title is the file name.
    Plain,
}

impl NoteSyntax {
    pub(super) fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        match extension.to_lowercase().as_str() {
            "org" => Self::Org,
            "md" | "markdown" if graph_page_name(path).is_some() => Self::Logseq,
            "md" | "markdown" => Self::Markdown,
            _ => Self::Plain,
        }
    }
}

/// Returns the text that the file of a note should have. `base` is what the file says now, `note`
/// the note of the library. A title or tags that the format cannot say are left out. The result
/// equals `base.content` if there is nothing to write.
pub fn edit_note_text(path: &Path, base: &NoteDraft, note: &NoteDraft) -> String {
    let syntax = NoteSyntax::of(path);
    let mut text = note.content.clone();
    if note.title != base.title && current_title(syntax, path, &text) != note.title {
        text = match syntax {
            NoteSyntax::Markdown => front_matter::set_title(&text, &note.title).unwrap_or(text),
            NoteSyntax::Logseq => logseq::set_property(&text, "title", &note.title),
            NoteSyntax::Org => org::set_title(&text, &note.title),
            NoteSyntax::Plain => text,
        };
    }
    let is_in = |tags: &[String], tag: &String| {
        tags.iter().any(|other| other.to_lowercase() == tag.to_lowercase())
    };
    let added: Vec<&String> = note.tags.iter().filter(|tag| !is_in(&base.tags, tag)).collect();
    let removed: Vec<&String> = base.tags.iter().filter(|tag| !is_in(&note.tags, tag)).collect();
    if !added.is_empty() || !removed.is_empty() {
        let edit = TagEdit { added, removed };
        text = match syntax {
            NoteSyntax::Markdown => front_matter::edit_tags(&text, &edit).unwrap_or(text),
            NoteSyntax::Logseq => logseq::edit_tags(&text, &edit),
            NoteSyntax::Org => org::edit_tags(&text, &edit),
            NoteSyntax::Plain => text,
        };
    }
    text
}

/// Returns the text to append to a file: blocks, for a page of a Logseq graph.
pub fn appended_text<'t>(path: &Path, text: &'t str) -> Cow<'t, str> {
    match NoteSyntax::of(path) {
        NoteSyntax::Logseq => logseq::to_blocks(text),
        NoteSyntax::Markdown | NoteSyntax::Org | NoteSyntax::Plain => text.into(),
    }
}

/// Returns the title that an importer reads in a text.
fn current_title(syntax: NoteSyntax, path: &Path, text: &str) -> String {
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let heading = match syntax {
        NoteSyntax::Markdown => {
            let document = MarkdownDocument::parse(text);
            let title = document.properties.title.as_deref().and_then(clean_title);
            title.or_else(|| document.opening_heading().and_then(clean_title))
        }
        NoteSyntax::Logseq => graph_page_name(path),
        NoteSyntax::Org | NoteSyntax::Plain => None,
    };
    heading.unwrap_or_else(stem)
}

/// Returns the name of a page of a Logseq graph; `None` for any other file.
fn graph_page_name(path: &Path) -> Option<String> {
    page_name(path, &Neighbours::find(path, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(title: &str, content: &str, tags: &[&str]) -> NoteDraft {
        NoteDraft {
            title: title.to_owned(),
            content: content.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..NoteDraft::default()
        }
    }

    /// Returns the text after the title and tags of a note were changed.
    fn edit(path: &str, text: &str, before: (&str, &[&str]), after: (&str, &[&str])) -> String {
        let base = note(before.0, text, before.1);
        edit_note_text(Path::new(path), &base, &note(after.0, text, after.1))
    }

    #[test]
    fn unchanged_note_keeps_its_text() {
        for text in ["", "a", "---\ntags: [a]\n---\r\nText", "# T\n"] {
            for path in ["/v/a.md", "/v/a.org", "/v/a.txt"] {
                assert_eq!(edit(path, text, ("T", &["a"]), ("T", &["a"])), text);
            }
        }
    }

    #[test]
    fn title_is_replaced_where_it_is() {
        let title = |path: &str, text: &str| edit(path, text, ("Old", &[]), ("New: x", &[]));
        assert_eq!(
            title("/v/a.md", "---\ntitle: Old # c\na: 1\n---\n# Old\n"),
            "---\ntitle: \"New: x\" # c\na: 1\n---\n# Old\n"
        );
        assert_eq!(
            title("/v/a.md", "---\na: 1\n---\n\n# Old #\nT"),
            "---\na: 1\n---\n\n# New: x #\nT"
        );
        assert_eq!(title("/v/a.md", "Text"), "---\ntitle: \"New: x\"\n---\nText");
        assert_eq!(title("/v/New: x.md", "Text"), "Text");
        assert_eq!(title("/v/a.md", "a\r\n"), "---\r\ntitle: \"New: x\"\r\n---\r\na\r\n");
        assert_eq!(
            title("/v/a.md", "+++\ntitle = \"Old\"\n+++\n"),
            "+++\ntitle = \"New: x\"\n+++\n"
        );
        assert_eq!(title("/v/a.org", "#+TITLE: Old\nText"), "#+TITLE: New: x\nText");
        assert_eq!(
            title("/v/a.org", "* TODO [#A] Old   :b:\nText"),
            "* TODO [#A] New: x   :b:\nText"
        );
        assert_eq!(title("/v/a.org", "Text"), "#+title: New: x\nText");
        assert_eq!(title("/v/a.txt", "Text"), "Text");
    }

    #[test]
    fn tags_are_changed_in_the_style_of_the_file() {
        let tags =
            |path: &str, text: &str| edit(path, text, ("T", &["a", "b"]), ("T", &["a", "c d"]));
        for (text, expected) in [
            ("---\ntags: [a, 'b']\nx: 1\n---\nT", "---\ntags: [a, c d]\nx: 1\n---\nT"),
            ("---\ntags:\n  - a\n  - b\nx: 1\n---\n", "---\ntags:\n  - a\n  - c d\nx: 1\n---\n"),
            ("---\ntags:\n- \"a\"\n- b # c\n---\n", "---\ntags:\n- \"a\"\n- c d\n---\n"),
            ("---\nTags: a, b\n---\n", "---\nTags: a, c d\n---\n"),
            ("---\ntags: a b\n---\n", "---\ntags: a, c d\n---\n"),
            ("---\nx: 1\n---\n", "---\nx: 1\ntags:\n  - c d\n---\n"),
            ("---\ntags:\n---\n", "---\ntags: [c d]\n---\n"),
            ("Text #a #b", "---\ntags:\n  - c d\n---\nText #a #b"),
            ("+++\ntags = [\"a\", \"b\"]\n+++\n", "+++\ntags = [\"a\", \"c d\"]\n+++\n"),
        ] {
            assert_eq!(tags("/v/a.md", text), expected);
        }
        let org = |text: &str| edit("/v/a.org", text, ("T", &["a", "b"]), ("T", &["a", "c"]));
        assert_eq!(org("#+filetags: :a:b:\nText"), "#+filetags: :a:c:\nText");
        assert_eq!(org("Text"), "#+filetags: :c:\nText");
    }

    #[test]
    fn odd_front_matter_is_left_alone() {
        for text in
            ["---\ntags: &x [a, b]\n---\n", "---\ntags: {a: 1}\n---\n", "---\ntags: |\n  a\n---\n"]
        {
            assert_eq!(edit("/v/a.md", text, ("T", &["a"]), ("T", &["a", "c"])), text);
        }
    }

    #[test]
    fn tags_are_edited_as_spans() {
        let tags = |text: &str| edit("/v/a.md", text, ("T", &["a", "b"]), ("T", &["a", "c"]));
        for (text, expected) in [
            ("---\ntags: [a,\n  b]\n---\n", "---\ntags: [a,\n  c]\n---\n"),
            (
                "---\ntags: [ \"a\", b , ] # mine, [x]\nz: 1\n---\n",
                "---\ntags: [ \"a\", c , ] # mine, [x]\nz: 1\n---\n",
            ),
            (
                "---\ntags:\n  # first\n  - 'a' # one\n  - b\n  - a\n\n# end\nz: 1\n---\n",
                "---\ntags:\n  # first\n  - 'a' # one\n  - a\n  - c\n\n# end\nz: 1\n---\n",
            ),
            ("---\r\ntags:\r\n- a\r\n- b\r\n---\r\nT", "---\r\ntags:\r\n- a\r\n- c\r\n---\r\nT"),
            ("---\ntags: a, b # why\n---\n", "---\ntags: a, c # why\n---\n"),
            ("---\ntags: \"a, b\"\n---\n", "---\ntags: \"a, c\"\n---\n"),
            ("---\ntags: [b]\ntag: a\n---\n", "---\ntags: [c]\ntag: a\n---\n"),
            ("---\ntags: [x]\ntags: [a, b]\n---\n", "---\ntags: [x]\ntags: [a, c]\n---\n"),
            ("---\ntags: ['it''s', b]\n---\n", "---\ntags: ['it''s', c]\n---\n"),
            ("---\n\"tags\": [\"a\", \"b\"]\n---\n", "---\n\"tags\": [\"a\", c]\n---\n"),
            (
                "+++\ntags = [\n  \"a\",\n  \"b\",\n]\n+++\n",
                "+++\ntags = [\n  \"a\",\n  \"c\",\n]\n+++\n",
            ),
        ] {
            assert_eq!(tags(text), expected);
        }
    }

    #[test]
    fn last_tag_is_removed_with_its_property() {
        let untag = |text: &str| edit("/v/a.md", text, ("T", &["a"]), ("T", &[]));
        for (text, expected) in [
            ("---\ntags: [a]\nx: 1\n---\nT", "---\nx: 1\n---\nT"),
            ("---\nx: 1\ntags:\n  - a\n---\nT", "---\nx: 1\n---\nT"),
            ("---\ntags: a\n---\nT\n", "T\n"),
            ("---\r\ntags:\r\n  - A\r\n---\r\nT\r\n", "T\r\n"),
            ("---\n# c\ntags: [a]\n---\nT", "---\n# c\ntags: []\n---\nT"),
        ] {
            assert_eq!(untag(text), expected);
        }
        for text in ["T", "a\r\n", "", "---\nProse.\n---\n", "---\nx: 1\n---\nT\n"] {
            let tagged = edit("/v/a.md", text, ("T", &[]), ("T", &["a"]));
            assert_eq!(untag(&tagged), text, "tagged: {tagged:?}");
        }
    }

    #[test]
    fn unreadable_front_matter_is_never_written() {
        for text in [
            "---\nNote: see: this\n\nBuy: milk\n---\nText",
            "---\na: [1\n---\n",
            "---\n{a: 1}\n---\n",
            "---\n  a: 1\n  b: 2\n---\n",
            "+++\nx = 1 = 2\n+++\n",
            "# Old\rText\r",
        ] {
            let tagged = edit("/v/a.md", text, ("T", &[]), ("T", &["a"]));
            let is_kept = tagged == text || tagged.ends_with(&format!("---\n{text}"));
            assert!(is_kept, "{tagged:?}");
            let titled = edit("/v/a.md", text, ("Old", &[]), ("New", &[]));
            let is_kept = titled == text || titled.ends_with(&format!("---\n{text}"));
            assert!(is_kept, "{titled:?}");
        }
        let prose = "---\nNote: see: this\n---\nText";
        assert_eq!(edit("/v/a.md", prose, ("T", &[]), ("T", &["a"])), prose);
    }

    #[test]
    fn prose_between_rules_is_kept() {
        for text in ["---\nProse.\n---\nText", "----------\nProse.\n---\n", "--- Anna: hi\n---\n"] {
            let titled = edit("/v/a.md", text, ("Old", &[]), ("New", &[]));
            assert_eq!(titled, format!("---\ntitle: New\n---\n{text}"));
            let tagged = edit("/v/a.md", text, ("T", &[]), ("T", &["a"]));
            assert_eq!(tagged, format!("---\ntags:\n  - a\n---\n{text}"));
        }
    }

    #[test]
    fn special_texts_are_quoted() {
        let text = "---\ntags: [a]\n---\n";
        for (tag, expected) in [
            ("1", "---\ntags: [a, \"1\"]\n---\n"),
            ("true", "---\ntags: [a, \"true\"]\n---\n"),
            ("#x", "---\ntags: [a, \"#x\"]\n---\n"),
            ("x, y", "---\ntags: [a, \"x, y\"]\n---\n"),
            ("x]\ny: 1", "---\ntags: [a, \"x]\\ny: 1\"]\n---\n"),
        ] {
            assert_eq!(edit("/v/a.md", text, ("T", &["a"]), ("T", &["a", tag])), expected);
        }
    }

    #[test]
    fn logseq_page_has_properties() {
        let graph = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(graph.path().join("logseq")).unwrap();
        let path = graph.path().join("pages/a.md");
        let path = path.to_str().unwrap();
        let change = |text: &str| edit(path, text, ("a", &["x"]), ("New", &["x", "y z"]));
        assert_eq!(change("- Text"), "tags:: y z\ntitle:: New\n- Text");
        assert_eq!(change("- tags:: x\n- T"), "title:: New\n- tags:: x, y z\n- T");
        assert_eq!(
            change("title:: a\ntags:: [[x]]\n\n- T"),
            "title:: New\ntags:: [[x]], y z\n\n- T"
        );
    }
    #[test]
    fn text_for_logseq_page_becomes_block() {
        let graph = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(graph.path().join("logseq")).unwrap();
        let page = graph.path().join("pages/a.md");
        for (text, expected) in [
            ("one", "- one"),
            ("one\n\ntwo\n- x", "- one\n\n  two\n  - x"),
            ("- one\n  two", "- one\n  two"),
            ("", ""),
        ] {
            assert_eq!(appended_text(&page, text), expected);
            assert_eq!(appended_text(Path::new("/v/a.md"), text), text);
        }
    }
}
