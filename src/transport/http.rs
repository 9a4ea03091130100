//! One message, one HTTP request; streams where a caller needs one.

use actix_web::{
    FromRequest as _, HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder,
    http::StatusCode, web,
};
use futures_util::{FutureExt, future::select};

use super::{
    Door,
    accept::takes_stream,
    credentials::{self, Admitted},
    query::{SESSION, peer},
    stream::Flow,
};
use vademecum_mcp::{Link, Reply, Service, Status};

/// Answers a message: in JSON, or on a stream if there is something to say
/// before the answer and the caller takes one.
pub(crate) async fn post(
    request: HttpRequest,
    body: web::Payload,
    door: web::Data<Door>,
) -> HttpResponse {
    let body = match read(&request, body, &door).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let Ok(text) = String::from_utf8(body.into()) else {
        return refuse(StatusCode::BAD_REQUEST, "the body is not UTF-8");
    };
    let peer = match peer(&request) {
        Ok(peer) => peer,
        Err(problem) => return refuse(StatusCode::BAD_REQUEST, &problem),
    };
    let (link, mut messages) = Link::open();
    if !takes_stream(&request) {
        messages.close();
    }
    let service = door.service.clone();
    let mut work = async move { service.handle(&peer, &text, &link).await }.boxed_local();
    // What is said before the answer turns it into a stream.
    let reply = tokio::select! {
        biased;
        Some(first) = messages.recv() => {
            let last = work.map(|reply| reply.message).boxed_local();
            let gone = shut_out(&request, &door).map(|()| None).boxed_local();
            let last = select(last, gone).map(|ended| ended.factor_first().0).boxed_local();
            let flow = Flow::new(messages, last, door.server.keep_alive());
            return flow.respond(HttpResponse::Ok(), vec![first]);
        }
        reply = &mut work => reply,
    };
    drop(work);
    let mut response = begin(reply.status, &door);
    if let Some(id) = reply.opened {
        response.insert_header((SESSION, id.as_str()));
    }
    // What was said in the same moment comes first.
    let mut said = Vec::new();
    while let Ok(message) = messages.try_recv() {
        said.push(message);
    }
    match reply.message {
        None => response.finish(),
        Some(message) if said.is_empty() => response.content_type("application/json").body(message),
        Some(message) => {
            let last = std::future::ready(Some(message)).boxed_local();
            Flow::new(messages, last, door.server.keep_alive()).respond(response, said)
        }
    }
}

/// Reads the body of a request, and no longer than it may take.
async fn read(
    request: &HttpRequest,
    body: web::Payload,
    door: &Door,
) -> Result<web::Bytes, HttpResponse> {
    let limit = door.server.body_time();
    let body = web::Bytes::from_request(request, &mut body.into_inner());
    match tokio::time::timeout(limit, body).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) => Err(refuse(error.as_response_error().status_code(), &error.to_string())),
        Err(_) => {
            let problem = format!(
                "the body did not arrive in {} s: send it at once, or set server.body_seconds",
                limit.as_secs()
            );
            Err(refuse(StatusCode::REQUEST_TIMEOUT, &problem))
        }
    }
}

/// A response that says how it went.
fn begin(status: Status, door: &Door) -> HttpResponseBuilder {
    let mut response = HttpResponseBuilder::new(match status {
        Status::Ok => StatusCode::OK,
        Status::Accepted => StatusCode::ACCEPTED,
        Status::BadRequest => StatusCode::BAD_REQUEST,
        Status::NotFound => StatusCode::NOT_FOUND,
        Status::Forbidden(_) => StatusCode::FORBIDDEN,
        Status::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        Status::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
    });
    credentials::explain(&mut response, status, &door.auth);
    response
}

/// The response that a reply is.
pub(crate) fn reply(reply: Reply, door: &Door) -> HttpResponse {
    let mut response = begin(reply.status, door);
    match reply.message {
        Some(message) => response.content_type("application/json").body(message),
        None => response.finish(),
    }
}

/// Opens a stream for the news of a session.
pub(crate) async fn get(request: HttpRequest, door: web::Data<Door>) -> HttpResponse {
    let peer = match peer(&request) {
        Ok(peer) => peer,
        Err(problem) => return refuse(StatusCode::BAD_REQUEST, &problem),
    };
    let Some(session) = peer.session else {
        return not_here("a stream belongs to a session: name one in the header mcp-session-id");
    };
    if !takes_stream(&request) {
        return refuse(
            StatusCode::NOT_ACCEPTABLE,
            "a stream is all there is: accept text/event-stream",
        );
    }
    let held = match door.service.hold(&peer.principal) {
        Ok(held) => held,
        Err(refused) => return reply(refused, &door),
    };
    let (link, messages) = Link::open();
    if !door.service.listen(&session, &peer.principal, link) {
        return refuse(StatusCode::NOT_FOUND, "this session is over or was never opened");
    }
    let service = door.service.clone();
    let closed = async move { service.closed().await }.boxed_local();
    let last = select(closed, shut_out(&request, &door).boxed_local()).map(move |_| {
        // It counts for as long as it lasts.
        drop(held);
        None
    });
    Flow::new(messages, last.boxed_local(), door.server.keep_alive())
        .respond(HttpResponse::Ok(), Vec::new())
}

/// Waits until whoever was let in would not be any more: a stream may last
/// longer than the key or token that it was opened with.
fn shut_out(
    request: &HttpRequest,
    door: &web::Data<Door>,
) -> impl Future<Output = ()> + 'static + use<> {
    let admitted = request.extensions().get::<Admitted>().cloned();
    let door = door.clone();
    async move {
        let Some(admitted) = admitted else { return };
        loop {
            tokio::time::sleep(door.server.keep_alive()).await;
            if admitted.again(&door).await.is_err() {
                return;
            }
        }
    }
}

/// Ends a session.
pub(crate) async fn delete(request: HttpRequest, door: web::Data<Door>) -> HttpResponse {
    let peer = match peer(&request) {
        Ok(peer) => peer,
        Err(problem) => return refuse(StatusCode::BAD_REQUEST, &problem),
    };
    match peer.session {
        None => refuse(StatusCode::BAD_REQUEST, "name the session in the header mcp-session-id"),
        Some(id) if door.service.end(&id, &peer.principal) => HttpResponse::NoContent().finish(),
        Some(_) => refuse(StatusCode::NOT_FOUND, "this session is over or was never opened"),
    }
}

/// Says what can be done here.
pub(crate) async fn other() -> HttpResponse {
    not_here("POST a message here, GET the stream of a session, or DELETE a session")
}

fn not_here(problem: &str) -> HttpResponse {
    HttpResponse::MethodNotAllowed()
        .insert_header(("allow", "POST, GET, DELETE"))
        .content_type("application/json")
        .body(Service::refuse(problem))
}

fn refuse(status: StatusCode, problem: &str) -> HttpResponse {
    HttpResponse::build(status).content_type("application/json").body(Service::refuse(problem))
}
