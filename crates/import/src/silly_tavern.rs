//! Chats of `SillyTavern` (`.jsonl`): a line about the chat, then one for each
//! message. An answer that was swiped away is a branch.

use serde::Deserialize;
use serde_json::Value;
use vademecum_kit::model::{MessageDraft, SourceName, Timestamp};

use super::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    conversation::Conversation,
    json::entry,
    moment,
    tree::{Node, branches},
};

/// Reads such chats.
#[derive(Debug)]
pub(super) struct SillyTavern;

impl Importer for SillyTavern {
    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn format(&self) -> &'static str {
        "chats of SillyTavern (.jsonl)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.opening();
        let has = |fields: [&str; 2]| fields.iter().all(|field| opening.contains(field));
        let says_so =
            has(["\"user_name\"", "\"character_name\""]) || has(["\"is_user\"", "\"mes\""]);
        Fit::Content.when(opening.starts_with('{') && says_so)
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let mut reading = Reading::default();
        let (mut head, mut lines) = (Head::default(), Vec::new());
        let text = file.text()?;
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            match entry(line) {
                Ok(Line { message: Some(message), .. }) => lines.push((number, message)),
                Ok(Line { head: found, .. }) if number == 1 => head = found,
                Ok(_) => reading.skip(number, "it is no message".to_owned()),
                Err(reason) => reading.skip(number, reason),
            }
        }
        let conversation = conversation(file, &head, &lines);
        reading.add(file, 1, "the chat".to_owned(), Ok(conversation));
        Ok(reading)
    }
}

impl Reading {
    fn skip(&mut self, line: usize, reason: String) {
        self.problems.push(Problem { place: format!("line {line}"), reason });
    }
}

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    message: Option<Message>,
}

/// What the first line says.
#[derive(Debug, Default, Deserialize)]
struct Head {
    character_name: Option<String>,
    create_date: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Message {
    mes: String,
    name: Option<String>,
    is_user: Option<bool>,
    send_date: Option<Value>,
    extra: Option<Value>,
    swipes: Option<Vec<Value>>,
    swipe_id: Option<usize>,
    swipe_info: Option<Vec<Value>>,
}

fn conversation(file: &SourceFile, head: &Head, lines: &[(usize, Message)]) -> Conversation {
    let mut nodes: Vec<Node> = Vec::new();
    let mut last: Option<String> = None;
    for (number, message) in lines {
        nodes.extend(message.swiped_away(*number, last.as_deref()));
        let shown = message.node(*number, last.as_deref());
        last = Some(shown.id.clone());
        nodes.push(shown);
    }
    let stem = file.stem();
    let character = head.character_name.as_deref().filter(|name| !stem.contains(name));
    Conversation {
        title: Some(character.map_or_else(|| stem.clone(), |name| format!("{name}, {stem}"))),
        service: Some("sillytavern".to_owned()),
        created_at: head.create_date.as_ref().and_then(moment::read),
        branches: branches(nodes, last.as_deref()),
        ..Conversation::default()
    }
}

impl Message {
    /// What is shown.
    fn node(&self, number: usize, after: Option<&str>) -> Node {
        let id = id(number, self.swipe_id.unwrap_or(0));
        let sent_at = self.send_date.as_ref().and_then(moment::read);
        self.place(id, after, &self.mes, self.extra.as_ref(), sent_at)
    }

    /// What could have been said instead.
    fn swiped_away(&self, number: usize, after: Option<&str>) -> Vec<Node> {
        let shown = self.swipe_id.unwrap_or(0);
        let swipes = self.swipes.iter().flatten().enumerate();
        let away = swipes.filter(|(swipe, _)| *swipe != shown).filter_map(|(swipe, text)| {
            let about = self.swipe_info.as_ref().and_then(|about| about.get(swipe));
            let extra = about.and_then(|about| about.get("extra"));
            let sent_at = about.and_then(|about| about.get("send_date")).and_then(moment::read);
            Some(self.place(id(number, swipe), after, text.as_str()?, extra, sent_at))
        });
        away.collect()
    }

    fn place(
        &self,
        id: String,
        after: Option<&str>,
        text: &str,
        extra: Option<&Value>,
        sent_at: Option<Timestamp>,
    ) -> Node {
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
        Node { id, parent: after.map(str::to_owned), time: None, message }
    }
}

/// What a swipe is known by. The first has the name of its line, so that a
/// message stays what it is when it is swiped for the first time.
fn id(number: usize, swipe: usize) -> String {
    if swipe == 0 { number.to_string() } else { format!("{number}/{swipe}") }
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Body, ChatDraft};

    use super::*;
    use crate::glance::tests::glance;

    const HEAD: &str =
        r#"{"user_name":"Ada","character_name":"Orla","create_date":"2024-01-05@14h30m12s"}"#;
    const FIRST: &str = r#"{"name":"Orla","is_user":false,"send_date":"January 5, 2024 2:30pm","mes":"Hello.","extra":{}}"#;
    const SECOND: &str = r#"{"name":"Ada","is_user":true,"send_date":1704465072000,"mes":"Rye?"}"#;
    const THIRD: &str = r#"{"name":"Orla","is_user":false,"mes":"Yes.","swipe_id":1,"swipes":["No.","Yes."],
        "swipe_info":[{"extra":{"model":"one"}},{}],"extra":{"model":"two"}}"#;

    fn read(name: &str, lines: &[&str]) -> (Vec<ChatDraft>, Vec<Problem>) {
        let text = lines.iter().map(|line| line.replace('\n', " ") + "\n").collect::<String>();
        let reading = SillyTavern.read(&SourceFile::example(name, text)).unwrap();
        let chats = reading.drafts.into_iter().map(|draft| match draft.body {
            Body::Chat(chat) => chat,
            _ => panic!("no chat"),
        });
        (chats.collect(), reading.problems)
    }

    #[test]
    fn a_chat_keeps_names_times_and_models() {
        let (chats, problems) = read("/Orla - 1.jsonl", &[HEAD, FIRST, SECOND, THIRD]);
        assert!(problems.is_empty());
        let chat = &chats[0];
        assert_eq!(chat.title.as_deref(), Some("Orla - 1"));
        assert_eq!(chat.created_at, Timestamp::parse("2024-01-05T14:30:12Z").ok());
        let said: Vec<_> =
            chat.messages.iter().map(|it| (it.sender.as_str(), it.content.as_str())).collect();
        assert_eq!(said, [("Orla", "Hello."), ("Ada", "Rye?"), ("Orla", "Yes.")]);
        assert_eq!(chat.messages[0].sent_at, Timestamp::parse("2024-01-05T14:30:00Z").ok());
        assert_eq!(chat.messages[1].sent_at, Timestamp::parse("2024-01-05T14:31:12Z").ok());
        assert_eq!(chat.messages[2].model.as_deref(), Some("two"));
    }

    #[test]
    fn what_was_swiped_away_is_a_branch() {
        let (chats, _) = read("/1.jsonl", &[HEAD, FIRST, SECOND, THIRD]);
        assert_eq!(chats.len(), 2);
        assert_eq!(chats[1].title.as_deref(), Some("Orla, 1 (branch 2)"));
        assert_eq!(chats[1].fork.as_ref().unwrap().after.as_deref(), Some("3"));
        let message = &chats[1].messages[0];
        assert_eq!((message.content.as_str(), message.model.as_deref()), ("No.", Some("one")));
    }

    #[test]
    fn a_broken_line_is_named_and_the_rest_goes_in() {
        let (chats, problems) = read("/1.jsonl", &[HEAD, "{", FIRST, r#"{"x": 1}"#, "", "7"]);
        assert_eq!(chats[0].messages.len(), 1);
        let places: Vec<_> = problems.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(places, ["line 2", "line 4", "line 6"]);
    }

    #[test]
    fn such_a_chat_is_known_by_its_fields() {
        for text in [HEAD, FIRST] {
            assert_eq!(SillyTavern.recognise(&glance("a.jsonl", text)), Fit::Content);
        }
        assert_eq!(SillyTavern.recognise(&glance("a.jsonl", r#"{"mes": 1}"#)), Fit::No);
    }
}
