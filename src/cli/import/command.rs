//! `vademecum import`.

use std::{fmt::Write, path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use vademecum_kit::model::SourceName;

use super::{
    run::{Wish, bring_in},
    summary::Summary,
    tldw, watch,
};

use crate::{
    actors::Library,
    cli::{command::Common, output::say},
};

/// Brings files in.
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

KIND is what the files become: notes, media, prompts, characters or chats. Without
it, each file becomes what its content says it is, and Markdown and text become
notes. With tldw, the databases in the directory of a tldw server or of
tldw_chatbook are copied.

Importing the same files again updates what they became, and goes on where an
import was interrupted. A file that cannot be read is named with the reason; the
rest go in. A file that is not there any more is named; what it became stays. No
file is ever changed. `vademecum sources` tells what became of each.

Ends with 0 if anything is in the library afterwards, with 1 if nothing could be
read."
)]
pub(crate) struct Import {
    /// What the files become, unless that shows in them; then files and folders
    #[arg(required = true, value_name = "KIND OR PATH")]
    named: Vec<PathBuf>,
    /// Tell what would become of the files; save nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on until Ctrl-C: bring in what is new or changes, and take away what
    /// came from files that are deleted
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// Whose databases are copied, of several in a tldw directory [default: those of --user]
    #[arg(long, value_name = "ID")]
    tldw_user: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) async fn run(self, common: &Common) -> Result<ExitCode> {
        if let [first, folders @ ..] = self.named.as_slice()
            && first.as_os_str() == "tldw"
            && !folders.is_empty()
        {
            return self.copy(common, folders).await;
        }
        let wish = self.wish()?;
        let app = common.app()?;
        let library = app.library();
        if self.watch {
            watch::watch(&library, &wish, |summary| self.tell(summary)).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let summary = bring_in(&library, &wish).await?;
        self.end(&library, &summary).await
    }

    /// Copies what users of tldw have.
    async fn copy(&self, common: &Common, folders: &[PathBuf]) -> Result<ExitCode> {
        if self.watch || self.dry_run {
            bail!("tldw is copied at once: leave --watch and --dry-run out");
        }
        let app = common.app()?;
        let own = app.settings().storage.named_user();
        let user = tldw::Whose { named: self.tldw_user.as_deref(), own };
        let library = app.library();
        let summary = tldw::copy(&library, folders, user, self.json).await?;
        self.end(&library, &summary).await
    }

    async fn end(&self, library: &Library, summary: &Summary) -> Result<ExitCode> {
        self.tell(summary)?;
        if !self.dry_run {
            // What was brought in is safe by now: whoever ends this here loses
            // nothing, and the rest is made when it is needed.
            let bar = progress(0, "vectors");
            let mut all = 0;
            let shown = bar.clone();
            library
                .make_vectors(move |missing| {
                    all = all.max(missing);
                    shown.set_length(all as u64);
                    shown.set_position((all - missing) as u64);
                })
                .await;
            bar.finish_and_clear();
        }
        Ok(if summary.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn tell(&self, summary: &Summary) -> Result<()> {
        if self.json {
            // One line for each time that something changes.
            let write =
                if self.watch { serde_json::to_string } else { serde_json::to_string_pretty };
            say(&write(summary)?);
        } else {
            summary.print();
        }
        Ok(())
    }

    /// What is to be done. The first word is a kind, unless it is the only one.
    fn wish(&self) -> Result<Wish> {
        let kind = self.named.first().and_then(|first| first.to_str()?.parse::<SourceName>().ok());
        let paths = match (kind, self.named.as_slice()) {
            (Some(kind), [only]) if !only.exists() => {
                bail!("name the files and folders that are to become {kind}")
            }
            (Some(_), [_, paths @ ..]) if !paths.is_empty() => paths,
            (None, [first, _, ..]) if !first.exists() && first.components().count() == 1 => {
                let kinds = SourceName::ALL.map(SourceName::as_str).join(", ");
                bail!("`{}` is neither a file nor a kind; the kinds are {kinds}", first.display())
            }
            (_, paths) => {
                return Ok(Wish {
                    kind: None,
                    paths: paths.to_vec(),
                    dry_run: self.dry_run,
                    follow: self.watch,
                });
            }
        };
        Ok(Wish { kind, paths: paths.to_vec(), dry_run: self.dry_run, follow: self.watch })
    }
}

/// Shows how far it is, if standard error is a terminal.
pub(crate) fn progress(count: usize, things: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(count).unwrap_or(0)).with_message(things);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {rate}  {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style.with_key("rate", |state: &ProgressState, line: &mut dyn Write| {
        // A line that cannot be written is not shown.
        line.write_str(&rate(state.per_sec())).ok();
    }))
}

/// How fast it is, as exactly as anybody wants to know.
fn rate(per_second: f64) -> String {
    if per_second < 10.0 { format!("{per_second:.1}/s") } else { format!("{per_second:.0}/s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(words: &[&str]) -> Result<(Option<SourceName>, usize)> {
        let named = words.iter().map(PathBuf::from).collect();
        let wish =
            Import { named, dry_run: false, watch: false, tldw_user: None, json: false }.wish()?;
        Ok((wish.kind, wish.paths.len()))
    }

    #[test]
    fn a_rate_is_rounded() {
        assert_eq!([0.0, 4.26, 92.9004, 1234.5].map(rate), ["0.0/s", "4.3/s", "93/s", "1234/s"]);
    }

    #[test]
    fn the_first_word_is_a_kind_if_it_is_one_and_not_alone() {
        assert_eq!(wish(&["notes", "a.md"]).unwrap(), (Some(SourceName::Notes), 1));
        assert_eq!(wish(&["/a.md", "notes"]).unwrap(), (None, 2));
        assert_eq!(wish(&["a.md"]).unwrap(), (None, 1));
        let error = wish(&["recipes", "a.md"]).unwrap_err().to_string();
        assert!(error.contains("`recipes`") && error.contains("notes, media"), "{error}");
        let error = wish(&["chats"]).unwrap_err().to_string();
        assert!(error.contains("are to become chats"), "{error}");
    }
}
