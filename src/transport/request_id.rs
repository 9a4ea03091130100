//! What a request is called: as the caller calls it, or by a name of our own. It goes
//! back with the answer, and stands in every line of the log that belongs to it.

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
};
use tracing::Instrument as _;

use vademecum_core::telemetry::RequestId;

/// The header that names a request, and its answer.
pub(crate) const REQUEST_ID: &str = "x-request-id";

/// Names a request, and answers under that name.
pub(crate) async fn name(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let mut said = request.headers().get_all(REQUEST_ID);
    let taken = match (said.next(), said.next()) {
        (Some(only), None) => only.to_str().ok().and_then(RequestId::taken),
        (None | Some(_), _) => None,
    };
    let id = taken.unwrap_or_else(RequestId::mint);
    let mut response = next.call(request).instrument(id.span()).await?;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HeaderName::from_static(REQUEST_ID), value);
    }
    Ok(response)
}
