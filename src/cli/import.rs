//! `vademecum import`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use vademecum_actors::Library;
use vademecum_core::config::check_inner_folder;
use vademecum_import::{ReaderLimits, TwoWayFolder};
use vademecum_model::SourceName;
use vademecum_services::import::{ImportOptions, SecretHandling, StopSignal};
use vademecum_tldw::TldwUser;
use vademecum_vault::journal::ConflictCopies;

use super::{
    common::CommonOptions,
    interrupt::{exit_interrupted, stop_at_interrupt},
    output::{print_error, print_json, print_json_line, print_line},
    progress::{progress_bar, progress_callback},
};
use crate::app::App;
pub(super) use vademecum_services::import::ImportSummary;
use vademecum_services::{
    import::{TargetUser, WatchEvent, copy_folders, explain_file, import_files, watch_files},
    text::sanitize,
    two_way::{SyncLock, SyncScope, sync_folder},
};

/// Maximum time to wait for another process that synchronizes the folder.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// Import files
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "vademecum import [KIND] <PATH>...",
    after_help = "\
Examples:
  vademecum import ~/Documents/Vault conversations.json talk.srt
  vademecum import media ~/Documents/Articles
  vademecum import --dry-run --json cards/
  vademecum import --explain export.zip
  vademecum import --watch ~/Documents/Vault
  vademecum import --two-way --new-notes Inbox ~/Documents/Vault
  vademecum import sessions --dry-run
  vademecum import tldw /srv/tldw/Databases/user_databases --tldw-user 1

KIND is the type of the items: notes, media, prompts, characters or chats. Without
it, the type is detected from the content of each file; Markdown and text become
notes. With tldw, the databases in the directory of a tldw server or of
tldw_chatbook are copied. With sessions, the sessions of coding agents are found where
Claude Code, Codex, Gemini CLI, Copilot CLI, Cursor, OpenCode, VS Code, Cline, Roo Code,
Goose, Zed, Qwen Code, Kimi, Amp, Antigravity and aider keep them (a folder of that name is
./sessions). With --watch, what is appended to them is imported at once. Keys, tokens and passwords in sessions are removed before they are stored.

Notes are read from Markdown, text, Obsidian, Logseq, Org, Google Keep, Notion, Evernote,
Joplin, Bear, TextBundle, Roam, Simplenote, Standard Notes, Day One and Tomboy, and from the
memory of the MCP memory server, claude-mem, engram, MemPalace and mem0; media from
articles, web pages, bookmarks, PDF, EPUB, office documents, tables, notebooks, subtitles,
mail, feeds, bibliographies (BibTeX, RIS, CSL JSON), and what people saved or marked in
Kindle, Kobo, Readwise, Raindrop, Instapaper, Pocket, Omnivore, Karakeep, Linkwarden,
Hypothesis, Zotero and browsers, calendars, contacts, and archives of X and Mastodon; chats
from ChatGPT, Claude, Gemini, Grok, Open WebUI, LibreChat, LM Studio, Jan, SillyTavern, JSON
with `role` and `content`, WhatsApp, Telegram, Slack, Discord, Instagram, Messenger, Google Chat and Signal; characters
from cards (JSON, PNG, CHARX); prompts from CSV, JSON and folders of Markdown patterns.
Archives (.zip, .tgz) are read like folders. Other files are counted by format.

Importing the same files again updates their items, and continues where an
import was interrupted. A file that cannot be read is listed with the reason; the
others are imported; `read in part` says that parts of a file were left out. --explain says
how a file is understood, and why. A deleted file is listed; its items are kept. No
file is ever changed, except in folders that you open with --two-way. `vademecum sources`
shows the import status of each.

With --two-way, changes of notes in the library are written to their files (.md, .txt,
.org), and edits of the files are imported while the server runs. If both changed the same
lines, the file stays as you have it, and `… (conflict of <client> <date>)` beside it has the
other version. The files of deleted notes are moved to `.trash` in the folder.

Exit codes: 0 if the library has any of the items afterwards, 1 if nothing was read;
the reason is shown."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(super) struct Import {
    /// Type of the imported items (optional), then files and folders
    #[arg(required = true, value_name = "KIND OR PATH")]
    named: Vec<PathBuf>,
    /// Show the result of an import without saving anything
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Say how each file is understood, and what else could read it, without saving anything
    #[arg(long, conflicts_with_all = ["dry_run", "watch", "two_way", "one_way"])]
    explain: bool,
    /// Run until Ctrl-C: import new and changed files, and remove the items of deleted files
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) watch: bool,
    #[command(flatten)]
    two_way: TwoWayOptions,
    /// User whose databases to copy, if a tldw directory has several users [default: that of
    /// --user]
    #[arg(long, value_name = "ID")]
    tldw_user: Option<String>,
    /// Import sessions without asking
    #[arg(long)]
    pub(super) yes: bool,
    /// Keep keys, tokens and passwords in new and changed sessions of coding agents
    #[arg(long)]
    keep_secrets: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Options for folders that are written.
#[derive(Debug, Default, clap::Args)]
struct TwoWayOptions {
    /// Keep folders and their notes in sync from now on: write changes of notes to the files
    #[arg(long, conflicts_with_all = ["dry_run", "one_way"])]
    two_way: bool,
    /// Write notes that clients create into this folder below the two-way folder
    #[arg(long, value_name = "FOLDER", requires = "two_way")]
    new_notes: Option<PathBuf>,
    /// Stop writing to the files of folders that were opened with --two-way
    #[arg(long)]
    one_way: bool,
}

impl Import {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        if let [first, folders @ ..] = self.named.as_slice()
            && first.as_os_str() == "tldw"
            && !folders.is_empty()
        {
            return self.import_tldw(common, folders).await;
        }
        common.check_user(&common.load_settings()?)?;
        if let [only] = self.named.as_slice()
            && only.as_os_str() == "sessions"
        {
            return self.import_sessions(common).await;
        }
        let app = common.create_app()?;
        let options = self.import_options(app.reader_limits())?;
        if self.explain {
            return self.explain_files(&options, &app).await;
        }
        let library = app.library();
        let known = app.folders().two_way_folders(app.principal().user(), &library.ledger())?;
        let is_known = |path: &PathBuf| {
            path.canonicalize().is_ok_and(|path| known.iter().any(|folder| folder.path == path))
        };
        let syncs_known =
            !self.two_way.one_way && !self.dry_run && options.paths.iter().all(is_known);
        if self.two_way.two_way || syncs_known {
            return self.sync_two_way(&app, &options, &known).await;
        }
        if self.two_way.one_way {
            for path in &options.paths {
                end_two_way(&app, &library, path)?;
            }
        }
        if self.watch {
            self.watch(&library, &options).await?;
            return Ok(ExitCode::SUCCESS);
        }
        stop_at_interrupt(&options.stop);
        let summary = import_files(&library, &options, &progress_callback()).await?;
        #[cfg(feature = "local-model")]
        super::model::offer_model(&common.load_settings()?);
        self.finish_import(&library, &summary, &options.stop).await
    }

    /// Prints how each named file is understood.
    async fn explain_files(&self, options: &ImportOptions, app: &App) -> Result<ExitCode> {
        let owner = app.library().folder().to_string_lossy().into_owned();
        let mut has_items = false;
        for path in &options.paths {
            let (path, owner, limits) = (path.clone(), owner.clone(), options.limits);
            let kind = options.kind;
            if path.is_dir() {
                bail!("{} is a folder; --explain takes files", path.display());
            }
            let explain = move || explain_file(&path, kind, limits, &owner);
            let explanation = tokio::task::spawn_blocking(explain).await?;
            has_items |= explanation.has_items();
            if self.json {
                print_json_line(&explanation)?;
            } else {
                explanation.lines().iter().for_each(|line| print_line(line));
            }
        }
        Ok(if has_items { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Opens the named folders for writing unless they are, and synchronizes them, with `--watch`
    /// until Ctrl-C.
    async fn sync_two_way(
        self,
        app: &App,
        options: &ImportOptions,
        known: &[TwoWayFolder],
    ) -> Result<ExitCode> {
        if options.kind.is_some() {
            bail!("--two-way takes folders of files of all kinds; name no kind");
        }
        if let Some(inside) = &self.two_way.new_notes {
            check_inner_folder(inside).map_err(anyhow::Error::msg)?;
        }
        let library = app.library();
        let mut has_problems = false;
        for path in &options.paths {
            let path =
                path.canonicalize().with_context(|| format!("cannot open {}", path.display()))?;
            if !path.is_dir() {
                bail!("{} is not a folder; --two-way takes folders", path.display());
            }
            let opened = known.iter().find(|folder| folder.path == path).cloned();
            let folder = match opened {
                Some(folder) if !self.two_way.two_way => folder,
                _ => {
                    let folder = TwoWayFolder { path, new_notes: self.two_way.new_notes.clone() };
                    library.ledger().add_two_way_folder(&folder)?;
                    folder
                }
            };
            let lock = SyncLock::acquire(&library, LOCK_TIMEOUT).await?;
            let progress = progress_callback();
            let limits = options.limits;
            let report =
                sync_folder(&library, &folder, SyncScope::All, limits, &progress, &lock).await?;
            if let Some(summary) = &report.imported {
                self.print_report(summary)?;
                has_problems |= summary.is_failure();
            }
            for path in &report.written {
                print_line(&format!("written: {}", sanitize(&path.display().to_string())));
            }
            for (path, reason) in report.problems.iter().chain(&report.refusals) {
                print_error(&format!(
                    "not written: {}: {reason}",
                    sanitize(&path.display().to_string())
                ));
            }
            has_problems |= !report.problems.is_empty();
        }
        if self.watch {
            print_error("keeping the folders in sync; press Ctrl-C to stop");
            app.sync_folders_until(tokio::signal::ctrl_c()).await?;
            return Ok(ExitCode::SUCCESS);
        }
        Ok(if has_problems { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Imports the files and their changes until Ctrl-C.
    async fn watch(&self, library: &Library, options: &ImportOptions) -> Result<()> {
        stop_at_interrupt(&options.stop);
        let stopped = options.stop.stopped();
        watch_files(library, options, &progress_callback(), stopped, |event| match event {
            WatchEvent::Imported(summary) => self.print_report(summary),
            WatchEvent::Watching => {
                print_error("watching for changes; press Ctrl-C to stop");
                Ok(())
            }
        })
        .await
    }

    /// Copies the databases of tldw users.
    async fn import_tldw(&self, common: &CommonOptions, folders: &[PathBuf]) -> Result<ExitCode> {
        if self.watch || self.dry_run {
            bail!("importing from tldw supports neither --watch nor --dry-run");
        }
        let app = common.create_app()?;
        let own = app.settings().storage.named_user();
        let user = TargetUser { requested_user: self.tldw_user.as_deref(), library_user: own };
        let library = app.library();
        let print_user = |user: &TldwUser| {
            if !self.json {
                print_line(&format!("tldw: user {} in {}", user.id(), user.folder().display()));
            }
        };
        let progress = progress_callback();
        let summary = copy_folders(&library, folders, user, &progress, print_user).await?;
        let stop = StopSignal::default();
        stop_at_interrupt(&stop);
        self.finish_import(&library, &summary, &stop).await
    }

    /// Prints the report and computes the vectors of new items. The program ends here if the import was
    /// interrupted.
    pub(super) async fn finish_import(
        &self,
        library: &Library,
        summary: &ImportSummary,
        stop: &StopSignal,
    ) -> Result<ExitCode> {
        self.print_report(summary)?;
        if summary.left() > 0 {
            exit_interrupted();
        }
        if !self.dry_run {
            // The imported items are saved by now. If the user interrupts here, the remaining
            // vectors are computed on demand.
            let bar = progress_bar(0, "vectors");
            let mut all = 0;
            let shown = bar.clone();
            let index = library.index_all(move |missing| {
                all = all.max(missing);
                shown.set_length(all as u64);
                shown.set_position((all - missing) as u64);
            });
            tokio::select! {
                _ = index => {}
                () = stop.stopped() => exit_interrupted(),
            }
            bar.finish_and_clear();
        }
        Ok(if summary.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    pub(super) fn print_report(&self, summary: &ImportSummary) -> Result<()> {
        if self.json {
            // With --watch, each summary is one line of JSON.
            return if self.watch { print_json_line(summary) } else { print_json(summary) };
        }
        summary.format_problems().iter().for_each(|line| print_error(line));
        summary.format_report().iter().for_each(|line| print_line(line));
        Ok(())
    }

    /// Parses the positional arguments. The first word is a type if it names one and is followed by
    /// paths.
    fn import_options(&self, limits: ReaderLimits) -> Result<ImportOptions> {
        let kind = self.named.first().and_then(|first| first.to_str()?.parse::<SourceName>().ok());
        let paths = match (kind, self.named.as_slice()) {
            (Some(kind), [only]) if !only.exists() => {
                bail!("name the files and folders to import as {kind}")
            }
            (Some(_), [_, paths @ ..]) if !paths.is_empty() => paths,
            (None, [first, _, ..]) if !first.exists() && first.components().count() == 1 => {
                let kinds = SourceName::ALL.map(SourceName::as_str).join(", ");
                bail!("`{}` is neither a file nor a kind; the kinds are {kinds}", first.display())
            }
            (_, paths) => {
                return Ok(self.options(paths.to_vec(), limits));
            }
        };
        Ok(ImportOptions { kind, ..self.options(paths.to_vec(), limits) })
    }

    /// Returns the options of an import of these paths as what they contain.
    pub(super) fn options(&self, paths: Vec<PathBuf>, limits: ReaderLimits) -> ImportOptions {
        ImportOptions {
            kind: None,
            paths,
            dry_run: self.dry_run,
            follow_deletions: self.watch,
            limits,
            conflict_copies: ConflictCopies::InLibrary,
            quota: None,
            secrets: if self.keep_secrets { SecretHandling::Keep } else { SecretHandling::Redact },
            stop: StopSignal::default(),
        }
    }
}

/// Ends writing to the files of a folder.
fn end_two_way(app: &App, library: &Library, path: &Path) -> Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if library.ledger().remove_two_way_folder(&path)? {
        print_error(&format!("{} is imported only, from now on", path.display()));
        return Ok(());
    }
    let configured = app.folders().two_way_folders(app.principal().user(), &library.ledger())?;
    if configured.iter().any(|folder| folder.path == path) {
        bail!("{} is a two-way folder of the settings; change `two_way` there", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_options(words: &[&str]) -> Result<(Option<SourceName>, usize)> {
        let named = words.iter().map(PathBuf::from).collect();
        let import = Import {
            named,
            dry_run: false,
            explain: false,
            watch: false,
            two_way: TwoWayOptions::default(),
            tldw_user: None,
            yes: false,
            keep_secrets: false,
            json: false,
        };
        let options = import.import_options(ReaderLimits::default())?;
        Ok((options.kind, options.paths.len()))
    }

    #[test]
    fn first_word_is_kind_when_paths_follow() {
        assert_eq!(parse_options(&["notes", "a.md"]).unwrap(), (Some(SourceName::Notes), 1));
        assert_eq!(parse_options(&["/a.md", "notes"]).unwrap(), (None, 2));
        assert_eq!(parse_options(&["a.md"]).unwrap(), (None, 1));
        let error = parse_options(&["recipes", "a.md"]).unwrap_err().to_string();
        assert!(error.contains("`recipes`") && error.contains("notes, media"), "{error}");
        let error = parse_options(&["chats"]).unwrap_err().to_string();
        assert!(error.contains("to import as chats"), "{error}");
    }
}
