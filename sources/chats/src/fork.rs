//! Branches: conversations that fork from another one at some message.
//!
//! A branch stores only the messages that its parent does not have, so that nothing matches twice.
//! It names the parent conversation and the message it continues.

use std::collections::HashSet;

use rusqlite::named_params;
use vademecum_model::{ChatBranch, ChatDraft, Timestamp};
use vademecum_store::{StoreError, Writer};

use crate::{
    conversation_key, message_key, message_rows::derive_message_id, save::unindex_passage,
};

/// Marks a conversation as deleted.
const DELETE_CONVERSATION_SQL: &str = "UPDATE conversations \
     SET deleted = 1, last_modified = :now, version = version + 1 \
     WHERE row = :row";
/// Clears the digest of `:origin`, so that its next import is saved even if it is unchanged.
const FORGET_DIGEST_SQL: &str =
    "UPDATE imported SET digest = '' WHERE source = 'chats' AND origin = :origin";

/// Separates the origin of a conversation from the first message of a branch in a branch origin.
const BRANCH_SEPARATOR: &str = "#branch:";

/// The stored conversation and message that a branch continues.
#[derive(Debug, Default)]
pub(crate) struct ForkPoint {
    pub(crate) root: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) message: Option<String>,
}

impl ForkPoint {
    /// Resolves the fork of a draft. A fork whose parent is unknown yields an empty fork point.
    pub(crate) fn resolve(
        writer: &Writer<'_>,
        fork: Option<&ChatBranch>,
    ) -> Result<Self, StoreError> {
        let Some(fork) = fork else { return Ok(Self::default()) };
        let sql = sql!("left_conversation");
        let left = writer.query_first(sql, named_params! { ":origin": fork.of }, |row| {
            Ok((row.get::<_, String>("id")?, row.get::<_, String>("root_id")?))
        })?;
        let Some((conversation, root)) = left else { return Ok(Self::default()) };
        let message = match &fork.after {
            Some(after) => writer.query_first(
                sql!("left_message"),
                named_params! {
                    ":conversation_id": conversation,
                    ":derived": derive_message_id(&conversation, after),
                    ":named": after,
                },
                |row| row.get("id"),
            )?,
            None => None,
        };
        Ok(Self { root: Some(root), conversation: Some(conversation), message })
    }
}

impl ForkPoint {
    /// Returns the fork point of a stored conversation.
    pub(crate) fn stored(writer: &Writer<'_>, id: &str) -> Result<Self, StoreError> {
        let found = writer.query_first(sql!("fork_point"), named_params! { ":id": id }, |row| {
            Ok(Self {
                root: row.get("root_id")?,
                conversation: row.get("parent_conversation_id")?,
                message: row.get("forked_from_message_id")?,
            })
        })?;
        Ok(found.unwrap_or_default())
    }
}

/// Deletes the branches whose first message is now part of the conversation: continuing a branch
/// makes it part of the main line. Clears their digests, so that the next import saves them again.
pub(crate) fn delete_merged_branches(
    writer: &Writer<'_>,
    origin: &str,
    chat: &ChatDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    let whole = origin.split(BRANCH_SEPARATOR).next().unwrap_or(origin);
    let first = format!("{whole}{BRANCH_SEPARATOR}");
    let branches: Vec<(i64, String, String)> = writer.query_all(
        sql!("branches"),
        named_params! { ":first": first, ":beyond": format!("{first}\u{10ffff}") },
        |row| Ok((row.get("row")?, row.get("id")?, row.get("origin")?)),
    )?;
    if branches.is_empty() {
        return Ok(());
    }
    let held: HashSet<&str> = chat.messages.iter().map(|message| message.origin.as_str()).collect();
    for (row, id, branch) in branches {
        let begins = branch.strip_prefix(&first).unwrap_or_default();
        if branch != origin && held.contains(begins) {
            delete_branch(writer, row, &id, now)?;
            writer.execute(FORGET_DIGEST_SQL, named_params! { ":origin": branch })?;
        }
    }
    Ok(())
}

fn delete_branch(
    writer: &Writer<'_>,
    row: i64,
    id: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let messages = writer.query_all(
        sql!("stored_messages"),
        named_params! { ":conversation_id": id },
        |row| Ok((row.get::<_, i64>("row")?, row.get::<_, Option<i64>>("position")?)),
    )?;
    for (message, _) in messages.into_iter().filter(|(_, position)| position.is_some()) {
        writer.execute(sql!("delete_message"), named_params! { ":row": message, ":now": now })?;
        unindex_passage(writer, message_key(message))?;
    }
    writer.execute(DELETE_CONVERSATION_SQL, named_params! { ":row": row, ":now": now })?;
    unindex_passage(writer, conversation_key(row))
}

#[cfg(test)]
mod tests {
    use vademecum_model::{Draft, DraftBody, MessageDraft, RetrievalOptions};
    use vademecum_search::Item;
    use vademecum_testing::SourceFixture;

    use super::*;
    use crate::Chats;

    fn chat_draft(origin: &str, fork: Option<(&str, &str)>, texts: &[&str]) -> Draft {
        let messages = texts.iter().map(|text| MessageDraft {
            origin: text.split(' ').next().unwrap_or_default().to_owned(),
            sender: "user".to_owned(),
            content: (*text).to_owned(),
            ..MessageDraft::default()
        });
        let fork =
            fork.map(|(of, after)| ChatBranch { of: of.to_owned(), after: Some(after.to_owned()) });
        let title = Some("Bread".to_owned());
        let messages = messages.collect();
        let chat = ChatDraft { title, fork, messages, ..ChatDraft::default() };
        let digest = format!("{chat:?}");
        Draft { origin: origin.to_owned(), digest, id: None, body: DraftBody::Chat(chat) }
    }

    fn matching_item(bench: &SourceFixture<Chats>, word: &str) -> Item {
        let hit = bench.search(word).remove(0);
        bench.load_item(hit.conversation_id.unwrap().as_str(), RetrievalOptions::default()).unwrap()
    }

    fn full_content(bench: &SourceFixture<Chats>, word: &str) -> serde_json::Value {
        let hit = bench.search(word).remove(0);
        let full = RetrievalOptions {
            mode: Some(vademecum_model::RetrievalMode::Full),
            ..RetrievalOptions::default()
        };
        bench.load_item(hit.conversation_id.unwrap().as_str(), full).unwrap().content
    }

    #[test]
    fn branch_names_parent_conversation_and_message() {
        let main = chat_draft("x", None, &["a rye", "b oat"]);
        let branch = chat_draft("x#branch:c", Some(("x", "a")), &["c bran"]);
        let nested = chat_draft("x#branch:d", Some(("x#branch:c", "c")), &["d malt"]);
        let bench = SourceFixture::with_drafts(Chats, &[main, branch, nested]);
        let (main, branch) = (full_content(&bench, "rye"), full_content(&bench, "bran"));
        assert_eq!(main.get("parent_conversation_id"), None);
        assert_eq!(branch["parent_conversation_id"], main["conversation_id"]);
        assert_eq!(branch["forked_from_message_id"], main["messages"][0]["message_id"]);
        assert_eq!(
            full_content(&bench, "malt")["parent_conversation_id"],
            branch["conversation_id"]
        );
        let roots = bench.read(|reader| {
            let sql = "SELECT count(DISTINCT root_id) AS n FROM conversations";
            Ok(reader.query_one(sql, &[], |row| row.get::<_, i64>("n"))?)
        });
        assert_eq!(roots.unwrap(), 1);
    }

    #[test]
    fn branch_of_unknown_parent_is_independent() {
        let bench =
            SourceFixture::with_drafts(Chats, &[chat_draft("y", Some(("x", "a")), &["c bran"])]);
        assert_eq!(full_content(&bench, "bran").get("parent_conversation_id"), None);
        assert_eq!(matching_item(&bench, "bran").meta.title.as_deref(), Some("Bread"));
    }

    #[test]
    fn continued_branch_matches_once_and_can_return() {
        let old = [
            chat_draft("x", None, &["a rye", "b oat"]),
            chat_draft("x#branch:c", Some(("x", "a")), &["c bran", "d malt"]),
        ];
        let new = [
            chat_draft("x", None, &["a rye", "c bran", "d malt", "e spelt"]),
            chat_draft("x#branch:b", Some(("x", "a")), &["b oat"]),
        ];
        let bench = SourceFixture::with_drafts(Chats, &old);
        for drafts in [&new, &old, &new] {
            for draft in drafts {
                bench.save_draft(draft);
            }
            for word in ["rye", "oat", "bran", "malt"] {
                assert_eq!(bench.search(word).len(), 1, "{word}");
            }
        }
        assert_eq!(full_content(&bench, "spelt")["total_messages"], 4);
    }
}
