//! Synchronising a replica store with a tldw database.
//!
//! A listing names all items with a change mark; only new and changed items are read. The listing
//! is read before the items, so a change in between is detected by the next synchronisation.

use std::collections::HashMap;

use rusqlite::{Connection, ErrorCode};
use uuid::Uuid;
use vademecum_model::{ChatDraft, Draft, DraftBody, SaveOutcome, SourceName};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Durability, Store, Writer};
use vademecum_vault::links::update_saved_links;

use crate::{
    TldwError, TldwFile, TldwUser, cell, characters,
    chats::{self, ConversationExtent, read_appended},
    media, notes, prompts,
};

/// Part of every digest. Increment it when the same row yields another draft than before.
const DIGEST_VERSION: &str = "tldw/1";
/// Maximum size of an item, in bytes.
const MAX_BYTES: i64 = 64 * 1024 * 1024;
/// Maximum number of items in one transaction; `BATCH_BYTES` below limits their total size, in
/// bytes.
const BATCH_ITEMS: usize = 200;
const BATCH_BYTES: i64 = 8 * 1024 * 1024;
/// Maximum number of items of one source.
const MAX_ITEMS: usize = 1_000_000;
/// Maximum length of an identifier, in bytes.
const MAX_ID_BYTES: usize = 1_024;
/// Maximum number of problems reported individually.
const MAX_PROBLEMS: usize = 1_000;

/// The policy for items that no longer exist in tldw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingItems {
    /// Keep them in the store.
    Keep,
    /// Mark them as deleted.
    Remove,
}

/// The result of one synchronisation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncSummary {
    /// Number of items added.
    pub new: usize,
    /// Number of items updated.
    pub updated: usize,
    /// Number of items without a change.
    pub unchanged: usize,
    /// Number of items whose content is that of another item.
    pub merged: usize,
    /// Number of items removed.
    pub removed: usize,
    /// Items that were skipped, with the reasons.
    pub problems: Vec<SkippedItem>,
}

/// An item that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItem {
    /// Source and identifier of the item, such as `notes 42`.
    pub item: String,
    /// Reason, for the log and the summary.
    pub reason: String,
}

/// An item that must be read, because it is new or has another digest.
struct ChangedItem {
    id: String,
    origin: String,
    digest: String,
    bytes: i64,
    /// Previous and present extent of the messages of a conversation.
    growth: Option<(ConversationExtent, ConversationExtent)>,
}

/// Synchronises one source of the replica with the database in `file`. `progress` receives the
/// number of items done and the total number of items to read.
pub fn sync_source(
    user: &TldwUser,
    file: &TldwFile,
    store: &Store,
    source: &dyn Source,
    vanished: MissingItems,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<SyncSummary, TldwError> {
    let mut round = SourceSync {
        file,
        store,
        source,
        origins: format!("tldw:{}#", user.folder().display()),
        summary: SyncSummary::default(),
    };
    let (changed, gone) = round.find_changes()?;
    if vanished == MissingItems::Remove {
        round.remove_items(&gone)?;
    }
    round.import_items(&changed, progress)?;
    Ok(round.summary)
}

/// One synchronisation of one source.
struct SourceSync<'a> {
    file: &'a TldwFile,
    store: &'a Store,
    source: &'a dyn Source,
    /// Prefix of the origins of this user's items.
    origins: String,
    summary: SyncSummary,
}

impl SourceSync<'_> {
    /// Returns the items to read and the origins of items that no longer exist.
    fn find_changes(&mut self) -> Result<(Vec<ChangedItem>, Vec<String>), TldwError> {
        let mut known =
            vademecum_source::list_origins(self.store, self.source.name(), &self.origins)?;
        let file = self.file;
        let listed = file.read(|connection| self.list_changed_items(connection, &mut known));
        let changed = listed.map_err(|error| file.read_error(error))?;
        if changed.len() > MAX_ITEMS {
            return Err(TldwError::TooManyItems { path: file.path().to_owned(), max: MAX_ITEMS });
        }
        self.file.ensure_unchanged()?;
        Ok((changed, known.into_keys().collect()))
    }

    /// Lists the items to read, at most one more than `MAX_ITEMS`.
    fn list_changed_items(
        &mut self,
        connection: &Connection,
        known: &mut HashMap<String, String>,
    ) -> rusqlite::Result<Vec<ChangedItem>> {
        let mut changed = Vec::new();
        let mut statement = connection.prepare(list_sql(self.source.name()))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if changed.len() > MAX_ITEMS {
                break;
            }
            let Some(id) = cell::text(row, "id")?.filter(|id| !id.is_empty()) else { continue };
            if id.len() > MAX_ID_BYTES {
                let start: String = id.chars().take(40).collect();
                self.record_problem(
                    &start,
                    format!("its identifier is longer than {MAX_ID_BYTES} bytes"),
                );
                continue;
            }
            let bytes = cell::integer(row, "bytes")?.unwrap_or(0);
            if bytes > MAX_BYTES {
                self.record_problem(&id, format!("it is larger than {MAX_BYTES} bytes"));
                continue;
            }
            let origin = format!("{}{id}", self.origins);
            let digest = item_digest(&origin, &cell::text(row, "mark")?.unwrap_or_default());
            let known = known.remove(&origin);
            let (known_digest, known_extent) = split_extent(known.as_deref().unwrap_or_default());
            if known_digest == digest {
                self.summary.unchanged += 1;
                continue;
            }
            let is_chat = self.source.name() == SourceName::Chats;
            let extent = if is_chat { cell::text(row, "extent")? } else { None };
            let now = extent.as_deref().and_then(ConversationExtent::parse);
            let digest =
                extent.map_or_else(|| digest.clone(), |extent| format!("{digest}/{extent}"));
            changed.push(ChangedItem { id, origin, digest, bytes, growth: known_extent.zip(now) });
        }
        Ok(changed)
    }

    fn remove_items(&mut self, gone: &[String]) -> Result<(), TldwError> {
        for batch in gone.chunks(BATCH_ITEMS) {
            let remove = |writer: &Writer<'_>| {
                batch.iter().try_fold(0, |count, origin| {
                    Ok::<_, SourceError>(
                        count + usize::from(self.source.remove_origin(writer, origin)?),
                    )
                })
            };
            self.summary.removed += self.store.write(Durability::Bulk, remove)?;
        }
        Ok(())
    }

    fn import_items(
        &mut self,
        changed: &[ChangedItem],
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), TldwError> {
        let (mut drafts, mut bytes) = (Vec::new(), 0);
        for (done, item) in changed.iter().enumerate() {
            progress(done, changed.len());
            drafts.extend(self.read_draft(item)?);
            bytes += item.bytes;
            if drafts.len() >= BATCH_ITEMS || bytes >= BATCH_BYTES {
                self.save_drafts(&drafts)?;
                drafts.clear();
                bytes = 0;
            }
        }
        self.save_drafts(&drafts)
    }

    /// Reads an item; `None` if it has vanished since the listing or cannot be read.
    fn read_draft(&mut self, item: &ChangedItem) -> Result<Option<Draft>, TldwError> {
        let name = self.source.name();
        let read = self.file.read(|it| {
            let grown =
                item.growth.map(|growth| read_appended(it, &item.id, &self.origins, growth));
            match grown.transpose()?.flatten() {
                Some(body) => Ok(Some(body)),
                None => read_body(it, name, &item.id, &self.origins),
            }
        });
        match read {
            Ok(body) => Ok(body.map(|body| Draft {
                origin: item.origin.clone(),
                digest: item.digest.clone(),
                id: Some(item.id.clone()),
                body,
            })),
            Err(error) if is_file_error(&error) => Err(self.file.read_error(error)),
            Err(error) => {
                self.file.ensure_unchanged()?;
                self.record_problem(&item.id, error.to_string());
                Ok(None)
            }
        }
    }

    /// Saves drafts in one transaction. If that fails, saves each one separately, so that an
    /// invalid draft affects only itself.
    fn save_drafts(&mut self, drafts: &[Draft]) -> Result<(), TldwError> {
        self.file.ensure_unchanged()?;
        if drafts.is_empty() {
            return Ok(());
        }
        let save = |writer: &Writer<'_>, draft: &Draft| -> Result<SaveOutcome, SourceError> {
            let outcome = self.source.save_draft(writer, draft)?;
            update_saved_links(self.source, writer, draft, &outcome)?;
            Ok(outcome)
        };
        let together = self.store.write(Durability::Bulk, |writer| {
            drafts.iter().map(|draft| save(writer, draft)).collect::<Result<Vec<_>, _>>()
        });
        let saved: Vec<Result<SaveOutcome, SourceError>> = match together {
            Ok(saved) => saved.into_iter().map(Ok).collect(),
            Err(SourceError::Store(error)) if error.affects_whole_file() => {
                return Err(error.into());
            }
            Err(_) => drafts
                .iter()
                .map(|draft| {
                    let whole = self.read_whole(draft)?;
                    let draft = whole.as_ref().unwrap_or(draft);
                    self.store.write(Durability::Bulk, |writer| save(writer, draft))
                })
                .collect(),
        };
        for (draft, saved) in drafts.iter().zip(saved) {
            match saved {
                Ok(SaveOutcome::New(_)) => self.summary.new += 1,
                Ok(SaveOutcome::Updated(_) | SaveOutcome::Reconciled { .. }) => {
                    self.summary.updated += 1;
                }
                Ok(SaveOutcome::Unchanged(_)) => self.summary.unchanged += 1,
                Ok(SaveOutcome::Merged(_)) => self.summary.merged += 1,
                Err(error) => {
                    self.record_problem(draft.id.as_deref().unwrap_or_default(), error.to_string());
                }
            }
        }
        Ok(())
    }

    /// Reads a conversation again if the draft has only its last messages.
    fn read_whole(&self, draft: &Draft) -> Result<Option<Draft>, SourceError> {
        let (DraftBody::Chat(ChatDraft { follows: 1.., .. }), Some(id)) = (&draft.body, &draft.id)
        else {
            return Ok(None);
        };
        let name = self.source.name();
        let read = self.file.read(|it| read_body(it, name, id, &self.origins));
        let body = read.map_err(|error| SourceError::Unavailable(error.to_string()))?;
        Ok(body.map(|body| Draft { body, ..draft.clone() }))
    }

    fn record_problem(&mut self, id: &str, reason: String) {
        if self.summary.problems.len() < MAX_PROBLEMS {
            let place = format!("{} {id}", self.source.name());
            self.summary.problems.push(SkippedItem { item: place, reason });
        }
    }
}

fn list_sql(source: SourceName) -> &'static str {
    match source {
        SourceName::Notes => notes::LIST_SQL,
        SourceName::Media => media::LIST_SQL,
        SourceName::Chats => chats::LIST_SQL,
        SourceName::Characters => characters::LIST_SQL,
        SourceName::Prompts => prompts::LIST_SQL,
        // tldw has no collections.
        SourceName::Collections => "SELECT 1 WHERE 0",
    }
}

fn read_body(
    connection: &Connection,
    source: SourceName,
    id: &str,
    origins: &str,
) -> rusqlite::Result<Option<DraftBody>> {
    match source {
        SourceName::Notes => notes::read_note(connection, id),
        SourceName::Media => media::read_document(connection, id),
        SourceName::Chats => chats::read_conversation(connection, id, origins),
        SourceName::Characters => characters::read_character(connection, id),
        SourceName::Prompts => prompts::read_prompt(connection, id),
        SourceName::Collections => Ok(None),
    }
}

/// Splits the stored digest of a conversation into the digest of its state and the extent of its
/// messages, if it has one.
fn split_extent(digest: &str) -> (&str, Option<ConversationExtent>) {
    match digest.split_once('/') {
        Some((digest, extent)) => (digest, ConversationExtent::parse(extent)),
        None => (digest, None),
    }
}

/// Computes the digest of an item's state. It includes the origin, so that two items with the same
/// content have different digests.
fn item_digest(origin: &str, mark: &str) -> String {
    let name = format!("{DIGEST_VERSION}\0{origin}\0{mark}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).simple().to_string()
}

/// Returns `true` if the error concerns the whole file, not a single item.
fn is_file_error(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::NotADatabase
                | ErrorCode::OperationInterrupted
        )
    )
}
