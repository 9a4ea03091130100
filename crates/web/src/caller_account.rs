//! Account of the operating system that opened a connection to this machine.

use std::{io, net::SocketAddr};

use vademecum_accounts::CallerAccount;

/// Returns the account whose process opened the connection from `peer` to `local`. Blocks while the
/// kernel lists its connections.
pub(crate) fn find_account(peer: SocketAddr, local: SocketAddr) -> CallerAccount {
    match find_user_id(peer, local) {
        Ok(user) => classify_account(user),
        Err(error) => {
            tracing::debug!(%error, "the system does not tell who opened a connection");
            CallerAccount::Unknown
        }
    }
}

/// Returns whether a user is the one who runs this server.
#[cfg(unix)]
pub(crate) fn classify_account(user: Option<u32>) -> CallerAccount {
    // Linux shows this number for accounts that the server's user namespace does not have.
    let unmapped = std::fs::read_to_string("/proc/sys/kernel/overflowuid")
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match user {
        Some(user) if Some(user) == unmapped => CallerAccount::Unknown,
        Some(user) if user == rustix::process::geteuid().as_raw() => CallerAccount::Own,
        Some(_) => CallerAccount::Other,
        None => CallerAccount::Unknown,
    }
}

/// Returns whether a user is the one who runs this server.
#[cfg(not(unix))]
pub(crate) fn classify_account(_: Option<u32>) -> CallerAccount {
    CallerAccount::Unknown
}

#[cfg(not(target_os = "linux"))]
fn find_user_id(_: SocketAddr, _: SocketAddr) -> io::Result<Option<u32>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the user who owns the client's end of a connection, from the lists of the kernel. A
/// client may reach an IPv4 address by an IPv6 socket, so both lists are searched.
#[cfg(target_os = "linux")]
fn find_user_id(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<u32>> {
    let mapped = |address: SocketAddr| match address {
        SocketAddr::V4(it) => SocketAddr::new(it.ip().to_ipv6_mapped().into(), it.port()),
        SocketAddr::V6(_) => address,
    };
    let canonical =
        |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (peer, local) = (canonical(peer), canonical(local));
    for (list, peer, local) in
        [("/proc/net/tcp", peer, local), ("/proc/net/tcp6", mapped(peer), mapped(local))]
    {
        let text = match std::fs::read_to_string(list) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            text => text?,
        };
        if let Some(user) = parse_owner(&text, peer, local) {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// Returns the owner of the connection between two addresses in a list such as `/proc/net/tcp`.
#[cfg(target_os = "linux")]
fn parse_owner(list: &str, from: SocketAddr, to: SocketAddr) -> Option<u32> {
    let ends = format!(" {} {} ", format_address(from), format_address(to));
    let line = list.lines().find(|line| line.contains(&ends))?;
    let mut fields = line.split_whitespace();
    let state = fields.nth(3)?;
    let (user, inode) = (fields.nth(3)?, fields.nth(1)?);
    // A socket without an inode has no process any more, and its user is shown as 0.
    (state == "01" && inode != "0").then(|| user.parse().ok()).flatten()
}

/// Formats an address as the kernel does: words of 32 bits in the byte order of the machine.
#[cfg(target_os = "linux")]
fn format_address(address: SocketAddr) -> String {
    use std::net::IpAddr;

    let word = |bytes: &[u8]| {
        let word = bytes.try_into().map_or(0, u32::from_ne_bytes);
        format!("{word:08X}")
    };
    let host: String = match address.ip() {
        IpAddr::V4(host) => word(&host.octets()),
        IpAddr::V6(host) => host.octets().chunks(4).map(word).collect(),
    };
    format!("{host}:{:04X}", address.port())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn own_connection_is_recognised() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (peer, local) = (client.local_addr().unwrap(), listener.local_addr().unwrap());
            assert_eq!(find_account(peer, local), CallerAccount::Own, "{host}");
            drop(client);
            let free = SocketAddr::new(peer.ip(), 1);
            assert_eq!(find_account(free, local), CallerAccount::Unknown, "{host}");
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn owner_is_read_from_kernel_list() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:A1B2 0100007F:1E40 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n   \
            1: 0100007F:A1B3 0100007F:1E40 06 00000000:00000000 00:00000000 00000000     0        0 0 1\n";
        let owner = |port: u16| {
            parse_owner(list, ([127, 0, 0, 1], port).into(), ([127, 0, 0, 1], 7_744).into())
        };
        assert_eq!((owner(0xA1B2), owner(0xA1B3), owner(0xA1B4)), (Some(1_000), None, None));
    }
}
