//! The imported files of the user.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

use actix_web::{HttpRequest, HttpResponse, web};
use vademecum_actors::{CallError, Library};
use vademecum_core::{audit::AuditOutcome, auth::Right};
use vademecum_import::{ImportOutcome, Ledger, LedgerEntry, describe_unsupported};
use vademecum_model::Timestamp;
use vademecum_services::text::format_count;

use super::{
    super::oauth::{AuditEvent, foreign_form, redirect},
    page_request::{PageProblem, PageRequest},
    upload::{UploadError, receive_files},
};
use crate::templates::{FILES_PER_PAGE, ImportedFile, Imports, LastImport, Section, imports_page};

/// Shows the outcome of each imported file.
pub(super) async fn show_imports(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    respond(&page, Vec::new()).await
}

/// Imports the files of a form, and shows the report.
pub(super) async fn upload_files(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let done = if may_upload(&page) {
        receive_files(&page, &request, body).await
    } else {
        Err(UploadError::ReadOnly)
    };
    let outcome = if done.is_ok() { AuditOutcome::Ok } else { AuditOutcome::Error };
    page.browser
        .record(AuditEvent { user: Some(&page.login.user), ..AuditEvent::new("import", outcome) });
    match done {
        Ok(report) => respond(&page, report).await,
        Err(error) => {
            let problem = PageProblem::new(error.status(), error.to_string());
            page.respond(Section::Imports, Err(problem))
        }
    }
}

/// Removes an upload. Its items stay, and the file is then missing.
pub(super) async fn remove_upload(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let Some(form) = page.browser.read_form(&request, body).await else { return foreign_form() };
    let name = PathBuf::from(form.get("file"));
    let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
    if !may_upload(&page) || !is_plain || form.get("file").is_empty() {
        return foreign_form();
    }
    let library = page.services.library(page.principal());
    let (ledger, path) = (library.ledger(), library.uploads().join(name));
    let removed = web::block(move || remove_file(&ledger, &path)).await;
    let outcome =
        if matches!(removed, Ok(Ok(()))) { AuditOutcome::Ok } else { AuditOutcome::Error };
    let event = AuditEvent::new("upload.remove", outcome);
    page.browser.record(AuditEvent { user: Some(&page.login.user), ..event });
    match removed {
        Ok(Ok(())) => redirect(Section::Imports.path()),
        Ok(Err(error)) => page.respond(Section::Imports, Err(PageProblem::internal(&error))),
        Err(error) => page.respond(Section::Imports, Err(PageProblem::internal(&error))),
    }
}

/// Removes a file, and records that it is missing.
fn remove_file(ledger: &Ledger, path: &Path) -> io::Result<()> {
    // The ledger may have the path as it is resolved.
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for path in [path, &resolved] {
        let mut entries = ledger.entries_below(path).map_err(io::Error::other)?;
        for entry in &mut entries {
            entry.outcome = ImportOutcome::Missing;
        }
        ledger.record_entries(&entries, &[]).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Returns true if the user may add files. A user who does not see all items must not replace one.
pub(super) fn may_upload(page: &PageRequest) -> bool {
    page.principal().has_right(Right::Write)
        && !page.services.library(page.principal()).is_restricted()
}

async fn respond(page: &PageRequest, report: Vec<String>) -> HttpResponse {
    let library = page.services.library(page.principal());
    // The paths of files tell what a user must not see.
    if library.is_restricted() {
        let imports = Imports { report, ..Imports::default() };
        return page.respond(Section::Imports, Ok(imports_page(&page.form_context(), &imports)));
    }
    let (only, offset) = (page.query.get("only").to_owned(), page.number("offset"));
    let ledger = library.ledger();
    let read = web::block(move || ledger.all_entries()).await;
    let paths = PathNames::of(page, &library);
    let shown = match read {
        Ok(Ok(entries)) => {
            let mut imports = summarize(&entries, only, offset, &paths);
            imports.report = report;
            imports.may_write = paths.may_write;
            Ok(imports_page(&page.form_context(), &imports))
        }
        Ok(Err(error)) => Err(PageProblem::internal(&error)),
        Err(error) => Err(PageProblem::internal(&error)),
    };
    page.respond(Section::Imports, shown)
}

/// How a user sees the paths of files.
struct PathNames {
    /// Folder with the uploads, as it is named and as it is resolved.
    uploads: [PathBuf; 2],
    /// Whether the folders of other files are hidden.
    hides_folders: bool,
    /// Whether the user may remove uploads.
    may_write: bool,
}

impl PathNames {
    fn of(page: &PageRequest, library: &Library) -> Self {
        let uploads = library.uploads();
        let resolved = uploads.canonicalize().unwrap_or_default();
        Self {
            uploads: [uploads, resolved],
            // The user of a server for one user knows its folders.
            hides_folders: page.browser.oauth.has_passwords(),
            may_write: may_upload(page),
        }
    }

    /// Returns the name of an upload below its folder.
    fn upload(&self, path: &Path) -> Option<String> {
        let mut folders = self.uploads.iter().filter(|folder| !folder.as_os_str().is_empty());
        let name = folders.find_map(|folder| path.strip_prefix(folder).ok())?;
        Some(name.to_str()?.to_owned())
    }

    /// Returns the text for a path.
    fn text(&self, path: &Path) -> String {
        match (self.upload(path), path.file_name()) {
            (Some(name), _) => name,
            (None, Some(name)) if self.hides_folders => name.display().to_string(),
            _ => path.display().to_string(),
        }
    }
}

/// Number of failed files of the last import that are listed.
const MAX_FAILED: usize = 3;

/// Returns the outcome of the last import; `None` without one, and for users who do not see all items.
pub(super) async fn read_last_import(page: &PageRequest) -> Result<Option<LastImport>, CallError> {
    let library = page.services.library(page.principal());
    if library.is_restricted() {
        return Ok(None);
    }
    let ledger = library.ledger();
    let read = library.spawn_blocking(move || ledger.last_import(MAX_FAILED)).await;
    let read = read.ok_or(CallError::Unavailable)?;
    let read = read.map_err(|error| {
        tracing::warn!(%error, "the last import is not shown");
        CallError::Unavailable
    });
    let Some(last) = read? else { return Ok(None) };
    let paths = PathNames::of(page, &library);
    let failed = last.failed.iter().map(|entry| {
        let file = describe_file(entry, &paths);
        (file.path, file.details)
    });
    #[expect(clippy::cast_precision_loss, reason = "the page shows minutes")]
    let seconds = last.read_at as f64 / 1e9;
    Ok(Timestamp::from_unix_seconds(seconds).map(|read_at| LastImport {
        read_at,
        files: last.files,
        failed: failed.collect(),
        failed_files: last.failed_files,
    }))
}

fn summarize(entries: &[LedgerEntry], only: String, offset: usize, paths: &PathNames) -> Imports {
    let mut outcomes: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut unsupported: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        *outcomes.entry(outcome_name(entry.outcome)).or_default() += 1;
        if let (ImportOutcome::Passed, Some(format)) = (entry.outcome, &entry.format) {
            *unsupported.entry(format).or_default() += 1;
        }
    }
    let mut unsupported: Vec<_> = unsupported
        .into_iter()
        .map(|(format, files)| describe_unsupported(format, files))
        .collect();
    unsupported.sort_by_key(|group| std::cmp::Reverse(group.files));
    let mut matching = entries
        .iter()
        .filter(|entry| only.is_empty() || outcome_name(entry.outcome) == only)
        .skip(offset);
    let files = matching.by_ref().take(FILES_PER_PAGE).map(|it| describe_file(it, paths)).collect();
    let next_offset = matching.next().map(|_| offset + FILES_PER_PAGE);
    Imports {
        files,
        outcomes: outcomes.into_iter().collect(),
        unsupported,
        only,
        offset,
        next_offset,
        ..Imports::default()
    }
}

fn outcome_name(outcome: ImportOutcome) -> &'static str {
    match outcome {
        ImportOutcome::Imported => "imported",
        ImportOutcome::Skipped => "skipped",
        ImportOutcome::Passed => "passed",
        ImportOutcome::Missing => "missing",
    }
}

fn describe_file(entry: &LedgerEntry, paths: &PathNames) -> ImportedFile {
    let mut details: Vec<String> = Vec::new();
    if let (ImportOutcome::Imported | ImportOutcome::Missing, Some(source)) =
        (entry.outcome, entry.source)
    {
        details.push(format!("{} in {source}", format_count(entry.items.len(), "item")));
    }
    details.extend(entry.problems.iter().map(ToString::to_string));
    ImportedFile {
        path: paths.text(&entry.path),
        upload: paths
            .upload(&entry.path)
            .filter(|_| paths.may_write && entry.outcome != ImportOutcome::Missing),
        outcome: outcome_name(entry.outcome),
        details: details.join("; "),
    }
}
