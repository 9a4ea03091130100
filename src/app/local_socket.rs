//! The local socket of the data folder, by which other programs of this account use the server.

use vademecum_core::config::{AuthMode, Settings};
use vademecum_store::DataFolder;
use vademecum_web::LocalSocket;

/// Opens the local socket of a server for one user, unless another server has opened it. A server without one
/// serves HTTP as usual, and the other programs use the library by themselves.
pub(super) fn open_local_socket(settings: &Settings, data: &DataFolder) -> Option<LocalSocket> {
    #[cfg(unix)]
    if settings.auth.mode == AuthMode::Single {
        match LocalSocket::open(data.path(), settings.digest()) {
            Ok(Some(socket)) => return Some(socket),
            Ok(None) => tracing::warn!("another server serves this data folder already"),
            Err(error) => tracing::warn!(%error, "cannot open the socket of the data folder"),
        }
    }
    #[cfg(not(unix))]
    let _ = (settings, data);
    None
}
