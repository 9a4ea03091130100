//! Edits of client settings in TOML.

use serde_json::{Map, Value};
use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike};

use super::{entry::ServerEntry, layout::DocumentError};

/// Returns the name of each entry and the entry.
pub(super) fn entries(
    text: &str,
    section: &str,
) -> Result<Vec<(String, ServerEntry)>, DocumentError> {
    let settings = parse_document(text)?;
    let Some(servers) = server_table(&settings, section)? else { return Ok(Vec::new()) };
    let entries = servers.iter().map(|(name, entry)| {
        let fields = entry.as_table_like().into_iter().flat_map(TableLike::iter);
        let fields = fields.map(|(key, item)| (key.to_owned(), item_to_json(item)));
        (name.to_owned(), ServerEntry { fields: fields.collect() })
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
    let mut settings = parse_document(text)?;
    let present =
        server_table(&settings, section)?.is_some_and(|servers| servers.contains_key(name));
    if !present {
        // A new entry is appended as text, so that the parser moves no comment of other entries.
        let longer = append_entry(text, section, name, entry);
        if parse_document(&longer).is_ok() {
            return Ok(longer);
        }
    }
    let servers = settings.entry(section).or_insert_with(toml_edit::table).as_table_like_mut();
    let servers = servers.ok_or_else(|| DocumentError::not_a_table(section))?;
    if let Some(present) = servers.get_mut(name).and_then(Item::as_table_like_mut) {
        merge_fields(present, entry);
    } else {
        let fields = entry.fields.iter().map(|(key, value)| (key, json_to_toml(value)));
        servers.insert(name, Item::Value(fields.collect::<InlineTable>().into()));
    }
    Ok(settings.to_string())
}

/// Returns the text without the entry of that name.
pub(super) fn remove_entry(text: &str, section: &str, name: &str) -> Result<String, DocumentError> {
    let mut settings = parse_document(text)?;
    if let Some(servers) = settings.get_mut(section).and_then(Item::as_table_like_mut) {
        servers.remove(name);
    }
    let expected = settings.to_string();
    // Cutting lines preserves the comments around the entry, which the parser would remove as part
    // of it. Fields outside of the entry's table need the parser.
    let cut = cut_entry_lines(text, section, name).filter(|cut| is_equivalent(cut, &expected));
    Ok(cut.unwrap_or(expected))
}

fn parse_document(text: &str) -> Result<DocumentMut, DocumentError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        DocumentError::syntax_error_at(text, at, error.message())
    })
}

/// Returns the table that lists the servers, or `None` if there is none.
fn server_table<'a>(
    settings: &'a DocumentMut,
    section: &str,
) -> Result<Option<&'a dyn TableLike>, DocumentError> {
    let Some(item) = settings.get(section) else { return Ok(None) };
    item.as_table_like().map(Some).ok_or_else(|| DocumentError::not_a_table(section))
}

fn append_entry(text: &str, section: &str, name: &str, entry: &ServerEntry) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    let empty = if text.is_empty() { "" } else { newline };
    let mut longer = format!("{text}{end}{empty}[{section}.{name}]{newline}");
    for (key, value) in &entry.fields {
        longer.extend([key, " = ", &json_to_toml(value).to_string(), newline]);
    }
    longer
}

fn merge_fields(present: &mut dyn TableLike, entry: &ServerEntry) {
    for key in entry.conflicting_fields() {
        present.remove(key);
    }
    for (key, value) in &entry.fields {
        match present.get_mut(key) {
            None => drop(present.insert(key, Item::Value(json_to_toml(value)))),
            Some(item) if item_to_json(item) == *value => {}
            Some(item) => {
                let mut new = json_to_toml(value);
                if let Some(old) = item.as_value() {
                    *new.decor_mut() = old.decor().clone();
                }
                *item = Item::Value(new);
            }
        }
    }
}

/// Returns the text without the lines of the entry, from its header to the end of its last field,
/// and without the empty line before it.
fn cut_entry_lines(text: &str, section: &str, name: &str) -> Option<String> {
    let settings = Document::parse(text).ok()?;
    let entry = settings.get(section)?.as_table_like()?.get(name)?.as_table()?;
    let begin = text[..entry.span()?.start].rfind('\n').map_or(0, |at| at + 1);
    let last = table_end(entry)?;
    let end = text[last..].find('\n').map_or(text.len(), |at| last + at + 1);
    let (mut before, after) = (&text[..begin], &text[end..]);
    for empty in ["\r\n", "\n"] {
        let parted = before.strip_suffix(empty).filter(|rest| rest.ends_with('\n'));
        if let Some(rest) = parted.filter(|_| after.is_empty() || after.starts_with(empty)) {
            before = rest;
            break;
        }
    }
    Some(format!("{before}{after}"))
}

/// Returns the byte offset of the end of a table's last field, or of its header if it has no
/// fields.
fn table_end(table: &Table) -> Option<usize> {
    table.iter().try_fold(table.span()?.end, |last, (_, item)| {
        let end = match item.as_table() {
            Some(inner) => table_end(inner)?,
            None => item.span()?.end,
        };
        Some(last.max(end))
    })
}

fn is_equivalent(one: &str, other: &str) -> bool {
    let read = |text: &str| text.parse::<::toml::Table>().ok();
    read(one).is_some_and(|table| Some(table) == read(other))
}

fn json_to_toml(value: &Value) -> toml_edit::Value {
    match value {
        // TOML has no null; entries of this program have none either.
        Value::Null => "".into(),
        Value::Bool(it) => (*it).into(),
        Value::Number(it) => match it.as_i64() {
            Some(whole) => whole.into(),
            None => it.as_f64().unwrap_or_default().into(),
        },
        Value::String(it) => it.as_str().into(),
        Value::Array(items) => items.iter().map(json_to_toml).collect::<Array>().into(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key, json_to_toml(value)));
            fields.collect::<InlineTable>().into()
        }
    }
}

fn item_to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let fields = table.iter().map(|(key, item)| (key.to_owned(), item_to_json(item)));
        return Value::Object(fields.collect::<Map<_, _>>());
    }
    item.as_value().map_or(Value::Null, value_to_json)
}

fn value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(it) => it.value().as_str().into(),
        toml_edit::Value::Integer(it) => (*it.value()).into(),
        toml_edit::Value::Float(it) => (*it.value()).into(),
        toml_edit::Value::Boolean(it) => (*it.value()).into(),
        toml_edit::Value::Datetime(it) => it.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(value_to_json).collect(),
        toml_edit::Value::InlineTable(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.to_owned(), value_to_json(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find_entry(text: &str, name: &str) -> Result<Option<ServerEntry>, DocumentError> {
        let mut entries = entries(text, SECTION)?.into_iter();
        Ok(entries.find(|(key, _)| key == name).map(|(_, entry)| entry))
    }

    const SECTION: &str = "mcp_servers";

    fn stdio_entry() -> ServerEntry {
        ServerEntry::from_fields([("command", json!("/bin/vademecum")), ("args", json!(["mcp"]))])
    }

    fn upsert_ours(text: &str) -> String {
        upsert_entry(text, SECTION, "vademecum", &stdio_entry()).unwrap()
    }

    fn remove_ours(text: &str) -> String {
        remove_entry(text, SECTION, "vademecum").unwrap()
    }

    const OUR_ENTRY: &str =
        "[mcp_servers.vademecum]\ncommand = \"/bin/vademecum\"\nargs = [\"mcp\"]\n";

    #[test]
    fn new_entry_is_appended_as_table() {
        assert_eq!(upsert_ours(""), OUR_ENTRY);
        let text = "# top\nmodel = 'x'\n\n[mcp_servers.a]  # a\ncommand = \"a\"\n# end\n";
        assert_eq!(upsert_ours(text), format!("{text}\n{OUR_ENTRY}"));
        assert_eq!(remove_ours(&upsert_ours(text)), text);
    }

    #[test]
    fn new_entry_uses_newlines_of_file() {
        let text = "model = \"x\"\r\n";
        let changed = upsert_ours(text);
        assert!(!changed.replace("\r\n", "").contains('\n'), "{changed:?}");
        assert_eq!(remove_ours(&changed), text);
    }

    #[test]
    fn remove_keeps_surrounding_comments() {
        let before = "[mcp_servers.a]\ncommand = \"a\" # c\n\n# about knowledge\n";
        let after = "\n# about b\n[mcp_servers.b]\ncommand = \"b\"\n";
        let env = "\n[mcp_servers.vademecum.env]\nA = \"1\" # tail\n";
        assert_eq!(
            remove_ours(&format!("{before}{OUR_ENTRY}{env}{after}")),
            format!("{before}{after}")
        );
    }

    #[test]
    fn inline_and_dotted_entries_are_found_and_edited() {
        for text in [
            "mcp_servers = { a = { command = \"a\" } }\n",
            "mcp_servers.a.command = \"a\"\n",
            "[mcp_servers]\na = { command = \"a\" }\n",
        ] {
            let changed = upsert_ours(text);
            let entry = find_entry(&changed, "vademecum").unwrap();
            assert_eq!(entry, Some(stdio_entry()), "{changed}");
            assert_eq!(upsert_ours(&changed), changed);
            let taken = remove_ours(&changed);
            assert!(is_equivalent(&taken, text), "{taken}");
            assert!(find_entry(&taken, "a").unwrap().is_some(), "{taken}");
        }
    }

    #[test]
    fn remove_deletes_all_parts_of_entry() {
        let text = format!("{OUR_ENTRY}\n[x]\ny = 1\n\n[mcp_servers.vademecum.env]\nA = \"1\"\n");
        assert!(is_equivalent(&remove_ours(&text), "[x]\ny = 1\n"));
    }

    #[test]
    fn merge_keeps_extra_fields_and_removes_conflicting() {
        let text = "[mcp_servers.vademecum]\ncommand = \"old\" # where\nenabled = false\n\
                    args = ['mcp'] # how\nenv = { A = \"1\" }\n";
        assert_eq!(upsert_ours(text), text.replace("old", "/bin/vademecum"));
        let http = ServerEntry::from_fields([("url", json!("http://a/mcp"))]);
        let changed = upsert_entry(text, SECTION, "vademecum", &http).unwrap();
        let entry = find_entry(&changed, "vademecum").unwrap().unwrap();
        let keys: Vec<&str> = entry.fields.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["enabled", "url"], "{changed}");
    }

    #[test]
    fn windows_path_survives_round_trip() {
        let entry = ServerEntry::from_fields([(
            "command",
            json!("C:\\Program Files\\it's\\vademecum.exe"),
        )]);
        let text = upsert_entry("", SECTION, "vademecum", &entry).unwrap();
        assert_eq!(find_entry(&text, "vademecum").unwrap(), Some(entry), "{text}");
    }

    #[test]
    fn invalid_toml_is_rejected_with_position() {
        match upsert_entry("model = \"x\"\nodd = = 1\n", SECTION, "vademecum", &stdio_entry()) {
            Err(DocumentError::Syntax { line, column, .. }) => assert_eq!((line, column), (2, 7)),
            other => panic!("{other:?}"),
        }
        let refused = upsert_entry("mcp_servers = 1\n", SECTION, "vademecum", &stdio_entry());
        assert!(matches!(refused, Err(DocumentError::WrongStructure(_))), "{refused:?}");
    }
}
