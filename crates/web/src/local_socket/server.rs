//! The side of the server: listens on the socket and serves each connection as standard input and
//! output are served.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::timeout,
};
use vademecum_accounts::Credentials;
use vademecum_core::{
    auth::Principal,
    config::{ListenAddress, ToolNames},
};
use vademecum_mcp::{NameStyle, Peer, PeerConnection, RequestDefaults, Service};
use vademecum_store::create_private_folder;

use super::{
    Greeting,
    greeting::{GreetingReply, MAX_GREETING_BYTES, SOCKET_NAME},
};
use crate::{
    ServerState,
    caller_account::classify_account,
    connection_loop::ConnectionLoop,
    listener::{Listener, SocketFile},
    stdio::{FINAL_WRITE_TIMEOUT, InputLine, parse_line, write_messages},
};

/// Name of the file that the server of a data folder keeps locked. The lock ends with the process.
const LOCK_NAME: &str = "server.lock";
/// Maximum time for the first line to arrive.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of connections whose first line has not arrived.
const MAX_GREETINGS: usize = 64;
/// Pause after a connection could not be accepted, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The local socket of a data folder. Its file is removed with this value.
#[derive(Debug)]
pub struct LocalSocket {
    listener: std::os::unix::net::UnixListener,
    settings: String,
    _file: SocketFile,
    _lock: File,
}

impl LocalSocket {
    /// Opens the local socket of a data folder for programs whose settings have this digest. Returns `None` if
    /// another server has opened it. What a killed server left is replaced.
    pub fn open(folder: &Path, settings: String) -> io::Result<Option<Self>> {
        create_private_folder(folder).map_err(io::Error::other)?;
        let folder = fs::canonicalize(folder)?;
        let lock = folder.join(LOCK_NAME);
        File::options().create(true).truncate(false).write(true).open(&lock)?;
        // A disk with a file that is open for writing could not be remounted read-only.
        let lock = File::open(lock)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        match Listener::bind(&ListenAddress::Unix(folder.join(SOCKET_NAME)))? {
            Listener::Unix(listener, file) => {
                listener.set_nonblocking(true)?;
                Ok(Some(Self { listener, settings, _file: file, _lock: lock }))
            }
            Listener::Tcp(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Serves the programs that connect to a local socket.
#[derive(Clone)]
pub(crate) struct LocalService {
    state: ServerState,
    settings: Arc<str>,
    greetings: Arc<Semaphore>,
}

impl LocalService {
    /// Serves until the server stops.
    pub(crate) async fn serve(socket: LocalSocket, state: ServerState) -> io::Result<()> {
        let listener = UnixListener::from_std(socket.listener)?;
        let service = Self {
            state,
            settings: socket.settings.into(),
            greetings: Arc::new(Semaphore::new(MAX_GREETINGS)),
        };
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(permit) = Arc::clone(&service.greetings).acquire_owned().await else { break };
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection to the local socket");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
                () = service.state.service.wait_for_shutdown() => break,
            };
            connections.spawn_local(service.clone().serve_connection(stream, permit));
        }
        // Each ends within the grace period.
        while connections.join_next().await.is_some() {}
        Ok(())
    }

    async fn serve_connection(self, stream: UnixStream, permit: OwnedSemaphorePermit) {
        let greeted = timeout(GREETING_TIMEOUT, self.greet(stream)).await;
        drop(permit);
        match greeted {
            Ok(Ok(Some((reader, writer, peer)))) => self.talk(reader, writer, peer).await,
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a program left the local socket"),
            Err(_) => tracing::debug!("a program sent nothing to the local socket"),
        }
    }

    /// Reads the first line and answers it. Returns `None` for a program that is refused.
    async fn greet(
        &self,
        stream: UnixStream,
    ) -> io::Result<Option<(BufReader<OwnedReadHalf>, OwnedWriteHalf, Peer)>> {
        let account = classify_account(stream.peer_cred().ok().map(|peer| peer.uid()));
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        let mut line = String::new();
        (&mut reader).take(MAX_GREETING_BYTES).read_line(&mut line).await?;
        let admitted = match serde_json::from_str::<Greeting>(&line) {
            Err(_) => Err("the first line is not that of this version".to_owned()),
            Ok(request) if *request.settings != *self.settings => {
                Err("it has read other settings, or is another version".to_owned())
            }
            Ok(request) => {
                let token = request.token.clone();
                let credentials = Credentials { token, account, ..Credentials::default() };
                let caller = self.state.authenticator.authenticate(&credentials).await;
                caller
                    .map(|principal| peer(principal, request.tool_names))
                    .map_err(|it| it.to_string())
            }
        };
        let (reply, peer) = match admitted {
            Ok(peer) => (GreetingReply::Ready, Some(peer)),
            Err(reason) => (GreetingReply::Refused(reason), None),
        };
        let reply = serde_json::to_string(&reply)? + "\n";
        writer.write_all(reply.as_bytes()).await?;
        Ok(peer.map(|peer| (reader, writer, peer)))
    }

    /// Serves a connection until either side ends it. Pending calls are completed first, within the
    /// grace period.
    async fn talk(&self, mut reader: BufReader<OwnedReadHalf>, writer: OwnedWriteHalf, peer: Peer) {
        let Ok(_permit) = self.state.service.acquire_connection_permit(&peer.principal) else {
            return;
        };
        let Some((mut connection_loop, out)) = ConnectionLoop::start(&self.state, peer) else {
            return;
        };
        let longest = self.state.server.max_message_bytes.get();
        let mut writer = actix_web::rt::spawn(write_messages(writer, out));
        let mut is_gone = false;
        loop {
            let line = tokio::select! {
                line = read_line(&mut reader, longest) => line,
                () = self.state.service.wait_for_shutdown() => break,
                _ = &mut writer => {
                    is_gone = true;
                    break;
                }
            };
            let work = async {
                match line {
                    Ok(Some(InputLine::Message(message))) => {
                        let in_flight = connection_loop.bytes_in_flight();
                        connection_loop.dispatch(message, in_flight).await;
                    }
                    Ok(Some(InputLine::TooLong)) => {
                        connection_loop.send_message(Service::too_long(longest)).await;
                    }
                    Ok(None) | Err(_) => return false,
                }
                true
            };
            tokio::select! {
                goes_on = work => if !goes_on { break },
                () = self.state.service.wait_for_shutdown() => break,
            }
        }
        if is_gone {
            return;
        }
        let grace = self.state.server.grace_period();
        // A program that reads nothing must not keep the server alive.
        let ended = async {
            connection_loop.wait_until_idle().await;
            drop(connection_loop);
            (&mut writer).await.ok();
        };
        if timeout(grace + FINAL_WRITE_TIMEOUT, ended).await.is_err() {
            writer.abort();
        }
    }
}

/// Returns the peer of a connection.
fn peer(principal: Principal, names: Option<ToolNames>) -> Peer {
    Peer {
        principal,
        session: None,
        defaults: RequestDefaults::default(),
        ignored_config: Vec::new(),
        name_style: match names {
            Some(ToolNames::Dotted) => Some(NameStyle::Dotted),
            Some(ToolNames::Underscored) => Some(NameStyle::Underscored),
            Some(ToolNames::Auto) | None => None,
        },
        headers: None,
        call_permits: None,
        connection: Some(PeerConnection { transport: "stdio", address: None }),
    }
}

/// Reads the next line that looks like a message.
async fn read_line(
    reader: &mut BufReader<OwnedReadHalf>,
    longest: usize,
) -> io::Result<Option<InputLine>> {
    let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    loop {
        let mut line = Vec::new();
        if (&mut *reader).take(most).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        if line.len() > longest {
            while !line.is_empty() && !line.ends_with(b"\n") {
                line.clear();
                (&mut *reader).take(most).read_until(b'\n', &mut line).await?;
            }
            return Ok(Some(InputLine::TooLong));
        }
        if let Some(message) = parse_line(&line) {
            return Ok(Some(message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn data_folder_has_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let open = || LocalSocket::open(folder.path(), String::new()).unwrap();
        let first = open().unwrap();
        assert!(open().is_none());
        drop(first);
        assert!(!folder.path().join(SOCKET_NAME).exists());
        // The socket of a killed server stays, its lock does not.
        let socket = folder.path().join(SOCKET_NAME);
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        assert!(socket.exists() && open().is_some());
    }
}
