//! One message, one HTTP request.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};

use super::{
    Door, credentials,
    query::{SESSION, peer},
};
use crate::mcp::{Revision, Service, Status};

/// The header that names the revision a client speaks.
const REVISION: &str = "mcp-protocol-version";

/// Answers a message.
pub(crate) async fn post(
    request: HttpRequest,
    body: Result<web::Bytes, actix_web::Error>,
    door: web::Data<Door>,
) -> HttpResponse {
    let body = match body {
        Ok(body) => body,
        Err(error) => return refuse(error.as_response_error().status_code(), &error.to_string()),
    };
    let Ok(text) = std::str::from_utf8(&body) else {
        return refuse(StatusCode::BAD_REQUEST, "the body is not UTF-8");
    };
    if let Some(problem) = unknown_revision(&request) {
        return refuse(StatusCode::BAD_REQUEST, &problem);
    }
    let peer = match peer(&request) {
        Ok(peer) => peer,
        Err(problem) => return refuse(StatusCode::BAD_REQUEST, &problem),
    };
    let reply = door.service.handle(&peer, text).await;
    let mut answer = HttpResponse::build(match reply.status {
        Status::Ok => StatusCode::OK,
        Status::Accepted => StatusCode::ACCEPTED,
        Status::BadRequest => StatusCode::BAD_REQUEST,
        Status::NoSession => StatusCode::NOT_FOUND,
        Status::Forbidden(_) => StatusCode::FORBIDDEN,
        Status::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
    });
    credentials::explain(&mut answer, reply.status, &door.auth);
    if let Some(id) = reply.opened {
        answer.insert_header((SESSION, id.as_str()));
    }
    match reply.message {
        Some(message) => answer.content_type("application/json").body(message),
        None => answer.finish(),
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
    let problem = "POST a message here, or DELETE a session";
    HttpResponse::MethodNotAllowed()
        .insert_header(("allow", "POST, DELETE"))
        .content_type("application/json")
        .body(Service::refuse(problem))
}

fn unknown_revision(request: &HttpRequest) -> Option<String> {
    let named = request.headers().get(REVISION)?.to_str().unwrap_or_default();
    if Revision::dated(named).is_some() {
        return None;
    }
    Some(format!("{REVISION} is `{named}`; supported are {}", Revision::dates()))
}

fn refuse(status: StatusCode, problem: &str) -> HttpResponse {
    HttpResponse::build(status).content_type("application/json").body(Service::refuse(problem))
}
