//! Many prompts in one file: each gets a name and an origin of its own.

use std::collections::{HashMap, HashSet};

use vademecum_kit::model::{Body, Draft, PromptDraft};

use super::{Problem, Reading, SourceFile, digest::digest};

/// Goes up when the same entry makes another prompt than before.
const VERSION: &str = "prompts/1";

/// What a name may be called in a table or an object, the usual first.
pub(super) const NAME: [&str; 3] = ["act", "name", "title"];
/// What the user's text may be called.
pub(super) const USER_PROMPT: [&str; 2] = ["prompt", "user_prompt"];
/// What the system's text may be called.
pub(super) const SYSTEM_PROMPT: [&str; 1] = ["system_prompt"];
/// What the author may be called.
pub(super) const AUTHOR: [&str; 2] = ["contributor", "author"];
/// What the description may be called.
pub(super) const DETAILS: [&str; 2] = ["details", "description"];
/// What the keywords may be called.
pub(super) const KEYWORDS: [&str; 2] = ["tags", "keywords"];

/// The prompts of a file, as they are read.
#[derive(Debug)]
pub(super) struct PromptList<'a> {
    file: &'a SourceFile,
    names: Names,
    reading: Reading,
}

impl<'a> PromptList<'a> {
    pub(super) fn new(file: &'a SourceFile) -> Self {
        Self { file, names: Names::default(), reading: Reading::default() }
    }

    /// Adds what was read at `place`, or the reason why nothing was.
    pub(super) fn add(&mut self, place: &str, prompt: Result<PromptDraft, String>) {
        match prompt.and_then(checked) {
            Ok(prompt) => {
                let prompt = self.names.admit(prompt);
                self.reading.drafts.extend(prompt.map(|prompt| draft(self.file, prompt)));
            }
            Err(reason) => {
                self.reading.problems.push(Problem { place: place.to_owned(), reason });
            }
        }
    }

    /// All that was read.
    pub(super) fn finish(self) -> Reading {
        self.reading
    }
}

/// A prompt that has a name and a text, or what it lacks.
fn checked(prompt: PromptDraft) -> Result<PromptDraft, String> {
    if prompt.name.is_empty() {
        return Err("the prompt has no name".to_owned());
    }
    if prompt.system_prompt.is_none() && prompt.user_prompt.is_none() {
        return Err(format!("the prompt `{}` has no text", prompt.name));
    }
    Ok(prompt)
}

fn draft(file: &SourceFile, mut prompt: PromptDraft) -> Draft {
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
    Draft { origin, digest, id: None, body: Body::Prompt(prompt) }
}

/// Gives each prompt of a file a name of its own.
#[derive(Debug, Default)]
struct Names {
    texts: HashSet<(String, Option<String>, Option<String>)>,
    taken: HashSet<String>,
    counts: HashMap<String, usize>,
}

impl Names {
    /// Passes a prompt on, unless it was there before; another one under the
    /// same name becomes ` (2)`.
    fn admit(&mut self, mut prompt: PromptDraft) -> Option<PromptDraft> {
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
