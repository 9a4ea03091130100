//! A connection as it is accepted, and what the system tells about its other end.

use std::net::SocketAddr;

use actix_web::rt::net::TcpStream;
#[cfg(unix)]
use actix_web::rt::net::UnixStream;
use tokio_util::either::Either;
use vademecum_accounts::CallerAccount;

use super::caller_account::{classify_account, find_account};

/// A connection over TCP, or over a Unix socket where the system has them.
#[cfg(unix)]
pub(crate) type ClientStream = Either<TcpStream, UnixStream>;
/// A connection over TCP.
#[cfg(not(unix))]
pub(crate) type ClientStream = Either<TcpStream, TcpStream>;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Its address, over TCP.
    pub(crate) address: Option<SocketAddr>,
    /// Own address, over TCP.
    local_address: Option<SocketAddr>,
    /// User who opened the connection, over a Unix socket.
    user: Option<u32>,
}

impl Peer {
    /// Reads the addresses of a TCP connection.
    pub(crate) fn of_tcp(stream: TcpStream) -> (ClientStream, Self) {
        let (address, local_address) = (stream.peer_addr().ok(), stream.local_addr().ok());
        (Either::Left(stream), Self { address, local_address, user: None })
    }

    /// Reads the user of a connection over a Unix socket.
    #[cfg(unix)]
    pub(crate) fn of_unix(stream: UnixStream) -> (ClientStream, Self) {
        let user = stream.peer_cred().ok().map(|it| it.uid());
        (Either::Right(stream), Self { address: None, local_address: None, user })
    }

    /// Returns the account that opened the connection. May block for as long as the kernel lists its
    /// connections.
    pub(crate) fn account(self) -> CallerAccount {
        match (self.address, self.local_address) {
            (Some(peer), Some(local)) => find_account(peer, local),
            _ => classify_account(self.user),
        }
    }
}
