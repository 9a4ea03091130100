//! `PRIVACY.md` names all code that connects to other programs.

use std::collections::BTreeSet;

use crate::support::workspace_files::{files, read};

/// Expressions that open a connection, or start a program that does.
const CONNECTING: [&str; 7] = [
    "ureq::Agent::config_builder(",
    "ureq::get(",
    "ureq::post(",
    "TcpStream::connect(",
    "Conn::new(",
    "connect(tls.clone())",
    "connect(self.tls.clone())",
];

/// Expressions that start a program which connects, and the folder in which they count.
const STARTING: [(&str, &str); 2] =
    [("src/cli/", "Command::new(\"ssh\")"), ("crates/tunnel/", "Command::new(")];

/// Returns the code of a file without its unit tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]").flat_map(|it| it.split("\nmod tests {")).next().unwrap_or_default()
}

fn connects(path: &str, text: &str) -> bool {
    CONNECTING.iter().any(|it| text.contains(it))
        || STARTING.iter().any(|(folder, it)| path.starts_with(folder) && text.contains(it))
}

#[test]
fn connecting_code_is_named_in_privacy_policy() {
    let policy = read("PRIVACY.md");
    let mut connecting = BTreeSet::new();
    for folder in ["crates", "sources", "src"] {
        for (path, text) in files(folder, "rs") {
            let is_test = path.starts_with("crates/testing/") || path.ends_with("tests.rs");
            if !is_test && connects(&path, code(&text)) {
                connecting.insert(path);
            }
        }
    }
    // The test reads the code: these connect.
    for path in ["crates/embed/src/http.rs", "src/cli/sync.rs", "crates/tunnel/src/login.rs"] {
        assert!(connecting.contains(path), "{path}: {connecting:?}");
    }
    let unnamed: Vec<_> =
        connecting.iter().filter(|path| !policy.contains(&format!("`{path}`"))).collect();
    assert!(unnamed.is_empty(), "PRIVACY.md does not name {unnamed:?}");
    let stale: Vec<_> = policy
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.strip_suffix(".rs").is_some() && !connecting.contains(*name))
        .filter(|name| *name != "crates/web/src/listener.rs")
        .collect();
    assert!(stale.is_empty(), "PRIVACY.md names code that does not connect: {stale:?}");
}
