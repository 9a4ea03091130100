//! `vademecum sync`.

use std::{
    io::{self, BufReader, BufWriter},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, Result, bail};
use vademecum_core::config::AuthMode;
use vademecum_services::text::{format_count, sanitize};
use vademecum_sync::{
    FolderOptions, KEY_FILE, SyncReport, SyncedDatabase, SyncedLibrary, serve_peer, sync_folder,
    sync_with_peer,
};

use super::{
    audit::record_command,
    common::CommonOptions,
    output::{print_error, print_json, print_line},
};
use crate::{app::App, registry};

/// Keep your library on several machines in step
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum sync ~/Sync/vademecum              a folder that Syncthing or a cloud copies, or a disk
  vademecum sync /media/stick --dry-run
  vademecum sync ~/Sync/vademecum --key /media/stick/sync.key
  vademecum sync laptop                        another machine, by ssh
  vademecum sync ada@10.0.0.7 --remote-program /opt/vademecum/vademecum

All machines use the same folder. Each writes its changes there and takes over those of the
others: new, changed and deleted items of all sources, with their tags, origins and history,
so that `undo` works on every machine. If two machines changed the same item, both changes
are merged; if both changed the same lines, the later one stays, and the other becomes an item
`… (conflict of <client> <day>)`. The databases themselves are never put into the folder.

The files are encrypted (age). The first machine makes a key, `sync.key` in its library; copy
it to the other machines in a safe way and name it once with --key. With --plain, the files
are not encrypted: then everybody who can read the folder can read the library.

A target with a slash, or the name of an existing folder, is a folder, anything else a host
of ssh with the same program. A sync can be interrupted and repeated, and a server may run meanwhile.

Exit codes: 0 if all was exchanged, 1 if files or items could not be; they are named.")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(super) struct SyncCommand {
    /// Folder that all machines see, or host for ssh
    #[arg(value_name = "TARGET", required_unless_present = "serve_stdio")]
    target: Option<String>,
    /// Print how much would be exchanged, and change nothing (folders only)
    #[arg(long)]
    dry_run: bool,
    /// Write files that are not encrypted, and read no others
    #[arg(long, conflicts_with = "key")]
    plain: bool,
    /// File with the key of another machine; needed once
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The program on the other machine
    #[arg(long, value_name = "PATH", default_value = "vademecum")]
    remote_program: String,
    /// Data folder on the other machine [default: that of the program there]
    #[arg(long, value_name = "DIR")]
    remote_data: Option<String>,
    /// Answer another machine over standard input and output
    #[arg(long, hide = true, conflicts_with_all = ["target", "dry_run", "plain", "key"])]
    serve_stdio: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The other side of a sync.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Folder(PathBuf),
    Host(String),
}

impl Target {
    /// Reads a target. A host that `ssh` would read as an option is refused.
    fn parse(text: &str) -> Result<Self> {
        let path = Path::new(text);
        if text.contains('/') || text.starts_with('.') || path.is_dir() {
            if !path.is_dir() {
                bail!(
                    "{text} is no folder; create it first (mkdir), or name a host without a slash"
                );
            }
            return Ok(Self::Folder(path.to_owned()));
        }
        let is_host = |letter: char| letter.is_alphanumeric() || "@._-:[]%".contains(letter);
        if text.is_empty() || text.starts_with('-') || !text.chars().all(is_host) {
            bail!(
                "`{text}` is neither a folder nor a host; write a folder with a slash, as ./name"
            );
        }
        Ok(Self::Host(text.to_owned()))
    }
}

impl SyncCommand {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        common.check_user(&common.load_settings()?)?;
        let target = self.target.as_deref().map(Target::parse).transpose()?;
        let app = common.create_app()?;
        check_settings(&app)?;
        let actors = app.library();
        let library = SyncedLibrary {
            folder: actors.folder().to_owned(),
            databases: SyncedDatabase::all(&registry::sources(), actors.stores()),
        };
        let report = match &target {
            None => serve_peer(&library, io::stdin().lock(), BufWriter::new(io::stdout().lock()))?,
            Some(Target::Host(host)) => self.sync_host(&library, host, common)?,
            Some(Target::Folder(folder)) => self.sync_folder(&library, folder)?,
        };
        if self.dry_run {
            print_line(&format!(
                "would write {} and read {}",
                format_count(report.sent, "item"),
                format_count(report.files_read, "file")
            ));
            return Ok(ExitCode::SUCCESS);
        }
        for database in &library.databases {
            database.store().checkpoint()?;
        }
        let mut is_written = true;
        for file in app.folders().write_all(app.principal().user(), &actors).await? {
            let reason = file.problem.unwrap_or_default();
            print_error(&sanitize(&format!("not written: {}: {reason}", file.path)));
            is_written = false;
        }
        record_command(&app, "sync", Some(app.principal().user()), None, true);
        if !self.serve_stdio {
            self.print_report(&report)?;
        }
        let is_complete = is_written && report.problems.is_empty();
        Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn sync_folder(&self, library: &SyncedLibrary, folder: &Path) -> Result<SyncReport> {
        let key = library.folder.join(KEY_FILE);
        let had_key = key.exists();
        let options = FolderOptions {
            is_plain: self.plain,
            key_file: self.key.clone(),
            dry_run: self.dry_run,
        };
        let report = sync_folder(library, folder, &options)?;
        if !had_key && self.key.is_none() && key.exists() {
            print_error(&format!(
                "made a key: {}; copy it to your other machines in a safe way, and name it there \
                 once with --key",
                key.display()
            ));
        }
        Ok(report)
    }

    /// Starts the program on another machine and exchanges changes with it.
    fn sync_host(
        &self,
        library: &SyncedLibrary,
        host: &str,
        common: &CommonOptions,
    ) -> Result<SyncReport> {
        if self.dry_run || self.plain || self.key.is_some() {
            bail!("--dry-run, --plain and --key are for folders; ssh encrypts by itself");
        }
        let mut command = vec![self.remote_program.as_str(), "sync", "--serve-stdio"];
        command.extend(self.remote_data.iter().flat_map(|data| ["--data", data.as_str()]));
        command.extend(common.user.iter().flat_map(|user| ["--user", user.as_str()]));
        let command: Vec<String> = command.into_iter().map(quote).collect();
        let mut ssh = Command::new("ssh")
            .args(["-C", "-T", "--", host, &command.join(" ")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start ssh; is it installed?")?;
        let (Some(input), Some(output)) = (ssh.stdout.take(), ssh.stdin.take()) else {
            bail!("ssh has no standard input and output");
        };
        let synced = sync_with_peer(library, BufReader::new(input), BufWriter::new(output));
        let ended = ssh.wait().context("cannot wait for ssh")?;
        let report = synced.with_context(|| format!("{host} ({ended})"))?;
        if !ended.success() {
            print_error(&format!("{host}: some items could not be taken over there ({ended})"));
        }
        Ok(report)
    }

    fn print_report(&self, report: &SyncReport) -> Result<()> {
        if self.json {
            print_json(report)?;
        } else {
            let merged = match report.merged {
                0 => String::new(),
                merged => format!(", {merged} of them merged"),
            };
            print_line(&format!(
                "sent {}, received {}{merged}",
                format_count(report.sent, "item"),
                format_count(report.received, "item")
            ));
            for copy in &report.conflict_copies {
                print_line(&format!("both changed the same lines; the other version is {copy}"));
            }
        }
        for problem in &report.problems {
            print_error(&sanitize(problem));
        }
        Ok(())
    }
}

/// Fails if the library is not the own one of this machine.
fn check_settings(app: &App) -> Result<()> {
    if app.data().archive().is_some() {
        bail!("the library is in the archive of the settings, which several servers use already");
    }
    if app.settings().storage.tldw.is_some() {
        bail!("the library is a replica of a tldw directory, which only tldw changes");
    }
    if app.settings().auth.mode == AuthMode::Multi && app.settings().storage.user.is_empty() {
        bail!("name the user whose library to sync with --user");
    }
    Ok(())
}

/// Quotes an argument for the shell of the other machine.
fn quote(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_folders_or_hosts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(Target::parse(path).unwrap(), Target::Folder(folder.path().to_owned()));
        for host in ["laptop", "ada@10.0.0.7", "ada@[fe80::1%eth0]"] {
            assert_eq!(Target::parse(host).unwrap(), Target::Host(host.to_owned()));
        }
        for refused in ["", "-oProxyCommand=sh", "a b", "a;b", "a$(b)", "/no/such/folder", "./no"] {
            assert!(Target::parse(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn arguments_for_the_shell_are_quoted() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("a'; rm -rf ~ #"), "'a'\\''; rm -rf ~ #'");
    }
}
