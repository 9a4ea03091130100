//! Streamable HTTP transport: one message per request, with event streams where needed.

use actix_web::{
    HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder, http::StatusCode, web,
};
use futures_util::{FutureExt, future::select};
use vademecum_mcp::{Freshness, Outbound, OutboundMessage, Reply, ReplyStatus, Service};

use super::{
    ServerState,
    accept::accepts_event_stream,
    credentials::{self, AuthenticatedCaller},
    event_stream::EventStream,
    query::read_peer,
    request_body::{RequestBody, read_body},
    wire_names::SESSION_HEADER,
};

/// Handles a message. The response is JSON, or an event stream if other messages precede the reply
/// and the client accepts one.
pub(crate) async fn post_message(
    request: HttpRequest,
    body: web::Payload,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let max_bytes = server_state.server.max_body_bytes.get();
    let (bytes, in_flight) = match read_body(&request, body, &server_state, max_bytes).await {
        Ok(RequestBody { bytes, in_flight }) => (bytes, in_flight),
        Err(refused) => return refused,
    };
    let Ok(text) = String::from_utf8(bytes.into()) else {
        return error_response(StatusCode::BAD_REQUEST, "the body is not UTF-8");
    };
    let peer = match read_peer(&request, "http") {
        Ok(peer) => peer,
        Err(problem) => {
            let message = Service::rejection_of(&text, &problem);
            return HttpResponse::BadRequest().content_type("application/json").body(message);
        }
    };
    let (link, mut messages) = Outbound::channel();
    if !accepts_event_stream(&request) {
        messages.close();
    }
    let service = server_state.service.clone();
    let mut work = async move { service.handle(&peer, &text, &link).await }.boxed_local();
    let count = |text: String| {
        let in_flight = in_flight.map(|it| it.for_reply(text.len()));
        OutboundMessage { text, in_flight }
    };
    // A message sent before the reply turns the response into a stream.
    let reply = tokio::select! {
        biased;
        Some(first) = messages.recv() => {
            let last = work.map(|reply| reply.message.map(count)).boxed_local();
            let gone = wait_for_revocation(&request, &server_state).map(|()| None).boxed_local();
            let last = select(last, gone).map(|ended| ended.factor_first().0).boxed_local();
            let flow = EventStream::new(messages, last, server_state.server.keep_alive_interval());
            return flow.into_response(HttpResponse::Ok(), vec![first]);
        }
        reply = &mut work => reply,
    };
    drop(work);
    let mut response = response_builder(reply.status, &server_state);
    if let Some(id) = reply.opened_session {
        response.insert_header((SESSION_HEADER, id.as_str()));
    }
    // Messages sent before the reply completed precede it.
    let mut earlier_messages = Vec::new();
    while let Ok(message) = messages.try_recv() {
        earlier_messages.push(message);
    }
    match reply.message {
        None => response.finish(),
        Some(message) if earlier_messages.is_empty() => {
            response.content_type("application/json").body(message)
        }
        Some(message) => {
            let last = std::future::ready(Some(count(message))).boxed_local();
            EventStream::new(messages, last, server_state.server.keep_alive_interval())
                .into_response(response, earlier_messages)
        }
    }
}

/// Returns a response builder with the status and its headers.
fn response_builder(status: ReplyStatus, server_state: &ServerState) -> HttpResponseBuilder {
    let mut response = HttpResponseBuilder::new(match status {
        ReplyStatus::Ok => StatusCode::OK,
        ReplyStatus::Accepted => StatusCode::ACCEPTED,
        ReplyStatus::BadRequest => StatusCode::BAD_REQUEST,
        ReplyStatus::NotFound => StatusCode::NOT_FOUND,
        ReplyStatus::Forbidden(_) => StatusCode::FORBIDDEN,
        ReplyStatus::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        ReplyStatus::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
    });
    credentials::add_status_headers(&mut response, status, &server_state.auth);
    response
}

/// Converts a reply into a response.
pub(crate) fn reply_response(reply: Reply, server_state: &ServerState) -> HttpResponse {
    let mut response = response_builder(reply.status, server_state);
    match reply.message {
        Some(message) => response.content_type("application/json").body(message),
        None => response.finish(),
    }
}

/// Opens an event stream for the server-initiated messages of a session.
pub(crate) async fn open_stream(
    request: HttpRequest,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let peer = match read_peer(&request, "http") {
        Ok(peer) => peer,
        Err(problem) => return error_response(StatusCode::BAD_REQUEST, &problem),
    };
    let Some(session) = peer.session else {
        return method_not_allowed(
            "a stream belongs to a session: name one in the header mcp-session-id",
        );
    };
    if !accepts_event_stream(&request) {
        return error_response(
            StatusCode::NOT_ACCEPTABLE,
            "GET returns only a stream: accept text/event-stream",
        );
    }
    let held = match server_state.service.acquire_connection_permit(&peer.principal) {
        Ok(held) => held,
        Err(refused) => return reply_response(refused, &server_state),
    };
    server_state.service.refresh_session(Some(&session), &peer.principal, Freshness::Now).await;
    let (link, messages) = Outbound::channel();
    if !server_state.service.add_listener(&session, &peer.principal, link) {
        return error_response(StatusCode::NOT_FOUND, "this session is over or was never opened");
    }
    let service = server_state.service.clone();
    let closed = async move { service.wait_for_shutdown().await }.boxed_local();
    let last =
        select(closed, wait_for_revocation(&request, &server_state).boxed_local()).map(move |_| {
            // The permit is held for as long as the stream is open.
            drop(held);
            None
        });
    EventStream::new(messages, last.boxed_local(), server_state.server.keep_alive_interval())
        .into_response(HttpResponse::Ok(), Vec::new())
}

/// Waits until the caller's credentials are no longer valid, because a stream may outlive the key
/// or token it was opened with.
fn wait_for_revocation(
    request: &HttpRequest,
    server_state: &web::Data<ServerState>,
) -> impl Future<Output = ()> + 'static + use<> {
    let admitted = request.extensions().get::<AuthenticatedCaller>().cloned();
    let server_state = server_state.clone();
    async move {
        let Some(admitted) = admitted else { return };
        let mut ended_users = server_state.service.ended_users();
        loop {
            let keep_alive = server_state.server.keep_alive_interval();
            tokio::select! {
                () = tokio::time::sleep(keep_alive) => {}
                Ok(()) = ended_users.changed() => {}
            }
            if admitted.revalidate(&server_state).await.is_err() {
                return;
            }
        }
    }
}

/// Ends a session.
pub(crate) async fn delete_session(
    request: HttpRequest,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let peer = match read_peer(&request, "http") {
        Ok(peer) => peer,
        Err(problem) => return error_response(StatusCode::BAD_REQUEST, &problem),
    };
    server_state
        .service
        .refresh_session(peer.session.as_ref(), &peer.principal, Freshness::Recent)
        .await;
    match peer.session {
        None => {
            error_response(StatusCode::BAD_REQUEST, "name the session in the header mcp-session-id")
        }
        Some(id) if server_state.service.end_session(&id, &peer.principal) => {
            HttpResponse::NoContent().finish()
        }
        Some(_) => {
            error_response(StatusCode::NOT_FOUND, "this session is over or was never opened")
        }
    }
}

/// Responds to unsupported methods.
pub(crate) async fn unsupported_method() -> HttpResponse {
    method_not_allowed("POST a message here, GET the stream of a session, or DELETE a session")
}

fn method_not_allowed(problem: &str) -> HttpResponse {
    HttpResponse::MethodNotAllowed()
        .insert_header(("allow", "POST, GET, DELETE"))
        .content_type("application/json")
        .body(Service::rejection(problem))
}

pub(crate) fn error_response(status: StatusCode, problem: &str) -> HttpResponse {
    HttpResponse::build(status).content_type("application/json").body(Service::rejection(problem))
}
