//! Messages of JSON-RPC and what every message shares.

mod error;
pub(crate) mod jsonrpc;
pub(crate) mod pagination;
mod plain_error;
mod reply_status;

pub use error::{Failure, FailureKind, InputRequired};
pub use plain_error::plain_json_error;
pub use reply_status::ReplyStatus;
