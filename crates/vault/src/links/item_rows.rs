//! The rows that are stored for the links, names, properties and tasks of one item.

use std::collections::{BTreeSet, HashSet};

use rusqlite::named_params;
use twox_hash::XxHash3_64;
use vademecum_model::{DraftBody, NoteDraft, SourceName};
use vademecum_store::{Reader, StoreError, Writer};

use super::{
    Dialect, Extracted, Link, LinkKey, LinkKind, LinkPlace, NameKind,
    body_text::body_text,
    dialect::is_logseq_page,
    extract::extract_links,
    key::{
        address_key, block_key, decode_percent, name_key, normalize_name, normalize_page,
        normalize_path,
    },
    properties::{Properties, extract_properties},
    tasks::TaskCounts,
};

/// Inserts the row of an item. `space` is the number of bytes of the path that are the folder, if it begins so.
const INSERT_ITEM_SQL: &str = "INSERT INTO link_items \
     (source, item, path, space, keys, digest, open_tasks, done_tasks) \
     VALUES (:source, :item, :path, coalesce(:length, :space), :keys, :digest, :open, :done) \
     RETURNING number";
/// Inserts a link of an item.
const INSERT_LINK_SQL: &str = "INSERT OR IGNORE INTO links (key, item, kind, target, fragment) \
     VALUES (:key, :item, :kind, :target, :fragment)";
/// Inserts a web address in an item.
const INSERT_ADDRESS_SQL: &str =
    "INSERT OR IGNORE INTO link_addresses (key, item) VALUES (:key, :item)";
/// Inserts a name of an item.
const INSERT_NAME_SQL: &str =
    "INSERT INTO link_names (key, item, kind, name) VALUES (:key, :item, :kind, :name)";
/// Inserts a value of a property of an item.
const INSERT_PROPERTY_SQL: &str =
    "INSERT INTO note_properties (name, item, value) VALUES (:name, :item, :value)";
/// Removes the properties of an item.
const DELETE_PROPERTIES_SQL: &str = "DELETE FROM note_properties WHERE item = :item";
/// The row of an item.
const ITEM_SQL: &str =
    "SELECT number, keys, digest FROM link_items WHERE source = :source AND item = :item";
/// Replaces the keys of an item.
const SET_KEYS_SQL: &str =
    "UPDATE link_items SET keys = :keys, digest = :digest WHERE number = :item";
/// Removes the names of an item.
const DELETE_NAMES_SQL: &str = "DELETE FROM link_names WHERE item = :item";
/// Removes the links of an item with a key.
const DELETE_LINKS_SQL: &str = "DELETE FROM links WHERE key = :key AND item = :item";
/// Removes an address of an item.
const DELETE_ADDRESS_SQL: &str = "DELETE FROM link_addresses WHERE key = :key AND item = :item";
/// Removes the row of an item.
const DELETE_ITEM_SQL: &str = "DELETE FROM link_items WHERE number = :item";

/// Maximum number of links of an item that is no note. Web pages have hundreds.
const MAX_PLAIN_LINKS: usize = 200;
/// Bytes of a key in the row of an item.
const KEY_BYTES: usize = 6;

/// The rows of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ItemRows {
    pub(super) place: LinkPlace,
    /// Stored keys of its web addresses.
    pub(super) addresses: BTreeSet<i64>,
    /// Its other links: stored key, number of the kind, target and fragment.
    pub(super) links: BTreeSet<(i64, i64, String, String)>,
    /// Its names: stored key, number of the kind, and the hash of the name, or 0.
    pub(super) names: BTreeSet<(i64, i64, i64)>,
    /// Properties of a note.
    pub(super) properties: Properties,
    /// Tasks of a note.
    pub(super) tasks: TaskCounts,
}

impl ItemRows {
    /// Returns the rows of an item with this content, whose first origin is `origin`.
    pub(super) fn new(source: SourceName, origin: Option<&str>, body: &DraftBody) -> Self {
        let place = ItemPlace::of(origin, body);
        let extracted = item_links(body, &place);
        let names = item_names(body, &place, &extracted).into_iter().map(|(kind, key, name)| {
            let (key, name) = (LinkKey::of(&key), LinkKey::of(&name));
            let other = if name == key { 0 } else { name.in_source(source) };
            (key.in_source(source), kind.number(), other)
        });
        let names = names.collect();
        let (properties, tasks) = match body {
            DraftBody::Note(note) => {
                let (text, dialect) = (&note.content, place.dialect(source));
                (extract_properties(text, dialect), TaskCounts::of(text, dialect))
            }
            _ => (Properties::new(), TaskCounts::default()),
        };
        let links = Self::of_links(source, &extracted.links);
        Self { names, properties, tasks, place: place.link_place(), ..links }
    }

    /// Returns the rows of links.
    pub(super) fn of_links(source: SourceName, links: &[Link]) -> Self {
        let mut rows = Self::default();
        for link in links {
            let key = link.key.in_source(source);
            if link.kind == LinkKind::Address {
                rows.addresses.insert(key);
            } else if !link.target.is_empty() {
                let (target, fragment) = (link.target.clone(), link.fragment.clone());
                rows.links.insert((key, link.kind.number(), target, fragment));
            }
        }
        rows
    }

    /// Returns whether nothing is stored for the item.
    pub(super) fn is_empty(&self) -> bool {
        let (has_properties, has_tasks) =
            (!self.properties.is_empty(), self.tasks != TaskCounts::default());
        let is_linked = !(self.addresses.is_empty() && self.links.is_empty());
        !is_linked && self.names.is_empty() && !has_properties && !has_tasks
    }

    /// Returns the keys of links and addresses as the row of the item has them.
    pub(super) fn keys(&self) -> Vec<u8> {
        let keys: BTreeSet<i64> =
            self.links.iter().map(|(key, ..)| *key).chain(self.addresses.iter().copied()).collect();
        encode_keys(&keys)
    }

    /// Stores the rows of an item that has none.
    pub(super) fn insert(
        &self,
        writer: &Writer<'_>,
        source: SourceName,
        item: &str,
    ) -> Result<(), StoreError> {
        if self.is_empty() {
            return Ok(());
        }
        let LinkPlace { path, space } = &self.place;
        let parameters = named_params! {
            ":source": source.as_str(), ":item": item, ":path": path, ":space": space,
            ":length": self.place.space_length(), ":keys": self.keys(), ":digest": self.digest(),
            ":open": self.tasks.open, ":done": self.tasks.done,
        };
        let inserted =
            writer.query_first(INSERT_ITEM_SQL, parameters, |row| row.get::<_, i64>("number"))?;
        let Some(number) = inserted else { return Ok(()) };
        for (key, kind, name) in &self.names {
            let parameters =
                named_params! { ":key": key, ":item": number, ":kind": kind, ":name": name };
            writer.execute(INSERT_NAME_SQL, parameters)?;
        }
        for (name, value) in &self.properties {
            let parameters = named_params! { ":name": name, ":item": number, ":value": value };
            writer.execute(INSERT_PROPERTY_SQL, parameters)?;
        }
        self.insert_links(writer, number).map(drop)
    }

    /// Adds these links to those of an item.
    pub(super) fn append(
        &self,
        writer: &Writer<'_>,
        source: SourceName,
        item: &str,
    ) -> Result<(), StoreError> {
        let Some(known) = StoredItem::find(writer, source, item)? else {
            return self.insert(writer, source, item);
        };
        let mut all: BTreeSet<i64> = decode_keys(&known.keys).collect();
        all.extend(decode_keys(&self.keys()));
        let keys = encode_keys(&all);
        let digest = known
            .digest
            .wrapping_sub(digest_of_keys(&known.keys))
            .wrapping_add(digest_of_keys(&keys))
            .wrapping_add(self.insert_links(writer, known.number)?);
        let parameters = named_params! { ":keys": keys, ":digest": digest, ":item": known.number };
        writer.execute(SET_KEYS_SQL, parameters)?;
        Ok(())
    }

    /// Inserts links and addresses, and returns the sum of the digests of those that the item had not yet.
    fn insert_links(&self, writer: &Writer<'_>, number: i64) -> Result<i64, StoreError> {
        let mut sum = 0_i64;
        for link in &self.links {
            let (key, kind, target, fragment) = link;
            let parameters = named_params! {
                ":key": key, ":item": number, ":kind": kind, ":target": target,
                ":fragment": fragment,
            };
            if writer.execute(INSERT_LINK_SQL, parameters)? > 0 {
                sum = sum.wrapping_add(digest_of_link(link));
            }
        }
        for key in &self.addresses {
            let parameters = named_params! { ":key": key, ":item": number };
            if writer.execute(INSERT_ADDRESS_SQL, parameters)? > 0 {
                sum = sum.wrapping_add(digest_of_address(*key));
            }
        }
        Ok(sum)
    }

    /// Returns the digest of all rows: the sum of the digests of each, so that links can be added.
    fn digest(&self) -> i64 {
        let links = self.links.iter().map(digest_of_link);
        let addresses = self.addresses.iter().map(|key| digest_of_address(*key));
        let names = self.names.iter().map(|name| digest_of_name(*name));
        let properties =
            self.properties.iter().map(|(name, value)| digest_of_property(name, value));
        let item = [
            digest_of_place(&self.place),
            digest_of_keys(&self.keys()),
            digest_of_tasks(self.tasks),
        ];
        let rows = links.chain(addresses).chain(names).chain(properties);
        rows.chain(item).fold(0, i64::wrapping_add)
    }
}

/// Returns the digest of a link: stored key, number of the kind, target and fragment.
pub(super) fn digest_of_link((key, kind, target, fragment): &(i64, i64, String, String)) -> i64 {
    let numbers = [key.to_le_bytes(), kind.to_le_bytes()].concat();
    digest_of(&[b"link", &numbers, target.as_bytes(), fragment.as_bytes()])
}

/// Returns the digest of a web address.
pub(super) fn digest_of_address(key: i64) -> i64 {
    digest_of(&[b"address", &key.to_le_bytes()])
}

/// Returns the digest of a name.
pub(super) fn digest_of_name((key, kind, name): (i64, i64, i64)) -> i64 {
    digest_of(&[b"name", &[key, kind, name].map(i64::to_le_bytes).concat()])
}

/// Returns the digest of a value of a property.
pub(super) fn digest_of_property(name: &str, value: &str) -> i64 {
    digest_of(&[b"property", name.as_bytes(), value.as_bytes()])
}

/// Returns the digest of the numbers of tasks of an item.
pub(super) fn digest_of_tasks(TaskCounts { open, done }: TaskCounts) -> i64 {
    digest_of(&[b"tasks", &open.to_le_bytes(), &done.to_le_bytes()])
}

/// Returns the digest of the place of an item.
pub(super) fn digest_of_place(place: &LinkPlace) -> i64 {
    digest_of(&[b"place", place.path.as_bytes(), place.space.as_bytes()])
}

/// Returns the digest of the keys of an item.
pub(super) fn digest_of_keys(keys: &[u8]) -> i64 {
    digest_of(&[b"keys", keys])
}

fn digest_of(parts: &[&[u8]]) -> i64 {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    XxHash3_64::oneshot(&bytes).cast_signed()
}

/// The stored row of an item.
struct StoredItem {
    number: i64,
    keys: Vec<u8>,
    digest: i64,
}

impl StoredItem {
    fn find(
        writer: &Writer<'_>,
        source: SourceName,
        item: &str,
    ) -> Result<Option<Self>, StoreError> {
        let parameters = named_params! { ":source": source.as_str(), ":item": item };
        writer.query_first(ITEM_SQL, parameters, |row| {
            let (number, keys) = (row.get("number")?, row.get("keys")?);
            Ok(Self { number, keys, digest: row.get("digest")? })
        })
    }
}

/// Removes the rows of an item.
pub(super) fn remove_rows(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
) -> Result<(), StoreError> {
    let Some(StoredItem { number, keys, .. }) = StoredItem::find(writer, source, item)? else {
        return Ok(());
    };
    for key in decode_keys(&keys) {
        let parameters = named_params! { ":key": key, ":item": number };
        writer.execute(DELETE_LINKS_SQL, parameters)?;
        writer.execute(DELETE_ADDRESS_SQL, parameters)?;
    }
    for sql in [DELETE_NAMES_SQL, DELETE_PROPERTIES_SQL, DELETE_ITEM_SQL] {
        writer.execute(sql, named_params! { ":item": number })?;
    }
    Ok(())
}

fn encode_keys(keys: &BTreeSet<i64>) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_le_bytes().into_iter().take(KEY_BYTES)).collect()
}

fn decode_keys(bytes: &[u8]) -> impl Iterator<Item = i64> {
    bytes
        .chunks_exact(KEY_BYTES)
        .map(|bytes| bytes.iter().rev().fold(0, |key, byte| (key << u8::BITS) | i64::from(*byte)))
}

/// The file of an item, and the folder in which its links are resolved.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemPlace {
    /// Path of the file, if the item is a whole file.
    file: Option<String>,
    /// Folder that was imported, the folder of the graph, or the file of which the item is a part;
    /// empty for items written in the library.
    space: String,
}

impl ItemPlace {
    /// Returns the path of the file in the form in which names are compared.
    fn path(&self) -> Option<String> {
        self.file.as_deref().map(normalize_path)
    }

    /// Returns the place in which the links of the item are resolved.
    pub(super) fn link_place(&self) -> LinkPlace {
        LinkPlace { path: self.path().unwrap_or_default(), space: self.space.clone() }
    }

    /// Returns the place of an item with this content, by its first origin.
    pub(super) fn stored(
        reader: &Reader<'_>,
        source: SourceName,
        item: &str,
        body: &DraftBody,
    ) -> Result<Self, StoreError> {
        let this = named_params! { ":source": source.as_str(), ":item": item };
        let origin: Option<String> =
            reader.query_first(include_str!("sql/origins.sql"), this, |row| row.get("origin"))?;
        Ok(Self::of(origin.as_deref(), body))
    }

    /// Returns the syntax of the item.
    pub(super) fn dialect(&self, source: SourceName) -> Dialect {
        Dialect::of_item(source, self.file.as_deref())
    }

    pub(super) fn of(origin: Option<&str>, body: &DraftBody) -> Self {
        let Some(path) = origin.and_then(|origin| origin.strip_prefix("file:")) else {
            return Self::default();
        };
        let path = path.replace('\\', "/");
        if let Some((file, _)) = path.split_once('#')
            && !is_whole_file(&path, body)
        {
            return Self { file: None, space: normalize_name(file) };
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let space = if is_logseq_page(&path) {
            folder.rsplit_once('/').map_or("", |(graph, _)| graph)
        } else {
            let folders = match body {
                DraftBody::Note(note) => note.folders.join("/"),
                _ => String::new(),
            };
            folder.strip_suffix(&folders).unwrap_or(folder).trim_end_matches('/')
        };
        Self { space: normalize_name(space), file: Some(path) }
    }
}

/// Returns `true` if `#` belongs to the name of a file. The items of an export have `#` and a number
/// or an identifier after its path, and notes of whole files have the name of the file.
fn is_whole_file(path: &str, body: &DraftBody) -> bool {
    let DraftBody::Note(note) = body else { return false };
    let stem = file_stem(path);
    note.title == stem || note.names.iter().any(|name| name == stem)
}

fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Returns the links of an item. Only notes and documents may have repeated links, or many.
pub(super) fn item_links(body: &DraftBody, place: &ItemPlace) -> Extracted {
    let dialect = place.dialect(body.source());
    let mut extracted = match body {
        DraftBody::Note(note) => return extract_links(&note.content, dialect),
        DraftBody::Media(media) => extract_links(&media.content, dialect),
        _ => extract_links(&body_text(body), dialect),
    };
    // A page names the same address many times.
    let mut seen = HashSet::new();
    extracted.links.retain(|link| seen.insert((link.kind, link.key)));
    extracted.omitted += extracted.links.len().saturating_sub(MAX_PLAIN_LINKS);
    extracted.links.truncate(MAX_PLAIN_LINKS);
    extracted
}

/// Returns the names by which links find an item: kind, key, and the name in the form in which it is compared.
fn item_names(
    body: &DraftBody,
    place: &ItemPlace,
    extracted: &Extracted,
) -> Vec<(NameKind, String, String)> {
    let page = |kind, name: &str| (kind, name_key(name), normalize_page(name));
    let by_key = |kind, key: String| (kind, key.clone(), key);
    let mut names = Vec::new();
    if let Some(path) = place.path() {
        names.push(by_key(NameKind::File, name_key(&path)));
    }
    match body {
        DraftBody::Note(note) => {
            names.extend(note_names(note, place).map(|(kind, it)| page(kind, &it)));
        }
        DraftBody::Media(media) => {
            names.push(page(NameKind::Title, &media.title));
            let address = media.url.as_deref().and_then(address_key);
            names.extend(address.map(|key| by_key(NameKind::Address, key)));
        }
        DraftBody::Character(card) => names.push(page(NameKind::Title, &card.name)),
        DraftBody::Prompt(prompt) => names.push(page(NameKind::Title, &prompt.name)),
        DraftBody::Chat(_) => {}
    }
    names.extend(extracted.aliases.iter().map(|name| page(NameKind::Alias, name)));
    names.extend(extracted.blocks.iter().map(|id| by_key(NameKind::Block, block_key(id))));
    let addresses = extracted.addresses.iter().filter_map(|it| address_key(it));
    names.extend(addresses.map(|key| by_key(NameKind::Address, key)));
    names.retain(|(_, key, _)| !key.is_empty());
    names
}

/// Returns the names of a note besides its file. In Logseq and for notes without a file, the title is
/// the name of the page; else it is one for links from outside of the folder.
fn note_names<'a>(
    note: &'a NoteDraft,
    place: &'a ItemPlace,
) -> impl Iterator<Item = (NameKind, String)> + use<'a> {
    let file = place.file.as_deref();
    let is_page = file.is_none_or(is_logseq_page);
    let title = if is_page { NameKind::Page } else { NameKind::Title };
    let stem = file.map(file_stem);
    let decoded = stem.filter(|_| is_page).map(|stem| decode_percent(&stem.replace("___", "/")));
    let aliases = note.names.iter().filter(move |name| Some(name.as_str()) != stem);
    [(title, note.title.clone())]
        .into_iter()
        .chain(decoded.map(|name| (NameKind::Page, name)))
        .chain(aliases.map(|name| (NameKind::Alias, name.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded_as_encoded() {
        let keys: BTreeSet<i64> =
            [1, 5, 0x7FFF_FFFF_FFFF, LinkKey::of("rye").in_source(SourceName::Notes)].into();
        let bytes = encode_keys(&keys);
        assert_eq!(bytes.len(), keys.len() * KEY_BYTES);
        assert_eq!(decode_keys(&bytes).collect::<BTreeSet<_>>(), keys);
    }

    #[test]
    fn addresses_are_stored_apart_from_links() {
        let note = NoteDraft {
            title: "Rye".to_owned(),
            content: "[[Oat]] [[Oat]] https://example.org/a http://www.example.org/a [[#Here]]"
                .to_owned(),
            ..NoteDraft::default()
        };
        let rows = ItemRows::new(SourceName::Notes, None, &DraftBody::Note(note));
        let oat = LinkKey::of("oat").in_source(SourceName::Notes);
        assert_eq!(rows.links, [(oat, 1, "Oat".to_owned(), String::new())].into());
        let address = LinkKey::of("url:example.org/a").in_source(SourceName::Notes);
        assert_eq!(rows.addresses, [address].into());
        let title = LinkKey::of("rye").in_source(SourceName::Notes);
        assert_eq!(rows.names, [(title, NameKind::Page.number(), 0)].into());
        assert_eq!(rows.keys().len(), 2 * KEY_BYTES);
    }
}
