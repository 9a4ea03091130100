//! Connections through a running `ssh`, by the multiplexing protocol of OpenSSH.
//!
//! The protocol is documented in the file `PROTOCOL.mux` of OpenSSH. A message is a length and a
//! type, followed by numbers of 32 bits and texts with a length. For a connection, `ssh` is sent two
//! pipes; it replies when the server has opened the connection or refused it.

use std::{
    io::{self, IoSlice, PipeReader, PipeWriter},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, Interest, copy},
    net::{TcpStream, UnixStream, unix::pipe},
};

/// Version of the protocol.
const VERSION: u32 = 4;
/// Types of messages.
const HELLO: u32 = 1;
const NEW_STDIO_FORWARD: u32 = 0x1000_0008;
const PERMISSION_DENIED: u32 = 0x8000_0002;
const FAILURE: u32 = 0x8000_0003;
const SESSION_OPENED: u32 = 0x8000_0006;
/// Maximum size of a message, in bytes.
const MAX_MESSAGE_BYTES: u32 = 64 * 1_024;

/// A connection that `ssh` forwards.
#[derive(Debug)]
pub(super) struct ForwardedConnection {
    to_server: pipe::Sender,
    from_server: pipe::Receiver,
    /// `ssh` closes the connection when this is closed.
    _control: UnixStream,
}

/// Reason why a connection was not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForwardError {
    /// The SSH server refused it or cannot reach the destination.
    #[error("{0}")]
    Refused(String),
    /// `ssh` does not answer.
    #[error("the SSH session was lost: {0}")]
    SessionLost(#[from] io::Error),
}

impl ForwardedConnection {
    /// Opens a connection to a host and port, through the `ssh` with this control socket.
    pub(super) async fn open(socket: &Path, host: &str, port: u16) -> Result<Self, ForwardError> {
        let mut control = UnixStream::connect(socket).await?;
        write_message(&mut control, &[HELLO.to_be_bytes(), VERSION.to_be_bytes()].concat()).await?;
        let hello = read_message(&mut control).await?;
        if numbers(&hello) != Some([HELLO, VERSION]) {
            return Err(io::Error::other("`ssh` has another multiplexing protocol").into());
        }
        write_message(&mut control, &forward_request(host, port)).await?;
        let (ssh_input, to_server) = io::pipe()?;
        let (from_server, ssh_output) = io::pipe()?;
        send_descriptors(&control, &ssh_input, &ssh_output).await?;
        let reply = read_message(&mut control).await?;
        match numbers(&reply) {
            Some([SESSION_OPENED, _]) => {}
            Some([PERMISSION_DENIED | FAILURE, _]) => {
                // The reason follows as a text.
                let reason = reply.get(12..).unwrap_or_default();
                return Err(ForwardError::Refused(String::from_utf8_lossy(reason).into_owned()));
            }
            _ => return Err(io::Error::other("unexpected reply of `ssh`").into()),
        }
        Ok(Self {
            to_server: pipe::Sender::from_owned_fd(to_server.into())?,
            from_server: pipe::Receiver::from_owned_fd(from_server.into())?,
            _control: control,
        })
    }

    /// Copies in both directions until both have ended.
    pub(super) async fn copy_with(self, near: &mut TcpStream) -> io::Result<()> {
        let (mut reader, mut writer) = near.split();
        let upstream = async move {
            // Dropped at the end, which tells `ssh` that no more follows.
            let mut to_server = self.to_server;
            copy(&mut reader, &mut to_server).await
        };
        let downstream = async move {
            let mut from_server = self.from_server;
            let copied = copy(&mut from_server, &mut writer).await;
            writer.shutdown().await?;
            copied
        };
        let (sent, received) = tokio::join!(upstream, downstream);
        sent.and(received).map(drop)
    }
}

async fn send_descriptors(
    control: &UnixStream,
    input: &PipeReader,
    output: &PipeWriter,
) -> io::Result<()> {
    for descriptor in [input.as_fd(), output.as_fd()] {
        control.async_io(Interest::WRITABLE, || send_descriptor(control, descriptor)).await?;
    }
    Ok(())
}

/// Sends a descriptor, with one byte, as `ssh` expects it.
fn send_descriptor(control: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no space for a descriptor"));
    }
    sendmsg(control, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// Returns the request for a connection.
fn forward_request(host: &str, port: u16) -> Vec<u8> {
    let length = u32::try_from(host.len()).unwrap_or(u32::MAX);
    // The number of the request and the length of a reserved text are 0.
    let numbers = [NEW_STDIO_FORWARD, 0, 0, length].map(u32::to_be_bytes);
    let port = u32::from(port).to_be_bytes();
    [numbers.as_flattened(), host.as_bytes(), &port].concat()
}

/// Writes a message and its length.
async fn write_message(control: &mut UnixStream, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    control.write_all(&[&length.to_be_bytes(), body].concat()).await
}

/// Reads a message, without its length.
async fn read_message(control: &mut UnixStream) -> io::Result<Vec<u8>> {
    let length = control.read_u32().await?;
    if length > MAX_MESSAGE_BYTES {
        return Err(io::Error::other("a message of `ssh` is too long"));
    }
    let mut body = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    control.read_exact(&mut body).await?;
    Ok(body)
}

/// Returns the type of a message and the number after it.
fn numbers(body: &[u8]) -> Option<[u32; 2]> {
    let (kind, rest) = body.split_first_chunk()?;
    let (number, _) = rest.split_first_chunk()?;
    Some([u32::from_be_bytes(*kind), u32::from_be_bytes(*number)])
}
