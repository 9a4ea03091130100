//! Title and tags in the front matter of a Markdown file, edited line by line.

use std::ops::Range;

use vademecum_model::{FrontMatterBlock, FrontMatterSyntax};

use super::{TagEdit, replace_range};
use crate::text::markdown::unwrap_wiki_link;

/// Names of the property with tags.
const TAG_KEYS: [&str; 3] = ["tags", "tag", "keywords"];

/// A property at the top level of front matter.
struct Property<'t> {
    /// Position of its first line and of the end of its last line.
    range: Range<usize>,
    key: &'t str,
    /// What follows the key on its line, without white space.
    value: &'t str,
    /// The lines after the first.
    rest: &'t str,
}

/// Returns the property with one of these lower-case names.
fn find_property<'t>(block: &FrontMatterBlock<'t>, names: &[&str]) -> Option<Property<'t>> {
    let separator = match block.syntax {
        FrontMatterSyntax::Yaml => ':',
        FrontMatterSyntax::Toml => '=',
    };
    let mut at = 0;
    let mut found: Option<(Range<usize>, &str, &str)> = None;
    for line in block.matter.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let is_inside = line.starts_with([' ', '\t', '-', '#']) || line.trim().is_empty();
        if is_inside {
            continue;
        }
        if found.is_some() {
            at = begin;
            break;
        }
        // A table of TOML ends the top level.
        if line.starts_with('[') && separator == '=' {
            return None;
        }
        let Some((key, value)) = line.split_once(separator) else { continue };
        if names.contains(&key.trim().to_lowercase().as_str()) {
            found = Some((begin..at, key, value));
        }
    }
    let (first, key, value) = found?;
    Some(Property {
        rest: &block.matter[first.end..at],
        range: block.start + first.start..block.start + at,
        key: key.trim(),
        value: value.trim(),
    })
}

/// Returns the text with a property added to its front matter.
fn add_property(text: &str, block: &FrontMatterBlock<'_>, lines: &str) -> String {
    let at = match block.syntax {
        FrontMatterSyntax::Yaml => block.start + block.matter.len(),
        FrontMatterSyntax::Toml => block.start,
    };
    replace_range(text, at..at, lines)
}

/// Returns `true` if the front matter has a title.
pub(super) fn has_title(text: &str) -> bool {
    FrontMatterBlock::find(text).is_some_and(|block| find_property(&block, &["title"]).is_some())
}

/// Sets the title: in the front matter if that has one, else in the first heading if the text begins
/// with one, else in the front matter.
pub(super) fn set_title(text: &str, title: &str) -> String {
    let block = FrontMatterBlock::find(text);
    let syntax = block.map_or(FrontMatterSyntax::Yaml, |block| block.syntax);
    if let Some(property) = block.and_then(|block| find_property(&block, &["title"])) {
        // A value of several lines cannot be replaced safely.
        if !property.rest.trim().is_empty() || property.value.starts_with(['|', '>', '&', '{']) {
            return text.to_owned();
        }
        let line = format_property(syntax, property.key, &quote(syntax, title, false));
        return replace_range(text, property.range, &line);
    }
    let body = block.map_or(text, |block| block.body);
    let begin = text.len() - body.len();
    let mut at = begin;
    for line in body.split_inclusive('\n') {
        if line.trim().is_empty() {
            at += line.len();
            continue;
        }
        if line.starts_with("# ") {
            let end = at + line.trim_end_matches(['\n', '\r']).len();
            return replace_range(text, at..end, &format!("# {title}"));
        }
        break;
    }
    let line = format_property(syntax, "title", &quote(syntax, title, false));
    match block {
        Some(block) => add_property(text, &block, &line),
        None => format!("---\n{line}---\n{text}"),
    }
}

/// Changes the tags of the front matter in their present style.
pub(super) fn edit_tags(text: &str, edit: &TagEdit<'_>) -> String {
    let Some(block) = FrontMatterBlock::find(text) else {
        let Some(tags) = edit.apply(&[]) else { return text.to_owned() };
        return format!("---\n{}---\n{text}", list_property("tags", "  ", &tags));
    };
    let syntax = block.syntax;
    let Some(property) = find_property(&block, &TAG_KEYS) else {
        let Some(tags) = edit.apply(&[]) else { return text.to_owned() };
        let new = match syntax {
            FrontMatterSyntax::Yaml => list_property("tags", "  ", &tags),
            FrontMatterSyntax::Toml => format_property(syntax, "tags", &flow_list(syntax, &tags)),
        };
        return add_property(text, &block, &new);
    };
    let Some((style, tags)) = TagStyle::parse(syntax, &property) else {
        return text.to_owned();
    };
    let Some(tags) = edit.apply(&tags) else { return text.to_owned() };
    replace_range(text, property.range.clone(), &style.format(syntax, property.key, &tags))
}

/// How front matter lists its tags.
enum TagStyle<'t> {
    /// `[a, b]`.
    Flow,
    /// `a, b`, or `a b`.
    Text,
    /// A line each, indented like this.
    Lines(&'t str),
}

impl<'t> TagStyle<'t> {
    /// Returns the style and the tags of a property; `None` if it cannot be edited line by line.
    fn parse(syntax: FrontMatterSyntax, property: &Property<'t>) -> Option<(Self, Vec<String>)> {
        let value = property.value;
        let has_rest = !property.rest.trim().is_empty();
        if value.is_empty() && has_rest && matches!(syntax, FrontMatterSyntax::Yaml) {
            let lines = property.rest.lines().filter(|line| !line.trim().is_empty());
            let tags: Option<Vec<String>> =
                lines.map(|line| plain_value(line.trim_start().strip_prefix("- ")?)).collect();
            let first = property.rest.lines().find(|line| !line.trim().is_empty())?;
            let indent = &first[..first.len() - first.trim_start().len()];
            return Some((Self::Lines(indent), tags?));
        }
        if has_rest {
            return None;
        }
        if let Some(inside) = value.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            if inside.trim().is_empty() {
                return Some((Self::Flow, Vec::new()));
            }
            // Commas in quotes would be split.
            let quoted_comma =
                inside.split(['"', '\'']).skip(1).step_by(2).any(|text| text.contains(','));
            if quoted_comma || inside.contains(['[', '{', '\\']) {
                return None;
            }
            let tags: Option<Vec<String>> = inside.split(',').map(plain_value).collect();
            return Some((Self::Flow, tags?));
        }
        match syntax {
            _ if value.is_empty() => Some((Self::Flow, Vec::new())),
            FrontMatterSyntax::Toml => None,
            FrontMatterSyntax::Yaml => {
                if value.starts_with(['&', '*', '{', '[', '|', '>', '!', '%', '@']) {
                    return None;
                }
                let text = plain_value(value)?;
                let split: Vec<&str> = if text.contains(',') {
                    text.split(',').collect()
                } else {
                    text.split_whitespace().collect()
                };
                let tags = split.iter().map(|tag| bare_tag(tag)).filter(|tag| !tag.is_empty());
                Some((Self::Text, tags.collect()))
            }
        }
    }

    fn format(&self, syntax: FrontMatterSyntax, key: &str, tags: &[String]) -> String {
        match self {
            Self::Lines(indent) if !tags.is_empty() => list_property(key, indent, tags),
            // A text without a comma would be split at spaces.
            Self::Text if tags.len() > 1 && tags.iter().all(|tag| is_plain(tag)) => {
                format_property(syntax, key, &tags.join(", "))
            }
            Self::Lines(_) | Self::Text | Self::Flow => {
                format_property(syntax, key, &flow_list(syntax, tags))
            }
        }
    }
}

/// Returns a value without quotes and comment; `None` if it is not a simple one.
fn plain_value(value: &str) -> Option<String> {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            let (inside, after) = rest.split_once(quote)?;
            let after = after.trim();
            let is_end = after.is_empty() || after.starts_with('#');
            return (is_end && !inside.contains('\\')).then(|| bare_tag(inside));
        }
    }
    let value = value.split(" #").next().unwrap_or(value).trim();
    (!value.starts_with(['&', '*', '{', '|', '>', '!'])).then(|| bare_tag(value))
}

/// Returns a tag without `#` and link brackets, as the importer reads it.
fn bare_tag(tag: &str) -> String {
    unwrap_wiki_link(tag.trim()).trim_start_matches('#').to_owned()
}

fn format_property(syntax: FrontMatterSyntax, key: &str, value: &str) -> String {
    match syntax {
        FrontMatterSyntax::Yaml => format!("{key}: {value}\n"),
        FrontMatterSyntax::Toml => format!("{key} = {value}\n"),
    }
}

fn list_property(key: &str, indent: &str, tags: &[String]) -> String {
    let mut lines = format!("{key}:\n");
    for tag in tags {
        for part in [indent, "- ", &quote(FrontMatterSyntax::Yaml, tag, false), "\n"] {
            lines.push_str(part);
        }
    }
    lines
}

fn flow_list(syntax: FrontMatterSyntax, tags: &[String]) -> String {
    let quoted: Vec<String> = tags.iter().map(|tag| quote(syntax, tag, true)).collect();
    format!("[{}]", quoted.join(", "))
}

/// Returns a text as a value, in quotes where it needs them. JSON strings are values of YAML and
/// TOML.
fn quote(syntax: FrontMatterSyntax, text: &str, in_list: bool) -> String {
    let is_bare = matches!(syntax, FrontMatterSyntax::Yaml)
        && is_plain(text)
        && !(in_list && text.contains([',', '[', ']', '{', '}']));
    if is_bare { text.to_owned() } else { serde_json::Value::from(text).to_string() }
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
