//! SSH tunnels to databases, by the system's OpenSSH.
//!
//! [`Tunnel`] is the local end. A `Bastion` logs in by a `Login`, which runs `ssh` with the settings
//! of a profile; the `SshSession` that results opens connections (`multiplexing`). See
//! `docs/adr/0041-ssh-by-openssh.md`.

#[cfg(unix)]
mod bastion;
mod error;
#[cfg(unix)]
mod host_key;
#[cfg(unix)]
mod known_hosts;
#[cfg(unix)]
mod local_forward;
#[cfg(not(unix))]
#[path = "missing.rs"]
mod local_forward;
#[cfg(unix)]
mod login;
#[cfg(unix)]
mod multiplexing;
#[cfg(unix)]
mod session;

pub use error::{TunnelError, TunnelErrorKind};
pub use local_forward::Tunnel;
