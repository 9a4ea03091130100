//! Writing of links and names, in the transaction that writes their item.

use std::{collections::HashSet, time::Duration};

use rusqlite::named_params;
use vademecum_model::{Deadline, Draft, DraftBody, NoteDraft, SaveOutcome, SourceName};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Durability, Reader, Store, StoreError, Writer};

use super::{
    Dialect, Extracted, Link, LinkName, NameKind,
    body_text::body_text,
    dialect::is_logseq_page,
    extract::extract_links,
    key::{
        address_key, block_key, decode_percent, name_key, normalize_name, normalize_page,
        normalize_path,
    },
};

/// Removes the links of an item.
const DELETE_LINKS_SQL: &str = "DELETE FROM links WHERE source = :source AND item = :item";
/// Removes the names of an item.
const DELETE_NAMES_SQL: &str = "DELETE FROM link_names WHERE source = :source AND item = :item";
/// Inserts a link of an item.
const INSERT_LINK_SQL: &str = "INSERT INTO links (source, item, number, kind, key, target, fragment, position, context) \
     VALUES (:source, :item, :number, :kind, :key, :target, :fragment, :position, :context)";
/// Inserts a name of an item.
const INSERT_NAME_SQL: &str = "INSERT OR IGNORE INTO link_names (source, item, kind, key, name, path, space) \
     VALUES (:source, :item, :kind, :key, :name, :path, :space)";
/// Number that follows those of the links of an item.
const NEXT_NUMBER_SQL: &str = "SELECT COALESCE(max(number) + 1, 0) AS number FROM links \
     WHERE source = :source AND item = :item";
/// Records the version of the reader that reads the links of a source, and the row at which it
/// continues.
const SET_VERSION_SQL: &str = "INSERT OR REPLACE INTO link_versions (source, version, next_row) \
     VALUES (:source, :version, :next_row)";
/// Version of the reader that has read the links of a source, and the row at which it continues;
/// NULL if it has read all.
const VERSION_SQL: &str = "SELECT version, next_row FROM link_versions WHERE source = :source";

/// Version of the reader of links. Increment it when it finds other links in the same text.
const VERSION: i64 = 1;
/// Number of items that are read again in one transaction.
const ITEMS_PER_TRANSACTION: usize = 100;
/// Maximum time to read the version of the stored links.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of links of an item that is no note. Web pages have hundreds.
const MAX_PLAIN_LINKS: usize = 200;

/// Replaces the stored links and names of an item by those of its present text; an item that does not
/// exist has none. `body` is its content, if the caller knows it.
pub fn update_links(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    body: Option<&DraftBody>,
) -> Result<(), SourceError> {
    let this = named_params! { ":source": source.name().as_str(), ":item": item };
    for sql in [DELETE_LINKS_SQL, DELETE_NAMES_SQL] {
        writer.execute(sql, this)?;
    }
    let stored = match body {
        Some(_) => None,
        None => match writer.with_reader(|reader| source.load_draft(reader, item)) {
            Ok(draft) => Some(draft.body),
            Err(SourceError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        },
    };
    let Some(body) = body.or(stored.as_ref()) else { return Ok(()) };
    let origins: Vec<String> =
        writer.query_all(include_str!("sql/origins.sql"), this, |row| row.get("origin"))?;
    let place = ItemPlace::of(origins.first().map(String::as_str), body);
    let extracted = item_links(body, &place);
    for (number, link) in (0_i64..).zip(&extracted.links) {
        insert_link(writer, (source.name(), item), number, link)?;
    }
    for name in item_names(body, &place, &extracted) {
        insert_name(writer, (source.name(), item), &name)?;
    }
    Ok(())
}

fn insert_link(
    writer: &Writer<'_>,
    (source, item): (SourceName, &str),
    number: i64,
    link: &Link,
) -> Result<(), StoreError> {
    writer.execute(
        INSERT_LINK_SQL,
        named_params! {
            ":source": source.as_str(),
            ":item": item,
            ":number": number,
            ":kind": link.kind.as_str(),
            ":key": link.key,
            ":target": link.target,
            ":fragment": link.fragment,
            ":position": i64::try_from(link.position).unwrap_or(i64::MAX),
            ":context": link.context,
        },
    )?;
    Ok(())
}

fn insert_name(
    writer: &Writer<'_>,
    (source, item): (SourceName, &str),
    name: &LinkName,
) -> Result<(), StoreError> {
    writer.execute(
        INSERT_NAME_SQL,
        named_params! {
            ":source": source.as_str(),
            ":item": item,
            ":kind": name.kind.as_str(),
            ":key": name.key,
            ":name": name.name,
            ":path": name.path,
            ":space": name.space,
        },
    )?;
    Ok(())
}

/// The file of an item, and the folder in which its links are resolved.
#[derive(Clone, Debug, Default)]
struct ItemPlace {
    /// Path of the file, if the item is a whole file.
    file: Option<String>,
    /// Folder that was imported, the folder of the graph, or the file of which the item is a part;
    /// empty for items written in the library.
    space: String,
}

impl ItemPlace {
    fn of(origin: Option<&str>, body: &DraftBody) -> Self {
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
fn item_links(body: &DraftBody, place: &ItemPlace) -> Extracted {
    let dialect = Dialect::of_item(body.source(), place.file.as_deref());
    let mut extracted = match body {
        DraftBody::Note(note) => return extract_links(&note.content, dialect),
        DraftBody::Media(media) => extract_links(&media.content, dialect),
        _ => extract_links(&body_text(body), dialect),
    };
    // A page names the same address many times.
    let mut seen = HashSet::new();
    extracted.links.retain(|link| seen.insert((link.kind, link.key.clone())));
    extracted.links.truncate(MAX_PLAIN_LINKS);
    extracted
}

/// Returns the names by which links find an item.
fn item_names(body: &DraftBody, place: &ItemPlace, extracted: &Extracted) -> Vec<LinkName> {
    let path = place.file.as_deref().map(normalize_path).unwrap_or_default();
    let name_as = |kind, key: String, name: String| LinkName {
        kind,
        key,
        name,
        path: path.clone(),
        space: place.space.clone(),
    };
    let page = |kind, name: &str| name_as(kind, name_key(name), normalize_page(name));
    let mut names = Vec::new();
    if place.file.is_some() {
        names.push(name_as(NameKind::File, name_key(&path), path.clone()));
    }
    match body {
        DraftBody::Note(note) => {
            names.extend(note_names(note, place).map(|(kind, it)| page(kind, &it)));
        }
        DraftBody::Media(media) => {
            names.push(page(NameKind::Title, &media.title));
            let address = media.url.as_deref().and_then(address_key);
            names.extend(address.map(|key| name_as(NameKind::Address, key.clone(), key)));
        }
        DraftBody::Character(card) => names.push(page(NameKind::Title, &card.name)),
        DraftBody::Prompt(prompt) => names.push(page(NameKind::Title, &prompt.name)),
        DraftBody::Chat(_) => {}
    }
    names.extend(extracted.aliases.iter().map(|name| page(NameKind::Alias, name)));
    names.extend(
        extracted.blocks.iter().map(|id| name_as(NameKind::Block, block_key(id), id.clone())),
    );
    let addresses = extracted.addresses.iter().filter_map(|it| address_key(it));
    names.extend(addresses.map(|key| name_as(NameKind::Address, key.clone(), key)));
    let mut seen = HashSet::new();
    names.retain(|name| !name.key.is_empty() && seen.insert((name.kind, name.name.clone())));
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

/// Stores the links of a saved draft. If the draft has only the messages that follow stored ones, their
/// links are added.
pub fn update_saved_links(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: &Draft,
    outcome: &SaveOutcome,
) -> Result<(), SourceError> {
    match (outcome, &draft.body) {
        (SaveOutcome::Unchanged(_) | SaveOutcome::Merged(_), _) => Ok(()),
        (SaveOutcome::Updated(uri), DraftBody::Chat(chat)) if chat.follows > 0 => {
            let this = named_params! { ":source": source.name().as_str(), ":item": uri.id };
            let next =
                writer.query_first(NEXT_NUMBER_SQL, this, |row| row.get("number"))?.unwrap_or(0);
            let extracted = item_links(&draft.body, &ItemPlace::default());
            for (number, link) in (next..).zip(&extracted.links) {
                insert_link(writer, (source.name(), &uri.id), number, link)?;
            }
            Ok(())
        }
        (SaveOutcome::New(uri) | SaveOutcome::Updated(uri), body) => {
            update_links(source, writer, &uri.id, Some(body))
        }
        (SaveOutcome::Reconciled { uri, copy }, _) => {
            let items = [Some(uri), copy.as_ref()].into_iter().flatten();
            items.into_iter().try_for_each(|it| update_links(source, writer, &it.id, None))
        }
    }
}

/// Reads the links of the items from a renamed file again: their names have changed. Conversations are
/// not named by files.
pub fn update_renamed(
    source: &dyn Source,
    writer: &Writer<'_>,
    origin: &str,
) -> Result<(), SourceError> {
    if source.name() == SourceName::Chats {
        return Ok(());
    }
    let renamed = named_params! { ":source": source.name().as_str(), ":origin": origin };
    let items: Vec<String> =
        writer
            .query_all(include_str!("sql/items_of_origin.sql"), renamed, |row| row.get("item"))?;
    items.iter().try_for_each(|item| update_links(source, writer, item, None))
}

/// Returns the row from which on the items of a source were stored before their links were read;
/// `None` if the links of all are known.
fn first_outdated(reader: &Reader<'_>, source: SourceName) -> Result<Option<i64>, StoreError> {
    let this = named_params! { ":source": source.as_str() };
    let known = reader.query_first(VERSION_SQL, this, |row| {
        Ok((row.get::<_, i64>("version")?, row.get::<_, Option<i64>>("next_row")?))
    })?;
    Ok(match known {
        Some((version, next_row)) if version >= VERSION => next_row,
        Some(_) | None => Some(i64::MIN),
    })
}

/// Returns whether some items of a source were stored before their links were read.
pub fn are_links_outdated(reader: &Reader<'_>, source: SourceName) -> Result<bool, StoreError> {
    Ok(first_outdated(reader, source)?.is_some())
}

/// Reads the links of the items that were stored before their links were read, in several
/// transactions, so that writers need not wait. Stops when `deadline` has passed; the next call
/// continues. Returns whether all were read.
pub fn read_outdated_links(
    source: &dyn Source,
    store: &Store,
    deadline: Option<&Deadline>,
) -> Result<bool, SourceError> {
    let minute = Deadline::after(CHECK_TIMEOUT);
    if !store.path().exists()
        || !store.read(minute, |reader| are_links_outdated(reader, source.name()))?
    {
        return Ok(true);
    }
    let mut items = store.write(Durability::Bulk, |writer| {
        // A reader of the store may be restricted to some of the items.
        writer.with_reader(|reader| -> Result<_, SourceError> {
            let first = first_outdated(reader, source.name())?;
            let mut items = source.list_item_versions(reader)?;
            items.retain(|item| first.is_some_and(|first| item.key >= first));
            Ok(items)
        })
    })?;
    items.sort_unstable_by_key(|item| item.key);
    let mut rest = items.as_slice();
    loop {
        let (now, later) = rest.split_at(rest.len().min(ITEMS_PER_TRANSACTION));
        store.write(Durability::Bulk, |writer| {
            now.iter().try_for_each(|item| update_links(source, writer, &item.id, None))?;
            set_progress(writer, source.name(), later.first().map(|item| item.key))
        })?;
        rest = later;
        if rest.is_empty() {
            return Ok(true);
        }
        if deadline.is_some_and(Deadline::has_passed) {
            return Ok(false);
        }
    }
}

/// Reads the links of all items of a source again.
pub fn rebuild_links(source: &dyn Source, store: &Store) -> Result<(), SourceError> {
    store.write(Durability::Bulk, |writer| set_progress(writer, source.name(), Some(i64::MIN)))?;
    read_outdated_links(source, store, None).map(drop)
}

fn set_progress(
    writer: &Writer<'_>,
    source: SourceName,
    next_row: Option<i64>,
) -> Result<(), SourceError> {
    let progress = named_params! {
        ":source": source.as_str(), ":version": VERSION, ":next_row": next_row,
    };
    writer.execute(SET_VERSION_SQL, progress)?;
    Ok(())
}
