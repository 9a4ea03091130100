//! A small library in which something is found in every source.
#![expect(clippy::expect_used, reason = "without a library there is nothing to be fed")]

use std::{path::Path, sync::Arc};

use vademecum_kit::{
    model::{
        Body, CharacterDraft, ChatDraft, Draft, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
    },
    source::Source,
    store::{Durability, Store},
};

use crate::registry;

/// What every item says: words of all kinds that are looked for in their own ways.
const TEXT: &str = "# Rye\n\nKneading the dough, rye bread: it's C++, R&D, foo_bar, readFiles, \
                    v1.2.3, naïve Käse. 東京都 and 한국어. http://a.b/c?x=1 — \"to be or not\".";

/// The sources, each with its store in `folder`, filled.
pub(super) fn filled(folder: &Path) -> Vec<(Arc<dyn Source>, Store)> {
    registry::sources()
        .into_iter()
        .map(|source| {
            let store = Store::new(source.database(), folder);
            for body in bodies().into_iter().filter(|body| body.source() == source.name()) {
                let draft =
                    Draft { origin: "/a".to_owned(), digest: String::new(), id: None, body };
                store
                    .write(Durability::Bulk, |writer| source.save(writer, &draft))
                    .expect("a draft of ours is saved");
            }
            (source, store)
        })
        .collect()
}

fn bodies() -> [Body; 5] {
    let (title, text) = ("Rye bread".to_owned(), TEXT.to_owned());
    let tags = vec!["bread".to_owned()];
    [
        Body::Note(NoteDraft {
            title: title.clone(),
            content: text.clone(),
            tags: tags.clone(),
            ..NoteDraft::default()
        }),
        Body::Media(MediaDraft {
            title: title.clone(),
            media_type: "markdown".to_owned(),
            content: text.clone(),
            tags: tags.clone(),
            ..MediaDraft::default()
        }),
        Body::Chat(ChatDraft {
            title: Some(title.clone()),
            messages: vec![MessageDraft {
                origin: "1".to_owned(),
                sender: "user".to_owned(),
                content: text.clone(),
                ..MessageDraft::default()
            }],
            ..ChatDraft::default()
        }),
        Body::Character(Box::new(CharacterDraft {
            name: title.clone(),
            description: Some(text.clone()),
            ..CharacterDraft::default()
        })),
        Body::Prompt(PromptDraft {
            name: title,
            user_prompt: Some(text),
            keywords: tags,
            ..PromptDraft::default()
        }),
    ]
}
