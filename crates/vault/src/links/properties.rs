//! The properties in the text of a note: its front matter, `name:: value`, and `:NAME: value` of Org mode.

use std::collections::BTreeSet;

use vademecum_model::{FrontMatterBlock, PropertyValue};
use vademecum_search::bounded_markup;

use super::{
    Dialect,
    front_matter::{for_each_line, is_quoted, split_values},
    masking::mask_literal_parts,
};

/// Maximum number of values of one note; further ones are not found by lists.
const MAX_VALUES: usize = 500;
/// Maximum length of a name, in bytes. What is longer is prose.
const MAX_NAME_BYTES: usize = 64;
/// Properties of single blocks, which say nothing about the note.
const BLOCK_PROPERTIES: [&str; 2] = ["id", "collapsed"];

/// The properties of a note: names in lower case, and values in the form in which they are compared.
pub(super) type Properties = BTreeSet<(String, String)>;

/// Returns the properties of a text.
pub(super) fn extract_properties(text: &str, dialect: Dialect) -> Properties {
    let mut found = Properties::new();
    let front = match dialect {
        Dialect::Markdown | Dialect::Logseq => FrontMatterBlock::find(text),
        Dialect::Org | Dialect::LogseqOrg => None,
        Dialect::Plain => return found,
    };
    let body = front.as_ref().map_or(text, |block| block.body);
    if let Some(block) =
        front.filter(|block| block.matter.len() <= FrontMatterBlock::MAX_READ_BYTES)
    {
        read_front_matter(block.matter, &mut found);
    }
    let marks: &[&str] = if dialect.is_org() { &["::", "\n:", "\n#+"] } else { &["::"] };
    let body = bounded_markup(body);
    if marks.iter().any(|mark| body.contains(mark)) || body.starts_with(['#', ':']) {
        for line in mask_literal_parts(body, dialect).lines() {
            read_line(line, dialect, &mut found);
        }
    }
    found
}

fn read_front_matter(matter: &str, found: &mut Properties) {
    for_each_line(matter, |line| {
        if line.is_continued {
            return;
        }
        for it in split_values(line.value) {
            let text = if is_quoted(line.value, it.at) {
                it.text
            } else {
                // A comment of YAML.
                it.text.split(" #").next().unwrap_or_default().trim_end()
            };
            // The beginning of a text on several lines.
            if !matches!(text, "" | "|" | ">" | "|-" | ">-" | "{" | "[" | "\"\"\"") {
                add(line.property, text, found);
            }
        }
    });
}

/// Reads a property on a line of its own, which may be an element of a list.
fn read_line(line: &str, dialect: Dialect, found: &mut Properties) {
    let bare = line.trim_start().trim_start_matches(['-', '*', '+', '>']).trim_start();
    if let Some((name, value)) = bare.split_once("::") {
        let name = name.trim_matches(['*', '_']).trim();
        if is_name(name) && (value.is_empty() || value.starts_with([' ', '\t'])) {
            add_with_parts(name, value, found);
        }
    } else if dialect.is_org() {
        let drawer = bare.strip_prefix(':').and_then(|rest| rest.split_once(": "));
        let keyword = bare.strip_prefix("#+").and_then(|rest| rest.split_once(": "));
        if let Some((name, value)) = drawer.or(keyword).filter(|(name, _)| is_name(name)) {
            add_with_parts(name, value, found);
        }
    }
}

/// Adds a value, and its parts if it is a list with commas: it may be a sentence instead.
fn add_with_parts(name: &str, value: &str, found: &mut Properties) {
    add(name, value.trim(), found);
    if value.contains(',') {
        for part in value.split(',') {
            add(name, part, found);
        }
    }
}

fn add(name: &str, text: &str, found: &mut Properties) {
    let name = name.to_lowercase();
    let value = PropertyValue::parse(text).text;
    let is_wanted = !value.is_empty() && !name.is_empty() && name.len() <= MAX_NAME_BYTES;
    if is_wanted && found.len() < MAX_VALUES && !BLOCK_PROPERTIES.contains(&name.as_str()) {
        found.insert((name, value));
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.chars().all(|next| next.is_alphanumeric() || matches!(next, '-' | '_' | '/' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(text: &str, dialect: Dialect) -> Vec<String> {
        let found = extract_properties(text, dialect).into_iter();
        found.map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn front_matter_has_texts_numbers_and_lists() {
        let text = "---\nRating: 8 # good\ndone: true\nauthor: \"[[Ada Byron|Ada]]\"\n\
                    tags: [a, \"b, c\"]\nshelf:\n  - x\n  - y # z\nabout: |\n  rating: 9\nurl: https://e.org/a#b\n---\n\
                    rating: 10\n";
        let expected = [
            "author=ada byron",
            "done=true",
            "rating=8",
            "shelf=x",
            "shelf=y",
            "tags=a",
            "tags=b, c",
            "url=https://e.org/a#b",
        ];
        assert_eq!(properties(text, Dialect::Markdown), expected);
        assert_eq!(properties("+++\nrating = 8\n+++\n", Dialect::Markdown), ["rating=8"]);
    }

    #[test]
    fn lines_of_other_programs_are_read() {
        let logseq = "type:: [[Book]]\nid:: 6f\n- one\n  rating:: 8\n- `x:: y`\n- a b:: c\n- s::t\n- z:: a, b";
        let expected = ["rating=8", "type=book", "z=a", "z=a, b", "z=b"];
        assert_eq!(properties(logseq, Dialect::Logseq), expected);
        let org = "#+TITLE: Rye\n* A\n:PROPERTIES:\n:ID: x-1\n:Rating: 8\n:END:\nsee :a: b\n";
        assert_eq!(properties(org, Dialect::Org), ["rating=8", "title=rye"]);
        assert!(properties("a:: b", Dialect::Plain).is_empty());
    }

    #[test]
    fn floods_of_properties_are_bounded() {
        let text = (0..5_000).map(|number| format!("k{number}:: v\n")).collect::<Vec<_>>().concat();
        assert_eq!(extract_properties(&text, Dialect::Markdown).len(), MAX_VALUES);
    }
}
