//! Drafts of sessions that are followed: without secrets, and with what the file had before.

use std::collections::HashSet;

use vademecum_import::{FileEntry, FollowMode, LedgerEntry, ParsedFile, Problem};
use vademecum_model::Draft;
use vademecum_sessions::Redactions;

use super::{
    pipeline::ImportJob,
    redaction::{SecretHandling, redact_sessions},
    selection::SelectedFile,
};

impl ImportJob<'_> {
    /// Removes secrets from the drafts of a file, and remembers where its lines end. Returns `None` if
    /// the whole file has to be read: a secret in the added lines may be in the earlier ones, too.
    pub(super) fn receive_drafts(
        &mut self,
        entry: &mut LedgerEntry,
        reading: &mut ParsedFile,
    ) -> Option<Vec<Draft>> {
        let mut drafts = std::mem::take(&mut reading.drafts);
        let tail = reading.tail.take();
        let is_continued = tail.is_some() && entry.digest.is_none();
        let known = self.tails.take_redactor(&entry.path).filter(|_| is_continued);
        let mut redactor = known.unwrap_or_default();
        if self.options.secrets == SecretHandling::Redact {
            let before = redactor.secret_count();
            let mut redacted = Redactions::default();
            redact_sessions(&mut redactor, &mut drafts, &mut redacted);
            if is_continued && redactor.secret_count() > before {
                self.read_whole(entry);
                return None;
            }
            self.summary.add_redactions(&redacted);
        }
        if is_continued && let Some(before) = self.previous.get(&entry.path) {
            entry.items.clone_from(&before.items);
            merge_problems(&before.problems, &mut entry.problems);
        }
        if let Some(tail) = tail {
            if is_continued {
                self.tails.mark_continued(&entry.path);
            }
            self.tails.keep(entry.path.clone(), tail, redactor);
        }
        Some(drafts)
    }

    /// Reads a file as a whole, later in this import.
    pub(super) fn read_whole(&mut self, entry: &LedgerEntry) {
        self.tails.forget(&entry.path);
        let file = FileEntry { path: entry.path.clone(), root: entry.root.clone() };
        let follow = FollowMode::Start;
        self.again.push(SelectedFile {
            entry: file,
            size: entry.stamp.size,
            continuation: None,
            follow,
        });
    }
}

/// Adds the problems of the lines before to those of the added lines, which replace them at the same places: a
/// file that grows for days does not collect them.
fn merge_problems(before: &[Problem], problems: &mut Vec<Problem>) {
    let known: HashSet<String> = problems.iter().map(|problem| problem.place.clone()).collect();
    let kept = before.iter().filter(|problem| !known.contains(&problem.place));
    problems.splice(..0, kept.cloned().collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_growing_file_do_not_accumulate() {
        let problem = |place: &str, reason: &str| Problem {
            place: place.to_owned(),
            reason: reason.to_owned(),
        };
        let mut known = Vec::new();
        for count in 1..100 {
            let reason = format!("{count} of its lines could not be read");
            let mut problems = vec![problem("", &reason)];
            merge_problems(&known, &mut problems);
            known = problems;
        }
        assert_eq!(known, [problem("", "99 of its lines could not be read")]);
        let mut problems = vec![problem("message 9", "too long")];
        merge_problems(&known, &mut problems);
        assert_eq!(problems.len(), 2);
    }
}
