//! Filling libraries of a given size through their sources, as an import does.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc::sync_channel},
    thread,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use vademecum::registry;
use vademecum_model::{
    CharacterDraft, ChatDraft, Draft, DraftBody, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
    SourceName, Timestamp,
};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Database, Durability, Store};

use super::{Options, Passage, PassageSample, Passages, TantivyWriter, TextSource};

/// Number of drafts saved in one transaction.
const BATCH_SIZE: usize = 1_000;
/// Number of messages per conversation.
const MESSAGES_PER_CONVERSATION: usize = 20;

/// The folder of a benchmark library.
#[derive(Debug)]
pub struct LibraryFolder {
    path: PathBuf,
    /// Deletes the folder at the end of the bench, unless `--keep` is given.
    _temporary: Option<TempDir>,
}

impl LibraryFolder {
    /// Creates the folder for a library of this size and text. Removes an incomplete library of an
    /// earlier run.
    pub fn new(options: &Options, bench: &str, rows: usize) -> Result<Self> {
        let Some(keep) = &options.keep else {
            let folder = tempfile::tempdir()?;
            return Ok(Self { path: folder.path().to_owned(), _temporary: Some(folder) });
        };
        let path = keep.join(format!("{bench}-{}-{rows}", options.text().label()));
        let place = Self { path, _temporary: None };
        if !place.is_filled() && place.path.exists() {
            std::fs::remove_dir_all(&place.path)?;
        }
        std::fs::create_dir_all(&place.path)?;
        Ok(place)
    }

    /// Returns `true` if an earlier run completed the library. The queries are written last.
    pub fn is_filled(&self) -> bool {
        self.queries_file().exists()
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the query file.
    pub fn queries_file(&self) -> PathBuf {
        self.path.join("queries.json")
    }

    /// Returns the folder of the library for a server with its data in this folder.
    pub fn library_folder(&self) -> PathBuf {
        self.path.join("users/local")
    }
}

/// The number of passages per source.
#[derive(Clone, Copy, Debug)]
pub struct LibrarySizes {
    /// Notes.
    pub notes: usize,
    /// Media documents.
    pub media: usize,
    /// Messages, twenty per conversation.
    pub messages: usize,
    /// Characters.
    pub characters: usize,
    /// Prompts.
    pub prompts: usize,
}

impl LibrarySizes {
    /// Distributes `rows` passages over the sources: 5 % each to characters and prompts, the rest
    /// equally.
    pub fn for_total(rows: usize) -> Self {
        let small = rows / 20;
        let large = (rows - 2 * small) / 3;
        let notes = rows - 2 * small - 2 * large;
        Self { notes, media: large, messages: large, characters: small, prompts: small }
    }

    /// Returns the size of the passages with which [`fill_stores`] fills a library, in bytes.
    pub fn text_bytes(&self, text: &TextSource) -> Result<usize> {
        let sources = registry::sources();
        let parts = sources.iter().zip(text.split(sources.len())?);
        let passages = parts.flat_map(|(source, part)| part.take(self.for_source(source.name())));
        Ok(passages.map(|passage| passage.title.len() + passage.body.len()).sum())
    }

    fn for_source(&self, source: SourceName) -> usize {
        match source {
            SourceName::Notes => self.notes,
            SourceName::Media => self.media,
            SourceName::Chats => self.messages,
            SourceName::Characters => self.characters,
            SourceName::Prompts => self.prompts,
            // Collections are not part of a library.
            SourceName::Collections => 0,
        }
    }
}

/// Fills every source of the library in this folder with its own text. Returns the number of
/// passages.
pub fn fill_library(
    library: &Path,
    text: &TextSource,
    sizes: LibrarySizes,
    sample: &mut PassageSample,
) -> Result<usize> {
    fill_stores(|database| Store::new(database, library), text, sizes, sample)
}

/// Fills every source in the store that `open` returns for its database. Returns the number of
/// passages.
pub fn fill_stores(
    open: impl Fn(Database) -> Store,
    text: &TextSource,
    sizes: LibrarySizes,
    sample: &mut PassageSample,
) -> Result<usize> {
    let mut filled = 0;
    let sources = registry::sources();
    for (source, passages) in sources.iter().zip(text.split(sources.len())?) {
        let store = open(source.database());
        let passages = passages.take(sizes.for_source(source.name())).inspect(|passage| {
            filled += 1;
            sample.add_passage(passage);
        });
        save_in_batches(&store, &**source, &mut to_drafts(source.name(), passages))?;
    }
    Ok(filled)
}

/// Fills the notes of the library in this folder and a tantivy index with the same passages.
/// Returns their number.
pub fn fill_notes(
    library: &Path,
    index: &mut TantivyWriter,
    passages: Passages,
    sample: &mut PassageSample,
) -> Result<usize> {
    let notes = find_source(SourceName::Notes)?;
    let store = Store::new(notes.database(), library);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCH_SIZE);
        let beside = scope.spawn(move || {
            let mut filled = 0;
            for passage in passages {
                filled += 1;
                sample.add_passage(&passage);
                index.add_passage(&passage)?;
                // The receiver is gone only if saving failed, which is reported below.
                if sender.send(passage).is_err() {
                    break;
                }
            }
            Ok(filled)
        });
        save_in_batches(&store, &*notes, &mut to_drafts(SourceName::Notes, receiver.into_iter()))?;
        beside.join().unwrap_or_else(|_| bail!("filling the tantivy index panicked"))
    })
}

/// Saves passages as notes.
pub fn save_notes(store: &Store, passages: impl Iterator<Item = Passage>) -> Result<()> {
    let notes = find_source(SourceName::Notes)?;
    save_in_batches(store, &*notes, &mut to_drafts(SourceName::Notes, passages))
}

/// Returns the source with this name.
pub fn find_source(name: SourceName) -> Result<Arc<dyn Source>> {
    let mut sources = registry::sources().into_iter();
    sources.find(|source| source.name() == name).context("unknown source")
}

fn save_in_batches(
    store: &Store,
    source: &dyn Source,
    drafts: &mut dyn Iterator<Item = Draft>,
) -> Result<()> {
    loop {
        let batch: Vec<Draft> = drafts.take(BATCH_SIZE).collect();
        if batch.is_empty() {
            break;
        }
        store.write(Durability::Bulk, |writer| {
            for draft in &batch {
                source.save_draft(writer, draft)?;
            }
            Ok::<_, SourceError>(())
        })?;
    }
    Ok(store.checkpoint()?)
}

/// Converts passages to drafts: one item per passage, or one message per passage for chats.
fn to_drafts<'a>(
    source: SourceName,
    passages: impl Iterator<Item = Passage> + 'a,
) -> Box<dyn Iterator<Item = Draft> + 'a> {
    let one: fn(Passage, usize) -> DraftBody = match source {
        SourceName::Chats => return Box::new(ConversationDrafts { passages, number: 0 }),
        SourceName::Notes | SourceName::Collections => note_body,
        SourceName::Media => media_body,
        SourceName::Characters => character_body,
        SourceName::Prompts => prompt_body,
    };
    Box::new(
        passages.zip(0..).map(move |(passage, number)| unique_draft(number, one(passage, number))),
    )
}

/// Creates a draft with a unique origin and digest.
fn unique_draft(number: usize, body: DraftBody) -> Draft {
    let origin = format!("bench:{number}");
    Draft { digest: origin.clone(), origin, id: None, body }
}

/// Returns a distinct timestamp for each number, one minute apart.
fn timestamp(number: usize) -> Option<Timestamp> {
    let minutes = u32::try_from(number).unwrap_or(0);
    Timestamp::from_unix_seconds(1.7e9 + f64::from(minutes) * 60.0)
}

fn note_body(passage: Passage, number: usize) -> DraftBody {
    DraftBody::Note(NoteDraft {
        title: passage.title,
        content: passage.body,
        modified_at: timestamp(number),
        ..NoteDraft::default()
    })
}

fn media_body(passage: Passage, number: usize) -> DraftBody {
    DraftBody::Media(MediaDraft {
        title: passage.title,
        media_type: "txt".to_owned(),
        content: passage.body,
        modified_at: timestamp(number),
        ..MediaDraft::default()
    })
}

fn character_body(passage: Passage, number: usize) -> DraftBody {
    DraftBody::Character(Box::new(CharacterDraft {
        name: passage.title,
        description: Some(passage.body),
        modified_at: timestamp(number),
        ..CharacterDraft::default()
    }))
}

fn prompt_body(passage: Passage, number: usize) -> DraftBody {
    DraftBody::Prompt(PromptDraft {
        // Names must be unique.
        name: format!("{} {number}", passage.title),
        user_prompt: Some(passage.body),
        modified_at: timestamp(number),
        ..PromptDraft::default()
    })
}

/// An iterator that groups passages into conversations.
struct ConversationDrafts<I> {
    passages: I,
    number: usize,
}

impl<I: Iterator<Item = Passage>> Iterator for ConversationDrafts<I> {
    type Item = Draft;

    fn next(&mut self) -> Option<Draft> {
        let passages: Vec<Passage> =
            self.passages.by_ref().take(MESSAGES_PER_CONVERSATION).collect();
        let title = passages.first()?.title.clone();
        let number = self.number;
        self.number += 1;
        let messages = passages.into_iter().zip(0..).map(|(passage, place)| MessageDraft {
            origin: place.to_string(),
            sender: if place % 2 == 0 { "user" } else { "assistant" }.to_owned(),
            content: passage.body,
            sent_at: timestamp(number * MESSAGES_PER_CONVERSATION + place),
            ..MessageDraft::default()
        });
        let messages = messages.collect();
        Some(unique_draft(
            number,
            DraftBody::Chat(ChatDraft { title: Some(title), messages, ..ChatDraft::default() }),
        ))
    }
}
