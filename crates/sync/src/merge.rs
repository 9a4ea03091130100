//! Merging two contents of an item that were changed without knowledge of each other.
//!
//! Every machine merges by itself, so the result must not depend on which of both is its own: they are
//! ordered by time and fingerprint.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};
use vademecum_model::{ChatDraft, DraftBody, MessageDraft, Timestamp};
use vademecum_source::SourceError;
use vademecum_vault::journal::merge_versions;

use crate::{
    record::{picture, to_hex},
    revision::Revision,
};

/// Length of the key of a conflict copy, in bytes.
const COPY_KEY_BYTES: usize = 16;
/// Length of what distinguishes two prompts of one name, in bytes.
const NAME_SUFFIX_BYTES: usize = 4;

/// A content with its fingerprint and the client that wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) body: DraftBody,
    pub(crate) fingerprint: String,
    /// Client of the last change; empty if it is not known.
    pub(crate) client: String,
}

/// Result of a merge.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    /// The content of the item.
    pub(crate) body: DraftBody,
    /// What becomes another item, because the changes contradict each other.
    pub(crate) copy: Option<ConflictCopy>,
}

/// The content of one machine, as another item.
#[derive(Clone, Debug)]
pub(crate) struct ConflictCopy {
    /// Name of the copy, the same on all machines.
    pub(crate) key: String,
    pub(crate) body: DraftBody,
}

/// Merges two contents of the item `key`. If they contradict each other, the later one stays, and the
/// other one becomes a copy, whose key depends on the `joined` revision of both.
pub(crate) fn merge(
    (key, joined): (&str, &Revision),
    base: Option<&DraftBody>,
    one: Side,
    other: Side,
) -> Result<Merged, SourceError> {
    let order = |side: &Side| (modified_at(&side.body), side.fingerprint.clone());
    let (earlier, later) = if order(&one) <= order(&other) { (one, other) } else { (other, one) };
    if let (DraftBody::Chat(earlier), DraftBody::Chat(later)) = (&earlier.body, &later.body) {
        let body = DraftBody::Chat(merge_chats(earlier, later));
        return Ok(Merged { body, copy: None });
    }
    let merged = merge_versions(base, &earlier.body, &later.body)?;
    let pictured = merge_pictures(base, &earlier.body, &later.body);
    Ok(match (merged, pictured) {
        (Some(mut body), Some(pictured)) => {
            set_modified_at(&mut body, modified_at(&later.body));
            if let DraftBody::Character(card) = &mut body {
                // The text of a version does not have it.
                card.image = picture(pictured).map(<[u8]>::to_vec);
            }
            Merged { body, copy: None }
        }
        _ => Merged { copy: Some(conflict_copy(key, joined, earlier)), body: later.body },
    })
}

/// Returns the content with the picture of a merged character. `None` if both machines have taken another
/// one.
fn merge_pictures<'a>(
    base: Option<&DraftBody>,
    earlier: &'a DraftBody,
    later: &'a DraftBody,
) -> Option<&'a DraftBody> {
    let (one, other) = (picture(earlier), picture(later));
    match base {
        _ if one == other => Some(later),
        Some(base) if picture(base) == one => Some(later),
        Some(base) if picture(base) == other => Some(earlier),
        None if one.is_none() => Some(later),
        None if other.is_none() => Some(earlier),
        _ => None,
    }
}

/// Returns the item that keeps the content of one side, as the import of a changed file names it.
fn conflict_copy(key: &str, joined: &Revision, side: Side) -> ConflictCopy {
    // The same content may contradict a later one again.
    let joined = serde_json::to_string(joined).unwrap_or_default();
    let text = format!("{key}\n{joined}\n{}", side.fingerprint);
    let day = modified_at(&side.body).map(|time| time.to_string());
    let day = day.as_deref().and_then(|time| time.get(..10)).unwrap_or("unknown day").to_owned();
    let who = if side.client.is_empty() { "the library" } else { &side.client };
    let label = format!("(conflict of {who} {day})");
    let mut body = side.body;
    let title = body.title_mut();
    *title = format!("{title} {label}");
    ConflictCopy { key: to_hex(&Sha256::digest(text.as_bytes()), COPY_KEY_BYTES), body }
}

/// Returns the name of a prompt of which another one has the name `name`, the same on all machines.
pub(crate) fn distinct_name(name: &str, key: &str) -> String {
    format!("{name} ({})", to_hex(&Sha256::digest(key.as_bytes()), NAME_SUFFIX_BYTES))
}

/// Merges two conversations, which only grow: the later one, with the messages that only the other has, at
/// their times.
fn merge_chats(earlier: &ChatDraft, later: &ChatDraft) -> ChatDraft {
    let mut merged = later.clone();
    let id = |message: &MessageDraft| message.id.clone().unwrap_or_else(|| message.origin.clone());
    let known: HashSet<String> = later.messages.iter().map(id).collect();
    // A message gets another identifier if that is taken by another conversation.
    let text = |it: &MessageDraft| (it.sent_at, it.sender.clone(), it.content.clone());
    let texts: HashSet<_> =
        later.messages.iter().filter(|it| it.sent_at.is_some()).map(text).collect();
    let is_new = |it: &&MessageDraft| !known.contains(&id(it)) && !texts.contains(&text(it));
    for message in earlier.messages.iter().filter(is_new) {
        let is_later = |other: &MessageDraft| other.sent_at > message.sent_at;
        let position = merged.messages.iter().rposition(|other| !is_later(other));
        merged.messages.insert(position.map_or(0, |position| position + 1), message.clone());
    }
    let known: HashSet<String> = merged.keywords.iter().map(|it| it.to_lowercase()).collect();
    let added = earlier.keywords.iter().filter(|it| !known.contains(&it.to_lowercase()));
    merged.keywords.extend(added.cloned());
    merged
}

fn modified_at(body: &DraftBody) -> Option<Timestamp> {
    match body {
        DraftBody::Note(note) => note.modified_at,
        DraftBody::Media(media) => media.modified_at,
        DraftBody::Chat(chat) => chat.modified_at,
        DraftBody::Character(card) => card.modified_at,
        DraftBody::Prompt(prompt) => prompt.modified_at,
    }
}

fn set_modified_at(body: &mut DraftBody, time: Option<Timestamp>) {
    let modified_at = match body {
        DraftBody::Note(note) => &mut note.modified_at,
        DraftBody::Media(media) => &mut media.modified_at,
        DraftBody::Chat(chat) => &mut chat.modified_at,
        DraftBody::Character(card) => &mut card.modified_at,
        DraftBody::Prompt(prompt) => &mut prompt.modified_at,
    };
    *modified_at = time;
}

#[cfg(test)]
mod tests {
    use vademecum_model::NoteDraft;

    use super::*;
    use crate::record::fingerprint;

    fn note(content: &str, day: &str) -> Side {
        let body = DraftBody::Note(NoteDraft {
            title: "Rye".to_owned(),
            content: content.to_owned(),
            modified_at: Timestamp::parse(day).ok(),
            ..NoteDraft::default()
        });
        Side { fingerprint: fingerprint(&body).unwrap(), body, client: "pen".to_owned() }
    }

    fn content(body: &DraftBody) -> &str {
        let DraftBody::Note(note) = body else { panic!() };
        &note.content
    }

    #[test]
    fn both_machines_merge_to_the_same_content() {
        let base = note("a\nb\nc\n", "2026-01-01");
        let one = note("A\nb\nc\n", "2026-01-02");
        let other = note("a\nb\nC\n", "2026-01-03");
        for (one, other) in [(&one, &other), (&other, &one)] {
            let merged =
                merge(("k", &Revision::default()), Some(&base.body), one.clone(), other.clone())
                    .unwrap();
            assert_eq!(content(&merged.body), "A\nb\nC\n");
            assert!(merged.copy.is_none());
        }
    }

    #[test]
    fn contradicting_changes_are_both_kept() {
        let base = note("a\n", "2026-01-01");
        let (one, other) = (note("b\n", "2026-01-03"), note("c\n", "2026-01-02"));
        let mut copies = Vec::new();
        for (one, other) in [(&one, &other), (&other, &one)] {
            let merged =
                merge(("k", &Revision::default()), Some(&base.body), one.clone(), other.clone())
                    .unwrap();
            assert_eq!(content(&merged.body), "b\n");
            let mut copy = merged.copy.unwrap();
            assert_eq!(content(&copy.body), "c\n");
            assert_eq!(copy.body.title_mut(), "Rye (conflict of pen 2026-01-02)");
            copies.push(copy.key);
        }
        assert_eq!(copies[0], copies[1]);
    }

    #[test]
    fn conversations_keep_the_messages_of_both() {
        let message = |id: &str, minute: u32| MessageDraft {
            id: Some(id.to_owned()),
            sent_at: Timestamp::parse(&format!("2026-01-01T08:{minute:02}:00Z")).ok(),
            ..MessageDraft::default()
        };
        let chat = |messages: &[(&str, u32)]| ChatDraft {
            messages: messages.iter().map(|(id, minute)| message(id, *minute)).collect(),
            ..ChatDraft::default()
        };
        let merged =
            merge_chats(&chat(&[("a", 1), ("c", 3)]), &chat(&[("a", 1), ("b", 2), ("d", 4)]));
        let ids: Vec<_> = merged.messages.iter().filter_map(|it| it.id.as_deref()).collect();
        assert_eq!(ids, ["a", "b", "c", "d"]);
    }
}
