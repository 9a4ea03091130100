//! Writes a library as Markdown and JSON files.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use vademecum_actors::Library;
use vademecum_import::exported;
use vademecum_model::{ChatDraft, Deadline, Draft, DraftBody, SourceName, Uri};
use vademecum_source::{Source, SourceError, first_origins};
use vademecum_store::{Reader, ShownRows, Store, StoreError};
use vademecum_vault::journal::{ExportedVersions, export_versions};

use super::{
    atomic_write::{self, LockedFolder},
    file_error::FileError,
    progress::{ProgressCallback, ProgressCounter},
};

/// Maximum time to export one source.
const EXPORT_TIMEOUT: Duration = Duration::from_hours(24);
/// Name of the file that marks a folder as an export.
const MARKER_FILE: &str = "vademecum.json";
/// Maximum length of the title in a file name, in bytes.
const MAX_SLUG_BYTES: usize = 60;

/// Summary of an export; also the content of the marker file.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportSummary {
    vademecum: ExportFormat,
    /// Number of items per source.
    pub items: BTreeMap<SourceName, usize>,
    /// Damaged items, which were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Uri>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ExportFormat {
    export: u32,
}

/// Reason why an export failed or was refused.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The items could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// An item could not be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The folder contains other files.
    #[error("{} is neither empty nor an export; choose another folder", .0.display())]
    NotReplaceable(PathBuf),
    /// An item could not be written.
    #[error("cannot write `{id}`")]
    Item {
        /// Identifier of the item.
        id: String,
        /// The cause.
        source: Box<Self>,
    },
    /// The items of a source could not be written.
    #[error("cannot export `{name}`")]
    SourceItems {
        /// Name of the source.
        name: SourceName,
        /// The cause.
        source: Box<Self>,
    },
}

impl ExportError {
    fn of_item(self, id: &str) -> Self {
        Self::Item { id: id.to_owned(), source: Box::new(self) }
    }

    fn of_source(self, name: SourceName) -> Self {
        Self::SourceItems { name, source: Box::new(self) }
    }
}

/// Writes all items of a library into a folder with one subfolder per source. The folder must be
/// empty or an export, which is replaced. What remains of an export that was killed is removed by the next
/// one into the same folder.
pub fn export_library(
    library: &Library,
    sources: &[Arc<dyn Source>],
    folder: &Path,
    progress: &ProgressCallback,
) -> Result<ExportSummary, ExportError> {
    let target = atomic_write::prepare_target(folder)?;
    if !is_replaceable(&target) {
        return Err(ExportError::NotReplaceable(folder.to_owned()));
    }
    let draft = LockedFolder::create(&target)?;
    let (mut items, mut damaged) = (BTreeMap::new(), Vec::new());
    for source in sources {
        let file = source.database().file_name();
        let mut stores = library.stores().iter().filter(|store| store.may_have_rows());
        let count = match stores.find(|store| store.path().ends_with(file)) {
            Some(store) => export_source(source, store, draft.path(), (progress, &mut damaged))
                .map_err(|error| error.of_source(source.name()))?,
            None => 0,
        };
        items.insert(source.name(), count);
    }
    let summary = ExportSummary {
        vademecum: ExportFormat { export: exported::FORMAT_VERSION },
        items,
        damaged,
    };
    let text = serde_json::to_string_pretty(&summary)? + "\n";
    atomic_write::write_new_file(&draft.path().join(MARKER_FILE), text.as_bytes())?;
    draft.replace(&target)?;
    Ok(summary)
}

/// Writes all items of a source into its folder and returns their number. Damaged items are left out and
/// listed in `damaged`. Branches of conversations
/// go to separate folders, see `branches_folder`.
fn export_source(
    source: &Arc<dyn Source>,
    store: &Store,
    folder: &Path,
    (progress, damaged): (&ProgressCallback, &mut Vec<Uri>),
) -> Result<usize, ExportError> {
    let folder = folder.join(source.name().as_str());
    let failed = || format!("cannot create {}", folder.display());
    fs::create_dir(&folder).map_err(FileError::with_message(failed))?;
    let mut failure = None;
    let count = store.read(Deadline::after(EXPORT_TIMEOUT), |reader| {
        let origins = first_origins(reader, source.name())?;
        let mut ids = Vec::new();
        for id in source.suggest_items(reader, "", usize::MAX)?.values {
            match reader.verify_item(source.name(), &id, ShownRows::Versions) {
                Ok(()) => ids.push(id),
                Err(StoreError::DamagedItem { .. }) => {
                    damaged.push(Uri::item(source.name(), id));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut counter = ProgressCounter::start(progress, source.name().as_str(), ids.len());
        let mut write = |id: &str, folder: &Path, draft: Draft, versions| {
            counter.advance();
            let written = write_item(folder, draft, versions);
            written.map_err(|error| failure = Some(error.of_item(id))).is_ok()
        };
        let mut branches = Vec::new();
        for id in &ids {
            let draft = load_draft(source, reader, id, &origins)?;
            if let Some(of) = branch_parent(&draft) {
                branches.push(ChatBranch {
                    id,
                    parent_origin: of.to_owned(),
                    origin: draft.origin,
                });
            } else if !write(id, &folder, draft, export_versions(&**source, reader, id)?) {
                break;
            }
        }
        for (id, depth) in branch_depths(&branches) {
            let draft = load_draft(source, reader, id, &origins)?;
            let folder = folder.with_file_name(branches_folder(depth));
            if !write(id, &folder, draft, export_versions(&**source, reader, id)?) {
                break;
            }
        }
        Ok::<_, SourceError>(ids.len())
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(count?),
    }
}

/// Loads an item as a draft with the origin under which it was imported.
fn load_draft(
    source: &Arc<dyn Source>,
    reader: &Reader<'_>,
    id: &str,
    origins: &HashMap<String, String>,
) -> Result<Draft, SourceError> {
    let draft = source.load_draft(reader, id)?;
    let origin = origins.get(id).cloned().unwrap_or(draft.origin);
    Ok(Draft { origin, ..draft })
}

/// A conversation that branches off another one.
#[derive(Debug)]
struct ChatBranch<'a> {
    id: &'a str,
    origin: String,
    /// Origin of the parent conversation.
    parent_origin: String,
}

/// Returns the origin of the parent conversation if the item is a branch.
fn branch_parent(draft: &Draft) -> Option<&str> {
    match &draft.body {
        DraftBody::Chat(ChatDraft { fork: Some(fork), .. }) => Some(&fork.of),
        DraftBody::Chat(_)
        | DraftBody::Note(_)
        | DraftBody::Media(_)
        | DraftBody::Character(_)
        | DraftBody::Prompt(_) => None,
    }
}

/// Returns the depth of each branch: 1 if its parent is not a branch, else one more than the depth
/// of its parent.
fn branch_depths<'a>(branches: &[ChatBranch<'a>]) -> Vec<(&'a str, usize)> {
    let left: HashMap<&str, &str> =
        branches.iter().map(|it| (it.origin.as_str(), it.parent_origin.as_str())).collect();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for branch in branches {
        let mut path = Vec::new();
        let mut next = branch.origin.as_str();
        // A cycle of branches ends the walk.
        while let Some(of) = left.get(next).filter(|_| !known.contains_key(next)) {
            if path.len() > left.len() {
                break;
            }
            path.push(next);
            next = of;
        }
        let mut depth = known.get(next).copied().unwrap_or(0);
        for origin in path.into_iter().rev() {
            depth += 1;
            known.insert(origin, depth);
        }
    }
    let depth = |branch: &ChatBranch<'a>| {
        (branch.id, known.get(branch.origin.as_str()).copied().unwrap_or(1))
    };
    branches.iter().map(depth).collect()
}

/// Returns the name of the folder for branches of this depth. Folders are imported in the order of
/// their names, so that a parent is imported before its branches.
fn branches_folder(depth: usize) -> String {
    if depth < 2 { "chats-branches".to_owned() } else { format!("chats-branches-{depth:06}") }
}

fn write_item(
    folder: &Path,
    draft: Draft,
    versions: Option<ExportedVersions>,
) -> Result<(), ExportError> {
    let stem = file_stem(&draft);
    let failed = || format!("cannot create {}", folder.display());
    fs::create_dir_all(folder).map_err(FileError::with_message(failed))?;
    for (name, bytes) in exported::write_item(draft, versions, &stem)? {
        atomic_write::write_new_file(&folder.join(name), &bytes)?;
    }
    Ok(())
}

/// Returns the file name of an item without extension: a slug of its title for people, and its
/// identifier to make it unique.
fn file_stem(draft: &Draft) -> String {
    let title = match &draft.body {
        DraftBody::Note(note) => note.title.as_str(),
        DraftBody::Media(media) => media.title.as_str(),
        DraftBody::Chat(chat) => chat.title.as_deref().unwrap_or_default(),
        DraftBody::Character(character) => character.name.as_str(),
        DraftBody::Prompt(prompt) => prompt.name.as_str(),
    };
    let id = draft.id.as_deref().unwrap_or_default();
    let is_plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let id = if !id.is_empty() && id.len() <= 40 && id.bytes().all(|it| is_plain(it) || it == b'-')
    {
        id.to_owned()
    } else {
        // Any text may be an identifier; a digest of it is a valid file name on all systems.
        vademecum_import::digest("name", [id.as_bytes()]).chars().take(40).collect()
    };
    [slugify(title), id]
        .iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join("-")
}

/// Returns the letters and digits of a title in lower case, separated by `-`, and truncated.
fn slugify(title: &str) -> String {
    let lower = title.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    let mut slug = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        for letter in if slug.is_empty() { "" } else { "-" }.chars().chain(word.chars()) {
            if slug.len() + letter.len_utf8() > MAX_SLUG_BYTES {
                return slug.trim_end_matches('-').to_owned();
            }
            slug.push(letter);
        }
    }
    slug
}

/// Returns `true` if an export may replace the folder: it is absent, empty, or an export itself.
fn is_replaceable(folder: &Path) -> bool {
    let is_export = || {
        fs::read(folder.join(MARKER_FILE))
            .is_ok_and(|text| serde_json::from_slice::<ExportSummary>(&text).is_ok())
    };
    atomic_write::is_absent_or_empty(folder) || is_export()
}

#[cfg(test)]
mod tests {
    use vademecum_model::NoteDraft;

    use super::*;

    #[test]
    fn nested_branch_sorts_after_its_parent() {
        let branch = |id: &'static str, of: &str| ChatBranch {
            id,
            origin: id.to_owned(),
            parent_origin: of.to_owned(),
        };
        let branches = [branch("c", "b"), branch("a", "main"), branch("b", "a"), branch("d", "a")];
        assert_eq!(branch_depths(&branches), [("c", 3), ("a", 1), ("b", 2), ("d", 2)]);
        let circle = branch_depths(&[branch("a", "b"), branch("b", "a"), branch("c", "a")]);
        assert_eq!(circle.len(), 3);
        let folders = [1, 2, 3, 10, 20, 100].map(branches_folder);
        assert!(folders.is_sorted(), "{folders:?}");
    }

    #[test]
    fn file_stem_contains_title_and_id() {
        let name = |title: &str, id: &str| {
            let note = NoteDraft { title: title.to_owned(), ..NoteDraft::default() };
            file_stem(&Draft::from_stored(id, DraftBody::Note(note)))
        };
        assert_eq!(name("Rye & bread: ÄPFEL!", "7"), "rye-bread-äpfel-7");
        assert_eq!(name("../..", "a-1"), "a-1");
        let (one, other) = (name("x", "../../etc"), name("x", "../../ETC"));
        assert!(one != other && one.len() == 42 && !one.contains(['/', '.']), "{one}");
        let long = name(&"長い".repeat(100), "7");
        assert!(long.len() <= MAX_SLUG_BYTES + 2, "{long}");
    }
}
