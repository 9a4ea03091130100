//! Reading of request bodies, which counts their bytes in flight.

use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    error::PayloadError,
    http::StatusCode,
    web::{self, BytesMut},
};
use futures_util::StreamExt as _;
use vademecum_mcp::{Failure, InFlightBytes, Reply};

use super::{
    ServerState,
    counted_reply::PageUser,
    credentials::AuthenticatedCaller,
    http::{error_response, reply_response},
};

/// A complete body.
#[derive(Debug)]
pub(crate) struct RequestBody {
    pub(crate) bytes: BytesMut,
    /// Bytes in flight; `None` if the caller is not authenticated. Such bodies are short.
    pub(crate) in_flight: Option<InFlightBytes>,
}

/// Problem of a body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    /// The body is longer than this number of bytes.
    #[error("the body is longer than {0} bytes")]
    TooLong(usize),
    /// The body exceeds the bytes in flight of the user or of the server.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The body did not arrive.
    #[error("the body did not arrive: {0}")]
    Transfer(#[from] PayloadError),
}

impl BodyError {
    /// Returns the status of the response.
    pub(crate) fn status(&self, state: &ServerState) -> StatusCode {
        match self {
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Refused(failure) => reply_response(Reply::refusal(failure), state).status(),
            Self::Transfer(_) => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a body of at most `max_bytes`. `in_flight` counts its memory.
pub(crate) async fn collect_body(
    mut body: web::Payload,
    max_bytes: usize,
    in_flight: &mut Option<InFlightBytes>,
) -> Result<BytesMut, BodyError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk?;
        if chunk.len() > max_bytes - bytes.len() {
            return Err(BodyError::TooLong(max_bytes));
        }
        bytes.extend_from_slice(&chunk);
        if let Some(in_flight) = in_flight {
            in_flight.try_resize(bytes.capacity()).map_err(BodyError::Refused)?;
        }
    }
    Ok(bytes)
}

/// Returns an empty count of the bytes in flight of an authenticated caller, or of the user of a page.
pub(crate) fn count_for_caller(
    request: &HttpRequest,
    state: &ServerState,
) -> Option<InFlightBytes> {
    let extensions = request.extensions();
    let caller = extensions.get::<AuthenticatedCaller>().map(AuthenticatedCaller::principal);
    let user = caller.or_else(|| extensions.get::<PageUser>().map(|PageUser(user)| user))?;
    Some(state.service.bytes_in_flight(user))
}

/// Reads a body of at most `max_bytes` within the body timeout, or returns the response that
/// refuses it.
pub(crate) async fn read_body(
    request: &HttpRequest,
    body: web::Payload,
    state: &ServerState,
    max_bytes: usize,
) -> Result<RequestBody, HttpResponse> {
    let mut in_flight = count_for_caller(request, state);
    let limit = state.server.body_timeout();
    let body = collect_body(body, max_bytes, &mut in_flight);
    match tokio::time::timeout(limit, body).await {
        Ok(Ok(bytes)) => Ok(RequestBody { bytes, in_flight }),
        Ok(Err(BodyError::Refused(failure))) => {
            Err(reply_response(Reply::refusal(&failure), state))
        }
        Ok(Err(error)) => Err(error_response(error.status(state), &error.to_string())),
        Err(_) => {
            let problem = format!(
                "the body did not arrive in {} s: send it at once, or set server.body_seconds",
                limit.as_secs()
            );
            Err(error_response(StatusCode::REQUEST_TIMEOUT, &problem))
        }
    }
}
