//! Transport of the authorization server: metadata, the endpoints for clients, and the pages for
//! users. Requests become calls of [`vademecum_oauth`], whose answers become pages and redirects.

mod account;
mod authorize;
mod browser;
mod form;
mod login;
mod login_target;
mod metadata;
mod passkeys;
mod provider;
mod reply;
mod routes;
mod second_factor;
mod token;

pub(super) use authorize::foreign_form;
pub(super) use browser::{AuditEvent, Browser};
pub(super) use form::PageForm;
pub(crate) use form::accepts_form;
pub(super) use login_target::LoginTarget;
pub(super) use reply::{ServerFailure, page_response, redirect, run_blocking};
pub(crate) use routes::configure_oauth_routes;
