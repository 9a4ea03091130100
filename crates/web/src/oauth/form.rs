//! Bodies of the forms of pages and clients.

use actix_web::http::header::{self, HeaderMap};
use url::form_urlencoded;
use vademecum_oauth::Endpoint;

use crate::templates::{
    CLIP_PATH, DELETE_NOTE_PATH, END_LOGIN_PATH, REMOVE_UPLOAD_PATH, RESTORE_ITEM_PATH,
    REVOKE_KEY_PATH, SAVE_CLIP_PATH, SAVE_NOTE_PATH, SELECTION_PATH, TAG_ITEM_PATH, UNDO_PATH,
    UPLOAD_PATH,
};

/// Paths of the forms of the library.
const LIBRARY_FORMS: [&str; 10] = [
    DELETE_NOTE_PATH,
    END_LOGIN_PATH,
    REMOVE_UPLOAD_PATH,
    RESTORE_ITEM_PATH,
    REVOKE_KEY_PATH,
    SAVE_CLIP_PATH,
    SAVE_NOTE_PATH,
    SELECTION_PATH,
    TAG_ITEM_PATH,
    UNDO_PATH,
];

/// Paths to which forms are sent.
const FORM_ENDPOINTS: [Endpoint; 11] = [
    Endpoint::Authorize,
    Endpoint::Token,
    Endpoint::Revoke,
    Endpoint::Login,
    Endpoint::LoginCode,
    Endpoint::LoginSecondFactor,
    Endpoint::LoginPasskey,
    Endpoint::Passkeys,
    Endpoint::SecondFactor,
    Endpoint::RevokeGrant,
    Endpoint::Logout,
];

/// Returns true if a request to this path carries a form, and its body is declared as one. Every
/// form carries a token that pages of other origins do not know.
pub(crate) fn accepts_form(path: &str, headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE);
    let kind = types.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if types.next().is_some() {
        return false;
    }
    let takes_form = LIBRARY_FORMS.contains(&path)
        || FORM_ENDPOINTS.iter().any(|endpoint| endpoint.path() == path);
    (takes_form && kind.eq_ignore_ascii_case("application/x-www-form-urlencoded"))
        || (matches!(path, UPLOAD_PATH | CLIP_PATH)
            && kind.eq_ignore_ascii_case("multipart/form-data"))
}

/// Fields of the form of a page.
#[derive(Clone, Debug)]
pub(crate) struct PageForm(Vec<(String, String)>);

impl PageForm {
    /// Reads a URL-encoded body.
    pub(crate) fn parse(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// Returns the first value of a field; empty without one.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns all values of a field.
    pub(crate) fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the entries of a field that are separated by commas; `None` if there are none.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<String>> {
        let entries = self.get(name).split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let entries: Vec<String> = entries.map(str::to_owned).collect();
        (!entries.is_empty()).then_some(entries)
    }
}
