//! Parts that several forms share.

use maud::{Markup, html};

/// Hidden fields of a form: the token that proves its origin, and the authorization request that a
/// login interrupted.
#[derive(Clone, Debug)]
pub(crate) struct FormContext {
    /// Token against forms of other origins.
    pub(crate) csrf: String,
    /// Query of the authorization request; empty without one.
    pub(crate) request: String,
}

impl FormContext {
    /// Renders the fields.
    pub(super) fn hidden_fields(&self) -> Markup {
        html! {
            input type="hidden" name="csrf" value=(self.csrf);
            input type="hidden" name="request" value=(self.request);
        }
    }
}

/// Renders a problem with the last attempt; screen readers announce it.
pub(super) fn problem(text: Option<&str>) -> Markup {
    html! {
        @if let Some(text) = text {
            p.notice.error role="alert" { (text) }
        }
    }
}
