//! The input of a child process: messages and, on Unix, open files.
//!
//! It is a socket on Unix, because only a socket takes open files to another process. The child never
//! sends anything by it.

#[cfg(unix)]
pub(crate) use unix::InputSender;
#[cfg(unix)]
pub use unix::{FileInput, ReceivedFiles};

#[cfg(not(unix))]
pub(crate) use other::InputSender;

/// Maximum number of files that are sent with one message.
#[cfg(unix)]
pub const MAX_FILES: usize = 16;

#[cfg(unix)]
mod unix {
    use std::{
        collections::VecDeque,
        io::{self, IoSlice, IoSliceMut, Read, Stdin, Write as _},
        mem::MaybeUninit,
        os::{
            fd::{BorrowedFd, OwnedFd},
            unix::net::UnixStream,
        },
        process::{Child, Command},
        sync::{Arc, Mutex, PoisonError},
    };

    use rustix::{
        io::retry_on_intr,
        net::{
            RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
            SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
        },
    };

    use super::MAX_FILES;

    /// Size of the buffer for the files of one message, in bytes.
    const ANCILLARY_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_FILES));

    /// The end of the parent.
    #[derive(Debug)]
    pub(crate) struct InputSender(UnixStream);

    impl InputSender {
        /// Makes a socket the standard input of a command, and starts it.
        pub(crate) fn spawn(mut command: Command) -> io::Result<(Child, Self)> {
            let (ours, theirs) = UnixStream::pair()?;
            let child = command.stdin(OwnedFd::from(theirs)).spawn()?;
            Ok((child, Self(ours)))
        }

        /// Sends a line, which has at least one byte, and files with it.
        pub(crate) fn send(&mut self, line: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
            if files.len() > MAX_FILES {
                return Err(io::Error::other("too many files for one message"));
            }
            let mut sent = 0;
            if !files.is_empty() {
                let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
                let mut control = SendAncillaryBuffer::new(&mut space);
                control.push(SendAncillaryMessage::ScmRights(files));
                let data = [IoSlice::new(line)];
                sent =
                    retry_on_intr(|| sendmsg(&self.0, &data, &mut control, SendFlags::NOSIGNAL))?;
            }
            self.0.write_all(line.get(sent..).unwrap_or_default())
        }
    }

    /// The standard input of the child, which may bring files.
    #[derive(Debug)]
    pub struct FileInput {
        input: Stdin,
        received: Arc<Mutex<VecDeque<OwnedFd>>>,
    }

    /// The files that the input has brought, in their order.
    #[derive(Clone, Debug)]
    pub struct ReceivedFiles(Arc<Mutex<VecDeque<OwnedFd>>>);

    impl FileInput {
        /// Returns the standard input, and the files that come with it.
        pub fn stdin() -> (Self, ReceivedFiles) {
            let received = Arc::default();
            let files = ReceivedFiles(Arc::clone(&received));
            (Self { input: io::stdin(), received }, files)
        }
    }

    impl ReceivedFiles {
        /// Takes the next file. The files of a message have arrived when its line has.
        pub fn take(&self) -> Option<OwnedFd> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
        }
    }

    impl Read for FileInput {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut data = [IoSliceMut::new(buffer)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let message = retry_on_intr(|| recvmsg(&self.input, &mut data, &mut control, flags))?;
            let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
            for part in control.drain() {
                if let RecvAncillaryMessage::ScmRights(files) = part {
                    received.extend(files);
                }
            }
            Ok(message.bytes)
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::{
        io::{self, Write as _},
        process::{Child, ChildStdin, Command, Stdio},
    };

    /// The end of the parent.
    #[derive(Debug)]
    pub(crate) struct InputSender(ChildStdin);

    impl InputSender {
        /// Makes a pipe the standard input of a command, and starts it.
        pub(crate) fn spawn(mut command: Command) -> io::Result<(Child, Self)> {
            let mut child = command.stdin(Stdio::piped()).spawn()?;
            let input = child.stdin.take().ok_or_else(|| io::Error::other("it has no input"))?;
            Ok((child, Self(input)))
        }

        /// Sends a line.
        pub(crate) fn send(&mut self, line: &[u8]) -> io::Result<()> {
            self.0.write_all(line)
        }
    }
}
