//! Graphs of Roam as JSON: pages with blocks in one another.

use std::collections::HashMap;

use serde_json::Value;
use vademecum_model::{NoteDraft, SourceName, Timestamp};

use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{list_at, parse_entry, split_entries, text_at},
        keywords::{distinct_keywords, inline_tags},
    },
};

/// Graphs of Roam.
#[derive(Debug)]
pub(crate) struct Roam;

impl Format for Roam {
    fn id(&self) -> &'static str {
        "roam"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "graphs of Roam (.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let has_time = ["create-time\"", "edit-time\"", "\":create/user\""];
        sample.head.starts_with('[')
            && sample.is_json_with(&["string", "children"])
            && has_time.iter().any(|name| sample.head.contains(name))
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let mut pages: Vec<Value> = Vec::new();
        for (number, json) in (1..).zip(split_entries(&text)?) {
            match parse_entry(json.get()) {
                Ok(page) => pages.push(page),
                Err(reason) => parsed.add_problem(format!("page {number}"), reason),
            }
        }
        let mut blocks = HashMap::new();
        for page in &pages {
            add_blocks(page, &mut blocks);
        }
        for page in &pages {
            add_page(&mut parsed, page, &blocks);
        }
        parsed.or_empty("it has no pages")
    }
}

/// Adds the texts of all blocks by their identifiers. The depth is bounded by the parser of JSON.
fn add_blocks<'v>(block: &'v Value, blocks: &mut HashMap<&'v str, &'v str>) {
    blocks.insert(text_at(block, "/uid"), text_at(block, "/string"));
    for child in list_at(block, "/children") {
        add_blocks(child, blocks);
    }
}

fn add_page(parsed: &mut ParsedFormat, page: &Value, blocks: &HashMap<&str, &str>) {
    let title = text_at(page, "/title");
    let mut text = String::new();
    let (mut created, mut modified) = (time(page, "create-time"), time(page, "edit-time"));
    for child in list_at(page, "/children") {
        push_block(child, 0, blocks, &mut text);
        extend_times(child, &mut created, &mut modified);
    }
    if text.trim().is_empty() {
        // Roam has a page for each word that was linked.
        return;
    }
    let id = Some(text_at(page, "/uid")).filter(|id| !id.is_empty()).unwrap_or(title);
    let tags = inline_tags(&text).into_iter().chain(bracketed_tags(&text));
    let draft = NoteDraft {
        title: title.to_owned(),
        tags: distinct_keywords(tags),
        content: text.trim_end().to_owned(),
        created_at: created,
        modified_at: modified.or(created),
        ..NoteDraft::default()
    };
    parsed.add_note(format!("roam:{id}"), draft, id);
}

fn time(block: &Value, field: &str) -> Option<Timestamp> {
    block
        .get(field)
        .or_else(|| block.get(format!(":{}", field.replace('-', "/"))))
        .and_then(datetime::parse_json)
}

/// Extends the times of a page by those of a block and of the blocks in it.
fn extend_times(block: &Value, created: &mut Option<Timestamp>, modified: &mut Option<Timestamp>) {
    if created.is_none() {
        *created = time(block, "create-time");
    }
    *modified = (*modified).max(time(block, "edit-time"));
    for child in list_at(block, "/children") {
        extend_times(child, created, modified);
    }
}

fn push_block(block: &Value, depth: usize, blocks: &HashMap<&str, &str>, text: &mut String) {
    let indent = "  ".repeat(depth);
    let string = resolve_blocks(text_at(block, "/string"), blocks);
    let string = string.replace("{{[[TODO]]}}", "[ ]").replace("{{[[DONE]]}}", "[x]");
    let string = string.replace("{{TODO}}", "[ ]").replace("{{DONE}}", "[x]");
    let level = block.get("heading").and_then(Value::as_u64).unwrap_or(0);
    let mark = "#".repeat(usize::try_from(level.min(6)).unwrap_or_default());
    let space = if mark.is_empty() { "" } else { " " };
    let lines = string.replace('\n', &format!("\n{indent}  "));
    text.extend([&indent, "- ", &mark, space, lines.trim_end(), "\n"]);
    for child in list_at(block, "/children") {
        push_block(child, depth + 1, blocks, text);
    }
}

/// Replaces references such as `((uid))` and `{{embed: ((uid))}}` by the text of their block. The
/// references in that text are kept, so that a circle ends.
fn resolve_blocks(string: &str, blocks: &HashMap<&str, &str>) -> String {
    let mut text = String::with_capacity(string.len());
    let mut rest = string;
    while let Some((before, after)) = rest.split_once("((") {
        let found = after.split_once("))");
        let block = found
            .and_then(|(id, after)| Some((blocks.get(id).filter(|it| !it.is_empty())?, after)));
        let Some((block, after)) = block else {
            text.extend([before, "(("]);
            rest = after;
            continue;
        };
        let embed =
            ["{{[[embed]]: ", "{{embed: "].iter().find_map(|mark| before.strip_suffix(mark));
        text.extend([embed.unwrap_or(before), block]);
        rest = if embed.is_some() { after.strip_prefix("}}").unwrap_or(after) } else { after };
    }
    text + rest
}

/// Returns the tags such as `#[[two words]]`.
fn bracketed_tags(text: &str) -> Vec<String> {
    let parts = text.split("#[[").skip(1).filter_map(|part| part.split_once("]]"));
    let tags = parts.map(|(tag, _)| tag.to_owned());
    tags.filter(|tag| !tag.is_empty() && !tag.contains(['\n', '['])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    const GRAPH: &str = r#"[{"title": "Rye/bread", "uid": "p1", "edit-time": 1767693600000, "children": [
        {"string": "See [[Oats]] #slow #[[two words]]", "uid": "b1", "create-time": 1767607200000,
         "heading": 2, "children": [
            {"string": "{{[[TODO]]}} knead\nwell", "uid": "b2", "edit-time": 1767780000000},
            {"string": "{{[[DONE]]}} wait: ((b2)), {{embed: ((b1))}} ((none))", "uid": "b3"}]}]},
        {"title": "Oats", "uid": "p2"},
        {"title": "January 5th, 2026", "children": [{"string": "Type:: note", "create-time": 1767607200000}]}]"#;

    #[test]
    fn page_keeps_blocks_references_tags_and_dates() {
        assert!(detects(&Roam, "/graph.json", GRAPH));
        let parsed = parse(&Roam, "/graph.json", GRAPH);
        let found = notes(&parsed);
        assert_eq!((found.len(), parsed.drafts[0].origin.as_str()), (2, "roam:p1"));
        assert_eq!(found[0].title, "Rye/bread");
        assert_eq!(
            found[0].content,
            "- ## See [[Oats]] #slow #[[two words]]\n  - [ ] knead\n    well\n\
             \u{20} - [x] wait: [ ] knead\n    well, See [[Oats]] #slow #[[two words]] ((none))"
        );
        assert_eq!(found[0].tags, ["slow", "two words"]);
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(found[0].modified_at.unwrap().to_string(), "2026-01-07T10:00:00.000Z");
        assert_eq!(parsed.drafts[1].origin, "roam:January 5th, 2026");
    }

    #[test]
    fn broken_page_is_reported_others_kept() {
        let deep = format!("{}{}", r#"{"children": ["#.repeat(100), "]}".repeat(100));
        let graph =
            format!(r#"[{deep}, {{"title": "A", "children": [{{"string": "((a", "uid": "a"}}]}}]"#);
        let parsed = parse(&Roam, "/a.json", &graph);
        assert_eq!((parsed.drafts.len(), parsed.problems.len()), (1, 1));
        assert!(try_parse(&Roam, "/a.json", "[]").is_err());
        assert!(!detects(&Roam, "/a.json", r#"{"string": 1, "children": []}"#));
    }
}
