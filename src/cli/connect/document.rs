//! Edits of a client's settings as text: one entry is inserted or removed and everything else is
//! preserved.

use super::{
    entry::{EntryName, ServerEntry},
    json,
    layout::{DocumentError, SettingsLayout, SettingsSyntax},
    toml, yaml,
};

/// UTF-8 byte order mark, which some editors write at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl SettingsLayout {
    /// Returns the name of each entry and the entry.
    pub(super) fn entries(self, text: &str) -> Result<Vec<(String, ServerEntry)>, DocumentError> {
        let (_, text) = split_byte_order_mark(text);
        match self.syntax {
            SettingsSyntax::Json | SettingsSyntax::Jsonc => json::entries(text, self),
            SettingsSyntax::Toml => toml::entries(text, self.section),
            SettingsSyntax::Yaml => yaml::entries(text, self.section),
        }
    }

    /// Returns the entry of that name, or `None` if there is none.
    pub(super) fn find_entry(
        self,
        text: &str,
        name: &EntryName,
    ) -> Result<Option<ServerEntry>, DocumentError> {
        let mut entries = self.entries(text)?.into_iter();
        Ok(entries.find(|(key, _)| key == name.as_str()).map(|(_, entry)| entry))
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
            SettingsSyntax::Yaml => yaml::upsert_entry(text, self.section, name.as_str(), entry),
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
            SettingsSyntax::Yaml => yaml::remove_entry(text, self.section, name.as_str()),
        };
        Ok(mark.to_owned() + &changed?)
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
}
