//! The syntax in which a text writes its links.

use vademecum_model::SourceName;

/// Syntax of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Markdown with the links of Obsidian.
    Markdown,
    /// Markdown of Logseq, where tags are pages and the names of pages contain any character.
    Logseq,
    /// Org mode.
    Org,
    /// Org mode of Logseq.
    LogseqOrg,
    /// Text with web addresses and URIs of items only.
    Plain,
}

impl Dialect {
    /// Returns the syntax of an item by its source and the path of its file, if it has one.
    pub(super) fn of_item(source: SourceName, path: Option<&str>) -> Self {
        let extension =
            path.and_then(|path| path.rsplit_once('.')).map(|(_, it)| it.to_lowercase());
        let is_page = path.is_some_and(is_logseq_page);
        match (source, extension.as_deref()) {
            (SourceName::Notes, Some("org")) if is_page => Self::LogseqOrg,
            (SourceName::Notes, Some("org")) => Self::Org,
            (SourceName::Notes, Some("txt")) => Self::Plain,
            (SourceName::Notes, _) if is_page => Self::Logseq,
            (SourceName::Notes, _) | (SourceName::Media, Some("md" | "markdown")) => Self::Markdown,
            (
                SourceName::Media
                | SourceName::Chats
                | SourceName::Characters
                | SourceName::Prompts
                | SourceName::Collections,
                _,
            ) => Self::Plain,
        }
    }

    /// Returns `true` for the syntaxes of Logseq.
    pub(super) fn is_logseq(self) -> bool {
        matches!(self, Self::Logseq | Self::LogseqOrg)
    }

    /// Returns `true` for the syntaxes of Org mode.
    pub(super) fn is_org(self) -> bool {
        matches!(self, Self::Org | Self::LogseqOrg)
    }
}

/// Returns `true` for a file in a folder in which Logseq keeps pages.
pub(super) fn is_logseq_page(path: &str) -> bool {
    let folder = path.rsplit(['/', '\\']).nth(1);
    matches!(folder, Some("pages" | "journals"))
}
