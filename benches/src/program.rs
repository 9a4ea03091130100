//! The program as a process of its own: a bench is the program too, if its first
//! word is a command.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use secrecy::ExposeSecret;
use serde_json::json;
use vademecum_core::auth::{Accounts, KeyRequest, Rights};

use super::Process;

/// Does what a bench does, or what the program does if that is asked for.
pub fn bench_or_program(bench: impl FnOnce() -> Result<()>) -> ExitCode {
    if env::args().nth(1).as_deref() == Some("serve") {
        return vademecum::cli::main();
    }
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A server for many users that runs until it is dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    address: String,
}

impl Program {
    /// Serves what is in this folder, with settings besides: whole sections.
    pub fn serve(data: &Path, settings: &str) -> Result<Self> {
        let file = data.join("bench.toml");
        // What JSON writes as a string is one in TOML as well.
        let settings = format!(
            "{settings}\n[server]\nlisten = \"127.0.0.1:0\"\n[auth]\nmode = \"multi\"\n\
             [storage]\ndata = {}\n",
            json!(data)
        );
        fs::write(&file, settings)?;
        let mut child = Command::new(env::current_exe()?)
            .args(["serve", "--config"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut log = BufReader::new(child.stderr.take().context("no log")?);
        let mut line = String::new();
        log.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|it| it.strip_suffix("/mcp"));
        let address = address.with_context(|| format!("it does not serve: {line}"))?.to_owned();
        // Whoever logs must find somebody who reads.
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                complain(&line);
            }
        });
        Ok(Self { child, address })
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What the system knows of it.
    pub fn process(&self) -> Process {
        Process::of(self.child.id())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Users with these names, and for each the header that lets them in.
pub fn users(data: &Path, names: &[String]) -> Result<Vec<String>> {
    let accounts = Accounts::new(data);
    let add = |name: &String| {
        let user: vademecum_core::auth::UserId = name.parse()?;
        accounts.add_user(&user)?;
        let (_, key) = accounts.create_key(&KeyRequest {
            user,
            name: String::new(),
            rights: Rights::of_scopes(["read", "write"]),
            delegating: false,
            expires_at: None,
        })?;
        Ok(format!("authorization: Bearer {}\r\n", key.expose_secret()))
    };
    let headers: Result<Vec<String>> = names.iter().map(add).collect();
    let headers = headers?;
    ensure!(headers.len() == names.len(), "each has a key");
    Ok(headers)
}

#[expect(clippy::print_stderr, reason = "what went wrong is told beside the figures")]
fn complain(text: &str) {
    eprintln!("{text}");
}
