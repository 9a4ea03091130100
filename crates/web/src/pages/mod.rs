//! The pages of the library for its user, in a browser. Its handlers call
//! the functions that tools call, within the protocol service's `run_as_tool`: rights, limits and the
//! audit log are those of every call (`docs/adr/0038-pages.md`).
//!
//! Start reading at [`PageRequest`](page_request::PageRequest).

mod account;
mod activity;
mod clip;
mod collections;
mod connect;
mod edit;
mod form_text;
mod health;
mod history;
mod home;
mod imports;
mod item;
mod item_file;
mod map;
mod page_request;
mod page_services;
mod routes;
mod search;
mod selection;
mod text_form;
mod timeline;
mod upload;

pub use page_services::PageServices;
pub(super) use routes::configure_page_routes;
