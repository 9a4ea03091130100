//! Standard input and output: one message to a line. Nothing else is ever
//! written to standard output.

use std::io;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    sync::mpsc,
};

use super::{Door, talk::Talk};
use crate::{
    auth::Principal,
    mcp::{Defaults, Peer, Service},
};

/// Serves one client until it hangs up. What was asked before is answered.
/// Whoever can start the program can read its files: nobody is asked who it is.
pub async fn serve_stdio(door: &Door, principal: Principal) -> io::Result<()> {
    let peer =
        Peer { principal, session: None, defaults: Defaults::default(), names: None, mirror: None };
    let Some((mut talk, out)) = Talk::begin(door, peer) else { return Ok(()) };
    let writer = actix::spawn(write(out));
    let mut input = BufReader::new(tokio::io::stdin());
    let longest = door.server.max_message_bytes.get();
    while let Some(line) = next_line(&mut input, longest).await? {
        match line {
            Line::Message(message) => talk.hear(message).await,
            Line::TooLong => {
                let problem =
                    format!("the message is longer than server.max_message_bytes, {longest}");
                talk.say(Service::refuse(&problem)).await;
            }
        }
    }
    talk.finish().await;
    drop(talk);
    writer.await.map_err(io::Error::other)?
}

async fn write(mut lines: mpsc::Receiver<String>) -> io::Result<()> {
    let mut output = tokio::io::stdout();
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

/// A line that was read.
enum Line {
    /// What looks like a message.
    Message(String),
    /// More than is read; the rest of it was passed over.
    TooLong,
}

/// The next line that looks like a message. What does not is named in the log
/// and passed over: some launchers write greetings into the pipe.
async fn next_line(
    input: &mut BufReader<tokio::io::Stdin>,
    longest: usize,
) -> io::Result<Option<Line>> {
    let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    loop {
        let mut line = Vec::new();
        if (&mut *input).take(most).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        if line.len() > longest {
            while !line.is_empty() && !line.ends_with(b"\n") {
                line.clear();
                (&mut *input).take(most).read_until(b'\n', &mut line).await?;
            }
            return Ok(Some(Line::TooLong));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.starts_with(['{', '[']) {
            return Ok(Some(Line::Message(text.to_owned())));
        }
        if !text.is_empty() {
            tracing::warn!("passed over a line that is no message");
        }
    }
}
