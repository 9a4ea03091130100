//! Counts the bytes of responses that their clients have not accepted yet.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use actix_web::{
    Error, HttpMessage as _,
    body::{BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    middleware::Next,
    web::{self, Bytes},
};
use vademecum_core::auth::Principal;
use vademecum_mcp::InFlightBytes;

use super::{ServerState, credentials::AuthenticatedCaller};

/// Number of bytes that a connection takes at once. What it has taken is no longer counted.
const MAX_CHUNK_BYTES: usize = 32 << 10;

/// The user who is logged in to the pages, as an extension of a request.
#[derive(Clone, Debug)]
pub(crate) struct PageUser(pub(crate) Principal);

/// Middleware that counts the body of a response as bytes in flight of the caller, until the client
/// has accepted it.
pub(crate) async fn count_reply(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let response = next.call(request).await?;
    let in_flight = count_for_user(&response);
    Ok(response.map_body(|_, body| {
        let in_flight = match body.size() {
            BodySize::Sized(size) => {
                in_flight.map(|it| it.for_reply(usize::try_from(size).unwrap_or(usize::MAX)))
            }
            // A stream counts its own messages.
            BodySize::None | BodySize::Stream => None,
        };
        CountedBody { body: body.boxed(), rest: Bytes::new(), _in_flight: in_flight }
    }))
}

fn count_for_user(response: &ServiceResponse<impl MessageBody>) -> Option<InFlightBytes> {
    let state = response.request().app_data::<web::Data<ServerState>>()?;
    let extensions = response.request().extensions();
    let caller = extensions.get::<AuthenticatedCaller>().map(AuthenticatedCaller::principal);
    let user = caller.or_else(|| extensions.get::<PageUser>().map(|PageUser(user)| user))?;
    Some(state.service.bytes_in_flight(user))
}

/// A body that is passed on in parts, so that it is counted until all but the last are accepted.
struct CountedBody {
    body: BoxBody,
    /// The rest of the last part of `body`.
    rest: Bytes,
    _in_flight: Option<InFlightBytes>,
}

impl MessageBody for CountedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(cx)) {
                Some(Ok(bytes)) => self.rest = bytes,
                ended => return Poll::Ready(ended),
            }
        }
        let length = self.rest.len().min(MAX_CHUNK_BYTES);
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_fn;

    use super::*;

    #[actix::test]
    async fn body_is_passed_on_in_parts() {
        let text = "x".repeat(MAX_CHUNK_BYTES * 2 + 1);
        let body = BoxBody::new(text.clone());
        let mut body = CountedBody { body, rest: Bytes::new(), _in_flight: None };
        assert!(matches!(body.size(), BodySize::Sized(size) if size == text.len() as u64));
        let mut parts = Vec::new();
        while let Some(part) = poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await {
            parts.push(part.unwrap());
        }
        assert_eq!(parts.iter().map(Bytes::len).collect::<Vec<_>>(), [32 << 10, 32 << 10, 1]);
        assert_eq!(parts.concat(), text.as_bytes());
    }
}
