//! Address on which a server listens.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use schemars::JsonSchema;
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// Prefix of the path of a Unix socket.
const UNIX_PREFIX: &str = "unix:";

/// Address on which a server listens: `127.0.0.1:7744`, or `unix:PATH` for a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq, DeserializeFromStr, SerializeDisplay, JsonSchema)]
#[schemars(with = "String")]
pub enum ListenAddress {
    /// Address and port.
    Tcp(SocketAddr),
    /// Absolute path of a socket, which is created with access for its owner only.
    Unix(PathBuf),
}

/// Error for a text that is neither an address nor the path of a socket.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is neither an address such as 127.0.0.1:7744 nor an absolute path such as unix:/run/vademecum.sock"
)]
pub struct ListenAddressError(String);

impl Default for ListenAddress {
    fn default() -> Self {
        Self::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 7_744)))
    }
}

impl ListenAddress {
    /// Returns the address and port, unless it is a Unix socket.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Returns true if only this machine can connect.
    pub fn is_local(&self) -> bool {
        self.tcp().is_none_or(|address| address.ip().is_loopback())
    }
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || ListenAddressError(text.chars().take(200).collect());
        match text.strip_prefix(UNIX_PREFIX).map(PathBuf::from) {
            Some(path) if cfg!(unix) && path.is_absolute() => Ok(Self::Unix(path)),
            Some(_) => Err(invalid()),
            None => text.parse().map(Self::Tcp).map_err(|_| invalid()),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(out),
            Self::Unix(path) => write!(out, "{UNIX_PREFIX}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn address_is_tcp_or_absolute_path() {
        for text in ["127.0.0.1:7744", "[::1]:0", "unix:/run/vademecum.sock"] {
            let address: ListenAddress = text.parse().unwrap();
            assert!(address.to_string() == text && address.is_local());
        }
        for text in ["", "unix:", "unix:a.sock", "localhost", "/run/a.sock"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }
}
