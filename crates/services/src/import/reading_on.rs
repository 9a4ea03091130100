//! Documents that were read up to a page by an earlier import, and are read on after it.

use std::path::Path;

use vademecum_import::{
    self as import, Continuation, LedgerEntry, ParsedFile, PartialDocument, Problem,
};

use super::{error::ImportError, known_files::file_problem, pipeline::ImportJob};

/// The result of reading a file, with all pages that were read.
pub(super) struct Reading {
    pub(super) result: Result<ParsedFile, import::ImportError>,
    /// Time that the file was given, in seconds; 0 to begin again with the limit.
    pub(super) seconds: u32,
    /// The problem of an error that may pass, for which the pages before are kept.
    pub(super) passing: Option<Problem>,
}

impl Reading {
    fn new(result: Result<ParsedFile, import::ImportError>, seconds: u32) -> Self {
        Self { result, seconds, passing: None }
    }
}

impl ImportJob<'_> {
    /// Adds what was read of a file to the pages of earlier imports, if there are any.
    pub(super) fn read_on(
        &self,
        entry: &mut LedgerEntry,
        continuation: Option<Continuation>,
        result: Result<ParsedFile, import::ImportError>,
    ) -> Result<Reading, ImportError> {
        let limits = self.options.limits;
        let seconds = continuation.map_or(limits.seconds.get(), |it| it.seconds);
        let Some(Continuation { read_pages: before @ 1.., .. }) = continuation else {
            return Ok(Reading::new(result, seconds));
        };
        let partial = self.ledger.partial_document(entry)?;
        // A reader that failed has not read the content.
        let is_same = |digest: &str| entry.digest.as_deref().is_none_or(|it| it == digest);
        let partial = partial.filter(|it| it.read_pages == before && is_same(&it.digest));
        let Some(partial) = partial else {
            let path = entry.path.display();
            let message = format!("{path} has changed while it was read; import it again");
            let result = Err(import::ImportError::Reported { message, needs_time: true });
            return Ok(Reading::new(result, 0));
        };
        let known = self.previous.get(&entry.path);
        let is_changed = known.is_some_and(|known| known.stamp != entry.stamp);
        if let Some(known) = known {
            // A reader that failed has not recognised the format either.
            entry.source = known.source;
            entry.format.clone_from(&known.format);
        }
        entry.digest = Some(partial.digest.clone());
        let given =
            Given { seconds, is_last: limits.longer_seconds(seconds).is_none(), is_changed };
        let reading = add_pages(&entry.path, partial, result, given);
        if reading.passing.is_some()
            && let Some(known) = known
        {
            // The pages are those of this stamp.
            entry.stamp = known.stamp;
        }
        Ok(reading)
    }

    /// Keeps the items of a file in its entry: the pages and messages of earlier imports stay in the library.
    pub(super) fn keep_items(&self, entry: &mut LedgerEntry) {
        if let Some(before) = self.previous.get(&entry.path) {
            entry.items.clone_from(&before.items);
            entry.source = entry.source.or(before.source);
        }
    }
}

/// The circumstances of a reading.
#[derive(Clone, Copy)]
struct Given {
    /// Time that the file was given, in seconds.
    seconds: u32,
    /// Whether it was the longest time.
    is_last: bool,
    /// Whether the file may have changed since its pages were read.
    is_changed: bool,
}

/// Adds the result of a reading to the pages that were read before.
fn add_pages(
    path: &Path,
    partial: PartialDocument,
    result: Result<ParsedFile, import::ImportError>,
    given: Given,
) -> Reading {
    let before = partial.read_pages;
    let unread = ParsedFile { is_cut: true, read_pages: before, ..ParsedFile::default() };
    let is_stuck = match &result {
        Ok(next) => next.is_cut && next.read_pages <= before,
        Err(error) => error.needs_time(),
    };
    let (mut passing, mut seconds) = (None, given.seconds);
    let result = match result {
        _ if is_stuck && given.is_last => {
            seconds = 0;
            partial.leave_out_page()
        }
        _ if is_stuck => partial.continue_with(unread),
        Ok(next) => partial.continue_with(next),
        Err(error) if error.is_lasting() && !given.is_changed => partial.end(error.to_string()),
        Err(error) => {
            passing = Some(file_problem(path, &error));
            seconds = 0;
            partial.continue_with(unread)
        }
    };
    Reading { passing, ..Reading::new(Ok(result), seconds) }
}

#[cfg(test)]
mod tests {
    use std::{io, path::PathBuf};

    use vademecum_import::ImportError;
    use vademecum_model::{Draft, DraftBody, MediaDraft};

    use super::*;

    #[test]
    fn only_lasting_errors_end_a_document() {
        let path = PathBuf::from("/a.pdf");
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let open = || ImportError::Open { path: path.clone(), cause: denied() };
        let failed = || ImportError::ReaderFailed { path: path.clone(), cause: denied() };
        let crashed = || ImportError::ReaderCrashed { path: path.clone() };
        for (error, is_changed, is_kept) in [
            (open(), false, true),
            (failed(), false, true),
            (crashed(), false, false),
            (crashed(), true, true),
            (ImportError::ReaderOutOfMemory { path: path.clone(), megabytes: 1 }, false, false),
            (ImportError::OutputTooLarge { path: path.clone(), megabytes: 1 }, false, false),
        ] {
            let body = DraftBody::Media(MediaDraft::default());
            let draft = Draft { origin: String::new(), digest: String::new(), id: None, body };
            let (digest, problems) = (String::new(), Vec::new());
            let partial = PartialDocument { digest, read_pages: 64, draft, problems };
            let shown = error.to_string();
            let given = Given { seconds: 240, is_last: true, is_changed };
            let reading = add_pages(&path, partial, Err(error), given);
            let result = reading.result.unwrap();
            let expected = (is_kept, if is_kept { 64 } else { 0 }, 1);
            assert_eq!(
                (result.is_cut, result.read_pages, result.drafts.len()),
                expected,
                "{shown}"
            );
            // An error that may pass is not stored with the document.
            assert_eq!((reading.passing.is_some(), result.problems.is_empty()), (is_kept, is_kept));
        }
    }
}
