//! Splits items of a library into chunks for embedding.

use serde_json::{Map, Value, json};
use vademecum_collections::NewChunk;
use vademecum_model::{ChatDraft, DraftBody, MessageDraft};
use vademecum_search::{ChunkSizes, split_into_chunks};

/// Chunk sizes in characters, chosen for the context of small embedding models.
const CHUNK_SIZES: ChunkSizes = ChunkSizes { chunk: 1_000, overlap: 100, max_block: 1_500 };

/// Returns the title of an item and its chunks in order. The chunk metadata locate the chunk in the
/// item, as a `loc` does.
pub(super) fn chunk_item(body: &DraftBody) -> (Option<String>, Vec<NewChunk>) {
    match body {
        DraftBody::Note(note) => {
            (non_empty_title(&note.title), chunk_text(&note.content, &Map::new()))
        }
        DraftBody::Media(media) => {
            (non_empty_title(&media.title), chunk_text(&media.content, &Map::new()))
        }
        DraftBody::Chat(chat) => (chat.title.clone(), chunk_chat(chat)),
        DraftBody::Character(card) => {
            let fields = [
                ("description", &card.description),
                ("personality", &card.personality),
                ("scenario", &card.scenario),
                ("first_message", &card.first_message),
                ("message_example", &card.message_example),
                ("system_prompt", &card.system_prompt),
                ("creator_notes", &card.creator_notes),
            ];
            (non_empty_title(&card.name), chunk_fields(&fields))
        }
        DraftBody::Prompt(prompt) => {
            let fields = [
                ("details", &prompt.details),
                ("system_prompt", &prompt.system_prompt),
                ("user_prompt", &prompt.user_prompt),
            ];
            (non_empty_title(&prompt.name), chunk_fields(&fields))
        }
    }
}

fn non_empty_title(title: &str) -> Option<String> {
    (!title.trim().is_empty()).then(|| title.to_owned())
}

fn chunk_text(text: &str, metadata: &Map<String, Value>) -> Vec<NewChunk> {
    let pieces = split_into_chunks(text, CHUNK_SIZES).into_iter();
    let non_empty = pieces.filter(|piece| !piece.text.trim().is_empty());
    non_empty
        .map(|piece| {
            let mut metadata = metadata.clone();
            metadata.insert("approx_offset".to_owned(), piece.start.into());
            NewChunk {
                section: None,
                start: piece.start,
                end: piece.end,
                body: piece.text.to_owned(),
                metadata,
            }
        })
        .collect()
}

fn chunk_fields(fields: &[(&str, &Option<String>)]) -> Vec<NewChunk> {
    let mut pieces = Vec::new();
    for (field, text) in fields {
        let mut metadata = Map::new();
        metadata.insert("field".to_owned(), json!(field));
        pieces.extend(chunk_text(text.as_deref().unwrap_or_default(), &metadata));
    }
    pieces
}

/// Splits a chat. Consecutive messages share a chunk while they fit; long messages are split.
fn chunk_chat(chat: &ChatDraft) -> Vec<NewChunk> {
    let mut pieces: Vec<NewChunk> = Vec::new();
    let mut room = 0;
    for (index, message) in chat.messages.iter().enumerate() {
        let MessageDraft { sender, content, .. } = message;
        let line = format!("{sender}: {content}\n");
        let size = line.chars().count();
        if let Some(last) = pieces.last_mut().filter(|_| size <= room) {
            last.body.push_str(&line);
            last.end += size;
            room -= size;
            continue;
        }
        let mut metadata = Map::new();
        metadata.insert("message_index".to_owned(), index.into());
        let mut cut = chunk_text(&line, &metadata);
        for piece in &mut cut {
            // An offset within the message is not an offset within the conversation.
            piece.metadata.remove("approx_offset");
        }
        room = CHUNK_SIZES.chunk.saturating_sub(cut.last().map_or(0, |last| last.end - last.start));
        pieces.extend(cut);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use vademecum_model::NoteDraft;

    use super::*;

    #[test]
    fn chunk_metadata_locate_it_in_item() {
        let content = format!("{}\n\nThe end.", "Knead the dough. ".repeat(80));
        let note = NoteDraft { title: "Bread".to_owned(), content, ..NoteDraft::default() };
        let (title, pieces) = chunk_item(&DraftBody::Note(note));
        assert_eq!(title.as_deref(), Some("Bread"));
        assert!(pieces.len() > 1);
        for piece in &pieces {
            assert_eq!(piece.metadata["approx_offset"], piece.start);
            assert!(piece.body.chars().count() <= CHUNK_SIZES.chunk);
        }
    }

    #[test]
    fn short_messages_share_chunk_long_ones_split() {
        let say = |content: &str| MessageDraft {
            sender: "ada".to_owned(),
            content: content.to_owned(),
            ..MessageDraft::default()
        };
        let long = "word ".repeat(300);
        let chat = ChatDraft {
            messages: vec![say("Hello"), say("Bread?"), say(&long), say("Yes.")],
            ..ChatDraft::default()
        };
        let (_, pieces) = chunk_item(&DraftBody::Chat(chat));
        assert_eq!(pieces[0].body, "ada: Hello\nada: Bread?\n");
        let message_indexes: Vec<_> =
            pieces.iter().map(|piece| &piece.metadata["message_index"]).collect();
        assert_eq!(message_indexes, [&json!(0), &json!(2), &json!(2)]);
        assert!(pieces[2].body.ends_with("ada: Yes.\n"), "{}", pieces[2].body);
    }
}
