//! Edits of client settings in YAML, line by line: the lines of an entry are inserted or removed, and
//! the result is parsed and compared with what was intended before it is used. What cannot be edited
//! this way is refused.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{entry::ServerEntry, layout::DocumentError};

/// Indentation of an entry, if the section has none yet.
const INDENTATION: usize = 2;

/// Returns the name of each entry and the entry.
pub(super) fn entries(
    text: &str,
    section: &str,
) -> Result<Vec<(String, ServerEntry)>, DocumentError> {
    let settings = parse(text)?;
    let entries = section_of(&settings, section)?.into_iter().flatten();
    let entries = entries.map(|(name, entry)| {
        let fields = entry.as_object().into_iter().flatten();
        let fields = fields.map(|(key, value)| (key.clone(), value.clone()));
        (name.clone(), ServerEntry { fields: fields.collect() })
    });
    Ok(entries.collect())
}

/// Returns the text with this entry.
pub(super) fn upsert_entry(
    text: &str,
    section: &str,
    name: &str,
    entry: &ServerEntry,
) -> Result<String, DocumentError> {
    let mut expected = parse(text)?;
    let present = section_of(&expected, section)?.and_then(|entries| entries.get(name)).cloned();
    let mut fields = match present {
        Some(Value::Object(fields)) => fields,
        Some(_) | None => Map::new(),
    };
    let before = fields.clone();
    fields.retain(|key, _| !entry.conflicting_fields().contains(&key.as_str()));
    fields.extend(entry.fields.iter().cloned());
    if before == fields {
        return Ok(text.to_owned());
    }
    let text = remove_lines(text, section, name);
    // Sorted, as a parsed entry is, so that the text does not depend on the order of the fields.
    let changed = insert_lines(&text, section, name, &fields);
    entries_of(&mut expected, section)?.insert(name.to_owned(), Value::Object(fields));
    checked(changed, &expected, section)
}

/// Returns the text without the entry of that name.
pub(super) fn remove_entry(text: &str, section: &str, name: &str) -> Result<String, DocumentError> {
    let mut expected = parse(text)?;
    if section_of(&expected, section)?.is_none_or(|entries| !entries.contains_key(name)) {
        return Ok(text.to_owned());
    }
    entries_of(&mut expected, section)?.remove(name);
    let changed = remove_lines(text, section, name);
    checked(changed, &expected, section)
}

fn parse(text: &str) -> Result<Map<String, Value>, DocumentError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Map::new());
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location();
        let number = |it: Option<u64>| it.and_then(|it| usize::try_from(it).ok()).unwrap_or(1);
        let message = error.to_string();
        DocumentError::Syntax {
            line: number(place.map(|place| place.line())),
            column: number(place.map(|place| place.column())),
            what: message.lines().next().unwrap_or_default().to_owned(),
        }
    })
}

/// Returns the entries of a section, or `None` if it is missing or empty.
fn section_of<'a>(
    settings: &'a Map<String, Value>,
    section: &str,
) -> Result<Option<&'a Map<String, Value>>, DocumentError> {
    match settings.get(section) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(entries)) => Ok(Some(entries)),
        Some(_) => Err(DocumentError::not_a_table(section)),
    }
}

/// Returns the entries of a section, which is created if it is missing.
fn entries_of<'a>(
    settings: &'a mut Map<String, Value>,
    section: &str,
) -> Result<&'a mut Map<String, Value>, DocumentError> {
    let value = settings.entry(section).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().ok_or_else(|| DocumentError::not_a_table(section))
}

/// Returns `text` if it says what is expected. An empty section may also be missing.
fn checked(
    text: String,
    expected: &Map<String, Value>,
    section: &str,
) -> Result<String, DocumentError> {
    let Ok(mut found) = parse(&text) else { return Err(unknown_style(section)) };
    if expected.get(section) == Some(&Value::Object(Map::new())) {
        entries_of(&mut found, section)?;
    }
    if found == *expected { Ok(text) } else { Err(unknown_style(section)) }
}

fn unknown_style(section: &str) -> DocumentError {
    DocumentError::WrongStructure(format!(
        "`{section}` is written in a way that cannot be edited safely; write it as one entry per \
         line, without braces, anchors or tags"
    ))
}

fn insert_lines(text: &str, section: &str, name: &str, fields: &Map<String, Value>) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let header = lines.iter().position(|line| key_of(line) == Some((0, section)));
    let (mut before, after, mut indentation) = match header {
        None => (text.to_owned(), String::new(), INDENTATION),
        Some(header) => {
            let section = lines_of(&lines, header);
            let mut children = lines[section].iter().skip(1).filter_map(|line| key_of(line));
            let indentation = children.next().map_or(INDENTATION, |(indentation, _)| indentation);
            (lines[..=header].concat(), lines[header + 1..].concat(), indentation)
        }
    };
    if !before.is_empty() && !before.ends_with('\n') {
        before.push_str(newline);
    }
    if header.is_none() {
        before.extend([section, ":", newline]);
    } else if let Some(head) = before.trim_end().strip_suffix("{}") {
        before = format!("{}{newline}", head.trim_end());
        indentation = INDENTATION;
    }
    let margin = " ".repeat(indentation);
    before.extend([&margin, name, ":", newline]);
    for (key, value) in fields {
        // JSON is valid YAML.
        before.extend([&margin, &margin, key, ": ", &value.to_string(), newline]);
    }
    before + &after
}

/// Returns the text without the lines of an entry, if there is one.
fn remove_lines(text: &str, section: &str, name: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(header) = lines.iter().position(|line| key_of(line) == Some((0, section))) else {
        return text.to_owned();
    };
    let section = lines_of(&lines, header);
    let mut children = section.skip(1).filter_map(|at| Some((at, key_of(lines[at])?)));
    let indentation = children.clone().next().map(|(_, (indentation, _))| indentation);
    let entry = children.find(|(_, (margin, key))| Some(*margin) == indentation && *key == name);
    let Some((at, _)) = entry else { return text.to_owned() };
    let entry = lines_of(&lines, at);
    lines[..entry.start].concat() + &lines[entry.end..].concat()
}

/// Returns the lines of the value whose key is on line `at`, without empty lines and comments after
/// it.
fn lines_of(lines: &[&str], at: usize) -> Range<usize> {
    let margin = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let outer = margin(lines[at]);
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let mut end = at + 1;
    for (number, line) in lines.iter().enumerate().skip(at + 1) {
        if is_blank(line) {
            continue;
        }
        if margin(line) <= outer {
            break;
        }
        end = number + 1;
    }
    at..end
}

/// Returns the indentation and the key of a line that begins with one.
fn key_of(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(' ');
    let (key, value) = rest.split_once(':')?;
    let is_end = value.is_empty() || value.starts_with(char::is_whitespace);
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && !key.starts_with(['#', '-', '[', '{', '&', '*', '!']);
    (is_end && is_key).then_some((line.len() - rest.len(), key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECTION: &str = "extensions";

    fn entry() -> ServerEntry {
        ServerEntry::from_fields([
            ("enabled", json!(true)),
            ("cmd", json!("/bin/vademecum")),
            ("args", json!(["mcp", "--data", "/it's: \"here\" #1"])),
        ])
    }

    fn upsert(text: &str) -> String {
        upsert_entry(text, SECTION, "vademecum", &entry()).unwrap_or_else(|it| panic!("{it}"))
    }

    #[test]
    fn entry_is_added_once_and_removed_alone() {
        for before in [
            "",
            "# mine\n",
            "GOOSE_MODEL: x # why\n",
            "a: 1\r\nextensions:\r\n    git:\r\n        cmd: git\r\nz: 2\r\n",
            "extensions:\n  # first\n  git: {cmd: git}\n\n# last\nz: |\n  extensions:\n    no: 1\n",
            "extensions:\n  git:\n    cmd: git",
            "\"extensions\":\n  other: {}\n",
        ] {
            let once = upsert(before);
            assert_eq!(upsert(&once), once);
            let names: Vec<String> =
                entries(&once, SECTION).unwrap().into_iter().map(|(name, _)| name).collect();
            assert!(names.contains(&"vademecum".to_owned()), "{once}");
            // Every line of before is kept, in its order.
            let mut lines = once.lines();
            assert!(before.lines().all(|line| lines.any(|it| it == line)), "{before}\n{once}");
            assert_eq!(once.contains("\r\n"), before.contains("\r\n"));
            // A parsed entry gives the same text, so that a backup is recognised.
            let parsed = entries(&once, SECTION).unwrap().into_iter();
            let mut parsed = parsed.filter(|(name, _)| name == "vademecum").map(|(_, entry)| entry);
            let again = upsert_entry(before, SECTION, "vademecum", &parsed.next_back().unwrap());
            assert_eq!(again.as_deref(), Ok(once.as_str()));
            let removed = remove_entry(&once, SECTION, "vademecum").unwrap();
            let rest = removed.replace("extensions:\n", "");
            assert_eq!(rest.trim_end(), before.replace("extensions:\n", "").trim_end());
        }
    }

    #[test]
    fn changed_entry_keeps_other_fields() {
        let text = upsert("extensions:\n  git:\n    cmd: git\n")
            .replace("    enabled: true\n", "    enabled: true\n    timeout: 7\n");
        let http = ServerEntry::from_fields([("uri", json!("http://a/mcp"))]);
        let changed = upsert_entry(&text, SECTION, "vademecum", &http).unwrap();
        let expected = json!({ "extensions": {
            "git": { "cmd": "git" },
            "vademecum": { "enabled": true, "timeout": 7, "uri": "http://a/mcp" },
        }});
        assert_eq!(Value::Object(parse(&changed).unwrap()), expected);
    }

    #[test]
    fn empty_section_in_braces_gets_the_entry() {
        let changed = upsert("extensions: {}\nz: 1\n");
        assert!(changed.starts_with("extensions:\n  vademecum:\n"), "{changed}");
        assert_eq!(parse(&changed).unwrap()["z"], 1);
    }

    #[test]
    fn text_that_cannot_be_edited_is_refused() {
        for text in [
            "extensions: [a]\n",
            "extensions: 7\n",
            "extensions: {git: {cmd: git}}\n",
            "extensions: &all\n  git: {cmd: git}\nother: *all\n",
            "- a\n",
            "{extensions: {}}\n",
        ] {
            let refused = upsert_entry(text, SECTION, "vademecum", &entry());
            assert!(refused.is_err(), "{text}{refused:?}");
        }
        match upsert_entry("a: 1\nb: [\nc: 2\n", SECTION, "vademecum", &entry()) {
            Err(DocumentError::Syntax { line, .. }) => assert!(line >= 2, "{line}"),
            other => panic!("{other:?}"),
        }
    }
}
