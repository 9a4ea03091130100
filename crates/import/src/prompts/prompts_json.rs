//! Prompt lists in JSON: a list of objects, an object of prompts by name, or one object per line.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};
use vademecum_model::{PromptDraft, SourceName};

use super::prompt_collector::{
    AUTHOR_KEYS, DETAILS_KEYS, KEYWORDS_KEYS, NAME_KEYS, PromptCollector, SYSTEM_PROMPT_KEYS,
    USER_PROMPT_KEYS,
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    detection::json_shape::JsonShape,
    text::{
        json,
        keywords::{distinct_keywords, split_commas},
    },
};

/// Additional names of the text, accepted where an object is known to be a prompt.
const CONTENT_KEYS: [&str; 2] = ["content", "text"];

type PromptEntries<'a> = BTreeMap<String, &'a RawValue>;

/// Importer of prompt lists in JSON.
#[derive(Debug)]
pub(crate) struct JsonPromptImporter;

impl Importer for JsonPromptImporter {
    fn source(&self) -> SourceName {
        SourceName::Prompts
    }

    fn format_name(&self) -> &'static str {
        "prompt lists (.json, .jsonl)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        if !probe.has_extension(&["json", "jsonl", "ndjson"]) {
            return Confidence::NoMatch;
        }
        let outline = JsonShape::probe(probe);
        let is_list = outline.is_list || !probe.has_extension(&["json"]);
        let says_so = outline.has_any_field(&NAME_KEYS)
            && (outline.has_any_field(&USER_PROMPT_KEYS)
                || outline.has_any_field(&SYSTEM_PROMPT_KEYS));
        Confidence::ByContent.when(is_list && says_so).max(Confidence::Possible)
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let mut prompts = PromptCollector::new(file);
        if file.has_extension(&["json"]) {
            add_file(&text, &mut prompts)
                .map_err(|cause| ImportError::Json { path: file.path.clone(), cause })?;
        } else {
            for (number, line) in
                (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
            {
                prompts.add_prompt(&format!("line {number}"), parse_prompt(line, None));
            }
        }
        let reading = prompts.finish();
        if reading.drafts.is_empty() && reading.problems.is_empty() {
            return Err(ImportError::NoText { path: file.path.clone() });
        }
        Ok(reading)
    }
}

/// Adds the prompts of a file that is one list or one object. Either may be nested in a field
/// `prompts`.
fn add_file(json: &str, prompts: &mut PromptCollector<'_>) -> serde_json::Result<()> {
    if is_json_list(json) {
        return add_list(json, prompts);
    }
    let entries: PromptEntries<'_> = serde_json::from_str(json)?;
    match entries.get("prompts").map(|inner| inner.get()) {
        Some(inner) if is_json_list(inner) => add_list(inner, prompts),
        Some(inner) if inner.starts_with('{') => add_object(inner, prompts),
        _ => add_object(json, prompts),
    }
}

fn is_json_list(json: &str) -> bool {
    json.trim_start().starts_with('[')
}

/// Adds an object that is one prompt, or contains prompts by name.
fn add_object(json: &str, prompts: &mut PromptCollector<'_>) -> serde_json::Result<()> {
    let entries: PromptEntries<'_> = serde_json::from_str(json)?;
    let has = |names: &[&str]| names.iter().any(|name| entries.contains_key(*name));
    if has(&NAME_KEYS) && (has(&USER_PROMPT_KEYS) || has(&SYSTEM_PROMPT_KEYS) || has(&CONTENT_KEYS))
    {
        prompts.add_prompt("the object", parse_prompt(json, None));
        return Ok(());
    }
    for (name, value) in &entries {
        prompts.add_prompt(&format!("`{name}`"), parse_prompt(value.get(), Some(name)));
    }
    Ok(())
}

fn add_list(json: &str, prompts: &mut PromptCollector<'_>) -> serde_json::Result<()> {
    let entries: Vec<&RawValue> = serde_json::from_str(json)?;
    for (number, entry) in (1..).zip(entries) {
        prompts.add_prompt(&format!("entry {number}"), parse_prompt(entry.get(), None));
    }
    Ok(())
}

/// Parses one prompt: an object, or only a text if `name` is given.
fn parse_prompt(json: &str, name: Option<&str>) -> Result<PromptDraft, String> {
    let value = serde_json::from_str(json)
        .map_err(|error| format!("not valid JSON: {}", json::error_message(&error)))?;
    let known = name.map(|name| name.trim().to_owned());
    match (value, known) {
        (Value::Object(fields), known) => Ok(PromptDraft {
            name: first_text(&fields, &[&NAME_KEYS]).or(known).unwrap_or_default(),
            author: first_text(&fields, &[&AUTHOR_KEYS]),
            details: first_text(&fields, &[&DETAILS_KEYS]),
            system_prompt: first_text(&fields, &[&SYSTEM_PROMPT_KEYS, &["system"]]),
            user_prompt: first_text(&fields, &[&USER_PROMPT_KEYS, &["user"], &CONTENT_KEYS]),
            keywords: distinct_keywords(parse_keywords(&fields)),
            modified_at: None,
        }),
        (Value::String(text), Some(name)) => {
            let user_prompt = Some(text).filter(|text| !text.trim().is_empty());
            Ok(PromptDraft { name, user_prompt, ..PromptDraft::default() })
        }
        _ => Err("it is not an object with a name and a prompt".to_owned()),
    }
}

/// Returns the first text in any of these fields.
fn first_text(fields: &Map<String, Value>, names: &[&[&str]]) -> Option<String> {
    let texts = names.concat().into_iter().filter_map(|name| fields.get(name)?.as_str());
    let mut texts = texts.map(str::trim).filter(|text| !text.is_empty());
    texts.next().map(str::to_owned)
}

fn parse_keywords(fields: &Map<String, Value>) -> Vec<String> {
    let texts = |value: &Value| match value {
        Value::String(text) => split_commas(text).collect(),
        Value::Array(values) => {
            let texts = values.iter().filter_map(Value::as_str);
            texts.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
        }
        _ => Vec::new(),
    };
    KEYWORDS_KEYS.iter().filter_map(|name| fields.get(*name)).flat_map(texts).collect()
}

#[cfg(test)]
mod tests {
    use vademecum_model::DraftBody;

    use super::*;
    use crate::{Problem, detection::file_probe::tests::probe_file};

    fn read_prompts(path: &str, text: &str) -> Result<(Vec<PromptDraft>, Vec<Problem>), String> {
        let file = SourceFile::in_memory(path, text);
        let reading = JsonPromptImporter.parse(&file).map_err(|error| error.to_string())?;
        let prompts = reading.drafts.into_iter().map(|draft| match draft.body {
            DraftBody::Prompt(prompt) => prompt,
            other => panic!("not a prompt: {other:?}"),
        });
        Ok((prompts.collect(), reading.problems))
    }

    #[test]
    fn list_is_read_under_all_field_names() {
        let json = r#"[
            {"name": "A", "prompt": "a", "tags": ["x", "X", " y "], "description": "d"},
            {"act": "B", "user_prompt": "b", "system_prompt": "s", "contributor": "ada"},
            {"title": "C", "content": "c", "keywords": "x, y"}]"#;
        let (prompts, problems) = read_prompts("/a.json", json).unwrap();
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
    fn object_contains_prompts_by_name_or_is_one() {
        let (prompts, problems) =
            read_prompts("/a.json", r#"{"B": {"system": "b"}, "A": "a", "C": 3}"#).unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!((names, problems[0].place.as_str()), (vec!["A", "B"], "`C`"));
        for one in [
            r#"{"name": "A", "prompt": "a"}"#,
            r#"{"version": 1, "prompts": [{"name": "A", "prompt": "a"}]}"#,
            r#"{"prompts": {"A": "a"}}"#,
        ] {
            let (prompts, problems) = read_prompts("/a.json", one).unwrap();
            assert_eq!((prompts.len(), problems.len(), prompts[0].name.as_str()), (1, 0, "A"));
        }
    }

    #[test]
    fn unreadable_line_is_reported_others_kept() {
        let lines = "{\"name\": \"A\", \"prompt\": \"a\"}\n\nnot json\n{\"name\": \"B\"}\n[1]\n";
        let (prompts, problems) = read_prompts("/a.jsonl", lines).unwrap();
        let found: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!((prompts.len(), found), (1, vec!["line 3", "line 4", "line 5"]));
        assert!(problems[1].reason.contains("`B` has no text"));
    }

    #[test]
    fn file_without_prompts_is_rejected_with_reason() {
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        let (prompts, problems) = read_prompts("/a.json", &deep).unwrap();
        assert!(prompts.is_empty() && problems[0].reason.contains("nests more than"));
        let nested = format!("{}{{}}{}", "{\"prompts\":".repeat(10_000), "}".repeat(10_000));
        assert_eq!(read_prompts("/a.json", &nested).unwrap().0.len(), 0);
        assert!(read_prompts("/a.json", "{ invalid").unwrap_err().contains("not valid JSON"));
        assert!(read_prompts("/a.json", "[]").unwrap_err().contains("holds no text"));
    }

    #[test]
    fn list_is_detected_by_fields() {
        let fit = |name: &str, json: &str| JsonPromptImporter.detect(&probe_file(name, json));
        assert_eq!(fit("a.json", r#"[{"act": "A", "prompt": "a"}]"#), Confidence::ByContent);
        assert_eq!(fit("a.jsonl", r#"{"name": "A", "system_prompt": "a"}"#), Confidence::ByContent);
        assert_eq!(fit("a.json", r#"{"A": "a"}"#), Confidence::Possible);
        assert_eq!(fit("a.jsonl", r#"{"prompt": "A", "completion": "a"}"#), Confidence::Possible);
        assert_eq!(fit("a.txt", r#"[{"act": "A", "prompt": "a"}]"#), Confidence::NoMatch);
    }
}
