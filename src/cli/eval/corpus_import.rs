//! Imports the documents of a collection into the five sources, as items of their types. Documents
//! that are messages become the messages of conversations.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use vademecum_actors::Library;
use vademecum_eval::{CorpusDocument, MessagePlace};
use vademecum_import::digest;
use vademecum_model::{
    CharacterDraft, ChatDraft, Draft, DraftBody, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
    SaveOutcome, SourceName, Timestamp, Uri,
};
use vademecum_vault::journal::ConflictCopies;

use crate::cli::progress::progress_bar;

/// Version of the conversion from documents to drafts. Increment it when a document becomes a
/// different draft.
const DRAFT_VERSION: &str = "eval/1";
/// Maximum number of drafts that are saved in one transaction.
const MAX_BATCH_DRAFTS: usize = 500;
/// Maximum number of conversations that are saved in one transaction.
const MAX_BATCH_CONVERSATIONS: usize = 50;
/// Date of the first document, in seconds since the Unix epoch. Each further document is one second
/// older, so that equal scores rank in corpus order.
const FIRST_WRITTEN_SECONDS: f64 = 1.7e9;

/// A document that is a message, with its corpus position.
type PlacedMessage<'a> = (usize, &'a CorpusDocument, &'a MessagePlace);

/// The imported corpus.
#[derive(Debug, Default)]
pub(super) struct ImportedCorpus {
    /// Corpus position of every item that is one document, and of every message that is one.
    pub(super) positions: HashMap<Uri, usize>,
    /// Corpus positions of the messages of the conversations of several documents.
    conversations: HashMap<Uri, Vec<usize>>,
    /// Number of documents that were new or updated.
    pub(super) imported: usize,
}

/// Saves all documents that are not in the library yet.
pub(super) async fn import_corpus(
    library: &Library,
    documents: &[CorpusDocument],
) -> Result<ImportedCorpus> {
    let mut scattered = ImportedCorpus::default();
    let bar = progress_bar(documents.len(), "documents");
    for name in SourceName::ALL {
        let source =
            library.source(name).with_context(|| format!("source `{name}` is not available"))?;
        let share: Vec<(usize, &CorpusDocument)> = (0..)
            .zip(documents)
            .filter(|(_, document)| document.message.is_none())
            .filter(|(_, document)| assign_source(&document.id) == name)
            .collect();
        let titles = TitleCounts::count_titles(&share);
        for batch in share.chunks(MAX_BATCH_DRAFTS) {
            let drafts = batch.iter().map(|(place, it)| to_draft(name, *place, it, &titles));
            let answers = source.save_drafts(drafts.collect(), ConflictCopies::InLibrary).await?;
            for ((place, document), answer) in batch.iter().zip(answers) {
                let saved =
                    answer.with_context(|| format!("cannot save document `{}`", document.id))?;
                scattered.record_saved(saved, *place);
                bar.inc(1);
            }
        }
    }
    let chats = library.source(SourceName::Chats).context("source `chats` is not available")?;
    for batch in group_conversations(documents).chunks(MAX_BATCH_CONVERSATIONS) {
        let drafts = batch.iter().map(|messages| to_conversation_draft(messages));
        let answers = chats.save_drafts(drafts.collect(), ConflictCopies::InLibrary).await?;
        for (messages, answer) in batch.iter().zip(answers) {
            scattered.record_conversation(answer.context("cannot save a conversation")?, messages);
            bar.inc(messages.len() as u64);
        }
    }
    bar.finish_and_clear();
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.checkpoint()?;
    }
    Ok(scattered)
}

impl ImportedCorpus {
    fn record_saved(&mut self, saved: SaveOutcome, place: usize) {
        let (uri, is_new) = saved_uri(saved);
        self.imported += usize::from(is_new);
        self.positions.insert(uri, place);
    }

    fn record_conversation(&mut self, saved: SaveOutcome, messages: &[PlacedMessage<'_>]) {
        let (uri, is_new) = saved_uri(saved);
        self.imported += if is_new { messages.len() } else { 0 };
        for (place, document, _) in messages {
            let message = Uri::part(uri.source, uri.id.as_str(), document.id.as_str());
            self.positions.insert(message, *place);
        }
        self.conversations.insert(uri, messages.iter().map(|(place, _, _)| *place).collect());
    }

    /// Returns the corpus position of a hit. A hit of a whole conversation is its message at
    /// `message_index`, or the opening one.
    pub(super) fn position(&self, uri: &Uri, message_index: Option<usize>) -> Option<usize> {
        let item = || Uri::item(uri.source, uri.id.as_str());
        let document = self.positions.get(uri).or_else(|| self.positions.get(&item()));
        let message = || self.conversations.get(uri)?.get(message_index.unwrap_or_default());
        document.or_else(message).copied()
    }
}

/// Returns the URI of a saved item, and whether it is new or updated.
fn saved_uri(saved: SaveOutcome) -> (Uri, bool) {
    match saved {
        SaveOutcome::New(uri) | SaveOutcome::Updated(uri) | SaveOutcome::Reconciled { uri, .. } => {
            (uri, true)
        }
        SaveOutcome::Unchanged(uri) | SaveOutcome::Merged(uri) => (uri, false),
    }
}

/// Returns the messages of each conversation, by turn. Messages without a turn follow in corpus
/// order.
fn group_conversations(documents: &[CorpusDocument]) -> Vec<Vec<PlacedMessage<'_>>> {
    let mut conversations: BTreeMap<&str, Vec<PlacedMessage<'_>>> = BTreeMap::new();
    for (place, document) in documents.iter().enumerate() {
        if let Some(message) = &document.message {
            let name = message.conversation.as_str();
            conversations.entry(name).or_default().push((place, document, message));
        }
    }
    let turn = |message: &MessagePlace| message.turn.unwrap_or(f64::INFINITY);
    for messages in conversations.values_mut() {
        messages.sort_by(|(_, _, one), (_, _, other)| turn(one).total_cmp(&turn(other)));
    }
    conversations.into_values().collect()
}

/// Converts the messages of one conversation to a draft. Their ids are those of the documents. The
/// title is that of the opening message.
fn to_conversation_draft(messages: &[PlacedMessage<'_>]) -> Draft {
    let opening = messages.first();
    let name = opening.map(|(_, _, place)| place.conversation.as_str()).unwrap_or_default();
    let title = opening.map(|(_, document, _)| document.title.as_str()).unwrap_or_default();
    let parts = messages.iter().flat_map(|(_, document, place)| {
        [&document.id, &place.sender, &document.text].map(String::as_bytes)
    });
    let digest = digest(DRAFT_VERSION, [name, title].map(str::as_bytes).into_iter().chain(parts));
    let created_at = opening.and_then(|(place, _, _)| written_at(*place));
    let body = DraftBody::Chat(ChatDraft {
        title: Some(title.to_owned()).filter(|title| !title.is_empty()),
        created_at,
        modified_at: created_at,
        messages: messages
            .iter()
            .map(|(_, document, place)| MessageDraft {
                origin: document.id.clone(),
                id: Some(document.id.clone()),
                sender: place.sender.clone(),
                content: document.text.clone(),
                ..MessageDraft::default()
            })
            .collect(),
        ..ChatDraft::default()
    });
    Draft { origin: format!("eval-conversation:{name}"), digest, id: None, body }
}

/// Returns the source of a document: the first eight bytes of the SHA-256 of its id as a big-endian
/// number, modulo 5. The result is the same on every machine.
fn assign_source(id: &str) -> SourceName {
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

/// Number of occurrences of each title among the documents of one source.
struct TitleCounts<'a>(HashMap<&'a str, usize>);

impl<'a> TitleCounts<'a> {
    fn count_titles(share: &[(usize, &'a CorpusDocument)]) -> Self {
        let mut counts = HashMap::new();
        for (_, document) in share {
            *counts.entry(document.title.as_str()).or_default() += 1;
        }
        Self(counts)
    }

    /// Returns a name that is unique within the source.
    fn unique_name(&self, document: &CorpusDocument) -> String {
        let CorpusDocument { id, title, .. } = document;
        match self.0.get(title.as_str()) {
            _ if title.is_empty() => id.clone(),
            Some(1) | None => title.clone(),
            Some(_) => format!("{title} {id}"),
        }
    }
}

/// Converts a document to a draft of a source.
fn to_draft(
    source: SourceName,
    place: usize,
    document: &CorpusDocument,
    titles: &TitleCounts<'_>,
) -> Draft {
    let CorpusDocument { id, title, text, message: _ } = document;
    let written = written_at(place);
    let (title, text) = (title.clone(), text.clone());
    let name =
        if source == SourceName::Prompts { titles.unique_name(document) } else { title.clone() };
    let digest = digest(DRAFT_VERSION, [id, &name, &text].map(String::as_bytes));
    let body = match source {
        // No document is assigned to collections, which are not part of a library.
        SourceName::Notes | SourceName::Collections => DraftBody::Note(NoteDraft {
            title,
            content: text,
            created_at: written,
            modified_at: written,
            ..NoteDraft::default()
        }),
        SourceName::Media => DraftBody::Media(MediaDraft {
            title,
            media_type: "txt".to_owned(),
            content: text,
            modified_at: written,
            ..MediaDraft::default()
        }),
        SourceName::Chats => DraftBody::Chat(ChatDraft {
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
        SourceName::Characters => DraftBody::Character(Box::new(CharacterDraft {
            name: if title.is_empty() { id.clone() } else { title },
            description: Some(text),
            created_at: written,
            modified_at: written,
            ..CharacterDraft::default()
        })),
        SourceName::Prompts => DraftBody::Prompt(PromptDraft {
            name,
            user_prompt: Some(text),
            modified_at: written,
            ..PromptDraft::default()
        }),
    };
    Draft { origin: format!("eval:{id}"), digest, id: None, body }
}

fn written_at(place: usize) -> Option<Timestamp> {
    let seconds = f64::from(u32::try_from(place).unwrap_or(u32::MAX));
    Timestamp::from_unix_seconds(FIRST_WRITTEN_SECONDS - seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: &str, title: &str) -> CorpusDocument {
        CorpusDocument {
            id: id.to_owned(),
            title: title.to_owned(),
            text: "text".to_owned(),
            message: None,
        }
    }

    #[test]
    fn document_source_is_stable() {
        // By hand: `printf 1 | sha256sum` starts with 6b86b273ff34fce1.
        assert_eq!(0x6b86_b273_ff34_fce1_u64 % 5, 3);
        assert_eq!(assign_source("1"), SourceName::Characters);
        for source in SourceName::ALL {
            assert!((0..100).any(|id| assign_source(&id.to_string()) == source), "{source}");
        }
    }

    #[test]
    fn prompt_names_are_unique() {
        let documents =
            [document("1", "A"), document("2", "A"), document("3", "B"), document("4", "")];
        let share: Vec<_> = (0..).zip(&documents).collect();
        let titles = TitleCounts::count_titles(&share);
        let names = documents.each_ref().map(|document| titles.unique_name(document));
        assert_eq!(names, ["A 1", "A 2", "B", "4"]);
    }

    #[test]
    fn draft_matches_source_and_keeps_corpus_order() {
        let documents = [document("1", "A")];
        let titles = TitleCounts::count_titles(&[(0, &documents[0])]);
        for source in SourceName::ALL {
            let draft = to_draft(source, 0, &documents[0], &titles);
            assert_eq!((draft.body.source(), draft.origin.as_str()), (source, "eval:1"));
        }
        assert!(written_at(0) > written_at(1));
    }

    #[test]
    fn conversations_order_messages_by_turn() {
        let message = |id: &str, conversation: &str, turn: Option<f64>| CorpusDocument {
            message: Some(MessagePlace {
                conversation: conversation.to_owned(),
                sender: "Ada".to_owned(),
                turn,
            }),
            ..document(id, id)
        };
        let documents = [
            message("last", "c", None),
            document("note", ""),
            message("second", "c", Some(2.0)),
            message("other", "b", Some(9.0)),
            message("first", "c", Some(1.5)),
        ];
        let conversations = group_conversations(&documents);
        let positions = |messages: &Vec<PlacedMessage<'_>>| -> Vec<usize> {
            messages.iter().map(|(place, _, _)| *place).collect()
        };
        assert_eq!(
            conversations.iter().map(positions).collect::<Vec<_>>(),
            [vec![3], vec![4, 2, 0]]
        );
        let draft = to_conversation_draft(&conversations[1]);
        assert_eq!(draft.origin, "eval-conversation:c");
        let DraftBody::Chat(chat) = draft.body else { panic!("{draft:?}") };
        assert_eq!((chat.title.as_deref(), chat.messages.len()), (Some("first"), 3));

        let mut corpus = ImportedCorpus::default();
        let uri = Uri::item(SourceName::Chats, "x");
        corpus.record_conversation(SaveOutcome::New(uri.clone()), &conversations[1]);
        let message = Uri::part(SourceName::Chats, "x", "second");
        assert_eq!(
            (corpus.position(&message, Some(0)), corpus.position(&uri, None)),
            (Some(2), Some(4))
        );
        assert_eq!(
            [1, 2, 3].map(|index| corpus.position(&uri, Some(index))),
            [Some(2), Some(0), None]
        );
        assert_eq!(corpus.imported, 3);
    }
}
