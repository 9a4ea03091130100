//! What a client's settings say of one server.

use std::{path::Path, str::FromStr};

use serde_json::{Value, json};

use super::link::{Start, Url, Variable};

/// What a client's settings say of one server: fields, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The fields, in their order.
    pub(super) fields: Vec<(String, Value)>,
}

/// The name of an entry, as every client accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryName(String);

/// Fields that only make sense for a server that the client starts.
const OF_STDIO: [&str; 6] = ["command", "args", "env", "env_vars", "envFile", "cwd"];

/// Fields that only make sense for a server that the client connects to.
const OF_HTTP: [&str; 5] =
    ["url", "headers", "http_headers", "env_http_headers", "bearer_token_env_var"];

impl Entry {
    /// An entry of these fields.
    pub(super) fn of<const N: usize>(fields: [(&str, Value); N]) -> Self {
        Self { fields: fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect() }
    }

    /// The fields `command` and `args`.
    pub(super) fn starting(start: &Start) -> Self {
        Self::of([("command", json!(start.command)), ("args", json!(start.arguments))])
    }

    /// The field `url`, and a header that names the key as `reference` writes
    /// a variable.
    pub(super) fn connecting(
        url: &Url,
        key: Option<&Variable>,
        reference: impl Fn(&str) -> String,
    ) -> Self {
        let entry = Self::of([("url", json!(url.as_str()))]);
        match key {
            None => entry,
            Some(key) => {
                let bearer = format!("Bearer {}", reference(key.as_str()));
                entry.and("headers", json!({ "Authorization": bearer }))
            }
        }
    }

    /// The same entry, which first says of what type it is.
    pub(super) fn of_type(mut self, name: &str) -> Self {
        self.fields.insert(0, ("type".to_owned(), json!(name)));
        self
    }

    /// The same entry with one more field.
    pub(super) fn and(mut self, key: &str, value: Value) -> Self {
        self.fields.push((key.to_owned(), value));
        self
    }

    /// The value of a field.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Fields that would contradict this entry where it takes another's place.
    pub(super) fn contradicts(&self) -> &'static [&'static str] {
        if self.get("command").is_some() { &OF_HTTP } else { &OF_STDIO }
    }

    /// Whether it is of this program's making: it starts this program, here
    /// called `program`, or connects to the very server that is meant.
    pub(super) fn is_ours(&self, program: &str, server: &Url) -> bool {
        let Some(command) = self.get("command").and_then(Value::as_str) else {
            return self.address() == Some(server.as_str());
        };
        let args = self.get("args").and_then(Value::as_array);
        let serves = args.is_some_and(|args| args.iter().any(|arg| arg == "mcp"));
        serves && (command == program || is_vademecum(command))
    }

    /// The address that it connects to.
    pub(super) fn address(&self) -> Option<&str> {
        self.get("url").and_then(Value::as_str)
    }

    /// What it does, for a message.
    pub(super) fn says(&self) -> String {
        match (self.get("command").and_then(Value::as_str), self.address()) {
            (Some(command), _) => format!("starts `{command}`"),
            (None, Some(url)) => format!("connects to {url}"),
            (None, None) => "says neither `command` nor `url`".to_owned(),
        }
    }
}

/// Whether a command is this program, wherever it is installed.
fn is_vademecum(command: &str) -> bool {
    Path::new(command).file_stem().is_some_and(|stem| stem == "vademecum")
}

impl EntryName {
    /// What an entry is called if nothing else is said.
    pub(super) const ORDINARY: &str = "vademecum";

    /// The name as text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EntryName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        let is_name = (1..=64).contains(&text.len()) && text.chars().all(fits);
        is_name.then(|| Self(text.to_owned())).ok_or_else(|| {
            "clients want one to 64 letters, digits, `-` and `_` of ASCII".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/opt/knowledge";

    fn server() -> Url {
        "http://127.0.0.1:7744/mcp".parse().unwrap()
    }

    #[test]
    fn an_entry_that_starts_this_program_is_ours() {
        for command in ["vademecum", "/usr/bin/vademecum", "vademecum.exe", PROGRAM] {
            let entry = Entry::of([("command", json!(command)), ("args", json!(["mcp"]))]);
            assert!(entry.is_ours(PROGRAM, &server()), "{command}");
        }
    }

    #[test]
    fn an_entry_that_starts_another_program_is_not() {
        for (command, args) in
            [("npx", json!(["mcp"])), ("vademecum", json!(["serve"])), ("vademecum", json!([]))]
        {
            let entry = Entry::of([("command", json!(command)), ("args", args)]);
            assert!(!entry.is_ours(PROGRAM, &server()), "{entry:?}");
        }
        assert!(!Entry::default().is_ours(PROGRAM, &server()));
    }

    #[test]
    fn an_entry_with_an_address_is_ours_if_it_is_that_of_the_server() {
        let at = |url: &str| Entry::of([("url", json!(url))]).is_ours(PROGRAM, &server());
        assert!(at("http://127.0.0.1:7744/mcp"));
        assert!(!at("https://other.example/mcp"));
    }

    #[test]
    fn a_name_is_one_that_every_client_accepts() {
        for name in ["vademecum", "My-notes_2"] {
            assert!(name.parse::<EntryName>().is_ok(), "{name}");
        }
        for name in ["", "a b", "a.b", "ä", "x\"y"] {
            assert!(name.parse::<EntryName>().is_err(), "{name}");
        }
    }
}
