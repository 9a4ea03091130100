//! The entry of one server in a client's settings.

use std::{path::Path, str::FromStr};

use serde_json::Value;

use super::endpoint::ServerUrl;

/// The entry of one server in a client's settings: its fields, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerEntry {
    /// Name and value of each field, in order.
    pub(super) fields: Vec<(String, Value)>,
}

/// A name of an entry that every client accepts: 1 to 64 ASCII letters, digits, `-` or `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryName(String);

/// Fields of an entry that name the program which the client starts.
const COMMAND_FIELDS: [&str; 2] = ["command", "cmd"];

/// Fields of an entry that name the address to which the client connects.
const ADDRESS_FIELDS: [&str; 4] = ["url", "serverUrl", "uri", "httpUrl"];

/// Fields of an entry whose server is started by the client.
const STDIO_FIELDS: [&str; 9] =
    ["command", "cmd", "args", "env", "envs", "environment", "env_vars", "envFile", "cwd"];

/// Fields of an entry whose server the client connects to over HTTP.
const HTTP_FIELDS: [&str; 9] = [
    "url",
    "serverUrl",
    "uri",
    "httpUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "env_keys",
];

impl ServerEntry {
    /// Returns the value of a field.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the fields that an existing entry must lose when it gets the fields of this one.
    pub(super) fn conflicting_fields(&self) -> &'static [&'static str] {
        if self.command().is_some() { &HTTP_FIELDS } else { &STDIO_FIELDS }
    }

    /// Returns `true` if the entry starts this program, installed as `program` or elsewhere, or
    /// connects to `server`.
    pub(super) fn is_ours(&self, program: &str, server: &ServerUrl) -> bool {
        let Some((command, mut arguments)) = self.command() else {
            return self.address() == Some(server.as_str());
        };
        arguments.any(|argument| argument == "mcp") && (command == program || is_vademecum(command))
    }

    /// Returns the program that the entry starts, and its arguments.
    fn command(&self) -> Option<(&str, impl Iterator<Item = &str>)> {
        let value = COMMAND_FIELDS.iter().find_map(|name| self.get(name))?;
        let words = match value {
            Value::Array(words) => words.as_slice(),
            word => std::slice::from_ref(word),
        };
        let arguments = self.get("args").and_then(Value::as_array).into_iter().flatten();
        let mut words = words.iter().chain(arguments).filter_map(Value::as_str);
        Some((words.next()?, words))
    }

    /// Returns the address that the entry connects to.
    pub(super) fn address(&self) -> Option<&str> {
        ADDRESS_FIELDS.iter().find_map(|name| self.get(name)).and_then(Value::as_str)
    }

    /// Describes the entry for an error message.
    pub(super) fn describe(&self) -> String {
        match (self.command(), self.address()) {
            (Some((command, _)), _) => format!("starts `{command}`"),
            (None, Some(url)) => format!("connects to {url}"),
            (None, None) => "names neither a program nor an address".to_owned(),
        }
    }
}

/// Returns `true` if the command is this program, in any folder.
fn is_vademecum(command: &str) -> bool {
    Path::new(command).file_stem().is_some_and(|stem| stem == "vademecum")
}

impl EntryName {
    /// Default name of an entry.
    pub(super) const DEFAULT: &str = "vademecum";

    /// Returns the name as text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EntryName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        let is_name = (1..=64).contains(&text.len()) && text.chars().all(fits);
        is_name
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| "a server name has 1 to 64 ASCII letters, digits, `-` or `_`".to_owned())
    }
}

#[cfg(test)]
impl ServerEntry {
    /// Creates an entry from its fields.
    pub(super) fn from_fields<const N: usize>(fields: [(&str, Value); N]) -> Self {
        Self { fields: fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PROGRAM: &str = "/opt/knowledge";

    fn server() -> ServerUrl {
        "http://127.0.0.1:7744/mcp".parse().unwrap()
    }

    #[test]
    fn entry_starting_this_program_is_ours() {
        for command in ["vademecum", "/usr/bin/vademecum", "vademecum.exe", PROGRAM] {
            let entry =
                ServerEntry::from_fields([("command", json!(command)), ("args", json!(["mcp"]))]);
            assert!(entry.is_ours(PROGRAM, &server()), "{command}");
        }
    }

    #[test]
    fn entry_starting_another_program_is_not_ours() {
        for (command, args) in
            [("npx", json!(["mcp"])), ("vademecum", json!(["serve"])), ("vademecum", json!([]))]
        {
            let entry = ServerEntry::from_fields([("command", json!(command)), ("args", args)]);
            assert!(!entry.is_ours(PROGRAM, &server()), "{entry:?}");
        }
        assert!(!ServerEntry::default().is_ours(PROGRAM, &server()));
    }

    #[test]
    fn entries_of_other_layouts_are_recognised() {
        let is_ours = |fields| ServerEntry { fields }.is_ours(PROGRAM, &server());
        let field = |key: &str, value: Value| (key.to_owned(), value);
        assert!(is_ours(vec![field("command", json!(["/bin/vademecum", "mcp"]))]));
        assert!(!is_ours(vec![field("command", json!(["/bin/vademecum", "serve"]))]));
        assert!(!is_ours(vec![field("command", json!([]))]));
        assert!(is_ours(vec![field("cmd", json!("vademecum")), field("args", json!(["mcp"]))]));
        for name in ADDRESS_FIELDS {
            assert!(is_ours(vec![field(name, json!("http://127.0.0.1:7744/mcp"))]), "{name}");
        }
    }

    #[test]
    fn entry_with_server_address_is_ours() {
        let at =
            |url: &str| ServerEntry::from_fields([("url", json!(url))]).is_ours(PROGRAM, &server());
        assert!(at("http://127.0.0.1:7744/mcp"));
        assert!(!at("https://other.example/mcp"));
    }

    #[test]
    fn entry_name_rejects_unsupported_characters() {
        for name in ["vademecum", "My-notes_2"] {
            assert!(name.parse::<EntryName>().is_ok(), "{name}");
        }
        for name in ["", "a b", "a.b", "ä", "x\"y"] {
            assert!(name.parse::<EntryName>().is_err(), "{name}");
        }
    }
}
