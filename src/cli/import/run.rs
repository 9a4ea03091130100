//! Bringing files in: read ahead, saved in order, remembered in the ledger.

use std::{
    collections::HashMap,
    num::NonZero,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    thread,
};

use anyhow::{Context, Result};
use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use vademecum_kit::{
    model::{Draft, Saved, SourceName},
    source::SourceError,
};

use super::{command::progress, summary::Summary};
use crate::actors::{Library, SourceHandle, chain};
use vademecum_import::{
    self as import, Entry, Found, Importer, Ledger, Outcome, Problem, Read, State,
};

/// Drafts that are saved in one transaction.
const BATCH: usize = 500;
/// Bytes of files whose drafts are saved in one transaction.
const BATCH_BYTES: u64 = 8 * 1_024 * 1_024;
/// Bytes of files that are read ahead: as many as are saved together, so that they
/// are there when those before them are saved.
const AHEAD_BYTES: u32 = 8 * 1_024 * 1_024;
/// What the smallest file counts: no more are read ahead than are saved together.
const LEAST_BYTES: u32 = AHEAD_BYTES / 512;

/// What is to be brought in.
#[derive(Debug)]
pub(crate) struct Wish {
    /// What the files become, if the user says so.
    pub(crate) kind: Option<SourceName>,
    /// Files and folders.
    pub(crate) paths: Vec<PathBuf>,
    /// Whether nothing is to be saved.
    pub(crate) dry_run: bool,
    /// Whether what came from files that are gone is to be taken away.
    pub(crate) follow: bool,
}

/// Reads files and saves what they become.
pub(crate) async fn bring_in(library: &Library, wish: &Wish) -> Result<Summary> {
    let listing = import::files(&wish.paths);
    let ledger = library.ledger();
    let mut summary = Summary::new(wish.dry_run);
    for problem in listing.skipped {
        summary.skip(&problem.place, String::new(), problem.reason);
    }
    let mut known = known(&ledger, &listing.named, wish.kind)?;
    // A folder that is empty all of a sudden is most likely not mounted.
    let follows = wish.follow && !listing.files.is_empty();
    let mut changed = Vec::new();
    for found in listing.files {
        let state = State::of(&found.path).unwrap_or_default();
        match known.remove(&found.path) {
            Some(entry) if entry.holds(state) => summary.unchanged(&entry),
            _ => changed.push((found, state.size)),
        }
    }
    let intake = Intake { library, ledger, wish, follows, gone: known, summary };
    let summary = intake.save(changed).await?;
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.settle()?;
    }
    Ok(summary)
}

/// What is known of the files that are meant, by path.
fn known(
    ledger: &Ledger,
    named: &[PathBuf],
    kind: Option<SourceName>,
) -> Result<HashMap<PathBuf, Entry>> {
    let mut known = HashMap::new();
    for path in named {
        let below = ledger.below(path)?.into_iter().filter(|entry| entry.asked == kind);
        known.extend(below.map(|entry| (entry.path.clone(), entry)));
    }
    Ok(known)
}

/// An import that is under way.
struct Intake<'l> {
    library: &'l Library,
    ledger: Ledger,
    wish: &'l Wish,
    /// Whether what came from files that are gone is taken away.
    follows: bool,
    /// What is known of files that are not there any more.
    gone: HashMap<PathBuf, Entry>,
    summary: Summary,
}

/// Files that were read and are to be saved together.
#[derive(Default)]
struct Batch {
    files: Vec<(Entry, Vec<Draft>)>,
    /// Files that go by another name from now on.
    renamed: Vec<Entry>,
    drafts: usize,
    bytes: u64,
}

impl Intake<'_> {
    async fn save(mut self, files: Vec<(Found, u64)>) -> Result<Summary> {
        let bar = progress(files.len(), "files");
        let mut readings = read_ahead(self.wish.kind, files);
        let mut batch = Batch::default();
        while let Some((read, room)) = readings.recv().await {
            // Another file may be read.
            drop(room);
            bar.inc(1);
            self.take(read, &mut batch).await?;
            if batch.drafts >= BATCH || batch.bytes >= BATCH_BYTES {
                self.flush(std::mem::take(&mut batch)).await?;
            }
        }
        self.flush(batch).await?;
        bar.finish_and_clear();
        self.report_gone().await?;
        Ok(self.summary.finish())
    }

    /// Takes in what was read of a file.
    async fn take(&mut self, read: Read, batch: &mut Batch) -> Result<()> {
        self.summary.read(read.state.size);
        let source = read.importer.map(Importer::source);
        let mut entry = Entry::new(read.found.path, self.wish.kind, read.found.root);
        entry.source = source;
        entry.format = read.importer.map(|importer| importer.format().to_owned());
        (entry.state, entry.digest) = (read.state, read.digest);
        let mut drafts = match read.reading {
            Ok(reading) => {
                entry.problems = reading.problems;
                reading.drafts
            }
            Err(error) => {
                entry.outcome = Outcome::Skipped;
                entry.problems = vec![whole(&entry.path, &error)];
                Vec::new()
            }
        };
        if let Some(before) = self.renamed(&entry) {
            let (from, to) = (origin(&before.path), origin(&entry.path));
            if self.wish.dry_run {
                for draft in &mut drafts {
                    draft.origin = draft.origin.replace(&to, &from);
                    draft.digest.clear();
                }
            } else {
                self.source(entry.source)?.rename(from, to).await?;
                batch.renamed.push(before);
            }
        }
        batch.drafts += drafts.len();
        batch.bytes += entry.state.size;
        batch.files.push((entry, drafts));
        Ok(())
    }

    /// What is known of a file that is gone, and that this one was before.
    fn renamed(&mut self, entry: &Entry) -> Option<Entry> {
        let same = |gone: &Entry| {
            gone.digest.is_some() && gone.digest == entry.digest && gone.source == entry.source
        };
        let path = self.gone.values().find(|gone| same(gone))?.path.clone();
        self.gone.remove(&path)
    }

    /// Saves what was read, and remembers what became of it.
    async fn flush(&mut self, mut batch: Batch) -> Result<()> {
        for source in SourceName::ALL {
            let (mut owners, mut drafts) = (Vec::new(), Vec::new());
            for (file, (entry, read)) in batch.files.iter_mut().enumerate() {
                if entry.source == Some(source) {
                    owners.extend(read.iter().map(|_| file));
                    drafts.append(read);
                }
            }
            for (file, answer) in owners.into_iter().zip(self.answers(source, drafts).await?) {
                let Some((entry, _)) = batch.files.get_mut(file) else { continue };
                match answer {
                    Ok(saved) => {
                        self.summary.item(source, &saved);
                        if self.wish.follow {
                            self.summary.name(&entry.path, &saved);
                        }
                        entry.items.push(saved.uri().to_string());
                    }
                    Err(error) => {
                        let problem = whole(&entry.path, &error);
                        entry.problems.push(problem);
                    }
                }
            }
        }
        let mut entries: Vec<Entry> = batch.files.into_iter().map(|(entry, _)| entry).collect();
        for entry in &mut entries {
            entry.outcome = match (entry.source, entry.items.as_slice(), entry.problems.as_slice())
            {
                // Nobody reads it: because it could not be looked at, or need not be.
                (None, ..) => entry.outcome,
                (Some(_), [], [_, ..]) => Outcome::Skipped,
                (Some(_), ..) => Outcome::Imported,
            };
            self.summary.file(entry);
        }
        if !self.wish.dry_run {
            self.ledger.record(&entries, &batch.renamed)?;
        }
        Ok(())
    }

    /// What became of drafts, or would.
    async fn answers(
        &self,
        source: SourceName,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Result<Saved, SourceError>>> {
        let count = drafts.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        let handle = self.source(Some(source))?;
        let answers = if self.wish.dry_run {
            handle.rehearse(drafts).await?
        } else {
            handle.save(drafts).await?
        };
        if answers.len() < count {
            // The reason is the same for all, and is said once.
            answers.into_iter().collect::<Result<Vec<_>, _>>().context("nothing can be saved")?;
            return Ok(Vec::new());
        }
        Ok(answers)
    }

    /// Tells which files are not there any more. What came from them stays, unless
    /// the library is to follow.
    async fn report_gone(&mut self) -> Result<()> {
        let mut gone: Vec<Entry> = std::mem::take(&mut self.gone).into_values().collect();
        gone.sort_by(|one, other| one.path.cmp(&other.path));
        let (mut missing, mut forgotten) = (Vec::new(), Vec::new());
        for mut entry in gone {
            let held = matches!(entry.outcome, Outcome::Imported | Outcome::Missing);
            if held && self.follows && self.take_away(&entry).await? {
                self.summary.removed(&entry);
                forgotten.push(entry);
            } else if held {
                entry.outcome = Outcome::Missing;
                self.summary.file(&entry);
                missing.push(entry);
            } else {
                forgotten.push(entry);
            }
        }
        if !self.wish.dry_run {
            self.ledger.record(&missing, &forgotten)?;
        }
        Ok(())
    }

    /// Takes away what came from a file; tells whether anything did. An export is
    /// none: its conversations are their service's, and not the file's.
    async fn take_away(&self, entry: &Entry) -> Result<bool> {
        Ok(self.source(entry.source)?.remove(origin(&entry.path)).await? > 0)
    }

    fn source(&self, source: Option<SourceName>) -> Result<&SourceHandle> {
        source.and_then(|it| self.library.source(it)).context("this source is not there")
    }
}

/// What items are known by that are a whole file.
fn origin(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// A reason that is about all of a file, or of an item. Whoever tells it tells the
/// path as well, so it is left out where the reason begins with it.
fn whole(path: &Path, error: &dyn std::error::Error) -> Problem {
    let reason = chain(error);
    let path = path.display();
    let bare = [format!("{path} "), format!("cannot read {path}: ")]
        .into_iter()
        .find_map(|path| reason.strip_prefix(&path).map(str::to_owned));
    Problem { place: String::new(), reason: bare.unwrap_or(reason) }
}

/// A file that was read ahead, and the room that it takes.
type Ahead = (Read, OwnedSemaphorePermit);

/// Reads files, whose sizes are known, on all cores while others are saved, and
/// hands them over in order.
fn read_ahead(
    kind: Option<SourceName>,
    files: Vec<(Found, u64)>,
) -> mpsc::UnboundedReceiver<Ahead> {
    // It holds what there is room for.
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(AHEAD_BYTES as usize));
    let hands = thread::available_parallelism().map_or(1, NonZero::get);
    actix::spawn(async move {
        let find_room = |(found, size): (Found, u64)| {
            let bytes = u32::try_from(size).unwrap_or(u32::MAX).clamp(LEAST_BYTES, AHEAD_BYTES);
            let room = Arc::clone(&room).acquire_many_owned(bytes);
            async move { (found, room.await) }
        };
        let read = |(found, room)| async move {
            (tokio::task::spawn_blocking(move || import::read(kind, found)).await, room)
        };
        let mut readings = pin!(stream::iter(files).then(find_room).map(read).buffered(hands));
        while let Some((Ok(read), Ok(room))) = readings.next().await {
            if sender.send((read, room)).is_err() {
                break;
            }
        }
    });
    receiver
}
