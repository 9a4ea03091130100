//! The consent page: who asks for what, and where the answer goes.

use maud::{Markup, html};
use vademecum_core::auth::{Right, UserId};
use vademecum_oauth::{ClientKind, ConsentForm, Endpoint};

use super::{FormContext, Page, fields::problem};

/// Sources that a grant can be limited to, with what they hold.
pub(crate) const SOURCES: [(&str, &str); 7] = [
    ("notes", "Notes"),
    ("media", "Documents, recordings and web pages"),
    ("chats", "Conversations"),
    ("characters", "Characters"),
    ("prompts", "Prompts"),
    ("collections", "Collections"),
    ("databases", "Databases"),
];

/// Returns the page that asks a user for consent.
pub(crate) fn consent_page(
    context: &FormContext,
    user: &UserId,
    form: &ConsentForm,
    refusal: Option<&str>,
) -> Page {
    let title = if form.is_loopback {
        "Let a program on this device use your library?".to_owned()
    } else {
        format!("Let {} use your library?", form.destination)
    };
    let content = html! {
        div.card {
            h1 { (title) }
            (problem(refusal))
            (describe_client(form))
            form method="post" action=(Endpoint::Authorize.path()) {
                (context.hidden_fields())
                input type="hidden" name="shown" value=(form.shown);
                (right_choices(form))
                (limits())
                div.actions {
                    button type="submit" name="decision" value="allow" { "Allow" }
                    button.secondary type="submit" name="decision" value="refuse" { "Refuse" }
                }
            }
        }
        p.muted {
            "You are logged in as " strong { (user) } ". "
            a href=(Endpoint::Account.path()) { "See and revoke what you have allowed" }
        }
    };
    Page::new(title, content)
}

fn describe_client(form: &ConsentForm) -> Markup {
    html! {
        dl {
            dt { "It calls itself" }
            dd dir="auto" { (form.client.display_name()) }
            dt { "The answer goes to" }
            dd {
                span.host { (form.destination) }
                @if form.is_loopback { ", a program on the device in front of you" }
            }
            @if form.client.kind == ClientKind::Document {
                dt { "It is described at" }
                dd {
                    span.host { (form.client.document_host().unwrap_or_default()) }
                    ", in " code { (form.client.id) }
                }
            }
        }
        @for warning in &form.warnings { p.notice.error role="alert" { (warning) } }
        p.notice.warning {
            "The program chose its name itself. Allow it only if you have just asked it to connect, \
             and know the place where the answer goes."
        }
    }
}

fn right_choices(form: &ConsentForm) -> Markup {
    let strongest_asked =
        form.offered.iter().rev().find(|right| form.requested.contains(**right)).copied();
    // Many clients ask for all rights there are; administration is chosen by hand.
    let chosen = strongest_asked.min(Some(Right::Write));
    html! {
        fieldset {
            legend { "It may" }
            @for right in &form.offered {
                div.choice {
                    input type="radio" name="rights" id={ "right-" (right) } value=(right)
                        checked[chosen == Some(*right)] required;
                    label for={ "right-" (right) } {
                        (describe_right(*right))
                        @if strongest_asked == Some(*right) { span.hint { "The program asks for this." } }
                    }
                }
            }
        }
    }
}

fn describe_right(right: Right) -> &'static str {
    match right {
        Right::Read => "search and read",
        Right::Write => "search, read, and change or delete items",
        Right::Admin => "all of that, and administer the server",
    }
}

fn limits() -> Markup {
    html! {
        details {
            summary { "Limit what it sees" }
            fieldset {
                legend { "Only these sources" }
                @for (name, title) in SOURCES {
                    div.choice {
                        input type="checkbox" name="source" id={ "source-" (name) } value=(name)
                            checked;
                        label for={ "source-" (name) } { (title) }
                    }
                }
            }
            div.field {
                label for="tags" {
                    "Only items with one of these tags"
                    span #tags-hint .hint { "Separated by commas. Empty: all items." }
                }
                input #tags type="text" name="tags" aria-describedby="tags-hint" maxlength="500"
                    autocapitalize="none" autocomplete="off";
            }
            div.field {
                label for="tools" {
                    "Only these tools"
                    span #tools-hint .hint {
                        "Separated by commas, such as " code { "knowledge.*, notes.get" }
                        ". Empty: all tools."
                    }
                }
                input #tools type="text" name="tools" aria-describedby="tools-hint" maxlength="500"
                    autocapitalize="none" autocomplete="off" spellcheck="false";
            }
        }
    }
}
