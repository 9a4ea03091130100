//! Mail: one message per file (.eml), or many (.mbox).

use mail_parser::{
    Address, HeaderName, Message, MessageParser, MimeHeaders, PartType,
    mailbox::mbox::MessageIterator,
};
use vademecum_model::{Draft, MediaDraft, SourceName, Timestamp};

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    documents::{
        document::{ImporterVersion, single_document, title_or_stem, unreadable_error},
        html_markdown,
    },
    text::datetime,
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: ImporterVersion = ImporterVersion { current: "email/2", former: Some("email/1") };

/// Header fields that most messages have.
const HEADER_FIELDS: [&str; 6] = ["from", "to", "date", "subject", "message-id", "mime-version"];

/// Minimum number of these fields for a file to be detected as a message.
const MIN_HEADER_FIELDS: usize = 3;

/// Importer of mail.
#[derive(Debug)]
pub(crate) struct EmailImporter;

impl Importer for EmailImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "mail (.eml, .mbox)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head_text();
        let message = opening.strip_prefix("From ").map_or(opening, after_first_line);
        let named = probe.has_extension(&["eml", "mbox"]);
        Confidence::ByContent
            .when(count_header_fields(message) >= MIN_HEADER_FIELDS)
            .max(Confidence::ByName.when(named))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        if file.bytes.starts_with(b"From ") {
            return Ok(read_mailbox(file));
        }
        let (document, problems) = read_message(file, &file.bytes)
            .map_err(|reason| unreadable_error(file, "a mail message", &reason))?;
        single_document(file, VERSION, document, problems)
    }
}

fn after_first_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// Returns the number of known header fields at the beginning of a text.
fn count_header_fields(text: &str) -> usize {
    let is_field = |line: &str| {
        let name = line.split_once(':').map(|(name, _)| name.to_ascii_lowercase());
        name.is_some_and(|name| HEADER_FIELDS.contains(&name.as_str()))
    };
    text.lines().take_while(|line| !line.trim().is_empty()).filter(|line| is_field(line)).count()
}

fn read_mailbox(file: &SourceFile) -> ParsedFile {
    let mut reading = ParsedFile::default();
    for (number, message) in (1..).zip(MessageIterator::new(file.bytes.as_slice())) {
        let place = format!("message {number}");
        let read = message
            .map_err(|error| error.to_string())
            .and_then(|message| to_draft(file, number, message.contents()));
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

/// Returns the draft of a message in a mailbox. Its origin is its `Message-ID`, because its
/// position may change.
fn to_draft(
    file: &SourceFile,
    number: usize,
    bytes: &[u8],
) -> Result<(Draft, Vec<Problem>), String> {
    let (document, problems) = read_message(file, bytes)?;
    if document.content.trim().is_empty() {
        return Err("it holds no text".to_owned());
    }
    let message = MessageParser::new().parse_headers(bytes);
    let id = message.as_ref().and_then(Message::message_id);
    let origin =
        id.map_or_else(|| format!("{}#{number}", file.origin()), |id| format!("mail:{id}"));
    Ok((VERSION.draft(origin, bytes, document), problems))
}

fn read_message(file: &SourceFile, bytes: &[u8]) -> Result<(MediaDraft, Vec<Problem>), String> {
    let message = MessageParser::new().parse(bytes).filter(|message| {
        message.from().is_some() || message.subject().is_some() || message.date().is_some()
    });
    let message = message.ok_or("it has no header with `From`, `Date` or `Subject`")?;
    let from = message.from().map(format_addresses);
    let to = message.to().map(format_addresses);
    let body = message_text(&message)?;
    let sent_at = sent_at(&message).or(file.modified);
    let document = MediaDraft {
        title: title_or_stem(message.subject(), file),
        media_type: "email".to_owned(),
        content: text_with_header(from.as_deref(), to.as_deref(), &body),
        author: from,
        created_at: sent_at,
        modified_at: sent_at,
        ..MediaDraft::default()
    };
    Ok((document, attachment_problems(&message)))
}

/// Returns the date in the header of a message; `None` if it is missing or invalid.
pub(super) fn sent_at(message: &Message<'_>) -> Option<Timestamp> {
    datetime::parse_document_date(message.header_raw(HeaderName::Date)?)
}

/// Returns the text below sender and recipients; empty if there is no text.
pub(super) fn text_with_header(from: Option<&str>, to: Option<&str>, body: &str) -> String {
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

/// Returns the text of a message: its plain text parts, or its HTML if there are none.
fn message_text(message: &Message<'_>) -> Result<String, String> {
    let mut texts = Vec::new();
    for part in message.text_bodies() {
        match &part.body {
            PartType::Text(text) => texts.push(text.trim().to_owned()),
            PartType::Html(html) => {
                texts.push(
                    html_markdown::html_to_markdown(html, None)
                        .map_err(|error| error.to_string())?,
                );
            }
            PartType::Binary(_)
            | PartType::InlineBinary(_)
            | PartType::Message(_)
            | PartType::Multipart(_) => {}
        }
    }
    Ok(texts.join("\n\n"))
}

fn attachment_problems(message: &Message<'_>) -> Vec<Problem> {
    message
        .attachments()
        .map(|part| Problem {
            place: format!("attachment `{}`", part.attachment_name().unwrap_or("without a name")),
            reason: "attachments are not read; save it as a file and import that".to_owned(),
        })
        .collect()
}

/// Formats the people in an address field: `Ada Lovelace <ada@example.org>, …`.
fn format_addresses(address: &Address<'_>) -> String {
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
        detection::file_probe::tests::probe_file,
        documents::document::tests::{read_document, read_error},
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
    fn message_has_sender_recipient_subject_and_date() {
        let message = read_document(&EmailImporter, "/a.eml", PLAIN);
        assert_eq!(message.title, "Brötchen");
        assert_eq!(message.author.as_deref(), Some("Ada Lovelace <ada@example.org>"));
        assert_eq!(message.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
        let content = "From: Ada Lovelace <ada@example.org>\nTo: bob@example.org\n\n\
                       Der Teig muß gehen.";
        assert_eq!((message.content.as_str(), message.media_type.as_str()), (content, "email"));
        assert_eq!(EmailImporter.detect(&probe_file("a.txt", PLAIN)), Confidence::ByContent);
        assert_eq!(
            EmailImporter.detect(&probe_file("a.txt", "To: do\n\nFrom: here")),
            Confidence::NoMatch
        );
    }

    #[test]
    fn html_replaces_missing_text_and_attachments_are_reported() {
        let reading = EmailImporter.parse(&SourceFile::in_memory("/a.eml", MIXED)).unwrap();
        let vademecum_model::DraftBody::Media(message) = &reading.drafts[0].body else {
            panic!("no document")
        };
        assert!(message.content.ends_with("# Rye\n\nWait a day."), "{}", message.content);
        assert_eq!(reading.problems[0].place, "attachment `rye.pdf`");
    }

    #[test]
    fn mailbox_messages_become_separate_documents() {
        let mailbox = format!("From x\n{PLAIN}\nFrom y\nnothing\n\nFrom z\n{MIXED}");
        let reading = EmailImporter.parse(&SourceFile::in_memory("/a.mbox", mailbox)).unwrap();
        let origins: Vec<_> = reading.drafts.iter().map(|draft| draft.origin.as_str()).collect();
        assert_eq!(origins, ["mail:1@example.org", "file:/a.mbox#3"]);
        let found_places: Vec<_> =
            reading.problems.iter().map(|found| found.place.as_str()).collect();
        assert_eq!(found_places, ["message 2", "message 3, attachment `rye.pdf`"]);
    }

    #[test]
    fn invalid_message_is_rejected() {
        assert!(read_error(&EmailImporter, "/a.eml", "Just words.").contains("no header"));
        assert!(read_error(&EmailImporter, "/a.eml", "Subject: x\n\n").contains("holds no text"));
    }

    #[test]
    fn message_date_survives_odd_zones() {
        let file = Timestamp::parse("2020-02-02").ok();
        for (date, sent) in [
            ("Fri, 3 May 2024 10:00:00 +0200", "2024-05-03T08:00:00Z"),
            ("3 May 24 10:00 PST", "2024-05-03T18:00:00Z"),
            ("Fri, 3 May 2024 10:00:00 CEST", "2024-05-03T08:00:00Z"),
            ("Fri, 3 May 2024\r\n 10:00:00", "2024-05-03T10:00:00Z"),
            ("Fri, 31 Feb 2024 10:00:00 +0000", "2020-02-02"),
            ("yesterday", "2020-02-02"),
            ("", "2020-02-02"),
        ] {
            let text = format!("From: ada@example.org\r\nDate: {date}\r\n\r\nRye.");
            let mail = SourceFile { modified: file, ..SourceFile::in_memory("/a.eml", text) };
            let reading = EmailImporter.parse(&mail).unwrap();
            let vademecum_model::DraftBody::Media(message) = &reading.drafts[0].body else {
                panic!("no document")
            };
            assert_eq!(message.created_at, Timestamp::parse(sent).ok(), "{date}");
            assert_eq!(message.modified_at, message.created_at);
        }
    }
}
