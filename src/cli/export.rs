//! `vademecum export`.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use vademecum_kit::{
    model::{ChatDraft, Deadline, Draft, DraftBody, SourceName},
    source::{Source, SourceError},
    store::{Reader, Store, first_origins},
};

use super::{common::CommonOptions, output::print_line, progress::progress_bar};
use crate::registry;
use crate::services::atomic_write;
use crate::services::text::format_item_count as items_of;
use vademecum_import::exported;

/// Maximum time to export one source.
const EXPORT_TIMEOUT: Duration = Duration::from_hours(24);
/// Name of the file that marks a folder as an export.
const MARKER_FILE: &str = "vademecum.json";
/// Maximum length of the title in a file name, in bytes.
const MAX_SLUG_BYTES: usize = 60;

/// Write the library as Markdown and JSON files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum export ~/library
  vademecum import notes ~/library/notes

The folder gets one subfolder for each source. It must be empty or an export, which
is replaced. Importing it restores the same library. Deleted items
are not exported.")]
pub(super) struct Export {
    /// The folder to write
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Content of the marker file of an export; also the summary that `--json` prints.
#[derive(Debug, Serialize, Deserialize)]
struct ExportMarker {
    vademecum: ExportFormat,
    items: BTreeMap<SourceName, usize>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ExportFormat {
    export: u32,
}

impl Export {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let library = app.library();
        let target = atomic_write::prepare_target(&self.folder)?;
        if !is_replaceable(&target) {
            bail!(
                "{} is neither empty nor an export; choose another folder",
                self.folder.display()
            );
        }
        let draft = atomic_write::create_temporary_folder(&target)?;
        let mut items = BTreeMap::new();
        for source in registry::sources() {
            let file = source.database().file_name();
            let stores = library.stores().iter().filter(|store| store.path().exists());
            let store = stores.into_iter().find(|store| store.path().ends_with(file));
            let count = store.map_or(Ok(0), |store| export_source(&source, store, draft.path()))?;
            items.insert(source.name(), count);
        }
        let marker =
            ExportMarker { vademecum: ExportFormat { export: exported::FORMAT_VERSION }, items };
        let text = serde_json::to_string_pretty(&marker)? + "\n";
        atomic_write::write_new_file(&draft.path().join(MARKER_FILE), text.as_bytes())?;
        atomic_write::rename_to_target(draft, &target)?;
        if self.json {
            print_line(text.trim_end());
        } else {
            let counts: Vec<_> =
                marker.items.iter().map(|(name, count)| items_of(*count, *name)).collect();
            print_line(&format!("exported to {}: {}", self.folder.display(), counts.join(", ")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes all items of a source into its folder and returns their number. Branches of conversations
/// go to separate folders, see `branches_folder`.
fn export_source(source: &Arc<dyn Source>, store: &Store, folder: &Path) -> Result<usize> {
    let folder = folder.join(source.name().as_str());
    let failed = || format!("cannot export `{}`", source.name());
    fs::create_dir(&folder).with_context(failed)?;
    let mut failure = None;
    let count = store.read(Deadline::after(EXPORT_TIMEOUT), |reader| {
        let origins = first_origins(reader, source.name())?;
        let ids = source.suggest_items(reader, "", usize::MAX)?.values;
        let bar = progress_bar(ids.len(), source.name().as_str());
        let mut write = |id: &str, folder: &Path, draft: Draft| {
            bar.inc(1);
            let put = write_item(folder, draft).with_context(|| format!("cannot write `{id}`"));
            put.map_err(|error| failure = Some(error)).is_ok()
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
            } else if !write(id, &folder, draft) {
                break;
            }
        }
        for (id, depth) in branch_depths(&branches) {
            let draft = load_draft(source, reader, id, &origins)?;
            if !write(id, &folder.with_file_name(branches_folder(depth)), draft) {
                break;
            }
        }
        bar.finish_and_clear();
        Ok::<_, SourceError>(ids.len())
    });
    match failure {
        Some(error) => Err(error).with_context(failed),
        None => count.with_context(failed),
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

fn write_item(folder: &Path, draft: Draft) -> Result<()> {
    let stem = file_stem(&draft);
    fs::create_dir_all(folder)?;
    for (name, bytes) in exported::write_item(draft, &stem)? {
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
            .is_ok_and(|text| serde_json::from_slice::<ExportMarker>(&text).is_ok())
    };
    atomic_write::is_absent_or_empty(folder) || is_export()
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::NoteDraft;

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
