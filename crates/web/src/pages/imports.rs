//! The imported files of the user.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web};
use vademecum_core::{audit::AuditOutcome, auth::Right};
use vademecum_import::{ImportOutcome, LedgerEntry, describe_unsupported};
use vademecum_services::text::format_count;

use super::{
    super::oauth::AuditEvent,
    page_request::{PageProblem, PageRequest},
    upload::{UploadError, receive_files},
};
use crate::templates::{FILES_PER_PAGE, ImportedFile, Imports, Section, imports_page};

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
    let done = if may_write(&page) {
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

/// Returns true if the user may add files. A user who does not see all items must not replace one.
fn may_write(page: &PageRequest) -> bool {
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
    let shown = match read {
        Ok(Ok(entries)) => {
            let mut imports = summarize(&entries, only, offset);
            imports.report = report;
            imports.may_write = may_write(page);
            Ok(imports_page(&page.form_context(), &imports))
        }
        Ok(Err(error)) => Err(PageProblem::internal(&error)),
        Err(error) => Err(PageProblem::internal(&error)),
    };
    page.respond(Section::Imports, shown)
}

fn summarize(entries: &[LedgerEntry], only: String, offset: usize) -> Imports {
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
    let files = matching.by_ref().take(FILES_PER_PAGE).map(describe_file).collect();
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

fn describe_file(entry: &LedgerEntry) -> ImportedFile {
    let mut details: Vec<String> = Vec::new();
    if let (ImportOutcome::Imported | ImportOutcome::Missing, Some(source)) =
        (entry.outcome, entry.source)
    {
        details.push(format!("{} in {source}", format_count(entry.items.len(), "item")));
    }
    details.extend(entry.problems.iter().map(ToString::to_string));
    ImportedFile {
        path: entry.path.display().to_string(),
        outcome: outcome_name(entry.outcome),
        details: details.join("; "),
    }
}
