//! Collection of the prompts of one file, with a unique name and origin for each.

use std::collections::{HashMap, HashSet};

use vademecum_model::{Draft, DraftBody, PromptDraft};

use crate::{ParsedFile, Problem, SourceFile, digest};

/// Version of the importers; increment when the same entry produces a different prompt.
const VERSION: &str = "prompts/1";

/// Accepted column or field names of the prompt's name, in order of precedence.
pub(super) const NAME_KEYS: [&str; 3] = ["act", "name", "title"];
/// Accepted names of the user prompt.
pub(super) const USER_PROMPT_KEYS: [&str; 2] = ["prompt", "user_prompt"];
/// Accepted names of the system prompt.
pub(super) const SYSTEM_PROMPT_KEYS: [&str; 1] = ["system_prompt"];
/// Accepted names of the author.
pub(super) const AUTHOR_KEYS: [&str; 2] = ["contributor", "author"];
/// Accepted names of the description.
pub(super) const DETAILS_KEYS: [&str; 2] = ["details", "description"];
/// Accepted names of the keywords.
pub(super) const KEYWORDS_KEYS: [&str; 2] = ["tags", "keywords"];

/// Collects the prompts of one file.
#[derive(Debug)]
pub(super) struct PromptCollector<'a> {
    file: &'a SourceFile,
    names: UniqueNames,
    reading: ParsedFile,
}

impl<'a> PromptCollector<'a> {
    pub(crate) fn new(file: &'a SourceFile) -> Self {
        Self { file, names: UniqueNames::default(), reading: ParsedFile::default() }
    }

    /// Adds a prompt, or a problem at `place` if it could not be parsed or lacks a name or a text.
    pub(crate) fn add_prompt(&mut self, place: &str, prompt: Result<PromptDraft, String>) {
        match prompt.and_then(validate_prompt) {
            Ok(prompt) => {
                let prompt = self.names.assign_name(prompt);
                self.reading.drafts.extend(prompt.map(|prompt| to_draft(self.file, prompt)));
            }
            Err(reason) => {
                self.reading.problems.push(Problem { place: place.to_owned(), reason });
            }
        }
    }

    /// Returns all drafts and problems.
    pub(crate) fn finish(self) -> ParsedFile {
        self.reading
    }
}

/// Returns the prompt if it has a name and a text, otherwise what is missing.
fn validate_prompt(prompt: PromptDraft) -> Result<PromptDraft, String> {
    if prompt.name.is_empty() {
        return Err("the prompt has no name".to_owned());
    }
    if prompt.system_prompt.is_none() && prompt.user_prompt.is_none() {
        return Err(format!("the prompt `{}` has no text", prompt.name));
    }
    Ok(prompt)
}

fn to_draft(file: &SourceFile, mut prompt: PromptDraft) -> Draft {
    let texts = [&prompt.author, &prompt.details, &prompt.system_prompt, &prompt.user_prompt];
    let texts = texts.map(|text| text.as_deref().unwrap_or_default());
    let parts = [prompt.name.as_str()]
        .into_iter()
        .chain(texts)
        .chain(prompt.keywords.iter().map(String::as_str))
        .map(str::as_bytes);
    let digest = digest(VERSION, parts);
    prompt.modified_at = prompt.modified_at.or(file.modified);
    let origin = format!("{}#{}", file.origin(), prompt.name);
    Draft { origin, digest, id: None, body: DraftBody::Prompt(prompt) }
}

/// Assigns a unique name to each prompt of a file.
#[derive(Debug, Default)]
struct UniqueNames {
    texts: HashSet<(String, Option<String>, Option<String>)>,
    taken: HashSet<String>,
    counts: HashMap<String, usize>,
}

impl UniqueNames {
    /// Returns the prompt, or `None` if it repeats an earlier one. A different prompt with a used
    /// name gets a suffix such as ` (2)`.
    fn assign_name(&mut self, mut prompt: PromptDraft) -> Option<PromptDraft> {
        let PromptDraft { name, system_prompt, user_prompt, .. } = &prompt;
        if !self.texts.insert((name.clone(), system_prompt.clone(), user_prompt.clone())) {
            return None;
        }
        let name = name.clone();
        let count = self.counts.entry(name.clone()).or_insert(0);
        loop {
            *count += 1;
            prompt.name = if *count == 1 { name.clone() } else { format!("{name} ({count})") };
            if self.taken.insert(prompt.name.clone()) {
                return Some(prompt);
            }
        }
    }
}
