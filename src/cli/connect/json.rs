//! Settings in JSON, with or without comments.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    document::{Broken, Layout, Syntax},
    entry::Entry,
};

/// The entry of that name.
pub(super) fn find(text: &str, layout: Layout, name: &str) -> Result<Option<Entry>, Broken> {
    let root = parse(text, layout.syntax)?;
    let Some(servers) = servers(&root, layout.section)? else { return Ok(None) };
    let Some(property) = servers.get(name) else { return Ok(None) };
    let fields = property.object_value().map(|entry| entry.properties()).unwrap_or_default();
    let read = fields
        .iter()
        .filter_map(|field| Some((field.decoded_name()?, field.value()?.to_serde_value()?)));
    Ok(Some(Entry { fields: read.collect() }))
}

/// The text with this entry.
pub(super) fn put(text: &str, layout: Layout, name: &str, entry: &Entry) -> Result<String, Broken> {
    let root = parse(text, layout.syntax)?;
    servers(&root, layout.section)?;
    let servers = root
        .object_value_or_create()
        .and_then(|settings| settings.object_value_or_create(layout.section))
        .ok_or_else(|| Broken::no_table(layout.section))?;
    match servers.get(name) {
        None => {
            servers.append(name, written(entry));
        }
        Some(property) => match property.object_value() {
            None => property.set_value(written(entry)),
            Some(present) => merge(&present, entry),
        },
    }
    Ok(root.to_string())
}

/// The text without the entry of that name.
pub(super) fn take(text: &str, layout: Layout, name: &str) -> Result<String, Broken> {
    let root = parse(text, layout.syntax)?;
    if let Some(property) = servers(&root, layout.section)?.and_then(|it| it.get(name)) {
        property.remove();
    }
    Ok(root.to_string())
}

fn parse(text: &str, syntax: Syntax) -> Result<CstRootNode, Broken> {
    let lenient = syntax == Syntax::Jsonc;
    let options = ParseOptions {
        allow_comments: lenient,
        allow_trailing_commas: lenient,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options).map_err(|error| Broken::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string(),
    })?;
    if !lenient && root.value().is_some() {
        // The parser is not strict everywhere, and a client that is would
        // not read the file at all.
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| Broken::Syntax {
            line: error.line(),
            column: error.column(),
            what: error.to_string().split(" at line").next().unwrap_or_default().to_owned(),
        })?;
    }
    Ok(root)
}

/// What the servers are listed in, if it is there.
fn servers(root: &CstRootNode, section: &str) -> Result<Option<CstObject>, Broken> {
    let Some(value) = root.value() else { return Ok(None) };
    let settings = value.as_object();
    let settings =
        settings.ok_or_else(|| Broken::Shape("the settings are not an object".to_owned()))?;
    match settings.get(section) {
        None => Ok(None),
        Some(property) => {
            property.object_value().map(Some).ok_or_else(|| Broken::no_table(section))
        }
    }
}

fn merge(present: &CstObject, entry: &Entry) {
    for key in entry.contradicts() {
        if let Some(property) = present.get(key) {
            property.remove();
        }
    }
    for (key, value) in &entry.fields {
        match present.get(key) {
            None => {
                present.append(key, input(value));
            }
            Some(property) => {
                let is_same =
                    property.value().and_then(|it| it.to_serde_value()).as_ref() == Some(value);
                if !is_same {
                    property.set_value(input(value));
                }
            }
        }
    }
}

fn written(entry: &Entry) -> CstInputValue {
    let fields = entry.fields.iter().map(|(key, value)| (key.clone(), input(value)));
    CstInputValue::Object(fields.collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(it) => CstInputValue::Number(it.to_string()),
        Value::String(it) => CstInputValue::String(it.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STRICT: Layout = Layout { syntax: Syntax::Json, section: "mcpServers" };
    const LENIENT: Layout = Layout { syntax: Syntax::Jsonc, section: "servers" };

    fn stdio() -> Entry {
        Entry::of([("command", json!("/bin/vademecum")), ("args", json!(["mcp"]))])
    }

    fn put_ours(text: &str, layout: Layout) -> String {
        put(text, layout, "vademecum", &stdio()).unwrap()
    }

    #[test]
    fn an_empty_file_becomes_settings_with_one_server() {
        let expected = "{\n  \"mcpServers\": {\n    \"vademecum\": {\n      \
                        \"command\": \"/bin/vademecum\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
        for text in ["", "{}\n", "{\n}\n"] {
            assert_eq!(put_ours(text, STRICT), expected, "{text:?}");
        }
    }

    #[test]
    fn comments_order_and_commas_stay_and_come_back() {
        let text = "{\n  // mine\n  \"inputs\": [1,2],\n  \"servers\": {\n    /* a */ \"z\": \
                    {\"command\":\"z\"}, // why\n    // last\n  },\n}\n";
        let changed = put_ours(text, LENIENT);
        for part in
            ["  // mine\n  \"inputs\": [1,2],\n", "/* a */ \"z\": {\"command\":\"z\"}, // why\n"]
        {
            assert!(changed.contains(part), "{changed}");
        }
        assert_eq!(find(&changed, LENIENT, "vademecum").unwrap(), Some(stdio()));
        assert_eq!(take(&changed, LENIENT, "vademecum").unwrap(), text);
    }

    #[test]
    fn lines_end_and_are_indented_as_in_the_file() {
        let text = "{\r\n\t\"a\": 1,\r\n\t\"mcpServers\": {}\r\n}\r\n";
        let changed = put_ours(text, STRICT);
        assert!(changed.contains("\r\n\t\t\"vademecum\": {\r\n\t\t\t\"command\""), "{changed:?}");
        assert!(!changed.replace("\r\n", "").contains('\n'), "{changed:?}");
        assert_eq!(take(&changed, STRICT, "vademecum").unwrap(), text);
    }

    #[test]
    fn a_second_time_changes_nothing() {
        for text in ["", "{\"a\":1}", "{ \"mcpServers\": { \"x\": {} } }"] {
            let once = put_ours(text, STRICT);
            assert_eq!(put_ours(&once, STRICT), once);
        }
    }

    #[test]
    fn fields_that_somebody_added_stay_and_those_that_contradict_go() {
        let text = "{\"mcpServers\": {\"vademecum\": {\"command\": \"old\", \"args\": [\"mcp\"], \
                    \"env\": {\"A\": \"1\"}, \"disabled\": true}}}";
        let changed = put_ours(text, STRICT);
        assert_eq!(changed, text.replace("old", "/bin/vademecum"));
        let http = Entry::of([("url", json!("http://a/mcp"))]);
        let changed = put(text, STRICT, "vademecum", &http).unwrap();
        let entry = find(&changed, STRICT, "vademecum").unwrap().unwrap();
        let keys: Vec<&str> = entry.fields.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["disabled", "url"]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        for (text, line, column) in [
            ("{\n  \"a\": 1,,\n}", 2, 10),
            ("{\n  // no\n}", 2, 3),
            ("{\n  \"a\": 1,\n}", 2, 9),
            ("{\"a\" 1}", 1, 6),
            ("{'a': 1}", 1, 2),
        ] {
            match put(text, STRICT, "vademecum", &stdio()) {
                Err(Broken::Syntax { line: at, column: character, .. }) => {
                    assert_eq!((at, character), (line, column), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "1", "{\"mcpServers\": []}", "{\"mcpServers\": null}"] {
            let refused = put(text, STRICT, "vademecum", &stdio());
            assert!(matches!(refused, Err(Broken::Shape(_))), "{text}: {refused:?}");
        }
    }
}
