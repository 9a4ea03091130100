//! Edits of client settings in JSON, with or without comments.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    entry::ServerEntry,
    layout::{DocumentError, SettingsLayout, SettingsSyntax},
};

/// Returns the name of each entry and the entry.
pub(super) fn entries(
    text: &str,
    layout: SettingsLayout,
) -> Result<Vec<(String, ServerEntry)>, DocumentError> {
    let root = parse_root(text, layout.syntax)?;
    let Some(servers) = server_object(&root, layout.section)? else { return Ok(Vec::new()) };
    let entries = servers.properties().into_iter().filter_map(|property| {
        let fields = property.object_value().map(|entry| entry.properties()).unwrap_or_default();
        let read = fields
            .iter()
            .filter_map(|field| Some((field.decoded_name()?, field.value()?.to_serde_value()?)));
        Some((property.decoded_name()?, ServerEntry { fields: read.collect() }))
    });
    Ok(entries.collect())
}

/// Returns the text with this entry.
pub(super) fn upsert_entry(
    text: &str,
    layout: SettingsLayout,
    name: &str,
    entry: &ServerEntry,
) -> Result<String, DocumentError> {
    let root = parse_root(text, layout.syntax)?;
    server_object(&root, layout.section)?;
    let servers = root
        .object_value_or_create()
        .and_then(|settings| settings.object_value_or_create(layout.section))
        .ok_or_else(|| DocumentError::not_a_table(layout.section))?;
    match servers.get(name) {
        None => {
            servers.append(name, entry_to_cst(entry));
        }
        Some(property) => match property.object_value() {
            None => property.set_value(entry_to_cst(entry)),
            Some(present) => merge_fields(&present, entry),
        },
    }
    Ok(root.to_string())
}

/// Returns the text without the entry of that name.
pub(super) fn remove_entry(
    text: &str,
    layout: SettingsLayout,
    name: &str,
) -> Result<String, DocumentError> {
    let root = parse_root(text, layout.syntax)?;
    if let Some(property) = server_object(&root, layout.section)?.and_then(|it| it.get(name)) {
        property.remove();
    }
    Ok(root.to_string())
}

pub(super) fn parse_root(text: &str, syntax: SettingsSyntax) -> Result<CstRootNode, DocumentError> {
    let lenient = syntax == SettingsSyntax::Jsonc;
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
    let root = CstRootNode::parse(text, &options).map_err(|error| DocumentError::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string(),
    })?;
    if !lenient && root.value().is_some() {
        // `jsonc_parser` accepts some invalid JSON, and a strict client would reject the whole
        // file.
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| DocumentError::Syntax {
            line: error.line(),
            column: error.column(),
            what: error.to_string().split(" at line").next().unwrap_or_default().to_owned(),
        })?;
    }
    Ok(root)
}

/// Returns the object that lists the servers, or `None` if there is none.
fn server_object(root: &CstRootNode, section: &str) -> Result<Option<CstObject>, DocumentError> {
    let Some(value) = root.value() else { return Ok(None) };
    let settings = value.as_object();
    let settings = settings.ok_or_else(|| {
        DocumentError::WrongStructure("the settings are not an object".to_owned())
    })?;
    match settings.get(section) {
        None => Ok(None),
        Some(property) => {
            property.object_value().map(Some).ok_or_else(|| DocumentError::not_a_table(section))
        }
    }
}

fn merge_fields(present: &CstObject, entry: &ServerEntry) {
    for key in entry.conflicting_fields() {
        if let Some(property) = present.get(key) {
            property.remove();
        }
    }
    for (key, value) in &entry.fields {
        match present.get(key) {
            None => {
                present.append(key, value_to_cst(value));
            }
            Some(property) => {
                let is_same =
                    property.value().and_then(|it| it.to_serde_value()).as_ref() == Some(value);
                if !is_same {
                    property.set_value(value_to_cst(value));
                }
            }
        }
    }
}

fn entry_to_cst(entry: &ServerEntry) -> CstInputValue {
    let fields = entry.fields.iter().map(|(key, value)| (key.clone(), value_to_cst(value)));
    CstInputValue::Object(fields.collect())
}

pub(super) fn value_to_cst(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(it) => CstInputValue::Number(it.to_string()),
        Value::String(it) => CstInputValue::String(it.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(value_to_cst).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), value_to_cst(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find_entry(
        text: &str,
        layout: SettingsLayout,
    ) -> Result<Option<ServerEntry>, DocumentError> {
        let mut entries = entries(text, layout)?.into_iter();
        Ok(entries.find(|(name, _)| name == "vademecum").map(|(_, entry)| entry))
    }

    const STRICT: SettingsLayout =
        SettingsLayout { syntax: SettingsSyntax::Json, section: "mcpServers" };
    const LENIENT: SettingsLayout =
        SettingsLayout { syntax: SettingsSyntax::Jsonc, section: "servers" };

    fn stdio_entry() -> ServerEntry {
        ServerEntry::from_fields([("command", json!("/bin/vademecum")), ("args", json!(["mcp"]))])
    }

    fn upsert_ours(text: &str, layout: SettingsLayout) -> String {
        upsert_entry(text, layout, "vademecum", &stdio_entry()).unwrap()
    }

    #[test]
    fn empty_file_gets_one_server() {
        let expected = "{\n  \"mcpServers\": {\n    \"vademecum\": {\n      \
                        \"command\": \"/bin/vademecum\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
        for text in ["", "{}\n", "{\n}\n"] {
            assert_eq!(upsert_ours(text, STRICT), expected, "{text:?}");
        }
    }

    #[test]
    fn comments_order_and_commas_are_preserved() {
        let text = "{\n  // mine\n  \"inputs\": [1,2],\n  \"servers\": {\n    /* a */ \"z\": \
                    {\"command\":\"z\"}, // why\n    // last\n  },\n}\n";
        let changed = upsert_ours(text, LENIENT);
        for part in
            ["  // mine\n  \"inputs\": [1,2],\n", "/* a */ \"z\": {\"command\":\"z\"}, // why\n"]
        {
            assert!(changed.contains(part), "{changed}");
        }
        assert_eq!(find_entry(&changed, LENIENT).unwrap(), Some(stdio_entry()));
        assert_eq!(remove_entry(&changed, LENIENT, "vademecum").unwrap(), text);
    }

    #[test]
    fn new_entry_uses_indentation_and_newlines_of_file() {
        let text = "{\r\n\t\"a\": 1,\r\n\t\"mcpServers\": {}\r\n}\r\n";
        let changed = upsert_ours(text, STRICT);
        assert!(changed.contains("\r\n\t\t\"vademecum\": {\r\n\t\t\t\"command\""), "{changed:?}");
        assert!(!changed.replace("\r\n", "").contains('\n'), "{changed:?}");
        assert_eq!(remove_entry(&changed, STRICT, "vademecum").unwrap(), text);
    }

    #[test]
    fn upsert_is_idempotent() {
        for text in ["", "{\"a\":1}", "{ \"mcpServers\": { \"x\": {} } }"] {
            let once = upsert_ours(text, STRICT);
            assert_eq!(upsert_ours(&once, STRICT), once);
        }
    }

    #[test]
    fn merge_keeps_extra_fields_and_removes_conflicting() {
        let text = "{\"mcpServers\": {\"vademecum\": {\"command\": \"old\", \"args\": [\"mcp\"], \
                    \"env\": {\"A\": \"1\"}, \"disabled\": true}}}";
        let changed = upsert_ours(text, STRICT);
        assert_eq!(changed, text.replace("old", "/bin/vademecum"));
        let http = ServerEntry::from_fields([("url", json!("http://a/mcp"))]);
        let changed = upsert_entry(text, STRICT, "vademecum", &http).unwrap();
        let entry = find_entry(&changed, STRICT).unwrap().unwrap();
        let keys: Vec<&str> = entry.fields.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["disabled", "url"]);
    }

    #[test]
    fn invalid_json_is_rejected_with_position() {
        for (text, line, column) in [
            ("{\n  \"a\": 1,,\n}", 2, 10),
            ("{\n  // no\n}", 2, 3),
            ("{\n  \"a\": 1,\n}", 2, 9),
            ("{\"a\" 1}", 1, 6),
            ("{'a': 1}", 1, 2),
        ] {
            match upsert_entry(text, STRICT, "vademecum", &stdio_entry()) {
                Err(DocumentError::Syntax { line: at, column: character, .. }) => {
                    assert_eq!((at, character), (line, column), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn non_object_settings_are_rejected() {
        for text in ["[]", "1", "{\"mcpServers\": []}", "{\"mcpServers\": null}"] {
            let refused = upsert_entry(text, STRICT, "vademecum", &stdio_entry());
            assert!(
                matches!(refused, Err(DocumentError::WrongStructure(_))),
                "{text}: {refused:?}"
            );
        }
    }
}
