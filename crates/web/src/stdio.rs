//! Standard input/output transport: one message per line. Nothing else is written to standard
//! output.

use std::{
    io::{self, BufRead, BufReader, Read as _},
    pin::pin,
    thread,
    time::Duration,
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
};
use vademecum_core::auth::Principal;
use vademecum_mcp::{OutboundMessage, Peer, PeerConnection, RequestDefaults, Service};

use super::{ServerState, connection_loop::ConnectionLoop, shutdown::ShutdownSignal};

/// Time for the client to read the last replies after pending calls were cancelled.
pub(crate) const FINAL_WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// Serves one client until it closes standard input or the process is asked to stop. Pending calls
/// are completed first, within the grace period. There is no authentication: a caller who can start
/// the program can read its files.
pub async fn serve_stdio(server_state: &ServerState, principal: Principal) -> io::Result<()> {
    let (session, replica, turns) = (None, None, None);
    let (defaults, names) = (RequestDefaults::default(), None);
    let peer = Peer {
        principal,
        session,
        defaults,
        ignored_config: Vec::new(),
        name_style: names,
        headers: replica,
        call_permits: turns,
        connection: Some(PeerConnection { transport: PeerConnection::STDIO, address: None }),
    };
    let Some((mut connection_loop, out)) = ConnectionLoop::start(server_state, peer) else {
        return Ok(());
    };
    let grace = server_state.server.grace_period();
    let stop = ShutdownSignal::install(grace)?;
    let mut writer = actix::spawn(write_messages(tokio::io::stdout(), out));
    let longest = server_state.server.max_message_bytes.get();
    let mut lines = spawn_line_reader(longest)?;
    tokio::select! {
        ended = dispatch_lines(&mut connection_loop, &mut lines, longest) => ended?,
        () = stop.wait_for_signal() => {}
    }
    let mut no_longer = pin!(async {
        stop.wait_for_signal().await;
        tokio::time::sleep(grace).await;
    });
    let is_done = tokio::select! {
        () = connection_loop.wait_until_idle() => true,
        () = &mut no_longer => false,
    };
    drop(connection_loop);
    // A client that reads nothing must not keep the program alive.
    let give_up = async {
        if is_done {
            no_longer.await;
        }
        tokio::time::sleep(FINAL_WRITE_TIMEOUT).await;
    };
    tokio::select! {
        written = &mut writer => written.map_err(io::Error::other)?,
        () = give_up => Ok(()),
    }
}

/// Dispatches messages until standard input ends.
async fn dispatch_lines(
    connection_loop: &mut ConnectionLoop,
    lines: &mut mpsc::Receiver<io::Result<InputLine>>,
    longest: usize,
) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        match line? {
            InputLine::Message(message) => {
                // The only client of a process needs no budget.
                let in_flight = connection_loop.bytes_in_flight();
                connection_loop.dispatch(message, in_flight).await;
            }
            InputLine::TooLong => {
                connection_loop.send_message(Service::too_long(longest)).await;
            }
        }
    }
    Ok(())
}

/// Reads standard input on a separate thread until it ends. The thread ends with the process, so a
/// stop request does not wait for another line.
fn spawn_line_reader(longest: usize) -> io::Result<mpsc::Receiver<io::Result<InputLine>>> {
    let (sender, receiver) = mpsc::channel(1);
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Some(line) = read_message_line(&mut input, longest).transpose() {
            let is_over = line.is_err();
            if sender.blocking_send(line).is_err() || is_over {
                break;
            }
        }
    })?;
    Ok(receiver)
}

/// Writes messages, one per line, until there are no more.
pub(crate) async fn write_messages(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<OutboundMessage>,
) -> io::Result<()> {
    while let Some(OutboundMessage { text: mut line, .. }) = lines.recv().await {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

/// Line of a client.
#[derive(Debug)]
pub enum InputLine {
    /// Line that looks like a message.
    Message(String),
    /// Line over the length limit; the rest of it was skipped.
    TooLong,
}

/// Reads the next line that looks like a message.
pub fn read_message_line(
    input: &mut impl BufRead,
    longest: usize,
) -> io::Result<Option<InputLine>> {
    let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    loop {
        let mut line = Vec::new();
        if (&mut *input).take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() > longest {
            while !line.is_empty() && !line.ends_with(b"\n") {
                line.clear();
                (&mut *input).take(most).read_until(b'\n', &mut line)?;
            }
            return Ok(Some(InputLine::TooLong));
        }
        if let Some(message) = parse_line(&line) {
            return Ok(Some(message));
        }
    }
}

/// Returns a line that looks like a message. Others are logged and ignored, because some launchers
/// write greetings into the pipe.
pub(crate) fn parse_line(line: &[u8]) -> Option<InputLine> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        return Some(InputLine::Message(text.to_owned()));
    }
    if !text.is_empty() {
        tracing::warn!("ignored input that is not a JSON-RPC message");
    }
    None
}
