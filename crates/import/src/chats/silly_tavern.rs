//! Chats of `SillyTavern` (`.jsonl`): a header line, then one line per message. An answer that was
//! swiped away becomes a branch.

use serde::Deserialize;
use serde_json::Value;
use vademecum_model::{MessageDraft, SourceName, Timestamp};

use super::{
    conversation::Conversation,
    conversation_tree::{MessageNode, split_branches},
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    text::{datetime, json::parse_entry},
};

/// Importer of `SillyTavern` chats.
#[derive(Debug)]
pub(crate) struct SillyTavernImporter;

impl Importer for SillyTavernImporter {
    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn format_name(&self) -> &'static str {
        "chats of SillyTavern (.jsonl)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head_text();
        let has = |fields: [&str; 2]| fields.iter().all(|field| opening.contains(field));
        let says_so =
            has(["\"user_name\"", "\"character_name\""]) || has(["\"is_user\"", "\"mes\""]);
        Confidence::ByContent.when(opening.starts_with('{') && says_so)
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let mut reading = ParsedFile::default();
        let (mut head, mut lines) = (ChatHeader::default(), Vec::new());
        let text = file.text()?;
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            match parse_entry(line) {
                Ok(ChatLine { message: Some(message), .. }) => lines.push((number, message)),
                Ok(ChatLine { head: found, .. }) if number == 1 => head = found,
                Ok(_) => reading.skip_line(number, "it is not a message".to_owned()),
                Err(reason) => reading.skip_line(number, reason),
            }
        }
        let conversation = build_conversation(file, &head, &lines);
        reading.add_conversation(file, 1, "the chat".to_owned(), Ok(conversation));
        Ok(reading)
    }
}

impl ParsedFile {
    fn skip_line(&mut self, line: usize, reason: String) {
        self.problems.push(Problem { place: format!("line {line}"), reason });
    }
}

#[derive(Debug, Deserialize)]
struct ChatLine {
    #[serde(flatten)]
    head: ChatHeader,
    #[serde(flatten)]
    message: Option<SillyTavernMessage>,
}

/// The header line.
#[derive(Debug, Default, Deserialize)]
struct ChatHeader {
    character_name: Option<String>,
    create_date: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct SillyTavernMessage {
    mes: String,
    name: Option<String>,
    is_user: Option<bool>,
    send_date: Option<Value>,
    extra: Option<Value>,
    swipes: Option<Vec<Value>>,
    swipe_id: Option<usize>,
    swipe_info: Option<Vec<Value>>,
}

fn build_conversation(
    file: &SourceFile,
    head: &ChatHeader,
    lines: &[(usize, SillyTavernMessage)],
) -> Conversation {
    let mut nodes: Vec<MessageNode> = Vec::new();
    let mut last: Option<String> = None;
    for (number, message) in lines {
        nodes.extend(message.alternative_nodes(*number, last.as_deref()));
        let shown = message.shown_node(*number, last.as_deref());
        last = Some(shown.id.clone());
        nodes.push(shown);
    }
    let stem = file.file_stem();
    let character = head.character_name.as_deref().filter(|name| !stem.contains(name));
    Conversation {
        title: Some(character.map_or_else(|| stem.clone(), |name| format!("{name}, {stem}"))),
        service: Some("sillytavern".to_owned()),
        created_at: head.create_date.as_ref().and_then(datetime::parse_json),
        branches: split_branches(nodes, last.as_deref()),
        ..Conversation::default()
    }
}

impl SillyTavernMessage {
    /// Returns the node of the shown answer.
    fn shown_node(&self, number: usize, after: Option<&str>) -> MessageNode {
        let id = swipe_node_id(number, self.swipe_id.unwrap_or(0));
        let sent_at = self.send_date.as_ref().and_then(datetime::parse_json);
        self.build_node(id, after, &self.mes, self.extra.as_ref(), sent_at)
    }

    /// Returns the nodes of the alternative answers.
    fn alternative_nodes(&self, number: usize, after: Option<&str>) -> Vec<MessageNode> {
        let shown = self.swipe_id.unwrap_or(0);
        let swipes = self.swipes.iter().flatten().enumerate();
        let away = swipes.filter(|(swipe, _)| *swipe != shown).filter_map(|(swipe, text)| {
            let about = self.swipe_info.as_ref().and_then(|about| about.get(swipe));
            let extra = about.and_then(|about| about.get("extra"));
            let sent_at =
                about.and_then(|about| about.get("send_date")).and_then(datetime::parse_json);
            Some(self.build_node(
                swipe_node_id(number, swipe),
                after,
                text.as_str()?,
                extra,
                sent_at,
            ))
        });
        away.collect()
    }

    fn build_node(
        &self,
        id: String,
        after: Option<&str>,
        text: &str,
        extra: Option<&Value>,
        sent_at: Option<Timestamp>,
    ) -> MessageNode {
        let model = extra.and_then(|extra| extra.get("model")).and_then(Value::as_str);
        let model = model.filter(|model| !model.is_empty() && self.is_user != Some(true));
        let sender = self.name.as_deref().filter(|name| !name.trim().is_empty());
        let unnamed = if self.is_user == Some(true) { "user" } else { "assistant" };
        let message = (!text.trim().is_empty()).then(|| MessageDraft {
            origin: id.clone(),
            sender: sender.unwrap_or(unnamed).to_owned(),
            model: model.map(str::to_owned),
            content: text.to_owned(),
            sent_at,
            ..MessageDraft::default()
        });
        MessageNode { id, parent: after.map(str::to_owned), time: None, message }
    }
}

/// Returns the identifier of a swipe. The first swipe has that of its line, so the identifier of a
/// message does not change when it is swiped for the first time.
fn swipe_node_id(number: usize, swipe: usize) -> String {
    if swipe == 0 { number.to_string() } else { format!("{number}/{swipe}") }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{ChatDraft, DraftBody};

    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    const HEAD: &str =
        r#"{"user_name":"Ada","character_name":"Orla","create_date":"2024-01-05@14h30m12s"}"#;
    const FIRST: &str = r#"{"name":"Orla","is_user":false,"send_date":"January 5, 2024 2:30pm","mes":"Hello.","extra":{}}"#;
    const SECOND: &str = r#"{"name":"Ada","is_user":true,"send_date":1704465072000,"mes":"Rye?"}"#;
    const THIRD: &str = r#"{"name":"Orla","is_user":false,"mes":"Yes.","swipe_id":1,"swipes":["No.","Yes."],
        "swipe_info":[{"extra":{"model":"one"}},{}],"extra":{"model":"two"}}"#;

    fn read_chats(name: &str, lines: &[&str]) -> (Vec<ChatDraft>, Vec<Problem>) {
        let text = lines.iter().map(|line| line.replace('\n', " ") + "\n").collect::<String>();
        let reading = SillyTavernImporter.parse(&SourceFile::in_memory(name, text)).unwrap();
        let chats = reading.drafts.into_iter().map(|draft| match draft.body {
            DraftBody::Chat(chat) => chat,
            _ => panic!("no chat"),
        });
        (chats.collect(), reading.problems)
    }

    #[test]
    fn a_chat_keeps_names_times_and_models() {
        let (chats, problems) = read_chats("/Orla - 1.jsonl", &[HEAD, FIRST, SECOND, THIRD]);
        assert!(problems.is_empty());
        let chat = &chats[0];
        assert_eq!(chat.title.as_deref(), Some("Orla - 1"));
        assert_eq!(chat.created_at, Timestamp::parse("2024-01-05T14:30:12Z").ok());
        let found: Vec<_> =
            chat.messages.iter().map(|it| (it.sender.as_str(), it.content.as_str())).collect();
        assert_eq!(found, [("Orla", "Hello."), ("Ada", "Rye?"), ("Orla", "Yes.")]);
        assert_eq!(chat.messages[0].sent_at, Timestamp::parse("2024-01-05T14:30:00Z").ok());
        assert_eq!(chat.messages[1].sent_at, Timestamp::parse("2024-01-05T14:31:12Z").ok());
        assert_eq!(chat.messages[2].model.as_deref(), Some("two"));
    }

    #[test]
    fn swiped_answer_becomes_a_branch() {
        let (chats, _) = read_chats("/1.jsonl", &[HEAD, FIRST, SECOND, THIRD]);
        assert_eq!(chats.len(), 2);
        assert_eq!(chats[1].title.as_deref(), Some("Orla, 1 (branch 2)"));
        assert_eq!(chats[1].fork.as_ref().unwrap().after.as_deref(), Some("3"));
        let message = &chats[1].messages[0];
        assert_eq!((message.content.as_str(), message.model.as_deref()), ("No.", Some("one")));
    }

    #[test]
    fn broken_line_is_reported_others_kept() {
        let (chats, problems) = read_chats("/1.jsonl", &[HEAD, "{", FIRST, r#"{"x": 1}"#, "", "7"]);
        assert_eq!(chats[0].messages.len(), 1);
        let found: Vec<_> = problems.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(found, ["line 2", "line 4", "line 6"]);
    }

    #[test]
    fn silly_tavern_chat_is_detected_by_fields() {
        for text in [HEAD, FIRST] {
            assert_eq!(
                SillyTavernImporter.detect(&probe_file("a.jsonl", text)),
                Confidence::ByContent
            );
        }
        assert_eq!(
            SillyTavernImporter.detect(&probe_file("a.jsonl", r#"{"mes": 1}"#)),
            Confidence::NoMatch
        );
    }
}
