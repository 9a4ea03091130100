//! Page properties of Logseq: `name:: value` lines at the beginning of a page.

use std::{borrow::Cow, ops::Range};

use serde_json::Value;
use vademecum_model::FrontMatterBlock;

use super::{TagEdit, replace_range, tag_edit::line_end};
use crate::notes::logseq::split_tags;

/// Names of the property with tags.
const TAG_KEYS: [&str; 3] = ["tags", "tag", "keywords"];

/// A property of a page.
struct PageProperty {
    line: Range<usize>,
    value: Range<usize>,
    /// The line is the first of a block.
    is_in_block: bool,
}

/// Sets a property of a page.
pub(super) fn set_property(text: &str, name: &str, value: &str) -> String {
    let value = value.replace(['\n', '\r'], " ");
    match find_property(text, &[name]) {
        Some(found) => replace_range(text, found.value, &value),
        None => add_line(text, &format!("{name}:: {value}")),
    }
}

/// Changes the tags of a page.
pub(super) fn edit_tags(text: &str, edit: &TagEdit<'_>) -> String {
    let found = find_property(text, &TAG_KEYS);
    let shown = found.as_ref().and_then(|found| text.get(found.value.clone())).unwrap_or_default();
    let before = split_tags(shown);
    // A comma separates tags.
    let added = edit.missing_in(&before).into_iter().filter(|tag| !tag.contains(','));
    let is_kept = |part: &&str| split_tags(part).iter().all(|tag| !edit.removes(tag));
    let kept = shown.split(',').map(str::trim).filter(|part| !part.is_empty()).filter(is_kept);
    let after: Vec<String> = kept.map(str::to_owned).chain(added).collect();
    if after.iter().flat_map(|part| split_tags(part)).collect::<Vec<_>>() == before {
        return text.to_owned();
    }
    match found {
        Some(found) if after.is_empty() && !found.is_in_block => {
            replace_range(text, found.line, "")
        }
        Some(found) => replace_range(text, found.value, &after.join(", ")),
        None => add_line(text, &format!("tags:: {}", after.join(", "))),
    }
}

/// Returns a text as blocks of a page: an outline has no lines outside of blocks.
pub(super) fn to_blocks(text: &str) -> Cow<'_, str> {
    let is_block = |line: &str| line.starts_with("- ") || line.trim_end() == "-";
    if text.trim().is_empty() || is_block(text.trim_start()) {
        return text.into();
    }
    let mut blocks = String::from("- ");
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 && !line.trim().is_empty() {
            blocks.push_str("  ");
        }
        blocks.push_str(line);
    }
    blocks.into()
}

/// Sets a property of a page, or removes its line. `None` for a value that is no text, number or truth
/// value, or a list of those.
pub(super) fn set_value(text: &str, name: &str, value: Option<&Value>) -> Option<String> {
    let is_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_' | '.' | '/');
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let Some(value) = value else {
        return Some(match find_property(text, &[&name.to_lowercase()]) {
            None => text.to_owned(),
            Some(found) if found.is_in_block => return None,
            Some(found) => replace_range(text, found.line, ""),
        });
    };
    let shown = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let value = match value {
        Value::Array(values) => values.iter().map(shown).collect::<Option<Vec<_>>>()?.join(", "),
        value => shown(value)?,
    };
    Some(set_property(text, &name.to_lowercase(), &value))
}

/// Returns the position after the properties of a page.
pub(super) fn properties_end(text: &str) -> usize {
    let mut at = first_line(text);
    for line in text[at..].split_inclusive('\n') {
        let name = line.split_once("::").map_or("", |(name, _)| name);
        if name.is_empty() || name.starts_with("- ") || name.contains(char::is_whitespace) {
            break;
        }
        at += line.len();
    }
    at
}

/// Adds a property before the others.
fn add_line(text: &str, line: &str) -> String {
    let at = first_line(text);
    replace_range(text, at..at, &[line, line_end(text)].concat())
}

/// Returns the position after the front matter.
fn first_line(text: &str) -> usize {
    text.len() - FrontMatterBlock::body_of(text).len()
}

/// Returns the last property with one of these names: it is the one that counts.
fn find_property(text: &str, names: &[&str]) -> Option<PageProperty> {
    let mut at = first_line(text);
    let mut found = None;
    for line in text[at..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.trim().is_empty() {
            if found.is_some() {
                break;
            }
            continue;
        }
        let bare = line.trim_start().trim_start_matches("- ");
        let Some((name, value)) = bare.split_once("::") else { break };
        if name.is_empty() || name.contains(char::is_whitespace) {
            break;
        }
        if names.contains(&name.to_lowercase().as_str()) {
            let end = start + line.trim_end().len();
            let value_start = start + line.len() - value.trim_start_matches([' ', '\t']).len();
            found = Some(PageProperty {
                line: start..at,
                value: value_start.min(end)..end,
                is_in_block: bare.len() < line.len(),
            });
        }
    }
    found
}
