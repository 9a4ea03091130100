//! The pages of second factors: the code at the login, setting up an authenticator, recovery codes.

use maud::{Markup, html};
use vademecum_model::Timestamp;
use vademecum_oauth::{Endpoint, SecondFactorSetup};

use super::{FormContext, Page, fields::problem, parts::minute, qr_picture::qr_picture};

/// Content of the page of a user's second factor.
#[derive(Debug)]
pub(crate) enum SecondFactorState {
    /// The user has no password.
    NoPassword,
    /// There is none: the page offers this secret.
    Off(SecondFactorSetup),
    /// It is in use.
    On {
        /// Time at which it was set up.
        since: Timestamp,
        /// Number of recovery codes that were not used.
        recovery_codes: u32,
    },
}

/// Returns the page that asks for a code after the password. It is the same whether the password was
/// right or not. `pending` is the login, encrypted.
pub(crate) fn login_factor_page(context: &FormContext, pending: &str, name: &str) -> Page {
    let content = html! {
        div.card {
            h1 { "Enter your code" }
            form method="post" action=(Endpoint::LoginSecondFactor.path()) {
                (context.hidden_fields())
                input type="hidden" name="pending" value=(pending);
                input type="hidden" name="name" value=(name);
                (code_field("If this account has a second factor: the six digits that your \
                             authenticator shows, or one of your recovery codes. If it has none, \
                             check the name that you typed.", true))
                div.actions { button type="submit" { "Log in" } }
            }
        }
    };
    Page::new("Log in", content)
}

/// Returns the page on which a user sets up, renews or removes the second factor.
pub(crate) fn second_factor_page(
    context: &FormContext,
    state: &SecondFactorState,
    refusal: Option<&str>,
) -> Page {
    let content = html! {
        div.card {
            h1 { "Second factor" }
            (problem(refusal))
            @match state {
                SecondFactorState::NoPassword => p {
                    "You log in without a password, so a second factor of this server has no use."
                },
                SecondFactorState::Off(setup) => (setup_form(context, setup)),
                SecondFactorState::On { since, recovery_codes } => {
                    p { "Logins with your password need a code since " (minute(*since)) ". "
                        "Unused recovery codes: " strong { (recovery_codes) } "." }
                    (change_form(context))
                }
            }
        }
        p.muted { a href=(Endpoint::Account.path()) { "Back to your account" } }
    };
    Page::new("Second factor", content)
}

/// Returns the page that shows new recovery codes, once.
pub(crate) fn recovery_codes_page(codes: &[String]) -> Page {
    let content = html! {
        div.card {
            h1 { "Your recovery codes" }
            p {
                "Each of them replaces the code of your authenticator once, if you lose it. Keep them \
                 in a safe place: they are not shown again."
            }
            ul.codes { @for code in codes { li { code { (code) } } } }
        }
        p.muted { a href=(Endpoint::SecondFactor.path()) { "I have kept them" } }
    };
    Page::new("Your recovery codes", content)
}

fn setup_form(context: &FormContext, setup: &SecondFactorSetup) -> Markup {
    html! {
        p {
            "With a second factor, a login with your password also needs a code that an \
             authenticator on your phone shows. Scan the picture with it, or type the secret."
        }
        (qr_picture(&setup.address, "Picture of the secret for your authenticator"))
        dl {
            dt { "Secret" }
            dd { code.secret { (grouped(&setup.secret)) } }
        }
        form method="post" action=(Endpoint::SecondFactor.path()) {
            (context.hidden_fields())
            input type="hidden" name="setup" value=(setup.sealed);
            div.field {
                label for="password" { "Your password" }
                input #password type="password" name="password" required
                    autocomplete="current-password" maxlength="1000";
            }
            (code_field("The six digits that the authenticator shows now.", false))
            p.muted { "Your logins in other browsers end." }
            div.actions {
                button type="submit" name="change" value="add" { "Turn on" }
            }
        }
    }
}

fn change_form(context: &FormContext) -> Markup {
    html! {
        form method="post" action=(Endpoint::SecondFactor.path()) {
            (context.hidden_fields())
            (code_field("The six digits that your authenticator shows, or a recovery code.", false))
            div.actions {
                button type="submit" name="change" value="renew" { "New recovery codes" }
                button.danger type="submit" name="change" value="remove" { "Turn off" }
            }
        }
    }
}

fn code_field(hint: &str, is_first: bool) -> Markup {
    html! {
        div.field {
            label for="code" {
                "Code"
                span #code-hint .hint { (hint) }
            }
            input #code type="text" name="code" required autofocus[is_first]
                aria-describedby="code-hint" autocomplete="one-time-code"
                autocapitalize="characters" spellcheck="false" maxlength="40";
        }
    }
}

/// Divides a secret into groups of four, which are easier to type.
fn grouped(secret: &str) -> String {
    let groups: Vec<_> = secret.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
    groups.join(" ")
}
