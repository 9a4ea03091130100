//! Conversion of a session to drafts: the conversation, and a log of the reasoning and output.

use vademecum_model::{
    ChatBranch, ChatDraft, Draft, DraftBody, MessageDraft, SessionDetails, Timestamp,
};
use vademecum_sessions::{Aside, Session, Turn};

use crate::{ParsedFile, digest};

/// Version of the conversion; increment when the same session produces different drafts.
const VERSION: &str = "sessions/1";

/// Adds the drafts of a session, without its log if that has no more than `known_asides`. `modified` is
/// the time of its file, which counts where the program stores no times.
pub(super) fn add_drafts(
    agent: &str,
    session: Session,
    known_asides: usize,
    modified: Option<Timestamp>,
    parsed: &mut ParsedFile,
) {
    let origin = format!("{agent}:{}", session.id);
    let title = session.shown_title();
    let details = SessionDetails {
        project: session.project().map(str::to_owned),
        folder: session.folder.clone(),
        remote: session.remote.clone(),
        branch: session.branch.clone(),
        model: session.model.clone(),
        version: session.version.clone(),
        is_log: false,
    };
    let (earlier_turns, earlier_asides) = (session.earlier_turns, session.earlier_asides);
    let Session { parent, started, ended, turns, asides, .. } = session;
    let has_new_asides = earlier_asides + asides.len() > known_asides;
    // A conversation whose times are not known dates from its file.
    let dates = (started.or(modified), ended.or(modified));
    let chat = ChatDraft {
        title: title.clone(),
        service: Some(agent.to_owned()),
        created_at: dates.0,
        modified_at: dates.1,
        fork: parent.map(|parent| ChatBranch { of: format!("{agent}:{parent}"), after: None }),
        session: Some(details.clone()),
        messages: turns.into_iter().map(|turn| turn_draft(agent, turn)).collect(),
        follows: earlier_turns,
        ..ChatDraft::default()
    };
    // A later message does not change the log.
    let last_aside = asides.iter().rev().find_map(|aside| aside.at);
    let log = ChatDraft {
        title: title.map(|title| format!("{title} (log)")),
        service: Some(agent.to_owned()),
        created_at: dates.0,
        modified_at: last_aside.or(dates.0),
        fork: Some(ChatBranch { of: origin.clone(), after: None }),
        session: Some(SessionDetails { is_log: true, ..details }),
        messages: (earlier_asides..).zip(asides).map(aside_draft).collect(),
        follows: earlier_asides,
        ..ChatDraft::default()
    };
    let log_origin = format!("{origin}#log");
    parsed.drafts.push(session_draft(origin, chat));
    if has_new_asides {
        parsed.drafts.push(session_draft(log_origin, log));
    }
}

fn session_draft(origin: String, chat: ChatDraft) -> Draft {
    let body = DraftBody::Chat(chat);
    // Drafts can always be written as JSON.
    let text = serde_json::to_vec(&body).unwrap_or_default();
    Draft { origin, digest: digest(VERSION, [text.as_slice()]), id: None, body }
}

fn turn_draft(agent: &str, turn: Turn) -> MessageDraft {
    let Turn { id, is_named, role, at, text, model, commands, files } = turn;
    MessageDraft {
        // Copies of a session repeat the identifiers of its messages, by which they are recognised.
        id: is_named.then(|| format!("{agent}:{id}")),
        origin: id,
        sender: role.as_str().to_owned(),
        model,
        content: text,
        sent_at: at,
        commands,
        files,
    }
}

fn aside_draft((number, aside): (usize, Aside)) -> MessageDraft {
    MessageDraft {
        origin: number.to_string(),
        sender: aside.kind.as_str().to_owned(),
        content: aside.text,
        sent_at: aside.at,
        ..MessageDraft::default()
    }
}
