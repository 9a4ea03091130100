//! Prompt lists as JSON: a list of objects, an object of prompts by name, or
//! one object a line.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};
use vademecum_kit::model::{PromptDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, json,
    keywords::{between_commas, distinct},
    outline::Outline,
    prompt_list::{AUTHOR, DETAILS, KEYWORDS, NAME, PromptList, SYSTEM_PROMPT, USER_PROMPT},
};

/// What a text may be called where it is clear that it is a prompt's.
const CONTENT: [&str; 2] = ["content", "text"];

type Entries<'a> = BTreeMap<String, &'a RawValue>;

/// Reads prompts.
#[derive(Debug)]
pub(super) struct JsonPrompts;

impl Importer for JsonPrompts {
    fn source(&self) -> SourceName {
        SourceName::Prompts
    }

    fn format(&self) -> &'static str {
        "prompt lists (.json, .jsonl)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        if !glance.ends_in(&["json", "jsonl", "ndjson"]) {
            return Fit::No;
        }
        let outline = Outline::of(glance);
        let is_list = outline.is_list || !glance.ends_in(&["json"]);
        let says_so =
            outline.has(&NAME) && (outline.has(&USER_PROMPT) || outline.has(&SYSTEM_PROMPT));
        Fit::Content.when(is_list && says_so).max(Fit::Maybe)
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let mut prompts = PromptList::new(file);
        if file.ends_in(&["json"]) {
            whole(&text, &mut prompts)
                .map_err(|cause| ImportError::Json { path: file.path.clone(), cause })?;
        } else {
            for (number, line) in
                (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
            {
                prompts.add(&format!("line {number}"), prompt(line, None));
            }
        }
        let reading = prompts.finish();
        if reading.drafts.is_empty() && reading.problems.is_empty() {
            return Err(ImportError::Empty { path: file.path.clone() });
        }
        Ok(reading)
    }
}

/// Reads a file that is one list or one object; either may lie in `prompts`.
fn whole(json: &str, prompts: &mut PromptList<'_>) -> serde_json::Result<()> {
    if is_list(json) {
        return list(json, prompts);
    }
    let entries: Entries<'_> = serde_json::from_str(json)?;
    match entries.get("prompts").map(|inner| inner.get()) {
        Some(inner) if is_list(inner) => list(inner, prompts),
        Some(inner) if inner.starts_with('{') => object(inner, prompts),
        _ => object(json, prompts),
    }
}

fn is_list(json: &str) -> bool {
    json.trim_start().starts_with('[')
}

/// Reads an object that is one prompt, or has prompts by their names.
fn object(json: &str, prompts: &mut PromptList<'_>) -> serde_json::Result<()> {
    let entries: Entries<'_> = serde_json::from_str(json)?;
    let has = |names: &[&str]| names.iter().any(|name| entries.contains_key(*name));
    if has(&NAME) && (has(&USER_PROMPT) || has(&SYSTEM_PROMPT) || has(&CONTENT)) {
        prompts.add("the object", prompt(json, None));
        return Ok(());
    }
    for (name, value) in &entries {
        prompts.add(&format!("`{name}`"), prompt(value.get(), Some(name)));
    }
    Ok(())
}

fn list(json: &str, prompts: &mut PromptList<'_>) -> serde_json::Result<()> {
    let entries: Vec<&RawValue> = serde_json::from_str(json)?;
    for (number, entry) in (1..).zip(entries) {
        prompts.add(&format!("entry {number}"), prompt(entry.get(), None));
    }
    Ok(())
}

/// Reads one prompt: an object, or only its text if it has a `name` already.
fn prompt(json: &str, name: Option<&str>) -> Result<PromptDraft, String> {
    let value = serde_json::from_str(json)
        .map_err(|error| format!("not valid JSON: {}", json::reason(&error)))?;
    let known = name.map(|name| name.trim().to_owned());
    match (value, known) {
        (Value::Object(fields), known) => Ok(PromptDraft {
            name: text(&fields, &[&NAME]).or(known).unwrap_or_default(),
            author: text(&fields, &[&AUTHOR]),
            details: text(&fields, &[&DETAILS]),
            system_prompt: text(&fields, &[&SYSTEM_PROMPT, &["system"]]),
            user_prompt: text(&fields, &[&USER_PROMPT, &["user"], &CONTENT]),
            keywords: distinct(keywords(&fields)),
            modified_at: None,
        }),
        (Value::String(text), Some(name)) => {
            let user_prompt = Some(text).filter(|text| !text.trim().is_empty());
            Ok(PromptDraft { name, user_prompt, ..PromptDraft::default() })
        }
        _ => Err("it is no object with a name and a prompt".to_owned()),
    }
}

/// The first text under any of these names.
fn text(fields: &Map<String, Value>, names: &[&[&str]]) -> Option<String> {
    let texts = names.concat().into_iter().filter_map(|name| fields.get(name)?.as_str());
    let mut texts = texts.map(str::trim).filter(|text| !text.is_empty());
    texts.next().map(str::to_owned)
}

fn keywords(fields: &Map<String, Value>) -> Vec<String> {
    let texts = |value: &Value| match value {
        Value::String(text) => between_commas(text).collect(),
        Value::Array(values) => {
            let texts = values.iter().filter_map(Value::as_str);
            texts.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
        }
        _ => Vec::new(),
    };
    KEYWORDS.iter().filter_map(|name| fields.get(*name)).flat_map(texts).collect()
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::Body;

    use super::*;
    use crate::{Problem, glance::tests::glance};

    fn read(path: &str, text: &str) -> Result<(Vec<PromptDraft>, Vec<Problem>), String> {
        let file = SourceFile::example(path, text);
        let reading = JsonPrompts.read(&file).map_err(|error| error.to_string())?;
        let prompts = reading.drafts.into_iter().map(|draft| match draft.body {
            Body::Prompt(prompt) => prompt,
            other => panic!("not a prompt: {other:?}"),
        });
        Ok((prompts.collect(), reading.problems))
    }

    #[test]
    fn a_list_of_objects_is_read_under_each_name_a_field_may_have() {
        let json = r#"[
            {"name": "A", "prompt": "a", "tags": ["x", "X", " y "], "description": "d"},
            {"act": "B", "user_prompt": "b", "system_prompt": "s", "contributor": "ada"},
            {"title": "C", "content": "c", "keywords": "x, y"}]"#;
        let (prompts, problems) = read("/a.json", json).unwrap();
        assert!(problems.is_empty());
        let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["A", "B", "C"]);
        assert_eq!(
            (&prompts[0].keywords[..], &prompts[2].keywords[..]),
            (&["x".to_owned(), "y".to_owned()][..], &["x".to_owned(), "y".to_owned()][..])
        );
        assert_eq!(
            (prompts[0].details.as_deref(), prompts[1].author.as_deref()),
            (Some("d"), Some("ada"))
        );
        assert_eq!(prompts[1].system_prompt.as_deref(), Some("s"));
        assert_eq!(prompts[2].user_prompt.as_deref(), Some("c"));
    }

    #[test]
    fn an_object_holds_prompts_by_name_or_is_one() {
        let (prompts, problems) =
            read("/a.json", r#"{"B": {"system": "b"}, "A": "a", "C": 3}"#).unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!((names, problems[0].place.as_str()), (vec!["A", "B"], "`C`"));
        for one in [
            r#"{"name": "A", "prompt": "a"}"#,
            r#"{"version": 1, "prompts": [{"name": "A", "prompt": "a"}]}"#,
            r#"{"prompts": {"A": "a"}}"#,
        ] {
            let (prompts, problems) = read("/a.json", one).unwrap();
            assert_eq!((prompts.len(), problems.len(), prompts[0].name.as_str()), (1, 0, "A"));
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_costs_itself() {
        let lines = "{\"name\": \"A\", \"prompt\": \"a\"}\n\nnot json\n{\"name\": \"B\"}\n[1]\n";
        let (prompts, problems) = read("/a.jsonl", lines).unwrap();
        let places: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!((prompts.len(), places), (1, vec!["line 3", "line 4", "line 5"]));
        assert!(problems[1].reason.contains("`B` has no text"));
    }

    #[test]
    fn what_holds_no_prompt_is_told_why() {
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        let (prompts, problems) = read("/a.json", &deep).unwrap();
        assert!(prompts.is_empty() && problems[0].reason.contains("nests more than"));
        let nested = format!("{}{{}}{}", "{\"prompts\":".repeat(10_000), "}".repeat(10_000));
        assert_eq!(read("/a.json", &nested).unwrap().0.len(), 0);
        assert!(read("/a.json", "{ invalid").unwrap_err().contains("not valid JSON"));
        assert!(read("/a.json", "[]").unwrap_err().contains("holds no text"));
    }

    #[test]
    fn a_list_is_known_by_its_fields() {
        let fit = |name: &str, json: &str| JsonPrompts.recognise(&glance(name, json));
        assert_eq!(fit("a.json", r#"[{"act": "A", "prompt": "a"}]"#), Fit::Content);
        assert_eq!(fit("a.jsonl", r#"{"name": "A", "system_prompt": "a"}"#), Fit::Content);
        assert_eq!(fit("a.json", r#"{"A": "a"}"#), Fit::Maybe);
        assert_eq!(fit("a.jsonl", r#"{"prompt": "A", "completion": "a"}"#), Fit::Maybe);
        assert_eq!(fit("a.txt", r#"[{"act": "A", "prompt": "a"}]"#), Fit::No);
    }
}
