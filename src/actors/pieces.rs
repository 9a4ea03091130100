//! An item of a library in pieces that vectors are made of.

use serde_json::{Map, Value, json};
use vademecum_collections::NewChunk;
use vademecum_kit::{
    model::{Body, ChatDraft, MessageDraft},
    retrieve::{Sizes, chunks},
};

/// Characters of a piece at most: what a small model reads at once.
const SIZES: Sizes = Sizes { chunk: 1_000, overlap: 100, whole: 1_500 };

/// The title of an item, and its pieces in order. Their metadata say where in
/// the item each is, as a `loc` does.
pub(super) fn pieces(body: &Body) -> (Option<String>, Vec<NewChunk>) {
    match body {
        Body::Note(note) => (some(&note.title), of_text(&note.content, &Map::new())),
        Body::Media(media) => (some(&media.title), of_text(&media.content, &Map::new())),
        Body::Chat(chat) => (chat.title.clone(), of_chat(chat)),
        Body::Character(card) => {
            let fields = [
                ("description", &card.description),
                ("personality", &card.personality),
                ("scenario", &card.scenario),
                ("first_message", &card.first_message),
                ("message_example", &card.message_example),
                ("system_prompt", &card.system_prompt),
                ("creator_notes", &card.creator_notes),
            ];
            (some(&card.name), of_fields(&fields))
        }
        Body::Prompt(prompt) => {
            let fields = [
                ("details", &prompt.details),
                ("system_prompt", &prompt.system_prompt),
                ("user_prompt", &prompt.user_prompt),
            ];
            (some(&prompt.name), of_fields(&fields))
        }
    }
}

fn some(title: &str) -> Option<String> {
    (!title.trim().is_empty()).then(|| title.to_owned())
}

fn of_text(text: &str, metadata: &Map<String, Value>) -> Vec<NewChunk> {
    let pieces = chunks(text, SIZES).into_iter();
    let said = pieces.filter(|piece| !piece.text.trim().is_empty());
    said.map(|piece| {
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

fn of_fields(fields: &[(&str, &Option<String>)]) -> Vec<NewChunk> {
    let mut pieces = Vec::new();
    for (field, text) in fields {
        let mut metadata = Map::new();
        metadata.insert("field".to_owned(), json!(field));
        pieces.extend(of_text(text.as_deref().unwrap_or_default(), &metadata));
    }
    pieces
}

/// Messages that follow each other share a piece while there is room; a long one
/// is cut.
fn of_chat(chat: &ChatDraft) -> Vec<NewChunk> {
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
        let mut cut = of_text(&line, &metadata);
        for piece in &mut cut {
            // Where it is in the message is not where it is in the conversation.
            piece.metadata.remove("approx_offset");
        }
        room = SIZES.chunk.saturating_sub(cut.last().map_or(0, |last| last.end - last.start));
        pieces.extend(cut);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::NoteDraft;

    use super::*;

    #[test]
    fn a_piece_says_where_in_its_item_it_is() {
        let content = format!("{}\n\nThe end.", "Knead the dough. ".repeat(80));
        let note = NoteDraft { title: "Bread".to_owned(), content, ..NoteDraft::default() };
        let (title, pieces) = pieces(&Body::Note(note));
        assert_eq!(title.as_deref(), Some("Bread"));
        assert!(pieces.len() > 1);
        for piece in &pieces {
            assert_eq!(piece.metadata["approx_offset"], piece.start);
            assert!(piece.body.chars().count() <= SIZES.chunk);
        }
    }

    #[test]
    fn short_messages_share_a_piece_and_long_ones_are_cut() {
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
        let (_, pieces) = pieces(&Body::Chat(chat));
        assert_eq!(pieces[0].body, "ada: Hello\nada: Bread?\n");
        let places: Vec<_> = pieces.iter().map(|piece| &piece.metadata["message_index"]).collect();
        assert_eq!(places, [&json!(0), &json!(2), &json!(2)]);
        assert!(pieces[2].body.ends_with("ada: Yes.\n"), "{}", pieces[2].body);
    }
}
