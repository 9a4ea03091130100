//! Texts and times in files of agents.

use serde_json::Value;
use vademecum_model::Timestamp;

/// Maximum number of lines of a tool's output that are kept at its beginning, and at its end.
const KEPT_LINES: usize = 20;
/// Maximum number of characters of a tool's output that are kept at its beginning, and at its end.
const KEPT_CHARS: usize = 2_000;

/// Returns the time in a field: text, or a number of seconds or milliseconds.
pub(crate) fn time(value: Option<&Value>) -> Option<Timestamp> {
    match value? {
        Value::String(text) => Timestamp::parse(text).ok(),
        Value::Number(number) => {
            let number = number.as_f64()?;
            // 10^11 seconds are in the year 5138. The fraction of a millisecond is cut off, so that a
            // tenth of one keeps the number from being rounded down.
            let seconds = if number.abs() >= 1e11 { (number + 0.1) / 1_000.0 } else { number };
            Timestamp::from_unix_seconds(seconds)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the text of a field unless it is blank.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Returns the text at a path of fields unless it is blank.
pub(crate) fn text_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    let (key, folders) = path.split_last()?;
    text(folders.iter().try_fold(value, |value, key| value.get(*key))?, key)
}

/// Returns the items of a list; none for anything else.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the texts of content: a text, or parts with `text`. Parts of other types have none.
pub(crate) fn content_texts(content: &Value) -> Vec<&str> {
    const TEXT_TYPES: [&str; 4] = ["text", "input_text", "output_text", "Text"];
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts
            .iter()
            .filter(|part| {
                part.get("type")
                    .and_then(Value::as_str)
                    .is_none_or(|kind| TEXT_TYPES.contains(&kind))
            })
            .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
            .collect(),
        Value::Object(_) => content.get("text").and_then(Value::as_str).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Returns the text of a tool's output: a text, parts, or an object with one of the usual fields.
pub(crate) fn output_text(output: &Value) -> String {
    const FIELDS: [&str; 6] = ["output", "content", "stdout", "text", "result", "error"];
    match output {
        Value::Object(fields) if !fields.contains_key("type") => {
            let found = FIELDS.iter().find_map(|field| fields.get(*field));
            found.map(output_text).unwrap_or_default()
        }
        other => content_texts(other).join("\n"),
    }
}

/// Removes blocks `<tag …>…</tag>` with one of these tags from the beginning of a text. A block that
/// is not closed is the whole text.
pub(crate) fn cut_leading_blocks<'a>(text: &'a str, tags: &[&str]) -> &'a str {
    let mut rest = text.trim_start();
    loop {
        let block = tags.iter().find(|tag| {
            let after = rest.strip_prefix('<').and_then(|rest| rest.strip_prefix(**tag));
            after.is_some_and(|after| after.starts_with(['>', ' ', '\n', '\t']))
        });
        let Some(tag) = block else { return rest };
        let end = format!("</{tag}>");
        rest = rest.split_once(end.as_str()).map_or("", |(_, after)| after.trim_start());
    }
}

/// Removes all blocks `<tag>…</tag>` from a text. A block that is not closed reaches to its end.
pub(crate) fn cut_blocks(text: &str, tag: &str) -> String {
    let (start, end) = (format!("<{tag}>"), format!("</{tag}>"));
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(start.as_str()) {
        kept.push_str(before);
        rest = after.split_once(end.as_str()).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// Returns the content of the first block `<tag>…</tag>`.
pub(crate) fn block_content<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(format!("<{tag}>").as_str())?;
    Some(after.split_once(format!("</{tag}>").as_str())?.0)
}

/// Shortens the output of a tool to its first and last lines.
pub(crate) fn shorten(output: &str) -> String {
    let count = output.lines().count();
    if count <= 2 * KEPT_LINES && output.len() <= 2 * KEPT_CHARS {
        return output.to_owned();
    }
    let first: Vec<&str> = output.lines().take(KEPT_LINES).collect();
    let skipped = count.saturating_sub(KEPT_LINES).max(KEPT_LINES);
    let last: Vec<&str> = output.lines().skip(skipped).collect();
    let (first, last) = (first.join("\n"), last.join("\n"));
    let first: String = first.chars().take(KEPT_CHARS).collect();
    let from = last.chars().count().saturating_sub(KEPT_CHARS);
    let last: String = last.chars().skip(from).collect();
    if last.is_empty() { format!("{first}\n[…]") } else { format!("{first}\n[…]\n{last}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leading_blocks_are_cut_and_prompts_kept() {
        let cut = |text| cut_leading_blocks(text, &["note", "ide"]);
        assert_eq!(cut("<note a=1>x</note>\n<ide>y</ide> Prompt <note>"), "Prompt <note>");
        assert_eq!(cut("<note>never closed"), "");
        assert_eq!(cut("<notes>Prompt"), "<notes>Prompt");
        assert_eq!(cut_blocks("a<x>b</x>c<x>d", "x"), "ac");
        assert_eq!(block_content("a<x>b</x>c", "x"), Some("b"));
    }

    #[test]
    fn long_output_keeps_beginning_and_end() {
        let long: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
        let short = shorten(&long.join("\n"));
        assert!(short.starts_with("line 0\n") && short.ends_with("line 99"), "{short}");
        assert!(short.contains("line 19\n[…]\nline 20\n") || short.contains("[…]"), "{short}");
        let one = shorten(&"x".repeat(100_000));
        assert!(one.len() < 5_000, "{}", one.len());
        assert_eq!(shorten("a\nb"), "a\nb");
    }

    #[test]
    fn times_are_text_seconds_or_milliseconds() {
        let expected = Timestamp::parse("2026-07-17T09:00:01Z").ok();
        for value in
            [json!("2026-07-17T09:00:01Z"), json!(1_784_278_801), json!(1_784_278_801_000_u64)]
        {
            let found = time(Some(&value)).unwrap().to_string();
            assert_eq!(found, expected.unwrap().to_string(), "{value}");
        }
        let odd = time(Some(&json!(1_795_682_072_237_u64))).unwrap().to_string();
        assert_eq!(odd, "2026-11-26T08:34:32.237Z");
        assert_eq!(time(Some(&json!(true))), None);
    }
}
