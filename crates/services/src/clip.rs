//! Web pages that a browser sends: each address is one document of the library, and saving it again
//! makes a new version. The page is kept as a file in the folder `uploads/clips` of the library and
//! read like all imported files.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use maud::html;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use url::Url;
use vademecum_actors::{CallError, Library};
use vademecum_import::ReaderLimits;
use vademecum_model::{SourceName, Uri};
use vademecum_vault::journal::ConflictCopies;

use crate::import::{
    ImportError, ImportOptions, ImportQuota, SecretHandling, StopSignal, import_files,
};

/// Folder in the uploads of the library with the pages.
const FOLDER: &str = "clips";

/// A web page to save.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clip {
    /// Title; without one, that of the page.
    pub title: String,
    /// Address, beginning with http:// or https://.
    pub url: String,
    /// The page as HTML, or a part of it.
    pub html: String,
    /// The text, if there is no HTML.
    pub text: String,
}

/// Error while saving a page. The messages are for the caller.
#[derive(Debug, thiserror::Error)]
pub enum ClipError {
    /// The clip cannot be saved as it is.
    #[error("{0}")]
    Invalid(String),
    /// The library is full.
    #[error(transparent)]
    Quota(CallError),
    /// The file cannot be stored.
    #[error("the page cannot be stored")]
    Storage(#[from] std::io::Error),
    /// The import failed.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The page was not read.
    #[error("the page was not saved: {0}")]
    NotRead(String),
}

impl Clip {
    /// Returns the file with the page: its name, which depends on the address alone, and its content.
    fn to_file(&self) -> Result<(String, String), ClipError> {
        let invalid = |problem: &str| ClipError::Invalid(problem.to_owned());
        let address = Url::parse(self.url.trim())
            .ok()
            .filter(|address| matches!(address.scheme(), "http" | "https"))
            .ok_or_else(|| {
                invalid("url: expected an address that begins with http:// or https://")
            })?;
        let body = match (self.html.trim(), self.text.trim()) {
            ("", "") => return Err(invalid("html: is empty; send `html` or `text`")),
            ("", text) => html! {
                article { @for paragraph in text.split("\n\n") { p { (paragraph) } } }
            }
            .into_string(),
            (page, _) => page.to_owned(),
        };
        // The first title and the first canonical address are those of the document.
        let title = self.title.trim();
        let head = html! {
            meta charset="utf-8";
            link rel="canonical" href=(address.as_str());
            @if !title.is_empty() { title { (title) } }
        };
        let mut name = String::new();
        for byte in Sha256::digest(address.as_str()).iter().take(16) {
            write!(name, "{byte:02x}").map_err(std::io::Error::other)?;
        }
        Ok((format!("{name}.html"), format!("<!doctype html>\n{}\n{body}", head.into_string())))
    }
}

/// Saves a page in a library, and returns its document.
pub async fn save_clip(
    library: &Library,
    clip: &Clip,
    limits: ReaderLimits,
    quota: Option<ImportQuota>,
) -> Result<Uri, ClipError> {
    let (name, content) = clip.to_file()?;
    let folder = library.uploads().join(FOLDER);
    let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let turn = match &quota {
        Some(quota) => Some(quota.begin(library, size).await.map_err(ClipError::Quota)?),
        None => None,
    };
    let stored = tokio::task::spawn_blocking(move || store(&folder, &name, &content));
    let path = stored.await.map_err(std::io::Error::other)??;
    // The import waits for a turn of its own.
    drop(turn);
    let options = ImportOptions {
        kind: Some(SourceName::Media),
        paths: vec![path.clone()],
        dry_run: false,
        follow_deletions: false,
        limits,
        conflict_copies: ConflictCopies::InLibrary,
        quota,
        secrets: SecretHandling::Redact,
        stop: StopSignal::default(),
    };
    let summary = import_files(library, &options, &(Arc::new(|_| {}) as _)).await?;
    let ledger = library.ledger();
    let entries = tokio::task::spawn_blocking(move || ledger.entries_below(&path));
    let entries = entries.await.map_err(std::io::Error::other)?;
    let item =
        entries.ok().and_then(|entries| entries.into_iter().next()?.items.into_iter().next());
    let uri = item
        .and_then(|item| item.parse().ok().or_else(|| Some(Uri::item(SourceName::Media, item))));
    library.start_indexing();
    uri.ok_or_else(|| ClipError::NotRead(summary.format_problems().join("; ")))
}

/// Writes the file of a page. Readers never see a part of it.
fn store(folder: &Path, name: &str, content: &str) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    let mut file = NamedTempFile::new_in(&folder)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    let path = folder.join(name);
    file.persist(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(url: &str, text: &str) -> Clip {
        Clip { url: url.to_owned(), text: text.to_owned(), ..Clip::default() }
    }

    #[test]
    fn address_decides_the_file() {
        let name = |clip: &Clip| clip.to_file().unwrap().0;
        let one = clip("https://a.example/x", "one");
        assert_eq!(name(&one), name(&clip("https://a.example/x", "two")));
        assert_ne!(name(&one), name(&clip("https://a.example/y", "one")));
    }

    #[test]
    fn text_and_title_are_escaped() {
        let hostile =
            Clip { title: "</title><script>".to_owned(), ..clip("https://a.example/\"><b", "<b>") };
        let content = hostile.to_file().unwrap().1;
        assert!(!content.contains("<script>") && !content.contains("<b"), "{content}");
    }

    #[test]
    fn other_addresses_and_empty_pages_are_refused() {
        for (url, text) in [
            ("file:///etc/passwd", "x"),
            ("", "x"),
            ("javascript:x", "x"),
            ("https://a.example", " "),
        ] {
            assert!(matches!(clip(url, text).to_file(), Err(ClipError::Invalid(_))), "{url}");
        }
    }
}
