//! The form with the text of a note. A text that is not saved is shown again, also one whose login ended while it was
//! written: it can be saved after a new login.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};
use vademecum_model::{SourceName, Uri};
use vademecum_oauth::Endpoint;

use super::{
    super::oauth::{Browser, PageForm, foreign_form, page_response},
    form_text::form_text,
    page_request::{PageProblem, PageRequest},
};
use crate::templates::{EditorPage, Section, editor_page, kept_text_page};

/// Maximum size of a form of a browser that is not logged in, in bytes.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// Finds the user of a form with a text, and reads it, as [`PageRequest::open_form`] does. The answer to a form of
/// this server whose login has ended has its text.
pub(super) async fn open_text_form(
    request: &HttpRequest,
    body: web::Payload,
    max_bytes: usize,
) -> Result<(PageRequest, PageForm), HttpResponse> {
    let page = match PageRequest::open(request).await {
        Ok(page) => page,
        Err(answer) => return Err(keep_text(request, body, answer).await),
    };
    let form = page.browser.read_sent_form(request, body, max_bytes).await?;
    if !page.browser.is_own_form(form.get("csrf")) {
        let editor = read_editor(&form).filter(|_| is_same_origin(request));
        let Some(editor) = editor else { return Err(foreign_form()) };
        let text = "This form is from before your login. Nothing is saved yet: save it once more.";
        let problem = PageProblem::new(StatusCode::FORBIDDEN, text);
        return Err(show_again(&page, editor, &problem));
    }
    if !page.may_write() {
        return Err(page.respond(Section::Item, Err(PageProblem::read_only())));
    }
    Ok((page, form))
}

/// Returns a page with the text of a form, if its browser is sent to the login; else `answer`.
async fn keep_text(
    request: &HttpRequest,
    body: web::Payload,
    answer: HttpResponse,
) -> HttpResponse {
    let is_login = answer.status() == StatusCode::SEE_OTHER && is_same_origin(request);
    let Some(browser) = Browser::of(request).filter(|_| is_login) else { return answer };
    let form = browser.read_sent_form(request, body, MAX_KEPT_BYTES).await;
    // A text that is too long is still in the page before.
    let editor = form.ok().and_then(|form| read_editor(&form));
    let shown = kept_text_page(editor.as_ref(), Endpoint::Login.path());
    page_response(StatusCode::FORBIDDEN, &shown, "")
}

/// Returns true for a form of a page of this server: browsers say from which origin a form comes.
fn is_same_origin(request: &HttpRequest) -> bool {
    let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, host)| text(header::HOST) == Some(host))
}

/// Reads the fields of the editor; `None` if it names an item that is no note.
pub(super) fn read_editor(form: &PageForm) -> Option<EditorPage> {
    let text = |name: &str| form.get(name).to_owned();
    let item = match form.get("item") {
        "" => None,
        item => Some(item.parse::<Uri>().ok().filter(|uri| uri.source == SourceName::Notes)?),
    };
    let version = match &item {
        None => 0,
        Some(_) => form.get("version").parse().ok()?,
    };
    let content = form_text(form.get("content"));
    let (title, tags) = (text("title"), text("tags"));
    let is_daily = item.is_none() && !form.get("daily").is_empty();
    Some(EditorPage { item, is_daily, version, title, content, tags, ..EditorPage::default() })
}

/// Shows the editor again with the text that was not saved, and why.
pub(super) fn show_again(
    page: &PageRequest,
    editor: EditorPage,
    problem: &PageProblem,
) -> HttpResponse {
    let section = if editor.item.is_some() { Section::Item } else { Section::NewNote };
    let editor = EditorPage { problem: Some(problem.text.clone()), ..editor };
    page.respond_with(problem.status, section, editor_page(&page.form_context(), &editor))
}
