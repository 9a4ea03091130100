//! Tests that documents name exist, so that a promise does not outlive its test.

use std::collections::BTreeSet;

use crate::support::workspace_files::{files, read, root};

/// Documents that name tests: `module::test`, `module::*`, or the file of a test.
const DOCUMENTS: [&str; 2] = ["docs/reliability.md", "docs/threat-model.md"];

/// Returns the tests of the integration tests, with the path of their module.
fn integration_tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for (path, text) in files("tests/it", "rs") {
        let module = path.trim_start_matches("tests/it/").trim_end_matches(".rs");
        let module = module.trim_end_matches("/mod").replace('/', "::");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let signature = line.trim_start_matches("async ").strip_prefix("fn ");
            let Some(name) = signature.and_then(|rest| rest.split('(').next()) else {
                continue;
            };
            let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
            if attributes.into_iter().any(|line| line.ends_with("test]")) {
                tests.insert(format!("{module}::{name}"));
            }
        }
    }
    tests
}

/// Returns the texts in back-ticks.
fn quoted(document: &str) -> impl Iterator<Item = &str> {
    document.split('`').skip(1).step_by(2)
}

#[test]
fn named_tests_exist() {
    let tests = integration_tests();
    assert!(tests.contains("documented_tests::named_tests_exist"));
    let modules: BTreeSet<&str> = tests.iter().filter_map(|test| test.split("::").next()).collect();
    let mut missing = Vec::new();
    let mut count = 0;
    for document in DOCUMENTS {
        let text = read(document);
        for name in quoted(&text) {
            let first = name.split("::").next().unwrap_or_default();
            if name.contains("::") && modules.contains(first) {
                let exists = match name.strip_suffix('*') {
                    Some(module) => tests.iter().any(|test| test.starts_with(module)),
                    None => tests.contains(name),
                };
                count += 1;
                if !exists {
                    missing.push(format!("{document}: {name}"));
                }
            } else if name.starts_with("crates/") && !root().join(name).exists() {
                missing.push(format!("{document}: {name}"));
            }
        }
    }
    assert!(count > 80, "{count}");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
