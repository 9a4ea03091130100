//! The data of links and of the names that they lead to.

use rusqlite::Row;
use schemars::JsonSchema;
use serde::Serialize;
use vademecum_model::{SourceName, Uri};

/// The form in which a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// `[[Name]]`.
    Wikilink,
    /// `![[Name]]` or `{{embed …}}`.
    Embed,
    /// `![text](path)`.
    Image,
    /// `[text](path)`.
    Markdown,
    /// `((id))` or `[[id:…]]`.
    Block,
    /// `#tag` in Logseq, where a tag is a page.
    Tag,
    /// A link in the front matter.
    Property,
    /// The URI of an item, such as `media://3`.
    Uri,
    /// A web address.
    Address,
    /// A block quote whose text is in another item.
    Quote,
    /// The item replaces the other one.
    Supersedes,
    /// The other item replaces this one.
    SupersededBy,
}

impl LinkKind {
    const ALL: [Self; 12] = [
        Self::Wikilink,
        Self::Embed,
        Self::Image,
        Self::Markdown,
        Self::Block,
        Self::Tag,
        Self::Property,
        Self::Uri,
        Self::Address,
        Self::Quote,
        Self::Supersedes,
        Self::SupersededBy,
    ];

    /// The kinds that say which item replaces which.
    pub const SUPERSEDING: [Self; 2] = [Self::Supersedes, Self::SupersededBy];

    /// Returns the name in outputs and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wikilink => "wikilink",
            Self::Embed => "embed",
            Self::Image => "image",
            Self::Markdown => "markdown",
            Self::Block => "block",
            Self::Tag => "tag",
            Self::Property => "property",
            Self::Uri => "uri",
            Self::Address => "address",
            Self::Quote => "quote",
            Self::Supersedes => "supersedes",
            Self::SupersededBy => "superseded_by",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its form.
    pub kind: LinkKind,
    /// The part of the target by which names are searched.
    pub key: String,
    /// The target as written, without fragment and label.
    pub target: String,
    /// The heading or block in the target; empty without one.
    pub fragment: String,
    /// Position in the text, in characters.
    pub position: usize,
    /// The text around the link, on one line.
    pub context: String,
}

/// A link and the item that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLink {
    /// The item that contains the link.
    pub from: Uri,
    /// Kind, key and place of the link.
    pub link: Link,
}

impl StoredLink {
    pub(super) fn from_row(source: SourceName, row: &Row<'_>) -> rusqlite::Result<Self> {
        let kind: String = row.get("kind")?;
        let kind = LinkKind::parse(&kind);
        let position: i64 = row.get("position")?;
        Ok(Self {
            from: Uri::item(source, row.get::<_, String>("item")?),
            link: Link {
                kind: kind.ok_or_else(|| rusqlite::Error::InvalidColumnName("kind".to_owned()))?,
                key: row.get("key")?,
                target: row.get("target")?,
                fragment: row.get("fragment")?,
                position: usize::try_from(position).unwrap_or(0),
                context: row.get("context")?,
            },
        })
    }
}

/// Kind of a name, in the order in which names of one item's space are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameKind {
    /// The path of a file.
    File,
    /// The name of a page, or the title of an item without a file.
    Page,
    /// Another name of the item.
    Alias,
    /// The title of an item with a file, by which only items without a file link to it.
    Title,
    /// The identifier of a block.
    Block,
    /// A web address of the item.
    Address,
    /// The URI of the item.
    Uri,
}

impl NameKind {
    const ALL: [Self; 7] =
        [Self::File, Self::Page, Self::Alias, Self::Title, Self::Block, Self::Address, Self::Uri];

    /// Returns the name in the database.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Page => "page",
            Self::Alias => "alias",
            Self::Title => "title",
            Self::Block => "block",
            Self::Address => "address",
            Self::Uri => "uri",
        }
    }
}

/// A name by which links find an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkName {
    /// Kind of the name.
    pub kind: NameKind,
    /// Key by which it is searched, as that of a [`Link`].
    pub key: String,
    /// The name, in the form in which it is compared.
    pub name: String,
    /// Path of the file in the form in which it is compared, without the extension of a Markdown
    /// file; empty for an item without a file.
    pub path: String,
    /// Folder or file in which the links of the item are resolved; empty for one that was written in
    /// the library.
    pub space: String,
}

/// A name and the item that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredName {
    /// The item.
    pub uri: Uri,
    /// One of the item's names; an item can have several.
    pub name: LinkName,
}

impl StoredName {
    pub(super) fn from_row(source: SourceName, row: &Row<'_>) -> rusqlite::Result<Self> {
        let kind: String = row.get("kind")?;
        let kind = NameKind::ALL.into_iter().find(|known| known.as_str() == kind);
        Ok(Self {
            uri: Uri::item(source, row.get::<_, String>("item")?),
            name: LinkName {
                kind: kind.ok_or_else(|| rusqlite::Error::InvalidColumnName("kind".to_owned()))?,
                key: row.get("key")?,
                name: row.get("name")?,
                path: row.get("path")?,
                space: row.get("space")?,
            },
        })
    }
}
