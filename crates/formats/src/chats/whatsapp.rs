//! Chats of WhatsApp: a text, or a ZIP archive with the text and its media.

use vademecum_model::{ChatDraft, SourceName};

use super::{
    message::{MessageIds, message},
    whatsapp_line::{FirstNumber, Stamp, date_order, split_line},
};
use crate::{
    archive::PackedFile,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::decode_text,
};

/// Beginnings of the names of exported chats, which the name of the chat follows.
const NAME_PREFIXES: [&str; 9] = [
    "WhatsApp Chat with ",
    "WhatsApp Chat - ",
    "WhatsApp-Chat mit ",
    "WhatsApp Chat mit ",
    "Chat de WhatsApp con ",
    "Conversa do WhatsApp com ",
    "Discussion WhatsApp avec ",
    "Chat WhatsApp con ",
    "WhatsApp-chat met ",
];

/// Sender of lines that WhatsApp itself wrote, such as `You were added`.
const SYSTEM: &str = "system";

/// Chats of WhatsApp.
#[derive(Debug)]
pub(crate) struct WhatsApp;

impl Format for WhatsApp {
    fn id(&self) -> &'static str {
        "whatsapp"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "chats of WhatsApp (.txt, .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        if sample.bytes.starts_with(b"PK\x03\x04") {
            return sample.entries.iter().filter(|name| is_chat_name(name)).count() == 1
                && sample.entries.iter().all(|name| !name.contains('/'));
        }
        let mut lines = sample.head.lines();
        let begins = lines.next().and_then(split_line).is_some();
        let is_named = is_chat_name(&sample.file_name());
        let messages = lines.filter_map(split_line).filter(|(_, rest)| rest.contains(": "));
        begins && (is_named || messages.count() >= 1)
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let packed;
        let bytes = if input.is_zip() {
            packed = input.unpack(is_chat_name)?;
            let [PackedFile { bytes, .. }] = packed.as_slice() else {
                return Err(FormatError::new("the archive has not exactly one chat"));
            };
            bytes.as_slice()
        } else {
            input.bytes
        };
        let text = decode_text(bytes, None)?;
        let mut parsed = ParsedFormat::default();
        let entries = split_messages(&text);
        let stamps: Vec<Stamp> = entries.iter().map(|(stamp, _)| *stamp).collect();
        let (order, is_ambiguous) = date_order(&stamps);
        let mut ids = MessageIds::default();
        let mut names: Vec<&str> = Vec::new();
        let messages = entries.iter().map(|(stamp, text)| {
            let (sender, content) = split_sender(text);
            if sender != SYSTEM && !names.contains(&sender) && names.len() < 8 {
                names.push(sender);
            }
            let content = content.replace(['\u{200e}', '\u{200f}'], "");
            let sent_at = stamp.timestamp(order);
            let mut draft = message(String::new(), sender, &[content], sent_at);
            draft.origin = ids.id(&draft);
            draft
        });
        let messages = messages.collect();
        let title = chat_title(&input.stem()).unwrap_or_else(|| names.join(", "));
        let (title, service) = (Some(title), Some("whatsapp".to_owned()));
        if is_ambiguous {
            let order = match order {
                FirstNumber::Month => "month, day, year",
                FirstNumber::Day | FirstNumber::Year => "day, month, year",
            };
            let reason = format!("they fit two orders of day and month, and were read as {order}");
            parsed.add_problem("dates", reason);
        }
        let chat = ChatDraft { title, service, messages, ..ChatDraft::default() };
        parsed.add_chat(format!("{}#1", input.origin()), chat);
        Ok(parsed)
    }
}

/// Returns `true` for the name of an exported chat.
fn is_chat_name(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    extension.eq_ignore_ascii_case("txt") && (stem == "_chat" || chat_title(stem).is_some())
}

/// Returns the name of the chat in the name of its file.
fn chat_title(stem: &str) -> Option<String> {
    NAME_PREFIXES.iter().find_map(|prefix| stem.strip_prefix(prefix)).map(str::to_owned)
}

/// Splits a text into its messages. Lines that begin without a date belong to the message before.
fn split_messages(text: &str) -> Vec<(Stamp, String)> {
    let mut messages: Vec<(Stamp, String)> = Vec::new();
    for line in text.lines() {
        match (split_line(line), messages.last_mut()) {
            (Some((stamp, rest)), _) => messages.push((stamp, rest.to_owned())),
            (None, Some((_, message))) => message.extend(["\n", line]),
            (None, None) => {}
        }
    }
    messages
}

/// Splits a message into its sender and its text. A line without a sender is one of WhatsApp itself.
fn split_sender(text: &str) -> (&str, &str) {
    let line = text.lines().next().unwrap_or_default();
    match line.split_once(": ").or_else(|| line.strip_suffix(':').map(|name| (name, ""))) {
        Some((sender, _)) => {
            (sender.trim_matches(['\u{200e}', '~', ' ']), &text[sender.len() + 1..])
        }
        None => (SYSTEM, text),
    }
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    const ANDROID: &str = "05/01/26, 10:00 - Messages are end-to-end encrypted.\n\
        05/01/26, 10:00 - Ada: Rye: how long?\nA day?\n\
        20/01/26, 10:01 - Ben 🤓: IMG-1.jpg (file attached)\n20/01/26, 10:02 - Ada:\n";

    #[test]
    fn chat_keeps_senders_lines_and_order_of_dates() {
        let name = "/WhatsApp Chat with Ben.txt";
        assert!(detects(&WhatsApp, name, ANDROID));
        let parsed = parse(&WhatsApp, name, ANDROID);
        assert_eq!(parsed.problems, []);
        let chat = chats(&parsed)[0];
        assert_eq!(
            (chat.title.as_deref(), chat.service.as_deref()),
            (Some("Ben"), Some("whatsapp"))
        );
        assert_eq!(
            lines(chat),
            [
                "2026-01-05T10:00 system: Messages are end-to-end encrypted.",
                "2026-01-05T10:00 Ada: Rye: how long?\nA day?",
                "2026-01-20T10:01 Ben 🤓: IMG-1.jpg (file attached)",
            ]
        );
    }

    #[test]
    fn archive_of_iphone_is_read() {
        let text = "[1/5/26, 10:00:00\u{202f}PM] Ada: Rye?\r\n\
            \u{200e}[1/20/26, 12:01:00\u{202f}AM] ~ Ben: \u{200e}<attached: 2.jpg>\r\n";
        let zip = zip_archive(&[("_chat.txt", text.as_bytes()), ("2.jpg", b"x")]);
        let name = "/WhatsApp Chat - Ben.zip";
        assert!(detects(&WhatsApp, name, &zip));
        let parsed = parse(&WhatsApp, name, &zip);
        let chat = chats(&parsed)[0];
        assert_eq!(chat.title.as_deref(), Some("Ben"));
        assert_eq!(
            lines(chat),
            ["2026-01-05T22:00 Ada: Rye?", "2026-01-20T00:01 Ben: <attached: 2.jpg>"]
        );
        assert!(!detects(&WhatsApp, "/a.zip", zip_archive(&[("a/_chat.txt", b"x")])));
    }

    #[test]
    fn repeated_messages_have_stable_ids() {
        let text = "5/1/26, 1:00 - A: x\n5/1/26, 1:00 - A: x\n6/1/26, 1:00 - A: y\n";
        let ids = |text: &str| -> Vec<String> {
            let parsed = parse(&WhatsApp, "/_chat.txt", text);
            chats(&parsed)[0].messages.iter().map(|it| it.origin.clone()).collect()
        };
        let (first, longer) = (ids(text), ids(&format!("{text}7/1/26, 1:00 - A: z\n")));
        assert_eq!(longer[..3], first[..]);
        assert!(first[0] != first[1]);
        let parsed = parse(&WhatsApp, "/_chat.txt", text);
        assert_eq!(chats(&parsed)[0].title.as_deref(), Some("A"));
    }

    #[test]
    fn other_text_is_no_chat() {
        for text in ["", "Text", "2026-01-05 10:00:00 - INFO: x\n2026-01-05 10:00:01 - INFO: y\n"] {
            assert!(!detects(&WhatsApp, "/a.txt", text), "{text}");
        }
        let parsed = parse(&WhatsApp, "/_chat.txt", "Text");
        assert!(parsed.drafts.is_empty() && parsed.problems.len() == 1);
        assert!(try_parse(&WhatsApp, "/_chat.txt", b"\0").is_err());
    }
}
