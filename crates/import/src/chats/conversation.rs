//! Conversion of a parsed conversation of any service to drafts.

use vademecum_model::{ChatBranch, ChatDraft, Draft, DraftBody, MessageDraft, Timestamp};

use super::conversation_tree::{Branch, ConversationBranches};
use crate::{ParsedFile, Problem, SourceFile, digest, text::title::clean_title};

/// Version of the conversion; increment when the same conversation produces a different draft.
const VERSION: &str = "chats/2";

/// A conversation with all its branches.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// Identifier given by the service, such as `chatgpt:1`, if any.
    pub origin: Option<String>,
    /// Title; `None` if the service has given none.
    pub title: Option<String>,
    /// Service where the conversation took place.
    pub service: Option<String>,
    /// Creation time.
    pub created_at: Option<Timestamp>,
    /// Modification time.
    pub modified_at: Option<Timestamp>,
    /// Messages.
    pub branches: ConversationBranches,
}

impl ConversationBranches {
    /// Returns a conversation with one branch, or none if there are no messages.
    pub(super) fn linear(messages: Vec<MessageDraft>) -> Self {
        let branches = (!messages.is_empty()).then_some(Branch { fork: None, messages });
        Self { branches: branches.into_iter().collect(), unreachable_messages: 0 }
    }
}

impl ParsedFile {
    /// Adds a draft for each branch of a conversation, or a problem if it could not be parsed or
    /// has no messages. `number` is the position in the file and becomes part of the origin if the
    /// service gave no identifier; `place` names the conversation in problems.
    pub(super) fn add_conversation(
        &mut self,
        file: &SourceFile,
        number: usize,
        place: String,
        conversation: Result<Conversation, String>,
    ) {
        let mut conversation = match conversation {
            Ok(conversation) => conversation,
            Err(reason) => return self.problems.push(Problem { place, reason }),
        };
        let ConversationBranches { branches, unreachable_messages: lost } =
            std::mem::take(&mut conversation.branches);
        if branches.is_empty() && lost == 0 {
            let reason = "it has no messages".to_owned();
            return self.problems.push(Problem { place, reason });
        }
        if lost > 0 {
            let reason = format!("{lost} of its messages form a cycle");
            self.problems.push(Problem { place, reason });
        }
        let origin = conversation.origin.clone();
        let origin = origin.unwrap_or_else(|| format!("{}#{number}", file.origin()));
        let origins: Vec<String> =
            (0..).zip(&branches).map(|(branch, it)| branch_origin(&origin, branch, it)).collect();
        for (number, branch) in branches.into_iter().enumerate() {
            let fork = branch.fork.and_then(|(left, after)| {
                Some(ChatBranch { of: origins.get(left)?.clone(), after })
            });
            let chat = conversation.to_draft(number, fork, branch.messages);
            let digest = chat_digest(&chat);
            let origin = origins.get(number).cloned().unwrap_or_default();
            self.drafts.push(Draft { origin, digest, id: None, body: DraftBody::Chat(chat) });
        }
    }
}

/// Returns the origin of a branch. A side branch is identified by its first message.
fn branch_origin(origin: &str, number: usize, branch: &Branch) -> String {
    match branch.messages.first().filter(|_| number > 0) {
        Some(first) => format!("{origin}#branch:{}", first.origin),
        None => origin.to_owned(),
    }
}

impl Conversation {
    /// Returns the draft of one branch; branch 0 is the conversation itself.
    fn to_draft(
        &self,
        number: usize,
        fork: Option<ChatBranch>,
        messages: Vec<MessageDraft>,
    ) -> ChatDraft {
        let is_whole = number == 0;
        let title = self.title.as_deref().and_then(clean_title);
        let branch = format!("(branch {})", number + 1);
        let title = match title {
            title if is_whole => title,
            Some(title) => Some(format!("{title} {branch}")),
            None => Some(branch),
        };
        ChatDraft {
            title,
            service: self.service.clone(),
            created_at: self.created_at.filter(|_| is_whole),
            modified_at: self.modified_at.filter(|_| is_whole),
            fork,
            messages,
            ..ChatDraft::default()
        }
    }
}

/// Returns a digest of the stored fields. The file cannot be used, because a service rewrites the
/// whole export each time.
fn chat_digest(chat: &ChatDraft) -> String {
    let moment = |moment: Option<Timestamp>| moment.map(|it| it.to_string()).unwrap_or_default();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let fork = chat.fork.clone().unwrap_or_default();
    let head = [
        text(&chat.title),
        text(&chat.service),
        moment(chat.created_at),
        moment(chat.modified_at),
        fork.of,
        text(&fork.after),
    ];
    let messages = chat.messages.iter().flat_map(|message| {
        [
            message.origin.clone(),
            message.sender.clone(),
            text(&message.model),
            message.content.clone(),
            moment(message.sent_at),
        ]
    });
    let parts: Vec<_> = head.into_iter().chain(messages).collect();
    digest(VERSION, parts.iter().map(String::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chats::conversation_tree::{MessageNode, split_branches};

    fn node(id: &str, parent: Option<&str>) -> MessageNode {
        let message = MessageDraft {
            origin: id.to_owned(),
            sender: "user".to_owned(),
            content: id.to_owned(),
            ..MessageDraft::default()
        };
        MessageNode {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            time: None,
            message: Some(message),
        }
    }

    fn read_nodes(nodes: Vec<MessageNode>, title: Option<&str>) -> ParsedFile {
        let mut reading = ParsedFile::default();
        let branches = split_branches(nodes, Some("a"));
        let title = title.map(str::to_owned);
        let conversation = Conversation { title, branches, ..Conversation::default() };
        let file = SourceFile::in_memory("/c.json", "");
        reading.add_conversation(&file, 1, "conversation 1".to_owned(), Ok(conversation));
        reading
    }

    fn chats(reading: &ParsedFile) -> Vec<(&str, &ChatDraft)> {
        let drafts = reading.drafts.iter();
        let chats = drafts.filter_map(|draft| match &draft.body {
            DraftBody::Chat(chat) => Some((draft.origin.as_str(), chat)),
            _ => None,
        });
        chats.collect()
    }

    #[test]
    fn branches_become_chats_with_forks() {
        let reading = read_nodes(vec![node("a", None), node("b", Some("a"))], Some("Rye"));
        let chats = chats(&reading);
        let [(main, whole), (branch, part)] = chats.as_slice() else { panic!("{chats:?}") };
        assert_eq!((*main, *branch), ("file:/c.json#1", "file:/c.json#1#branch:b"));
        assert_eq!(whole.title.as_deref(), Some("Rye"));
        assert_eq!(part.title.as_deref(), Some("Rye (branch 2)"));
        let fork = ChatBranch { of: (*main).to_owned(), after: Some("a".to_owned()) };
        assert_eq!((&whole.fork, &part.fork), (&None, &Some(fork)));
    }

    #[test]
    fn cyclic_messages_are_reported_others_kept() {
        let reading =
            read_nodes(vec![node("a", None), node("b", Some("c")), node("c", Some("b"))], None);
        assert_eq!(chats(&reading).len(), 1);
        assert_eq!(reading.problems[0].place, "conversation 1");
        assert!(reading.problems[0].reason.starts_with("2 of its messages"));
        assert_eq!(read_nodes(Vec::new(), None).problems[0].reason, "it has no messages");
    }

    #[test]
    fn digest_depends_on_every_stored_field() {
        let message = MessageDraft { content: "x".to_owned(), ..MessageDraft::default() };
        let chat = ChatDraft { messages: vec![message], ..ChatDraft::default() };
        let mut other = chat.clone();
        other.messages[0].model = Some("one".to_owned());
        assert_eq!(chat_digest(&chat), chat_digest(&chat.clone()));
        assert_ne!(chat_digest(&chat), chat_digest(&other));
        other = ChatDraft { fork: Some(ChatBranch::default()), ..chat.clone() };
        assert_eq!(chat_digest(&chat), chat_digest(&other), "it leaves nothing");
    }
}
