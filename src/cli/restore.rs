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
    store::{Store, files_of, make_private_folder},
};

use super::{
    aside,
    command::Common,
    manifest::Manifest,
    output::{count, say},
};

/// Puts a backup back in its place.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum restore ~/backups/2026-01-31
  vademecum restore /srv/backups/monday --force

Everything is checked before anything is changed. A library that is there
already is refused; with --force it is moved aside, and the command says where.
Stop the server first.")]
pub(super) struct Restore {
    /// The folder that a backup is in
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Put what is there already aside
    #[arg(long)]
    force: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Something that is moved from one path to another.
type Move = (PathBuf, PathBuf);

impl Restore {
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let data = common.settings()?.storage.folder()?;
        let data = std::path::absolute(&data).context("cannot find the folder of the library")?;
        let manifest = Manifest::read(&self.folder)?;
        let places = places(&manifest, &data);
        let taken: Vec<_> = places.iter().filter(|place| !aside::is_free(place)).collect();
        if let Some(place) = taken.first().filter(|_| !self.force) {
            bail!("{} is there already; --force puts it aside", place.display());
        }
        for file in &manifest.files {
            let store = Store::new(file.database()?, &file.folder(&data));
            // One that cannot be read is nobody's to lose.
            if store.is_in_use().unwrap_or(false) {
                bail!("{} is in use; stop the server first", store.path().display());
            }
        }
        let was_there = data.exists();
        make_private_folder(&data)?;
        let restored = self.put_back(&manifest, &data, &places);
        if restored.is_err() && !was_there {
            // Only goes if it is empty.
            fs::remove_dir(&data).ok();
        }
        let kept = restored?;
        self.tell(&manifest, &data, kept.as_deref());
        Ok(ExitCode::SUCCESS)
    }

    /// Checks a copy of the backup, and only then puts it in its place; where
    /// that was kept which was there before.
    fn put_back(
        &self,
        manifest: &Manifest,
        data: &Path,
        places: &BTreeSet<PathBuf>,
    ) -> Result<Option<PathBuf>> {
        // In the same folder, so that what is ready need only be moved.
        let ready = aside::beside(&data.join("restore"))?;
        for file in &manifest.files {
            make_private_folder(&file.folder(ready.path()))?;
            file.copy(&self.folder, ready.path())?;
            let store = Store::new(file.database()?, &file.folder(ready.path()));
            let health = store.check()?;
            if let Some(problem) = health.problems.first() {
                bail!("{} is damaged: {problem}", file.path(&self.folder).display());
            }
            store.settle()?;
            store.close();
        }
        let now = Timestamp::now().to_string().replace([':', '.'], "-");
        let kept = data.join(format!("{}{now}", aside::KEPT));
        let mut moves = Vec::new();
        for place in places {
            let name = place.strip_prefix(data)?;
            let both = files_of(place).into_iter().zip(files_of(&kept.join(name)));
            moves.extend(both.filter(|(from, _)| from.exists()));
        }
        let keeps = !moves.is_empty();
        for place in places {
            moves.push((ready.path().join(place.strip_prefix(data)?), place.clone()));
        }
        carry_out(&moves)?;
        Ok(keeps.then_some(kept))
    }

    fn tell(&self, manifest: &Manifest, data: &Path, kept: Option<&Path>) {
        if self.json {
            let files: Vec<_> = manifest.files.iter().map(|file| file.path(data)).collect();
            say(&format!("{:#}", json!({ "restored": files, "kept": kept })));
            return;
        }
        let databases = count(manifest.files.len(), "database");
        say(&format!("restored {databases} to {}", data.display()));
        if let Some(kept) = kept {
            say(&format!("what was there before is in {}", kept.display()));
        }
    }
}

/// What is replaced as a whole: the folder of each user, the server's database.
fn places(manifest: &Manifest, data: &Path) -> BTreeSet<PathBuf> {
    let place = |file: &super::manifest::Copied| match &file.user {
        Some(_) => file.folder(data),
        None => file.path(data),
    };
    manifest.files.iter().map(place).collect()
}

/// Moves everything, or nothing.
fn carry_out(moves: &[Move]) -> Result<()> {
    let mut done: Vec<&Move> = Vec::new();
    for step in moves {
        let (from, to) = step;
        let moved = to
            .parent()
            .map_or(Ok(()), |folder| make_private_folder(folder).map_err(anyhow::Error::from))
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
    fn what_cannot_be_moved_moves_everything_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "1").unwrap();
        let moves = [(path("a"), path("deep/b")), (path("missing"), path("c"))];
        let error = format!("{:#}", carry_out(&moves).unwrap_err());
        assert!(error.contains("missing"), "{error}");
        assert_eq!(fs::read(path("a")).unwrap(), b"1");
        assert!(!path("deep/b").exists());
        carry_out(&moves[..1]).unwrap();
        assert!(path("deep/b").exists() && !path("a").exists());
    }
}
