//! Title, tags and other properties in the front matter of a Markdown file, edited in place.
//!
//! An edit is read again before it is used: unless the importer reads what was to be written and
//! nothing else differs, the text stays as it is. A text whose front matter cannot be read is text,
//! and is never edited as front matter.

use std::{collections::BTreeMap, ops::Range};

use serde_json::Value;
use vademecum_model::{FrontMatterBlock, FrontMatterSyntax};

use super::{
    TagEdit,
    property::{
        ListItem, ListStyle, Property, bare_tag, has_content, list_properties, scalar_length,
    },
    replace_range,
    tag_edit::line_end,
};
use crate::text::{
    markdown::{FrontMatter, MarkdownDocument, ReadFrontMatter},
    title::clean_title,
};

/// Names of the property with tags.
const TAG_KEYS: [&str; 3] = ["tags", "tag", "keywords"];

type Values = BTreeMap<String, Value>;

/// Returns `true` if the front matter has a title.
fn has_title(text: &str) -> bool {
    match ReadFrontMatter::of(text) {
        ReadFrontMatter::Properties(block, _) => find_property(text, &block, "title").is_some(),
        ReadFrontMatter::None | ReadFrontMatter::Unreadable | ReadFrontMatter::TooLong(_) => false,
    }
}

/// Sets the title: in the front matter if that has one, else in the first heading if the text begins
/// with one, else in the front matter.
pub(super) fn set_title(text: &str, title: &str) -> Option<String> {
    if !has_title(text)
        && let Some(heading) = opening_heading(text)
    {
        let new = replace_range(text, heading, title);
        // A heading cannot end with number signs.
        if reads_title(&new, title) {
            return Some(new);
        }
    }
    set_property(text, "title", Some(&Value::from(title)))
}

/// Returns the position of the text of the heading with which a text begins.
fn opening_heading(text: &str) -> Option<Range<usize>> {
    let body = match ReadFrontMatter::of(text) {
        ReadFrontMatter::Properties(block, _) | ReadFrontMatter::TooLong(block) => block.body,
        ReadFrontMatter::None | ReadFrontMatter::Unreadable => text,
    };
    let mut at = text.len() - body.len();
    for line in body.split_inclusive('\n') {
        if line.trim().is_empty() {
            at += line.len();
            continue;
        }
        let heading = line.strip_prefix("# ")?.trim_end();
        // A carriage return within a line is the end of a line in other programs.
        if heading.contains('\r') || heading.trim().trim_matches('#').is_empty() {
            return None;
        }
        let start = at + 2 + heading.len() - heading.trim_start().len();
        let bare = heading.trim_end_matches('#');
        let is_closed = bare.ends_with(char::is_whitespace);
        let end = at + 2 + if is_closed { bare.trim_end() } else { heading }.len();
        return Some(start..end);
    }
    None
}

/// Sets a property, or removes it if there is no value. `None` if that is not possible without
/// changing anything else.
pub(super) fn set_property(text: &str, name: &str, value: Option<&Value>) -> Option<String> {
    let read = ReadFrontMatter::of(text);
    let (block, before) = match read {
        ReadFrontMatter::Unreadable | ReadFrontMatter::TooLong(_) => return None,
        ReadFrontMatter::None => {
            let Some(value) = value else { return Some(text.to_owned()) };
            let line = format_property(FrontMatterSyntax::Yaml, name, value, line_end(text))?;
            return checked(new_block(text, &line), text, (&Values::new(), name), Some(value));
        }
        ReadFrontMatter::Properties(block, values) => (block, values),
    };
    let end = line_end(text);
    let new = match (find_property(text, &block, name), value) {
        (None, None) => return Some(text.to_owned()),
        (None, Some(value)) => {
            let line = format_property(block.syntax, name, value, end)?;
            add_property(text, &block, &line)
        }
        (Some(property), None) => remove_property(text, &block, &property),
        (Some(property), Some(value)) => {
            let shown = format_value(block.syntax, value)?;
            let (range, shown) = match value_range(text, &property) {
                Some(range) if range.is_empty() => (range, format!(" {shown}")),
                Some(range) => (range, shown),
                None => (property.value.clone(), format!(" {shown}{end}")),
            };
            replace_range(text, range, &shown)
        }
    };
    let key = find_property(text, &block, name).map_or(name, |property| property.key);
    checked(new, block.body, (&before, key), value)
}

/// Returns the position of a value on one line, which is empty if there is none; `None` for a value
/// over several lines.
fn value_range(text: &str, property: &Property<'_>) -> Option<Range<usize>> {
    let value = text.get(property.value.clone())?;
    let (base, first) = (property.value.start, value.lines().next().unwrap_or_default());
    if value.trim_end().len() > first.trim_end().len() {
        return None;
    }
    let start = first.len() - first.trim_start().len();
    if first[start..].is_empty() || first[start..].starts_with('#') {
        return Some(base..base);
    }
    // A list may hold what looks like a comment.
    let length = if first[start..].starts_with(['[', '{']) && first.contains('#') {
        return None;
    } else {
        scalar_length(&first[start..])?
    };
    Some(base + start..base + start + length)
}

/// Returns the edited text if its properties are those of before, except for the one that was set or
/// removed, and the text after them is the same.
fn checked(
    new: String,
    body: &str,
    (before, name): (&Values, &str),
    value: Option<&Value>,
) -> Option<String> {
    let others = |values: &Values| -> Values {
        let others = values.iter().filter(|(key, _)| *key != name);
        others.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let (found, after) = match ReadFrontMatter::of(&new) {
        ReadFrontMatter::Properties(block, values) if block.body == body => (values, block.body),
        // The last property was removed, and its block with it.
        _ if value.is_none() && new == body => (Values::new(), body),
        _ => return None,
    };
    let is_set = match (found.get(name), value) {
        (None, None) => true,
        (Some(found), Some(value)) => found == value,
        (None, Some(_)) | (Some(_), None) => false,
    };
    (is_set && after == body && others(&found) == others(before)).then_some(new)
}

/// Changes the tags of the front matter in their present style. `None` if that is not possible without
/// changing anything else.
pub(super) fn edit_tags(text: &str, edit: &TagEdit<'_>) -> Option<String> {
    let (block, values) = match ReadFrontMatter::of(text) {
        ReadFrontMatter::Unreadable | ReadFrontMatter::TooLong(_) => return None,
        ReadFrontMatter::None => {
            let Some(tags) = edit.apply(&[]) else { return Some(text.to_owned()) };
            let lines = list_property("tags", &tags, line_end(text));
            return Some(new_block(text, &lines)).filter(|new| has_tags(new, &[], edit, text));
        }
        ReadFrontMatter::Properties(block, values) => (block, values),
    };
    let before = FrontMatter::from_values(&values).tags;
    if edit.apply(&before).is_none() {
        return Some(text.to_owned());
    }
    let mut new = text.to_owned();
    let mut added: Vec<String> = edit.missing_in(&before);
    // Each edit moves what follows, so that the properties are found again.
    for name in TAG_KEYS {
        let ReadFrontMatter::Properties(block, _) = ReadFrontMatter::of(&new) else { break };
        let Some(property) = find_property(&new, &block, name) else { continue };
        let style = ListStyle::parse(&new, block.syntax, &property)?;
        let edited = edit_list(&new, &block, (&property, style), (&edit.removed, &added))?;
        added.clear();
        new = edited;
    }
    if !added.is_empty() {
        let end = line_end(&new);
        new = match ReadFrontMatter::of(&new) {
            ReadFrontMatter::Properties(block, _) => {
                let lines = match block.syntax {
                    FrontMatterSyntax::Yaml => list_property("tags", &added, end),
                    FrontMatterSyntax::Toml => {
                        let tags = Value::from(added);
                        format_property(block.syntax, "tags", &tags, end)?
                    }
                };
                add_property(&new, &block, &lines)
            }
            _ => new_block(&new, &list_property("tags", &added, end)),
        };
    }
    Some(new).filter(|new| has_tags(new, &before, edit, block.body))
}

/// Returns `true` if the text has the tags of before with the changes, and the same body.
fn has_tags(new: &str, before: &[String], edit: &TagEdit<'_>, body: &str) -> bool {
    let lower = |tags: &[String]| {
        let mut tags: Vec<String> = tags.iter().map(|tag| bare_tag(tag).to_lowercase()).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    };
    let (found, rest) = match ReadFrontMatter::of(new) {
        ReadFrontMatter::Properties(block, values) => {
            (FrontMatter::from_values(&values).tags, block.body)
        }
        _ => (Vec::new(), new),
    };
    let wanted = edit.apply(before).unwrap_or_else(|| before.to_vec());
    rest == body && lower(&found) == lower(&wanted)
}

/// Removes values from a property and adds others.
fn edit_list(
    text: &str,
    block: &FrontMatterBlock<'_>,
    (property, style): (&Property<'_>, ListStyle),
    (removed, added): (&[&String], &[String]),
) -> Option<String> {
    let is_removed =
        |tag: &str| removed.iter().any(|gone| gone.to_lowercase() == tag.to_lowercase());
    let syntax = block.syntax;
    match style {
        ListStyle::Empty(_) if added.is_empty() => Some(text.to_owned()),
        ListStyle::Empty(at) => {
            let list = format_value(syntax, &Value::from(added))?;
            Some(replace_range(text, at..at, &format!(" {list}")))
        }
        ListStyle::Flow(_, items) | ListStyle::Lines(_, items)
            if added.is_empty()
                && !items.is_empty()
                && items.iter().all(|it| is_removed(&it.tag)) =>
        {
            Some(remove_property(text, block, property))
        }
        ListStyle::Flow(start, items) => {
            Some(edit_flow_list(text, syntax, (start, &items), &is_removed, added))
        }
        ListStyle::Lines(indent, items) => {
            let mut new = text.to_owned();
            let end = items.last().map_or(property.range.end, |last| last.range.end);
            let line =
                |tag: &String| format!("{indent}- {}{}", quote(syntax, tag, false), line_end(text));
            new.insert_str(end, &added.iter().map(line).collect::<String>());
            for item in items.iter().rev().filter(|item| is_removed(&item.tag)) {
                new.replace_range(item.range.clone(), "");
            }
            Some(new)
        }
        ListStyle::Text(range, parts) => {
            let kept = parts.iter().filter(|part| !is_removed(&bare_tag(part)));
            let kept: Vec<String> = kept.chain(added).cloned().collect();
            if kept == parts {
                return Some(text.to_owned());
            }
            if kept.is_empty() {
                return Some(remove_property(text, block, property));
            }
            // A text without a comma is divided at spaces.
            let is_text = kept.iter().all(|part| is_plain(part))
                && (kept.len() > 1 || kept.iter().all(|part| !part.contains(' ')));
            let bare: Vec<String> = kept.iter().map(|part| bare_tag(part)).collect();
            let value = if is_text { Value::from(kept.join(", ")) } else { Value::from(bare) };
            let shown = match &value {
                Value::String(list) if text[range.clone()].starts_with('"') => value_text(list),
                Value::String(list) if text[range.clone()].starts_with('\'') => format!("'{list}'"),
                Value::String(list) if syntax == FrontMatterSyntax::Yaml => list.clone(),
                value => format_value(syntax, value)?,
            };
            Some(replace_range(text, range, &shown))
        }
    }
}

/// Removes values from a list in brackets and adds others after the last.
fn edit_flow_list(
    text: &str,
    syntax: FrontMatterSyntax,
    (start, items): (usize, &[ListItem]),
    is_removed: &dyn Fn(&str) -> bool,
    added: &[String],
) -> String {
    let mut new = text.to_owned();
    let shown: Vec<String> = added.iter().map(|tag| quote(syntax, tag, true)).collect();
    let shown = shown.join(", ");
    match items.last() {
        Some(last) if !shown.is_empty() => new.insert_str(last.range.end, &format!(", {shown}")),
        None => new.insert_str(start, &shown),
        Some(_) => {}
    }
    for (number, item) in items.iter().enumerate().rev().filter(|(_, it)| is_removed(&it.tag)) {
        let later = items.get(number + 1..).unwrap_or_default();
        let has_later = !shown.is_empty() || later.iter().any(|it| !is_removed(&it.tag));
        let before = number.checked_sub(1).and_then(|before| items.get(before));
        let range = match (later.first(), before) {
            (Some(next), _) if has_later => item.range.start..next.range.start,
            // The new values follow it, with a comma between.
            (None, _) if has_later => item.range.start..item.range.end + 2,
            (_, Some(before)) => before.range.end..item.range.end,
            (_, None) => item.range.clone(),
        };
        new.replace_range(range, "");
    }
    new
}

/// Returns the property that counts of those with a lower-case name: the last.
fn find_property<'t>(
    text: &'t str,
    block: &FrontMatterBlock<'t>,
    name: &str,
) -> Option<Property<'t>> {
    let properties = list_properties(text, block);
    let is_named = |property: &Property<'_>| property.key.to_lowercase() == name.to_lowercase();
    let exact = properties.iter().rposition(|property| property.key == name);
    let index = exact.or_else(|| properties.iter().rposition(is_named))?;
    properties.into_iter().nth(index)
}

/// Returns the text with a property added to its front matter.
fn add_property(text: &str, block: &FrontMatterBlock<'_>, lines: &str) -> String {
    let at = match block.syntax {
        FrontMatterSyntax::Yaml => block.start + block.matter.len(),
        FrontMatterSyntax::Toml => block.start,
    };
    replace_range(text, at..at, lines)
}

/// Removes the lines of a property, and the block if it has no other lines. Comments alone are no front
/// matter, so that an empty list stays with them.
fn remove_property(text: &str, block: &FrontMatterBlock<'_>, property: &Property<'_>) -> String {
    let (matter, lines) = (block.start..block.start + block.matter.len(), property.range.clone());
    let rest = [&text[matter.start..lines.start], &text[lines.end..matter.end]].concat();
    if rest.trim().is_empty() {
        return block.body.to_owned();
    }
    if has_content(&rest) {
        return replace_range(text, lines, "");
    }
    replace_range(text, property.value.clone(), &format!(" []{}", line_end(text)))
}

fn new_block(text: &str, lines: &str) -> String {
    let end = line_end(text);
    format!("---{end}{lines}---{end}{text}")
}

fn format_property(
    syntax: FrontMatterSyntax,
    key: &str,
    value: &Value,
    end: &str,
) -> Option<String> {
    let value = format_value(syntax, value)?;
    let key = quote_key(syntax, key);
    Some(match syntax {
        FrontMatterSyntax::Yaml => format!("{key}: {value}{end}"),
        FrontMatterSyntax::Toml => format!("{key} = {value}{end}"),
    })
}

fn quote_key(syntax: FrontMatterSyntax, key: &str) -> String {
    let is_bare = match syntax {
        FrontMatterSyntax::Yaml => is_plain(key),
        FrontMatterSyntax::Toml => {
            key.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'))
        }
    };
    if is_bare { key.to_owned() } else { value_text(key) }
}

/// Returns a text, a number, a truth value or a list of them on one line; `None` for other values.
fn format_value(syntax: FrontMatterSyntax, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quote(syntax, text, false)),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(values) => {
            let shown = values.iter().map(|value| match value {
                Value::String(text) => Some(quote(syntax, text, true)),
                Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            });
            Some(format!("[{}]", shown.collect::<Option<Vec<_>>>()?.join(", ")))
        }
        Value::Null | Value::Object(_) => None,
    }
}

fn list_property(key: &str, values: &[String], end: &str) -> String {
    let line =
        |value: &String| format!("  - {}{end}", quote(FrontMatterSyntax::Yaml, value, false));
    format!("{key}:{end}{}", values.iter().map(line).collect::<String>())
}

/// Returns a text as a value, in quotes where it needs them.
fn quote(syntax: FrontMatterSyntax, text: &str, in_list: bool) -> String {
    let is_bare = matches!(syntax, FrontMatterSyntax::Yaml)
        && (is_plain(text) || is_date(text))
        && !(in_list && text.contains([',', '[', ']', '{', '}']));
    if is_bare { text.to_owned() } else { value_text(text) }
}

/// Returns a JSON string, which is a value of YAML and TOML.
fn value_text(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns `true` for a date, which readers of properties know without quotes only.
fn is_date(text: &str) -> bool {
    let is_like = |(sign, model): (char, char)| match model {
        '0' => sign.is_ascii_digit(),
        model => sign == model,
    };
    text.len() == 10 && text.chars().zip("0000-00-00".chars()).all(is_like)
}

/// Returns `true` if YAML reads the text as this text without quotes.
fn is_plain(text: &str) -> bool {
    let is_word =
        |sign: char| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_' | '/' | '.');
    let is_keyword = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"]
        .contains(&text.to_lowercase().as_str());
    text.starts_with(char::is_alphabetic)
        && !text.ends_with(' ')
        && text.chars().all(is_word)
        && !is_keyword
}

/// Returns `true` if the importer reads this title in the text.
fn reads_title(text: &str, title: &str) -> bool {
    let document = MarkdownDocument::parse(text);
    let found = document.properties.title.as_deref().and_then(clean_title);
    found.or_else(|| document.opening_heading().and_then(clean_title)).as_deref() == Some(title)
}
