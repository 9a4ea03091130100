//! Links and names in the front matter of a Markdown text.
//!
//! The lines are read as they are, without a parser of YAML or TOML: a link is a quoted `[[…]]`, and the
//! few known properties are texts or lists of texts. Unquoted `[[…]]` is a list in YAML, no link.

use super::{LinkKind, found_link::FoundLink, key::address_key};

/// Properties with the web address of the note itself.
const ADDRESS_PROPERTIES: [&str; 3] = ["url", "link", "source"];

/// Links and names in front matter.
#[derive(Debug, Default)]
pub(super) struct FrontMatterLinks {
    pub(super) links: Vec<FoundLink>,
    pub(super) aliases: Vec<String>,
    pub(super) addresses: Vec<String>,
}

/// A value of a property, and its position.
pub(super) struct MatterValue<'a> {
    pub(super) at: usize,
    pub(super) text: &'a str,
}

/// A line of front matter: its property, and the part of the line that has values of it.
pub(super) struct MatterLine<'a> {
    /// Name of the property.
    pub(super) property: &'a str,
    /// Position of `value`, in bytes.
    at: usize,
    /// The values.
    pub(super) value: &'a str,
    /// Whether the line is neither the first of its property nor an element of its list.
    pub(super) is_continued: bool,
}

/// Calls `read` for each line of the text between the marks.
pub(super) fn for_each_line<'a>(matter: &'a str, mut read: impl FnMut(MatterLine<'a>)) {
    let mut property = "";
    let mut start = 0;
    for line in matter.split_inclusive('\n') {
        let mut value = line;
        let is_item = line.trim_start().starts_with("- ");
        let is_first = !is_item && !line.starts_with([' ', '\t']);
        if is_first {
            let end = line.find([':', '=']).unwrap_or(line.len());
            property = line.get(..end).unwrap_or_default().trim();
            value = line.get(end..).unwrap_or_default().trim_start_matches([':', '=']);
        } else if is_item {
            value = line.trim_start().trim_start_matches("- ");
        }
        let at = start + (line.len() - value.len());
        read(MatterLine { property, at, value, is_continued: !is_first && !is_item });
        start += line.len();
    }
}

impl FrontMatterLinks {
    /// Reads the text between the marks.
    pub(super) fn parse(matter: &str) -> Self {
        let mut found = Self::default();
        for_each_line(matter, |line| {
            found.read_value(&line.property.to_lowercase(), line.at, line.value);
        });
        found
    }

    fn read_value(&mut self, property: &str, at: usize, value: &str) {
        let kind = match property {
            "supersedes" | "replaces" => Some(LinkKind::Supersedes),
            "superseded_by" | "superseded-by" | "replaced_by" => Some(LinkKind::SupersededBy),
            _ => None,
        };
        if let Some(kind) = kind {
            let values = split_values(value).into_iter();
            self.links.extend(values.filter_map(|it| target_link(kind, at + it.at, it.text)));
            return;
        }
        if matches!(property, "alias" | "aliases") {
            let names = split_values(value).into_iter().map(|it| it.text.to_owned());
            self.aliases.extend(names);
        }
        for it in split_values(value) {
            let at = at + it.at;
            if it.text.starts_with("[[") && is_quoted(value, it.at) {
                self.links.extend(target_link(LinkKind::Property, at, it.text));
            } else if let Some(key) = address_key(it.text) {
                if ADDRESS_PROPERTIES.contains(&property) {
                    self.addresses.push(it.text.to_owned());
                }
                let mut link = FoundLink::new(LinkKind::Address, at, it.text, "");
                link.key = Some(key);
                self.links.push(link);
            }
        }
    }
}

/// Returns whether the value at this position has a quotation mark before it.
pub(super) fn is_quoted(value: &str, at: usize) -> bool {
    value.get(..at).is_some_and(|before| before.ends_with(['"', '\'']))
}

/// Returns the link to a target: `[[Name|label]]`, a URI, a path or a title.
pub(super) fn target_link(kind: LinkKind, at: usize, text: &str) -> Option<FoundLink> {
    let text = text.trim();
    let inside = text.strip_prefix("[[").and_then(|text| text.split("]]").next());
    let target = inside.map_or(text, |link| link.split('|').next().unwrap_or(link));
    let (target, fragment) = match (inside, target.split_once('#')) {
        (Some(_), Some((name, fragment))) => (name, fragment),
        _ => (target, ""),
    };
    let target = target.trim();
    if target.is_empty() && fragment.is_empty() {
        return None;
    }
    let mut link = FoundLink::new(kind, at, target, fragment.trim());
    link.key = uri_key(target).or_else(|| address_key(target));
    Some(link)
}

/// Returns the key of the URI of an item.
pub(super) fn uri_key(target: &str) -> Option<String> {
    let uri: vademecum_model::Uri = target.parse().ok()?;
    Some(format!("uri:{}", vademecum_model::Uri::item(uri.source, uri.id)))
}

/// Splits a value into its texts without quotes: one text, or those of a list in brackets. An unquoted
/// comma separates texts in a list only.
pub(super) fn split_values(value: &str) -> Vec<MatterValue<'_>> {
    let trimmed = value.trim();
    let offset = value.len() - value.trim_start().len();
    let list = trimmed.strip_prefix('[').filter(|_| !trimmed.starts_with("[["));
    let (inside, mut at, is_list) = match list {
        Some(inside) => (inside.strip_suffix(']').unwrap_or(inside), offset + 1, true),
        None => (trimmed, offset, false),
    };
    let mut values = Vec::new();
    let mut rest = inside;
    while !rest.trim().is_empty() {
        let blank = rest.len() - rest.trim_start().len();
        (rest, at) = (rest.trim_start(), at + blank);
        let quote = rest.chars().next().filter(|next| matches!(next, '"' | '\''));
        let (text, length, opening) = if let Some(mark) = quote {
            let inner = rest.get(1..).unwrap_or_default();
            let end = inner.find(mark).unwrap_or(inner.len());
            (inner.get(..end).unwrap_or_default(), (end + 2).min(rest.len()), 1)
        } else {
            let end = if is_list { list_item_end(rest) } else { rest.len() };
            (rest.get(..end).unwrap_or_default(), end, 0)
        };
        if !text.trim().is_empty() {
            values.push(MatterValue { at: at + opening, text: text.trim() });
        }
        (rest, at) = (rest.get(length..).unwrap_or_default(), at + length);
        if !is_list {
            break;
        }
        let comma = rest.len() - rest.trim_start_matches([',', ' ', '\t']).len();
        (rest, at) = (rest.get(comma..).unwrap_or_default(), at + comma);
    }
    values
}

/// Returns the length of an unquoted text in a list; a comma in `[[…]]` belongs to it.
fn list_item_end(text: &str) -> usize {
    let start = if text.starts_with("[[") { text.find("]]").unwrap_or(0) } else { 0 };
    text.get(start..).and_then(|rest| rest.find(',')).map_or(text.len(), |end| start + end)
}
