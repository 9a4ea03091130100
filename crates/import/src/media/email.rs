//! Mail: a message in a file (.eml), or many in one (.mbox).

use mail_parser::{
    Address, Message, MessageParser, MimeHeaders, PartType, mailbox::mbox::MessageIterator,
};
use vademecum_kit::model::{Body, Draft, MediaDraft, SourceName, Timestamp};

use super::{
    document::{titled, unreadable, whole},
    markup,
};
use crate::{Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, digest::digest};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "email/1";

/// What the header of a message holds, most of it in every message.
const FIELDS: [&str; 6] = ["from", "to", "date", "subject", "message-id", "mime-version"];

/// How many of them a file must have to be known for a message.
const ENOUGH_FIELDS: usize = 3;

/// Reads mail.
#[derive(Debug)]
pub(crate) struct Email;

impl Importer for Email {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "mail (.eml, .mbox)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.opening();
        let message = opening.strip_prefix("From ").map_or(opening, after_first_line);
        let named = glance.ends_in(&["eml", "mbox"]);
        Fit::Content.when(fields(message) >= ENOUGH_FIELDS).max(Fit::Name.when(named))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        if file.bytes.starts_with(b"From ") {
            return Ok(mailbox(file));
        }
        let (document, problems) = read(file, &file.bytes)
            .map_err(|reason| unreadable(file, "a mail message", &reason))?;
        whole(file, VERSION, document, problems)
    }
}

fn after_first_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// How many fields of a header a text opens with.
fn fields(text: &str) -> usize {
    let is_field = |line: &str| {
        let name = line.split_once(':').map(|(name, _)| name.to_ascii_lowercase());
        name.is_some_and(|name| FIELDS.contains(&name.as_str()))
    };
    text.lines().take_while(|line| !line.trim().is_empty()).filter(|line| is_field(line)).count()
}

fn mailbox(file: &SourceFile) -> Reading {
    let mut reading = Reading::default();
    for (number, message) in (1..).zip(MessageIterator::new(file.bytes.as_slice())) {
        let place = format!("message {number}");
        let read = message
            .map_err(|error| error.to_string())
            .and_then(|message| draft(file, number, message.contents()));
        match read {
            Ok((draft, problems)) => {
                reading.drafts.push(draft);
                reading.problems.extend(problems.into_iter().map(|problem| Problem {
                    place: format!("{place}, {}", problem.place),
                    ..problem
                }));
            }
            Err(reason) => reading.problems.push(Problem { place, reason }),
        }
    }
    reading
}

/// A message among others: known by its own id, for it may move in the mailbox.
fn draft(file: &SourceFile, number: usize, bytes: &[u8]) -> Result<(Draft, Vec<Problem>), String> {
    let (document, problems) = read(file, bytes)?;
    if document.content.trim().is_empty() {
        return Err("it holds no text".to_owned());
    }
    let message = MessageParser::new().parse_headers(bytes);
    let id = message.as_ref().and_then(Message::message_id);
    let origin =
        id.map_or_else(|| format!("{}#{number}", file.origin()), |id| format!("mail:{id}"));
    let body = Body::Media(document);
    Ok((Draft { origin, digest: digest(VERSION, [bytes]), id: None, body }, problems))
}

fn read(file: &SourceFile, bytes: &[u8]) -> Result<(MediaDraft, Vec<Problem>), String> {
    let message = MessageParser::new().parse(bytes).filter(|message| {
        message.from().is_some() || message.subject().is_some() || message.date().is_some()
    });
    let message = message.ok_or("it has no header with `From`, `Date` or `Subject`")?;
    let from = message.from().map(names);
    let to = message.to().map(names);
    let body = text(&message)?;
    let sent_at = message.date().and_then(|date| Timestamp::parse(&date.to_rfc3339()).ok());
    let document = MediaDraft {
        title: titled(message.subject(), file),
        media_type: "email".to_owned(),
        content: under_head(from.as_deref(), to.as_deref(), &body),
        author: from,
        modified_at: sent_at.or(file.modified),
        ..MediaDraft::default()
    };
    Ok((document, left_out(&message)))
}

/// What a message says, under who wrote it to whom; nothing, if it says nothing.
pub(super) fn under_head(from: Option<&str>, to: Option<&str>, body: &str) -> String {
    if body.trim().is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for (name, people) in [("From", from), ("To", to)] {
        if let Some(people) = people.filter(|people| !people.is_empty()) {
            text.extend([name, ": ", people, "\n"]);
        }
    }
    text + "\n" + body.trim()
}

/// What a message says: its text, or if it has only that, its HTML.
fn text(message: &Message<'_>) -> Result<String, String> {
    let mut said = Vec::new();
    for part in message.text_bodies() {
        match &part.body {
            PartType::Text(text) => said.push(text.trim().to_owned()),
            PartType::Html(html) => {
                said.push(markup::markdown(html).map_err(|error| error.to_string())?);
            }
            PartType::Binary(_)
            | PartType::InlineBinary(_)
            | PartType::Message(_)
            | PartType::Multipart(_) => {}
        }
    }
    Ok(said.join("\n\n"))
}

fn left_out(message: &Message<'_>) -> Vec<Problem> {
    message
        .attachments()
        .map(|part| Problem {
            place: format!("attachment `{}`", part.attachment_name().unwrap_or("without a name")),
            reason: "attachments are not read; save it as a file and import that".to_owned(),
        })
        .collect()
}

/// The people in an address field: `Ada Lovelace <ada@example.org>, …`.
fn names(address: &Address<'_>) -> String {
    let people: Vec<String> = address
        .iter()
        .filter_map(|person| match (person.name(), person.address()) {
            (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
            (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
            (None, None) => None,
        })
        .collect();
    people.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        glance::tests::glance,
        media::document::tests::{read, refused},
    };

    const PLAIN: &str = "From: Ada Lovelace <ada@example.org>\r\nTo: bob@example.org\r\n\
        Subject: =?utf-8?q?Br=C3=B6tchen?=\r\nDate: Fri, 3 May 2024 10:00:00 +0200\r\n\
        Message-ID: <1@example.org>\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nDer Teig mu=DF gehen.\r\n";

    const MIXED: &str = "From: ada@example.org\nSubject: Rye\nMIME-Version: 1.0\n\
        Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n\
        <h1>Rye</h1><p>Wait a <b>day</b>.</p>\n--b\nContent-Type: application/pdf\n\
        Content-Disposition: attachment; filename=rye.pdf\n\n%PDF\n--b--\n";

    #[test]
    fn a_message_says_who_wrote_what_to_whom_and_when() {
        let message = read(&Email, "/a.eml", PLAIN);
        assert_eq!(message.title, "Brötchen");
        assert_eq!(message.author.as_deref(), Some("Ada Lovelace <ada@example.org>"));
        assert_eq!(message.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
        let content = "From: Ada Lovelace <ada@example.org>\nTo: bob@example.org\n\n\
                       Der Teig muß gehen.";
        assert_eq!((message.content.as_str(), message.media_type.as_str()), (content, "email"));
        assert_eq!(Email.recognise(&glance("a.txt", PLAIN)), Fit::Content);
        assert_eq!(Email.recognise(&glance("a.txt", "To: do\n\nFrom: here")), Fit::No);
    }

    #[test]
    fn html_is_read_where_there_is_no_text_and_attachments_are_named() {
        let reading = Email.read(&SourceFile::example("/a.eml", MIXED)).unwrap();
        let Body::Media(message) = &reading.drafts[0].body else { panic!("no document") };
        assert!(message.content.ends_with("# Rye\n\nWait a day."), "{}", message.content);
        assert_eq!(reading.problems[0].place, "attachment `rye.pdf`");
    }

    #[test]
    fn the_messages_of_a_mailbox_are_documents_of_their_own() {
        let mailbox = format!("From x\n{PLAIN}\nFrom y\nnothing\n\nFrom z\n{MIXED}");
        let reading = Email.read(&SourceFile::example("/a.mbox", mailbox)).unwrap();
        let origins: Vec<_> = reading.drafts.iter().map(|draft| draft.origin.as_str()).collect();
        assert_eq!(origins, ["mail:1@example.org", "file:/a.mbox#3"]);
        let places: Vec<_> = reading.problems.iter().map(|found| found.place.as_str()).collect();
        assert_eq!(places, ["message 2", "message 3, attachment `rye.pdf`"]);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert!(refused(&Email, "/a.eml", "Just words.").contains("no header"));
        assert!(refused(&Email, "/a.eml", "Subject: x\n\n").contains("holds no text"));
    }
}
