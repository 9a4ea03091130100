//! Exports of Slack: a ZIP archive with `users.json`, the lists of conversations, and a folder for
//! each with a file for every day.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use vademecum_model::{ChatDraft, MessageDraft, SourceName};

use super::{
    message::{file_label, message, quote},
    slack_text::to_markdown,
};
use crate::{
    archive::{PackedFile, has_extension},
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{list_at, parse_entry, split_entries, text_at},
    },
};

/// Lists of conversations: channels, private channels, groups of people, pairs of people.
const LISTS: [&str; 4] = ["channels.json", "groups.json", "mpims.json", "dms.json"];

/// Kinds of messages about the conversation itself.
const CHANGES: [&str; 8] = [
    "channel_join",
    "channel_leave",
    "group_join",
    "group_leave",
    "channel_archive",
    "channel_unarchive",
    "bot_add",
    "bot_remove",
];

/// Exports of Slack.
#[derive(Debug)]
pub(crate) struct Slack;

impl Format for Slack {
    fn id(&self) -> &'static str {
        "slack"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of Slack (the export's .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.packs("users.json") && LISTS.iter().any(|list| sample.packs(list))
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let files = input.unpack(|name| has_extension(name, &["json"]))?;
        let mut parsed = ParsedFormat::default();
        let list = |parsed: &mut ParsedFormat, ending: &str| -> Vec<Value> {
            let lists = files.iter().filter(|file| file_name(&file.name) == ending);
            lists.flat_map(|file| parse_list(parsed, file)).collect()
        };
        let people = list(&mut parsed, "users.json");
        let names: HashMap<String, String> = people.iter().map(person).collect();
        let known: BTreeMap<String, (String, String)> = LISTS
            .iter()
            .flat_map(|ending| list(&mut parsed, ending))
            .filter_map(|it| conversation(&it, &names))
            .collect();
        let mut days: BTreeMap<&str, Vec<&PackedFile>> = BTreeMap::new();
        for file in &files {
            if let Some((folder, _)) = file.name.rsplit_once('/').filter(|(_, day)| is_day(day)) {
                days.entry(file_name(folder)).or_default().push(file);
            }
        }
        let mut changes = 0;
        for (folder, files) in days {
            let values: Vec<Value> =
                files.iter().flat_map(|file| parse_list(&mut parsed, file)).collect();
            let (id, title) = match known.get(folder) {
                Some((id, title)) => (id.as_str(), title.clone()),
                None => (folder, folder.to_owned()),
            };
            let (messages, left_out) = read_messages(&values, &names);
            changes += left_out;
            let chat = ChatDraft {
                title: Some(title),
                service: Some("slack".to_owned()),
                messages,
                ..ChatDraft::default()
            };
            parsed.add_excerpt(format!("slack:{id}"), chat);
        }
        parsed.add_count(changes, "message", "they only say who joined or left");
        parsed.or_empty("it has no conversations")
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns `true` for the name of a file with the messages of one day.
fn is_day(name: &str) -> bool {
    name.len() == "2026-01-31.json".len() && name.starts_with(|next: char| next.is_ascii_digit())
}

/// Parses the entries of a list. One that is broken becomes a problem.
fn parse_list(parsed: &mut ParsedFormat, file: &PackedFile) -> Vec<Value> {
    let text = String::from_utf8_lossy(&file.bytes);
    let entries = match split_entries(&text) {
        Ok(entries) => entries,
        Err(error) => {
            parsed.add_problem(file.name.as_str(), error.to_string());
            return Vec::new();
        }
    };
    let mut values = Vec::with_capacity(entries.len());
    for entry in entries {
        match parse_entry(entry.get()) {
            Ok(value) => values.push(value),
            Err(reason) => parsed.add_problem(file.name.as_str(), reason),
        }
    }
    values
}

/// Returns the identifier and the name of a person.
fn person(value: &Value) -> (String, String) {
    let paths = ["/profile/real_name", "/real_name", "/profile/display_name", "/name"];
    let name = paths.map(|path| text_at(value, path)).into_iter().find(|name| !name.is_empty());
    (text_at(value, "/id").to_owned(), name.unwrap_or_default().to_owned())
}

/// Returns the folder of a conversation, its identifier and its title. The folder of two people is
/// named by the identifier.
fn conversation(
    value: &Value,
    names: &HashMap<String, String>,
) -> Option<(String, (String, String))> {
    let (id, name) = (text_at(value, "/id"), text_at(value, "/name"));
    let folder = if name.is_empty() { id } else { name };
    let members = list_at(value, "/members").iter().filter_map(Value::as_str);
    let members: Vec<&str> = members.filter_map(|id| names.get(id).map(String::as_str)).collect();
    let is_group = name.is_empty() || name.starts_with("mpdm-");
    let title =
        if is_group && !members.is_empty() { members.join(", ") } else { format!("#{folder}") };
    (!folder.is_empty()).then(|| (folder.to_owned(), (id.to_owned(), title)))
}

/// Returns the messages in their order, and the number of those that only say who joined or left.
fn read_messages(values: &[Value], names: &HashMap<String, String>) -> (Vec<MessageDraft>, usize) {
    let sender = |value: &Value| {
        let id = text_at(value, "/user");
        let known = names.get(id).map(String::as_str).filter(|name| !name.is_empty());
        let paths = ["/user_profile/real_name", "/username", "/bot_profile/name", "/user"];
        let stated =
            || paths.map(|path| text_at(value, path)).into_iter().find(|it| !it.is_empty());
        known.or_else(stated).unwrap_or_default().to_owned()
    };
    let parents: HashMap<&str, &Value> = values.iter().map(|it| (text_at(it, "/ts"), it)).collect();
    let is_change = |value: &&Value| CHANGES.contains(&text_at(value, "/subtype"));
    let changes = values.iter().filter(is_change).count();
    let mut drafts: Vec<MessageDraft> = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !is_change(value)) {
        let (ts, thread) = (text_at(value, "/ts"), text_at(value, "/thread_ts"));
        let parent = parents.get(thread).filter(|_| thread != ts);
        let quoted = parent.map(|it| quote(&sender(it), &to_markdown(text_at(it, "/text"), names)));
        let mut parts = vec![quoted.unwrap_or_default()];
        parts.push(to_markdown(text_at(value, "/text"), names));
        for file in list_at(value, "/files").iter().chain(value.get("file")) {
            let name = ["/name", "/title"].map(|path| text_at(file, path));
            parts.extend(name.into_iter().find(|name| !name.is_empty()).map(file_label));
        }
        for attachment in list_at(value, "/attachments") {
            let paths = ["/title", "/text", "/fallback"].map(|path| text_at(attachment, path));
            let shown = paths.into_iter().take(2).filter(|text| !text.is_empty());
            let shown: Vec<_> = shown.map(|text| to_markdown(text, names)).collect();
            let fallback = || vec![to_markdown(paths[2], names)];
            parts.extend(if shown.is_empty() { fallback() } else { shown });
        }
        if value.get("edited").is_some() {
            parts.push("(edited)".to_owned());
        }
        drafts.push(message(ts.to_owned(), &sender(value), &parts, datetime::parse_text(ts)));
    }
    drafts.sort_by(|a, b| a.sent_at.cmp(&b.sent_at).then_with(|| a.origin.cmp(&b.origin)));
    (drafts, changes)
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    fn export() -> Vec<u8> {
        zip_archive(&[
            ("channels.json", br#"[{"id": "C1", "name": "rye", "members": ["U1", "U2"]}]"#),
            ("dms.json", br#"[{"id": "D1", "members": ["U1", "U2"]}]"#),
            (
                "users.json",
                br#"[{"id": "U1", "name": "ada", "profile": {"real_name": "Ada"}},
                     {"id": "U2", "name": "ben", "real_name": "Ben"}]"#,
            ),
            (
                "rye/2026-01-05.json",
                br#"[{"type": "message", "user": "U2", "text": "Yes, <@U1>.", "ts": "1767607260.1",
                      "thread_ts": "1767607200.0", "edited": {"user": "U2"},
                      "files": [{"name": "loaf.pdf"}]},
                     {"type": "message", "user": "U1", "text": "Rye &amp; oats?", "ts": "1767607200.0",
                      "thread_ts": "1767607200.0"},
                     {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1", "text": "x"}]"#,
            ),
            ("rye/2026-01-06.json", b"[{\"text\": "),
            ("D1/2026-01-05.json", br#"[{"username": "bot", "ts": "1767607200", "text": "",
                "attachments": [{"fallback": "A page."}]}]"#),
        ])
    }

    #[test]
    fn channel_keeps_names_threads_files_and_order() {
        assert!(detects(&Slack, "/export.zip", export()));
        let parsed = parse(&Slack, "/export.zip", export());
        let origins: Vec<_> = parsed.drafts.iter().map(|it| it.origin.as_str()).collect();
        assert_eq!(origins, ["slack:D1", "slack:C1"]);
        let chats = chats(&parsed);
        assert_eq!(chats[0].title.as_deref(), Some("Ada, Ben"));
        assert_eq!(lines(chats[0]), ["2026-01-05T10:00 bot: A page."]);
        assert_eq!(chats[1].title.as_deref(), Some("#rye"));
        assert_eq!(
            lines(chats[1]),
            [
                "2026-01-05T10:00 Ada: Rye & oats?",
                "2026-01-05T10:01:00.100Z Ben: > Ada: Rye & oats?\nYes, @Ada.\n[file: loaf.pdf]\n(edited)",
            ]
        );
        let places: Vec<_> = parsed.problems.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(places, ["rye/2026-01-06.json", "1 message"]);
    }

    #[test]
    fn export_without_conversations_is_rejected() {
        let empty = zip_archive(&[("users.json", b"[]"), ("channels.json", b"[]")]);
        assert!(try_parse(&Slack, "/a.zip", empty).is_err());
        assert!(try_parse(&Slack, "/a.zip", b"PK\x03\x04").is_err());
    }
}
