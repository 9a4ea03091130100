//! Removes secrets from the sessions of agents before they are saved.

use vademecum_model::{ChatDraft, Draft, DraftBody};
use vademecum_sessions::{Redactions, Redactor};

/// What happens to secrets in sessions of agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretHandling {
    /// They are replaced by marks that name their rule.
    #[default]
    Redact,
    /// They are kept, because the owner of the library asked for it.
    Keep,
}

/// Replaces the secrets in the sessions among the drafts of a file, and counts them by rule. A value
/// that is found once, also earlier by the same redactor, is replaced in all drafts.
pub(super) fn redact_sessions(
    redactor: &mut Redactor,
    drafts: &mut [Draft],
    counts: &mut Redactions,
) {
    for draft in drafts.iter_mut() {
        if let Some(chat) = session(draft) {
            for_each_text(chat, &mut |text| redactor.inspect(text));
        }
    }
    for draft in drafts.iter_mut() {
        if let Some(chat) = session(draft) {
            for_each_text(chat, &mut |text| redactor.redact(text, counts));
            // With other rules, or with its secrets, the same session is another draft.
            draft.digest.push_str(":redacted");
        }
    }
}

fn session(draft: &mut Draft) -> Option<&mut ChatDraft> {
    match &mut draft.body {
        DraftBody::Chat(chat) if chat.session.is_some() => Some(chat),
        DraftBody::Chat(_)
        | DraftBody::Note(_)
        | DraftBody::Media(_)
        | DraftBody::Character(_)
        | DraftBody::Prompt(_) => None,
    }
}

/// Calls a function with each text of a session that may hold what the person or a program wrote.
fn for_each_text(chat: &mut ChatDraft, change: &mut impl FnMut(&mut String)) {
    let session = chat.session.iter_mut().flat_map(|session| {
        let names = [&mut session.project, &mut session.folder, &mut session.remote];
        names.into_iter().chain([&mut session.branch, &mut session.model, &mut session.version])
    });
    session.chain([&mut chat.title]).flatten().for_each(&mut *change);
    for message in &mut chat.messages {
        change(&mut message.content);
        message.commands.iter_mut().for_each(&mut *change);
        message.files.iter_mut().for_each(&mut *change);
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{MessageDraft, SessionDetails};

    use super::*;

    fn draft(title: &str, content: &str, command: &str, session: Option<SessionDetails>) -> Draft {
        let message = MessageDraft {
            content: content.to_owned(),
            commands: vec![command.to_owned()],
            ..MessageDraft::default()
        };
        let chat = ChatDraft {
            title: Some(title.to_owned()),
            messages: vec![message],
            session,
            ..ChatDraft::default()
        };
        Draft {
            origin: "x".to_owned(),
            digest: "d".to_owned(),
            id: None,
            body: DraftBody::Chat(chat),
        }
    }

    #[test]
    fn secrets_are_removed_from_every_field_of_sessions() {
        let token = "ghp_0a9B8c7D6e5F4g3H2i1J0k9L8m7N6o5P4q3R";
        let remote = Some(format!("https://ada:{token}@github.com/ada/garden"));
        let session = SessionDetails { remote, ..SessionDetails::default() };
        let mut drafts = [
            draft(
                token,
                &format!("Use {token}."),
                &format!("curl -u ada:{token} x"),
                Some(session),
            ),
            draft(
                "log",
                token,
                "",
                Some(SessionDetails { is_log: true, ..SessionDetails::default() }),
            ),
            draft("no session", token, "", None),
        ];
        let mut counts = Redactions::default();
        redact_sessions(&mut Redactor::default(), &mut drafts, &mut counts);
        let [one, log, other] = drafts.map(|draft| serde_json::to_string(&draft).unwrap());
        assert!(!one.contains(token) && !log.contains(token), "{one} {log}");
        assert!(other.contains(token));
        assert_eq!(counts.total(), 5);
    }
}
