//! Sessions of agents that begin with a copy of another session.
//!
//! Programs copy all messages of a session into a new file when it is forked or resumed. The copy keeps
//! the identifiers of the messages, so that it is stored as a branch: only what it adds is stored, and
//! nothing matches twice. It does not matter which of both is imported first.

use rusqlite::named_params;
use vademecum_model::{ChatBranch, ChatDraft, MessageDraft};
use vademecum_store::{StoreError, Writer};

/// The stored message `:id` of another session than `:conversation_id` of the same agent.
const COPIED_SQL: &str = sql!("copied_message");

/// The messages that a session shares with another one at its beginning.
#[derive(Debug)]
pub(crate) struct CopiedSession {
    /// Origin of the other session.
    origin: String,
    /// Identifier of the last shared message.
    last: String,
    /// Number of shared messages.
    count: usize,
}

impl CopiedSession {
    /// Finds another session that has the first messages of a draft, with the same identifiers and
    /// texts. `item` is the stored session of the draft.
    pub(crate) fn find(
        writer: &Writer<'_>,
        item: Option<&str>,
        chat: &ChatDraft,
    ) -> Result<Option<Self>, StoreError> {
        if chat.session.is_none() || chat.fork.is_some() || chat.follows > 0 {
            return Ok(None);
        }
        let mut shared: Option<Self> = None;
        for message in &chat.messages {
            let Some((origin, last)) = find_message(writer, item, chat, message)? else { break };
            match &mut shared {
                None => shared = Some(Self { origin, last, count: 1 }),
                Some(shared) if shared.origin == origin => {
                    shared.last = last;
                    shared.count += 1;
                }
                Some(_) => break,
            }
        }
        Ok(shared)
    }

    /// Returns the draft of the branch: what the session adds to the other one.
    pub(crate) fn to_branch(&self, chat: &ChatDraft) -> ChatDraft {
        let messages = chat.messages.get(self.count..).unwrap_or_default().to_vec();
        let fork = Some(ChatBranch { of: self.origin.clone(), after: Some(self.last.clone()) });
        let mut branch = ChatDraft { fork, messages, ..chat.clone() };
        // A session that adds nothing is left out of lists and searches until it does.
        if branch.messages.is_empty() {
            branch.title = None;
            if let Some(session) = &mut branch.session {
                session.is_log = true;
            }
        }
        branch
    }
}

/// Finds a message in another session: returns the origin of the session, and the message.
fn find_message(
    writer: &Writer<'_>,
    item: Option<&str>,
    chat: &ChatDraft,
    message: &MessageDraft,
) -> Result<Option<(String, String)>, StoreError> {
    let Some(id) = message.id.as_deref().filter(|id| !id.is_empty()) else { return Ok(None) };
    writer.query_first(
        COPIED_SQL,
        named_params! {
            ":id": id,
            ":conversation_id": item,
            ":service": chat.service,
            ":sender": message.sender,
            ":content": message.content,
        },
        |row| Ok((row.get("origin")?, id.to_owned())),
    )
}
