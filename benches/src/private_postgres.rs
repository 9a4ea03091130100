//! A `PostgreSQL` server of the installed package, private to a bench. Commits wait for the disk.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Read,
    net::TcpListener,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use super::Process;

/// Folder with the programs of each installed version.
const PACKAGES: &str = "/usr/lib/postgresql";
/// Identifier of the user and group `nobody`. The server runs as this user if the bench runs as root,
/// because it refuses that.
const NOBODY: u32 = 65_534;
/// Maximum time until the server accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running server, stopped on drop.
#[derive(Debug)]
pub struct PrivatePostgres {
    child: Child,
    url: String,
    /// Removed after the server has stopped.
    folder: TempDir,
}

impl PrivatePostgres {
    /// Creates a database cluster in a temporary folder and starts its server on a free loopback port.
    pub fn start() -> Result<Self> {
        let programs = newest_programs()?;
        let folder = tempfile::Builder::new().prefix("vademecum-postgres").tempdir()?;
        let path = folder.path();
        let mut random = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let password = format!("{:032x}", u128::from_ne_bytes(random));
        fs::write(path.join("password"), &password)?;
        if geteuid().is_root() {
            chown(path, Some(NOBODY), Some(NOBODY))?;
            chown(path.join("password"), Some(NOBODY), Some(NOBODY))?;
        }
        let data = path.join("data");
        let created = command(&programs, "initdb", path)
            .args(["--username=vademecum", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"])
            .args(["--auth=scram-sha-256", "--pwfile=password", "--pgdata"])
            .arg(&data)
            .output()?;
        let errors = String::from_utf8_lossy(&created.stderr);
        ensure!(created.status.success(), "initdb failed: {errors}");
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        let child = command(&programs, "postgres", path)
            .args(["-p", &port, "-c", "listen_addresses=127.0.0.1", "-k"])
            .arg(path)
            .args(["-c", "shared_preload_libraries=pg_stat_statements", "-D"])
            .arg(&data)
            .stderr(File::create(path.join("log"))?)
            .spawn()?;
        let url = format!("postgres://vademecum:{password}@127.0.0.1:{port}/postgres");
        let server = Self { child, url, folder };
        server.wait_until_ready(&programs, &port)?;
        Ok(server)
    }

    fn wait_until_ready(&self, programs: &Path, port: &str) -> Result<()> {
        let began = Instant::now();
        loop {
            let status = command(programs, "pg_isready", self.folder.path())
                .args(["-q", "-h", "127.0.0.1", "-p", port])
                .status()?;
            if status.success() {
                return Ok(());
            }
            let log = self.folder.path().join("log");
            ensure!(
                began.elapsed() < START_TIMEOUT,
                "PostgreSQL did not start: {}",
                fs::read_to_string(log)?
            );
            sleep(Duration::from_millis(50));
        }
    }

    /// Returns the address, with the password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the CPU time of all present processes of the server.
    pub fn cpu_time(&self) -> Result<Duration> {
        let server = Process::with_id(self.child.id());
        let children = server.children()?;
        // A process may have ended since.
        Ok(children.into_iter().filter_map(|child| child.cpu_time().ok()).sum())
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        // An immediate shutdown: the database cluster is removed.
        if let Some(id) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process(id, Signal::QUIT).ok();
        }
        drop(self.child.wait());
    }
}

/// Returns the folder with the programs of the newest installed version.
fn newest_programs() -> Result<PathBuf> {
    let installed =
        fs::read_dir(PACKAGES).with_context(|| format!("no PostgreSQL in {PACKAGES}"))?;
    let versions: Vec<OsString> =
        installed.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    let newest = versions.iter().max_by_key(|name| name.to_string_lossy().parse::<u32>().ok());
    Ok(Path::new(PACKAGES).join(newest.context("no PostgreSQL")?).join("bin"))
}

/// Returns a command that runs a program of the server in `folder`, as a user other than root.
fn command(programs: &Path, name: &str, folder: &Path) -> Command {
    let mut command = Command::new(programs.join(name));
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}
