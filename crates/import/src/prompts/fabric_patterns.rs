//! Prompts in Markdown: a folder per prompt with `system.md` and optionally `user.md` (the layout
//! of Fabric patterns), or one file per prompt.

use std::path::Path;

use vademecum_model::{Draft, DraftBody, PromptDraft, SourceName, Timestamp};

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile, digest,
    files::neighbours::PATTERN_FILES, text::markdown::MarkdownDocument,
};

/// Version of the importer; increment when the same files produce a different prompt.
const VERSION: &str = "patterns/1";

/// Stems of files that describe a folder and are not prompts.
const IGNORED_STEMS: [&str; 5] = ["readme", "license", "licence", "changelog", "contributing"];

/// Importer of patterns and single prompts.
#[derive(Debug)]
pub(crate) struct PatternImporter;

impl Importer for PatternImporter {
    fn source(&self) -> SourceName {
        SourceName::Prompts
    }

    fn format_name(&self) -> &'static str {
        "Markdown prompts (system.md and user.md in a folder, or .md)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        if !probe.has_extension(&["md", "markdown"]) {
            return Confidence::NoMatch;
        }
        if is_pattern_file(probe.path()) && has_pattern_layout(probe) {
            return Confidence::ByContent;
        }
        let stem = probe.path().file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        Confidence::Possible.when(!IGNORED_STEMS.contains(&stem.as_str()))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let folder = file.path.parent().filter(|_| is_pattern_file(&file.path));
        match folder.and_then(|folder| Some((folder, folder.file_name()?))) {
            Some((folder, name)) => read_pattern(file, folder, &name.to_string_lossy()),
            None => read_single_prompt(file),
        }
    }
}

/// Returns `true` if the file has the name of one of the two files of a pattern.
fn is_pattern_file(path: &Path) -> bool {
    PATTERN_FILES.iter().any(|name| path.ends_with(name))
}

/// Returns `true` if the files are laid out as patterns: both files in one folder, or a `system.md`
/// in each of several folders.
fn has_pattern_layout(probe: &FileProbe) -> bool {
    let Some(folder) = probe.path().parent() else { return false };
    let half = |name: &&str| {
        let path = folder.join(name);
        path == probe.path() || probe.neighbours().has(&path)
    };
    // The `system.md` of another folder is a neighbour of a `system.md` only.
    let [system, _] = PATTERN_FILES;
    PATTERN_FILES.iter().all(half) || probe.neighbours().has_name(system, folder)
}

/// Returns the prompt of a folder. Both files yield the same draft, so a change of either updates
/// the prompt.
fn read_pattern(file: &SourceFile, folder: &Path, name: &str) -> Result<ParsedFile, ImportError> {
    let half = |name: &str| {
        let path = folder.join(name);
        if path == file.path {
            return Ok(Some(file.clone()));
        }
        file.read_neighbour(&path).transpose()
    };
    let [system, user] = PATTERN_FILES;
    let (system, user) = (half(system)?, half(user)?);
    let (system_prompt, user_prompt) = (read_body(system.as_ref())?, read_body(user.as_ref())?);
    let halves = [&system, &user].map(|half| half.as_ref());
    let modified = halves.iter().flatten().filter_map(|half| half.modified).max();
    let prompt =
        PromptDraft { name: name.to_owned(), system_prompt, user_prompt, ..PromptDraft::default() };
    let bytes = halves.map(|half| half.map_or(&[][..], |half| &half.bytes));
    let origin = format!("file:{}", folder.display());
    build_file(file, origin, digest(VERSION, bytes), prompt, modified)
}

/// Returns the prompt that consists of one file.
fn read_single_prompt(file: &SourceFile) -> Result<ParsedFile, ImportError> {
    let properties = MarkdownDocument::parse(&file.text()?).properties;
    let prompt = PromptDraft {
        name: properties.title.unwrap_or_else(|| file.file_stem()),
        author: properties.author,
        user_prompt: read_body(Some(file))?,
        keywords: properties.tags,
        ..PromptDraft::default()
    };
    let modified = properties.modified.or(file.modified);
    build_file(file, file.origin(), digest(VERSION, [file.bytes.as_slice()]), prompt, modified)
}

fn build_file(
    file: &SourceFile,
    origin: String,
    digest: String,
    prompt: PromptDraft,
    modified_at: Option<Timestamp>,
) -> Result<ParsedFile, ImportError> {
    if prompt.system_prompt.is_none() && prompt.user_prompt.is_none() {
        return Err(ImportError::NoText { path: file.path.clone() });
    }
    let body = DraftBody::Prompt(PromptDraft { modified_at, ..prompt });
    Ok(Draft { origin, digest, id: None, body }.into())
}

/// Returns the text of a file without front matter; `None` if it is blank.
fn read_body(file: Option<&SourceFile>) -> Result<Option<String>, ImportError> {
    let Some(file) = file else { return Ok(None) };
    let text = file.text()?;
    let body = MarkdownDocument::parse(&text).body.trim();
    Ok((!body.is_empty()).then(|| body.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Creates a folder with these files.
    fn create_folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn detect_confidence(folder: &tempfile::TempDir, name: &str) -> Confidence {
        let probe = FileProbe::open(&folder.path().join(name), Some(folder.path())).unwrap();
        PatternImporter.detect(&probe)
    }

    fn read_prompt(folder: &tempfile::TempDir, name: &str) -> Result<(Draft, PromptDraft), String> {
        let file = SourceFile::open(&folder.path().join(name), Some(folder.path())).unwrap();
        let mut reading = PatternImporter.parse(&file).map_err(|error| error.to_string())?;
        let draft = reading.drafts.remove(0);
        let DraftBody::Prompt(prompt) = draft.body.clone() else { panic!("not a prompt") };
        Ok((draft, prompt))
    }

    #[test]
    fn either_pattern_file_yields_the_same_prompt() {
        let folder =
            create_folder(&[("p/wise/system.md", "# Be wise\n"), ("p/wise/user.md", "Ask: ")]);
        let (system, prompt) = read_prompt(&folder, "p/wise/system.md").unwrap();
        assert_eq!(prompt.name, "wise");
        assert_eq!(prompt.system_prompt.as_deref(), Some("# Be wise"));
        assert_eq!(prompt.user_prompt.as_deref(), Some("Ask:"));
        let (user, _) = read_prompt(&folder, "p/wise/user.md").unwrap();
        assert_eq!((&system.origin, &system.digest), (&user.origin, &user.digest));
        assert!(system.origin.ends_with("p/wise"), "{}", system.origin);
    }

    #[test]
    fn patterns_are_detected_by_folder_layout() {
        let folder = create_folder(&[
            ("a/one/system.md", "1"),
            ("a/two/system.md", "2"),
            ("b/pair/system.md", "3"),
            ("b/pair/user.md", ""),
            ("c/notes/system.md", "of a house"),
            ("c/other/user.md", "of a house"),
            ("README.md", "about"),
            ("single.md", "text"),
        ]);
        for name in ["a/one/system.md", "a/two/system.md", "b/pair/system.md", "b/pair/user.md"] {
            assert_eq!(detect_confidence(&folder, name), Confidence::ByContent, "{name}");
        }
        for name in ["c/notes/system.md", "c/other/user.md", "single.md"] {
            assert_eq!(detect_confidence(&folder, name), Confidence::Possible, "{name}");
        }
        assert_eq!(detect_confidence(&folder, "README.md"), Confidence::NoMatch);
    }

    #[test]
    fn a_single_file_is_a_prompt() {
        let folder = create_folder(&[("Tidy.md", "---\ntags: [a]\nauthor: Ada\n---\nTidy up!\n")]);
        let (draft, prompt) = read_prompt(&folder, "Tidy.md").unwrap();
        assert_eq!(
            (prompt.name.as_str(), prompt.user_prompt.as_deref()),
            ("Tidy", Some("Tidy up!"))
        );
        assert_eq!(
            (prompt.keywords, prompt.author.as_deref()),
            (vec!["a".to_owned()], Some("Ada"))
        );
        assert!(draft.origin.ends_with("Tidy.md") && prompt.modified_at.is_some());
    }

    #[test]
    fn empty_pattern_is_rejected() {
        let folder = create_folder(&[("p/system.md", " \n"), ("p/user.md", "")]);
        assert!(read_prompt(&folder, "p/user.md").unwrap_err().contains("holds no text"));
    }

    #[cfg(unix)]
    #[test]
    fn linked_pattern_file_is_not_followed() {
        let outside = create_folder(&[("secret", "key")]);
        let folder = create_folder(&[("p/system.md", "Be wise.")]);
        let link = folder.path().join("p/user.md");
        std::os::unix::fs::symlink(outside.path().join("secret"), link).unwrap();
        assert!(read_prompt(&folder, "p/system.md").unwrap().1.user_prompt.is_none());
    }
}
