//! Edits of a client's settings as text: one entry is inserted or removed and everything else is
//! preserved.

use super::{
    entry::{EntryName, ServerEntry},
    json, toml,
};

/// Syntax of a client's settings, and the section that lists servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettingsLayout {
    /// Syntax of the file.
    pub(super) syntax: SettingsSyntax,
    /// Key of the object or table that lists the servers.
    pub(super) section: &'static str,
}

/// Syntax of a client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingsSyntax {
    /// Standard JSON.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
}

/// Error of parsing or editing a client's settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DocumentError {
    /// The text cannot be parsed.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// Message of the parser.
        what: String,
    },
    /// The text can be parsed, but its structure is not that of the client's settings.
    #[error("{0}")]
    WrongStructure(String),
}

/// UTF-8 byte order mark, which some editors write at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl SettingsLayout {
    /// Returns the entry of that name, or `None` if there is none.
    pub(super) fn find_entry(
        self,
        text: &str,
        name: &EntryName,
    ) -> Result<Option<ServerEntry>, DocumentError> {
        let (_, text) = split_byte_order_mark(text);
        match self.syntax {
            SettingsSyntax::Json | SettingsSyntax::Jsonc => {
                json::find_entry(text, self, name.as_str())
            }
            SettingsSyntax::Toml => toml::find_entry(text, self.section, name.as_str()),
        }
    }

    /// Returns the text with this entry. An existing entry of that name gets these fields, and
    /// keeps other fields that do not conflict with them.
    pub(super) fn upsert_entry(
        self,
        text: &str,
        name: &EntryName,
        entry: &ServerEntry,
    ) -> Result<String, DocumentError> {
        let (mark, text) = split_byte_order_mark(text);
        let changed = match self.syntax {
            SettingsSyntax::Json | SettingsSyntax::Jsonc => {
                json::upsert_entry(text, self, name.as_str(), entry)
            }
            SettingsSyntax::Toml => toml::upsert_entry(text, self.section, name.as_str(), entry),
        };
        Ok(mark.to_owned() + &changed?)
    }

    /// Returns the text without the entry of that name.
    pub(super) fn remove_entry(
        self,
        text: &str,
        name: &EntryName,
    ) -> Result<String, DocumentError> {
        let (mark, text) = split_byte_order_mark(text);
        let changed = match self.syntax {
            SettingsSyntax::Json | SettingsSyntax::Jsonc => {
                json::remove_entry(text, self, name.as_str())
            }
            SettingsSyntax::Toml => toml::remove_entry(text, self.section, name.as_str()),
        };
        Ok(mark.to_owned() + &changed?)
    }
}

impl DocumentError {
    /// Creates a syntax error for a byte offset in the text.
    pub(super) fn syntax_error_at(text: &str, byte: usize, what: &str) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self::Syntax {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            what: what.trim().replace('\n', "; "),
        }
    }

    /// Creates the error for a section that is not an object or table.
    pub(super) fn not_a_table(name: &str) -> Self {
        Self::WrongStructure(format!("`{name}` cannot list servers: it is not an object or table"))
    }
}

fn split_byte_order_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn byte_order_mark_is_preserved() {
        let layout = SettingsLayout { syntax: SettingsSyntax::Json, section: "mcpServers" };
        let name = "vademecum".parse().unwrap();
        let entry = ServerEntry::from_fields([("command", json!("x"))]);
        let text = layout.upsert_entry("\u{feff}{}\n", &name, &entry).unwrap();
        assert!(text.starts_with("\u{feff}{\n"), "{text}");
        assert_eq!(layout.find_entry(&text, &name).unwrap(), Some(entry));
        assert!(layout.remove_entry(&text, &name).unwrap().starts_with("\u{feff}{"));
    }

    #[test]
    fn syntax_error_has_line_and_column() {
        let broken = DocumentError::syntax_error_at("é\nüb", 5, "odd");
        assert_eq!(broken, DocumentError::Syntax { line: 2, column: 2, what: "odd".to_owned() });
    }
}
