//! `vademecum import`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use vademecum_import::ReaderLimits;
use vademecum_kit::model::SourceName;
use vademecum_tldw::TldwUser;

use super::{
    common::CommonOptions,
    output::{print_error, print_json, print_json_line, print_line},
    progress::{progress_bar, progress_callback},
};
use crate::{
    actors::Library,
    services::import::{
        ImportOptions, ImportSummary, TargetUser, WatchEvent, copy_folders, import_files,
        watch_files,
    },
};

/// Import files
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "vademecum import [KIND] <PATH>...",
    after_help = "\
Examples:
  vademecum import ~/Documents/Vault conversations.json talk.srt
  vademecum import media ~/Documents/Articles
  vademecum import --dry-run --json cards/
  vademecum import --watch ~/Documents/Vault
  vademecum import tldw /srv/tldw/Databases/user_databases --tldw-user 1

KIND is the type of the items: notes, media, prompts, characters or chats. Without
it, the type is detected from the content of each file; Markdown and text become
notes. With tldw, the databases in the directory of a tldw server or of
tldw_chatbook are copied.

Notes are read from Markdown, text, Obsidian, Logseq, Org, Google Keep and Notion; media
from articles, web pages, bookmarks, PDF, EPUB, office documents, tables, notebooks,
subtitles, mail and feeds; chats from ChatGPT, Claude, SillyTavern and JSON with `role`
and `content`; characters from cards (JSON, PNG, CHARX); prompts from CSV, JSON and
folders of Markdown patterns. Other files are counted by format.

Importing the same files again updates their items, and continues where an
import was interrupted. A file that cannot be read is listed with the reason; the
others are imported. A deleted file is listed; its items are kept. No
file is ever changed. `vademecum sources` shows the import status of each.

Exit codes: 0 if the library has any of the items afterwards, 1 if nothing was read;
the reason is shown."
)]
pub(super) struct Import {
    /// Type of the imported items (optional), then files and folders
    #[arg(required = true, value_name = "KIND OR PATH")]
    named: Vec<PathBuf>,
    /// Show the result of an import without saving anything
    #[arg(long)]
    dry_run: bool,
    /// Run until Ctrl-C: import new and changed files, and remove the items of deleted files
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// User whose databases to copy, if a tldw directory has several users [default: that of
    /// --user]
    #[arg(long, value_name = "ID")]
    tldw_user: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        if let [first, folders @ ..] = self.named.as_slice()
            && first.as_os_str() == "tldw"
            && !folders.is_empty()
        {
            return self.import_tldw(common, folders).await;
        }
        let app = common.create_app()?;
        let options = self.import_options(app.reader_limits())?;
        let library = app.library();
        if self.watch {
            self.watch(&library, &options).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let summary = import_files(&library, &options, &progress_callback()).await?;
        self.finish_import(&library, &summary).await
    }

    /// Imports the files and their changes until Ctrl-C.
    async fn watch(&self, library: &Library, options: &ImportOptions) -> Result<()> {
        let interrupted = async {
            if let Err(error) = tokio::signal::ctrl_c().await {
                tracing::warn!(%error, "cannot wait for Ctrl-C");
            }
        };
        watch_files(library, options, &progress_callback(), interrupted, |event| match event {
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
        self.finish_import(&library, &summary).await
    }

    async fn finish_import(&self, library: &Library, summary: &ImportSummary) -> Result<ExitCode> {
        self.print_report(summary)?;
        if !self.dry_run {
            // The imported items are saved by now. If the user interrupts here, the remaining
            // vectors are computed on demand.
            let bar = progress_bar(0, "vectors");
            let mut all = 0;
            let shown = bar.clone();
            library
                .index_all(move |missing| {
                    all = all.max(missing);
                    shown.set_length(all as u64);
                    shown.set_position((all - missing) as u64);
                })
                .await;
            bar.finish_and_clear();
        }
        Ok(if summary.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn print_report(&self, summary: &ImportSummary) -> Result<()> {
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
                return Ok(ImportOptions {
                    kind: None,
                    paths: paths.to_vec(),
                    dry_run: self.dry_run,
                    follow_deletions: self.watch,
                    limits,
                });
            }
        };
        Ok(ImportOptions {
            kind,
            paths: paths.to_vec(),
            dry_run: self.dry_run,
            follow_deletions: self.watch,
            limits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_options(words: &[&str]) -> Result<(Option<SourceName>, usize)> {
        let named = words.iter().map(PathBuf::from).collect();
        let options = Import { named, dry_run: false, watch: false, tldw_user: None, json: false }
            .import_options(ReaderLimits::default())?;
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
