//! The settings of a client as text, in which one entry is put or taken out
//! and everything else stays as it is.

use super::{
    entry::{Entry, EntryName},
    json, toml,
};

/// How a client's settings are written, and where in them servers are listed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The language.
    pub(super) syntax: Syntax,
    /// The name of what the servers are listed in.
    pub(super) section: &'static str,
}

/// The language of a client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON as the standard has it.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
}

/// Why a text cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    /// It cannot be read.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// In which line, from 1.
        line: usize,
        /// At which character of the line, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// It can be read, but is not what the settings of that client are.
    #[error("{0}")]
    Shape(String),
}

/// What some editors put before a text in UTF-8.
const MARK: char = '\u{feff}';

impl Layout {
    /// The entry of that name.
    pub(super) fn find(self, text: &str, name: &EntryName) -> Result<Option<Entry>, Broken> {
        let (_, text) = unmarked(text);
        match self.syntax {
            Syntax::Json | Syntax::Jsonc => json::find(text, self, name.as_str()),
            Syntax::Toml => toml::find(text, self.section, name.as_str()),
        }
    }

    /// The text with this entry. Where there is one of that name, it gets
    /// these fields, and keeps those that do not contradict them.
    pub(super) fn put(self, text: &str, name: &EntryName, entry: &Entry) -> Result<String, Broken> {
        let (mark, text) = unmarked(text);
        let changed = match self.syntax {
            Syntax::Json | Syntax::Jsonc => json::put(text, self, name.as_str(), entry),
            Syntax::Toml => toml::put(text, self.section, name.as_str(), entry),
        };
        Ok(mark.to_owned() + &changed?)
    }

    /// The text without the entry of that name.
    pub(super) fn take(self, text: &str, name: &EntryName) -> Result<String, Broken> {
        let (mark, text) = unmarked(text);
        let changed = match self.syntax {
            Syntax::Json | Syntax::Jsonc => json::take(text, self, name.as_str()),
            Syntax::Toml => toml::take(text, self.section, name.as_str()),
        };
        Ok(mark.to_owned() + &changed?)
    }
}

impl Broken {
    /// What is wrong at a byte of a text.
    pub(super) fn at(text: &str, byte: usize, what: &str) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self::Syntax {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            what: what.trim().replace('\n', "; "),
        }
    }

    /// Something is not what holds named values.
    pub(super) fn no_table(name: &str) -> Self {
        Self::Shape(format!("`{name}` is not what servers could be listed in"))
    }
}

fn unmarked(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(MARK) { MARK.len_utf8() } else { 0 })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mark_at_the_beginning_stays() {
        let layout = Layout { syntax: Syntax::Json, section: "mcpServers" };
        let name = "vademecum".parse().unwrap();
        let entry = Entry::of([("command", json!("x"))]);
        let text = layout.put("\u{feff}{}\n", &name, &entry).unwrap();
        assert!(text.starts_with("\u{feff}{\n"), "{text}");
        assert_eq!(layout.find(&text, &name).unwrap(), Some(entry));
        assert!(layout.take(&text, &name).unwrap().starts_with("\u{feff}{"));
    }

    #[test]
    fn a_place_is_told_by_line_and_character() {
        let broken = Broken::at("é\nüb", 5, "odd");
        assert_eq!(broken, Broken::Syntax { line: 2, column: 2, what: "odd".to_owned() });
    }
}
