//! Passkeys: the form of the login page, and the page on which users register and remove them. The
//! script asks the authenticator; without it, the forms stay hidden.

use maud::{Markup, html};
use vademecum_core::auth::UserId;
use vademecum_oauth::{Endpoint, Passkey, PasskeyChallenge, PasskeyOffer};

use super::{FormContext, Page, fields::problem, parts::minute};

/// Content of the page of a user's passkeys.
#[derive(Debug)]
pub(crate) struct PasskeysPage {
    /// Hidden fields.
    pub(crate) context: FormContext,
    /// User who is logged in.
    pub(crate) user: UserId,
    /// Registered passkeys.
    pub(crate) passkeys: Vec<Passkey>,
    /// Offer of a new one; `None` if the user has no password or the server no name.
    pub(crate) offer: Option<PasskeyOffer>,
    /// Whether a new one needs the code of a second factor.
    pub(crate) has_second_factor: bool,
    /// Problem with the last change.
    pub(crate) problem: Option<String>,
}

/// Renders the form that logs in with a passkey.
pub(super) fn passkey_login(context: &FormContext, challenge: &PasskeyChallenge) -> Markup {
    html! {
        form method="post" action=(Endpoint::LoginPasskey.path()) hidden data-passkey="get"
            data-challenge=(challenge.challenge) data-server=(challenge.server) {
            (context.hidden_fields())
            (answer_fields(challenge))
            (failure())
            div.actions { button.secondary type="submit" { "Log in with a passkey" } }
        }
    }
}

/// Renders the fields that the script fills in.
fn answer_fields(challenge: &PasskeyChallenge) -> Markup {
    html! {
        input type="hidden" name="challenge" value=(challenge.sealed);
        @for name in ["credential", "client_data", "authenticator_data", "signature"] {
            input type="hidden" name=(name);
        }
    }
}

/// Renders the text that the script shows if the authenticator gave no answer.
fn failure() -> Markup {
    html! {
        p.notice.error role="alert" hidden data-failure {
            "Your device gave no passkey. Try again, or use another way."
        }
    }
}

/// Returns the page of a user's passkeys.
pub(crate) fn passkeys_page(page: &PasskeysPage) -> Page {
    let content = html! {
        h1 { "Passkeys" }
        (problem(page.problem.as_deref()))
        @for passkey in &page.passkeys { (passkey_card(&page.context, passkey)) }
        @match &page.offer {
            Some(offer) => div.card {
                h2 { "Add a passkey" }
                (offer_form(page, offer))
                noscript { p { "Adding a passkey needs JavaScript." } }
            },
            None => div.card {
                p {
                    "A passkey needs an account with a password, on a server whose address is a name."
                }
            },
        }
        p.muted { a href=(Endpoint::Account.path()) { "Back to your account" } }
    };
    Page::new("Passkeys", content)
}

fn passkey_card(context: &FormContext, passkey: &Passkey) -> Markup {
    let heading = format!("passkey-{}", passkey.id);
    html! {
        section.card aria-labelledby=(heading) {
            h2 id=(heading) dir="auto" { (passkey.name) }
            dl {
                dt { "Added on" }
                dd { (minute(passkey.created_at)) }
                dt { "Last used" }
                dd { @if let Some(at) = passkey.last_used_at { (minute(at)) } @else { "never" } }
            }
            form method="post" action=(Endpoint::Passkeys.path()) {
                (context.hidden_fields())
                input type="hidden" name="passkey" value=(passkey.id);
                button.danger type="submit" name="change" value="remove"
                    aria-describedby=(heading) { "Remove" }
            }
        }
    }
}

fn offer_form(page: &PasskeysPage, offer: &PasskeyOffer) -> Markup {
    let known: Vec<&str> = page.passkeys.iter().map(|passkey| passkey.id.as_str()).collect();
    html! {
        form method="post" action=(Endpoint::Passkeys.path()) hidden data-passkey="create"
            data-challenge=(offer.challenge.challenge) data-server=(offer.challenge.server)
            data-handle=(offer.handle) data-user=(page.user) data-algorithms=(offer.algorithms)
            data-known=(known.join(" ")) {
            p {
                "Your device or your password manager keeps the passkey, and asks for your fingerprint, \
                 your face or a number. A login with it needs neither password nor code."
            }
            (page.context.hidden_fields())
            (answer_fields(&offer.challenge))
            input type="hidden" name="change" value="add";
            div.field {
                label for="title" { "Name" span #title-hint .hint { "Such as the device that keeps it." } }
                input #title type="text" name="title" required maxlength="80" autocomplete="off"
                    aria-describedby="title-hint";
            }
            div.field {
                label for="password" { "Your password" }
                input #password type="password" name="password" required
                    autocomplete="current-password" maxlength="1000";
            }
            @if page.has_second_factor {
                div.field {
                    label for="code" { "Code of your authenticator, or a recovery code" }
                    input #code type="text" name="code" required autocomplete="one-time-code"
                        spellcheck="false" maxlength="40";
                }
            }
            (failure())
            div.actions { button type="submit" { "Add a passkey" } }
        }
    }
}
