//! SSH tunnels to databases.

#[cfg(feature = "ssh")]
mod bastion;
#[cfg(feature = "ssh")]
mod known_hosts;
#[cfg(feature = "ssh")]
mod local_forward;
#[cfg(not(feature = "ssh"))]
#[path = "missing.rs"]
mod local_forward;

pub(crate) use local_forward::Tunnel;
