//! Shared test support: runs the program as a command, serves it over HTTP, WebSocket and stdio,
//! and provides clients, test data and fake external services.

mod all_engines;
pub(crate) mod collection_fixtures;
pub(crate) mod database_servers;
mod endless_library;
mod event_stream;
mod folder_snapshot;
mod http;
mod http_client;
pub(crate) mod import_graph;
mod library;
mod mcp_client;
mod oauth;
#[cfg(unix)]
mod process;
mod provider;
#[cfg(target_os = "linux")]
mod raw_websocket;
pub(crate) mod rust_words;
mod sample_files;
mod seeded_rng;
mod server;
mod stateless_client;
mod stdio_client;
mod temp_home;
mod text_assertions;
mod tldw;
mod token;
pub(crate) mod web_site;
mod websocket_client;
mod wire_recorder;
pub(crate) mod workspace_files;

pub(crate) use all_engines::{AllEngines, PROFILES};
pub(crate) use database_servers::{TestDatabase, require_env};
pub(crate) use event_stream::EventStream;
pub(crate) use folder_snapshot::folder_snapshot;
pub(crate) use http::{HttpRequest, HttpResponse};
pub(crate) use http_client::HttpClient;
pub(crate) use library::{CommandOutput, Library, SOURCES};
pub(crate) use mcp_client::{McpClient, json_rpc_request};
pub(crate) use oauth::{
    AuthorizationUrl, Browser, OAuthClient, OAuthServer, form_field, location_parameter,
};
#[cfg(unix)]
pub(crate) use process::terminate;
#[cfg(target_os = "linux")]
pub(crate) use process::{child_processes, peak_resident_mb, resident_mb};
pub(crate) use provider::{FakeProvider, ProviderReply, ProviderRequest};
#[cfg(target_os = "linux")]
pub(crate) use raw_websocket::{Opcode, RawWebSocket, encode_frame};
pub(crate) use sample_files::{character_card, claude_conversation, png_card, prompts_csv};
pub(crate) use seeded_rng::SeededRng;
pub(crate) use server::Server;
pub(crate) use stateless_client::{StatelessClient, with_client_meta};
pub(crate) use stdio_client::StdioClient;
pub(crate) use temp_home::TempHome;
pub(crate) use tldw::{TldwDirectory, TldwVariant};
pub(crate) use token::{Algorithm, KeyServer, TokenIssuer, key_set_path, unix_now};
pub(crate) use web_site::{WebReply, WebSite};
pub(crate) use websocket_client::{ReceivedFrame, WebSocketClient};

use std::{
    fmt::Write as _,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use vademecum_core::config::Settings;
use vademecum_store::DataFolder;

/// Maximum time that a test waits for a reply before it fails.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval between the checks of a condition that another process fulfils.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a condition holds that another process fulfils. Panics after two minutes.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_mins(2), "timed out waiting for {what}");
        thread::sleep(CHECK_INTERVAL);
    }
}

/// Environment variable with a database in which each data folder follows an archive.
const ARCHIVE_VARIABLE: &str = "VADEMECUM_IT_ARCHIVE";

/// Returns whether data folders follow an archive.
pub(crate) fn follows_archive() -> bool {
    std::env::var_os(ARCHIVE_VARIABLE).is_some()
}

/// Returns a command that runs the program built with these tests. If data folders follow an archive,
/// a script names that of the data folder in the arguments.
pub(crate) fn vademecum_command() -> Command {
    let mut command = Command::new(if follows_archive() {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/with_archive.sh")
    } else {
        env!("CARGO_BIN_EXE_vademecum")
    });
    // The settings of the person who runs the tests do not count.
    command.env("XDG_CONFIG_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/target/no-settings"));
    command
}

/// Opens a data folder as the program does.
#[expect(clippy::disallowed_methods, reason = "tests have no settings")]
pub(crate) fn open_data_folder(path: &Path) -> DataFolder {
    let mut settings = Settings::default();
    if let Ok(url) = std::env::var(ARCHIVE_VARIABLE) {
        let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
        let digest = digest.iter().take(12).fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        });
        settings = Settings::parse(&format!(
            "archive = {{ url = \"{url}\", allow_plaintext = true, schema = \"it_{digest}\" }}"
        ))
        .unwrap();
    }
    settings.storage.data = Some(path.to_owned());
    vademecum::app::open_data_folder(&settings).unwrap()
}
