//! Files of questions about long conversations, as their authors deliver them: `locomo10.json` of
//! `LoCoMo` (<https://github.com/snap-research/locomo>) and the files of `LongMemEval`
//! (<https://github.com/xiaowu0162/LongMemEval>).

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    fs::File,
    io::{self, BufReader},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use super::judged_collection::{CorpusDocument, MessagePlace};

/// Sessions of one or two people, and questions about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryHistory {
    /// Sessions in the order of the file.
    pub sessions: Vec<MemorySession>,
    /// Questions whose answer is in a session.
    pub questions: Vec<MemoryQuestion>,
    /// Number of questions without a session that answers them. They measure nothing.
    pub unanswerable: usize,
}

/// A session of a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemorySession {
    /// Date as the file has it.
    pub date: String,
    /// Speaker and text of each turn.
    pub turns: Vec<(String, String)>,
}

/// A question about a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryQuestion {
    /// The question.
    pub text: String,
    /// Kind of the question.
    pub category: String,
    /// Positions of the sessions that answer it.
    pub evidence: BTreeSet<usize>,
}

/// Error of reading a file of questions about conversations.
#[derive(Debug, thiserror::Error)]
pub enum MemoryFileError {
    /// The file cannot be opened.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not an array of histories.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
}

/// Reads a file and passes its histories to `each`, one at a time, until it breaks: the largest file of
/// `LongMemEval` has 3 GB.
pub fn read_memory_file(
    path: &Path,
    each: impl FnMut(MemoryHistory) -> ControlFlow<()>,
) -> Result<(), MemoryFileError> {
    let opened = File::open(path);
    let file = opened.map_err(|source| MemoryFileError::Read { path: path.to_owned(), source })?;
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(file));
    let read = Histories(each).deserialize(&mut json);
    read.map_err(|source| MemoryFileError::Json { path: path.to_owned(), source })
}

struct Histories<F>(F);

impl<'de, F: FnMut(MemoryHistory) -> ControlFlow<()>> DeserializeSeed<'de> for Histories<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(MemoryHistory) -> ControlFlow<()>> Visitor<'de> for Histories<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of conversations with questions")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let mut is_read = true;
        while let Some(entry) = entries.next_element::<Value>()? {
            let history = parse_locomo(&entry).or_else(|| parse_longmemeval(&entry));
            let history = history.ok_or_else(|| {
                serde::de::Error::custom("an entry is neither of LoCoMo nor of LongMemEval")
            })?;
            is_read = is_read && (self.0)(history).is_continue();
        }
        Ok(())
    }
}

/// Parses a conversation of `LoCoMo`: numbered sessions, and questions with evidence such as `D3:12`.
fn parse_locomo(entry: &Value) -> Option<MemoryHistory> {
    let conversation = entry.get("conversation")?.as_object()?;
    let number = |name: &String| name.strip_prefix("session_")?.parse::<usize>().ok();
    let mut numbers: Vec<usize> = conversation.keys().filter_map(number).collect();
    numbers.sort_unstable();
    let session = |number: &usize| {
        let turns = conversation.get(&format!("session_{number}")).and_then(Value::as_array);
        let date = text(conversation.get(&format!("session_{number}_date_time")));
        MemorySession { date, turns: turns.into_iter().flatten().map(locomo_turn).collect() }
    };
    let sessions = numbers.iter().map(session).collect();
    let positions: HashMap<usize, usize> = numbers.iter().copied().zip(0..).collect();
    let mut history = MemoryHistory { sessions, ..MemoryHistory::default() };
    for question in entry.get("qa").and_then(Value::as_array).into_iter().flatten() {
        let places = question.get("evidence").and_then(Value::as_array).into_iter().flatten();
        let named = places.filter_map(Value::as_str).flat_map(evidence_sessions);
        let evidence = named.filter_map(|number| positions.get(&number).copied()).collect();
        let category = match question.get("category").and_then(Value::as_u64) {
            Some(1) => "multi-hop",
            Some(2) => "temporal",
            Some(3) => "inference",
            Some(4) => "single-hop",
            Some(5) => "adversarial",
            _ => "other",
        };
        history.add(text(question.get("question")), category, evidence);
    }
    Some(history)
}

/// Returns speaker and text of a turn, with the description of the picture that was shared.
fn locomo_turn(turn: &Value) -> (String, String) {
    let mut content = text(turn.get("text"));
    let caption = text(turn.get("blip_caption"));
    if !caption.is_empty() {
        content.push_str(" [picture: ");
        content.push_str(&caption);
        content.push(']');
    }
    (text(turn.get("speaker")), content)
}

/// Returns the numbers of the sessions in a note such as `D8:6; D9:17`.
fn evidence_sessions(note: &str) -> impl Iterator<Item = usize> {
    note.split('D').skip(1).filter_map(|rest| {
        let digits = rest.trim_start_matches(':');
        let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        digits.get(..end)?.parse().ok()
    })
}

/// Parses a question of `LongMemEval` with its history. Questions whose answer is not in the history,
/// with ids that end in `_abs`, have no evidence.
fn parse_longmemeval(entry: &Value) -> Option<MemoryHistory> {
    let list = |name: &str| entry.get(name).and_then(Value::as_array);
    let sessions = list("haystack_sessions")?;
    let dates = list("haystack_dates");
    let session = |(place, turns): (usize, &Value)| MemorySession {
        date: text(dates.and_then(|dates| dates.get(place))),
        turns: turns
            .as_array()
            .into_iter()
            .flatten()
            .map(|turn| (text(turn.get("role")), text(turn.get("content"))))
            .collect(),
    };
    let answers: Vec<&Value> = list("answer_session_ids").into_iter().flatten().collect();
    let ids = list("haystack_session_ids")?.iter().take(sessions.len());
    let is_absent = text(entry.get("question_id")).ends_with("_abs");
    let places = ids.enumerate().filter(|(_, id)| !is_absent && answers.contains(id));
    let evidence = places.map(|(place, _)| place).collect();
    let sessions = sessions.iter().enumerate().map(session).collect();
    let mut history = MemoryHistory { sessions, ..MemoryHistory::default() };
    history.add(text(entry.get("question")), &text(entry.get("question_type")), evidence);
    Some(history)
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl MemoryHistory {
    fn add(&mut self, text: String, category: &str, evidence: BTreeSet<usize>) {
        if evidence.is_empty() || text.trim().is_empty() {
            self.unanswerable += 1;
        } else {
            self.questions.push(MemoryQuestion { text, category: category.to_owned(), evidence });
        }
    }

    /// Returns each turn as a message of the conversation that is its session, with the position of
    /// that session. The title of the conversation is the date of the session.
    pub fn messages(&self) -> Vec<(usize, CorpusDocument)> {
        let sessions = self.sessions.iter().enumerate();
        let messages = sessions.flat_map(|(place, session)| {
            let turns = session.turns.iter().zip(1_u32..);
            turns.map(move |((speaker, text), turn)| {
                let message = MessagePlace {
                    conversation: format!("{place:05}"),
                    sender: speaker.clone(),
                    turn: Some(turn.into()),
                };
                let document = CorpusDocument {
                    id: format!("{place}:{turn}"),
                    title: session.date.clone(),
                    text: text.clone(),
                    message: Some(message),
                };
                (place, document)
            })
        });
        messages.collect()
    }

    /// Returns each session as one document.
    pub fn whole_sessions(&self) -> Vec<CorpusDocument> {
        let sessions = self.sessions.iter().enumerate();
        let document = |(place, session): (usize, &MemorySession)| {
            let lines = session.turns.iter().map(|(speaker, text)| format!("{speaker}: {text}\n"));
            CorpusDocument {
                id: place.to_string(),
                title: session.date.clone(),
                text: lines.collect(),
                message: None,
            }
        };
        sessions.map(document).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Vec<MemoryHistory>, MemoryFileError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json).unwrap();
        let mut read = Vec::new();
        read_memory_file(file.path(), |history| {
            read.push(history);
            ControlFlow::Continue(())
        })?;
        Ok(read)
    }

    #[test]
    fn locomo_is_read_as_delivered() {
        let file = r#"[{ "sample_id": "c", "conversation": {
            "speaker_a": "Ada", "session_10_date_time": "1 May", "session_2_date_time": "2 April",
            "session_10": [{ "speaker": "Ada", "dia_id": "D10:1", "text": "Rye." }],
            "session_2": [{ "speaker": "Bea", "text": "Look.", "blip_caption": "a loaf" }] },
            "qa": [
              { "question": "Who bakes?", "answer": 2022, "category": 1,
                "evidence": ["D10:1; D2:1", "D:2:4", "D99:1"] },
              { "question": "Nothing?", "category": 5, "evidence": [] }
            ] }]"#;
        let [history] = read(file).unwrap().try_into().unwrap();
        let turns: Vec<_> = history.sessions.iter().map(|it| it.turns[0].1.as_str()).collect();
        assert_eq!(turns, ["Look. [picture: a loaf]", "Rye."]);
        assert_eq!((history.questions.len(), history.unanswerable), (1, 1));
        let question = &history.questions[0];
        assert_eq!(question.category, "multi-hop");
        assert_eq!(question.evidence, BTreeSet::from([0, 1]));
        let messages = history.messages();
        assert_eq!((messages[1].0, messages[1].1.title.as_str()), (1, "1 May"));
    }

    #[test]
    fn longmemeval_is_read_as_delivered() {
        let entry = |id: &str| {
            format!(
                r#"{{ "question_id": "{id}", "question_type": "multi-session", "question": "When?",
                "answer": "x", "haystack_dates": ["d1", "d2"],
                "haystack_session_ids": ["s1", "answer_s2"], "answer_session_ids": ["answer_s2"],
                "haystack_sessions": [[], [{{ "role": "user", "content": "Now.",
                "has_answer": true }}]] }}"#
            )
        };
        let [found, absent] =
            read(&format!("[{}, {}]", entry("q"), entry("q_abs"))).unwrap().try_into().unwrap();
        assert_eq!(found.questions[0].evidence, BTreeSet::from([1]));
        assert_eq!(found.sessions[1].date, "d2");
        assert_eq!((absent.questions.len(), absent.unanswerable), (0, 1));
    }

    #[test]
    fn other_files_are_refused() {
        for json in ["{}", "[1]", "[{}]", "[{\"conversation\": {}}", "", "[[[["] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
