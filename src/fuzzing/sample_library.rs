//! A small library with one matching item in every source.
#![expect(clippy::expect_used, reason = "a failed setup must stop the fuzzer")]

use std::{path::Path, sync::Arc};

use vademecum_model::{
    CharacterDraft, ChatDraft, Draft, DraftBody, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
};
use vademecum_source::Source;
use vademecum_store::{Durability, Store};

use crate::registry;

/// Text of every item: words of all kinds that the tokenizer and the query parser treat
/// differently.
const SAMPLE_TEXT: &str = "# Rye\n\nKneading the dough, rye bread: it's C++, R&D, foo_bar, readFiles, \
                    v1.2.3, naïve Käse. 東京都 and 한국어. http://a.b/c?x=1 — \"to be or not\".";

/// Returns all sources, each with a store in `folder` that contains one item.
pub(super) fn create_sources(folder: &Path) -> Vec<(Arc<dyn Source>, Store)> {
    registry::sources()
        .into_iter()
        .map(|source| {
            let store = Store::new(source.database(), folder);
            for body in sample_bodies().into_iter().filter(|body| body.source() == source.name()) {
                let draft =
                    Draft { origin: "/a".to_owned(), digest: String::new(), id: None, body };
                store
                    .write(Durability::Bulk, |writer| source.save_draft(writer, &draft))
                    .expect("the sample draft is saved");
            }
            (source, store)
        })
        .collect()
}

fn sample_bodies() -> [DraftBody; 5] {
    let (title, text) = ("Rye bread".to_owned(), SAMPLE_TEXT.to_owned());
    let tags = vec!["bread".to_owned()];
    [
        DraftBody::Note(NoteDraft {
            title: title.clone(),
            content: text.clone(),
            tags: tags.clone(),
            ..NoteDraft::default()
        }),
        DraftBody::Media(MediaDraft {
            title: title.clone(),
            media_type: "markdown".to_owned(),
            content: text.clone(),
            tags: tags.clone(),
            ..MediaDraft::default()
        }),
        DraftBody::Chat(ChatDraft {
            title: Some(title.clone()),
            messages: vec![MessageDraft {
                origin: "1".to_owned(),
                sender: "user".to_owned(),
                content: text.clone(),
                ..MessageDraft::default()
            }],
            ..ChatDraft::default()
        }),
        DraftBody::Character(Box::new(CharacterDraft {
            name: title.clone(),
            description: Some(text.clone()),
            ..CharacterDraft::default()
        })),
        DraftBody::Prompt(PromptDraft {
            name: title,
            user_prompt: Some(text),
            keywords: tags,
            ..PromptDraft::default()
        }),
    ]
}
