//! WebSocket transport: one message per text frame.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, http::header, rt, web};
use actix_ws::{CloseCode, CloseReason, Message, MessageStream, ProtocolError};
use futures_util::StreamExt;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use super::{
    ServerState, connection::WriteProgress, connection_loop::ConnectionLoop,
    credentials::AuthenticatedCaller, fragments::FragmentBuffer, http, query::read_peer,
};

/// WebSocket subprotocol.
const SUBPROTOCOL: &str = "mcp";
/// Maximum number of unanswered pings.
const MAX_UNANSWERED_PINGS: u32 = 3;

/// Upgrades the request to a WebSocket. Fails if the client offers only other subprotocols.
pub(crate) async fn open_websocket(
    request: HttpRequest,
    body: web::Payload,
    server_state: web::Data<ServerState>,
) -> Result<HttpResponse, actix_web::Error> {
    let offered = request.headers().get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let mut names = offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .peekable();
    if names.peek().is_some() && !names.any(|name| name == SUBPROTOCOL) {
        return Err(actix_web::error::ErrorBadRequest("unsupported subprotocol; expected `mcp`"));
    }
    let peer = read_peer(&request, "websocket").map_err(actix_web::error::ErrorBadRequest)?;
    let admitted = request.extensions().get::<AuthenticatedCaller>().cloned();
    let admitted = admitted
        .ok_or_else(|| actix_web::error::ErrorUnauthorized("the request is not authenticated"))?;
    let held = match server_state.service.acquire_connection_permit(&peer.principal) {
        Ok(held) => held,
        Err(refused) => return Ok(http::reply_response(refused, &server_state)),
    };
    let Some((connection_loop, out)) = ConnectionLoop::start(&server_state, peer) else {
        return Err(actix_web::error::ErrorNotFound("this session is over or was never opened"));
    };
    let (response, socket, stream) =
        actix_ws::handle_with_protocols(&request, body, &[SUBPROTOCOL])?;
    let longest = server_state.server.max_message_bytes.get();
    let stream = stream.max_frame_size(longest);
    let outflow = request.conn_data::<Arc<WriteProgress>>().cloned();
    let counted = server_state.monitor.metrics().track_websocket();
    rt::spawn(async move {
        let (enough, ended) = oneshot::channel();
        let mut writer = rt::spawn(write_messages(socket.clone(), out, ended, outflow));
        let reason =
            run_connection(&server_state, connection_loop, &admitted, socket.clone(), stream).await;
        // Send pending replies first, if the client still reads them.
        let _ = enough.send(());
        if timeout(server_state.server.grace_period(), &mut writer).await.is_err() {
            writer.abort();
        }
        // The client may have closed the connection already.
        drop(timeout(server_state.server.grace_period(), socket.close(reason)).await);
        drop((held, counted));
    });
    Ok(response)
}

/// Writes outgoing messages until there are no more.
async fn write_messages(
    mut socket: actix_ws::Session,
    mut out: mpsc::Receiver<String>,
    mut enough: oneshot::Receiver<()>,
    outflow: Option<Arc<WriteProgress>>,
) {
    let mut sent = 0;
    loop {
        let message = tokio::select! {
            biased;
            message = out.recv() => message,
            _ = &mut enough => return,
        };
        let Some(message) = message else { return };
        // Limits unsent data in bytes, because a queue of messages says nothing about their size.
        if let Some(outflow) = &outflow {
            outflow.wait_for_room(&mut sent).await;
        }
        sent += u64::try_from(message.len()).unwrap_or(0);
        if socket.text(message).await.is_err() {
            return;
        }
    }
}

/// Processes messages until one side closes. Returns the close reason to send.
async fn run_connection(
    server_state: &ServerState,
    mut connection_loop: ConnectionLoop,
    admitted: &AuthenticatedCaller,
    mut socket: actix_ws::Session,
    mut stream: MessageStream,
) -> Option<CloseReason> {
    let keep_alive = server_state.server.keep_alive_interval();
    let mut signs = interval_at(Instant::now() + keep_alive, keep_alive);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut fragments = FragmentBuffer::new(server_state.server.max_message_bytes.get());
    let mut unanswered = 0;
    let mut ended_users = server_state.service.ended_users();
    loop {
        let message = tokio::select! {
            message = stream.next() => message?,
            () = server_state.service.wait_for_shutdown() => {
                // Pending requests are completed within the grace period.
                let idle = connection_loop.wait_until_idle();
                drop(timeout(server_state.server.grace_period(), idle).await);
                return Some((CloseCode::Away, "the server is stopping").into());
            }
            Ok(()) = ended_users.changed() => {
                if let Err(refusal) = admitted.revalidate(server_state).await {
                    return Some((CloseCode::Policy, refusal.to_string()).into());
                }
                continue;
            }
            _ = signs.tick() => {
                if unanswered >= MAX_UNANSWERED_PINGS {
                    return Some((CloseCode::Away, "ping timeout").into());
                }
                unanswered += 1;
                // Notifications are sent even if the client sends nothing, so check the credentials
                // here as well.
                if let Err(refusal) = admitted.revalidate(server_state).await {
                    return Some((CloseCode::Policy, refusal.to_string()).into());
                }
                socket.ping(b"").await.ok()?;
                continue;
            }
        };
        unanswered = 0;
        let text = match message {
            Ok(Message::Text(text)) => text.to_string(),
            Ok(Message::Continuation(piece)) => match fragments.append_fragment(piece) {
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
                tracing::debug!(%error, "WebSocket protocol error");
                return Some((CloseCode::Protocol, "not a WebSocket message").into());
            }
        };
        // The key may have been revoked since the socket was opened.
        if let Err(refusal) = admitted.revalidate(server_state).await {
            return Some((CloseCode::Policy, refusal.to_string()).into());
        }
        // Waiting here applies backpressure to the client.
        tokio::select! {
            () = connection_loop.dispatch(text) => {}
            () = server_state.service.wait_for_shutdown() => {}
        }
    }
}
