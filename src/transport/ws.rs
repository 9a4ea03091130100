//! A WebSocket: the same messages, one to a text frame.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, http::header, rt, web};
use actix_ws::{CloseCode, CloseReason, Message, MessageStream, ProtocolError};
use futures_util::StreamExt;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use super::{
    Door, connection::Outflow, credentials::Admitted, fragments::Fragments, http, query::peer,
    talk::Talk,
};

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
    let held = match door.service.hold(&peer.principal) {
        Ok(held) => held,
        Err(refused) => return Ok(http::reply(refused, &door)),
    };
    let Some((talk, out)) = Talk::begin(&door, peer) else {
        return Err(actix_web::error::ErrorNotFound("this session is over or was never opened"));
    };
    let (response, socket, stream) = actix_ws::handle_with_protocols(&request, body, &[PROTOCOL])?;
    let longest = door.server.max_message_bytes.get();
    let stream = stream.max_frame_size(longest);
    let outflow = request.conn_data::<Arc<Outflow>>().cloned();
    let counted = door.monitor.metrics().socket();
    rt::spawn(async move {
        let (enough, ended) = oneshot::channel();
        let mut writer = rt::spawn(write(socket.clone(), out, ended, outflow));
        let reason = converse(&door, talk, &admitted, socket.clone(), stream).await;
        // What was answered goes out first, if the other side still takes it.
        let _ = enough.send(());
        if timeout(door.server.grace(), &mut writer).await.is_err() {
            writer.abort();
        }
        // The other side may have gone first.
        drop(timeout(door.server.grace(), socket.close(reason)).await);
        drop((held, counted));
    });
    Ok(response)
}

/// Sends what goes out until there is no more.
async fn write(
    mut socket: actix_ws::Session,
    mut out: mpsc::Receiver<String>,
    mut enough: oneshot::Receiver<()>,
    outflow: Option<Arc<Outflow>>,
) {
    let mut sent = 0;
    loop {
        let message = tokio::select! {
            biased;
            message = out.recv() => message,
            _ = &mut enough => return,
        };
        let Some(message) = message else { return };
        // A client that reads slowly finds little waiting, however long each is.
        if let Some(outflow) = &outflow {
            outflow.room(&mut sent).await;
        }
        sent += u64::try_from(message.len()).unwrap_or(0);
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
    mut stream: MessageStream,
) -> Option<CloseReason> {
    let keep_alive = door.server.keep_alive();
    let mut signs = interval_at(Instant::now() + keep_alive, keep_alive);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut fragments = Fragments::new(door.server.max_message_bytes.get());
    let mut unanswered = 0;
    loop {
        let message = tokio::select! {
            message = stream.next() => message?,
            () = door.service.closed() => {
                // What was begun is answered, if that does not take long.
                drop(timeout(door.server.grace(), talk.finish()).await);
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
        let text = match message {
            Ok(Message::Text(text)) => text.to_string(),
            Ok(Message::Continuation(piece)) => match fragments.add(piece) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(reason) => return Some(reason.into()),
            },
            Ok(Message::Ping(payload)) => {
                socket.pong(&payload).await.ok()?;
                continue;
            }
            Ok(Message::Pong(_) | Message::Nop) => continue,
            Ok(Message::Binary(_)) => {
                return Some((CloseCode::Unsupported, "send text frames").into());
            }
            Ok(Message::Close(reason)) => return reason,
            Err(ProtocolError::Overflow) => {
                return Some((CloseCode::Size, "the message is too long").into());
            }
            Err(error) => {
                tracing::debug!(%error, "a WebSocket broke");
                return Some((CloseCode::Protocol, "not a WebSocket message").into());
            }
        };
        // A key may have been revoked since the socket was opened.
        if let Err(refusal) = admitted.again(door).await {
            return Some((CloseCode::Policy, refusal.to_string()).into());
        }
        // Waiting here is what holds back a client that is too fast.
        tokio::select! {
            () = talk.hear(text) => {}
            () = door.service.closed() => {}
        }
    }
}
