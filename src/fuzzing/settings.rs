//! Fuzzing of settings files and of the options that clients pass in the address.

use vademecum_core::config::Settings;
use vademecum_mcp::RequestDefaults;

/// Parses the text of a settings file.
pub(super) fn fuzz_settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(settings) = Settings::parse(text) {
        settings.listen_address().ok();
        settings.auth.authorization_servers(settings.server.public_url.as_ref());
        settings.limits.source_timeout();
    }
}

/// Parses client options as JSON and as base64, as they are encoded in an address.
pub(super) fn fuzz_client_options(bytes: &[u8]) {
    RequestDefaults::from_json(bytes).ok();
    if let Ok(text) = std::str::from_utf8(bytes) {
        RequestDefaults::from_base64(text).ok();
    }
}
