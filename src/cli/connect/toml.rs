//! Settings in TOML.

use serde_json::{Map, Value};
use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike};

use super::{document::Broken, entry::Entry};

/// The entry of that name.
pub(super) fn find(text: &str, section: &str, name: &str) -> Result<Option<Entry>, Broken> {
    let settings = parse(text)?;
    let Some(servers) = servers(&settings, section)? else { return Ok(None) };
    Ok(servers.get(name).map(|entry| {
        let fields = entry.as_table_like().into_iter().flat_map(TableLike::iter);
        Entry { fields: fields.map(|(key, item)| (key.to_owned(), plain(item))).collect() }
    }))
}

/// The text with this entry.
pub(super) fn put(text: &str, section: &str, name: &str, entry: &Entry) -> Result<String, Broken> {
    let mut settings = parse(text)?;
    let present = servers(&settings, section)?.is_some_and(|servers| servers.contains_key(name));
    if !present {
        // Written at the end, a new entry moves no comment of anybody else.
        let longer = appended(text, section, name, entry);
        if parse(&longer).is_ok() {
            return Ok(longer);
        }
    }
    let servers = settings.entry(section).or_insert_with(toml_edit::table).as_table_like_mut();
    let servers = servers.ok_or_else(|| Broken::no_table(section))?;
    if let Some(present) = servers.get_mut(name).and_then(Item::as_table_like_mut) {
        merge(present, entry);
    } else {
        let fields = entry.fields.iter().map(|(key, value)| (key, written(value)));
        servers.insert(name, Item::Value(fields.collect::<InlineTable>().into()));
    }
    Ok(settings.to_string())
}

/// The text without the entry of that name.
pub(super) fn take(text: &str, section: &str, name: &str) -> Result<String, Broken> {
    let mut settings = parse(text)?;
    if let Some(servers) = settings.get_mut(section).and_then(Item::as_table_like_mut) {
        servers.remove(name);
    }
    let expected = settings.to_string();
    // Cutting out its lines keeps the comments around it, which the parser
    // takes for its own. Fields that are written elsewhere need the parser.
    let cut = cut(text, section, name).filter(|cut| means_the_same(cut, &expected));
    Ok(cut.unwrap_or(expected))
}

fn parse(text: &str) -> Result<DocumentMut, Broken> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        Broken::at(text, at, error.message())
    })
}

/// What the servers are listed in, if it is there.
fn servers<'a>(
    settings: &'a DocumentMut,
    section: &str,
) -> Result<Option<&'a dyn TableLike>, Broken> {
    let Some(item) = settings.get(section) else { return Ok(None) };
    item.as_table_like().map(Some).ok_or_else(|| Broken::no_table(section))
}

fn appended(text: &str, section: &str, name: &str, entry: &Entry) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    let empty = if text.is_empty() { "" } else { newline };
    let mut longer = format!("{text}{end}{empty}[{section}.{name}]{newline}");
    for (key, value) in &entry.fields {
        longer.extend([key, " = ", &written(value).to_string(), newline]);
    }
    longer
}

fn merge(present: &mut dyn TableLike, entry: &Entry) {
    for key in entry.contradicts() {
        present.remove(key);
    }
    for (key, value) in &entry.fields {
        match present.get_mut(key) {
            None => drop(present.insert(key, Item::Value(written(value)))),
            Some(item) if plain(item) == *value => {}
            Some(item) => {
                let mut new = written(value);
                if let Some(old) = item.as_value() {
                    *new.decor_mut() = old.decor().clone();
                }
                *item = Item::Value(new);
            }
        }
    }
}

/// The text without the lines from the entry's head to the end of its last
/// field, and without the empty line that parted it from what is before.
fn cut(text: &str, section: &str, name: &str) -> Option<String> {
    let settings = Document::parse(text).ok()?;
    let entry = settings.get(section)?.as_table_like()?.get(name)?.as_table()?;
    let begin = text[..entry.span()?.start].rfind('\n').map_or(0, |at| at + 1);
    let last = end(entry)?;
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

/// Where the last field of a table ends, or its head if it has none.
fn end(table: &Table) -> Option<usize> {
    table.iter().try_fold(table.span()?.end, |last, (_, item)| {
        let end = match item.as_table() {
            Some(inner) => end(inner)?,
            None => item.span()?.end,
        };
        Some(last.max(end))
    })
}

fn means_the_same(one: &str, other: &str) -> bool {
    let read = |text: &str| text.parse::<::toml::Table>().ok();
    read(one).is_some_and(|table| Some(table) == read(other))
}

fn written(value: &Value) -> toml_edit::Value {
    match value {
        // TOML has no null, and no entry of ours has one.
        Value::Null => "".into(),
        Value::Bool(it) => (*it).into(),
        Value::Number(it) => match it.as_i64() {
            Some(whole) => whole.into(),
            None => it.as_f64().unwrap_or_default().into(),
        },
        Value::String(it) => it.as_str().into(),
        Value::Array(items) => items.iter().map(written).collect::<Array>().into(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key, written(value)));
            fields.collect::<InlineTable>().into()
        }
    }
}

fn plain(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let fields = table.iter().map(|(key, item)| (key.to_owned(), plain(item)));
        return Value::Object(fields.collect::<Map<_, _>>());
    }
    item.as_value().map_or(Value::Null, plain_value)
}

fn plain_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(it) => it.value().as_str().into(),
        toml_edit::Value::Integer(it) => (*it.value()).into(),
        toml_edit::Value::Float(it) => (*it.value()).into(),
        toml_edit::Value::Boolean(it) => (*it.value()).into(),
        toml_edit::Value::Datetime(it) => it.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(plain_value).collect(),
        toml_edit::Value::InlineTable(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.to_owned(), plain_value(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECTION: &str = "mcp_servers";

    fn stdio() -> Entry {
        Entry::of([("command", json!("/bin/vademecum")), ("args", json!(["mcp"]))])
    }

    fn put_ours(text: &str) -> String {
        put(text, SECTION, "vademecum", &stdio()).unwrap()
    }

    fn take_ours(text: &str) -> String {
        take(text, SECTION, "vademecum").unwrap()
    }

    const OURS: &str = "[mcp_servers.vademecum]\ncommand = \"/bin/vademecum\"\nargs = [\"mcp\"]\n";

    #[test]
    fn an_entry_is_a_table_at_the_end() {
        assert_eq!(put_ours(""), OURS);
        let text = "# top\nmodel = 'x'\n\n[mcp_servers.a]  # a\ncommand = \"a\"\n# end\n";
        assert_eq!(put_ours(text), format!("{text}\n{OURS}"));
        assert_eq!(take_ours(&put_ours(text)), text);
    }

    #[test]
    fn lines_end_as_in_the_file() {
        let text = "model = \"x\"\r\n";
        let changed = put_ours(text);
        assert!(!changed.replace("\r\n", "").contains('\n'), "{changed:?}");
        assert_eq!(take_ours(&changed), text);
    }

    #[test]
    fn comments_around_an_entry_stay_where_it_was() {
        let before = "[mcp_servers.a]\ncommand = \"a\" # c\n\n# about knowledge\n";
        let after = "\n# about b\n[mcp_servers.b]\ncommand = \"b\"\n";
        let env = "\n[mcp_servers.vademecum.env]\nA = \"1\" # tail\n";
        assert_eq!(take_ours(&format!("{before}{OURS}{env}{after}")), format!("{before}{after}"));
    }

    #[test]
    fn an_entry_in_another_form_is_found_changed_and_taken_out() {
        for text in [
            "mcp_servers = { a = { command = \"a\" } }\n",
            "mcp_servers.a.command = \"a\"\n",
            "[mcp_servers]\na = { command = \"a\" }\n",
        ] {
            let changed = put_ours(text);
            let entry = find(&changed, SECTION, "vademecum").unwrap();
            assert_eq!(entry, Some(stdio()), "{changed}");
            assert_eq!(put_ours(&changed), changed);
            let taken = take_ours(&changed);
            assert!(means_the_same(&taken, text), "{taken}");
            assert!(find(&taken, SECTION, "a").unwrap().is_some(), "{taken}");
        }
    }

    #[test]
    fn parts_that_lie_apart_are_all_taken_out() {
        let text = format!("{OURS}\n[x]\ny = 1\n\n[mcp_servers.vademecum.env]\nA = \"1\"\n");
        assert!(means_the_same(&take_ours(&text), "[x]\ny = 1\n"));
    }

    #[test]
    fn fields_that_somebody_added_stay_and_those_that_contradict_go() {
        let text = "[mcp_servers.vademecum]\ncommand = \"old\" # where\nenabled = false\n\
                    args = ['mcp'] # how\nenv = { A = \"1\" }\n";
        assert_eq!(put_ours(text), text.replace("old", "/bin/vademecum"));
        let http = Entry::of([("url", json!("http://a/mcp"))]);
        let changed = put(text, SECTION, "vademecum", &http).unwrap();
        let entry = find(&changed, SECTION, "vademecum").unwrap().unwrap();
        let keys: Vec<&str> = entry.fields.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["enabled", "url"], "{changed}");
    }

    #[test]
    fn a_path_of_windows_is_written_so_that_it_is_read_again() {
        let entry = Entry::of([("command", json!("C:\\Program Files\\it's\\vademecum.exe"))]);
        let text = put("", SECTION, "vademecum", &entry).unwrap();
        assert_eq!(find(&text, SECTION, "vademecum").unwrap(), Some(entry), "{text}");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        match put("model = \"x\"\nodd = = 1\n", SECTION, "vademecum", &stdio()) {
            Err(Broken::Syntax { line, column, .. }) => assert_eq!((line, column), (2, 7)),
            other => panic!("{other:?}"),
        }
        let refused = put("mcp_servers = 1\n", SECTION, "vademecum", &stdio());
        assert!(matches!(refused, Err(Broken::Shape(_))), "{refused:?}");
    }
}
