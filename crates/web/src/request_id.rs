//! Request ids: taken from the caller or generated. The response returns the id, and every log line
//! of the request contains it.

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
};
use tracing::Instrument as _;
use vademecum_core::telemetry::RequestId;

/// Header with the request id, in requests and responses.
pub(crate) const REQUEST_ID_HEADER: &str = "x-request-id";

/// Middleware that assigns a request id and returns it in the response.
pub(crate) async fn assign_request_id(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let mut headers = request.headers().get_all(REQUEST_ID_HEADER);
    let taken = match (headers.next(), headers.next()) {
        (Some(only), None) => only.to_str().ok().and_then(RequestId::from_caller),
        (None | Some(_), _) => None,
    };
    let id = taken.unwrap_or_else(RequestId::generate);
    let mut response = next.call(request).instrument(id.span()).await?;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HeaderName::from_static(REQUEST_ID_HEADER), value);
    }
    Ok(response)
}
