//! A session on an SSH server: a running `ssh`, logged in.

use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;
use tokio::process::{Child, ChildStdin};

use super::multiplexing::{ForwardError, ForwardedConnection};

/// Socket on which `ssh` takes requests for connections, in the folder of its login.
const CONTROL_SOCKET: &str = "control";

/// A running `ssh`. It is killed when this value is dropped, and ends by itself when this program
/// ends.
#[derive(Debug)]
pub(super) struct SshSession {
    child: Mutex<Child>,
    /// Standard input of `ssh`, which ends when this is closed.
    _input: ChildStdin,
    // Removed after `ssh` was killed.
    folder: TempDir,
}

impl SshSession {
    /// Wraps a `ssh` that is logged in and has its control socket in `folder`.
    pub(super) fn new(child: Child, input: ChildStdin, folder: TempDir) -> Self {
        Self { child: Mutex::new(child), _input: input, folder }
    }

    /// Returns true if `ssh` has ended.
    pub(super) fn is_closed(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(child.try_wait(), Ok(None))
    }

    /// Opens a connection to a host and port, as seen from the server.
    pub(super) async fn open_connection(
        &self,
        host: &str,
        port: u16,
    ) -> Result<ForwardedConnection, ForwardError> {
        ForwardedConnection::open(&self.folder.path().join(CONTROL_SOCKET), host, port).await
    }
}
