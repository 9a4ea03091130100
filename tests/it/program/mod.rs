//! The program as a test uses it: run, served over HTTP and WebSocket, piped.

mod alone;
mod caller;
mod client;
mod content;
mod dice;
mod endless;
mod events;
mod home;
mod http;
mod library;
mod pipe;
#[cfg(unix)]
mod process;
mod provider;
#[cfg(target_os = "linux")]
mod raw;
mod server;
pub(crate) mod servers;
pub(crate) mod shelf;
mod socket;
#[cfg(unix)]
mod sshd;
mod state;
mod text;
mod tldw;
mod token;
mod trio;
mod wire;

pub(crate) use alone::{Alone, with_meta};
pub(crate) use caller::{Caller, request};
pub(crate) use client::Client;
pub(crate) use content::{card, conversation, picture, prompts};
pub(crate) use dice::Dice;
pub(crate) use events::Events;
pub(crate) use home::Home;
pub(crate) use http::{Request, Response};
pub(crate) use library::{Done, Library, SOURCES};
pub(crate) use pipe::Pipe;
#[cfg(target_os = "linux")]
pub(crate) use process::resident_mb;
#[cfg(unix)]
pub(crate) use process::terminate;
pub(crate) use provider::{Provider, Question, Reply};
#[cfg(target_os = "linux")]
pub(crate) use raw::{Opcode, Raw, frame};
pub(crate) use server::Server;
pub(crate) use servers::{Fresh, said};
pub(crate) use socket::{Received, Socket};
#[cfg(unix)]
pub(crate) use sshd::Sshd;
pub(crate) use state::state;
pub(crate) use tldw::{Generation, Tldw};
pub(crate) use token::{Algorithm, Issuer, KeyServer, key_set, now};
pub(crate) use trio::{PROFILES, Trio};

use std::{process::Command, time::Duration};

/// How long a test waits for an answer before it says that there is none.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program that was built with these tests.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_vademecum"))
}
