//! The explanation of a file: its format and items, the parts that are left out, and the importers that
//! could read it too. Nothing is saved.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;
use vademecum_import::{
    Claim, Confidence, FileEntry, ImportAttempt, Importer, Problem, ReaderLimits, ReaderPool,
};
use vademecum_model::{DraftBody, SourceName};

use crate::text::{format_count, sanitize};

/// Maximum number of titles and problems that are shown.
const MAX_SHOWN: usize = 10;

/// The format, items and problems of a file.
#[derive(Debug, Serialize)]
pub struct FileExplanation {
    path: String,
    /// Format and source, if an importer reads the file.
    format: Option<String>,
    source: Option<SourceName>,
    /// Number of items by source.
    items: BTreeMap<SourceName, usize>,
    /// Titles of the first items.
    titles: Vec<String>,
    /// Parts that were left out, or the reason why nothing was read.
    problems: Vec<Problem>,
    /// Importers that could read the file, the best first.
    claims: Vec<Claim>,
}

/// Reads a file in a process of its own and explains the result. `source` is the type that the user
/// named, if any. Blocks until the file is read.
pub fn explain_file(
    path: &Path,
    source: Option<SourceName>,
    limits: ReaderLimits,
    owner: &str,
) -> FileExplanation {
    let file = FileEntry { path: path.to_owned(), root: None };
    FileExplanation::new(ReaderPool::new(limits, owner).read(source, file, None))
}

impl FileExplanation {
    fn new(attempt: ImportAttempt) -> Self {
        let importer = attempt.importer;
        let mut explanation = Self {
            path: attempt.file.path.display().to_string(),
            format: importer.map(|it| it.format_name().to_owned()),
            source: importer.map(Importer::source),
            items: BTreeMap::new(),
            titles: Vec::new(),
            problems: Vec::new(),
            claims: attempt.claims,
        };
        match attempt.result {
            Ok(parsed) => {
                for draft in &parsed.drafts {
                    *explanation.items.entry(draft.body.source()).or_default() += 1;
                }
                let titles = parsed.drafts.iter().filter_map(|draft| title(&draft.body));
                explanation.titles = titles.take(MAX_SHOWN).map(str::to_owned).collect();
                explanation.problems = parsed.problems;
            }
            Err(error) => {
                let problem = Problem { place: String::new(), reason: error.to_string() };
                explanation.problems.push(problem);
            }
        }
        explanation
    }

    /// Returns `true` if the file has items.
    pub fn has_items(&self) -> bool {
        !self.items.is_empty()
    }

    /// Returns the explanation as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.path.clone()];
        match (&self.format, self.source) {
            (Some(format), Some(source)) => {
                let is_read = |claim: &&Claim| claim.format == *format && claim.source == source;
                let reason = self.claims.iter().find(is_read).map(|it| describe(it.confidence));
                let reason = reason.unwrap_or("by its content");
                lines.push(format!("  read as {format}, into {source}: recognised {reason}"));
            }
            _ => lines.push("  no importer reads it".to_owned()),
        }
        for (source, count) in &self.items {
            lines.push(format!("  {} in {source}", format_count(*count, "item")));
        }
        lines.extend(self.titles.iter().map(|title| format!("    {title}")));
        let what = if self.has_items() { "left out" } else { "reason" };
        let problems = self.problems.iter().take(MAX_SHOWN);
        lines.extend(problems.map(|problem| format!("  {what}: {problem}")));
        if self.problems.len() > MAX_SHOWN {
            lines.push(format!("  {what}: {} more", self.problems.len() - MAX_SHOWN));
        }
        for Claim { source, format, confidence } in &self.claims {
            if self.format.as_ref() != Some(format) || self.source != Some(*source) {
                let how = describe(*confidence);
                lines.push(format!(
                    "  `vademecum import {source}` could read it as {format}: {how}"
                ));
            }
        }
        lines.iter().map(|line| sanitize(line)).collect()
    }
}

fn describe(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::ByContent => "by its content",
        Confidence::ByName => "by its name",
        Confidence::Possible | Confidence::NoMatch => "only if the type is named",
    }
}

fn title(body: &DraftBody) -> Option<&str> {
    match body {
        DraftBody::Note(note) => Some(&note.title),
        DraftBody::Media(document) => Some(&document.title),
        DraftBody::Chat(chat) => chat.title.as_deref(),
        DraftBody::Character(card) => Some(&card.name),
        DraftBody::Prompt(prompt) => Some(&prompt.name),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn explain(name: &str, text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        explain_file(&path, None, ReaderLimits::default(), "ada").lines()
    }

    #[test]
    fn explanation_names_format_items_and_other_claims() {
        let text = "05/01/26, 10:00 - Ada: Rye?\n20/01/26, 10:01 - Ben: Yes.\n";
        let lines = explain("WhatsApp Chat with Ben.txt", text);
        let all = lines.join("\n");
        assert_eq!(
            lines[1],
            "  read as chats of WhatsApp (.txt, .zip), into chats: recognised by its content"
        );
        assert_eq!(lines[2..4], ["  1 item in chats", "    Ben"]);
        assert!(all.contains("`vademecum import notes` could read it as Markdown"), "{all}");
    }

    #[test]
    fn explanation_of_unread_file_has_reason() {
        let all = explain("a.xyz", "x").join("\n");
        assert!(all.contains("no importer reads it\n  reason: "), "{all}");
        let all = explain("a.json", r#"{"zeta": 1, "messages": []}"#).join("\n");
        assert!(all.contains("with the fields `messages`, `zeta`"), "{all}");
    }
}
