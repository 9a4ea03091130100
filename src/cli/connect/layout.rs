//! The layout of a client's settings, and the error of a text that does not have it.

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
    /// YAML.
    Yaml,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_error_has_line_and_column() {
        let broken = DocumentError::syntax_error_at("é\nüb", 5, "odd");
        assert_eq!(broken, DocumentError::Syntax { line: 2, column: 2, what: "odd".to_owned() });
    }
}
