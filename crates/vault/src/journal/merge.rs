//! Three-way merges of the fields of an item.

use std::collections::{BTreeSet, HashMap};

use diffy::{ConflictStyle, MergeOptions};
use serde_json::{Map, Value};

use super::line_merge::merge_neighbouring_lines;

/// Length of the lines that mark conflicts. No text has such lines by chance.
const MARKER_CHARS: usize = 61;

/// Treatment of lines that both sides changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineMerge {
    /// Changes of neighbouring lines contradict each other.
    Apart,
    /// Changes of neighbouring lines are both applied.
    Neighbouring,
}

/// Merges two sets of changes to the same fields: those from `base` to `ours` and those from `base`
/// to `theirs`. Lists of texts are merged as sets, texts line by line. Returns the names of the
/// fields that both sides changed in different ways, if there are any.
pub(super) fn merge_fields(
    base: &Value,
    ours: &Value,
    theirs: &Value,
    lines: LineMerge,
) -> Result<Value, Vec<String>> {
    let (mut merged, mut conflicts) = (Map::new(), Vec::new());
    let nothing = Map::new();
    let fields = |value| Value::as_object(value).unwrap_or(&nothing);
    let names: BTreeSet<&String> = fields(ours).keys().chain(fields(theirs).keys()).collect();
    for name in names {
        let of = |value| fields(value).get(name).cloned().unwrap_or_default();
        match merge_values(&of(base), &of(ours), &of(theirs), lines) {
            Some(Value::Null) => {}
            Some(value) => {
                merged.insert(name.clone(), value);
            }
            None => conflicts.push(name.clone()),
        }
    }
    if conflicts.is_empty() { Ok(Value::Object(merged)) } else { Err(conflicts) }
}

fn merge_values(base: &Value, ours: &Value, theirs: &Value, lines: LineMerge) -> Option<Value> {
    if ours == theirs || theirs == base {
        return Some(ours.clone());
    }
    if ours == base {
        return Some(theirs.clone());
    }
    match (base, ours, theirs) {
        (Value::String(base), Value::String(ours), Value::String(theirs)) => {
            let merged = match lines {
                LineMerge::Apart => merge_lines(base, ours, theirs),
                LineMerge::Neighbouring => merge_neighbouring_lines(base, ours, theirs),
            };
            merged.map(Value::String)
        }
        (Value::Object(_), Value::Object(_), Value::Object(_)) => {
            merge_fields(base, ours, theirs, lines).ok()
        }
        (
            Value::Array(_) | Value::Null,
            Value::Array(_) | Value::Null,
            Value::Array(_) | Value::Null,
        ) => merge_sets(base, ours, theirs),
        _ => None,
    }
}

/// Merges texts line by line. Lines that one side added before or after lines that the other side
/// changed are kept, as are lines that both sides added at the same place, those of `theirs` first.
/// If one side has all changes of the other, it is the result: a file that was written from a note,
/// with properties added, is that note. `None` if both sides changed the same lines.
fn merge_lines(base: &str, ours: &str, theirs: &str) -> Option<String> {
    if has_all_changes(theirs, base, ours) {
        return Some(theirs.to_owned());
    }
    if has_all_changes(ours, base, theirs) {
        return Some(ours.to_owned());
    }
    // A last line without an end would differ from the same line before further ones.
    let end = |text: &str| [text, if text.ends_with('\n') { "" } else { "\n" }].concat();
    let mut options = MergeOptions::new();
    options.set_conflict_marker_length(MARKER_CHARS).set_conflict_style(ConflictStyle::Diff3);
    let mut merged = match options.merge(&end(base), &end(ours), &end(theirs)) {
        Ok(merged) => merged,
        Err(marked) => resolve_additions(&marked)?,
    };
    let [base, ours, theirs] = [base, ours, theirs].map(|text| text.ends_with('\n'));
    let has_end = if ours == base { theirs } else { ours };
    if !has_end {
        merged.pop();
    }
    Some(merged)
}

/// Returns whether `side` added lines to `base`, and a text has all lines of `side` in their order and
/// none that `side` removed. Without an added line, the text need not come from `side`: it may have
/// changed a line that `side` removed.
fn has_all_changes(text: &str, base: &str, side: &str) -> bool {
    let mut lines = text.lines();
    if !side.lines().all(|line| lines.any(|other| other == line)) {
        return false;
    }
    let [in_base, in_side, in_text] = [base, side, text].map(count_lines);
    let of = |counts: &HashMap<&str, usize>, line: &str| counts.get(line).copied().unwrap_or(0);
    let has_added = in_side.iter().any(|(line, count)| *count > of(&in_base, line));
    let removed = in_base.iter().filter(|(line, count)| of(&in_side, line) < **count);
    let mut removed = removed.map(|(line, _)| *line);
    has_added && removed.all(|line| of(&in_text, line) == of(&in_side, line))
}

fn count_lines(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for line in text.lines() {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Resolves the conflicts in a merged text in which one side only added lines. `None` if there are
/// others.
fn resolve_additions(marked: &str) -> Option<String> {
    let markers = ["<", "|", "=", ">"].map(|sign| sign.repeat(MARKER_CHARS));
    let mut text = String::new();
    // The lines of one conflict: ours, base, theirs.
    let mut sides: Option<(usize, [String; 3])> = None;
    for line in marked.split_inclusive('\n') {
        let marker = markers.iter().position(|marker| line.starts_with(marker.as_str()));
        sides = match (marker, sides) {
            (Some(0), None) => Some((0, Default::default())),
            (Some(3), Some((_, sides))) => {
                text.push_str(&merge_sides(&sides)?);
                None
            }
            (Some(next), Some((_, sides))) => Some((next, sides)),
            (_, Some((side, mut sides))) => {
                sides.get_mut(side)?.push_str(line);
                Some((side, sides))
            }
            (_, None) => {
                text.push_str(line);
                None
            }
        };
    }
    Some(text)
}

/// Merges the three versions of some lines if one side only added lines at their beginning or end.
fn merge_sides([ours, base, theirs]: &[String; 3]) -> Option<String> {
    if has_all_changes(theirs, base, ours) {
        return Some(theirs.clone());
    }
    if has_all_changes(ours, base, theirs) {
        return Some(ours.clone());
    }
    let added = |side: &str| {
        // The end of a changed line is no line of its own.
        let before = side.strip_suffix(base.as_str()).filter(|added| added.ends_with('\n'));
        let after = side.strip_prefix(base.as_str()).filter(|added| !added.is_empty());
        (before.map(str::to_owned), after.map(str::to_owned))
    };
    match (added(ours), added(theirs)) {
        ((_, Some(after)), _) => Some([theirs.as_str(), &after].concat()),
        ((Some(before), _), _) => Some([before.as_str(), theirs].concat()),
        (_, (_, Some(after))) => Some([ours.as_str(), &after].concat()),
        (_, (Some(before), _)) => Some([before.as_str(), ours].concat()),
        _ => None,
    }
}

/// Merges lists of texts: an entry that one side removed is removed, one that it added is added.
fn merge_sets(base: &Value, ours: &Value, theirs: &Value) -> Option<Value> {
    let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (base, ours, theirs) = (of(base), of(ours), of(theirs));
    if !base.iter().chain(&ours).chain(&theirs).all(Value::is_string) {
        return None;
    }
    let mut merged: Vec<Value> =
        ours.iter().filter(|tag| theirs.contains(tag) || !base.contains(tag)).cloned().collect();
    for tag in theirs {
        if !merged.contains(&tag) && !base.contains(&tag) {
            merged.push(tag);
        }
    }
    Some(Value::Array(merged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merge(base: &Value, ours: &Value, theirs: &Value) -> Result<Value, Vec<String>> {
        merge_fields(base, ours, theirs, LineMerge::Apart)
    }

    #[test]
    fn changes_of_different_lines_are_merged() {
        let of = |title: &str, content: &str, tags: [&str; 2]| json!({ "title": title, "content": content, "tags": tags });
        let base = of("A", "one\ntwo\nthree\nfour\n", ["x", "y"]);
        let ours = of("A", "one\ntwo\nthree\nfour\nfive\n", ["x", "z"]);
        let theirs = of("B", "zero\none\ntwo\nthree\nfour\n", ["y", "w"]);
        let merged = merge(&base, &ours, &theirs).unwrap();
        assert_eq!(merged, of("B", "zero\none\ntwo\nthree\nfour\nfive\n", ["z", "w"]));
    }

    #[test]
    fn additions_at_one_place_are_both_kept() {
        let merge = |base, ours, theirs| merge_lines(base, ours, theirs);
        assert_eq!(merge("a", "a\nours", "a\ntheirs").unwrap(), "a\ntheirs\nours");
        assert_eq!(merge("a\n", "a\nours\n", "a\ntheirs").unwrap(), "a\ntheirs\nours");
        assert_eq!(merge("a\nb\nc\n", "a\nb\nc\nx\n", "b\nc\ny\n").unwrap(), "b\nc\ny\nx\n");
        assert_eq!(merge("a\nb\n", "a\nx\ny\n", "a\nz\n"), None);
        assert_eq!(merge("a\nb", "a\nb\nours", "a\nB").unwrap(), "a\nB\nours");
        assert_eq!(merge("a\nb\n", "a\nb\nours", "A\nb\n").unwrap(), "A\nb\nours");
        assert_eq!(merge("a\nb", "a\nb\nours\n", "A\nb").unwrap(), "A\nb\nours\n");
        assert_eq!(merge("a\nb", "a\nB", "a\nb\ntheirs").unwrap(), "a\nB\ntheirs");
        assert_eq!(merge("a\nb", "first\na\nb", "A\nb").unwrap(), "first\nA\nb");
        assert_eq!(merge("a\nb\nc\n", "a\nours b\nc\n", "a\ntheir b\nc\n"), None);
        assert_eq!(merge("a\n", "a\nx\ny\n", "a\nx\n").unwrap(), "a\nx\ny\n");
        assert_eq!(merge("a\n", "a\nx\n", "a\nx\ny\n").unwrap(), "a\nx\ny\n");
    }

    #[test]
    fn text_with_all_changes_of_the_other_is_the_result() {
        let merge = |base, ours, theirs| merge_lines(base, ours, theirs);
        // A property was written into the note `ours` where `base` had one already.
        let base = "tags:\n- a\n- b\nx\n";
        let (ours, written) = ("tags:\n- a\nx\n- b\nx\n", "tags:\n- a\n- b\nx\n- b\nx\n");
        assert_eq!(merge(base, ours, written).unwrap(), written);
        assert_eq!(merge(base, written, ours).unwrap(), written);
        assert_eq!(merge("old\n", "new\n", "tag\nnew\n").unwrap(), "tag\nnew\n");
        // A removed line is not restored, and a change of it stays a conflict.
        assert_eq!(merge("a\nb\nc\n", "a\nc\nd\n", "a\nb\nc\nd\ne\n").unwrap(), "a\nc\nd\ne\n");
        assert_eq!(merge("a\nb\nc\n", "a\nc\n", "a\nB\nc\n"), None);
    }

    #[test]
    fn changes_of_one_line_conflict() {
        let of = |content: &str| json!({ "content": content, "title": "A" });
        let conflict = merge(&of("one\n"), &of("two\n"), &of("three\n"));
        assert_eq!(conflict, Err(vec!["content".to_owned()]));
        assert_eq!(merge(&of("one\n"), &of("two\n"), &of("two\n")), Ok(of("two\n")));
    }

    #[test]
    fn missing_fields_are_removed_fields() {
        let (with, without) = (json!({ "url": "x", "tags": ["a"] }), json!({}));
        assert_eq!(merge(&with, &with, &without), Ok(json!({})));
        assert_eq!(merge(&with, &without, &with), Ok(json!({})));
        assert_eq!(merge(&without, &with, &without), Ok(with));
    }
}
