//! Scatters the documents of a collection over the five sources, as what each
//! of them keeps.

use std::collections::HashMap;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use vademecum_kit::model::{
    Body, CharacterDraft, ChatDraft, Draft, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
    Saved, SourceName, Timestamp, Uri,
};

use super::collection::Document;
use crate::{actors::Library, cli::import::progress};
use vademecum_import::digest;

/// Goes up when the same document makes another draft than before.
const VERSION: &str = "eval/1";
/// Drafts that are saved in one transaction.
const BATCH: usize = 500;
/// When the first document was written, in seconds since 1970 began. Each
/// further one is a second older, so that equals rank as the corpus lists them.
const FIRST_WRITTEN: f64 = 1.7e9;

/// Where the documents of a collection are in the library.
#[derive(Debug, Default)]
pub(super) struct Scattered {
    /// The place in the corpus of every item.
    pub(super) places: HashMap<Uri, usize>,
    /// How many documents were not there before.
    pub(super) imported: usize,
}

/// Saves all documents that are not in the library yet.
pub(super) async fn scatter(library: &Library, documents: &[Document]) -> Result<Scattered> {
    let mut scattered = Scattered::default();
    let bar = progress(documents.len(), "documents");
    for name in SourceName::ALL {
        let source =
            library.source(name).with_context(|| format!("source `{name}` is not there"))?;
        let share: Vec<(usize, &Document)> =
            (0..).zip(documents).filter(|(_, document)| source_of(&document.id) == name).collect();
        let titles = Titles::of(&share);
        for batch in share.chunks(BATCH) {
            let drafts = batch.iter().map(|(place, it)| draft(name, *place, it, &titles));
            let answers = source.save(drafts.collect()).await?;
            for ((place, document), answer) in batch.iter().zip(answers) {
                let saved =
                    answer.with_context(|| format!("cannot save document `{}`", document.id))?;
                scattered.note(saved, *place);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.settle()?;
    }
    Ok(scattered)
}

impl Scattered {
    fn note(&mut self, saved: Saved, place: usize) {
        let (uri, is_new) = match saved {
            Saved::New(uri) | Saved::Updated(uri) => (uri, true),
            Saved::Unchanged(uri) => (uri, false),
        };
        self.imported += usize::from(is_new);
        self.places.insert(uri, place);
    }
}

/// The source that a document goes to: SHA-256 of its id, the first eight bytes
/// as a big-endian number, modulo five. It is the same on every machine.
fn source_of(id: &str) -> SourceName {
    let first = Sha256::digest(id).into_iter().take(8);
    let number = first.fold(0_u64, |number, byte| number << 8 | u64::from(byte));
    match number % 5 {
        0 => SourceName::Notes,
        1 => SourceName::Media,
        2 => SourceName::Chats,
        3 => SourceName::Characters,
        _ => SourceName::Prompts,
    }
}

/// How often each title occurs among the documents of one source.
struct Titles<'a>(HashMap<&'a str, usize>);

impl<'a> Titles<'a> {
    fn of(share: &[(usize, &'a Document)]) -> Self {
        let mut counts = HashMap::new();
        for (_, document) in share {
            *counts.entry(document.title.as_str()).or_default() += 1;
        }
        Self(counts)
    }

    /// A name that no other document of the source has.
    fn name(&self, document: &Document) -> String {
        let Document { id, title, text: _ } = document;
        match self.0.get(title.as_str()) {
            _ if title.is_empty() => id.clone(),
            Some(1) | None => title.clone(),
            Some(_) => format!("{title} {id}"),
        }
    }
}

/// A document as an item of a source.
fn draft(source: SourceName, place: usize, document: &Document, titles: &Titles<'_>) -> Draft {
    let Document { id, title, text } = document;
    let written = written(place);
    let (title, text) = (title.clone(), text.clone());
    let name = if source == SourceName::Prompts { titles.name(document) } else { title.clone() };
    let digest = digest(VERSION, [id, &name, &text].map(String::as_bytes));
    let body = match source {
        // Nothing is scattered over collections: they are no place of a library.
        SourceName::Notes | SourceName::Collections => Body::Note(NoteDraft {
            title,
            content: text,
            created_at: written,
            modified_at: written,
            ..NoteDraft::default()
        }),
        SourceName::Media => Body::Media(MediaDraft {
            title,
            media_type: "txt".to_owned(),
            content: text,
            modified_at: written,
            ..MediaDraft::default()
        }),
        SourceName::Chats => Body::Chat(ChatDraft {
            title: Some(title).filter(|title| !title.is_empty()),
            created_at: written,
            modified_at: written,
            messages: vec![MessageDraft {
                origin: id.clone(),
                sender: "user".to_owned(),
                content: text,
                sent_at: written,
                ..MessageDraft::default()
            }],
            ..ChatDraft::default()
        }),
        SourceName::Characters => Body::Character(Box::new(CharacterDraft {
            name: if title.is_empty() { id.clone() } else { title },
            description: Some(text),
            created_at: written,
            modified_at: written,
            ..CharacterDraft::default()
        })),
        SourceName::Prompts => Body::Prompt(PromptDraft {
            name,
            user_prompt: Some(text),
            modified_at: written,
            ..PromptDraft::default()
        }),
    };
    Draft { origin: format!("eval:{id}"), digest, id: None, body }
}

fn written(place: usize) -> Option<Timestamp> {
    let seconds = f64::from(u32::try_from(place).unwrap_or(u32::MAX));
    Timestamp::from_unix_seconds(FIRST_WRITTEN - seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: &str, title: &str) -> Document {
        Document { id: id.to_owned(), title: title.to_owned(), text: "text".to_owned() }
    }

    #[test]
    fn a_document_always_goes_to_the_same_source() {
        // By hand: `printf 1 | sha256sum` begins with 6b86b273ff34fce1.
        assert_eq!(0x6b86_b273_ff34_fce1_u64 % 5, 3);
        assert_eq!(source_of("1"), SourceName::Characters);
        for source in SourceName::ALL {
            assert!((0..100).any(|id| source_of(&id.to_string()) == source), "{source}");
        }
    }

    #[test]
    fn prompts_get_names_of_their_own() {
        let documents =
            [document("1", "A"), document("2", "A"), document("3", "B"), document("4", "")];
        let share: Vec<_> = (0..).zip(&documents).collect();
        let titles = Titles::of(&share);
        let names = documents.each_ref().map(|document| titles.name(document));
        assert_eq!(names, ["A 1", "A 2", "B", "4"]);
    }

    #[test]
    fn a_draft_is_of_its_source_and_equals_rank_as_they_are_listed() {
        let documents = [document("1", "A")];
        let titles = Titles::of(&[(0, &documents[0])]);
        for source in SourceName::ALL {
            let draft = draft(source, 0, &documents[0], &titles);
            assert_eq!((draft.body.source(), draft.origin.as_str()), (source, "eval:1"));
        }
        assert!(written(0) > written(1));
    }
}
