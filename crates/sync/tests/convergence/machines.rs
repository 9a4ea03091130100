//! Machines of one user: their libraries, and their copies of the folder.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tempfile::TempDir;
use vademecum_characters::Characters;
use vademecum_chats::Chats;
use vademecum_media::Media;
use vademecum_model::{
    Change, ChangeAuthor, CharacterDraft, Deadline, Draft, DraftBody, Edit, FieldReplacement,
    ItemId, MediaDraft, NoteDraft, PromptDraft,
};
use vademecum_notes::Notes;
use vademecum_prompts::Prompts;
use vademecum_source::{Source, SourceError};
use vademecum_store::{Database, Durability, Reader, Store, Writer};
use vademecum_sync::{FolderOptions, SyncReport, SyncedDatabase, SyncedLibrary, sync_folder};
use vademecum_vault::journal::{
    ConflictCopies, apply_change, canonical_text, read_history, remove_origin, save_draft,
};

/// Number of syncs of all machines after which nothing may be left to exchange.
const SETTLING_ROUNDS: usize = 12;

/// Pseudorandom numbers.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(crate) fn choose<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        (!all.is_empty()).then(|| &all[self.below(all.len())])
    }
}

/// A machine: its library, and its copy of the folder.
pub(crate) struct Machine {
    pub(crate) home: TempDir,
    pub(crate) library: SyncedLibrary,
    pub(crate) key: Option<PathBuf>,
}

/// The sources and their databases.
const SOURCES: [(&dyn Source, Database); 5] = [
    (&Notes, Database::Chacha),
    (&Prompts, Database::Prompts),
    (&Media, Database::Media),
    (&Characters, Database::Chacha),
    (&Chats, Database::Chacha),
];

/// Content of an item by which machines are compared.
pub(crate) type Contents = BTreeMap<String, String>;

impl Machine {
    pub(crate) fn new(key: Option<PathBuf>) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("shared")).unwrap();
        let library = open(home.path());
        Self { home, library, key }
    }

    pub(crate) fn shared(&self) -> PathBuf {
        self.home.path().join("shared")
    }

    pub(crate) fn store(&self, database: Database) -> &Store {
        let mut all = self.library.databases.iter();
        all.find(|it| it.store().database() == database).unwrap().store()
    }

    pub(crate) fn sync(&self) -> SyncReport {
        let key_file = self.key.clone();
        let options = FolderOptions { key_file, ..FolderOptions::default() };
        sync_folder(&self.library, &self.shared(), &options).unwrap()
    }

    pub(crate) fn change(&self, change: &Change) -> Result<ItemId, SourceError> {
        let author = ChangeAuthor { client: "pen".to_owned(), ..ChangeAuthor::default() };
        let apply = |writer: &Writer<'_>| apply_change(&Notes, writer, change, &author);
        self.store(Database::Chacha).write(Durability::Full, apply).map(|changed| changed.id)
    }

    /// Returns the identifiers of the notes.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.items(&Notes)
    }

    pub(crate) fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        for (source, database) in SOURCES {
            let read = |reader: &Reader<'_>| {
                for item in source.list_item_versions(reader)? {
                    let mut body = source.load_draft(reader, &item.id)?.body;
                    // Each library has its own spelling of a tag.
                    body.tags_mut().iter_mut().for_each(|tag| tag.make_ascii_lowercase());
                    body.tags_mut().sort();
                    body.clear_modified_at();
                    let text = match &body {
                        DraftBody::Note(_) => serde_json::to_string(&body).unwrap(),
                        DraftBody::Character(card) => {
                            format!("{} {:?}", canonical_text(&body)?, card.image)
                        }
                        _ => canonical_text(&body)?,
                    };
                    let mut key = match &body {
                        DraftBody::Note(_) | DraftBody::Chat(_) => item.id,
                        _ => format!("{}: {text}", body.title_mut()),
                    };
                    while contents.contains_key(&key) {
                        key.push_str(" again");
                    }
                    contents.insert(key, text);
                }
                Ok::<_, SourceError>(())
            };
            self.store(database).read(soon(), read).unwrap();
        }
        contents
    }

    /// Returns all contents as one text.
    pub(crate) fn text(&self) -> String {
        self.contents().into_values().collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn history_len(&self, note: &str) -> usize {
        let read = |reader: &Reader<'_>| read_history(&Notes, reader, note, (0, 9));
        self.store(Database::Chacha).read(soon(), read).unwrap().total
    }

    /// Saves an item as an import does.
    pub(crate) fn import(&self, origin: &str, body: DraftBody) {
        let digest = format!("{body:?}");
        let (source, database) =
            SOURCES.into_iter().find(|(source, _)| source.name() == body.source()).unwrap();
        let draft = Draft { origin: origin.to_owned(), digest, id: None, body };
        let author = ChangeAuthor::default();
        let save = |writer: &Writer<'_>| {
            save_draft(source, writer, &draft, &author, ConflictCopies::InLibrary)
        };
        self.store(database).write(Durability::Full, save).unwrap();
    }

    /// Deletes the item of an origin.
    pub(crate) fn remove(&self, source: &dyn Source, origin: &str) {
        let author = ChangeAuthor::default();
        let remove = |writer: &Writer<'_>| remove_origin(source, writer, origin, &author);
        assert!(self.store(source.database()).write(Durability::Full, remove).unwrap());
    }

    /// Returns the identifiers of the items of a source.
    pub(crate) fn items(&self, source: &dyn Source) -> Vec<String> {
        let list = |reader: &Reader<'_>| source.list_item_versions(reader);
        let found = self.store(source.database()).read(soon(), list).unwrap();
        found.into_iter().map(|item| item.id).collect()
    }

    /// Returns the content of an item.
    pub(crate) fn body(&self, source: &dyn Source, id: &str) -> DraftBody {
        let load = |reader: &Reader<'_>| source.load_draft(reader, id);
        self.store(source.database()).read(soon(), load).unwrap().body
    }
}

pub(crate) fn open(home: &Path) -> SyncedLibrary {
    let folder = home.join("library");
    fs::create_dir_all(&folder).unwrap();
    let stores = Database::ALL.map(|it| Arc::new(Store::new(it, &folder)));
    let sources: [Arc<dyn Source>; 5] = [
        Arc::new(Notes),
        Arc::new(Prompts),
        Arc::new(Media),
        Arc::new(Characters),
        Arc::new(Chats),
    ];
    let databases = SyncedDatabase::all(&sources, &stores);
    SyncedLibrary { folder, databases }
}

pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

/// Returns machines that share the key of the first one.
pub(crate) fn machines(count: usize) -> Vec<Machine> {
    let first = Machine::new(None);
    first.sync();
    let key = first.library.folder.join("sync.key");
    std::iter::once(first).chain((1..count).map(|_| Machine::new(Some(key.clone())))).collect()
}

pub(crate) fn note(title: &str, content: &str) -> Change {
    let body = DraftBody::Note(NoteDraft {
        title: title.to_owned(),
        content: content.to_owned(),
        ..NoteDraft::default()
    });
    let (origin, digest) = (String::new(), String::new());
    Change::Add(Box::new(Draft { origin, digest, id: None, body }))
}

pub(crate) fn prompt(name: &str, text: &str) -> DraftBody {
    let (name, user_prompt) = (name.to_owned(), Some(text.to_owned()));
    DraftBody::Prompt(PromptDraft { name, user_prompt, ..PromptDraft::default() })
}

pub(crate) fn media(title: &str, content: &str) -> DraftBody {
    DraftBody::Media(MediaDraft {
        title: title.to_owned(),
        media_type: "txt".to_owned(),
        content: content.to_owned(),
        ..MediaDraft::default()
    })
}

pub(crate) fn character(name: &str, description: &str, image: &[u8]) -> DraftBody {
    DraftBody::Character(Box::new(CharacterDraft {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        image: Some(image.to_vec()),
        ..CharacterDraft::default()
    }))
}

pub(crate) fn edit(id: &str, edit: Edit) -> Change {
    Change::Edit { id: ItemId::Text(id.to_owned()), version: None, edit }
}

pub(crate) fn replace(id: &str, content: &str) -> Change {
    let content = Some(content.to_owned());
    edit(id, Edit::Replace(FieldReplacement { content, ..FieldReplacement::default() }))
}

/// Copies the files of each machine to the other ones; with a generator, only some of them.
pub(crate) fn carry(machines: &[Machine], mut rng: Option<&mut Rng>) {
    for from in machines {
        for to in machines.iter().filter(|to| !std::ptr::eq(*to, from)) {
            carry_between(from, to, rng.as_deref_mut());
        }
    }
}

pub(crate) fn own_folder(machine: &Machine) -> Option<(PathBuf, String)> {
    let id = fs::read_to_string(machine.library.folder.join("sync.id")).ok()?;
    let id: serde_json::Value = serde_json::from_str(&id).unwrap();
    let name = id["replica"].as_str().unwrap().to_owned();
    let base = machine.shared().join("vademecum-sync");
    Some((base.join(&name), name))
}

pub(crate) fn carry_between(from: &Machine, to: &Machine, mut rng: Option<&mut Rng>) {
    let Some((own, name)) = own_folder(from) else { return };
    let other = to.shared().join("vademecum-sync").join(name);
    fs::create_dir_all(&other).unwrap();
    let mut luck = |odds: usize| rng.as_deref_mut().is_none_or(|rng| rng.below(odds) > 0);
    let listed = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut files = listed(&own);
    // Later files may come first.
    files.reverse();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let target = other.join(&name);
        let bytes = fs::read(&file).unwrap();
        if !luck(3) {
            continue;
        }
        // A program that copies files may be interrupted, or make a second copy.
        let part = if luck(5) { bytes.len() } else { bytes.len() / 2 };
        if fs::metadata(&target).map_or(0, |it| usize::try_from(it.len()).unwrap()) < bytes.len() {
            fs::write(&target, &bytes[..part]).unwrap();
        }
        if !luck(6) {
            fs::write(other.join(format!("copy of {name}")), &bytes).unwrap();
            fs::write(other.join(name.replace(".age", " (1).age")), &bytes).unwrap();
        }
    }
    for file in listed(&other) {
        let is_gone = !own.join(file.file_name().unwrap()).exists();
        if is_gone && luck(2) {
            fs::remove_file(file).unwrap();
        }
    }
}

/// Syncs all machines until nothing is exchanged any more.
pub(crate) fn settle(machines: &[Machine]) {
    for round in 0.. {
        let mut moved = 0;
        for machine in machines {
            carry(machines, None);
            let report = machine.sync();
            assert_eq!(report.problems, Vec::<String>::new());
            moved += report.sent + report.received;
        }
        if moved == 0 {
            return;
        }
        assert!(round < SETTLING_ROUNDS, "the machines do not come to rest");
    }
}

/// Two machines may each make a copy of a conflict: of equal copies one stays, which has another
/// identifier on each machine.
pub(crate) fn assert_equal(machines: &[Machine]) {
    let divide = |machine: &Machine| {
        let is_copy = |text: &String| text.contains("(conflict of ");
        let (copies, others): (Contents, Contents) =
            machine.contents().into_iter().partition(|(_, text)| is_copy(text));
        let mut copies: Vec<String> = copies.into_values().collect();
        copies.sort();
        (copies, others)
    };
    let (copies, first) = divide(&machines[0]);
    for machine in &machines[1..] {
        let (other_copies, other) = divide(machine);
        for (key, content) in &first {
            assert_eq!(other.get(key), Some(content), "{key}");
        }
        for (key, content) in &other {
            assert_eq!(first.get(key), Some(content), "{key}");
        }
        assert_eq!(copies, other_copies);
    }
}
