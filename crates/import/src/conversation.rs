//! A conversation that was read, whoever wrote it down, as drafts.

use vademecum_kit::model::{Body, ChatDraft, Draft, Fork, MessageDraft, Timestamp};

use super::{
    Problem, Reading, SourceFile,
    digest::digest,
    title::title,
    tree::{Branch, Branches},
};

/// Goes up when the same conversation makes another draft than before.
const VERSION: &str = "chats/2";

/// A conversation with all its branches.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// What the service knows it by, such as `chatgpt:1`, if it says.
    pub origin: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Where it was held.
    pub service: Option<String>,
    /// When it began.
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    pub modified_at: Option<Timestamp>,
    /// What was said.
    pub branches: Branches,
}

impl Branches {
    /// Messages that all follow one another.
    pub(super) fn line(messages: Vec<MessageDraft>) -> Self {
        let branches = (!messages.is_empty()).then_some(Branch { leaves: None, messages });
        Self { branches: branches.into_iter().collect(), lost: 0 }
    }
}

impl Reading {
    /// Adds a conversation, which is the one of that number in the file. `place`
    /// is what a user would find it by.
    pub(super) fn add(
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
        let Branches { branches, lost } = std::mem::take(&mut conversation.branches);
        if branches.is_empty() && lost == 0 {
            let reason = "it has no messages".to_owned();
            return self.problems.push(Problem { place, reason });
        }
        if lost > 0 {
            let reason = format!("{lost} of its messages follow one another in a circle");
            self.problems.push(Problem { place, reason });
        }
        let origin = conversation.origin.clone();
        let origin = origin.unwrap_or_else(|| format!("{}#{number}", file.origin()));
        let origins: Vec<String> =
            (0..).zip(&branches).map(|(branch, it)| branch_origin(&origin, branch, it)).collect();
        for (number, branch) in branches.into_iter().enumerate() {
            let fork = branch
                .leaves
                .and_then(|(left, after)| Some(Fork { of: origins.get(left)?.clone(), after }));
            let chat = conversation.draft(number, fork, branch.messages);
            let digest = fingerprint(&chat);
            let origin = origins.get(number).cloned().unwrap_or_default();
            self.drafts.push(Draft { origin, digest, id: None, body: Body::Chat(chat) });
        }
    }
}

/// What a branch is known by: the message with which it begins.
fn branch_origin(origin: &str, number: usize, branch: &Branch) -> String {
    match branch.messages.first().filter(|_| number > 0) {
        Some(first) => format!("{origin}#branch:{}", first.origin),
        None => origin.to_owned(),
    }
}

impl Conversation {
    /// One branch of it; the first is the conversation itself.
    fn draft(&self, number: usize, fork: Option<Fork>, messages: Vec<MessageDraft>) -> ChatDraft {
        let is_whole = number == 0;
        let title = self.title.as_deref().and_then(title);
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

/// Follows what is kept of a conversation: an export is rewritten whole each
/// time, though most of it is as it was.
fn fingerprint(chat: &ChatDraft) -> String {
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
    use crate::tree::{Node, branches};

    fn node(id: &str, parent: Option<&str>) -> Node {
        let message = MessageDraft {
            origin: id.to_owned(),
            sender: "user".to_owned(),
            content: id.to_owned(),
            ..MessageDraft::default()
        };
        Node {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            time: None,
            message: Some(message),
        }
    }

    fn read(nodes: Vec<Node>, title: Option<&str>) -> Reading {
        let mut reading = Reading::default();
        let branches = branches(nodes, Some("a"));
        let title = title.map(str::to_owned);
        let conversation = Conversation { title, branches, ..Conversation::default() };
        let file = SourceFile::example("/c.json", "");
        reading.add(&file, 1, "conversation 1".to_owned(), Ok(conversation));
        reading
    }

    fn chats(reading: &Reading) -> Vec<(&str, &ChatDraft)> {
        let drafts = reading.drafts.iter();
        let chats = drafts.filter_map(|draft| match &draft.body {
            Body::Chat(chat) => Some((draft.origin.as_str(), chat)),
            _ => None,
        });
        chats.collect()
    }

    #[test]
    fn branches_are_conversations_that_say_what_they_leave() {
        let reading = read(vec![node("a", None), node("b", Some("a"))], Some("Rye"));
        let chats = chats(&reading);
        let [(main, whole), (branch, part)] = chats.as_slice() else { panic!("{chats:?}") };
        assert_eq!((*main, *branch), ("file:/c.json#1", "file:/c.json#1#branch:b"));
        assert_eq!(whole.title.as_deref(), Some("Rye"));
        assert_eq!(part.title.as_deref(), Some("Rye (branch 2)"));
        let fork = Fork { of: (*main).to_owned(), after: Some("a".to_owned()) };
        assert_eq!((&whole.fork, &part.fork), (&None, &Some(fork)));
    }

    #[test]
    fn what_follows_itself_is_named_and_the_rest_goes_in() {
        let reading = read(vec![node("a", None), node("b", Some("c")), node("c", Some("b"))], None);
        assert_eq!(chats(&reading).len(), 1);
        assert_eq!(reading.problems[0].place, "conversation 1");
        assert!(reading.problems[0].reason.starts_with("2 of its messages"));
        assert_eq!(read(Vec::new(), None).problems[0].reason, "it has no messages");
    }

    #[test]
    fn a_change_of_what_is_kept_is_seen_in_the_fingerprint() {
        let message = MessageDraft { content: "x".to_owned(), ..MessageDraft::default() };
        let chat = ChatDraft { messages: vec![message], ..ChatDraft::default() };
        let mut other = chat.clone();
        other.messages[0].model = Some("one".to_owned());
        assert_eq!(fingerprint(&chat), fingerprint(&chat.clone()));
        assert_ne!(fingerprint(&chat), fingerprint(&other));
        other = ChatDraft { fork: Some(Fork::default()), ..chat.clone() };
        assert_eq!(fingerprint(&chat), fingerprint(&other), "it leaves nothing");
    }
}
