//! Documents that were read up to a page by an earlier import, and are read on after it.

use vademecum_import::{self as import, Continuation, LedgerEntry, ParsedFile};

use super::{error::ImportError, pipeline::ImportJob};

/// The result of reading a file, with all pages that were read.
pub(super) struct Reading {
    pub(super) result: Result<ParsedFile, import::ImportError>,
    /// Time that the file was given, in seconds; 0 to begin again with the limit.
    pub(super) seconds: u32,
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
            return Ok(Reading { result, seconds });
        };
        let partial = self.ledger.partial_document(entry)?;
        // A reader that failed has not read the content.
        let is_same = |digest: &str| entry.digest.as_deref().is_none_or(|it| it == digest);
        let partial = partial.filter(|it| it.read_pages == before && is_same(&it.digest));
        let Some(partial) = partial else {
            let path = entry.path.display();
            let message = format!("{path} has changed while it was read; import it again");
            let result = Err(import::ImportError::Reported { message, needs_time: true });
            return Ok(Reading { result, seconds: 0 });
        };
        if let Some(known) = self.previous.get(&entry.path) {
            // A reader that failed has not recognised the format either.
            entry.source = known.source;
            entry.format.clone_from(&known.format);
        }
        entry.digest = Some(partial.digest.clone());
        let is_stuck = match &result {
            Ok(next) => next.is_cut && next.read_pages <= before,
            Err(error) => error.needs_time(),
        };
        let is_last_attempt = limits.longer_seconds(seconds).is_none();
        let (result, seconds) = match result {
            _ if is_stuck && is_last_attempt => (partial.leave_out_page(), 0),
            _ if is_stuck => {
                let next = ParsedFile { is_cut: true, read_pages: before, ..ParsedFile::default() };
                (partial.continue_with(next), seconds)
            }
            Ok(next) => (partial.continue_with(next), seconds),
            Err(error) => (partial.end(error.to_string()), seconds),
        };
        Ok(Reading { result: Ok(result), seconds })
    }
}
