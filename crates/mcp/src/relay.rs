//! The messages that a relay between one client and a server remembers, so that a server that ends
//! costs the client no session, and no request is answered twice.
//!
//! A request without a reply is never sent again by itself: it may have changed something. Only the
//! messages that prepare a session are.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    iter,
};

use serde_json::{Value, json, value::RawValue};

use crate::{
    message::{Failure, jsonrpc, jsonrpc::Message, jsonrpc::ParsedInput},
    revision::ProtocolVersion,
};

/// Maximum number of messages that prepare a session; further subscriptions are not sent again.
const MAX_PREPARING_MESSAGES: usize = 1_024;
/// Message for a request whose server ended.
const SERVER_ENDED: &str = "the server ended before it answered, and may have carried this out: \
    look before you repeat a change";

/// State of a relay: the requests without a reply, and the messages that prepare a further session.
#[derive(Debug, Default)]
pub struct RelayState {
    /// Number of the server, from 0.
    server: u64,
    /// Ids of the requests without a reply, as JSON, each with their number. A client may use an id again
    /// before it has the reply.
    pending: BTreeMap<String, usize>,
    /// Messages that prepare a session, in order.
    preparing: Vec<PreparingMessage>,
    /// Ids of requests that were sent again, and whose reply the client has.
    repeated: Vec<String>,
    /// Ids of questions of the server that the client has not answered.
    questions: BTreeSet<String>,
}

#[derive(Debug)]
struct PreparingMessage {
    /// Method, and what it is about; a later message replaces one with the same key.
    key: String,
    /// Id of a request, as JSON.
    id: Option<String>,
    /// Whether the client has the reply to a request.
    is_answered: bool,
    text: String,
}

impl RelayState {
    /// Takes a message of the client. Returns the text for the server; `None` if it answers a question
    /// of a server that has ended.
    pub fn client_message<'a>(&mut self, text: &'a str) -> Option<Cow<'a, str>> {
        match jsonrpc::parse_input(text) {
            Ok(ParsedInput::Single(Message::Response { id, .. })) => {
                self.answer(text, id).map(Cow::Owned)
            }
            Ok(ParsedInput::Single(message)) => {
                self.note_client_message(&message, text);
                Some(text.into())
            }
            Ok(ParsedInput::Batch(messages)) => {
                for message in
                    messages.iter().filter_map(|it| jsonrpc::parse_message(it.get()).ok())
                {
                    if let Message::Request(request) = message {
                        self.add_pending(request.id);
                    }
                }
                Some(text.into())
            }
            Err(failure) => {
                // The server answers it with an error.
                failure.id.into_iter().for_each(|id| self.add_pending(id));
                Some(text.into())
            }
        }
    }

    /// Takes a message of the server. Returns the text for the client; `None` for a reply that the
    /// client has, or that it did not ask for.
    pub fn server_message<'a>(&mut self, text: &'a str) -> Option<Cow<'a, str>> {
        match jsonrpc::parse_input(text) {
            Ok(ParsedInput::Single(Message::Response { id, .. })) => {
                let id = id.get();
                if let Some(at) = self.repeated.iter().position(|it| it == id) {
                    self.repeated.remove(at);
                    return None;
                }
                let is_first =
                    |it: &&mut PreparingMessage| !it.is_answered && it.id.as_deref() == Some(id);
                if let Some(message) = self.preparing.iter_mut().find(is_first) {
                    message.is_answered = true;
                }
                self.remove_pending(id).then_some(text.into())
            }
            Ok(ParsedInput::Single(Message::Request(request))) => {
                // The next server counts its questions from the same number.
                let id = format!("{}-{}", self.server, request.id.get());
                self.questions.insert(id.clone());
                Some(Cow::Owned(with_id(text, json!(id))?))
            }
            Ok(ParsedInput::Batch(replies)) => {
                for reply in replies.iter().filter_map(|it| jsonrpc::parse_message(it.get()).ok()) {
                    if let Message::Response { id, .. } = reply {
                        self.remove_pending(id.get());
                    }
                }
                Some(text.into())
            }
            Ok(ParsedInput::Single(Message::Notification { .. })) | Err(_) => Some(text.into()),
        }
    }

    /// Notes that the server has ended. Returns messages for the client: an error for each request that
    /// was not answered, and the end of each question.
    pub fn server_ended(&mut self) -> Vec<String> {
        let is_repeated = |id: &String| {
            let mut unanswered = self.preparing.iter().filter(|message| !message.is_answered);
            unanswered.any(|message| message.id.as_ref() == Some(id))
        };
        let (repeated, lost): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.pending).into_iter().partition(|(id, _)| is_repeated(id));
        self.pending = repeated;
        let lost = lost.into_iter().flat_map(|(id, number)| iter::repeat_n(id, number));
        self.repeated.clear();
        let failure = Failure::internal_error(SERVER_ENDED);
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
        let errors = lost.filter_map(|id| {
            let id = RawValue::from_string(id).ok()?;
            Some(jsonrpc::error_response(Some(&id), code, &failure))
        });
        let questions = std::mem::take(&mut self.questions).into_iter().map(|id| {
            let params = json!({ "requestId": id, "reason": "the server ended" });
            jsonrpc::notification("notifications/cancelled", &params)
        });
        errors.chain(questions).collect()
    }

    /// Begins with a further server. Returns the messages that prepare its session, each with whether
    /// its reply must be awaited, which the client has.
    pub fn next_server(&mut self) -> Vec<(String, bool)> {
        self.server += 1;
        let answered = self.preparing.iter().filter(|message| message.is_answered);
        self.repeated = answered.filter_map(|message| message.id.clone()).collect();
        let messages = self.preparing.iter();
        messages.map(|message| (message.text.clone(), message.is_answered)).collect()
    }

    fn note_client_message(&mut self, message: &Message<'_>, text: &str) {
        let (method, params, id) = match message {
            Message::Request(request) => {
                let id = request.id.get().to_owned();
                self.add_pending(request.id);
                (&request.method, request.params, Some(id))
            }
            Message::Notification { method, params } => (method, *params, None),
            Message::Response { .. } => return,
        };
        let params = params.map(RawValue::get).unwrap_or_default();
        let key = match method.as_ref() {
            "initialize" | "notifications/initialized" | "logging/setLevel" => method.to_string(),
            "resources/subscribe" => format!("subscribe {params}"),
            "resources/unsubscribe" => {
                let ended = format!("subscribe {params}");
                self.preparing.retain(|message| message.key != ended);
                return;
            }
            "notifications/cancelled" => {
                let params: Value = serde_json::from_str(params).unwrap_or_default();
                self.remove_pending(&params["requestId"].to_string());
                return;
            }
            _ => return,
        };
        self.preparing.retain(|message| message.key != key);
        if self.preparing.len() < MAX_PREPARING_MESSAGES {
            self.preparing.push(PreparingMessage {
                key,
                id,
                is_answered: false,
                text: text.to_owned(),
            });
        }
    }

    fn add_pending(&mut self, id: &RawValue) {
        *self.pending.entry(id.get().to_owned()).or_default() += 1;
    }

    /// Removes one request with an id. Returns whether there was one.
    fn remove_pending(&mut self, id: &str) -> bool {
        let Some(number) = self.pending.get_mut(id) else { return false };
        *number -= 1;
        if *number == 0 {
            self.pending.remove(id);
        }
        true
    }

    /// Returns the answer to a question with the id of the server, if that server still runs.
    fn answer(&mut self, text: &str, id: &RawValue) -> Option<String> {
        let id: String = serde_json::from_str(id.get()).ok()?;
        if !self.questions.remove(&id) {
            return None;
        }
        let (_, own) = id.split_once('-')?;
        with_id(text, serde_json::from_str(own).ok()?)
    }
}

/// Returns a message with another id.
fn with_id(text: &str, id: Value) -> Option<String> {
    let mut message: Value = serde_json::from_str(text).ok()?;
    message.as_object_mut()?.insert("id".to_owned(), id);
    Some(jsonrpc::to_json(&message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call"}"#;
    const REPLY: &str = r#"{"jsonrpc":"2.0","id":"a","result":{}}"#;

    #[test]
    fn unanswered_request_gets_one_error() {
        let mut state = RelayState::default();
        assert_eq!(state.client_message(CALL).as_deref(), Some(CALL));
        let [error] = &state.server_ended()[..] else { panic!("one error") };
        assert!(error.contains(r#""id":"a""#) && error.contains("-32603"), "{error}");
        assert!(state.server_ended().is_empty());
        // A late reply does not answer it again.
        assert_eq!(state.server_message(REPLY), None);
        state.client_message(CALL);
        assert_eq!(state.server_message(REPLY).as_deref(), Some(REPLY));
        assert_eq!(state.server_message(REPLY), None);
        assert!(state.server_ended().is_empty());
    }

    #[test]
    fn requests_with_same_id_get_a_reply_each() {
        let mut state = RelayState::default();
        for _ in 0..3 {
            state.client_message(CALL);
        }
        assert_eq!(state.server_message(REPLY).as_deref(), Some(REPLY));
        assert_eq!(state.server_ended().len(), 2);
        assert_eq!(state.server_message(REPLY), None);
    }

    #[test]
    fn session_is_prepared_again_without_second_reply() {
        let mut state = RelayState::default();
        let text = |id: u8, method: &str, uri: &str| {
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "uri": uri } })
                .to_string()
        };
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = r#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
        state.client_message(INITIALIZE);
        assert!(state.server_message(answer).is_some());
        state.client_message(initialized);
        let subscribe = |id, uri| text(id, "resources/subscribe", uri);
        for message in [
            subscribe(1, "notes://1"),
            subscribe(2, "notes://2"),
            text(3, "resources/unsubscribe", "notes://1"),
        ] {
            state.client_message(&message);
        }
        // The subscription has no reply yet, which the next server gives.
        assert_eq!(state.server_ended().len(), 2);
        let prepared = [
            (INITIALIZE.to_owned(), true),
            (initialized.to_owned(), false),
            (subscribe(2, "notes://2"), false),
        ];
        assert_eq!(state.next_server(), prepared);
        assert_eq!(state.server_message(answer), None);
        assert!(state.server_message(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#).is_some());
    }

    #[test]
    fn initialize_without_reply_is_answered_by_next_server() {
        let mut state = RelayState::default();
        state.client_message(INITIALIZE);
        assert!(state.server_ended().is_empty());
        assert_eq!(state.next_server(), [(INITIALIZE.to_owned(), false)]);
        assert!(state.server_message(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#).is_some());
    }

    #[test]
    fn answer_to_ended_server_reaches_no_other() {
        let mut state = RelayState::default();
        let question = r#"{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{}}"#;
        let answer = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string();
        assert!(state.server_message(question).unwrap().contains(r#""id":"0-0""#));
        let [cancelled] = &state.server_ended()[..] else { panic!("one question") };
        assert!(cancelled.contains("notifications/cancelled") && cancelled.contains("0-0"));
        state.next_server();
        assert!(state.server_message(question).unwrap().contains(r#""id":"1-0""#));
        assert_eq!(state.client_message(&answer("0-0")), None);
        assert!(state.client_message(&answer("1-0")).unwrap().contains(r#""id":0"#));
        assert_eq!(state.client_message(&answer("1-0")), None, "it was answered");
    }

    #[test]
    fn batches_and_broken_messages_pass() {
        let mut state = RelayState::default();
        let batch = format!("[{CALL},{INITIALIZE}]");
        assert_eq!(state.client_message(&batch).as_deref(), Some(&*batch));
        assert_eq!(state.client_message("{ broken").as_deref(), Some("{ broken"));
        let replies = format!("[{REPLY}]");
        assert_eq!(state.server_message(&replies).as_deref(), Some(&*replies));
        assert_eq!(state.server_ended().len(), 1);
    }
}
