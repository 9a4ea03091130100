//! The page on which users see the clients they have admitted and their keys, and revoke them.

use maud::{Markup, html};
use vademecum_accounts::KeyRecord;
use vademecum_core::auth::UserId;
use vademecum_oauth::{Endpoint, Grant, LoginRecord};

use super::{FormContext, Page, parts::minute};

/// Path of the form that revokes a key.
pub(crate) const REVOKE_KEY_PATH: &str = "/clients/revoke";

/// Path of the form that logs a browser out.
pub(crate) const END_LOGIN_PATH: &str = "/clients/log-out";

/// Returns the page with the valid grants and keys of a user. Without `keys`, those are not shown.
/// `browsers` are those in which the user is logged in.
/// `has_passwords` tells whether users log in with passwords.
pub(crate) fn account_page(
    context: &FormContext,
    user: &UserId,
    grants: &[Grant],
    keys: Option<&[KeyRecord]>,
    browsers: &[LoginRecord],
    has_passwords: bool,
) -> Page {
    let content = html! {
        h1 { "Programs that may use your library" }
        @if keys.is_none() { p.muted { "You are logged in as " strong { (user) } "." } }
        @if grants.is_empty() && keys.is_none_or(<[_]>::is_empty) {
            div.card { p { "You have allowed none." } }
        }
        @for grant in grants { (grant_card(context, grant)) }
        @if has_passwords {
            p {
                "Your login: "
                a href=(Endpoint::SecondFactor.path()) { "second factor" } ", "
                a href=(Endpoint::Passkeys.path()) { "passkeys" }
            }
        }
        @if let Some(keys) = keys {
            @if !keys.is_empty() { h2 { "Keys" } }
            @for key in keys { (key_card(context, key)) }
            h2 { "Browsers" }
            p.muted { "A browser stays logged in until it was not used for 90 days." }
            @for browser in browsers { (browser_card(context, browser)) }
        } @else {
            form method="post" action=(Endpoint::Logout.path()) {
                (context.hidden_fields())
                div.actions { button.secondary type="submit" { "Log out" } }
            }
        }
    };
    Page::new("Your programs", content)
}

fn grant_card(context: &FormContext, grant: &Grant) -> Markup {
    let heading = format!("grant-{}", grant.key.id);
    html! {
        section.card aria-labelledby=(heading) {
            h2 id=(heading) { (grant.destination) }
            dl {
                dt { "It calls itself" }
                dd dir="auto" { (grant.key.name) }
                (key_rows(&grant.key, "Allowed on"))
            }
            form method="post" action=(Endpoint::RevokeGrant.path()) {
                (context.hidden_fields())
                input type="hidden" name="grant" value=(grant.key.id);
                button.danger type="submit" aria-describedby=(heading) { "Revoke" }
            }
        }
    }
}

fn key_card(context: &FormContext, key: &KeyRecord) -> Markup {
    let heading = format!("key-{}", key.id);
    html! {
        section.card aria-labelledby=(heading) {
            h3 id=(heading) dir="auto" {
                @if key.name.is_empty() { "Key " (key.id) } @else { (key.name) }
            }
            dl {
                dt { "Key" }
                dd { code { (key.id) } }
                (key_rows(key, "Created on"))
            }
            form method="post" action=(REVOKE_KEY_PATH) {
                (context.hidden_fields())
                input type="hidden" name="key" value=(key.id);
                button.danger type="submit" aria-describedby=(heading) { "Revoke" }
            }
        }
    }
}

fn browser_card(context: &FormContext, browser: &LoginRecord) -> Markup {
    let day = browser.last_used_at.to_string();
    let day = day.get(..10).unwrap_or(&day);
    let heading = format!("browser-{}", browser.id);
    html! {
        section.card aria-labelledby=(heading) {
            h3 id=(heading) {
                @if browser.is_current { "This browser" } @else { "Browser last used on " (day) }
            }
            form method="post" action=(END_LOGIN_PATH) {
                (context.hidden_fields())
                input type="hidden" name="browser" value=(browser.id);
                button.danger type="submit" aria-describedby=(heading) { "Log out" }
            }
        }
    }
}

fn key_rows(key: &KeyRecord, created: &str) -> Markup {
    let limits = key.scope.describe();
    html! {
        dt { "Rights" }
        dd { (key.rights) @if !limits.is_empty() { "; " (limits) } }
        dt { (created) }
        dd { (minute(key.created_at)) @if let Some(end) = key.expires_at { ", until " (minute(end)) } }
        dt { "Last used" }
        dd { @if let Some(at) = key.last_used_at { (minute(at)) } @else { "never" } }
    }
}
