//! Snapshot tests of the tool schemas: `schemas/tools` holds the listed definition of each tool, so
//! that a change of the public interface appears in a diff.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use vademecum::registry;
use vademecum_mcp::{NameStyle, ToolCatalog, ToolListing, Toolset};

fn schema_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/tools")
}

/// Returns the expected content of each file: the tool as listed to a client that may use all
/// tools.
fn expected_files() -> BTreeMap<String, String> {
    let tools = registry::tools();
    let catalog = ToolCatalog::new(tools.iter().map(|tool| tool.entry().clone()).collect());
    let listing = ToolListing {
        name_style: NameStyle::Dotted,
        toolsets: Toolset::ALL.to_vec(),
        include_write: true,
        include_admin: true,
        access: None,
        fields: Vec::new(),
    };
    let listed = catalog.list_tools(&listing).into_iter();
    listed
        .map(|tool| {
            let name = tool["name"].as_str().unwrap();
            (format!("{name}.json"), serde_json::to_string_pretty(&tool).unwrap() + "\n")
        })
        .collect()
}

/// `UPDATE_SCHEMAS=1 cargo test --test it schemas` rewrites the files.
#[test]
fn schema_files_match_listed_tools() {
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1");
    if update {
        fs::create_dir_all(schema_folder()).unwrap();
    }
    for (name, text) in expected_files() {
        let path = schema_folder().join(&name);
        if update {
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{name} differs; if intended, run with UPDATE_SCHEMAS=1");
    }
}

#[test]
fn schema_folder_has_exactly_one_file_per_tool() {
    let files: BTreeSet<String> = fs::read_dir(schema_folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, expected_files().into_keys().collect());
}

/// Collects the keywords of a schema at all levels, except the names of properties.
fn collect_keywords(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.insert(name.clone());
                match (name.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.values().for_each(|property| collect_keywords(property, found));
                    }
                    ("default" | "enum" | "const" | "examples", _) => {}
                    (_, value) => collect_keywords(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_keywords(value, found)),
        _ => {}
    }
}

#[test]
fn schemas_are_inlined_without_problematic_keywords() {
    for (name, text) in expected_files() {
        let tool: Value = serde_json::from_str(&text).unwrap();
        let mut found = BTreeSet::new();
        collect_keywords(&tool["inputSchema"], &mut found);
        collect_keywords(&tool["outputSchema"], &mut found);
        for word in ["$ref", "$defs", "$schema", "definitions", "format", "title"] {
            assert!(!found.contains(word), "{name}: {word}");
        }
        assert!(!text.contains("\"$ref\""), "{name}");
    }
}

#[test]
fn every_argument_name_is_explained() {
    let (mut explained, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for text in expected_files().into_values() {
        let tool: Value = serde_json::from_str(&text).unwrap();
        let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
        let inner = &arguments.get("retrieval").unwrap_or(&Value::Null)["properties"];
        for (argument, schema) in arguments.iter().chain(inner.as_object().into_iter().flatten()) {
            taken.insert(argument.clone());
            let is_described = schema["description"].as_str().is_some_and(|text| !text.is_empty());
            // Names of values, or a default, may say enough.
            if is_described || schema.get("enum").is_some() || schema.get("default").is_some() {
                explained.insert(argument.clone());
            }
        }
    }
    assert_eq!(explained, taken);
}
