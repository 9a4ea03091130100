//! Following of folders while a server runs: changes of files are imported, and changes of notes that
//! could not be written are written when that is possible.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};
use vademecum_actors::{Library, UserRegistry, error_chain};
use vademecum_core::auth::UserId;
use vademecum_import::{Ledger, ReaderLimits, TwoWayFolder};
use vademecum_vault::journal::ConflictCopies;

use super::{
    folders::FollowedFolders,
    note_file::remove_leftovers,
    sync::{SyncError, SyncLock, SyncScope, no_progress, sync_folder},
};
use crate::import::{ImportOptions, SecretHandling, StopSignal, import_files};

/// Interval between looks for folders that were added or removed.
const LIST_INTERVAL: Duration = Duration::from_secs(2);
/// Delay between a change and the synchronization: programs write files in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(200);
/// Interval between attempts after a synchronization that could not write all files.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum time to wait for another synchronization.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// A followed folder of a user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Followed {
    OneWay(PathBuf),
    TwoWay(PathBuf, Option<PathBuf>),
}

impl Followed {
    fn path(&self) -> &Path {
        match self {
            Self::OneWay(path) | Self::TwoWay(path, _) => path,
        }
    }
}

/// Tasks that follow folders. They end when this is dropped.
#[derive(Debug, Default)]
struct FollowTasks(HashMap<(UserId, Followed), JoinHandle<()>>);

impl Drop for FollowTasks {
    fn drop(&mut self) {
        self.0.values().for_each(JoinHandle::abort);
    }
}

/// Follows the folders of the users of a server until the task is aborted: those of the settings,
/// those of `owner`, and those of users whose library is open.
pub async fn follow_folders(
    registry: Arc<UserRegistry>,
    folders: Arc<FollowedFolders>,
    owner: Option<UserId>,
) {
    let mut tasks = FollowTasks::default();
    // Libraries that are not open are not opened for their list of folders.
    let always = folders.configured_users().cloned().chain(owner);
    let ledgers: HashMap<UserId, Ledger> =
        always.map(|user| (user.clone(), registry.ledger(&user))).collect();
    loop {
        let mut current = registry.open_ledgers();
        current.extend(ledgers.iter().map(|(user, ledger)| (user.clone(), ledger.clone())));
        // Reading the ledgers may wait for an archive.
        let listed = Arc::clone(&folders);
        let list = move || list_folders(&listed, current);
        let Ok(listed_folders) = tokio::task::spawn_blocking(list).await else { return };
        tasks.0.retain(|key, task| {
            let stays = listed_folders.contains(key) && !task.is_finished();
            if !stays {
                task.abort();
            }
            stays
        });
        for key in listed_folders {
            tasks.0.entry(key).or_insert_with_key(|key| {
                let (registry, limits) = (Arc::clone(&registry), folders.limits());
                actix::spawn(follow_folder(registry, key.clone(), limits))
            });
        }
        sleep(LIST_INTERVAL).await;
    }
}

/// Returns the followed folders of users with these ledgers.
fn list_folders(
    folders: &FollowedFolders,
    ledgers: HashMap<UserId, Ledger>,
) -> Vec<(UserId, Followed)> {
    let of_user = |(user, ledger): (UserId, Ledger)| {
        let followed = folders_of(folders, &user, &ledger).into_iter();
        followed.map(|folder| (user.clone(), folder)).collect::<Vec<_>>()
    };
    ledgers.into_iter().flat_map(of_user).collect()
}

/// Returns the followed folders of a user; without the two-way folders if they cannot be listed.
fn folders_of(folders: &FollowedFolders, user: &UserId, ledger: &Ledger) -> Vec<Followed> {
    let one_way = folders.one_way_folders(user).into_iter().map(Followed::OneWay);
    let two_way = folders.two_way_folders(user, ledger).unwrap_or_else(|error| {
        tracing::warn!(user.id = %user, %error, "the two-way folders cannot be listed");
        Vec::new()
    });
    let two_way = two_way.into_iter().map(|it| Followed::TwoWay(it.path, it.new_notes));
    one_way.chain(two_way).collect()
}

/// Synchronizes one folder when its files change, and again while some could not be written.
async fn follow_folder(
    registry: Arc<UserRegistry>,
    (user, folder): (UserId, Followed),
    limits: ReaderLimits,
) {
    remove_leftovers(folder.path());
    let mut problems = BTreeMap::new();
    loop {
        let (mut changes, watcher) = match watch(folder.path()) {
            Ok(watched) => watched,
            Err(error) => {
                let problem = (folder.path().to_owned(), error.to_string());
                report(&mut problems, folder.path(), BTreeMap::from([problem]));
                sleep(RETRY_INTERVAL).await;
                continue;
            }
        };
        loop {
            let library = registry.whole_library(&user);
            let found = match sync_once(&library, &folder, limits).await {
                Ok(found) => found,
                Err(error) => BTreeMap::from([(folder.path().to_owned(), error_chain(&error))]),
            };
            library.start_indexing();
            drop(library);
            let has_problems = !found.is_empty();
            report(&mut problems, folder.path(), found);
            // A folder that was replaced needs a new watcher.
            let is_gone = !folder.path().is_dir();
            tokio::select! {
                change = changes.recv() => if change.is_none() { break },
                () = sleep(RETRY_INTERVAL), if has_problems => {}
            }
            if is_gone {
                break;
            }
            sleep(QUIET_PERIOD).await;
            while changes.try_recv().is_ok() {}
        }
        drop(watcher);
    }
}

/// Watches a folder. The receiver gets a message after changes.
fn watch(folder: &Path) -> notify::Result<(mpsc::Receiver<()>, RecommendedWatcher)> {
    let (sender, changes) = mpsc::channel(1);
    let on_event = move |event: notify::Result<notify::Event>| {
        // Read access is not a change; an error may hide one.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            // A pending notification covers this change too.
            let _waits = sender.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(on_event)?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok((changes, watcher))
}

/// Synchronizes a folder. Returns the files that could not be written, with the reasons.
async fn sync_once(
    library: &Library,
    folder: &Followed,
    limits: ReaderLimits,
) -> Result<BTreeMap<PathBuf, String>, SyncError> {
    let lock = SyncLock::acquire(library, LOCK_TIMEOUT).await?;
    match folder {
        Followed::OneWay(path) => {
            let options = ImportOptions {
                kind: None,
                paths: vec![path.clone()],
                dry_run: false,
                follow_deletions: true,
                limits,
                conflict_copies: ConflictCopies::InLibrary,
                quota: None,
                secrets: SecretHandling::Redact,
                stop: StopSignal::default(),
            };
            import_files(library, &options, &no_progress()).await?;
            Ok(BTreeMap::new())
        }
        Followed::TwoWay(path, new_notes) => {
            let folder = TwoWayFolder { path: path.clone(), new_notes: new_notes.clone() };
            let (scope, progress) = (SyncScope::All, no_progress());
            Ok(sync_folder(library, &folder, scope, limits, &progress, &lock).await?.problems)
        }
    }
}

/// Logs the problems of a folder when they change.
fn report(before: &mut BTreeMap<PathBuf, String>, folder: &Path, now: BTreeMap<PathBuf, String>) {
    for (path, reason) in &now {
        if before.get(path) != Some(reason) {
            tracing::warn!(path = %path.display(), reason, "a file of a followed folder is not in sync");
        }
    }
    if now.is_empty() && !before.is_empty() {
        tracing::info!(path = %folder.display(), "a followed folder is in sync again");
    }
    *before = now;
}
