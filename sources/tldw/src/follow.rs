//! Bringing a store in step with a database of tldw.
//!
//! First a list says which items there are, and in which state; only what is new
//! or changed is read. The list is read before the items, so that what changes
//! in between is seen as changed the next time.

use std::collections::HashMap;

use rusqlite::{Connection, ErrorCode};
use uuid::Uuid;
use vademecum_kit::{
    model::{Body, Draft, Saved, SourceName},
    source::{Source, SourceError},
    store::{Durability, Store, Writer},
};

use crate::{File, TldwError, User, cell, characters, chats, media, notes, prompts};

/// Changes when the same row makes another draft than before.
const VERSION: &str = "tldw/1";
/// The longest item that is read, in bytes.
const MAX_BYTES: i64 = 64 * 1024 * 1024;
/// Items that are saved in one transaction, and what they may hold together.
const BATCH: usize = 200;
const BATCH_BYTES: i64 = 8 * 1024 * 1024;
/// Problems that are told one by one.
const PROBLEMS: usize = 1_000;

/// What becomes of items that are not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vanished {
    /// They stay.
    Keep,
    /// They are marked as deleted.
    Remove,
}

/// What was done to come in step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Items that were not there before.
    pub new: usize,
    /// Items that have changed.
    pub updated: usize,
    /// Items that were there, just so.
    pub unchanged: usize,
    /// Items that are not there any more.
    pub removed: usize,
    /// Items that were left out, and why.
    pub problems: Vec<Problem>,
}

/// An item that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which item: `notes 42`.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// An item that is new or has changed.
struct Changed {
    id: String,
    origin: String,
    digest: String,
    bytes: i64,
}

/// Brings `source` in step with what `file` holds of it. `progress` is told how
/// many items are done, of how many that have to be read.
pub fn follow(
    user: &User,
    file: &File,
    store: &Store,
    source: &dyn Source,
    vanished: Vanished,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Followed, TldwError> {
    let mut round = Round {
        file,
        store,
        source,
        origins: format!("tldw:{}#", user.folder().display()),
        followed: Followed::default(),
    };
    let (changed, gone) = round.compare()?;
    if vanished == Vanished::Remove {
        round.remove(&gone)?;
    }
    round.bring_in(&changed, progress)?;
    Ok(round.followed)
}

/// One look at one kind of items.
struct Round<'a> {
    file: &'a File,
    store: &'a Store,
    source: &'a dyn Source,
    /// What the origins of this user's items begin with.
    origins: String,
    followed: Followed,
}

impl Round<'_> {
    /// The items that are to be read, and the origins that are gone.
    fn compare(&mut self) -> Result<(Vec<Changed>, Vec<String>), TldwError> {
        let mut known = self.store.origins(self.source.name(), &self.origins)?;
        let listed = self.list(&mut known);
        let changed = listed.map_err(|error| self.file.failed(error))?;
        self.file.is_sound()?;
        Ok((changed, known.into_keys().collect()))
    }

    fn list(&mut self, known: &mut HashMap<String, String>) -> rusqlite::Result<Vec<Changed>> {
        let mut changed = Vec::new();
        let mut statement = self.file.connection().prepare(list(self.source.name()))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(id) = cell::text(row, "id")?.filter(|id| !id.is_empty()) else { continue };
            let bytes = cell::number(row, "bytes")?.unwrap_or(0);
            if bytes > MAX_BYTES {
                self.problem(&id, format!("it is larger than {MAX_BYTES} bytes"));
                continue;
            }
            let origin = format!("{}{id}", self.origins);
            let digest = digest(&origin, &cell::text(row, "mark")?.unwrap_or_default());
            if known.remove(&origin).as_ref() == Some(&digest) {
                self.followed.unchanged += 1;
            } else {
                changed.push(Changed { id, origin, digest, bytes });
            }
        }
        Ok(changed)
    }

    fn remove(&mut self, gone: &[String]) -> Result<(), TldwError> {
        for batch in gone.chunks(BATCH) {
            let remove = |writer: &Writer<'_>| {
                batch.iter().try_fold(0, |count, origin| {
                    Ok::<_, SourceError>(count + usize::from(self.source.remove(writer, origin)?))
                })
            };
            self.followed.removed += self.store.write(Durability::Bulk, remove)?;
        }
        Ok(())
    }

    fn bring_in(
        &mut self,
        changed: &[Changed],
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), TldwError> {
        let (mut drafts, mut bytes) = (Vec::new(), 0);
        for (done, item) in changed.iter().enumerate() {
            progress(done, changed.len());
            drafts.extend(self.read(item)?);
            bytes += item.bytes;
            if drafts.len() >= BATCH || bytes >= BATCH_BYTES {
                self.save(&drafts)?;
                drafts.clear();
                bytes = 0;
            }
        }
        self.save(&drafts)
    }

    /// Reads an item, unless it has vanished meanwhile or cannot be read.
    fn read(&mut self, item: &Changed) -> Result<Option<Draft>, TldwError> {
        match read(self.file.connection(), self.source.name(), &item.id, &self.origins) {
            Ok(body) => Ok(body.map(|body| Draft {
                origin: item.origin.clone(),
                digest: item.digest.clone(),
                id: Some(item.id.clone()),
                body,
            })),
            Err(error) if is_of_file(&error) => Err(self.file.failed(error)),
            Err(error) => {
                self.file.is_sound()?;
                self.problem(&item.id, error.to_string());
                Ok(None)
            }
        }
    }

    /// Saves drafts together; if that fails, each by itself, so that one that
    /// cannot be saved costs nothing but itself.
    fn save(&mut self, drafts: &[Draft]) -> Result<(), TldwError> {
        self.file.is_sound()?;
        if drafts.is_empty() {
            return Ok(());
        }
        let save = |writer: &Writer<'_>, draft: &Draft| self.source.save(writer, draft);
        let together = self.store.write(Durability::Bulk, |writer| {
            drafts.iter().map(|draft| save(writer, draft)).collect::<Result<Vec<_>, _>>()
        });
        let saved: Vec<Result<Saved, SourceError>> = match together {
            Ok(saved) => saved.into_iter().map(Ok).collect(),
            Err(SourceError::Store(error)) if error.is_of_file() => return Err(error.into()),
            Err(_) => drafts
                .iter()
                .map(|draft| self.store.write(Durability::Bulk, |writer| save(writer, draft)))
                .collect(),
        };
        for (draft, saved) in drafts.iter().zip(saved) {
            match saved {
                Ok(Saved::New(_)) => self.followed.new += 1,
                Ok(Saved::Updated(_)) => self.followed.updated += 1,
                Ok(Saved::Unchanged(_)) => self.followed.unchanged += 1,
                Err(error) => {
                    self.problem(draft.id.as_deref().unwrap_or_default(), error.to_string());
                }
            }
        }
        Ok(())
    }

    fn problem(&mut self, id: &str, reason: String) {
        if self.followed.problems.len() < PROBLEMS {
            let place = format!("{} {id}", self.source.name());
            self.followed.problems.push(Problem { place, reason });
        }
    }
}

fn list(source: SourceName) -> &'static str {
    match source {
        SourceName::Notes => notes::LIST,
        SourceName::Media => media::LIST,
        SourceName::Chats => chats::LIST,
        SourceName::Characters => characters::LIST,
        SourceName::Prompts => prompts::LIST,
        // A directory of tldw has none.
        SourceName::Collections => "SELECT 1 WHERE 0",
    }
}

fn read(
    connection: &Connection,
    source: SourceName,
    id: &str,
    origins: &str,
) -> rusqlite::Result<Option<Body>> {
    match source {
        SourceName::Notes => notes::read(connection, id),
        SourceName::Media => media::read(connection, id),
        SourceName::Chats => chats::read(connection, id, origins),
        SourceName::Characters => characters::read(connection, id),
        SourceName::Prompts => prompts::read(connection, id),
        SourceName::Collections => Ok(None),
    }
}

/// The fingerprint of an item in a state. It is another for every item: two
/// documents that say the same are two.
fn digest(origin: &str, mark: &str) -> String {
    let name = format!("{VERSION}\0{origin}\0{mark}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).simple().to_string()
}

/// Whether all of the file cannot be read at the moment, not only one item of it.
fn is_of_file(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::NotADatabase
        )
    )
}
