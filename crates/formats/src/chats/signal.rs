//! Conversations of Signal as text: blocks of `From:`, `Type:` and `Sent:`, each with a message.

use vademecum_model::{ChatDraft, SourceName};

use super::message::{MessageIds, file_label, message};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::datetime,
};

/// Conversations of Signal.
#[derive(Debug)]
pub(crate) struct Signal;

impl Format for Signal {
    fn id(&self) -> &'static str {
        "signal"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of Signal (.txt)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let at = |name: &str| sample.head.lines().position(|line| line.starts_with(name));
        match (at("From: "), at("Type: "), at("Sent: ")) {
            (Some(from), Some(kind), Some(sent)) => from < kind && kind < sent && sent < from + 6,
            _ => false,
        }
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let (mut parsed, mut ids) = (ParsedFormat::default(), MessageIds::default());
        let lines: Vec<&str> = text.lines().collect();
        let begins = |at: &usize| {
            let next = lines.get(*at..).unwrap_or_default().iter().take(3);
            lines.get(*at).is_some_and(|line| line.starts_with("From: "))
                && next.skip(1).any(|line| line.starts_with("Type: ") || line.starts_with("Sent: "))
        };
        let starts: Vec<usize> = (0..lines.len()).filter(begins).collect();
        let head = lines.get(..*starts.first().unwrap_or(&0)).unwrap_or_default();
        let title = head.iter().find_map(|line| line.strip_prefix("Conversation: "));
        let ends = starts.iter().skip(1).copied().chain([lines.len()]);
        let blocks = starts.iter().zip(ends).filter_map(|(start, end)| lines.get(*start..end));
        let messages = blocks.map(|block| {
            let blank = block.iter().position(|line| line.trim().is_empty()).unwrap_or(block.len());
            let (fields, body) = block.split_at(blank);
            let value = |name: &str| fields.iter().find_map(|line| line.strip_prefix(name));
            let sender = value("From: ").unwrap_or_default();
            // The number of the sender follows in brackets.
            let sender = sender.rsplit_once(" (").map_or(sender, |(name, _)| name);
            let files = fields.iter().filter_map(|line| line.strip_prefix("Attachment: "));
            let parts = [
                body.join("\n"),
                files
                    .map(|file| file_label(file.split_once(" (").map_or(file, |it| it.0)))
                    .collect::<Vec<_>>()
                    .join("\n"),
            ];
            let sent_at = value("Sent: ").and_then(datetime::parse_text);
            let mut draft = message(String::new(), sender, &parts, sent_at);
            draft.origin = ids.id(&draft);
            draft
        });
        let chat = ChatDraft {
            messages: messages.collect(),
            title: Some(title.map_or_else(|| input.stem(), str::to_owned)),
            service: Some("signal".to_owned()),
            ..ChatDraft::default()
        };
        parsed.add_chat(format!("{}#1", input.origin()), chat);
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse};

    #[test]
    fn conversation_keeps_senders_times_and_lines() {
        let text = "Conversation: Ada\n\nFrom: Ada (+1234)\nType: incoming\n\
            Sent: Mon, 5 Jan 2026 10:00:00 +0000\n\nRye?\n\nFrom: the mill.\n\n\
            From: You (+5678)\nType: outgoing\nSent: Mon, 5 Jan 2026 11:01:00 +0100\n\
            Attachment: loaf.jpg (image/jpeg, 1 bytes)\n\nYes.\n";
        assert!(detects(&Signal, "/a.txt", text));
        let parsed = parse(&Signal, "/a.txt", text);
        let chat = chats(&parsed)[0];
        assert_eq!(chat.title.as_deref(), Some("Ada"));
        assert_eq!(
            lines(chat),
            [
                "2026-01-05T10:00 Ada: Rye?\n\nFrom: the mill.",
                "2026-01-05T10:01 You: Yes.\n[file: loaf.jpg]",
            ]
        );
        assert!(!detects(&Signal, "/a.txt", "From: Ada\n\nText\nType: x\n\n\n\n\n\nSent: y"));
    }
}
