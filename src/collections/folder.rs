//! The documents of folders: which files there are, and what each says.

use std::{collections::HashSet, path::Path};

use serde_json::{Map, Value, json};
use vademecum_collections::Document;
use vademecum_kit::model::{Body, Draft, MediaDraft, SourceName};

use super::{Plan, chunking::Cut, sections::cut};
use vademecum_core::config::Folder;
use vademecum_import::{self as import, Found, Glance, Importer, Problem, SourceFile, digest};

/// Goes up when the same file makes other documents than before.
const VERSION: &str = "folder/1";

/// The files of the folders of a plan.
#[derive(Debug, Default)]
pub(super) struct Survey<'p> {
    /// The files, in order.
    pub(super) files: Vec<Candidate<'p>>,
    /// What was passed over, and why.
    pub(super) skipped: Vec<Problem>,
    /// Folders that could not be read or are empty all of a sudden.
    pub(super) missing: Vec<Missing>,
}

/// A file that may become documents.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'p> {
    found: Found,
    folder: &'p Folder,
    /// Where it is in its folder, with `/` between.
    path: String,
    /// What its document is called; further ones are below that.
    pub(super) doc_id: String,
}

/// A folder whose files are not there.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    /// What the documents of its files begin with.
    prefix: String,
    /// What is wrong with it.
    pub(super) reason: String,
}

/// What became of reading a file.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is of no kind that is read.
    Passed,
    /// It is what it was.
    Unchanged,
    /// It cannot be read, for this reason.
    Skipped(String),
    /// It holds these documents; parts that could not be read are named.
    Read(Vec<Document>, Vec<Problem>),
}

/// What the documents of a plan have in common.
#[derive(Clone, Debug)]
pub(super) struct Reader<'p> {
    pub(super) plan: &'p Plan,
    pub(super) cut: Cut,
}

impl Missing {
    /// Whether a document came from this folder.
    pub(super) fn holds(&self, doc_id: &str) -> bool {
        doc_id.starts_with(&self.prefix)
    }
}

/// Lists the files of a plan. One folder gives documents the names of its
/// files; several have their own names before these.
pub(super) fn survey<'p>(name: &str, plan: &'p Plan) -> Survey<'p> {
    let mut survey = Survey::default();
    let mut labels = HashSet::new();
    for folder in &plan.folders {
        let prefix = match plan.folders.as_slice() {
            [_] => format!("{name}:"),
            _ => format!("{name}:{}/", label(&folder.path, &mut labels)),
        };
        survey.add(folder, prefix);
    }
    survey
}

/// What a folder among others is called: its own name, with a number if
/// another has it already.
fn label(path: &Path, taken: &mut HashSet<String>) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|it| taken.insert(it.clone()));
    free.unwrap_or(name)
}

impl<'p> Survey<'p> {
    fn add(&mut self, folder: &'p Folder, prefix: String) {
        let shown = folder.path.display();
        if !folder.path.is_dir() {
            let reason = format!("{shown} is not a folder that can be read");
            self.missing.push(Missing { prefix, reason });
            return;
        }
        let listing = import::files(std::slice::from_ref(&folder.path));
        self.skipped.extend(listing.skipped);
        if listing.files.is_empty() {
            // Most likely it is not mounted.
            let reason = format!("{shown} holds no files");
            self.missing.push(Missing { prefix, reason });
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
            self.files.push(Candidate { found, folder, path, doc_id });
        }
    }
}

impl Candidate<'_> {
    /// The place of the file, for people.
    pub(super) fn place(&self) -> String {
        self.found.path.display().to_string()
    }

    /// Whether a document came from this file.
    pub(super) fn holds(&self, doc_id: &str) -> bool {
        let rest = doc_id.strip_prefix(&self.doc_id);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Reader<'_> {
    /// Reads a file, unless it is as it was: `known` is the content hash of its
    /// document.
    pub(super) fn read(&self, file: &Candidate<'_>, known: Option<&str>) -> Outcome {
        self.attempt(file, known).unwrap_or_else(|error| Outcome::Skipped(error.to_string()))
    }

    fn attempt(
        &self,
        file: &Candidate<'_>,
        known: Option<&str>,
    ) -> Result<Outcome, import::ImportError> {
        let (path, root) = (&file.found.path, file.found.root.as_deref());
        let source = Some(SourceName::Media);
        let glance = Glance::take(path, root)?;
        if import::recognise(source, &glance).is_none() {
            return Ok(Outcome::Passed);
        }
        if known.is_some() {
            let bytes = SourceFile::open(path, root)?.bytes;
            let fingerprint = digest("", [bytes.as_slice()]);
            if known == Some(self.content_hash(file, &fingerprint).as_str()) {
                return Ok(Outcome::Unchanged);
            }
        }
        // What was read is what the hash is of, should the file have changed meanwhile.
        let read = import::read(source, file.found.clone());
        let hash = self.content_hash(file, read.digest.as_deref().unwrap_or_default());
        let import::Reading { drafts, problems } = read.reading?;
        let format = read.importer.map_or("", Importer::format);
        let media = drafts.into_iter().filter_map(|draft: Draft| match draft.body {
            Body::Media(media) => Some(media),
            Body::Note(_) | Body::Chat(_) | Body::Character(_) | Body::Prompt(_) => None,
        });
        let documents = media
            .enumerate()
            .map(|(index, media)| self.document(file, index, media, format, &hash))
            .filter(|document| !document.chunks.is_empty());
        Ok(Outcome::Read(documents.collect(), problems))
    }

    /// Tells whether the documents of a file are still what they were: its bytes,
    /// and all that the plan says of them.
    fn content_hash(&self, file: &Candidate<'_>, fingerprint: &str) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (project, version) = (text(&file.folder.project), text(&file.folder.version));
        let cut = format!("{:?}", self.cut);
        let parts = [fingerprint, &cut, &project, &version].into_iter().map(str::as_bytes);
        digest(VERSION, parts.chain(self.plan.access_tags.iter().map(String::as_bytes)))
    }

    fn document(
        &self,
        file: &Candidate<'_>,
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
            chunks: cut(&media.content, &media.headings, self.cut),
            body: media.content,
            metadata,
            file_name: part(path.file_name()),
            file_type: part(path.extension()).map(|it| it.to_ascii_lowercase()),
            url: media.url,
            project: project.map(|it| (it, file.folder.version.clone().unwrap_or_default())),
            access: self.plan.access_tags.clone(),
            created_at: media.modified_at,
            content_hash: hash.to_owned(),
            // Whoever takes it in knows which source it is from.
            source_id: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    fn plan(folders: &[PathBuf]) -> Plan {
        let folder = |path: &PathBuf| Folder {
            path: path.clone(),
            project: Some("Oven".to_owned()),
            version: None,
        };
        Plan { folders: folders.iter().map(folder).collect(), ..Plan::default() }
    }

    fn reader(plan: &Plan) -> Reader<'_> {
        Reader { plan, cut: Cut::Headings }
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn documents(outcome: Outcome) -> Vec<Document> {
        match outcome {
            Outcome::Read(documents, problems) if problems.is_empty() => documents,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_document_is_called_by_the_place_of_its_file() {
        let root = tempfile::tempdir().unwrap();
        let paths = ["a/docs", "b/docs", "c"].map(|it| root.path().join(it));
        for path in &paths {
            write(path, "guide/Start here.md", "# Start\n\nGo.");
        }
        let names = |plan: &Plan| -> Vec<String> {
            survey("kb", plan).files.into_iter().map(|file| file.doc_id).collect()
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
    fn a_file_is_read_with_all_that_is_known_of_it() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "Rye.MD", "---\nauthor: Ada\ntags: [bread]\n---\n# Rye\n\nSour.\n");
        let plan = plan(&[root.path().to_owned()]);
        let survey = survey("kb", &plan);
        let [document] = &documents(reader(&plan).read(&survey.files[0], None))[..] else {
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
        assert!(matches!(reader(&plan).read(&survey.files[0], known), Outcome::Unchanged));
        let other = Plan { access_tags: vec!["team:a".to_owned()], ..plan.clone() };
        assert_eq!(documents(reader(&other).read(&survey.files[0], known)).len(), 1);
    }

    #[test]
    fn what_holds_nothing_to_read_is_passed_or_named() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "a.exe", "MZ");
        write(root.path(), "b.md", "  \n");
        let plan = plan(&[root.path().to_owned(), root.path().join("none")]);
        let survey = survey("kb", &plan);
        let read = |index: usize| reader(&plan).read(&survey.files[index], None);
        assert!(matches!(read(0), Outcome::Passed));
        assert!(matches!(read(1), Outcome::Skipped(reason) if reason.contains("holds no text")));
        let missing = &survey.missing[0];
        assert!(missing.holds("kb:none/x.md") && !missing.holds("kb:other/x.md"));
        assert!(survey.missing[0].reason.contains("none is not a folder"));
    }

    #[test]
    fn a_file_of_several_documents_gives_each_a_name() {
        let root = tempfile::tempdir().unwrap();
        let mail = |subject: &str| {
            format!(
                "From a@example.org Mon Jan  1 00:00:00 2024\nFrom: a@example.org\n\
                     Subject: {subject}\nContent-Type: text/plain\n\nKnead the {subject}.\n\n"
            )
        };
        write(root.path(), "box.mbox", &(mail("rye") + &mail("oat")));
        let plan = plan(&[root.path().to_owned()]);
        let survey = survey("kb", &plan);
        let documents = documents(reader(&plan).read(&survey.files[0], None));
        let names: Vec<&str> = documents.iter().map(|it| it.doc_id.as_str()).collect();
        assert_eq!(names, ["kb:box.mbox", "kb:box.mbox/2"]);
        assert!(names.iter().all(|name| survey.files[0].holds(name)));
        assert!(!survey.files[0].holds("kb:box.mbox2"));
    }
}
