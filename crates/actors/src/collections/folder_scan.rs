//! Documents from folders: listing the files and converting each to documents.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};
use vademecum_collections::Document;
use vademecum_core::config::Folder;
use vademecum_import as import;
use vademecum_import::{
    Continuation, FileEntry, Problem, ReaderLimits, ReaderPool, SourceFile, digest,
};
use vademecum_model::{Draft, DraftBody, MediaDraft, SourceName};

use super::{CollectionPlan, CollectionRecord, chunking::ChunkingMode, sections::cut_chunks};

/// Version of the conversion, part of the content hash. Increment it when the same file gives other
/// documents than before.
const CONTENT_HASH_VERSION: &str = "folder/2";
/// Mark in the content hash of a file that was cut at its time limit. The seconds follow.
const CUT_MARK: &str = " cut after ";

/// The files in the folders of a plan.
#[derive(Debug, Default)]
pub(super) struct FolderScan<'p> {
    /// The files, in order.
    pub(super) files: Vec<CandidateFile<'p>>,
    /// Entries that were skipped, with the reason.
    pub(super) skipped: Vec<Problem>,
    /// Folders that cannot be read or are empty.
    pub(super) missing: Vec<MissingFolder>,
}

/// A file that may contain documents.
#[derive(Clone, Debug)]
pub(super) struct CandidateFile<'p> {
    found: FileEntry,
    folder: &'p Folder,
    /// Path relative to the folder, with `/` as separator.
    path: String,
    /// Identifier of its first document; those of further documents append `/2`, `/3`, ….
    pub(super) doc_id: String,
}

/// A folder that cannot be read or is empty.
#[derive(Clone, Debug)]
pub(super) struct MissingFolder {
    /// Prefix of the identifiers of its documents.
    prefix: String,
    pub(super) path: PathBuf,
    /// Description of the problem, without the path.
    pub(super) problem: &'static str,
}

/// The result of reading a file.
#[derive(Debug)]
pub(super) enum FileOutcome {
    /// The format is not supported.
    Unsupported,
    /// The file has not changed.
    Unchanged,
    /// The file cannot be read, for this reason.
    Skipped(String),
    /// The documents of the file, and the problems of parts that could not be read.
    Read(Vec<Document>, Vec<Problem>),
}

/// Reads the files of a plan.
#[derive(Debug)]
pub(super) struct FileReader<'p> {
    pub(super) plan: &'p CollectionPlan,
    pub(super) cut: ChunkingMode,
    pub(super) pool: ReaderPool,
    pub(super) limits: ReaderLimits,
}

impl MissingFolder {
    /// Returns whether a document came from this folder.
    pub(super) fn owns_document(&self, doc_id: &str) -> bool {
        doc_id.starts_with(&self.prefix)
    }

    /// Returns the path of the folder and the problem.
    pub(super) fn reason(&self) -> String {
        format!("{} {}", self.path.display(), self.problem)
    }

    /// Returns the name of the folder, without its path, and the problem.
    pub(super) fn public_reason(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        format!("{} {}", name.to_string_lossy(), self.problem)
    }
}

/// Lists the files in the folders of a plan. Identifiers are `name:path` for a single folder, and
/// `name:folder/path` for several.
pub(super) fn scan_folders<'p>(name: &str, plan: &'p CollectionPlan) -> FolderScan<'p> {
    let mut survey = FolderScan::default();
    for (folder, prefix) in folder_prefixes(name, plan) {
        survey.scan_folder(folder, prefix);
    }
    survey
}

/// Returns the folders of a plan, each with the prefix of the identifiers of its documents.
fn folder_prefixes<'p>(name: &str, plan: &'p CollectionPlan) -> Vec<(&'p Folder, String)> {
    let mut labels = HashSet::new();
    let with_prefix = |folder: &'p Folder| {
        let prefix = match plan.folders.as_slice() {
            [_] => format!("{name}:"),
            _ => format!("{name}:{}/", folder_label(&folder.path, &mut labels)),
        };
        (folder, prefix)
    };
    plan.folders.iter().map(with_prefix).collect()
}

/// Returns the prefixes of the identifiers of all documents from a folder. All documents are
/// returned if the plan cannot be read.
pub(super) fn document_prefixes(record: &CollectionRecord, denied: &str) -> Vec<String> {
    let Ok(plan) = CollectionPlan::parse(&record.name, &record.plan) else {
        return vec![String::new()];
    };
    let denied = Path::new(denied);
    let prefixes =
        folder_prefixes(&record.name, &plan).into_iter().filter_map(|(folder, prefix)| {
            if folder.path.starts_with(denied) {
                return Some(prefix);
            }
            let inside = denied.strip_prefix(&folder.path).ok()?;
            let parts: Vec<_> =
                inside.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            Some(format!("{prefix}{}/", parts.join("/")))
        });
    prefixes.collect()
}

/// Returns the name of a folder, with a number appended if another folder has the same name.
fn folder_label(path: &Path, taken: &mut HashSet<String>) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|it| taken.insert(it.clone()));
    free.unwrap_or(name)
}

impl<'p> FolderScan<'p> {
    fn scan_folder(&mut self, folder: &'p Folder, prefix: String) {
        let missing =
            |prefix, problem| MissingFolder { prefix, path: folder.path.clone(), problem };
        if !folder.path.is_dir() {
            self.missing.push(missing(prefix, "is not a folder that can be read"));
            return;
        }
        let listing = import::walk_files(std::slice::from_ref(&folder.path));
        self.skipped.extend(listing.skipped);
        if listing.files.is_empty() {
            // The folder is most likely not mounted.
            self.missing.push(missing(prefix, "holds no files"));
            return;
        }
        for found in listing.files {
            let inside = found.root.as_deref().and_then(|root| found.path.strip_prefix(root).ok());
            let parts: Vec<_> = inside
                .unwrap_or(&found.path)
                .components()
                .map(|part| part.as_os_str().to_string_lossy())
                .collect();
            let path = parts.join("/");
            let doc_id = format!("{prefix}{path}");
            self.files.push(CandidateFile { found, folder, path, doc_id });
        }
    }
}

impl CandidateFile<'_> {
    /// Returns the path of the file, for messages.
    pub(super) fn display_path(&self) -> String {
        self.found.path.display().to_string()
    }

    /// Returns whether a document came from this file.
    pub(super) fn owns_document(&self, doc_id: &str) -> bool {
        let rest = doc_id.strip_prefix(&self.doc_id);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl FileReader<'_> {
    /// Reads a file, or returns [`FileOutcome::Unchanged`] if `known`, the content hash of its
    /// document, still matches.
    pub(super) fn read_file(&self, file: &CandidateFile<'_>, known: Option<&str>) -> FileOutcome {
        self.try_read_file(file, known)
            .unwrap_or_else(|error| FileOutcome::Skipped(error.to_string()))
    }

    fn try_read_file(
        &self,
        file: &CandidateFile<'_>,
        known: Option<&str>,
    ) -> Result<FileOutcome, import::ImportError> {
        let mut seconds = None;
        if known.is_some() {
            let (path, root) = (&file.found.path, file.found.root.as_deref());
            let bytes = SourceFile::open(path, root)?.bytes;
            let fingerprint = digest("", [bytes.as_slice()]);
            let hash = self.content_hash(file, &fingerprint);
            let rest = known.and_then(|known| known.strip_prefix(&hash));
            let used = rest.and_then(|rest| rest.strip_prefix(CUT_MARK)?.parse().ok());
            seconds = used.and_then(|used| self.limits.longer_seconds(used));
            if rest.is_some_and(|rest| rest.is_empty() || used.is_some()) && seconds.is_none() {
                return Ok(FileOutcome::Unchanged);
            }
        }
        // The hash is of the bytes that were read, in case the file has changed meanwhile.
        let continuation = seconds.map(|seconds| Continuation { seconds, read_pages: 0 });
        let read = self.pool.read(Some(SourceName::Media), file.found.clone(), continuation);
        let mut hash = self.content_hash(file, read.digest.as_deref().unwrap_or_default());
        let parsed = read.result?;
        let problems = parsed.unread_pages().into_iter().chain(parsed.problems).collect();
        if parsed.is_cut {
            // The next synchronization reads it again, with more time.
            let used = seconds.unwrap_or(self.limits.seconds.get());
            hash = format!("{hash}{CUT_MARK}{used}");
        }
        let Some(importer) = read.importer else { return Ok(FileOutcome::Unsupported) };
        let format = importer.format_name();
        let media = parsed.drafts.into_iter().filter_map(|draft: Draft| match draft.body {
            DraftBody::Media(media) => Some(media),
            DraftBody::Note(_)
            | DraftBody::Chat(_)
            | DraftBody::Character(_)
            | DraftBody::Prompt(_) => None,
        });
        let documents = media
            .enumerate()
            .map(|(index, media)| self.to_document(file, index, media, format, &hash))
            .filter(|document| !document.chunks.is_empty());
        Ok(FileOutcome::Read(documents.collect(), problems))
    }

    /// Returns the hash of everything that the documents of a file depend on: its bytes, chunking,
    /// project, version and access tags.
    fn content_hash(&self, file: &CandidateFile<'_>, fingerprint: &str) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (project, version) = (text(&file.folder.project), text(&file.folder.version));
        let cut = format!("{:?}", self.cut);
        let parts = [fingerprint, &cut, &project, &version].into_iter().map(str::as_bytes);
        digest(
            CONTENT_HASH_VERSION,
            parts.chain(self.plan.access_tags.iter().map(String::as_bytes)),
        )
    }

    fn to_document(
        &self,
        file: &CandidateFile<'_>,
        index: usize,
        media: MediaDraft,
        format: &str,
        hash: &str,
    ) -> Document {
        let path = &file.found.path;
        let part = |part: Option<&std::ffi::OsStr>| Some(part?.to_string_lossy().into_owned());
        let mut metadata = Map::from_iter([
            ("path".to_owned(), json!(file.path)),
            ("media_type".to_owned(), json!(media.media_type)),
            ("format".to_owned(), json!(format)),
        ]);
        if let Some(author) = &media.author {
            metadata.insert("author".to_owned(), json!(author));
        }
        if !media.tags.is_empty() {
            metadata.insert("Tags".to_owned(), json!(media.tags));
        }
        let project = file.folder.project.clone();
        Document {
            doc_id: match index {
                0 => file.doc_id.clone(),
                more => format!("{}/{}", file.doc_id, more + 1),
            },
            primary_key: Map::from_iter([("path".to_owned(), Value::from(file.path.clone()))]),
            title: Some(media.title.trim().to_owned()).filter(|title| !title.is_empty()),
            chunks: cut_chunks(&media.content, &media.headings, self.cut),
            body: media.content,
            metadata,
            file_name: part(path.file_name()),
            file_type: part(path.extension()).map(|it| it.to_ascii_lowercase()),
            url: media.url,
            project: project.map(|it| (it, file.folder.version.clone().unwrap_or_default())),
            access: self.plan.access_tags.clone(),
            created_at: media.modified_at,
            content_hash: hash.to_owned(),
            // Set by the ingest job, which knows the source.
            source_id: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn plan(folders: &[PathBuf]) -> CollectionPlan {
        let folder = |path: &PathBuf| Folder {
            path: path.clone(),
            project: Some("Oven".to_owned()),
            version: None,
        };
        CollectionPlan {
            folders: folders.iter().map(folder).collect(),
            ..CollectionPlan::default()
        }
    }

    fn reader(plan: &CollectionPlan) -> FileReader<'_> {
        let limits = ReaderLimits::default();
        let pool = ReaderPool::new(limits, "");
        FileReader { plan, cut: ChunkingMode::Headings, pool, limits }
    }

    fn write_file(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn expect_documents(outcome: FileOutcome) -> Vec<Document> {
        match outcome {
            FileOutcome::Read(documents, problems) if problems.is_empty() => documents,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn doc_id_contains_file_path() {
        let root = tempfile::tempdir().unwrap();
        let paths = ["a/docs", "b/docs", "c"].map(|it| root.path().join(it));
        for path in &paths {
            write_file(path, "guide/Start here.md", "# Start\n\nGo.");
        }
        let names = |plan: &CollectionPlan| -> Vec<String> {
            scan_folders("kb", plan).files.into_iter().map(|file| file.doc_id).collect()
        };
        assert_eq!(names(&plan(&paths[..1])), ["kb:guide/Start here.md"]);
        assert_eq!(
            names(&plan(&paths)),
            [
                "kb:docs/guide/Start here.md",
                "kb:docs-2/guide/Start here.md",
                "kb:c/guide/Start here.md"
            ]
        );
    }

    #[test]
    fn file_is_read_with_all_metadata() {
        let root = tempfile::tempdir().unwrap();
        write_file(root.path(), "Rye.MD", "---\nauthor: Ada\ntags: [bread]\n---\n# Rye\n\nSour.\n");
        let plan = plan(&[root.path().to_owned()]);
        let survey = scan_folders("kb", &plan);
        let [document] = &expect_documents(reader(&plan).read_file(&survey.files[0], None))[..]
        else {
            panic!("one document")
        };
        assert_eq!(document.title.as_deref(), Some("Rye"));
        assert_eq!(document.doc_id, "kb:Rye.MD");
        assert_eq!(document.project, Some(("Oven".to_owned(), String::new())));
        assert_eq!(
            (&document.metadata["path"], &document.metadata["author"]),
            (&json!("Rye.MD"), &json!("Ada"))
        );
        assert_eq!(document.metadata["Tags"], json!(["bread"]));
        assert_eq!(document.chunks[0].section.as_deref(), Some("Rye"));
        assert_eq!(document.file_type.as_deref(), Some("md"));
        let known = Some(document.content_hash.as_str());
        assert!(matches!(reader(&plan).read_file(&survey.files[0], known), FileOutcome::Unchanged));
        let other = CollectionPlan { access_tags: vec!["team:a".to_owned()], ..plan.clone() };
        assert_eq!(expect_documents(reader(&other).read_file(&survey.files[0], known)).len(), 1);
    }

    #[test]
    fn unreadable_files_are_counted_or_reported() {
        let root = tempfile::tempdir().unwrap();
        write_file(root.path(), "a.exe", "MZ");
        write_file(root.path(), "b.md", "  \n");
        let plan = plan(&[root.path().to_owned(), root.path().join("none")]);
        let survey = scan_folders("kb", &plan);
        let read = |index: usize| reader(&plan).read_file(&survey.files[index], None);
        assert!(matches!(read(0), FileOutcome::Unsupported));
        assert!(
            matches!(read(1), FileOutcome::Skipped(reason) if reason.contains("holds no text"))
        );
        let missing = &survey.missing[0];
        assert!(missing.owns_document("kb:none/x.md") && !missing.owns_document("kb:other/x.md"));
        assert!(survey.missing[0].reason().contains("none is not a folder"));
    }

    #[test]
    fn multiple_documents_get_distinct_ids() {
        let root = tempfile::tempdir().unwrap();
        let mail = |subject: &str| {
            format!(
                "From a@example.org Mon Jan  1 00:00:00 2024\nFrom: a@example.org\n\
                     Subject: {subject}\nContent-Type: text/plain\n\nKnead the {subject}.\n\n"
            )
        };
        write_file(root.path(), "box.mbox", &(mail("rye") + &mail("oat")));
        let plan = plan(&[root.path().to_owned()]);
        let survey = scan_folders("kb", &plan);
        let documents = expect_documents(reader(&plan).read_file(&survey.files[0], None));
        let names: Vec<&str> = documents.iter().map(|it| it.doc_id.as_str()).collect();
        assert_eq!(names, ["kb:box.mbox", "kb:box.mbox/2"]);
        assert!(names.iter().all(|name| survey.files[0].owns_document(name)));
        assert!(!survey.files[0].owns_document("kb:box.mbox2"));
    }
}
