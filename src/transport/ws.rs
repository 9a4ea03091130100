//! A WebSocket: the same messages, one to a text frame.

use actix_web::{HttpMessage, HttpRequest, HttpResponse, http::header, rt, web};
use actix_ws::{AggregatedMessage, CloseCode, CloseReason, ProtocolError};
use futures_util::StreamExt;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at},
};

use super::{Door, credentials::Admitted, query::peer, talk::Talk};

/// The subprotocol.
const PROTOCOL: &str = "mcp";
/// Signs of life that may go unanswered.
const SIGNS: u32 = 3;

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
    let peer = peer(&request).map_err(actix_web::error::ErrorBadRequest)?;
    let admitted = request.extensions().get::<Admitted>().cloned();
    let admitted = admitted.ok_or_else(|| actix_web::error::ErrorUnauthorized("who are you?"))?;
    let Some((talk, out)) = Talk::begin(&door, peer) else {
        return Err(actix_web::error::ErrorNotFound("this session is over or was never opened"));
    };
    let (response, socket, stream) = actix_ws::handle_with_protocols(&request, body, &[PROTOCOL])?;
    let longest = door.server.max_message_bytes.get();
    let stream =
        stream.max_frame_size(longest).aggregate_continuations().max_continuation_size(longest);
    let counted = door.monitor.metrics().socket();
    rt::spawn(async move {
        let writer = rt::spawn(write(socket.clone(), out));
        let reason = converse(&door, talk, &admitted, socket.clone(), stream).await;
        // The other side may have gone first.
        drop(socket.close(reason).await);
        writer.abort();
        drop(counted);
    });
    Ok(response)
}

/// Sends what goes out.
async fn write(mut socket: actix_ws::Session, mut out: mpsc::Receiver<String>) {
    while let Some(message) = out.recv().await {
        if socket.text(message).await.is_err() {
            return;
        }
    }
}

/// Answers messages until one side hangs up; says why we do.
async fn converse(
    door: &Door,
    mut talk: Talk,
    admitted: &Admitted,
    mut socket: actix_ws::Session,
    mut stream: actix_ws::AggregatedMessageStream,
) -> Option<CloseReason> {
    let keep_alive = door.server.keep_alive();
    let mut signs = interval_at(Instant::now() + keep_alive, keep_alive);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unanswered = 0;
    loop {
        let message = tokio::select! {
            message = stream.next() => message?,
            () = door.service.closed() => {
                return Some((CloseCode::Away, "the server is stopping").into());
            }
            _ = signs.tick() => {
                if unanswered >= SIGNS {
                    return Some((CloseCode::Away, "no sign of life").into());
                }
                unanswered += 1;
                // News goes out without a message that came in.
                if let Err(refusal) = admitted.again(door).await {
                    return Some((CloseCode::Policy, refusal.to_string()).into());
                }
                socket.ping(b"").await.ok()?;
                continue;
            }
        };
        unanswered = 0;
        match message {
            Ok(AggregatedMessage::Text(text)) => {
                // A key may have been revoked since the socket was opened.
                if let Err(refusal) = admitted.again(door).await {
                    return Some((CloseCode::Policy, refusal.to_string()).into());
                }
                // Waiting here is what holds back a client that is too fast.
                talk.hear(text.to_string()).await;
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
}
