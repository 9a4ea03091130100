//! Reading of messages that are refused for their headers, so that the answer can carry the id of the
//! request.

use std::time::Duration;

use actix_web::{
    HttpMessage as _,
    dev::ServiceRequest,
    http::{Method, header},
};
use futures_util::StreamExt as _;

use super::wire_names::MCP_PATH;

/// Maximum size of the message of a caller who is not admitted, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// Maximum time in which it must arrive.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Reads the body of a message that is refused. Returns an empty text if the request has none, or if
/// the body is not complete within the limits.
pub(crate) async fn read_refused_message(request: &mut ServiceRequest) -> String {
    let is_message = request.method() == Method::POST && request.path() == MCP_PATH;
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    if !is_message || length.is_some_and(|length| length > MAX_BYTES) {
        return String::new();
    }
    let mut body = request.take_payload();
    let read = async {
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.ok()?;
            if chunk.len() > MAX_BYTES - bytes.len() {
                return None;
            }
            bytes.extend_from_slice(&chunk);
        }
        String::from_utf8(bytes).ok()
    };
    tokio::time::timeout(MAX_WAIT, read).await.ok().flatten().unwrap_or_default()
}
