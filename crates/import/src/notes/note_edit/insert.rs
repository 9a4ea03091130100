//! Edits of a part of a text: insertion at a heading or a block, and replacement of quoted parts.

use std::{borrow::Cow, path::Path};

use serde_json::{Map, Value};
use vademecum_model::{FrontMatterBlock, Heading};
use vademecum_search::parse_headings;

use super::{
    front_matter, logseq, replace_range,
    tag_edit::line_end,
    text::{NoteSyntax, appended_text},
};

/// A place in the text of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsertPlace {
    /// After everything else.
    End,
    /// Before everything but the properties.
    Start,
    /// At the end of the section with this heading, of this level if one is named.
    Heading(Option<usize>, String),
    /// After the line with this block identifier.
    Block(String),
}

impl InsertPlace {
    /// Reads `end`, `start`, `^block`, or a heading, which may have number signs before it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(block) = text.strip_prefix('^') {
            return Ok(Self::Block(block.to_owned()));
        }
        let heading = text.trim_start_matches('#');
        let level = Some(text.len() - heading.len()).filter(|level| *level > 0);
        match heading.trim() {
            "" => Err("expected end, start, a heading or a ^block".to_owned()),
            "end" if level.is_none() => Ok(Self::End),
            "start" if level.is_none() => Ok(Self::Start),
            heading => Ok(Self::Heading(level, heading.to_owned())),
        }
    }
}

/// Returns a text with `new` inserted on lines of its own. `path` is the file of the note, if it has one.
pub fn insert_text(
    path: Option<&Path>,
    text: &str,
    place: &InsertPlace,
    new: &str,
) -> Result<String, String> {
    let new = path.map_or(Cow::Borrowed(new), |path| appended_text(path, new));
    let at = match place {
        InsertPlace::End => text.len(),
        InsertPlace::Start => match path.map(NoteSyntax::of) {
            Some(NoteSyntax::Logseq) => logseq::properties_end(text),
            _ => text.len() - FrontMatterBlock::body_of(text).len(),
        },
        InsertPlace::Heading(level, heading) => section_end(text, *level, heading)?,
        InsertPlace::Block(block) => block_end(text, block)?,
    };
    let end = line_end(text);
    let (before, after) = text.split_at(at);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { end };
    let has_end = new.ends_with('\n') || (after.is_empty() && !before.ends_with('\n'));
    let last = if has_end { "" } else { end };
    let new =
        if end == "\r\n" && !new.contains('\r') { new.replace('\n', end).into() } else { new };
    Ok([before, gap, &new, last, after].concat())
}

/// Returns the end of the last line of a section that is not blank.
fn section_end(text: &str, level: Option<usize>, heading: &str) -> Result<usize, String> {
    let headings = parse_headings(text);
    let is_meant = |found: &&Heading| {
        level.is_none_or(|level| level == usize::from(found.level))
            && found.title.trim().to_lowercase() == heading.to_lowercase()
    };
    let mut meant = headings.iter().filter(is_meant);
    let Some(found) = meant.next() else {
        return Err(format!("at: the note has no heading `{heading}`"));
    };
    if meant.next().is_some() {
        return Err(format!(
            "at: the note has several headings `{heading}`; name its level as in `## {heading}`, or \
             use a ^block"
        ));
    }
    let next = headings.iter().find(|it| it.at > found.at && it.level <= found.level);
    let end = next.map_or(text.len(), |next| next.at);
    let section = text.get(found.at..end).unwrap_or_default();
    Ok(line_end_after(text, found.at + section.trim_end().len()))
}

/// Returns the position after the line with a block identifier.
fn block_end(text: &str, block: &str) -> Result<usize, String> {
    let mark = format!("^{block}");
    let mut at = 0;
    let mut found = None;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let bare = line.trim_end();
        let is_marked = bare
            .strip_suffix(&mark)
            .is_some_and(|before| before.is_empty() || before.ends_with(char::is_whitespace));
        if is_marked && found.replace(at).is_some() {
            return Err(format!("at: the note has several blocks `{mark}`"));
        }
    }
    found.ok_or_else(|| format!("at: the note has no block `{mark}`"))
}

/// Returns the position after the line that ends at or after `at`.
fn line_end_after(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end + 1)
}

/// Replaces quoted parts of a text, one after the other. Each must occur exactly once.
pub fn replace_parts(text: &str, parts: &[(String, String)]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (number, (old, new)) in parts.iter().enumerate() {
        let (mut old, mut new) = (Cow::Borrowed(old.as_str()), Cow::Borrowed(new.as_str()));
        if old.is_empty() {
            return Err(format!("replace[{number}].old: expected some text, got none"));
        }
        if line_end(&text) == "\r\n" && !old.contains('\r') {
            (old, new) = (old.replace('\n', "\r\n").into(), new.replace('\n', "\r\n").into());
        }
        let mut places = text.match_indices(old.as_ref()).map(|(at, _)| at);
        let Some(at) = places.next() else {
            return Err(format!(
                "replace[{number}].old: the note does not have this text; read it again and quote it \
                 exactly"
            ));
        };
        // Overlapping places are several, too.
        let next =
            at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        if text.get(next..).is_some_and(|rest| rest.contains(old.as_ref())) {
            return Err(format!(
                "replace[{number}].old: the note has this text in several places; quote more of it"
            ));
        }
        text = replace_range(&text, at..at + old.len(), &new);
    }
    Ok(text)
}

/// Sets properties of a text, and removes those that are null. `path` is the file of the note, if it has
/// one.
pub fn set_properties(
    path: Option<&Path>,
    text: &str,
    properties: &Map<String, Value>,
) -> Result<String, String> {
    let syntax = path.map_or(NoteSyntax::Markdown, NoteSyntax::of);
    let mut text = text.to_owned();
    for (name, value) in properties {
        let value = Some(value).filter(|value| !value.is_null());
        let new = match syntax {
            NoteSyntax::Markdown => front_matter::set_property(&text, name, value),
            NoteSyntax::Logseq => logseq::set_value(&text, name, value),
            NoteSyntax::Org | NoteSyntax::Plain => None,
        };
        text = new.ok_or_else(|| {
            format!("properties.{name}: it cannot be set in this note without changing other lines")
        })?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn insert(text: &str, at: &str, new: &str) -> Result<String, String> {
        insert_text(None, text, &InsertPlace::parse(at).unwrap(), new)
    }

    #[test]
    fn text_is_inserted_at_named_place() {
        let text = "---\na: 1\n---\n# A\none\n\n## Log\n- x ^b1\n- y\n\n# B\ntwo\n";
        for (at, expected) in [
            ("start", "---\na: 1\n---\nnew\n# A\none\n\n## Log\n- x ^b1\n- y\n\n# B\ntwo\n"),
            ("end", "---\na: 1\n---\n# A\none\n\n## Log\n- x ^b1\n- y\n\n# B\ntwo\nnew\n"),
            ("## Log", "---\na: 1\n---\n# A\none\n\n## Log\n- x ^b1\n- y\nnew\n\n# B\ntwo\n"),
            ("log", "---\na: 1\n---\n# A\none\n\n## Log\n- x ^b1\n- y\nnew\n\n# B\ntwo\n"),
            ("A", "---\na: 1\n---\n# A\none\n\n## Log\n- x ^b1\n- y\nnew\n\n# B\ntwo\n"),
            ("^b1", "---\na: 1\n---\n# A\none\n\n## Log\n- x ^b1\nnew\n- y\n\n# B\ntwo\n"),
        ] {
            assert_eq!(insert(text, at, "new").as_deref(), Ok(expected), "{at}");
        }
        assert_eq!(insert("# A", "A", "new").as_deref(), Ok("# A\nnew"));
        assert_eq!(insert("# A\r\n", "A", "x\ny").as_deref(), Ok("# A\r\nx\r\ny\r\n"));
        assert_eq!(insert("", "end", "new").as_deref(), Ok("new"));
        assert_eq!(insert("one", "start", "new").as_deref(), Ok("new\none"));
        assert!(insert(text, "C", "new").unwrap_err().contains("no heading `C`"));
        assert!(insert(text, "## A", "new").unwrap_err().contains("no heading `A`"));
        assert!(insert(text, "^b2", "new").unwrap_err().contains("no block"));
        assert!(insert("# A\n## A\n", "A", "new").unwrap_err().contains("several headings"));
        assert_eq!(insert("# A\n## A\n", "## A", "new").as_deref(), Ok("# A\n## A\nnew\n"));
        assert!(insert("```\n# A\n```\n", "A", "new").is_err());
        assert!(InsertPlace::parse(" # ").is_err());
    }

    #[test]
    fn quoted_text_is_replaced_once() {
        let replace = |text: &str, old: &str, new: &str| {
            replace_parts(text, &[(old.to_owned(), new.to_owned())])
        };
        assert_eq!(replace("one two", "two", "2").as_deref(), Ok("one 2"));
        assert_eq!(replace("a\r\nb\r\n", "a\nb", "x\ny").as_deref(), Ok("x\r\ny\r\n"));
        for (text, old, reason) in [
            ("one", "two", "does not have"),
            ("one one", "one", "several places"),
            ("aaa", "aa", "several places"),
            ("one", "", "some text"),
        ] {
            assert!(replace(text, old, "x").unwrap_err().contains(reason), "{text}");
        }
        let parts = [("a".to_owned(), "b".to_owned()), ("b".to_owned(), "c".to_owned())];
        assert_eq!(replace_parts("a", &parts).as_deref(), Ok("c"));
    }

    #[test]
    fn properties_are_set_and_removed() {
        let set = |text: &str, value: Value| set_properties(None, text, value.as_object().unwrap());
        let text = "---\n# mine\nstatus: open # why\nrating: 3\nlist:\n  - a\n  - b\n---\ntext\n";
        for (value, expected) in [
            (json!({ "status": "done" }), text.replace("open", "done")),
            (json!({ "rating": 7 }), text.replace('3', "7")),
            (json!({ "rating": null }), text.replace("rating: 3\n", "")),
            (json!({ "list": ["c", 1] }), text.replace("list:\n  - a\n  - b\n", "list: [c, 1]\n")),
            (
                json!({ "due": "2026-01-31" }),
                text.replace("---\ntext", "due: 2026-01-31\n---\ntext"),
            ),
            (json!({ "x": "[[A]]: b" }), text.replace("---\ntext", "x: \"[[A]]: b\"\n---\ntext")),
            (json!({ "none": null }), text.to_owned()),
            (json!({ "yes": true }), text.replace("---\ntext", "\"yes\": true\n---\ntext")),
        ] {
            assert_eq!(set(text, value), Ok(expected));
        }
        assert_eq!(set("text", json!({ "a": "b" })).as_deref(), Ok("---\na: b\n---\ntext"));
        assert_eq!(set("---\na: b\n---\ntext", json!({ "a": null })).as_deref(), Ok("text"));
        for text in ["---\na: &x 1\nb: *x\n---\n", "---\na: b: c\n---\n"] {
            assert!(set(text, json!({ "a": 2 })).is_err(), "{text}");
        }
        assert!(set("text", json!({ "a": { "b": 1 } })).is_err());
        let org = set_properties(
            Some(Path::new("/v/a.org")),
            "x",
            json!({ "a": 1 }).as_object().unwrap(),
        );
        assert!(org.is_err());
    }
}
