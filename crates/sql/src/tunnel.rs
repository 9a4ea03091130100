//! The way to a database that only an SSH server can reach.
//!
//! A tunnel has a near end, an address on the loopback that stays the same for as
//! long as the profile does: whoever connects there is led on through a session on
//! the SSH server. The session is opened at the first use, kept alive, opened again
//! when it broke, and closed when nobody has used it for a while.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex as SyncMutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use russh::{Channel, Disconnect, client::Msg};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::{Mutex, OnceCell},
    task::JoinHandle,
};

use super::{
    ErrorCode, SqlError,
    ssh::{Bastion, Session},
};
use vademecum_core::config::{self, Unlock};

/// A session that nobody has used for so long is closed.
const IDLE: Duration = Duration::from_mins(5);

/// A tunnel of one profile.
#[derive(Debug)]
pub(super) struct Tunnel {
    way: Arc<Way>,
    near: OnceCell<NearEnd>,
}

/// Where whoever wants through connects.
#[derive(Debug)]
struct NearEnd {
    address: SocketAddr,
    listening: JoinHandle<()>,
}

/// The way through.
struct Way {
    profile: String,
    bastion: Bastion,
    connect_timeout: Duration,
    idle: Duration,
    /// The database, as the SSH server sees it.
    far: SyncMutex<(String, u16)>,
    session: Mutex<Option<Arc<Session>>>,
    /// How often it was used.
    uses: AtomicUsize,
    /// How many connections it leads on at this moment.
    busy: AtomicUsize,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Way").field("bastion", &self.bastion).finish_non_exhaustive()
    }
}

impl Drop for NearEnd {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Tunnel {
    /// A tunnel that is not open.
    pub(super) fn new(
        profile: &str,
        ssh: &config::Ssh,
        connect_timeout: Duration,
        unlock: &Unlock,
    ) -> Self {
        Self::idling(profile, ssh, connect_timeout, unlock, IDLE)
    }

    fn idling(
        profile: &str,
        ssh: &config::Ssh,
        connect_timeout: Duration,
        unlock: &Unlock,
        idle: Duration,
    ) -> Self {
        let way = Way {
            profile: profile.to_owned(),
            bastion: Bastion::new(profile, ssh, unlock),
            connect_timeout,
            idle,
            far: SyncMutex::default(),
            session: Mutex::default(),
            uses: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
        };
        Self { way: Arc::new(way), near: OnceCell::new() }
    }

    /// Opens it, to that place as the SSH server sees it; where its near end is.
    pub(super) async fn lead_to(&self, host: &str, port: u16) -> Result<SocketAddr, SqlError> {
        *self.way.far.lock().unwrap_or_else(PoisonError::into_inner) = (host.to_owned(), port);
        self.open().await?;
        let near = self.near.get_or_try_init(|| NearEnd::of(&self.way)).await;
        let near = near.map_err(|error| {
            let message = "this machine has no port left for a tunnel";
            SqlError::new(ErrorCode::XsqlInternal, message).with_detail(&error)
        })?;
        Ok(near.address)
    }

    /// Sees to it that the SSH server can be reached.
    pub(super) async fn open(&self) -> Result<(), SqlError> {
        self.way.session().await.map(drop)
    }
}

impl NearEnd {
    async fn of(way: &Arc<Way>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { address, listening: tokio::spawn(listen(listener, Arc::downgrade(way))) })
    }
}

/// Leads everybody on who connects.
async fn listen(listener: TcpListener, way: Weak<Way>) {
    loop {
        let accepted = listener.accept().await;
        let Some(way) = way.upgrade() else { return };
        match accepted {
            Ok((near, _)) => drop(tokio::spawn(async move { way.lead_on(near).await })),
            Err(error) => {
                // Such as too many open files: it may pass.
                tracing::warn!(profile = %way.profile, %error, "a tunnel could not be entered");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

impl Way {
    /// The session, opened if it is not there or broke.
    async fn session(self: &Arc<Self>) -> Result<Arc<Session>, SqlError> {
        self.uses.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.session.lock().await;
        if let Some(session) = kept.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(self.bastion.session(self.connect_timeout).await?);
        tracing::debug!(profile = %self.profile, "a tunnel is open");
        *kept = Some(Arc::clone(&session));
        let watch = close_when_idle(Arc::downgrade(self), Arc::downgrade(&session), self.idle);
        drop(tokio::spawn(watch));
        Ok(session)
    }

    /// Leads one connection on, to its end.
    async fn lead_on(self: Arc<Self>, mut near: TcpStream) {
        self.busy.fetch_add(1, Ordering::Relaxed);
        match self.channel().await {
            Ok(channel) => {
                let mut far = channel.into_stream();
                let led = near.set_nodelay(true).map(|()| copy_bidirectional(&mut near, &mut far));
                if let Ok(led) = led {
                    // Whoever talks through it finds out by themselves that it broke.
                    drop(led.await);
                }
            }
            Err(error) => {
                let detail = error.detail.as_deref().unwrap_or_default();
                tracing::warn!(profile = %self.profile, %error, detail, "a tunnel leads nowhere");
            }
        }
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// A channel to the far end. A session that broke without anybody noticing is
    /// opened again, once.
    async fn channel(self: &Arc<Self>) -> Result<Channel<Msg>, SqlError> {
        let session = self.session().await?;
        match self.channel_of(&session).await {
            Err(
                russh::Error::SendError
                | russh::Error::Disconnect
                | russh::Error::HUP
                | russh::Error::ConnectionTimeout,
            ) => {}
            opened => return opened.map_err(|error| self.leads_nowhere(&error)),
        }
        self.forget(&session).await;
        let session = self.session().await?;
        self.channel_of(&session).await.map_err(|error| self.leads_nowhere(&error))
    }

    async fn channel_of(&self, session: &Session) -> Result<Channel<Msg>, russh::Error> {
        let (host, port) = self.far.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let here = Ipv4Addr::LOCALHOST.to_string();
        let opened = session.channel_open_direct_tcpip(host, port.into(), here, 0);
        // A server that is gone without a word gives no answer for minutes.
        let opened = tokio::time::timeout(self.connect_timeout, opened).await;
        opened.map_err(|_| russh::Error::ConnectionTimeout)?
    }

    /// Lets a session go, if it is still the one that is used. Whoever is on their way
    /// through it gets there.
    async fn forget(&self, session: &Arc<Session>) {
        let mut kept = self.session.lock().await;
        if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, session)) {
            *kept = None;
        }
    }

    fn leads_nowhere(&self, error: &russh::Error) -> SqlError {
        let message =
            format!("the SSH server of the profile `{}` cannot reach the database", self.profile);
        SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(error)
    }
}

/// Closes a session that was not used from one look to the next.
async fn close_when_idle(way: Weak<Way>, session: Weak<Session>, idle: Duration) {
    let mut seen = None;
    loop {
        tokio::time::sleep(idle).await;
        let (Some(way), Some(session)) = (way.upgrade(), session.upgrade()) else { return };
        if session.is_closed() {
            return;
        }
        let uses = way.uses.load(Ordering::Relaxed);
        if way.busy.load(Ordering::Relaxed) == 0 && seen == Some(uses) {
            way.forget(&session).await;
            tracing::debug!(profile = %way.profile, "a tunnel is closed: nobody uses it");
            let bye = session.disconnect(Disconnect::ByApplication, "", "en").await;
            return drop(bye);
        }
        seen = Some(uses);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use russh::{
        keys::{Algorithm, PrivateKey, key::safe_rng, ssh_key::LineEnding},
        server::{self, Auth, ChannelOpenHandle, VerifiedPublicKey},
    };
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        sync::mpsc,
    };

    use super::*;
    use vademecum_core::config::Settings;

    /// Lets everybody in, wherever they want to go, and says back what it is told.
    struct Echo;

    impl server::Handler for Echo {
        type Error = russh::Error;

        async fn auth_publickey(
            &mut self,
            _: &str,
            _: VerifiedPublicKey<'_>,
        ) -> Result<Auth, russh::Error> {
            Ok(Auth::Accept)
        }

        async fn channel_open_direct_tcpip(
            &mut self,
            channel: Channel<server::Msg>,
            _: &str,
            _: u32,
            _: &str,
            _: u32,
            reply: ChannelOpenHandle,
            _: &mut server::Session,
        ) -> Result<(), russh::Error> {
            reply.accept().await;
            drop(tokio::spawn(async move {
                let (mut from, mut to) = tokio::io::split(channel.into_stream());
                drop(tokio::io::copy(&mut from, &mut to).await);
            }));
            Ok(())
        }
    }

    /// An SSH server, known in `folder`, that tells of every session that has ended.
    async fn echo(folder: &Path) -> (config::Ssh, mpsc::UnboundedReceiver<()>) {
        let key = PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let public = key.public_key().to_openssh().unwrap();
        let (known, identity) = (folder.join("known_hosts"), folder.join("identity"));
        fs::write(&known, format!("[127.0.0.1]:{port} {public}\n")).unwrap();
        fs::write(&identity, key.to_openssh(LineEnding::LF).unwrap().as_bytes()).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            fs::set_permissions(&identity, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let settings = Settings::parse(&format!(
            "[profiles.shop]\ndsn = \"postgres://a@b/c\"\n[profiles.shop.ssh]\n\
             host = \"127.0.0.1\"\nport = {port}\nuser = \"ada\"\nidentity_file = '{}'\n\
             known_hosts_file = '{}'\n",
            identity.display(),
            known.display()
        ));
        let ssh = settings.unwrap().profiles.into_values().next().unwrap().ssh.unwrap();
        let config = Arc::new(server::Config { keys: vec![key], ..server::Config::default() });
        let (tell, ended) = mpsc::unbounded_channel();
        drop(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let session = server::run_stream(Arc::clone(&config), stream, Echo).await;
                let tell = tell.clone();
                drop(tokio::spawn(async move {
                    drop(session.unwrap().await);
                    tell.send(())
                }));
            }
        }));
        (ssh, ended)
    }

    async fn through(near: SocketAddr) -> String {
        let mut stream = TcpStream::connect(near).await.unwrap();
        stream.write_all(b"bread").await.unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[actix::test]
    async fn a_tunnel_that_nobody_uses_is_closed_and_opened_again_when_somebody_does() {
        let folder = tempfile::tempdir().unwrap();
        let (ssh, mut ended) = echo(folder.path()).await;
        let (soon, patience) = (Duration::from_millis(50), Duration::from_secs(30));
        let tunnel = Tunnel::idling("shop", &ssh, patience, &Unlock::Nothing, soon);
        let near = tunnel.lead_to("db", 5_432).await.unwrap();
        for _ in 0..2 {
            assert_eq!(through(near).await, "bread");
            assert_eq!(tokio::time::timeout(patience, ended.recv()).await.unwrap(), Some(()));
        }
        let mut kept = TcpStream::connect(near).await.unwrap();
        for _ in 0..3 {
            kept.write_all(b"bread").await.unwrap();
            kept.read_exact(&mut [0; 5]).await.unwrap();
            let closed = tokio::time::timeout(soon * 3, ended.recv()).await;
            assert!(closed.is_err(), "one that somebody uses stays open");
        }
    }
}
