//! Saving of web pages: by the bookmarklet, through a form, and by programs with a key.

use std::sync::Arc;

use actix_multipart::Multipart;
use actix_web::{
    FromRequest as _, HttpMessage as _, HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};
use futures_util::StreamExt as _;
use serde_json::json;
use vademecum_core::{
    audit::{AuditEntry, AuditOutcome},
    auth::{Principal, Right},
};
use vademecum_mcp::InFlightBytes;
use vademecum_model::Uri;
use vademecum_services::{
    clip::{Clip, ClipError, save_clip},
    import::ImportQuota,
    permalink::item_path,
};

use super::{
    super::{
        ServerState,
        credentials::AuthenticatedCaller,
        oauth::{foreign_form, redirect},
        request_body::{BodyError, collect_body, count_for_caller},
    },
    PageServices,
    page_request::PageRequest,
    upload::UPLOAD_TIMEOUT,
};
use crate::templates::{Section, clip_page};

/// Maximum size of a page, in bytes.
const MAX_CLIP_BYTES: usize = 32 << 20;

/// Refused clip: the status and the reason.
type Refusal = (StatusCode, String);

/// Shows the form, filled in with the parameters of the address.
pub(super) async fn show_clip(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let text = |name: &str| page.query.get(name).to_owned();
    let clip =
        Clip { title: text("title"), url: text("url"), text: text("text"), html: String::new() };
    page.respond(Section::Item, Ok(clip_page(&page.form_context(), &clip, None)))
}

/// Saves the page in a form, and shows its document.
pub(super) async fn save_form(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let Some(form) = page.browser.read_form(&request, body).await else { return foreign_form() };
    let text = |name: &str| form.get(name).to_owned();
    let clip =
        Clip { title: text("title"), url: text("url"), text: text("text"), html: String::new() };
    match save(&page.services, page.browser.state(), page.principal(), &clip, "page").await {
        Ok(uri) => redirect(&item_path(&uri, None)),
        Err((_, problem)) => {
            let shown = clip_page(&page.form_context(), &clip, Some(&problem));
            page.respond(Section::Item, Ok(shown))
        }
    }
}

/// Saves the page that a program sends as JSON, or as a form with a file.
pub(super) async fn post_clip(
    request: HttpRequest,
    body: web::Payload,
    state: web::Data<ServerState>,
) -> HttpResponse {
    let caller = request.extensions().get::<AuthenticatedCaller>().cloned();
    let (Some(services), Some(caller)) = (&state.pages, caller) else {
        return error_response(StatusCode::NOT_FOUND, "this server has no pages");
    };
    let mut in_flight = count_for_caller(&request, &state);
    let read = read_clip(&request, body, &state, &mut in_flight);
    let read = tokio::time::timeout(UPLOAD_TIMEOUT, read).await;
    let saved = match read.unwrap_or_else(|_| Err(too_slow())) {
        Ok(clip) => save(services, &state, caller.principal(), &clip, "http").await,
        Err(refusal) => Err(refusal),
    };
    match saved {
        Ok(uri) => {
            let site = state.logins.as_ref().map(|logins| logins.public_url());
            let url = site.map(|site| site.join(&item_path(&uri, None)));
            HttpResponse::Ok().json(json!({ "uri": uri, "url": url }))
        }
        Err((status, problem)) => error_response(status, &problem),
    }
}

async fn save(
    services: &PageServices,
    state: &ServerState,
    principal: &Principal,
    clip: &Clip,
    transport: &'static str,
) -> Result<Uri, Refusal> {
    let saved = try_save(services, principal, clip).await;
    let outcome = match &saved {
        Ok(_) => AuditOutcome::Ok,
        Err((StatusCode::FORBIDDEN, _)) => AuditOutcome::Denied,
        Err(_) => AuditOutcome::Error,
    };
    let mut entry = AuditEntry {
        user: Some(principal.user().clone()),
        key: principal.key().cloned(),
        ..AuditEntry::new("clip", transport, outcome)
    };
    if let Ok(uri) = &saved {
        entry.items.push(uri);
    }
    state.service.audit_log().record(entry);
    saved
}

async fn try_save(
    services: &PageServices,
    principal: &Principal,
    clip: &Clip,
) -> Result<Uri, Refusal> {
    let library = services.library(principal);
    // A caller who does not see all items must not replace one.
    if !principal.has_right(Right::Write) || library.is_restricted() {
        let problem = "saving a page needs the right `write` to the whole library";
        return Err((StatusCode::FORBIDDEN, problem.to_owned()));
    }
    let quota =
        ImportQuota { registry: Arc::clone(&services.registry), user: principal.user().clone() };
    save_clip(&library, clip, services.reader_limits, Some(quota))
        .await
        .map_err(|error| refuse_clip(&error))
}

fn refuse_clip(error: &ClipError) -> Refusal {
    let status = match error {
        ClipError::Invalid(_) | ClipError::NotRead(_) => StatusCode::UNPROCESSABLE_ENTITY,
        ClipError::Quota(_) => StatusCode::INSUFFICIENT_STORAGE,
        ClipError::Storage(_) | ClipError::Import(_) => {
            tracing::error!(?error, "a page could not be saved");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    (status, error.to_string())
}

async fn read_clip(
    request: &HttpRequest,
    body: web::Payload,
    state: &ServerState,
    in_flight: &mut Option<InFlightBytes>,
) -> Result<Clip, Refusal> {
    let refuse = |error: BodyError| (error.status(state), error.to_string());
    let invalid = |problem: String| (StatusCode::BAD_REQUEST, problem);
    if !request.content_type().eq_ignore_ascii_case("multipart/form-data") {
        let body = collect_body(body, MAX_CLIP_BYTES, in_flight).await.map_err(refuse)?;
        return serde_json::from_slice(&body).map_err(|error| {
            invalid(format!("{error}; send {{\"title\", \"url\", \"html\" or \"text\"}}"))
        });
    }
    // Pages of other origins can send such a form, but not with this header.
    if !request.headers().contains_key(header::AUTHORIZATION) {
        return Err(invalid("a form needs the header Authorization: Bearer KEY".to_owned()));
    }
    let mut form = Multipart::from_request(request, &mut body.into_inner())
        .await
        .map_err(|error| invalid(error.to_string()))?;
    let (mut clip, mut left) = (Clip::default(), MAX_CLIP_BYTES);
    while let Some(field) = form.next().await {
        let mut field = field.map_err(|error| invalid(error.to_string()))?;
        let disposition = field.content_disposition();
        let name = disposition.and_then(|it| it.get_name()).unwrap_or_default().to_owned();
        let mut content = Vec::new();
        while let Some(chunk) = field.next().await {
            let chunk = chunk.map_err(|error| invalid(error.to_string()))?;
            let too_long = || refuse(BodyError::TooLong(MAX_CLIP_BYTES));
            left = left.checked_sub(chunk.len()).ok_or_else(too_long)?;
            content.extend_from_slice(&chunk);
            if let Some(in_flight) = in_flight {
                let counted = in_flight.try_resize(MAX_CLIP_BYTES - left);
                counted.map_err(|failure| refuse(BodyError::Refused(failure)))?;
            }
        }
        let content = String::from_utf8(content)
            .map_err(|_| invalid(format!("the field `{name}` is not UTF-8")))?;
        match name.as_str() {
            "url" => clip.url = content,
            "title" => clip.title = content,
            "file" | "html" => clip.html = content,
            "text" => clip.text = content,
            _ => return Err(invalid(format!("unknown field `{name}`: send url, title and file"))),
        }
    }
    Ok(clip)
}

fn too_slow() -> Refusal {
    let problem = format!("the page did not arrive in {} s", UPLOAD_TIMEOUT.as_secs());
    (StatusCode::REQUEST_TIMEOUT, problem)
}

fn error_response(status: StatusCode, problem: &str) -> HttpResponse {
    HttpResponse::build(status).json(json!({ "error": problem }))
}
