//! The client program: its capabilities, its preferences and the defaults that it sets.

pub(crate) mod app;
mod capability;
mod defaults;
mod known_clients;
mod name_style;

pub use app::{APP_MIME_TYPE, offline_app_meta};
pub use capability::ClientCapabilities;
pub use defaults::{DefaultsError, ReadConfig, RequestDefaults, ResultText, Shape};
pub use known_clients::Client;
pub use name_style::NameStyle;
