//! Installation, state and removal of the service.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use tempfile::NamedTempFile;
use vademecum_web::LocalServerError;

use super::{
    super::{
        common::CommonOptions,
        connect::LaunchCommand,
        local_server::connect_own_server,
        output::{print_error, print_line},
    },
    manager::{MARK, ServiceManager},
};

/// Keep a server running: install it as a service of your account, show its state, or remove it
#[derive(Debug, Subcommand)]
#[command(after_help = "\
The service is a systemd user unit on Linux, a launch agent on
macOS, a scheduled task on Windows. It runs `vademecum serve` with
the --data, --user and --config of this command.

Examples:
  vademecum service install
  vademecum service install --print
  vademecum service status
  vademecum service remove")]
pub(in crate::cli) enum ServiceCommand {
    /// Install the service and start it; run it again after the program or its options changed
    Install {
        /// Print the file of the service instead of installing it
        #[arg(long)]
        print: bool,
    },
    /// Say whether the service is installed, and whether a server runs
    Status,
    /// Stop the service and remove it; the library stays
    Remove,
}

impl ServiceCommand {
    pub(in crate::cli) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let manager = ServiceManager::CURRENT;
        match self {
            Self::Install { print: true } => print_line(&service_text(manager, common)?),
            Self::Install { print: false } => install(manager, common)?,
            Self::Status => return show_status(manager, common),
            Self::Remove => remove(manager)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the text of the file of the service.
fn service_text(manager: ServiceManager, common: &CommonOptions) -> Result<String> {
    // A service with invalid settings would be started again and again.
    let settings = common.load_settings()?;
    settings.listen_address()?;
    settings.check_mcp_enabled()?;
    let LaunchCommand { command, mut arguments } = LaunchCommand::from_options(common)?;
    "serve".clone_into(&mut arguments[0]);
    manager.text(&command, &arguments)
}

fn install(manager: ServiceManager, common: &CommonOptions) -> Result<()> {
    let text = service_text(manager, common)?;
    let path = manager.path()?;
    let before = read_own_file(&path, manager)?;
    if before.is_some() {
        // One that does not run is replaced all the same.
        manager.remove_steps(&path).0.iter().for_each(|step| drop(run_step(step)));
    }
    write_file(&path, &manager.encode(&text))?;
    for step in manager.install_steps(&path) {
        if let Err(error) = run_step(&step) {
            // Nothing stays half installed.
            match &before {
                Some(before) => write_file(&path, &manager.encode(before))?,
                None => fs::remove_file(&path)?,
            }
            return Err(error.context("the service was not installed"));
        }
    }
    print_line(&format!("installed {}", path.display()));
    print_line(manager.advice());
    Ok(())
}

/// Returns the text of a file that this program wrote; `None` if there is none.
fn read_own_file(path: &Path, manager: ServiceManager) -> Result<Option<String>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let text = manager.decode(&bytes);
    if !text.contains(MARK) {
        bail!("{} was not written by this command: remove it yourself", path.display());
    }
    Ok(Some(text))
}

fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    let action = || format!("cannot write {}", path.display());
    let folder = path.parent().context("the root folder is not a file")?;
    fs::create_dir_all(folder).with_context(action)?;
    let mut file = NamedTempFile::new_in(folder).with_context(action)?;
    file.write_all(content).with_context(action)?;
    file.persist(path).with_context(action)?;
    Ok(())
}

fn show_status(manager: ServiceManager, common: &CommonOptions) -> Result<ExitCode> {
    let path = manager.path()?;
    if read_own_file(&path, manager)?.is_some() {
        print_line(&format!("installed: {}", path.display()));
    } else {
        print_line("not installed: `vademecum service install` installs it");
    }
    let settings = common.load_settings()?;
    let data = settings.storage.data_folder()?;
    match connect_own_server(&settings, None) {
        Ok(_) => {
            print_line(&format!("a server runs on {}", data.display()));
            return Ok(ExitCode::SUCCESS);
        }
        Err(LocalServerError::NoServer) => {
            print_line(&format!("no server for one user runs on {}", data.display()));
        }
        Err(LocalServerError::Refused(reason)) => {
            print_line(&format!("a server runs on {}, but {reason}: restart it", data.display()));
        }
        Err(error) => print_line(&format!("{}: {error}", data.display())),
    }
    Ok(ExitCode::FAILURE)
}

fn remove(manager: ServiceManager) -> Result<()> {
    let path = manager.path()?;
    if read_own_file(&path, manager)?.is_none() {
        print_line("there is no service");
        return Ok(());
    }
    let (before, after) = manager.remove_steps(&path);
    // One that does not run, or whose manager does not answer, is removed all the same.
    before.iter().filter_map(|step| run_step(step).err()).for_each(|error| {
        print_error(&format!("{error:#}"));
    });
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    for step in after {
        if let Err(error) = run_step(&step) {
            print_error(&format!("{error:#}"));
        }
    }
    print_line(&format!("removed {}", path.display()));
    Ok(())
}

/// Runs a command of the service manager.
fn run_step(step: &[String]) -> Result<()> {
    let shown = step.join(" ");
    let Some((program, arguments)) = step.split_first() else { return Ok(()) };
    let done = Command::new(program).args(arguments).output();
    let done = done.with_context(|| format!("cannot run `{shown}`"))?;
    if done.status.success() {
        return Ok(());
    }
    bail!("`{shown}` failed: {}", String::from_utf8_lossy(&done.stderr).trim())
}
