//! The settings, and the wishes that clients bring along in an address.

use vademecum_core::config::Settings;
use vademecum_mcp::Defaults;

/// Reads the text of a settings file.
pub(super) fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(settings) = Settings::parse(text) {
        settings.listen().ok();
        settings.auth.authorization_servers();
        settings.limits.patience();
    }
}

/// Reads a `config`, as it stands in an address and as it is inside.
pub(super) fn config(bytes: &[u8]) {
    Defaults::from_json(bytes).ok();
    if let Ok(text) = std::str::from_utf8(bytes) {
        Defaults::from_base64(text).ok();
    }
}
