//! Notes of Tomboy and Gnote: `.note`.

use vademecum_model::{NoteDraft, SourceName};

use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::datetime,
    xml::{XmlElement, XmlNode, for_each_element},
};

/// Beginning of the tag that names the notebook of a note.
const NOTEBOOK_TAG: &str = "system:notebook:";

/// Notes of Tomboy.
#[derive(Debug)]
pub(crate) struct Tomboy;

impl Format for Tomboy {
    fn id(&self) -> &'static str {
        "tomboy"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "notes of Tomboy and Gnote (.note)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["note"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.head.starts_with('<')
            && sample.contains_all(&["<note ", "beatniksoftware.com/tomboy"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let mut templates = 0;
        for_each_element(&text, &["note"], |note| {
            let tags = note.children("tags").flat_map(|tags| tags.children("tag"));
            let tags: Vec<String> = tags.map(|tag| tag.text().trim().to_owned()).collect();
            if tags.iter().any(|tag| tag == "system:template") {
                templates += 1;
                return;
            }
            add_note(&mut parsed, input, &note, &tags);
        })?;
        parsed.add_count(templates, "note", "a template of Tomboy");
        parsed.or_empty("it has no note")
    }
}

fn add_note(
    parsed: &mut ParsedFormat,
    input: &FormatInput<'_>,
    note: &XmlElement,
    tags: &[String],
) {
    let title = note.child_text("title");
    let content = note.children("text").flat_map(|text| text.children("note-content")).next();
    let mut text = String::new();
    if let Some(content) = content {
        push_markdown(content, 0, &mut text);
    }
    // The first line repeats the title.
    let body = text.trim_start();
    let body = body.strip_prefix(title.trim()).map_or(body, |rest| rest.trim_start_matches('\n'));
    let time = |name: &str| datetime::parse_text(&note.child_text(name));
    let notebook = tags.iter().filter_map(|tag| tag.strip_prefix(NOTEBOOK_TAG));
    let own = tags.iter().filter(|tag| !tag.starts_with("system:"));
    let draft = NoteDraft {
        content: body.trim_end().to_owned(),
        folders: notebook.map(str::to_owned).collect(),
        tags: own.cloned().collect(),
        created_at: time("create-date"),
        modified_at: time("last-change-date"),
        title,
        ..NoteDraft::default()
    };
    // The file is named after the identifier.
    parsed.add_note(format!("tomboy:{}", input.stem()), draft, &input.stem());
}

/// Adds the content of an element. The depth of the tree is bounded by its parser.
fn push_markdown(element: &XmlElement, depth: usize, text: &mut String) {
    for node in &element.nodes {
        match node {
            XmlNode::Text(part) => text.push_str(part),
            XmlNode::Element(inner) => push_element(inner, depth, text),
        }
    }
}

fn push_element(element: &XmlElement, depth: usize, text: &mut String) {
    let around = |sign: &str, text: &mut String| {
        let mut inside = String::new();
        push_markdown(element, depth, &mut inside);
        let inner = inside.trim();
        if inner.is_empty() {
            text.push_str(&inside);
        } else {
            text.push_str(&inside.replacen(inner, &format!("{sign}{inner}{sign}"), 1));
        }
    };
    match element.name.as_str() {
        "bold" => around("**", text),
        "italic" => around("*", text),
        "strikethrough" => around("~~", text),
        "highlight" => around("==", text),
        "monospace" => around("`", text),
        "internal" => text.extend(["[[", element.text().trim(), "]]"]),
        "huge" | "large" => {
            if text.is_empty() || text.ends_with('\n') {
                text.push_str(if element.name == "huge" { "## " } else { "### " });
            }
            push_markdown(element, depth, text);
        }
        "list" => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            push_markdown(element, depth + 1, text);
        }
        "list-item" => {
            text.extend([&"  ".repeat(depth.saturating_sub(1)), "- "]);
            push_markdown(element, depth, text);
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        _ => push_markdown(element, depth, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    const NOTE: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<note version="0.3" xmlns:link="http://beatniksoftware.com/tomboy/link" xmlns:size="http://beatniksoftware.com/tomboy/size" xmlns="http://beatniksoftware.com/tomboy">
<title>Rye &amp; oats</title><text xml:space="preserve"><note-content version="0.1">Rye &amp; oats

See <link:internal>Oat bread</link:internal>, <bold>now</bold>.
<size:huge>Steps</size:huge>
<list><list-item dir="ltr">Knead
<list><list-item dir="ltr">well</list-item></list></list-item><list-item dir="ltr">Wait</list-item></list></note-content></text>
<last-change-date>2026-01-06T11:00:00.0000000+01:00</last-change-date><create-date>2026-01-05T11:00:00.0000000+01:00</create-date>
<tags><tag>system:notebook:Baking</tag><tag>slow</tag></tags></note>"#;

    #[test]
    fn note_keeps_links_lists_notebook_and_dates() {
        assert!(detects(&Tomboy, "/a1.note", NOTE));
        let parsed = parse(&Tomboy, "/a1.note", NOTE);
        assert_eq!(parsed.drafts[0].origin, "tomboy:a1");
        let note = notes(&parsed)[0];
        assert_eq!(note.title, "Rye & oats");
        assert_eq!(
            note.content,
            "See [[Oat bread]], **now**.\n## Steps\n- Knead\n  - well\n- Wait"
        );
        assert_eq!(
            (note.folders.join(""), note.tags.join("")),
            ("Baking".to_owned(), "slow".to_owned())
        );
        assert_eq!(note.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(note.modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
    }

    #[test]
    fn template_and_damaged_file_are_no_notes() {
        let template = NOTE.replace("<tag>slow</tag>", "<tag>system:template</tag>");
        let parsed = parse(&Tomboy, "/a.note", template);
        assert!(parsed.drafts.is_empty() && parsed.problems.len() == 1);
        assert!(try_parse(&Tomboy, "/a.note", "<note ").is_err());
    }
}
