//! A library of a given size, filled through its sources as an import does.

use anyhow::{Context, Result};
use vademecum::actors::Library;
use vademecum_kit::model::{
    Body, CharacterDraft, ChatDraft, Draft, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
    SourceName, Timestamp,
};

use super::Words;

/// How much of everything there is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Notes of about 150 words.
    pub notes: usize,
    /// Media of about 1,000 words.
    pub media: usize,
    /// Conversations of 20 messages of about 60 words.
    pub chats: usize,
    /// Characters of about 200 words.
    pub characters: usize,
    /// Prompts of about 80 words.
    pub prompts: usize,
}

/// Makes the item of a draft.
type Make = fn(&mut Words, usize) -> Body;

/// Drafts that are saved in one transaction.
const BATCH: usize = 500;

/// Fills a library.
pub async fn fill(library: &Library, words: &mut Words, size: Size) -> Result<()> {
    let parts: [(SourceName, usize, Make); 5] = [
        (SourceName::Notes, size.notes, note),
        (SourceName::Media, size.media, media),
        (SourceName::Chats, size.chats, chat),
        (SourceName::Characters, size.characters, character),
        (SourceName::Prompts, size.prompts, prompt),
    ];
    for (source, count, make) in parts {
        let handle = library.source(source).context("a source is missing")?;
        let mut numbers = 0..count;
        loop {
            let batch: Vec<Draft> = numbers
                .by_ref()
                .take(BATCH)
                .map(|number| Draft {
                    origin: format!("bench:{number}"),
                    digest: String::new(),
                    body: make(words, number),
                })
                .collect();
            if batch.is_empty() {
                break;
            }
            for answer in handle.save(batch).await? {
                answer?;
            }
        }
    }
    Ok(())
}

/// A moment that is another one for every number.
fn moment(number: usize) -> Option<Timestamp> {
    let minutes = u32::try_from(number).unwrap_or(0);
    Timestamp::from_unix_seconds(1.7e9 + f64::from(minutes) * 60.0)
}

fn note(words: &mut Words, number: usize) -> Body {
    Body::Note(NoteDraft {
        title: words.text(4),
        content: words.text(150),
        modified_at: moment(number),
        ..NoteDraft::default()
    })
}

fn media(words: &mut Words, number: usize) -> Body {
    Body::Media(MediaDraft {
        title: words.text(6),
        media_type: "txt".to_owned(),
        content: words.text(1_000),
        modified_at: moment(number),
        ..MediaDraft::default()
    })
}

fn chat(words: &mut Words, number: usize) -> Body {
    let messages = (0..20).map(|place| MessageDraft {
        origin: place.to_string(),
        sender: if place % 2 == 0 { "user" } else { "assistant" }.to_owned(),
        content: words.text(60),
        sent_at: moment(number * 20 + place),
    });
    let messages = messages.collect();
    Body::Chat(ChatDraft { title: Some(words.text(5)), messages, ..ChatDraft::default() })
}

fn character(words: &mut Words, number: usize) -> Body {
    Body::Character(Box::new(CharacterDraft {
        name: words.text(2),
        description: Some(words.text(200)),
        modified_at: moment(number),
        ..CharacterDraft::default()
    }))
}

fn prompt(words: &mut Words, number: usize) -> Body {
    Body::Prompt(PromptDraft {
        name: format!("{} {number}", words.text(3)),
        user_prompt: Some(words.text(80)),
        modified_at: moment(number),
        ..PromptDraft::default()
    })
}
