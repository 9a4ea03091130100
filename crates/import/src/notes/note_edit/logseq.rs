//! Page properties of Logseq: `name:: value` lines at the beginning of a page.

use vademecum_model::FrontMatterBlock;

use super::{TagEdit, replace_range};
use crate::notes::logseq::split_tags;

/// Sets a property of a page.
pub(super) fn set_property(text: &str, name: &str, value: &str) -> String {
    let line = format!("{name}:: {}\n", value.replace(['\n', '\r'], " "));
    let at = first_line(text);
    match find_property(text, &[name]) {
        Some((range, _)) => replace_range(text, range, &line),
        None => replace_range(text, at..at, &line),
    }
}

/// Changes the tags of a page.
pub(super) fn edit_tags(text: &str, edit: &TagEdit<'_>) -> String {
    let found = find_property(text, &["tags", "tag", "keywords"]);
    let before = found.as_ref().map(|(_, value)| split_tags(value)).unwrap_or_default();
    let Some(tags) = edit.apply(&before) else { return text.to_owned() };
    let line =
        if tags.is_empty() { String::new() } else { format!("tags:: {}\n", tags.join(", ")) };
    let at = first_line(text);
    let range = found.map_or(at..at, |(range, _)| range);
    replace_range(text, range, &line)
}

/// Returns the position after the front matter.
fn first_line(text: &str) -> usize {
    text.len() - FrontMatterBlock::body_of(text).len()
}

/// Returns the position of the line of a property, and its value.
fn find_property<'t>(text: &'t str, names: &[&str]) -> Option<(std::ops::Range<usize>, &'t str)> {
    let mut at = first_line(text);
    for line in text[at..].split_inclusive('\n') {
        if !line.trim().is_empty() {
            let (name, value) = line.split_once("::")?;
            // The importer accepts properties in a block too; they are not edited here.
            if name.is_empty() || name.contains(char::is_whitespace) {
                return None;
            }
            if names.contains(&name.to_lowercase().as_str()) {
                return Some((at..at + line.len(), value.trim()));
            }
        }
        at += line.len();
    }
    None
}
