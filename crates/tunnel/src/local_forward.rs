//! SSH tunnel to a database that is reachable only through an SSH server.
//!
//! The local end of a tunnel is a loopback address that stays the same for the lifetime of the
//! profile. Connections to it are forwarded through one session on the SSH server. The session is
//! opened on first use, kept alive, reopened after a failure and closed after an idle period.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex as SyncMutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Mutex, OnceCell},
    task::JoinHandle,
};

use super::{
    bastion::Bastion,
    multiplexing::{ForwardError, ForwardedConnection},
    session::SshSession,
};
use crate::{TunnelError, TunnelErrorKind};
use vademecum_core::config::{self, PassphraseSource};

/// Idle time after which a session is closed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);

/// Tunnel of one profile.
#[derive(Debug)]
pub struct Tunnel {
    route: Arc<TunnelRoute>,
    local_end: OnceCell<LocalForward>,
}

/// Local end of a tunnel: a listener on the loopback interface.
#[derive(Debug)]
struct LocalForward {
    address: SocketAddr,
    accept_task: JoinHandle<()>,
}

/// Shared state of a tunnel: SSH server, destination and session.
struct TunnelRoute {
    profile: String,
    bastion: Bastion,
    connect_timeout: Duration,
    idle_timeout: Duration,
    /// Host and port of the database, as seen from the SSH server.
    destination: SyncMutex<(String, u16)>,
    session: Mutex<Option<Arc<SshSession>>>,
    /// Number of uses so far; compared to detect idle periods.
    use_count: AtomicUsize,
    /// Number of connections being forwarded.
    active_connections: AtomicUsize,
}

impl std::fmt::Debug for TunnelRoute {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TunnelRoute")
            .field("bastion", &self.bastion)
            .finish_non_exhaustive()
    }
}

impl Drop for LocalForward {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

impl Tunnel {
    /// Creates a tunnel without opening it.
    pub fn new(
        profile: &str,
        ssh: &config::Ssh,
        connect_timeout: Duration,
        unlock: &PassphraseSource,
    ) -> Self {
        Self::with_idle_timeout(profile, ssh, connect_timeout, unlock, IDLE_TIMEOUT)
    }

    fn with_idle_timeout(
        profile: &str,
        ssh: &config::Ssh,
        connect_timeout: Duration,
        unlock: &PassphraseSource,
        idle: Duration,
    ) -> Self {
        let way = TunnelRoute {
            profile: profile.to_owned(),
            bastion: Bastion::new(profile, ssh, unlock),
            connect_timeout,
            idle_timeout: idle,
            destination: SyncMutex::default(),
            session: Mutex::default(),
            use_count: AtomicUsize::new(0),
            active_connections: AtomicUsize::new(0),
        };
        Self { route: Arc::new(way), local_end: OnceCell::new() }
    }

    /// Opens the tunnel to a host and port, as seen from the SSH server. Returns the address of its
    /// local end.
    pub async fn open_tunnel(&self, host: &str, port: u16) -> Result<SocketAddr, TunnelError> {
        *self.route.destination.lock().unwrap_or_else(PoisonError::into_inner) =
            (host.to_owned(), port);
        self.ensure_session().await?;
        let near = self.local_end.get_or_try_init(|| LocalForward::bind(&self.route)).await;
        let near = near.map_err(|error| {
            let message = "no local port is available for a tunnel";
            TunnelError::new(TunnelErrorKind::Internal, message).with_detail(&error)
        })?;
        Ok(near.address)
    }

    /// Opens the session on the SSH server if there is none.
    pub async fn ensure_session(&self) -> Result<(), TunnelError> {
        self.route.session().await.map(drop)
    }
}

impl LocalForward {
    async fn bind(way: &Arc<TunnelRoute>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self {
            address,
            accept_task: tokio::spawn(accept_connections(listener, Arc::downgrade(way))),
        })
    }
}

/// Accepts connections and forwards each in a task of its own. Ends when the tunnel is dropped.
async fn accept_connections(listener: TcpListener, way: Weak<TunnelRoute>) {
    loop {
        let accepted = listener.accept().await;
        let Some(way) = way.upgrade() else { return };
        match accepted {
            Ok((near, _)) => drop(tokio::spawn(async move { way.forward_connection(near).await })),
            Err(error) => {
                // May be temporary, such as too many open files.
                tracing::warn!(profile = %way.profile, %error, "cannot accept a tunnel connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

impl TunnelRoute {
    /// Returns the session; opens one if there is none or if it was closed.
    async fn session(self: &Arc<Self>) -> Result<Arc<SshSession>, TunnelError> {
        self.use_count.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.session.lock().await;
        if let Some(session) = kept.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(self.bastion.open_session(self.connect_timeout).await?);
        tracing::debug!(profile = %self.profile, "tunnel opened");
        *kept = Some(Arc::clone(&session));
        let watch =
            close_when_idle(Arc::downgrade(self), Arc::downgrade(&session), self.idle_timeout);
        drop(tokio::spawn(watch));
        Ok(session)
    }

    /// Forwards one connection until it ends.
    async fn forward_connection(self: Arc<Self>, mut near: TcpStream) {
        self.active_connections.fetch_add(1, Ordering::Relaxed);
        match self.open_connection().await {
            // The session is kept as long as the connection.
            Ok((far, _session)) => {
                if near.set_nodelay(true).is_ok() {
                    // The client sees for itself that the connection failed.
                    far.copy_with(&mut near).await.ok();
                }
            }
            Err(error) => {
                let detail = error.detail.as_deref().unwrap_or_default();
                tracing::warn!(profile = %self.profile, %error, detail, "cannot forward a tunnel connection");
            }
        }
        self.use_count.fetch_add(1, Ordering::Relaxed);
        self.active_connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Opens a connection to the destination. If the session turns out to be dead, it is reopened
    /// once.
    async fn open_connection(
        self: &Arc<Self>,
    ) -> Result<(ForwardedConnection, Arc<SshSession>), TunnelError> {
        let session = self.session().await?;
        match self.open_through(&session).await {
            Err(ForwardError::SessionLost(_)) => self.discard_session(&session).await,
            Err(error @ ForwardError::Refused(_)) => return Err(self.unreachable_error(&error)),
            Ok(far) => return Ok((far, session)),
        }
        let session = self.session().await?;
        let far = self.open_through(&session).await;
        Ok((far.map_err(|error| self.unreachable_error(&error))?, session))
    }

    async fn open_through(
        &self,
        session: &SshSession,
    ) -> Result<ForwardedConnection, ForwardError> {
        let (host, port) = self.destination.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let opened = session.open_connection(&host, port);
        // A server that disappeared does not answer for minutes.
        let opened = tokio::time::timeout(self.connect_timeout, opened).await;
        opened.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
    }

    /// Drops a session if it is still the current one. Connections that use it continue.
    async fn discard_session(&self, session: &Arc<SshSession>) {
        let mut kept = self.session.lock().await;
        if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, session)) {
            *kept = None;
        }
    }

    fn unreachable_error(&self, error: &ForwardError) -> TunnelError {
        let message =
            format!("the SSH server of the profile `{}` cannot reach the database", self.profile);
        TunnelError::new(TunnelErrorKind::DestinationUnreachable, message).with_detail(error)
    }
}

/// Closes a session that was not used between two checks, `idle` apart.
async fn close_when_idle(way: Weak<TunnelRoute>, session: Weak<SshSession>, idle: Duration) {
    let mut seen = None;
    loop {
        tokio::time::sleep(idle).await;
        let (Some(way), Some(session)) = (way.upgrade(), session.upgrade()) else { return };
        if session.is_closed() {
            return;
        }
        let uses = way.use_count.load(Ordering::Relaxed);
        if way.active_connections.load(Ordering::Relaxed) == 0 && seen == Some(uses) {
            way.discard_session(&session).await;
            tracing::debug!(profile = %way.profile, "idle tunnel closed");
            return;
        }
        seen = Some(uses);
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        sync::mpsc,
    };
    use vademecum_testing::Sshd;

    use super::*;
    use vademecum_core::config::Settings;

    /// Starts a server that echoes its input, and returns its port.
    async fn start_echo_server() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                drop(tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    drop(tokio::io::copy(&mut from, &mut to).await);
                }));
            }
        }));
        port
    }

    /// Returns the settings for a server that is reached through a port of this process. The
    /// receiver gets a message for each session that ends.
    async fn observed_server(sshd: &Sshd) -> (config::Ssh, mpsc::UnboundedReceiver<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (port, server) = (listener.local_addr().unwrap().port(), sshd.port());
        let (known, key) = (sshd.known_hosts(), sshd.create_authorized_key("ed25519", "", &[]));
        let text = std::fs::read_to_string(&known).unwrap();
        std::fs::write(known, text.replace(&server.to_string(), &port.to_string())).unwrap();
        let settings = sshd.profile_settings("shop", &key);
        let settings = settings.replace(&format!("port = {server}"), &format!("port = {port}"));
        let (tell, ended) = mpsc::unbounded_channel();
        drop(tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut far = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await.unwrap();
                let tell = tell.clone();
                drop(tokio::spawn(async move {
                    drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
                    tell.send(())
                }));
            }
        }));
        let profile = format!("[profiles.shop]\ndsn = \"postgres://a@b/c\"\n{settings}");
        let profiles = Settings::parse(&profile).unwrap().profiles;
        (profiles.into_values().next().unwrap().ssh.unwrap(), ended)
    }

    async fn round_trip(near: SocketAddr) -> String {
        let mut stream = TcpStream::connect(near).await.unwrap();
        stream.write_all(b"bread").await.unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[actix::test]
    async fn idle_tunnel_closes_and_reopens_on_use() {
        let (sshd, port) = (Sshd::start(), start_echo_server().await);
        let (ssh, mut ended) = observed_server(&sshd).await;
        let (soon, timeout) = (Duration::from_millis(50), Duration::from_secs(30));
        let tunnel =
            Tunnel::with_idle_timeout("shop", &ssh, timeout, &PassphraseSource::Unset, soon);
        let near = tunnel.open_tunnel("127.0.0.1", port).await.unwrap();
        for _ in 0..2 {
            assert_eq!(round_trip(near).await, "bread");
            assert_eq!(tokio::time::timeout(timeout, ended.recv()).await.unwrap(), Some(()));
        }
        let mut kept = TcpStream::connect(near).await.unwrap();
        for _ in 0..3 {
            kept.write_all(b"bread").await.unwrap();
            kept.read_exact(&mut [0; 5]).await.unwrap();
            let closed = tokio::time::timeout(soon * 3, ended.recv()).await;
            assert!(closed.is_err(), "an active tunnel stays open");
        }
    }

    #[actix::test]
    async fn data_arrives_after_client_stopped_sending() {
        let (sshd, port) = (Sshd::start(), start_echo_server().await);
        let (ssh, _ended) = observed_server(&sshd).await;
        let tunnel = Tunnel::new("shop", &ssh, Duration::from_secs(30), &PassphraseSource::Unset);
        let near = tunnel.open_tunnel("127.0.0.1", port).await.unwrap();
        let sent: Vec<u8> = (0..=u8::MAX).cycle().take(1_000_000).collect();
        let mut stream = TcpStream::connect(near).await.unwrap();
        let (mut reader, mut writer) = stream.split();
        let send = async {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let mut received = Vec::new();
        let ((), read) = tokio::join!(send, reader.read_to_end(&mut received));
        read.unwrap();
        assert!(received == sent, "{} bytes", received.len());
    }
}
