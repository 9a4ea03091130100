//! Files that a user drops on a page. They are kept in the folder `uploads` of the library, so that
//! a file with the same name updates its items, and are read like all imported files.

use std::{
    io::Write as _,
    path::{MAIN_SEPARATOR, PathBuf},
    sync::Arc,
    time::Duration,
};

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::{FromRequest as _, HttpRequest, http::StatusCode, web};
use futures_util::StreamExt as _;
use tempfile::NamedTempFile;
use vademecum_actors::{CallError, Library};
use vademecum_services::import::{
    ImportError, ImportOptions, ImportQuota, SecretHandling, StopSignal, import_files,
};
use vademecum_vault::journal::ConflictCopies;

use super::page_request::PageRequest;

/// Maximum size of all files of a form, in bytes.
const MAX_UPLOAD_BYTES: usize = 64 << 20;
/// Maximum number of files of a form.
const MAX_FILES: usize = 200;
/// Maximum length of the name of a file, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Maximum size of a field that is no file, in bytes.
const MAX_FIELD_BYTES: usize = 1_000;
/// Number of bytes after which the size of the library is measured again, because other uploads of
/// the user may take the same room.
const MEASURED_BYTES: usize = 1 << 20;
/// Maximum duration of an upload.
pub(super) const UPLOAD_TIMEOUT: Duration = Duration::from_mins(10);

/// Error of an upload. The messages are for the user.
#[derive(Debug, thiserror::Error)]
pub(super) enum UploadError {
    /// The user may not add files.
    #[error("You may read this library, but not add to it.")]
    ReadOnly,
    /// The form did not come from a page of this server.
    #[error(
        "This form has expired, or did not come from a page of this server. Nothing was imported."
    )]
    Foreign,
    /// The files are too large.
    #[error(
        "The files are larger than {} MB or more than {MAX_FILES}. Nothing was imported: send fewer \
         at once, or run `vademecum import`.",
        MAX_UPLOAD_BYTES >> 20
    )]
    TooLarge,
    /// The form has no file.
    #[error("No file was chosen.")]
    NoFile,
    /// The form is malformed, or did not arrive in time.
    #[error("The files did not arrive: {0}. Nothing was imported.")]
    Transfer(String),
    /// The library is full.
    #[error("{0}")]
    Quota(CallError),
    /// The files exceed the quota by themselves or with the library.
    #[error(
        "The library has room for {0} bytes more, and the files are larger. Nothing was imported."
    )]
    NoRoom(usize),
    /// The files cannot be kept.
    #[error("The files cannot be stored: {0}. Nothing was imported.")]
    Storage(#[from] std::io::Error),
    /// The import failed.
    #[error("The import failed: {0}")]
    Import(#[from] ImportError),
}

impl UploadError {
    /// Returns the status of the page that shows the error.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::ReadOnly | Self::Foreign => StatusCode::FORBIDDEN,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoFile | Self::Transfer(_) => StatusCode::BAD_REQUEST,
            Self::Quota(_) | Self::NoRoom(_) => StatusCode::INSUFFICIENT_STORAGE,
            Self::Storage(_) | Self::Import(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<MultipartError> for UploadError {
    fn from(error: MultipartError) -> Self {
        Self::Transfer(error.to_string())
    }
}

/// Receives the files of a form and imports them. Returns the lines of the report.
pub(super) async fn receive_files(
    page: &PageRequest,
    request: &HttpRequest,
    body: web::Payload,
) -> Result<Vec<String>, UploadError> {
    let library = page.services.library(page.principal());
    let quota = ImportQuota {
        registry: Arc::clone(&page.services.registry),
        user: page.login.user.clone(),
    };
    let room = quota.registry.quotas().room(&quota.user, &library).await;
    let room = room.map_err(UploadError::Quota)?.bytes;
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    let received = receive(page, request, body, &library, (&quota, room));
    let received = tokio::time::timeout(UPLOAD_TIMEOUT, received).await;
    let received = received.map_err(|_| UploadError::Transfer("it took too long".to_owned()))??;
    if received.is_empty() {
        return Err(UploadError::NoFile);
    }
    let kept = quota.registry.quotas().byte_room(&quota.user, &library).await;
    kept.map_err(UploadError::Quota)?;
    let paths = web::block(move || keep(received)).await.map_err(std::io::Error::other)??;
    let options = ImportOptions {
        kind: None,
        paths,
        dry_run: false,
        follow_deletions: false,
        limits: page.services.reader_limits,
        conflict_copies: ConflictCopies::InLibrary,
        quota: Some(quota),
        secrets: SecretHandling::Redact,
        stop: StopSignal::default(),
    };
    let summary = import_files(&library, &options, &(Arc::new(|_| {}) as _)).await?;
    library.start_indexing();
    // The folders of the server are none of the user's business.
    let uploads = format!("{}{MAIN_SEPARATOR}", library.uploads().display());
    let lines = summary.format_problems().into_iter().chain(summary.format_report());
    Ok(lines.map(|line| line.replace(&uploads, "")).collect())
}

/// Reads the form into temporary files of at most `room` bytes, which count against the quota. The
/// token comes first, so that nothing of a form of another origin is written.
async fn receive(
    page: &PageRequest,
    request: &HttpRequest,
    body: web::Payload,
    library: &Library,
    (quota, room): (&ImportQuota, usize),
) -> Result<Vec<(NamedTempFile, PathBuf)>, UploadError> {
    let mut form = Multipart::from_request(request, &mut body.into_inner())
        .await
        .map_err(|error| UploadError::Transfer(error.to_string()))?;
    let folder = library.uploads();
    let (mut is_own, mut left, mut files) = (false, MAX_UPLOAD_BYTES.min(room), Vec::new());
    let mut measured = left;
    let too_large = || match room {
        ..MAX_UPLOAD_BYTES => UploadError::NoRoom(room),
        _ => UploadError::TooLarge,
    };
    while let Some(field) = form.next().await {
        let mut field = field?;
        let disposition = field.content_disposition().cloned();
        let file_name = disposition.as_ref().and_then(|it| it.get_filename());
        let Some(name) = file_name else {
            let is_token = disposition.as_ref().and_then(|it| it.get_name()) == Some("csrf");
            let value = read_text(&mut field).await?;
            is_own |= is_token && page.browser.is_own_form(&value);
            continue;
        };
        if !is_own {
            return Err(UploadError::Foreign);
        }
        // A browser sends an empty field if no file was chosen.
        let Some(name) = safe_name(name) else { continue };
        if files.len() == MAX_FILES {
            return Err(UploadError::TooLarge);
        }
        std::fs::create_dir_all(&folder)?;
        let mut file = NamedTempFile::new_in(&folder)?;
        while let Some(chunk) = field.next().await {
            let chunk = chunk?;
            left = left.checked_sub(chunk.len()).ok_or_else(too_large)?;
            if measured.saturating_sub(left) >= MEASURED_BYTES {
                measured = left;
                let room = quota.registry.quotas().byte_room(&quota.user, library).await;
                room.map_err(UploadError::Quota)?;
            }
            file = web::block(move || file.write_all(&chunk).map(|()| file))
                .await
                .map_err(std::io::Error::other)??;
        }
        files.push((file, folder.join(name)));
    }
    if is_own { Ok(files) } else { Err(UploadError::Foreign) }
}

async fn read_text(field: &mut Field) -> Result<String, UploadError> {
    let mut text = Vec::new();
    while let Some(chunk) = field.next().await {
        text.extend_from_slice(&chunk?);
        if text.len() > MAX_FIELD_BYTES {
            return Err(UploadError::TooLarge);
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Moves complete files to their names, and returns those.
fn keep(files: Vec<(NamedTempFile, PathBuf)>) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::with_capacity(files.len());
    for (file, path) in files {
        file.as_file().sync_all()?;
        file.persist(&path)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Returns the last component of the name that a browser gives a file, without characters that a
/// file system gives a meaning; `None` if nothing is left.
fn safe_name(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next()?;
    let kept: String = name
        .chars()
        .filter(|letter| !letter.is_control() && !matches!(letter, ':' | '"' | '<' | '>' | '|'))
        .collect();
    let mut kept = kept.trim().trim_start_matches('.').to_owned();
    // The end has the type of the file.
    while kept.len() > MAX_NAME_BYTES {
        kept.remove(0);
    }
    (!kept.is_empty()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        for (name, safe) in [
            ("note.md", Some("note.md")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\Users\\ada\\a.txt", Some("a.txt")),
            (".hidden", Some("hidden")),
            ("..", None),
            ("", None),
            ("a\u{0}b\n.md", Some("ab.md")),
        ] {
            assert_eq!(safe_name(name).as_deref(), safe, "{name:?}");
        }
        assert!(safe_name(&format!("{}.md", "ä".repeat(300))).unwrap().ends_with("ä.md"));
    }
}
