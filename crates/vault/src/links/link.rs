//! The data of links and of the names that they lead to.

use rusqlite::{Row, types::ValueRef};
use schemars::JsonSchema;
use serde::Serialize;
use vademecum_model::{SourceName, Uri};

use super::key::LinkKey;

/// Length of the identifiers of blocks that programs make; a word in double parentheses is shorter.
const MIN_BLOCK_ID_CHARS: usize = 36;

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
    /// All kinds. The number of a kind in the database is its place in this list, from 1.
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

    /// Returns the name in outputs.
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

    /// Returns the number in the database.
    pub(super) fn number(self) -> i64 {
        number_in(&Self::ALL, self)
    }
}

/// Returns the place of a value in a list, from 1.
fn number_in<T: Copy + PartialEq>(all: &[T], value: T) -> i64 {
    let place = all.iter().position(|known| *known == value);
    place.and_then(|place| i64::try_from(place + 1).ok()).unwrap_or_default()
}

/// Reads the column `kind`: a place in a list, from 1.
fn read_kind<T: Copy>(all: &[T], row: &Row<'_>) -> rusqlite::Result<T> {
    let number: i64 = row.get("kind")?;
    let place = usize::try_from(number - 1).ok();
    let kind = place.and_then(|place| all.get(place));
    kind.copied().ok_or_else(|| rusqlite::Error::InvalidColumnName("kind".to_owned()))
}

/// A link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its form.
    pub kind: LinkKind,
    /// Key of the part of the target by which names are searched.
    pub key: LinkKey,
    /// The target as written, without fragment and label. Empty for a web address that was found by its key.
    pub target: String,
    /// The heading or block in the target; empty without one.
    pub fragment: String,
    /// Position in the text, in characters; 0 for a link that was found by its key.
    pub position: usize,
    /// The text around the link, on one line; empty for a link that was found by its key.
    pub context: String,
}

impl Link {
    /// Returns whether the link should lead to an item. Web addresses lead elsewhere, and tags and short words
    /// in double parentheses need not be links.
    pub fn needs_target(&self) -> bool {
        match self.kind {
            LinkKind::Wikilink
            | LinkKind::Embed
            | LinkKind::Image
            | LinkKind::Markdown
            | LinkKind::Property
            | LinkKind::Uri
            | LinkKind::Supersedes
            | LinkKind::SupersededBy => true,
            LinkKind::Block => self.target.len() >= MIN_BLOCK_ID_CHARS,
            LinkKind::Tag | LinkKind::Address | LinkKind::Quote => false,
        }
    }

    /// Returns the item whose URI the target is, if it is one.
    pub fn target_uri(&self) -> Option<Uri> {
        let uri: Uri = self.target.parse().ok()?;
        Some(Uri::item(uri.source, uri.id))
    }
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
        Ok(Self {
            from: Uri::item(source, row.get::<_, String>("item")?),
            link: Link {
                kind: read_kind(&LinkKind::ALL, row)?,
                key: LinkKey::from_stored(row.get("key")?),
                target: row.get("target")?,
                fragment: row.get("fragment")?,
                position: 0,
                context: String::new(),
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

    /// Returns the number in the database: the place in the list of all, from 1.
    pub(super) fn number(self) -> i64 {
        number_in(&Self::ALL, self)
    }
}

/// A name by which links find an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkName {
    /// Kind of the name.
    pub kind: NameKind,
    /// Key by which it is searched, as that of a [`Link`].
    pub key: LinkKey,
    /// Hash of the name in the form in which it is compared. Files are compared by their paths.
    pub name: LinkKey,
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
        let (path, space) = read_place(row)?;
        let key = LinkKey::from_stored(row.get("key")?);
        let name: i64 = row.get("name")?;
        Ok(Self {
            uri: Uri::item(source, row.get::<_, String>("item")?),
            name: LinkName {
                kind: read_kind(&NameKind::ALL, row)?,
                key,
                name: if name == 0 { key } else { LinkKey::from_stored(name) },
                path,
                space,
            },
        })
    }
}

/// Reads the columns `path` and `space`.
pub(super) fn read_place(row: &Row<'_>) -> rusqlite::Result<(String, String)> {
    let path: String = row.get("path")?;
    let space = match row.get_ref("space")? {
        ValueRef::Integer(length) => {
            let length = usize::try_from(length).unwrap_or(0);
            path.get(..length).unwrap_or_default().to_owned()
        }
        other => other.as_str()?.to_owned(),
    };
    Ok((path, space))
}
