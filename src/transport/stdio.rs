//! Standard input and output: one message to a line. Nothing else is ever
//! written to standard output.

use std::{
    io::{self, BufRead, BufReader, Read as _},
    pin::pin,
    thread,
    time::Duration,
};

use tokio::{io::AsyncWriteExt, sync::mpsc};

use super::{Door, stop::Stop, talk::Talk};
use vademecum_core::auth::Principal;
use vademecum_mcp::{Defaults, Peer, Service};

/// How long a client has to read what was answered last, when calls were given up.
const MOMENT: Duration = Duration::from_millis(500);

/// Serves one client until it hangs up, or until the process is told to stop. What was
/// asked before is answered. Whoever can start the program can read its files: nobody
/// is asked who it is.
pub async fn serve_stdio(door: &Door, principal: Principal) -> io::Result<()> {
    let (session, mirror, turns) = (None, None, None);
    let (defaults, names) = (Defaults::default(), None);
    let peer = Peer { principal, session, defaults, names, mirror, turns };
    let Some((mut talk, out)) = Talk::begin(door, peer) else { return Ok(()) };
    let grace = door.server.grace();
    let stop = Stop::listen(grace)?;
    let mut writer = actix::spawn(write(out));
    let longest = door.server.max_message_bytes.get();
    let mut lines = lines(longest)?;
    tokio::select! {
        ended = hear(&mut talk, &mut lines, longest) => ended?,
        () = stop.asked() => {}
    }
    let mut no_longer = pin!(async {
        stop.asked().await;
        tokio::time::sleep(grace).await;
    });
    let is_done = tokio::select! {
        () = talk.finish() => true,
        () = &mut no_longer => false,
    };
    drop(talk);
    // A client that reads nothing does not keep the program.
    let give_up = async {
        if is_done {
            no_longer.await;
        }
        tokio::time::sleep(MOMENT).await;
    };
    tokio::select! {
        written = &mut writer => written.map_err(io::Error::other)?,
        () = give_up => Ok(()),
    }
}

/// Hears what a client says until it hangs up.
async fn hear(
    talk: &mut Talk,
    lines: &mut mpsc::Receiver<io::Result<Line>>,
    longest: usize,
) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        match line? {
            Line::Message(message) => talk.hear(message).await,
            Line::TooLong => {
                let problem =
                    format!("the message is longer than server.max_message_bytes, {longest}");
                talk.say(Service::refuse(&problem)).await;
            }
        }
    }
    Ok(())
}

/// The lines of standard input, until it ends. They are read on a thread that ends with
/// the process: whoever is told to stop does not wait for a line that never comes.
fn lines(longest: usize) -> io::Result<mpsc::Receiver<io::Result<Line>>> {
    let (sender, receiver) = mpsc::channel(1);
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Some(line) = next_line(&mut input, longest).transpose() {
            let is_over = line.is_err();
            if sender.blocking_send(line).is_err() || is_over {
                break;
            }
        }
    })?;
    Ok(receiver)
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
fn next_line(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Line>> {
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
