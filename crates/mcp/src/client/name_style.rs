//! Styles of tool names.

/// Spelling of tool names in `tools/list` and in descriptions; calls accept both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameStyle {
    /// `knowledge.search`.
    Dotted,
    /// `knowledge_search`, for clients that reject dots.
    Underscored,
}

impl NameStyle {
    /// Returns a tool name in this style.
    pub fn format_name(self, name: &str) -> String {
        match self {
            Self::Dotted => name.to_owned(),
            Self::Underscored => name.replace('.', "_"),
        }
    }
}
