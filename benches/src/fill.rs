//! Libraries of a given size, filled through their sources as an import does.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc::sync_channel},
    thread,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use vademecum::registry;
use vademecum_kit::{
    model::{
        Body, CharacterDraft, ChatDraft, Draft, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
        SourceName, Timestamp,
    },
    source::{Source, SourceError},
    store::{Durability, Store},
};

use super::{Options, Passage, Passages, Sample, TantivyWriter, Text};

/// Drafts that are saved in one transaction.
const BATCH: usize = 1_000;
/// Messages of a conversation.
const MESSAGES: usize = 20;

/// Where a filled library is.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    /// Gone when the bench ends, unless it is to be kept.
    _temporary: Option<TempDir>,
}

impl Place {
    /// The place for so many passages of the wanted text. What an earlier run
    /// left half filled is removed.
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

    /// Whether an earlier run has filled it: the queries are written last.
    pub fn is_filled(&self) -> bool {
        self.queries().exists()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.path
    }

    /// The file with the queries.
    pub fn queries(&self) -> PathBuf {
        self.path.join("queries.json")
    }

    /// The folder of the library of a server whose data is here.
    pub fn library(&self) -> PathBuf {
        self.path.join("users/local")
    }
}

/// How many passages each source has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Notes.
    pub notes: usize,
    /// Media documents.
    pub media: usize,
    /// Messages, twenty to a conversation.
    pub messages: usize,
    /// Characters.
    pub characters: usize,
    /// Prompts.
    pub prompts: usize,
}

impl Sizes {
    /// So many passages in all, most of them in three sources.
    pub fn of(rows: usize) -> Self {
        let small = rows / 20;
        let large = (rows - 2 * small) / 3;
        let notes = rows - 2 * small - 2 * large;
        Self { notes, media: large, messages: large, characters: small, prompts: small }
    }

    fn in_source(&self, source: SourceName) -> usize {
        match source {
            SourceName::Notes => self.notes,
            SourceName::Media => self.media,
            SourceName::Chats => self.messages,
            SourceName::Characters => self.characters,
            SourceName::Prompts => self.prompts,
            // They are no source of a library.
            SourceName::Collections => 0,
        }
    }
}

/// Fills every source of the library in this folder with text of its own;
/// tells how many passages there were.
pub fn fill(library: &Path, text: &Text, sizes: Sizes, sample: &mut Sample) -> Result<usize> {
    let mut filled = 0;
    let sources = registry::sources();
    for (source, passages) in sources.iter().zip(text.parts(sources.len())?) {
        let store = Store::new(source.database(), library);
        let passages = passages.take(sizes.in_source(source.name())).inspect(|passage| {
            filled += 1;
            sample.look(passage);
        });
        save(&store, &**source, &mut drafts(source.name(), passages))?;
    }
    Ok(filled)
}

/// Fills the notes of the library in this folder and, beside it, an index of
/// tantivy's with the same passages; tells how many there were.
pub fn fill_notes(
    library: &Path,
    index: &mut TantivyWriter,
    passages: Passages,
    sample: &mut Sample,
) -> Result<usize> {
    let notes = source(SourceName::Notes)?;
    let store = Store::new(notes.database(), library);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCH);
        let beside = scope.spawn(move || {
            let mut filled = 0;
            for passage in passages {
                filled += 1;
                sample.look(&passage);
                index.add(&passage)?;
                // Nobody takes it if saving has failed, which is told below.
                if sender.send(passage).is_err() {
                    break;
                }
            }
            Ok(filled)
        });
        save(&store, &*notes, &mut drafts(SourceName::Notes, receiver.into_iter()))?;
        beside.join().unwrap_or_else(|_| bail!("filling tantivy broke off"))
    })
}

/// A source of the server.
pub fn source(name: SourceName) -> Result<Arc<dyn Source>> {
    let mut sources = registry::sources().into_iter();
    sources.find(|source| source.name() == name).context("a source is missing")
}

fn save(store: &Store, source: &dyn Source, drafts: &mut dyn Iterator<Item = Draft>) -> Result<()> {
    loop {
        let batch: Vec<Draft> = drafts.take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        store.write(Durability::Bulk, |writer| {
            for draft in &batch {
                source.save(writer, draft)?;
            }
            Ok::<_, SourceError>(())
        })?;
    }
    Ok(store.settle()?)
}

/// What passages are in a source: one item each, or one message.
fn drafts<'a>(
    source: SourceName,
    passages: impl Iterator<Item = Passage> + 'a,
) -> Box<dyn Iterator<Item = Draft> + 'a> {
    let one: fn(Passage, usize) -> Body = match source {
        SourceName::Chats => return Box::new(Conversations { passages, number: 0 }),
        SourceName::Notes | SourceName::Collections => note,
        SourceName::Media => media,
        SourceName::Characters => character,
        SourceName::Prompts => prompt,
    };
    Box::new(passages.zip(0..).map(move |(passage, number)| draft(number, one(passage, number))))
}

/// A draft whose origin and fingerprint no other has.
fn draft(number: usize, body: Body) -> Draft {
    let origin = format!("bench:{number}");
    Draft { digest: origin.clone(), origin, id: None, body }
}

/// A moment that is another one for every number.
fn moment(number: usize) -> Option<Timestamp> {
    let minutes = u32::try_from(number).unwrap_or(0);
    Timestamp::from_unix_seconds(1.7e9 + f64::from(minutes) * 60.0)
}

fn note(passage: Passage, number: usize) -> Body {
    Body::Note(NoteDraft {
        title: passage.title,
        content: passage.body,
        modified_at: moment(number),
        ..NoteDraft::default()
    })
}

fn media(passage: Passage, number: usize) -> Body {
    Body::Media(MediaDraft {
        title: passage.title,
        media_type: "txt".to_owned(),
        content: passage.body,
        modified_at: moment(number),
        ..MediaDraft::default()
    })
}

fn character(passage: Passage, number: usize) -> Body {
    Body::Character(Box::new(CharacterDraft {
        name: passage.title,
        description: Some(passage.body),
        modified_at: moment(number),
        ..CharacterDraft::default()
    }))
}

fn prompt(passage: Passage, number: usize) -> Body {
    Body::Prompt(PromptDraft {
        // Names are unique.
        name: format!("{} {number}", passage.title),
        user_prompt: Some(passage.body),
        modified_at: moment(number),
        ..PromptDraft::default()
    })
}

/// Passages as the messages of conversations.
struct Conversations<I> {
    passages: I,
    number: usize,
}

impl<I: Iterator<Item = Passage>> Iterator for Conversations<I> {
    type Item = Draft;

    fn next(&mut self) -> Option<Draft> {
        let passages: Vec<Passage> = self.passages.by_ref().take(MESSAGES).collect();
        let title = passages.first()?.title.clone();
        let number = self.number;
        self.number += 1;
        let messages = passages.into_iter().zip(0..).map(|(passage, place)| MessageDraft {
            origin: place.to_string(),
            sender: if place % 2 == 0 { "user" } else { "assistant" }.to_owned(),
            content: passage.body,
            sent_at: moment(number * MESSAGES + place),
            ..MessageDraft::default()
        });
        let messages = messages.collect();
        Some(draft(
            number,
            Body::Chat(ChatDraft { title: Some(title), messages, ..ChatDraft::default() }),
        ))
    }
}
