//! The relay of `vademecum mcp`: passes the messages of a client on to the server that runs in the data
//! folder. It holds no library, so that many clients cost little.
//!
//! One thread passes the messages of the client on, the other those of the server. If the server ends,
//! the second one connects to the next server, or starts a program that serves the library by itself.

use std::{
    io::{self, BufRead, BufReader, StdinLock, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    process::{Child, ChildStdin, Command, ExitCode, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use vademecum_core::config::{Settings, ToolNames, child_program};
use vademecum_mcp::{RelayState, Service};
use vademecum_web::{InputLine, LocalConnection, read_message_line};

use super::{local_server::connect_own_server, output::print_error};

/// Time for a server that ended to be replaced, before the library is served without one.
const RECONNECT_TIME: Duration = Duration::from_secs(2);
/// Interval of the attempts to connect.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(50);

/// A relay between a client on standard input and output, and a server.
pub(super) struct Relay {
    /// Settings, which the server must have too.
    pub(super) settings: Settings,
    /// Spelling of the listed tools.
    pub(super) tool_names: Option<ToolNames>,
    /// Arguments of a program that serves without a server.
    pub(super) arguments: Vec<String>,
}

/// What both threads share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is a server again.
    connected: Condvar,
}

#[derive(Default)]
struct State {
    messages: RelayState,
    /// Messages to the server; `None` while there is none.
    writer: Option<Arc<ServerInput>>,
    /// Whether the client has closed its side.
    is_over: bool,
}

/// The side of a server that takes messages.
enum ServerInput {
    Socket(UnixStream),
    Program(ChildStdin),
}

/// The side of a server that sends messages, and the program, if it was started by this one.
struct ServerOutput {
    reader: Box<dyn BufRead>,
    program: Option<Child>,
}

/// A line of a server.
enum ServerLine {
    /// A message for the client.
    Message(String),
    /// A reply that the client has already.
    Kept,
    /// The server has ended.
    End,
}

impl Relay {
    /// Relays until the client closes standard input.
    pub(super) fn run(self, connection: LocalConnection) -> Result<ExitCode> {
        let shared = Arc::new(Shared::default());
        let (writer, mut output) = split(connection);
        shared.lock().writer = Some(Arc::new(writer));
        let longest = self.settings.server.max_message_bytes.get();
        let of_client = Arc::clone(&shared);
        thread::Builder::new().name("client".to_owned()).spawn(move || {
            of_client.relay_client(io::stdin().lock(), longest);
        })?;
        loop {
            shared.relay_server(&mut output.reader)?;
            let is_over = shared.end_server()?;
            if let Some(mut program) = output.program {
                let status = program.wait()?;
                return Ok(if is_over && status.success() {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                });
            }
            if is_over {
                return Ok(ExitCode::SUCCESS);
            }
            let (writer, mut next) = self.next_server()?;
            shared.begin_server(writer, &mut next.reader)?;
            output = next;
        }
    }

    /// Connects to the server that has replaced the one that ended, or starts a program instead.
    fn next_server(&self) -> Result<(ServerInput, ServerOutput)> {
        let begun = Instant::now();
        while begun.elapsed() < RECONNECT_TIME {
            if let Ok(connection) = connect_own_server(&self.settings, self.tool_names) {
                return Ok(split(connection));
            }
            thread::sleep(RECONNECT_INTERVAL);
        }
        print_error("the server has ended; this process serves the library");
        let mut program = Command::new(child_program()?)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a program that serves the library")?;
        let input = program.stdin.take().context("the program has no input")?;
        let output = program.stdout.take().context("the program has no output")?;
        let reader = Box::new(BufReader::new(output));
        Ok((ServerInput::Program(input), ServerOutput { reader, program: Some(program) }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the messages of the client on until it closes its side.
    fn relay_client(&self, mut input: StdinLock<'_>, longest: usize) {
        while let Ok(Some(line)) = read_message_line(&mut input, longest) {
            let InputLine::Message(text) = line else {
                if print_messages(&[Service::too_long(longest)]).is_err() {
                    break;
                }
                continue;
            };
            // The message is noted and the server chosen at once: if this server has ended, the other
            // thread answers the request.
            let mut state = self.lock();
            while state.writer.is_none() {
                state = self.connected.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let message = state.messages.client_message(&text);
            let writer = state.writer.clone();
            drop(state);
            if let (Some(message), Some(writer)) = (message, writer) {
                // The other thread sees the end of the server.
                writer.send(&message).ok();
            }
        }
        let mut state = self.lock();
        state.is_over = true;
        if let Some(writer) = state.writer.take() {
            writer.close();
        }
    }

    /// Passes the messages of the server on until it ends. Fails if the client reads no more.
    fn relay_server(&self, reader: &mut dyn BufRead) -> io::Result<()> {
        loop {
            match self.read_line(reader) {
                ServerLine::Message(message) => print_messages(&[message])?,
                ServerLine::Kept => {}
                ServerLine::End => return Ok(()),
            }
        }
    }

    /// Answers the requests that the server did not. Returns whether the client has closed its side.
    fn end_server(&self) -> io::Result<bool> {
        let mut state = self.lock();
        state.writer = None;
        let (messages, is_over) = (state.messages.server_ended(), state.is_over);
        drop(state);
        print_messages(&messages)?;
        Ok(is_over)
    }

    /// Prepares the session of a further server, which gets the messages of the client then.
    fn begin_server(&self, writer: ServerInput, reader: &mut dyn BufRead) -> io::Result<()> {
        let preparing = self.lock().messages.next_server();
        for (message, is_answered) in preparing {
            // The end of this server is seen by the next read.
            if writer.send(&message).is_err() || !is_answered {
                continue;
            }
            while let ServerLine::Message(message) = self.read_line(reader) {
                print_messages(&[message])?;
            }
        }
        let mut state = self.lock();
        if state.is_over {
            writer.close();
        } else {
            state.writer = Some(Arc::new(writer));
        }
        self.connected.notify_all();
        Ok(())
    }

    /// Reads a line of the server.
    fn read_line(&self, reader: &mut dyn BufRead) -> ServerLine {
        let mut line = Vec::new();
        // A part of a line is no message.
        if reader.read_until(b'\n', &mut line).is_err() || !line.ends_with(b"\n") {
            return ServerLine::End;
        }
        let text = String::from_utf8_lossy(&line);
        match self.lock().messages.server_message(text.trim_end()) {
            Some(message) => ServerLine::Message(message.into_owned()),
            None => ServerLine::Kept,
        }
    }
}

impl ServerInput {
    fn send(&self, message: &str) -> io::Result<()> {
        let line = format!("{message}\n");
        match self {
            Self::Socket(stream) => (&mut &*stream).write_all(line.as_bytes()),
            Self::Program(input) => (&mut &*input).write_all(line.as_bytes()),
        }
    }

    /// Tells the server that there are no more messages. A program learns it when this is dropped.
    fn close(&self) {
        if let Self::Socket(stream) = self {
            stream.shutdown(Shutdown::Write).ok();
        }
    }
}

fn split(connection: LocalConnection) -> (ServerInput, ServerOutput) {
    let LocalConnection { writer, reader } = connection;
    let output = ServerOutput { reader: Box::new(reader), program: None };
    (ServerInput::Socket(writer), output)
}

/// Writes messages to standard output, one per line.
fn print_messages(messages: &[String]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for message in messages {
        output.write_all(format!("{message}\n").as_bytes())?;
    }
    output.flush()
}
