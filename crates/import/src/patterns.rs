//! Prompts as Markdown: a folder for each, with `system.md` and maybe
//! `user.md`; or a file for each.

use std::{fs, path::Path};

use vademecum_kit::model::{Body, Draft, PromptDraft, SourceName, Timestamp};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, digest::digest, markdown::Markdown,
};

/// Goes up when the same files make another prompt than before.
const VERSION: &str = "patterns/1";

/// What the files of a pattern are called.
const SYSTEM: &str = "system.md";
const USER: &str = "user.md";

/// What is about the files around it, and no prompt.
const NOT_PROMPTS: [&str; 5] = ["readme", "license", "licence", "changelog", "contributing"];

/// Most folders that are looked at to see whether they are patterns.
const MAX_FOLDERS: usize = 1_000;

/// Reads patterns, and single prompts.
#[derive(Debug)]
pub(super) struct Patterns;

impl Importer for Patterns {
    fn source(&self) -> SourceName {
        SourceName::Prompts
    }

    fn format(&self) -> &'static str {
        "Markdown prompts (system.md and user.md in a folder, or .md)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        if !glance.ends_in(&["md", "markdown"]) {
            return Fit::No;
        }
        if is_part(glance.path()) && is_pattern(glance) {
            return Fit::Content;
        }
        let stem = glance.path().file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        Fit::Maybe.when(!NOT_PROMPTS.contains(&stem.as_str()))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let folder = file.path.parent().filter(|_| is_part(&file.path));
        match folder.and_then(|folder| Some((folder, folder.file_name()?))) {
            Some((folder, name)) => pattern(file, folder, &name.to_string_lossy()),
            None => single(file),
        }
    }
}

/// Whether a file is called like one half of a pattern.
fn is_part(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == SYSTEM || name == USER)
}

/// Whether a file lies as patterns do: both halves side by side, or a
/// `system.md` in each of several folders.
fn is_pattern(glance: &Glance) -> bool {
    let Some(folder) = glance.path().parent() else { return false };
    if is_file(&folder.join(SYSTEM)) && is_file(&folder.join(USER)) {
        return true;
    }
    let around = folder.parent().filter(|around| {
        glance.root().is_some_and(|root| around.starts_with(root)) && !glance.path().ends_with(USER)
    });
    around.and_then(|around| fs::read_dir(around).ok()).is_some_and(|folders| {
        let mut others = folders.take(MAX_FOLDERS).flatten().map(|entry| entry.path());
        others.any(|other| other != folder && is_file(&other.join(SYSTEM)))
    })
}

/// Whether there is a file; links may lead out of the folder, and count as none.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_file())
}

/// The prompt of a folder. Each of its files makes the whole of it, so that a
/// change of either is a change of the prompt.
fn pattern(file: &SourceFile, folder: &Path, name: &str) -> Result<Reading, ImportError> {
    let half = |name: &str| {
        let path = folder.join(name);
        if path == file.path {
            return Ok(Some(file.clone()));
        }
        is_file(&path).then(|| SourceFile::open(&path, file.root.as_deref())).transpose()
    };
    let (system, user) = (half(SYSTEM)?, half(USER)?);
    let (system_prompt, user_prompt) = (body(system.as_ref())?, body(user.as_ref())?);
    let halves = [&system, &user].map(|half| half.as_ref());
    let modified = halves.iter().flatten().filter_map(|half| half.modified).max();
    let prompt =
        PromptDraft { name: name.to_owned(), system_prompt, user_prompt, ..PromptDraft::default() };
    let bytes = halves.map(|half| half.map_or(&[][..], |half| &half.bytes));
    let origin = format!("file:{}", folder.display());
    finish(file, origin, digest(VERSION, bytes), prompt, modified)
}

/// The prompt that is one file.
fn single(file: &SourceFile) -> Result<Reading, ImportError> {
    let properties = Markdown::parse(&file.text()?).properties;
    let prompt = PromptDraft {
        name: properties.title.unwrap_or_else(|| file.stem()),
        author: properties.author,
        user_prompt: body(Some(file))?,
        keywords: properties.tags,
        ..PromptDraft::default()
    };
    let modified = properties.modified.or(file.modified);
    finish(file, file.origin(), digest(VERSION, [file.bytes.as_slice()]), prompt, modified)
}

fn finish(
    file: &SourceFile,
    origin: String,
    digest: String,
    prompt: PromptDraft,
    modified_at: Option<Timestamp>,
) -> Result<Reading, ImportError> {
    if prompt.system_prompt.is_none() && prompt.user_prompt.is_none() {
        return Err(ImportError::Empty { path: file.path.clone() });
    }
    let body = Body::Prompt(PromptDraft { modified_at, ..prompt });
    Ok(Draft { origin, digest, id: None, body }.into())
}

/// The text of a file without its front matter, if there is any.
fn body(file: Option<&SourceFile>) -> Result<Option<String>, ImportError> {
    let Some(file) = file else { return Ok(None) };
    let text = file.text()?;
    let body = Markdown::parse(&text).body.trim();
    Ok((!body.is_empty()).then(|| body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn fit(folder: &tempfile::TempDir, name: &str) -> Fit {
        let glance = Glance::take(&folder.path().join(name), Some(folder.path())).unwrap();
        Patterns.recognise(&glance)
    }

    fn read(folder: &tempfile::TempDir, name: &str) -> Result<(Draft, PromptDraft), String> {
        let file = SourceFile::open(&folder.path().join(name), Some(folder.path())).unwrap();
        let mut reading = Patterns.read(&file).map_err(|error| error.to_string())?;
        let draft = reading.drafts.remove(0);
        let Body::Prompt(prompt) = draft.body.clone() else { panic!("not a prompt") };
        Ok((draft, prompt))
    }

    #[test]
    fn either_file_of_a_pattern_makes_the_one_prompt_named_after_the_folder() {
        let folder = folder(&[("p/wise/system.md", "# Be wise\n"), ("p/wise/user.md", "Ask: ")]);
        let (system, prompt) = read(&folder, "p/wise/system.md").unwrap();
        assert_eq!(prompt.name, "wise");
        assert_eq!(prompt.system_prompt.as_deref(), Some("# Be wise"));
        assert_eq!(prompt.user_prompt.as_deref(), Some("Ask:"));
        let (user, _) = read(&folder, "p/wise/user.md").unwrap();
        assert_eq!((&system.origin, &system.digest), (&user.origin, &user.digest));
        assert!(system.origin.ends_with("p/wise"), "{}", system.origin);
    }

    #[test]
    fn patterns_are_known_by_how_they_lie() {
        let folder = folder(&[
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
            assert_eq!(fit(&folder, name), Fit::Content, "{name}");
        }
        for name in ["c/notes/system.md", "c/other/user.md", "single.md"] {
            assert_eq!(fit(&folder, name), Fit::Maybe, "{name}");
        }
        assert_eq!(fit(&folder, "README.md"), Fit::No);
    }

    #[test]
    fn a_single_file_is_a_prompt() {
        let folder = folder(&[("Tidy.md", "---\ntags: [a]\nauthor: Ada\n---\nTidy up!\n")]);
        let (draft, prompt) = read(&folder, "Tidy.md").unwrap();
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
    fn an_empty_pattern_is_told() {
        let folder = folder(&[("p/system.md", " \n"), ("p/user.md", "")]);
        assert!(read(&folder, "p/user.md").unwrap_err().contains("holds no text"));
    }

    #[cfg(unix)]
    #[test]
    fn a_half_that_is_a_link_is_not_followed() {
        let outside = folder(&[("secret", "key")]);
        let folder = folder(&[("p/system.md", "Be wise.")]);
        let link = folder.path().join("p/user.md");
        std::os::unix::fs::symlink(outside.path().join("secret"), link).unwrap();
        assert!(read(&folder, "p/system.md").unwrap().1.user_prompt.is_none());
    }
}
