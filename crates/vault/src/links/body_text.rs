//! The text of an item in which links are looked up.

use vademecum_model::DraftBody;

/// Returns the text of an item in which links are looked up.
pub(super) fn body_text(body: &DraftBody) -> String {
    match body {
        DraftBody::Note(note) => note.content.clone(),
        DraftBody::Media(media) => media.content.clone(),
        DraftBody::Chat(chat) => {
            let texts: Vec<&str> = chat.messages.iter().map(|it| it.content.as_str()).collect();
            texts.join("\n\n")
        }
        DraftBody::Prompt(prompt) => {
            let texts = [&prompt.details, &prompt.system_prompt, &prompt.user_prompt];
            texts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n\n")
        }
        DraftBody::Character(card) => {
            let texts = [&card.description, &card.scenario, &card.creator_notes];
            texts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n\n")
        }
    }
}
