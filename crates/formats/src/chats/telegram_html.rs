//! Telegram's export as pages: `messages.html`, `messages2.html` … of a chat.
//!
//! Each page is a conversation: it does not say which ones come before and after it, nor of which chat it is.
//! Its first message identifies it. Messages without a sender are of the one before.

use dom_smoothie::Readability;
use vademecum_model::{ChatDraft, Draft, DraftBody, MessageDraft, SourceName, Timestamp};

use super::message::{file_label, message, quote};
use crate::{
    digest,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    html_markdown::{html_to_markdown, parse_html},
    text::datetime,
};

/// A chat of Telegram as pages.
#[derive(Debug)]
pub(crate) struct TelegramPages;

impl Format for TelegramPages {
    fn id(&self) -> &'static str {
        "telegram_pages"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "chats of Telegram (messages.html)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.contains_all(&["class=\"page_wrap\"", "class=\"page_header\"", "class=\"history\""])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let page = parse_html(&text).map_err(|error| FormatError::new(error.to_string()))?;
        let mut parsed = ParsedFormat::default();
        let title = page.doc.select(".page_header .text").text().trim().to_owned();
        let first = page.doc.select(".history .message[id]").attr("id");
        let first = first.map(|id| id.to_string()).unwrap_or_default();
        let messages = read_messages(&page);
        let origin = messages.first().map(|message| page_origin(&title, message));
        let draft = ChatDraft {
            title: Some(title.clone()),
            service: Some("telegram".to_owned()),
            messages,
            ..ChatDraft::default()
        };
        let former = format!("telegram-page:{title}:{first}");
        parsed.add_excerpt(origin.unwrap_or_else(|| former.clone()), draft);
        if let Some(Draft { body: DraftBody::Chat(chat), .. }) = parsed.drafts.last_mut() {
            chat.former_origin = Some(former);
        }
        Ok(parsed)
    }
}

/// Returns the origin of a page. Other chats may have the same title, and number their messages from 1, too.
fn page_origin(title: &str, first: &MessageDraft) -> String {
    let time = first.sent_at.map(|it| it.to_string()).unwrap_or_default();
    let parts = [time.as_bytes(), first.content.as_bytes()];
    let mark: String = digest("telegram-page", parts).chars().take(16).collect();
    format!("telegram-page:{title}:{}-{mark}", first.origin)
}

fn read_messages(page: &Readability) -> Vec<MessageDraft> {
    let mut messages = Vec::new();
    let mut sender = String::new();
    let mut texts = std::collections::HashMap::new();
    for entry in &page.doc.select(".history > .message") {
        let id = entry.attr("id").map(|id| id.trim_start_matches("message").to_owned());
        let Some(id) = id.filter(|id| !id.is_empty()) else { continue };
        if entry.has_class("service") {
            let said =
                entry.select(".body").text().split_whitespace().collect::<Vec<_>>().join(" ");
            // Dates between messages have negative numbers.
            if !id.starts_with('-') {
                messages.push(message(id, "Telegram", &[said], None));
            }
            continue;
        }
        let own = entry.select(".body > .from_name").text().trim().to_owned();
        if !own.is_empty() {
            sender = own;
        }
        let body = entry.select(".body > .text").html().to_string();
        let said = html_to_markdown(&body, None).unwrap_or(body);
        let link = entry.select(".reply_to a[href]").attr("href").unwrap_or_default();
        let answered = link.rsplit("message").next().unwrap_or_default().to_owned();
        let quoted: Option<&(String, String)> = texts.get(&answered);
        let mut parts = vec![quoted.map(|(who, what)| quote(who, what)).unwrap_or_default()];
        let forwarded = entry.select(".forwarded .from_name").text().trim().to_owned();
        if !forwarded.is_empty() {
            parts.push(format!("[forwarded from {forwarded}]"));
            let body = entry.select(".forwarded .text").html().to_string();
            parts.push(html_to_markdown(&body, None).unwrap_or(body));
        }
        texts.insert(id.clone(), (sender.clone(), said.clone()));
        parts.push(said);
        for media in &entry.select(".media_wrap a[href]") {
            parts.push(file_label(&media.attr("href").unwrap_or_default()));
        }
        let time = entry.select(".date[title]").attr("title").unwrap_or_default();
        messages.push(message(id, &sender, &parts, parse_time(&time)));
    }
    messages
}

/// Parses `05.01.2026 10:00:00 UTC+01:00`. Older exports have no zone, which counts as UTC.
fn parse_time(text: &str) -> Option<Timestamp> {
    let mut parts = text.split_whitespace();
    let (day, time) = (parts.next()?, parts.next()?);
    let mut numbers = day.split('.');
    let (day, month, year) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let zone = parts.next().and_then(|zone| zone.strip_prefix("UTC")).unwrap_or_default();
    let zone = if zone.is_empty() { "Z" } else { zone };
    datetime::parse_text(&format!("{year}-{month}-{day}T{time}{zone}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse};

    const PAGE: &str = r##"<html><body><div class="page_wrap"><div class="page_header"><div class="content">
        <div class="text bold">Bread</div></div></div><div class="page_body chat_page"><div class="history">
        <div class="message service" id="message-1"><div class="body details">5 January 2026</div></div>
        <div class="message service" id="message1"><div class="body details">Ada created group</div></div>
        <div class="message default clearfix" id="message2"><div class="body">
          <div class="pull_right date details" title="05.01.2026 11:00:00 UTC+01:00">11:00</div>
          <div class="from_name">Ada</div><div class="text">Rest <strong>long</strong>?</div></div></div>
        <div class="message default clearfix joined" id="message3"><div class="body">
          <div class="pull_right date details" title="05.01.2026 11:01:00 UTC+01:00">11:01</div>
          <div class="media_wrap clearfix"><a class="photo_wrap" href="photos/rye.jpg">x</a></div></div></div>
        <div class="message default clearfix" id="message4"><div class="body">
          <div class="pull_right date details" title="05.01.2026 10:02:00">10:02</div>
          <div class="from_name">Ben</div>
          <div class="reply_to details">In reply to <a href="#go_to_message2">this message</a></div>
          <div class="text">A day.</div></div></div>
        </div></div></div></body></html>"##;

    #[test]
    fn pages_of_other_periods_and_chats_are_other_conversations() {
        let origin =
            |page: &str| parse(&TelegramPages, "/messages.html", page).drafts[0].origin.clone();
        let whole = origin(PAGE);
        // An export of a later period begins with the date, then with another message.
        let (_, rest) = PAGE.split_once("id=\"message1\"").unwrap();
        let (_, rest) = rest.split_once("</div></div>").unwrap();
        let (begin, _) = PAGE.split_once("<div class=\"message service\" id=\"message1\"").unwrap();
        let later = format!("{begin}{rest}");
        assert_ne!(origin(&later), whole);
        assert_ne!(origin(&PAGE.replace("Ada created", "Cy created")), whole);
        let longer = PAGE.replace("A day.", "Two days.");
        assert_eq!(origin(&longer), whole, "the same period again");
    }

    #[test]
    fn page_keeps_senders_times_replies_and_files() {
        assert!(detects(&TelegramPages, "/messages.html", PAGE));
        let parsed = parse(&TelegramPages, "/messages.html", PAGE);
        assert!(parsed.drafts[0].origin.starts_with("telegram-page:Bread:1-"), "{parsed:?}");
        let chat = chats(&parsed)[0];
        assert_eq!(chat.former_origin.as_deref(), Some("telegram-page:Bread:message-1"));
        assert_eq!(
            lines(chat),
            [
                " Telegram: Ada created group",
                "2026-01-05T10:00 Ada: Rest long?",
                "2026-01-05T10:01 Ada: [file: rye.jpg]",
                "2026-01-05T10:02 Ben: > Ada: Rest long?\nA day.",
            ]
        );
    }
}
