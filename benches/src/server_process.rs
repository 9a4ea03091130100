//! The server as a separate process. A bench executable also runs the program if its first argument
//! is `serve`.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use secrecy::ExposeSecret;
use serde_json::json;
use vademecum_accounts::{Accounts, KeyRequest};
use vademecum_core::auth::{KeyScope, Rights};
use vademecum_store::DataFolder;

use super::Process;

/// Runs the bench, or the program if the first argument is `serve`.
pub fn run_bench_or_program(bench: impl FnOnce() -> Result<()>) -> ExitCode {
    if env::args().nth(1).as_deref() == Some("serve") {
        return vademecum::cli::main();
    }
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A multi-user server process, killed on drop.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    address: String,
}

impl ServerProcess {
    /// Starts a server on the data in this folder. `settings` are additional sections of the
    /// configuration.
    pub fn start(data: &Path, settings: &str) -> Result<Self> {
        let file = data.join("bench.toml");
        // A JSON string is also a valid TOML string.
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
        let address =
            address.with_context(|| format!("the server did not start: {line}"))?.to_owned();
        // The log must be read, since a full pipe would block the server.
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                print_error(&line);
            }
        });
        Ok(Self { child, address })
    }

    /// Returns the listening address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the process, to read its resource usage.
    pub fn process(&self) -> Process {
        Process::with_id(self.child.id())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Creates users with these names and returns the authorization header of each.
pub fn create_users(data: impl Into<DataFolder>, names: &[String]) -> Result<Vec<String>> {
    let accounts = Accounts::new(data);
    let add = |name: &String| {
        let user: vademecum_core::auth::UserId = name.parse()?;
        accounts.add_user(&user)?;
        let (_, key) = accounts.create_key(&KeyRequest {
            user,
            name: String::new(),
            rights: Rights::from_scopes(["read", "write"]),
            delegating: false,
            scope: KeyScope::default(),
            expires_at: None,
        })?;
        Ok(format!("authorization: Bearer {}\r\n", key.expose_secret()))
    };
    let headers: Result<Vec<String>> = names.iter().map(add).collect();
    let headers = headers?;
    ensure!(headers.len() == names.len(), "a user has no key");
    Ok(headers)
}

#[expect(clippy::print_stderr, reason = "errors are printed beside the figures")]
fn print_error(text: &str) {
    eprintln!("{text}");
}
