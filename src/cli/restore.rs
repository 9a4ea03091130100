//! `vademecum restore`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde_json::json;
use vademecum_kit::{
    model::Timestamp,
    store::{Store, create_private_folder, database_files},
};

use super::{common::CommonOptions, manifest::Manifest, output::print_line};
use crate::services::atomic_write;
use crate::services::text::format_count;

/// Restore a backup
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum restore ~/backups/2026-01-31
  vademecum restore /srv/backups/monday --force

The whole backup is checked before anything is changed. An existing library
is an error; with --force it is moved to another folder, which is printed.
Stop the server first.")]
pub(super) struct Restore {
    /// Folder of the backup
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Move existing databases to another folder instead of failing
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Source and destination of a move.
type FileMove = (PathBuf, PathBuf);

impl Restore {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let data = common.load_settings()?.storage.data_folder()?;
        let data = std::path::absolute(&data).context("cannot find the data folder")?;
        let manifest = Manifest::read(&self.folder)?;
        let places = restore_targets(&manifest, &data);
        let taken: Vec<_> =
            places.iter().filter(|place| !atomic_write::is_absent_or_empty(place)).collect();
        if let Some(place) = taken.first().filter(|_| !self.force) {
            bail!("{} exists already; use --force to move it to another folder", place.display());
        }
        for file in &manifest.files {
            let store = Store::new(file.database()?, &file.folder(&data));
            // A database that cannot be checked is not treated as in use, so that a damaged one can
            // be replaced.
            if store.is_in_use().unwrap_or(false) {
                bail!("{} is in use; stop the server first", store.path().display());
            }
        }
        let was_there = data.exists();
        create_private_folder(&data)?;
        let restored = self.restore_files(&manifest, &data, &places);
        if restored.is_err() && !was_there {
            // Removes the folder only if it is empty.
            fs::remove_dir(&data).ok();
        }
        let kept = restored?;
        self.print_report(&manifest, &data, kept.as_deref());
        Ok(ExitCode::SUCCESS)
    }

    /// Copies and checks the backup, then moves it into place. Returns the folder that keeps the
    /// replaced databases, if there were any.
    fn restore_files(
        &self,
        manifest: &Manifest,
        data: &Path,
        places: &BTreeSet<PathBuf>,
    ) -> Result<Option<PathBuf>> {
        // A folder on the same disk, so that the last step is only a rename.
        let ready = atomic_write::create_temporary_folder(&data.join("restore"))?;
        for file in &manifest.files {
            create_private_folder(&file.folder(ready.path()))?;
            file.copy_verified(&self.folder, ready.path())?;
            let store = Store::new(file.database()?, &file.folder(ready.path()));
            let health = store.check_integrity()?;
            if let Some(problem) = health.problems.first() {
                bail!("{} is damaged: {problem}", file.path(&self.folder).display());
            }
            store.checkpoint()?;
            store.close();
        }
        let now = Timestamp::now().to_string().replace([':', '.'], "-");
        let kept = data.join(format!("{}{now}", atomic_write::REPLACED_PREFIX));
        let mut moves = Vec::new();
        for place in places {
            let name = place.strip_prefix(data)?;
            let both = database_files(place).into_iter().zip(database_files(&kept.join(name)));
            moves.extend(both.filter(|(from, _)| from.exists()));
        }
        let keeps = !moves.is_empty();
        for place in places {
            moves.push((ready.path().join(place.strip_prefix(data)?), place.clone()));
        }
        move_all_or_none(&moves)?;
        Ok(keeps.then_some(kept))
    }

    fn print_report(&self, manifest: &Manifest, data: &Path, kept: Option<&Path>) {
        if self.json {
            let files: Vec<_> = manifest.files.iter().map(|file| file.path(data)).collect();
            print_line(&format!("{:#}", json!({ "restored": files, "kept": kept })));
            return;
        }
        let databases = format_count(manifest.files.len(), "database");
        print_line(&format!("restored {databases} to {}", data.display()));
        if let Some(kept) = kept {
            print_line(&format!("the previous databases are in {}", kept.display()));
        }
    }
}

/// Returns the paths that are replaced as a whole: the folder of each user, and the server's
/// database.
fn restore_targets(manifest: &Manifest, data: &Path) -> BTreeSet<PathBuf> {
    let place = |file: &super::manifest::BackupFile| match &file.user {
        Some(_) => file.folder(data),
        None => file.path(data),
    };
    manifest.files.iter().map(place).collect()
}

/// Performs all moves. If one fails, the earlier ones are undone.
fn move_all_or_none(moves: &[FileMove]) -> Result<()> {
    let mut done: Vec<&FileMove> = Vec::new();
    for step in moves {
        let (from, to) = step;
        let moved = to
            .parent()
            .map_or(Ok(()), |folder| create_private_folder(folder).map_err(anyhow::Error::from))
            .and_then(|()| Ok(fs::rename(from, to)?));
        if let Err(error) = moved {
            for (from, to) in done.into_iter().rev() {
                fs::rename(to, from)
                    .with_context(|| format!("{} could not be moved back", to.display()))?;
            }
            return Err(error).with_context(|| format!("cannot move {}", from.display()));
        }
        done.push(step);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_move_undoes_earlier_moves() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "1").unwrap();
        let moves = [(path("a"), path("deep/b")), (path("missing"), path("c"))];
        let error = format!("{:#}", move_all_or_none(&moves).unwrap_err());
        assert!(error.contains("missing"), "{error}");
        assert_eq!(fs::read(path("a")).unwrap(), b"1");
        assert!(!path("deep/b").exists());
        move_all_or_none(&moves[..1]).unwrap();
        assert!(path("deep/b").exists() && !path("a").exists());
    }
}
