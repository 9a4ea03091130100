//! The side of the programs: connects to the server of a data folder. Blocks; no event loop is needed.

use std::path::Path;

use super::{Greeting, LocalServerError};

#[cfg(unix)]
pub use unix::{LocalConnection, connect_local_server};

/// A connection to the server of a data folder; this system has none.
#[cfg(not(unix))]
pub type LocalConnection = std::convert::Infallible;

/// Fails: this system has no Unix sockets.
#[cfg(not(unix))]
pub fn connect_local_server(_: &Path, _: &Greeting) -> Result<LocalConnection, LocalServerError> {
    Err(LocalServerError::NoServer)
}

#[cfg(unix)]
mod unix {
    use std::{
        io::{self, BufRead as _, BufReader, Read as _, Write as _},
        os::unix::{
            fs::{FileTypeExt as _, MetadataExt as _},
            net::UnixStream,
        },
        time::Duration,
    };

    use super::{Greeting, LocalServerError, Path};
    use crate::local_socket::greeting::{GreetingReply, MAX_GREETING_BYTES, SOCKET_NAME};

    /// Maximum time for a server to answer the first line.
    const GREETING_TIMEOUT: Duration = Duration::from_secs(2);

    /// A connection to the server of a data folder: one message per line in both directions.
    #[derive(Debug)]
    pub struct LocalConnection {
        /// Messages to the server.
        pub writer: UnixStream,
        /// Messages of the server.
        pub reader: BufReader<UnixStream>,
    }

    /// Connects to the server of a data folder. Nothing is sent to a server of another account.
    pub fn connect_local_server(
        folder: &Path,
        request: &Greeting,
    ) -> Result<LocalConnection, LocalServerError> {
        let path = folder.join(SOCKET_NAME);
        check_place(folder, &path)?;
        let mut writer = UnixStream::connect(&path).map_err(|error| match error.kind() {
            // The socket of a server that was killed refuses connections.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                LocalServerError::NoServer
            }
            _ => error.into(),
        })?;
        check_account(&writer)?;
        writer.set_read_timeout(Some(GREETING_TIMEOUT))?;
        writer.set_write_timeout(Some(GREETING_TIMEOUT))?;
        writer.write_all(request.to_line().as_bytes())?;
        let mut reader = BufReader::new(writer.try_clone()?);
        let mut line = String::new();
        (&mut reader).take(MAX_GREETING_BYTES).read_line(&mut line)?;
        match serde_json::from_str(&line).map_err(io::Error::from)? {
            GreetingReply::Ready => {}
            GreetingReply::Refused(reason) => return Err(LocalServerError::Refused(reason)),
        }
        writer.set_read_timeout(None)?;
        writer.set_write_timeout(None)?;
        Ok(LocalConnection { writer, reader })
    }

    /// Fails unless the socket and its folder belong to this account, and no other can replace them.
    fn check_place(folder: &Path, path: &Path) -> Result<(), LocalServerError> {
        let socket = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LocalServerError::NoServer);
            }
            socket => socket?,
        };
        let folder = folder.metadata()?;
        let own = rustix::process::geteuid().as_raw();
        let is_own = socket.uid() == own && folder.uid() == own && folder.mode() & 0o022 == 0;
        if is_own && socket.file_type().is_socket() {
            Ok(())
        } else {
            Err(LocalServerError::ForeignSocket)
        }
    }

    /// Fails if the system tells that the process which listens has another account.
    #[cfg(target_os = "linux")]
    fn check_account(stream: &UnixStream) -> Result<(), LocalServerError> {
        let server = rustix::net::sockopt::socket_peercred(stream).map_err(io::Error::from)?;
        if server.uid == rustix::process::geteuid() {
            Ok(())
        } else {
            Err(LocalServerError::ForeignSocket)
        }
    }

    /// The place of the socket is the proof.
    #[cfg(not(target_os = "linux"))]
    fn check_account(_: &UnixStream) -> Result<(), LocalServerError> {
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use std::{
            fs,
            os::unix::{fs::PermissionsExt as _, net::UnixListener},
            thread,
        };

        use super::*;

        fn request() -> Greeting {
            Greeting { settings: "digest".to_owned(), token: None, tool_names: None }
        }

        #[test]
        fn socket_that_others_can_replace_gets_nothing() {
            let folder = tempfile::tempdir().unwrap();
            assert!(matches!(
                connect_local_server(folder.path(), &request()),
                Err(LocalServerError::NoServer)
            ));
            let listener = UnixListener::bind(folder.path().join(SOCKET_NAME)).unwrap();
            listener.set_nonblocking(true).unwrap();
            for mode in [0o770, 0o707, 0o777] {
                fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
                let refused = connect_local_server(folder.path(), &request());
                assert!(matches!(refused, Err(LocalServerError::ForeignSocket)), "{mode:o}");
            }
            assert!(listener.accept().is_err(), "it was not even connected to");
            // The socket that a killed server leaves.
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
            drop(listener);
            assert!(matches!(
                connect_local_server(folder.path(), &request()),
                Err(LocalServerError::NoServer)
            ));
        }

        #[test]
        fn refusal_and_end_of_server_are_errors() {
            for (answer, expected) in
                [("{\"refused\":\"other settings\"}\n", "refused: other settings"), ("", "answer")]
            {
                let folder = tempfile::tempdir().unwrap();
                let listener = UnixListener::bind(folder.path().join(SOCKET_NAME)).unwrap();
                let server = thread::spawn(move || {
                    let mut line = String::new();
                    let (mut stream, _) = listener.accept().unwrap();
                    BufReader::new(&stream).read_line(&mut line).unwrap();
                    stream.write_all(answer.as_bytes()).unwrap();
                });
                let error =
                    connect_local_server(folder.path(), &request()).unwrap_err().to_string();
                assert!(error.contains(expected), "{error}");
                server.join().unwrap();
            }
        }
    }
}
