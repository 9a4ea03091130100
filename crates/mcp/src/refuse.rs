//! Refusals of what is not even looked at.

use super::{
    Failure, Revision, Service,
    jsonrpc::{self, Incoming, Message},
};

impl Service {
    /// Refuses what could not be read at all.
    pub fn refuse(problem: &str) -> String {
        let failure = Failure::request(problem);
        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
        jsonrpc::failure(None, code, &failure)
    }

    /// Refuses a subscription on a connection that has as many as it may.
    pub fn refuse_subscription(text: &str, most: u32) -> Option<String> {
        let Ok(Incoming::One(Message::Request(request))) = jsonrpc::parse(text) else {
            return None;
        };
        let failure = Failure::subscribed(most);
        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
        Some(jsonrpc::failure(Some(request.id), code, &failure))
    }

    /// Refuses what came with wrong parameters beside the message.
    pub fn refuse_parameters(problem: &str) -> String {
        let failure = Failure::parameters(problem);
        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
        jsonrpc::failure(None, code, &failure)
    }
}
