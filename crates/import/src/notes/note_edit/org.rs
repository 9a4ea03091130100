//! Title and tags of Org files: `#+title:`, `#+filetags:` and the first headline.

use super::{TagEdit, replace_range, tag_edit::line_end};
use crate::notes::org::{parse_headline, parse_keyword, split_tags};

/// Sets the title: in the keyword if there is one, else in the first headline if the text begins
/// with one, else in a new keyword.
pub(super) fn set_title(text: &str, title: &str) -> String {
    let title = title.replace(['\n', '\r'], " ");
    if let Some((range, line)) = find_keyword(text, "title") {
        let colon = line.find(':').map_or(line.len(), |at| at + 1);
        return replace_range(text, range, &format!("{} {title}", &line[..colon]));
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        if let Some((heading, _)) = parse_headline(bare) {
            let begin = at + bare.rfind(heading).unwrap_or(bare.len());
            return replace_range(text, begin..begin + heading.len(), &title);
        }
        // A property drawer and keywords may precede the headline.
        let trimmed = bare.trim();
        if !(trimmed.is_empty() || trimmed.starts_with([':']) || trimmed.starts_with("#+")) {
            break;
        }
        at += line.len();
    }
    add_line(text, &format!("#+title: {title}"))
}

/// Changes the tags of the whole file. Tags of headlines stay.
pub(super) fn edit_tags(text: &str, edit: &TagEdit<'_>) -> String {
    let found = find_keyword(text, "filetags");
    let value = found.as_ref().and_then(|(_, line)| line.split_once(':')).map(|(_, value)| value);
    let before: Vec<String> = value.into_iter().flat_map(split_tags).collect();
    let Some(mut tags) = edit.apply(&before) else { return text.to_owned() };
    // Org has no tags with white space or colons.
    tags.retain(|tag| !tag.contains([':', ' ', '\t', '\n']));
    if tags == before {
        return text.to_owned();
    }
    let list = format!(" :{}:", tags.join(":"));
    match found {
        Some((range, line)) if tags.is_empty() => {
            let rest = text.get(range.start + line.len()..).unwrap_or_default();
            let end = rest.find('\n').map_or(text.len(), |end| range.end + end + 1);
            replace_range(text, range.start..end, "")
        }
        Some((range, line)) => {
            let colon = line.find(':').map_or(line.len(), |at| at + 1);
            replace_range(text, range, &format!("{}{list}", &line[..colon]))
        }
        None => add_line(text, &format!("#+filetags:{list}")),
    }
}

/// Returns the position and the text of the line with a keyword, without its end.
fn find_keyword<'t>(text: &'t str, name: &str) -> Option<(std::ops::Range<usize>, &'t str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        match parse_keyword(bare) {
            Some((keyword, _)) if keyword == name => return Some((at..at + bare.len(), bare)),
            Some((keyword, _)) if keyword.starts_with("begin_") => return None,
            Some(_) | None => at += line.len(),
        }
    }
    None
}

/// Adds a keyword at the beginning, after a property drawer of the whole file.
fn add_line(text: &str, new: &str) -> String {
    let mut at = 0;
    if text.trim_start().to_uppercase().starts_with(":PROPERTIES:") {
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            if line.trim().eq_ignore_ascii_case(":END:") {
                at = if line.ends_with('\n') { end } else { 0 };
                break;
            }
        }
    }
    replace_range(text, at..at, &[new, line_end(text)].concat())
}
