//! The socket on which a server listens: TCP, or a Unix socket that only its owner may use.

use std::{io, net::TcpListener};
#[cfg(unix)]
use std::{
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
};

use vademecum_core::config::{ListenAddress, PublicUrl};

/// A socket on which a server listens.
#[derive(Debug)]
pub enum Listener {
    /// TCP socket on an address and a port.
    Tcp(TcpListener),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix socket. It is removed with this value.
#[cfg(unix)]
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl Listener {
    /// Opens a socket. The file of a Unix socket that no server uses any more is replaced.
    pub fn bind(address: &ListenAddress) -> io::Result<Self> {
        match address {
            ListenAddress::Tcp(address) => TcpListener::bind(address).map(Self::Tcp),
            #[cfg(unix)]
            ListenAddress::Unix(path) => bind_unix(path),
            #[cfg(not(unix))]
            ListenAddress::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns where clients find this server.
    pub fn describe(&self) -> io::Result<String> {
        match self {
            Self::Tcp(listener) => Ok(format!("http://{}/mcp", listener.local_addr()?)),
            #[cfg(unix)]
            Self::Unix(_, SocketFile(path)) => {
                Ok(format!("unix:{} (http://localhost/mcp)", path.display()))
            }
        }
    }
}

impl Listener {
    /// Returns the address at which browsers on this machine find this server.
    pub fn site_address(&self) -> io::Result<PublicUrl> {
        let address = match self {
            Self::Tcp(listener) => {
                let address = listener.local_addr()?;
                let host = if address.ip().is_loopback() {
                    address.to_string()
                } else {
                    format!("localhost:{}", address.port())
                };
                format!("http://{host}")
            }
            #[cfg(unix)]
            Self::Unix(..) => "http://localhost".to_owned(),
        };
        address.parse().map_err(io::Error::other)
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

/// Opens a Unix socket whose file only its owner may use.
#[cfg(unix)]
fn bind_unix(path: &Path) -> io::Result<Listener> {
    use std::os::unix::fs::FileTypeExt as _;

    use rustix::fs::Mode;

    let is_socket = path.symlink_metadata().is_ok_and(|it| it.file_type().is_socket());
    let is_abandoned =
        || UnixStream::connect(path).is_err_and(|it| it.kind() == io::ErrorKind::ConnectionRefused);
    if is_socket && is_abandoned() {
        std::fs::remove_file(path)?;
    }
    // The file must not be open to others even for a moment.
    let mask = rustix::process::umask(Mode::XUSR | Mode::RWXG | Mode::RWXO);
    let listener = UnixListener::bind(path);
    rustix::process::umask(mask);
    Ok(Listener::Unix(listener?, SocketFile(path.to_owned())))
}

#[cfg(unix)]
impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, "cannot remove the socket");
        }
    }
}
