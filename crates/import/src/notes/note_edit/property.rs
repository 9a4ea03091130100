//! Properties of front matter as spans of their text, so that an edit leaves everything else as it is.

use std::ops::Range;

use serde_json::Value;
use vademecum_model::{FrontMatterBlock, FrontMatterSyntax};

use crate::text::markdown::{json_texts, unwrap_wiki_link};

/// A property at the top level of front matter. Positions are those in the whole text, in bytes.
#[derive(Debug)]
pub(super) struct Property<'t> {
    /// Its lines, with those of its value, without comments and blank lines at their end.
    pub(super) range: Range<usize>,
    pub(super) key: &'t str,
    /// What follows the separator, to the end of its lines.
    pub(super) value: Range<usize>,
}

/// One value in a list.
#[derive(Clone, Debug)]
pub(super) struct ListItem {
    /// The value with its quotes; the whole line, if the list has a line for each.
    pub(super) range: Range<usize>,
    /// The tag that an importer reads.
    pub(super) tag: String,
}

/// How a property lists its values.
#[derive(Debug)]
pub(super) enum ListStyle {
    /// Nothing follows the key; values can be inserted at this position.
    Empty(usize),
    /// `[a, b]`, also over several lines: the position after the bracket, and the items.
    Flow(usize, Vec<ListItem>),
    /// A line each, with this indentation.
    Lines(String, Vec<ListItem>),
    /// `a, b`, or `a b`: the text with its quotes, and its parts without them.
    Text(Range<usize>, Vec<String>),
}

/// Returns the properties at the top level, in their order.
pub(super) fn list_properties<'t>(
    text: &'t str,
    block: &FrontMatterBlock<'t>,
) -> Vec<Property<'t>> {
    let separator = match block.syntax {
        FrontMatterSyntax::Yaml => ':',
        FrontMatterSyntax::Toml => '=',
    };
    let mut found: Vec<Property<'t>> = Vec::new();
    // End of a list in brackets that began on an earlier line.
    let (mut at, mut list_end) = (block.start, 0);
    let end = block.start + block.matter.len();
    for line in block.matter.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let last = found.last_mut();
        let is_inside = line.starts_with([' ', '\t', '-']) || begin < list_end;
        if let Some(last) = last.filter(|_| is_inside) {
            (last.range.end, last.value.end) = (at, at);
            continue;
        }
        // A table of TOML ends the top level.
        if block.syntax == FrontMatterSyntax::Toml && line.starts_with('[') {
            break;
        }
        let Some(key) = key_length(line, separator) else { continue };
        let value = begin + key + separator.len_utf8()..at;
        let list = text.get(value.start..end).and_then(FlowItems::parse);
        list_end = list.map_or(0, |list| value.start + list.end);
        let key = line[..key].trim().trim_matches(['"', '\'']);
        found.push(Property { range: begin..at, key, value });
    }
    found
}

/// Returns the length of the key of a line.
fn key_length(line: &str, separator: char) -> Option<usize> {
    let quote = line.chars().next().filter(|sign| matches!(sign, '"' | '\''));
    let start = match quote {
        Some(quote) => 2 + line[1..].find(quote)?,
        None => 0,
    };
    let is_end = |at: usize| {
        separator != ':'
            || line[at + 1..].is_empty()
            || line[at + 1..].starts_with([' ', '\t', '\r', '\n'])
    };
    let mut places = line.match_indices(separator).map(|(at, _)| at);
    places.find(|at| *at >= start && is_end(*at))
}

/// Parts of a list in brackets.
struct FlowItems {
    /// Position after the opening bracket.
    start: usize,
    /// Position after the closing bracket.
    end: usize,
    items: Vec<Range<usize>>,
    is_closed: bool,
}

impl FlowItems {
    /// Splits a list; `None` if `value` is none.
    fn parse(value: &str) -> Option<Self> {
        let open = value.len() - value.trim_start_matches([' ', '\t']).len();
        if !value[open..].starts_with('[') {
            return None;
        }
        let mut list =
            Self { start: open + 1, end: value.len(), items: Vec::new(), is_closed: false };
        let (mut quote, mut depth, mut in_comment) = (None, 0_usize, false);
        let (mut before, mut is_escaped) = (' ', false);
        let mut item: Option<Range<usize>> = None;
        for (at, sign) in value.char_indices().skip_while(|(at, _)| *at <= open) {
            let end = at + sign.len_utf8();
            let extended = item.as_ref().map_or(at, |item| item.start)..end;
            let previous = std::mem::replace(&mut before, sign);
            match (sign, quote) {
                _ if in_comment => in_comment = sign != '\n',
                (_, Some(mark)) => {
                    item = Some(extended);
                    if sign == mark && !is_escaped {
                        quote = None;
                    }
                    is_escaped = mark == '"' && sign == '\\' && !is_escaped;
                }
                ('#', None) if previous.is_whitespace() => in_comment = true,
                (',', None) if depth == 0 => list.items.extend(item.take()),
                (']', None) if depth == 0 => {
                    list.items.extend(item.take());
                    (list.end, list.is_closed) = (end, true);
                    return Some(list);
                }
                _ if sign.is_whitespace() => {}
                _ => {
                    match sign {
                        '"' | '\'' if item.is_none() => quote = Some(sign),
                        '[' | '{' => depth += 1,
                        ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    item = Some(extended);
                }
            }
        }
        Some(list)
    }
}

impl ListStyle {
    /// Returns how a property lists its values; `None` if it cannot be edited in place.
    pub(super) fn parse(
        text: &str,
        syntax: FrontMatterSyntax,
        property: &Property<'_>,
    ) -> Option<Self> {
        let value = text.get(property.value.clone())?;
        let base = property.value.start;
        let first = value.split_inclusive('\n').next().unwrap_or_default();
        let rest = &value[first.len()..];
        let bare = first.trim();
        let has_rest = has_content(rest);
        if bare.starts_with('[') {
            let list = FlowItems::parse(value).filter(|list| list.is_closed)?;
            if has_content(&value[list.end..]) {
                return None;
            }
            let items = list.items.into_iter().map(|range| {
                let tag = read_tag(syntax, value.get(range.clone())?)?;
                Some(ListItem { range: base + range.start..base + range.end, tag })
            });
            return Some(Self::Flow(base + list.start, items.collect::<Option<_>>()?));
        }
        if bare.is_empty() || bare.starts_with('#') {
            if !has_rest {
                return (syntax == FrontMatterSyntax::Yaml).then_some(Self::Empty(base));
            }
            return parse_lines(syntax, rest, base + first.len());
        }
        if has_rest || bare.starts_with(['&', '*', '{', '|', '>', '!', '%', '@']) {
            return None;
        }
        let start = first.len() - first.trim_start().len();
        let end = start + scalar_length(&first[start..])?;
        let shown = read_texts(syntax, &first[start..end])?;
        let [shown] = shown.as_slice() else { return None };
        let parts: Vec<&str> = if shown.contains(',') {
            shown.split(',').collect()
        } else {
            shown.split_whitespace().collect()
        };
        let parts = parts.iter().map(|part| part.trim().to_owned());
        Some(Self::Text(base + start..base + end, parts.filter(|part| !part.is_empty()).collect()))
    }
}

/// Reads a list with a line for each value. `base` is the position of `lines`.
fn parse_lines(syntax: FrontMatterSyntax, lines: &str, base: usize) -> Option<ListStyle> {
    let (mut indent, mut items, mut at) = (None, Vec::new(), base);
    for line in lines.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        if !has_content(line) {
            continue;
        }
        let (own, value) = line.split_at(line.len() - line.trim_start().len());
        let value = value.strip_prefix("- ")?;
        if *indent.get_or_insert(own) != own {
            return None;
        }
        items.push(ListItem { range, tag: read_tag(syntax, value.trim())? });
    }
    Some(ListStyle::Lines(indent?.to_owned(), items))
}

/// Returns `true` unless a text has comments and white space only.
pub(super) fn has_content(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the length of a value on one line, without the comment after it.
pub(super) fn scalar_length(value: &str) -> Option<usize> {
    let quote = value.chars().next().filter(|sign| matches!(sign, '"' | '\''));
    let Some(quote) = quote else {
        let comment = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
        return Some(value[..comment].trim_end().len());
    };
    let mut is_escaped = false;
    let end = value.char_indices().skip(1).find(|(_, sign)| {
        let is_end = *sign == quote && !is_escaped;
        is_escaped = quote == '"' && *sign == '\\' && !is_escaped;
        is_end
    })?;
    let end = end.0 + 1;
    // A doubled quote belongs to the text.
    let rest = value[end..].trim();
    (rest.is_empty() || rest.starts_with('#')).then_some(end)
}

/// Reads one value of a list as an importer reads a tag; `None` if it is not a text.
fn read_tag(syntax: FrontMatterSyntax, value: &str) -> Option<String> {
    let texts = read_texts(syntax, value)?;
    let [text] = texts.as_slice() else { return None };
    Some(bare_tag(text))
}

fn read_texts(syntax: FrontMatterSyntax, value: &str) -> Option<Vec<String>> {
    if value.starts_with(['&', '*', '!', '{']) {
        return None;
    }
    match syntax {
        FrontMatterSyntax::Yaml => {
            let value: Value = serde_saphyr::from_str(value).ok()?;
            Some(json_texts(&value))
        }
        FrontMatterSyntax::Toml => {
            let table: toml::Table = format!("x = {value}").parse().ok()?;
            Some(vec![table.get("x")?.as_str()?.to_owned()])
        }
    }
}

/// Returns a tag without `#` and link brackets, as the importer reads it.
pub(super) fn bare_tag(tag: &str) -> String {
    unwrap_wiki_link(tag.trim()).trim_start_matches('#').to_owned()
}
