//! Items as they were at an earlier time, from the journal.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use vademecum_model::{
    ChangeAction, DraftBody, Filters, Hit, ItemId, ListOrder, ListRequest, ListedItem, Loc,
    Retrieval, SourceName, Timestamp, Uri,
};
use vademecum_search::{FtsQuery, HitRequest, Item, RankedMatch};
use vademecum_source::{
    Source, SourceError, read_located_passage, set_content_origins, set_derived_from,
};
use vademecum_store::Reader;

use super::{
    record::{Snapshot, parse_body},
    versions::{VersionWalk, entries_of_item, list_changes, read_present, read_version},
};

/// Returns the time of the oldest change that is kept.
const OLDEST_SQL: &str = "SELECT min(changed_at) AS oldest FROM changes";

/// A state of an item in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// The state of this version, starting at 1.
    Version(i64),
    /// The state at a time.
    Time(Timestamp),
}

/// The first items of a source as they were at a time.
#[derive(Clone, Debug, Default)]
pub struct PastListing {
    /// The items with the beginnings of their texts, each with the text by which it is ordered.
    pub hits: Vec<(String, Hit)>,
    /// Number of all items that existed and pass the filters.
    pub total: usize,
    /// Number of items that may have existed, but whose state then is not known.
    pub unknown: usize,
}

/// State of an item at a time.
enum PastState {
    /// The item existed, with these fields.
    Known(Box<PastVersion>),
    /// The item did not exist.
    Absent,
    /// The journal does not reach that far back.
    Unknown,
}

/// An earlier version of an item.
struct PastVersion {
    version: i64,
    /// Time of the change that made the version, if it is known.
    changed_at: Option<Timestamp>,
    body: DraftBody,
}

/// Loads an item as it was. Fails if it did not exist, or if the journal does not reach that far back.
pub fn load_item_as_of(
    source: &dyn Source,
    reader: &Reader<'_>,
    id: &ItemId,
    as_of: AsOf,
    retrieval: &Retrieval,
) -> Result<Item, SourceError> {
    let (name, item) = (source.name(), id.to_string());
    let uri = Uri::item(name, &item);
    if matches!(name, SourceName::Chats | SourceName::Collections) {
        return Err(SourceError::Refused(format!(
            "as_of: no earlier texts of `{name}` are kept; read the item without it"
        )));
    }
    let present = read_present(source, reader, &item)?;
    let past = match as_of {
        AsOf::Version(version) if present.version == version && !present.is_deleted => {
            let draft = source.load_draft(reader, &item)?;
            PastVersion { version, changed_at: modified_at(&draft.body), body: draft.body }
        }
        AsOf::Version(version) => {
            let body = read_version(source, reader, &item, version)?;
            let entries = entries_of_item(reader, name, &item)?;
            let made = entries.iter().find(|entry| entry.version == version);
            PastVersion { version, changed_at: made.map(|entry| entry.changed_at), body }
        }
        AsOf::Time(time) => match state_at(source, reader, &item, &present, time)? {
            PastState::Known(past) => *past,
            PastState::Absent => {
                return Err(SourceError::Refused(format!(
                    "as_of: `{uri}` did not exist at {time}; knowledge.history lists its changes"
                )));
            }
            PastState::Unknown => {
                return Err(SourceError::Refused(format!(
                    "as_of: the journal of `{uri}` does not reach back to {time}; \
                     knowledge.history lists the versions that are kept, and as_of takes one of them"
                )));
            }
        },
    };
    let mut item = past.into_item(uri, id.clone(), retrieval)?;
    set_content_origins(reader, source.name(), [&mut item.meta])?;
    set_derived_from(reader, &mut item.meta)?;
    Ok(item)
}

/// Lists the items that existed at a time, as they were then. Items that were not changed since are
/// those of [`Source::list_items`]; the others are read from the journal. New items of an import are
/// not recorded, so their own dates tell when they began to exist.
pub fn list_items_as_of(
    source: &dyn Source,
    reader: &Reader<'_>,
    request: &ListRequest,
    time: Timestamp,
    snippet_length: usize,
) -> Result<PastListing, SourceError> {
    let end = time.plus(std::time::Duration::from_millis(1)).unwrap_or(time);
    let changed = list_changes(reader, source.name(), end, None)?;
    let changed: BTreeSet<String> = changed.into_iter().map(|entry| entry.item).collect();
    let all = |filters: Filters, order: ListOrder| {
        let folder = request.folder.clone();
        let take = usize::MAX;
        let request = ListRequest { filters, folder, order, take, ..ListRequest::default() };
        source.list_items(reader, &request)
    };
    let before = request.filters.before.map_or(end, |before| before.min(end));
    let unchanged = Filters { before: Some(before), ..request.filters.clone() };
    let unchanged = all(unchanged, request.order)?.items;
    let unchanged = unchanged.into_iter().filter(|item| !changed.contains(&item.uri.id));
    let mut found: Vec<(String, FoundItem)> =
        unchanged.map(|item| (item.sort_key.clone(), FoundItem::Present(item))).collect();
    let mut unknown = 0;
    // Items that have changed since without an entry, or without texts.
    let is_chats = source.name() == SourceName::Chats;
    let later = Filters { after: Some(end), before: None, ..request.filters.clone() };
    let existed = |item: &ListedItem| {
        (is_chats || !changed.contains(&item.uri.id))
            && !item.sort_key.is_empty()
            && item.sort_key <= time.to_string()
    };
    let mut later = all(later, ListOrder::Created)?.items;
    later.retain(existed);
    if is_chats && request.filters.after.is_none() {
        // A conversation keeps its title; when it was continued before is not known.
        for hit in load_hits(source, reader, &later, 0)? {
            let hit = Hit { snippet: None, last_modified: None, loc: None, ..hit };
            let key = match request.order {
                ListOrder::Modified => sort_key(&hit, ListOrder::Created),
                order @ (ListOrder::Created | ListOrder::Title) => sort_key(&hit, order),
            };
            found.push((key, FoundItem::Past(Box::new(hit))));
        }
    } else {
        unknown += later.len();
    }
    for item in changed.iter().filter(|_| !is_chats) {
        let Some(present) = Snapshot::read(source, reader, item)? else { continue };
        match state_at(source, reader, item, &present, time)? {
            PastState::Known(past) => {
                let hit = past.into_hit(Uri::item(source.name(), item), snippet_length);
                if passes(&hit, request) {
                    found.push((sort_key(&hit, request.order), FoundItem::Past(Box::new(hit))));
                }
            }
            PastState::Absent => {}
            PastState::Unknown => unknown += 1,
        }
    }
    let total = found.len();
    found.sort_by(|one, other| request.order.compare(&one.0, &other.0));
    found.truncate(request.take);
    let hits = fill(source, reader, found, snippet_length)?;
    Ok(PastListing { hits, total, unknown })
}

/// An item of a past list.
enum FoundItem {
    /// It is still as it was.
    Present(ListedItem),
    /// It was changed since.
    Past(Box<Hit>),
}

/// Loads the items that are still as they were, and keeps the order.
fn fill(
    source: &dyn Source,
    reader: &Reader<'_>,
    found: Vec<(String, FoundItem)>,
    snippet_length: usize,
) -> Result<Vec<(String, Hit)>, SourceError> {
    let present: Vec<ListedItem> = found
        .iter()
        .filter_map(|(_, item)| match item {
            FoundItem::Present(item) => Some(item.clone()),
            FoundItem::Past(_) => None,
        })
        .collect();
    let loaded = load_hits(source, reader, &present, snippet_length)?;
    let mut loaded: HashMap<Uri, Hit> =
        loaded.into_iter().map(|hit| (hit.uri.clone(), hit)).collect();
    let hits = found.into_iter().filter_map(|(key, item)| match item {
        FoundItem::Present(item) => Some((key, loaded.remove(&item.uri)?)),
        FoundItem::Past(hit) => Some((key, *hit)),
    });
    let mut hits: Vec<(String, Hit)> = hits.collect();
    set_content_origins(reader, source.name(), hits.iter_mut().map(|(_, hit)| hit))?;
    Ok(hits)
}

fn load_hits(
    source: &dyn Source,
    reader: &Reader<'_>,
    items: &[ListedItem],
    snippet_length: usize,
) -> Result<Vec<Hit>, SourceError> {
    let matches = items.iter().map(|item| RankedMatch::new(item.key, item.uri.clone(), 1.0));
    let view = HitRequest {
        query: std::sync::Arc::new(FtsQuery::default()),
        filters: Filters::default(),
        weights: std::sync::Arc::default(),
        snippet_length,
        highlight: false,
        matches: matches.collect(),
    };
    source.load_hits(reader, &view)
}

/// Returns the state of an item at a time.
fn state_at(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &str,
    present: &Snapshot,
    time: Timestamp,
) -> Result<PastState, SourceError> {
    let entries = entries_of_item(reader, source.name(), item)?;
    let mut walk = VersionWalk::start(present, entries);
    let mut has_walked = false;
    while let Some(entry) = walk.entries.peek().filter(|entry| entry.changed_at > time) {
        if entry.action == ChangeAction::Created {
            return Ok(PastState::Absent);
        }
        if walk.step_back().is_none() {
            return Ok(PastState::Unknown);
        }
        has_walked = true;
    }
    let made = walk.entries.peek().map(|entry| entry.changed_at);
    if walk.text.is_empty() {
        return Ok(if has_walked || present.is_deleted {
            PastState::Absent
        } else {
            PastState::Unknown
        });
    }
    let body = parse_body(&walk.text)?;
    if created_at(&body).is_some_and(|created| created > time) {
        return Ok(PastState::Absent);
    }
    let changed_at = match (has_walked, made) {
        (_, Some(made)) => Some(made),
        // No entry tells when this version was made, unless it was the first one, or the journal
        // reaches back further than the time.
        (true, None) if walk.version == 1 => None,
        (true, None) => {
            let oldest = reader
                .query_first(OLDEST_SQL, &[], |row| row.get::<_, Option<Timestamp>>("oldest"))?;
            if oldest.flatten().is_none_or(|oldest| oldest > time) {
                return Ok(PastState::Unknown);
            }
            None
        }
        (false, None) => {
            let modified = modified_at(&source.load_draft(reader, item)?.body);
            if modified.is_some_and(|modified| modified > time) {
                return Ok(PastState::Unknown);
            }
            modified
        }
    };
    Ok(PastState::Known(Box::new(PastVersion { version: walk.version, changed_at, body })))
}

impl PastVersion {
    fn into_item(self, uri: Uri, id: ItemId, retrieval: &Retrieval) -> Result<Item, SourceError> {
        let text = match &self.body {
            DraftBody::Note(note) => Some(note.content.clone()),
            DraftBody::Media(media) => Some(media.content.clone()),
            DraftBody::Chat(_) | DraftBody::Character(_) | DraftBody::Prompt(_) => None,
        };
        let Some(text) = text else {
            let content = fields(&self.body);
            return Ok(Item::from_object(self.hit(uri, id), content));
        };
        let passage = read_located_passage(&text, &[], retrieval, &[])?;
        let loc = Loc {
            approx_offset: Some(passage.range.start),
            chunk_index: passage.chunk,
            ..Loc::default()
        };
        let meta = Hit { loc: Some(loc), ..self.hit(uri, id) };
        Ok(Item::from_passage(meta, passage, retrieval.mode))
    }

    /// Returns a hit with the beginning of the text.
    fn into_hit(self, uri: Uri, snippet_length: usize) -> Hit {
        let text = match &self.body {
            DraftBody::Note(note) => note.content.as_str(),
            DraftBody::Media(media) => media.content.as_str(),
            DraftBody::Chat(_) => "",
            DraftBody::Character(card) => card.description.as_deref().unwrap_or_default(),
            DraftBody::Prompt(prompt) => prompt.user_prompt.as_deref().unwrap_or_default(),
        };
        let snippet: String = text.trim_start().chars().take(snippet_length).collect();
        let id = match uri.source {
            SourceName::Notes | SourceName::Chats | SourceName::Collections => None,
            SourceName::Media | SourceName::Characters | SourceName::Prompts => uri.id.parse().ok(),
        };
        let id = id.map_or_else(|| ItemId::Text(uri.id.clone()), ItemId::Number);
        Hit { snippet: Some(snippet), ..self.hit(uri, id) }
    }

    fn hit(&self, uri: Uri, id: ItemId) -> Hit {
        let mut body = self.body.clone();
        let hit = Hit {
            title: Some(body.title_mut().clone()),
            created_at: created_at(&body),
            last_modified: self.changed_at.or_else(|| created_at(&body)),
            version: Some(self.version),
            tags: Some(body.tags().to_vec()),
            ..Hit::new(uri, id)
        };
        match body {
            DraftBody::Note(note) => {
                Hit { folder: (!note.folders.is_empty()).then(|| note.folders.join("/")), ..hit }
            }
            DraftBody::Media(media) => {
                Hit { media_type: Some(media.media_type), url: media.url, ..hit }
            }
            DraftBody::Chat(_) | DraftBody::Character(_) | DraftBody::Prompt(_) => hit,
        }
    }
}

/// Returns the fields of an item as an object, without its picture.
fn fields(body: &DraftBody) -> Value {
    let mut body = body.clone();
    if let DraftBody::Character(card) = &mut body {
        card.image = None;
    }
    let value = serde_json::to_value(body).unwrap_or_default();
    value.as_object().and_then(|kinds| kinds.values().next().cloned()).unwrap_or_default()
}

fn created_at(body: &DraftBody) -> Option<Timestamp> {
    match body {
        DraftBody::Note(note) => note.created_at,
        DraftBody::Media(media) => media.created_at.or(media.ingested_at),
        DraftBody::Chat(chat) => chat.created_at,
        DraftBody::Character(card) => card.created_at,
        DraftBody::Prompt(_) => None,
    }
}

fn modified_at(body: &DraftBody) -> Option<Timestamp> {
    match body {
        DraftBody::Note(note) => note.modified_at,
        DraftBody::Media(media) => media.modified_at,
        DraftBody::Chat(chat) => chat.modified_at,
        DraftBody::Character(card) => card.modified_at,
        DraftBody::Prompt(prompt) => prompt.modified_at,
    }
}

/// Returns the text by which a hit is ordered, as [`ListedItem::sort_key`].
fn sort_key(hit: &Hit, order: ListOrder) -> String {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
    match order {
        ListOrder::Modified => time(hit.last_modified),
        ListOrder::Created => time(hit.created_at),
        ListOrder::Title => hit.title.as_deref().unwrap_or_default().to_lowercase(),
    }
}

/// Returns true if an earlier version passes the filters of a list.
fn passes(hit: &Hit, request: &ListRequest) -> bool {
    let Filters { after, before, tags, media_types, .. } = &request.filters;
    let is_one_of = |accepted: &[String], has: &[String]| {
        accepted.is_empty()
            || has.iter().any(|it| accepted.iter().any(|other| other.eq_ignore_ascii_case(it)))
    };
    let folder = request.folder_parameter().is_none_or(|folder| {
        let has = hit.folder.as_deref().unwrap_or_default().to_ascii_lowercase();
        format!("\n{}\n", has.replace('/', "\n")).contains(&format!("\n{folder}\n"))
    });
    let has_type: Vec<String> = hit.media_type.clone().into_iter().collect();
    folder
        && is_one_of(tags, hit.tags.as_deref().unwrap_or_default())
        && is_one_of(media_types, &has_type)
        && after.is_none_or(|after| hit.last_modified.is_some_and(|at| at >= after))
        && before.is_none_or(|before| hit.last_modified.is_none_or(|at| at < before))
}
