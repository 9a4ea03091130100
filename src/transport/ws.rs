//! A WebSocket: the same messages, one to a text frame.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, http::header, rt, web};
use actix_ws::{AggregatedMessage, CloseCode, CloseReason, ProtocolError};
use futures_util::StreamExt;
use tokio::sync::Semaphore;

use super::{Door, credentials::Admitted, query::peer};
use crate::mcp::Peer;

/// The subprotocol.
const PROTOCOL: &str = "mcp";

/// Opens a WebSocket.
pub(crate) async fn open(
    request: HttpRequest,
    body: web::Payload,
    door: web::Data<Door>,
) -> Result<HttpResponse, actix_web::Error> {
    let offered = request.headers().get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let mut names = offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .peekable();
    if names.peek().is_some() && !names.any(|name| name == PROTOCOL) {
        return Err(actix_web::error::ErrorBadRequest("the subprotocol here is `mcp`"));
    }
    let mut peer = peer(&request).map_err(actix_web::error::ErrorBadRequest)?;
    let admitted = request.extensions().get::<Admitted>().cloned();
    let admitted = admitted.ok_or_else(|| actix_web::error::ErrorUnauthorized("who are you?"))?;
    let own = peer.session.is_none();
    let session = peer.session.unwrap_or_else(|| door.service.connect(&peer.principal));
    if !door.service.knows(&session, &peer.principal) {
        return Err(actix_web::error::ErrorNotFound("this session is over or was never opened"));
    }
    peer.session = Some(session);
    let (response, socket, stream) = actix_ws::handle_with_protocols(&request, body, &[PROTOCOL])?;
    let longest = door.server.max_message_bytes.get();
    let stream =
        stream.max_frame_size(longest).aggregate_continuations().max_continuation_size(longest);
    rt::spawn(async move {
        let reason = converse(&door, &peer, &admitted, socket.clone(), stream).await;
        if let (true, Some(session)) = (own, &peer.session) {
            door.service.end(session, &peer.principal);
        }
        // The other side may have gone first.
        drop(socket.close(reason).await);
    });
    Ok(response)
}

/// Answers messages until one side hangs up; says why we do.
async fn converse(
    door: &web::Data<Door>,
    peer: &Peer,
    admitted: &Admitted,
    mut socket: actix_ws::Session,
    mut stream: actix_ws::AggregatedMessageStream,
) -> Option<CloseReason> {
    let calls = usize::try_from(door.concurrent_calls.get()).unwrap_or(1);
    let calls = Arc::new(Semaphore::new(calls));
    while let Some(message) = stream.next().await {
        match message {
            Ok(AggregatedMessage::Text(text)) => {
                // A key may have been revoked since the socket was opened.
                if let Err(refusal) = admitted.again(door).await {
                    return Some((CloseCode::Policy, refusal.to_string()).into());
                }
                // Waiting here is what holds back a client that is too fast.
                let permit = Arc::clone(&calls).acquire_owned().await.ok()?;
                let (door, peer, mut socket) = (door.clone(), peer.clone(), socket.clone());
                rt::spawn(async move {
                    if let Some(answer) = door.service.handle(&peer, &text).await.message {
                        // Nobody is left to be told if the socket is closed.
                        drop(socket.text(answer).await);
                    }
                    drop(permit);
                });
            }
            Ok(AggregatedMessage::Ping(payload)) => socket.pong(&payload).await.ok()?,
            Ok(AggregatedMessage::Pong(_)) => {}
            Ok(AggregatedMessage::Binary(_)) => {
                return Some((CloseCode::Unsupported, "send text frames").into());
            }
            Ok(AggregatedMessage::Close(reason)) => return reason,
            Err(ProtocolError::Overflow) => {
                return Some((CloseCode::Size, "the message is too long").into());
            }
            Err(error) => {
                tracing::debug!(%error, "a WebSocket broke");
                return Some((CloseCode::Protocol, "not a WebSocket message").into());
            }
        }
    }
    None
}
