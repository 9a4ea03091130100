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
    model::{Body, ChatDraft, Deadline, Draft, SourceName},
    source::{Source, SourceError},
    store::{Reader, Store, first_origins},
};

use super::{
    aside,
    command::Common,
    import::progress,
    output::{items as items_of, say},
};
use crate::registry;
use vademecum_import::exported;

/// How long one source may take.
const PATIENCE: Duration = Duration::from_hours(24);
/// The file by which an export is known.
const MARKER: &str = "vademecum.json";
/// Longest beginning of a title in the name of a file, in bytes.
const MAX_SLUG_BYTES: usize = 60;

/// Writes the library as Markdown and JSON files.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum export ~/library
  vademecum import notes ~/library/notes

The folder gets one folder for each source. It must be empty, or an export that
is then replaced. Importing it gives the same library again. What was deleted
is not exported.")]
pub(super) struct Export {
    /// The folder to write
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// What a folder with an export says of itself, and how it is summed up.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    vademecum: Format,
    items: BTreeMap<SourceName, usize>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Format {
    export: u32,
}

impl Export {
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.app()?;
        let library = app.library();
        let target = aside::target(&self.folder)?;
        if !is_replaceable(&target) {
            bail!("{} is neither empty nor an export; name another folder", self.folder.display());
        }
        let draft = aside::beside(&target)?;
        let mut items = BTreeMap::new();
        for source in registry::sources() {
            let file = source.database().file_name();
            let stores = library.stores().iter().filter(|store| store.path().exists());
            let store = stores.into_iter().find(|store| store.path().ends_with(file));
            let count = store.map_or(Ok(0), |store| export(&source, store, draft.path()))?;
            items.insert(source.name(), count);
        }
        let marker = Marker { vademecum: Format { export: exported::FORMAT }, items };
        let text = serde_json::to_string_pretty(&marker)? + "\n";
        aside::write(&draft.path().join(MARKER), text.as_bytes())?;
        aside::publish(draft, &target)?;
        if self.json {
            say(text.trim_end());
        } else {
            let counts: Vec<_> =
                marker.items.iter().map(|(name, count)| items_of(*count, *name)).collect();
            say(&format!("exported to {}: {}", self.folder.display(), counts.join(", ")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes all items of a source into its folder, and tells how many.
fn export(source: &Arc<dyn Source>, store: &Store, folder: &Path) -> Result<usize> {
    let folder = folder.join(source.name().as_str());
    let failed = || format!("cannot export `{}`", source.name());
    fs::create_dir(&folder).with_context(failed)?;
    let mut failure = None;
    let count = store.read(Deadline::after(PATIENCE), |reader| {
        let origins = first_origins(reader, source.name())?;
        let ids = source.suggest(reader, "", usize::MAX)?.values;
        let bar = progress(ids.len(), source.name().as_str());
        let mut write = |id: &str, folder: &Path, draft: Draft| {
            bar.inc(1);
            let put = put(folder, draft).with_context(|| format!("cannot write `{id}`"));
            put.map_err(|error| failure = Some(error)).is_ok()
        };
        let mut branches = Vec::new();
        for id in &ids {
            let draft = drafted(source, reader, id, &origins)?;
            if let Some(of) = left_by(&draft) {
                branches.push(Branch { id, of: of.to_owned(), origin: draft.origin });
            } else if !write(id, &folder, draft) {
                break;
            }
        }
        for (id, depth) in depths(&branches) {
            let draft = drafted(source, reader, id, &origins)?;
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

/// An item with the origin by which the library knows it.
fn drafted(
    source: &Arc<dyn Source>,
    reader: &Reader<'_>,
    id: &str,
    origins: &HashMap<String, String>,
) -> Result<Draft, SourceError> {
    let draft = source.draft(reader, id)?;
    let origin = origins.get(id).cloned().unwrap_or(draft.origin);
    Ok(Draft { origin, ..draft })
}

/// A conversation that leaves another one.
#[derive(Debug)]
struct Branch<'a> {
    id: &'a str,
    origin: String,
    /// The origin of the one that it leaves.
    of: String,
}

/// The origin of the conversation that an item leaves, if it is a branch.
fn left_by(draft: &Draft) -> Option<&str> {
    match &draft.body {
        Body::Chat(ChatDraft { fork: Some(fork), .. }) => Some(&fork.of),
        Body::Chat(_) | Body::Note(_) | Body::Media(_) | Body::Character(_) | Body::Prompt(_) => {
            None
        }
    }
}

/// How many conversations each branch leaves, one after the other: 1, unless what
/// it leaves is a branch itself.
fn depths<'a>(branches: &[Branch<'a>]) -> Vec<(&'a str, usize)> {
    let left: HashMap<&str, &str> =
        branches.iter().map(|it| (it.origin.as_str(), it.of.as_str())).collect();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for branch in branches {
        let mut path = Vec::new();
        let mut next = branch.origin.as_str();
        // Branches that leave one another in a circle leave nothing in the end.
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
    let depth =
        |branch: &Branch<'a>| (branch.id, known.get(branch.origin.as_str()).copied().unwrap_or(1));
    branches.iter().map(depth).collect()
}

/// The folder of branches that leave so many conversations. It is read after what
/// they leave: folders are read in the order of their names.
fn branches_folder(depth: usize) -> String {
    if depth < 2 { "chats-branches".to_owned() } else { format!("chats-branches-{depth:06}") }
}

fn put(folder: &Path, draft: Draft) -> Result<()> {
    let stem = stem(&draft);
    fs::create_dir_all(folder)?;
    for (name, bytes) in exported::write(draft, &stem)? {
        aside::write(&folder.join(name), &bytes)?;
    }
    Ok(())
}

/// What the files of an item are called: the beginning of its title for people,
/// its identifier so that no two are called the same.
fn stem(draft: &Draft) -> String {
    let title = match &draft.body {
        Body::Note(note) => note.title.as_str(),
        Body::Media(media) => media.title.as_str(),
        Body::Chat(chat) => chat.title.as_deref().unwrap_or_default(),
        Body::Character(character) => character.name.as_str(),
        Body::Prompt(prompt) => prompt.name.as_str(),
    };
    let id = draft.id.as_deref().unwrap_or_default();
    let is_plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let id = if !id.is_empty() && id.len() <= 40 && id.bytes().all(|it| is_plain(it) || it == b'-')
    {
        id.to_owned()
    } else {
        // Anything may be an identifier; this may be the name of a file anywhere.
        vademecum_import::digest("name", [id.as_bytes()]).chars().take(40).collect()
    };
    [slug(title), id].iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("-")
}

/// The letters and digits of a title, with a `-` for all between them.
fn slug(title: &str) -> String {
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

/// Whether a folder may give way to an export: it is free, or an export itself.
fn is_replaceable(folder: &Path) -> bool {
    let is_export = || {
        fs::read(folder.join(MARKER))
            .is_ok_and(|text| serde_json::from_slice::<Marker>(&text).is_ok())
    };
    aside::is_free(folder) || is_export()
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::NoteDraft;

    use super::*;

    #[test]
    fn a_branch_of_a_branch_is_read_after_it() {
        let branch =
            |id: &'static str, of: &str| Branch { id, origin: id.to_owned(), of: of.to_owned() };
        let branches = [branch("c", "b"), branch("a", "main"), branch("b", "a"), branch("d", "a")];
        assert_eq!(depths(&branches), [("c", 3), ("a", 1), ("b", 2), ("d", 2)]);
        let circle = depths(&[branch("a", "b"), branch("b", "a"), branch("c", "a")]);
        assert_eq!(circle.len(), 3);
        let folders = [1, 2, 3, 10, 20, 100].map(branches_folder);
        assert!(folders.is_sorted(), "{folders:?}");
    }

    #[test]
    fn files_are_called_after_their_titles_and_told_apart_by_their_identifiers() {
        let name = |title: &str, id: &str| {
            let note = NoteDraft { title: title.to_owned(), ..NoteDraft::default() };
            stem(&Draft::stored(id, Body::Note(note)))
        };
        assert_eq!(name("Rye & bread: ÄPFEL!", "7"), "rye-bread-äpfel-7");
        assert_eq!(name("../..", "a-1"), "a-1");
        let (one, other) = (name("x", "../../etc"), name("x", "../../ETC"));
        assert!(one != other && one.len() == 42 && !one.contains(['/', '.']), "{one}");
        let long = name(&"長い".repeat(100), "7");
        assert!(long.len() <= MAX_SLUG_BYTES + 2, "{long}");
    }
}
