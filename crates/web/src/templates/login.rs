//! The login page.

use maud::{Markup, html};
use vademecum_oauth::{Endpoint, PasskeyChallenge};

use super::{FormContext, Page, fields::problem, passkeys::passkey_login};

/// Ways to log in, and the state of the attempt.
#[derive(Debug)]
pub(crate) struct LoginPage {
    /// Hidden fields.
    pub(crate) context: FormContext,
    /// Whether users have passwords; otherwise a one-time code is needed.
    pub(crate) has_passwords: bool,
    /// Name and address of the outside provider, if there is one.
    pub(crate) provider: Option<(String, String)>,
    /// Challenge for passkeys, if users can have them.
    pub(crate) passkey: Option<PasskeyChallenge>,
    /// Problem with the last attempt.
    pub(crate) problem: Option<String>,
    /// Name that was typed.
    pub(crate) name: String,
}

/// Returns the login page.
pub(crate) fn login_page(page: &LoginPage) -> Page {
    let content = html! {
        div.card {
            h1 { "Log in" }
            (problem(page.problem.as_deref()))
            @if page.has_passwords { (password_form(page)) } @else { (code_form(&page.context, "")) }
            @if let Some(challenge) = &page.passkey { (passkey_login(&page.context, challenge)) }
            @if let Some((name, address)) = &page.provider {
                div.actions {
                    a.button.secondary href=(address) { "Continue with " (name) }
                }
            }
        }
    };
    Page::new("Log in", content)
}

/// Returns the page that logs in with a one-time code, which may be filled in.
pub(crate) fn login_code_page(context: &FormContext, code: &str, refusal: Option<&str>) -> Page {
    let content = html! {
        div.card {
            h1 { "Log in" }
            (problem(refusal))
            (code_form(context, code))
        }
    };
    Page::new("Log in", content)
}

fn password_form(page: &LoginPage) -> Markup {
    html! {
        form method="post" action=(Endpoint::Login.path()) {
            (page.context.hidden_fields())
            div.field {
                label for="name" { "Name" }
                input #name type="text" name="name" value=(page.name) required autofocus
                    autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="64";
            }
            div.field {
                label for="password" { "Password" }
                input #password type="password" name="password" required
                    autocomplete="current-password" maxlength="1000";
            }
            div.actions { button type="submit" { "Log in" } }
        }
    }
}

fn code_form(context: &FormContext, code: &str) -> Markup {
    html! {
        form method="post" action=(Endpoint::LoginCode.path()) data-submit[!code.is_empty()] {
            (context.hidden_fields())
            div.field {
                label for="code" {
                    "One-time code"
                    span #code-hint .hint {
                        "Run " code { "vademecum login" }
                        " on the computer with the library: it prints a code for 10 minutes."
                    }
                }
                input #code type="text" name="code" value=(code) required autofocus
                    aria-describedby="code-hint" autocomplete="one-time-code"
                    autocapitalize="characters" spellcheck="false" maxlength="40";
            }
            div.actions { button type="submit" { "Log in" } }
        }
    }
}
