//! WebSocket transport: one message per text frame.

use std::{pin::Pin, sync::Arc};

use actix_web::{
    FromRequest as _, HttpMessage, HttpRequest, HttpResponse, dev, error::PayloadError,
    http::header, rt, web,
};
use actix_ws::{CloseCode, CloseReason, MessageStream};
use futures_util::{Stream, StreamExt, stream};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use vademecum_mcp::{InFlightBytes, OutboundMessage};

use super::{
    ServerState,
    connection::WriteProgress,
    connection_loop::ConnectionLoop,
    credentials::AuthenticatedCaller,
    http,
    message_reader::{Incoming, MessageReader},
    query::read_peer,
};

/// WebSocket subprotocol.
const SUBPROTOCOL: &str = "mcp";
/// Payload of a request that is a stream.
type BoxedPayload = Pin<Box<dyn Stream<Item = Result<web::Bytes, PayloadError>>>>;
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
    // The stream of the library reads nothing; it ends when the connection does.
    let nothing = &mut dev::Payload::from(Box::pin(stream::pending()) as BoxedPayload);
    let nothing = web::Payload::from_request(&request, nothing).await?;
    let (response, socket, closed) =
        actix_ws::handle_with_protocols(&request, nothing, &[SUBPROTOCOL])?;
    let in_flight = server_state.service.bytes_in_flight(admitted.principal());
    let reader = MessageReader::new(body, &server_state.server, in_flight);
    let outflow = request.conn_data::<Arc<WriteProgress>>().cloned();
    let counted = server_state.monitor.metrics().track_websocket();
    rt::spawn(async move {
        let (enough, ended) = oneshot::channel();
        let mut writer = rt::spawn(write_messages(socket.clone(), out, ended, outflow));
        let reason = run_connection(
            &server_state,
            connection_loop,
            &admitted,
            socket.clone(),
            (reader, closed),
        )
        .await;
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
    mut out: mpsc::Receiver<OutboundMessage>,
    mut enough: oneshot::Receiver<()>,
    outflow: Option<Arc<WriteProgress>>,
) {
    let mut unsent = UnsentReplies { outflow, sent: 0, in_flight: None };
    loop {
        let message = tokio::select! {
            biased;
            message = out.recv() => message,
            () = unsent.wait_for_progress() => continue,
            _ = &mut enough => return,
        };
        let Some(OutboundMessage { text, in_flight }) = message else { return };
        // Limits unsent data in bytes, because a queue of messages says nothing about their size.
        unsent.wait_for_room().await;
        unsent.add(text.len(), in_flight);
        if socket.text(text).await.is_err() {
            return;
        }
    }
}

/// Replies that the client has not accepted yet.
struct UnsentReplies {
    outflow: Option<Arc<WriteProgress>>,
    /// Bytes that were sent.
    sent: u64,
    in_flight: Option<InFlightBytes>,
}

impl UnsentReplies {
    async fn wait_for_room(&mut self) {
        if let Some(outflow) = &self.outflow {
            outflow.wait_for_room(&mut self.sent).await;
        }
    }

    fn add(&mut self, length: usize, in_flight: Option<InFlightBytes>) {
        self.sent += u64::try_from(length).unwrap_or(0);
        match (&mut self.in_flight, in_flight) {
            (Some(all), Some(new)) => all.append(new),
            (all, new) => *all = new.or(all.take()),
        }
    }

    /// Releases the bytes that the client has accepted, and waits until it has accepted more. Waits
    /// forever if none are counted.
    async fn wait_for_progress(&mut self) {
        if let (Some(outflow), Some(in_flight)) = (&self.outflow, &mut self.in_flight) {
            let unsent = outflow.unsent_bytes(self.sent);
            in_flight.shrink_to(usize::try_from(unsent).unwrap_or(usize::MAX));
            if unsent > 0 {
                return outflow.wait_for_change().await;
            }
        }
        self.in_flight = None;
        std::future::pending::<()>().await;
    }
}

/// Processes messages until one side closes. Returns the close reason to send.
async fn run_connection(
    server_state: &ServerState,
    mut connection_loop: ConnectionLoop,
    admitted: &AuthenticatedCaller,
    mut socket: actix_ws::Session,
    (mut reader, mut closed): (MessageReader, MessageStream),
) -> Option<CloseReason> {
    let keep_alive = server_state.server.keep_alive_interval();
    let mut signs = interval_at(Instant::now() + keep_alive, keep_alive);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unanswered = 0;
    let mut ended_users = server_state.service.ended_users();
    loop {
        let incoming = tokio::select! {
            incoming = reader.next() => incoming,
            _ = closed.next() => return None,
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
        let (text, in_flight) = match incoming {
            Incoming::Message(text, in_flight) => (text, in_flight),
            Incoming::Ping(payload) => {
                socket.pong(&payload).await.ok()?;
                continue;
            }
            Incoming::Pong => continue,
            Incoming::End(reason) => return reason,
        };
        // The key may have been revoked since the socket was opened.
        if let Err(refusal) = admitted.revalidate(server_state).await {
            return Some((CloseCode::Policy, refusal.to_string()).into());
        }
        // Waiting here applies backpressure to the client.
        tokio::select! {
            () = connection_loop.dispatch(text, in_flight) => {}
            () = server_state.service.wait_for_shutdown() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use vademecum_mcp::{ByteBudget, ByteLimits};

    use super::*;

    #[actix::test]
    async fn replies_are_counted_until_client_accepts_them() {
        let budget = Arc::new(ByteBudget::new(ByteLimits::default()));
        let reply = |bytes| Some(budget.in_flight(&"ada".parse().unwrap()).for_reply(bytes));
        let progress = Arc::<WriteProgress>::default();
        let mut unsent =
            UnsentReplies { outflow: Some(Arc::clone(&progress)), sent: 0, in_flight: None };
        assert!(unsent.wait_for_progress().now_or_never().is_none());
        unsent.add(1_000, reply(1_000));
        unsent.add(500, reply(500));
        assert!(unsent.wait_for_progress().now_or_never().is_none());
        assert_eq!(budget.bytes(), 1_500);
        progress.add_accepted(1_100);
        unsent.wait_for_progress().await;
        assert!(unsent.wait_for_progress().now_or_never().is_none());
        assert_eq!(budget.bytes(), 400);
        progress.add_accepted(400);
        assert!(unsent.wait_for_progress().now_or_never().is_none());
        assert_eq!(budget.bytes(), 0);
    }
}
