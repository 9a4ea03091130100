//! Branches: conversations that leave another one at some message.
//!
//! A branch holds only what the other one has not, so that nothing is found
//! twice; it says where to read on before it.

use std::collections::HashSet;

use rusqlite::named_params;
use vademecum_kit::{
    model::{ChatDraft, Fork, Timestamp},
    store::{StoreError, Writer},
};

use crate::{
    conversation_key, message_key,
    save::{message_id, unindex},
};

/// Stands between the origin of a conversation and the message that a branch of
/// it begins with.
const BRANCH: &str = "#branch:";

/// Where a conversation leaves another one, by what is stored.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) root: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) message: Option<String>,
}

impl Place {
    /// Looks up what a branch leaves. One that leaves something unknown stands
    /// by itself.
    pub(crate) fn of(writer: &Writer<'_>, fork: Option<&Fork>) -> Result<Self, StoreError> {
        let Some(fork) = fork else { return Ok(Self::default()) };
        let sql = include_str!("../sql/left_conversation.sql");
        let left = writer.first(sql, named_params! { ":origin": fork.of }, |row| {
            Ok((row.get::<_, String>("id")?, row.get::<_, String>("root_id")?))
        })?;
        let Some((conversation, root)) = left else { return Ok(Self::default()) };
        let message = match &fork.after {
            Some(after) => writer.first(
                include_str!("../sql/left_message.sql"),
                named_params! {
                    ":conversation_id": conversation,
                    ":derived": message_id(&conversation, after),
                    ":named": after,
                },
                |row| row.get("id"),
            )?,
            None => None,
        };
        Ok(Self { root: Some(root), conversation: Some(conversation), message })
    }
}

/// Deletes the branches that are none any more: whoever goes on with one makes
/// it a part of the conversation that it once left.
pub(crate) fn retire(
    writer: &Writer<'_>,
    origin: &str,
    chat: &ChatDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    let whole = origin.split(BRANCH).next().unwrap_or(origin);
    let first = format!("{whole}{BRANCH}");
    let branches: Vec<(i64, String, String)> = writer.all(
        include_str!("../sql/branches.sql"),
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
            delete(writer, row, &id, now)?;
            let sql = include_str!("../sql/forget_digest.sql");
            writer.run(sql, named_params! { ":origin": branch })?;
        }
    }
    Ok(())
}

fn delete(writer: &Writer<'_>, row: i64, id: &str, now: Timestamp) -> Result<(), StoreError> {
    let messages = writer.all(
        include_str!("../sql/stored_messages.sql"),
        named_params! { ":conversation_id": id },
        |row| Ok((row.get::<_, i64>("row")?, row.get::<_, bool>("deleted")?)),
    )?;
    for (message, _) in messages.into_iter().filter(|(_, deleted)| !deleted) {
        let sql = include_str!("../sql/delete_message.sql");
        writer.run(sql, named_params! { ":row": message, ":now": now })?;
        unindex(writer, message_key(message))?;
    }
    let sql = include_str!("../sql/delete_conversation.sql");
    writer.run(sql, named_params! { ":row": row, ":now": now })?;
    unindex(writer, conversation_key(row))
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Body, Draft, Item, MessageDraft, RetrievalOptions};
    use vademecum_testing::Bench;

    use super::*;
    use crate::Chats;

    fn talk(origin: &str, fork: Option<(&str, &str)>, said: &[&str]) -> Draft {
        let messages = said.iter().map(|text| MessageDraft {
            origin: text.split(' ').next().unwrap_or_default().to_owned(),
            sender: "user".to_owned(),
            content: (*text).to_owned(),
            ..MessageDraft::default()
        });
        let fork =
            fork.map(|(of, after)| Fork { of: of.to_owned(), after: Some(after.to_owned()) });
        let title = Some("Bread".to_owned());
        let messages = messages.collect();
        let chat = ChatDraft { title, fork, messages, ..ChatDraft::default() };
        let digest = format!("{chat:?}");
        Draft { origin: origin.to_owned(), digest, id: None, body: Body::Chat(chat) }
    }

    fn short(bench: &Bench<Chats>, word: &str) -> Item {
        let hit = bench.search(word).remove(0);
        bench.get(hit.conversation_id.unwrap().as_str(), RetrievalOptions::default()).unwrap()
    }

    fn whole(bench: &Bench<Chats>, word: &str) -> serde_json::Value {
        let hit = bench.search(word).remove(0);
        let full = RetrievalOptions {
            mode: Some(vademecum_kit::model::Mode::Full),
            ..RetrievalOptions::default()
        };
        bench.get(hit.conversation_id.unwrap().as_str(), full).unwrap().content
    }

    #[test]
    fn a_branch_says_which_conversation_it_leaves_and_where() {
        let main = talk("x", None, &["a rye", "b oat"]);
        let branch = talk("x#branch:c", Some(("x", "a")), &["c bran"]);
        let nested = talk("x#branch:d", Some(("x#branch:c", "c")), &["d malt"]);
        let bench = Bench::filled(Chats, &[main, branch, nested]);
        let (main, branch) = (whole(&bench, "rye"), whole(&bench, "bran"));
        assert_eq!(main.get("parent_conversation_id"), None);
        assert_eq!(branch["parent_conversation_id"], main["conversation_id"]);
        assert_eq!(branch["forked_from_message_id"], main["messages"][0]["message_id"]);
        assert_eq!(whole(&bench, "malt")["parent_conversation_id"], branch["conversation_id"]);
        let roots = bench.read(|reader| {
            let sql = "SELECT count(DISTINCT root_id) AS n FROM conversations";
            Ok(reader.one(sql, &[], |row| row.get::<_, i64>("n"))?)
        });
        assert_eq!(roots.unwrap(), 1);
    }

    #[test]
    fn a_branch_of_something_unknown_stands_by_itself() {
        let bench = Bench::filled(Chats, &[talk("y", Some(("x", "a")), &["c bran"])]);
        assert_eq!(whole(&bench, "bran").get("parent_conversation_id"), None);
        assert_eq!(short(&bench, "bran").meta.title.as_deref(), Some("Bread"));
    }

    #[test]
    fn a_branch_that_was_gone_on_with_is_found_once_and_may_come_back() {
        let old = [
            talk("x", None, &["a rye", "b oat"]),
            talk("x#branch:c", Some(("x", "a")), &["c bran", "d malt"]),
        ];
        let new = [
            talk("x", None, &["a rye", "c bran", "d malt", "e spelt"]),
            talk("x#branch:b", Some(("x", "a")), &["b oat"]),
        ];
        let bench = Bench::filled(Chats, &old);
        for drafts in [&new, &old, &new] {
            for draft in drafts {
                bench.save(draft);
            }
            for word in ["rye", "oat", "bran", "malt"] {
                assert_eq!(bench.search(word).len(), 1, "{word}");
            }
        }
        assert_eq!(whole(&bench, "spelt")["total_messages"], 4);
    }
}
