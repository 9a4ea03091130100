//! `knowledge.related`: what is like an item.

use std::{collections::HashMap, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::{
    model::{Hit, Mode, RetrievalOptions, SourceName, Uri},
    retrieve::is_stop_word,
};

use super::{
    Contract, Replied, Toolbox, documents,
    input::{KnowledgeFilters, Limit, point},
    output::{SearchResponse, respond},
    text::plain,
};
use crate::actors::{self, CallError, Vectors, Wanted, Way};
use vademecum_mcp::Call;

/// Words that stand for an item which has no vectors.
const WORDS: usize = 24;
/// The shortest word that stands for anything, in characters.
const SHORTEST: usize = 4;

/// Finds what is like an item.
#[derive(Debug)]
pub struct KnowledgeRelated;

/// Like what, and how much.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelatedInput {
    /// The item.
    uri: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
    limit: Option<Limit>,
}

impl Contract for KnowledgeRelated {
    const NAME: &'static str = "knowledge.related";
    const TITLE: &'static str = "Find similar items";
    const DESCRIPTION: &'static str = "Find items like one that was found.";
    type Input = RelatedInput;
    type Output = SearchResponse<Vec<Hit>>;

    async fn call(
        toolbox: &Toolbox,
        input: RelatedInput,
        call: &Call,
    ) -> Result<Replied<Self::Output>, CallError> {
        let uri: Uri =
            input.uri.parse().map_err(|error| CallError::Invalid(format!("uri: {error}")))?;
        let limit = input.limit.map_or(10, |limit| limit.0);
        let item = read(toolbox, call, uri.clone()).await?;
        let text = plain(&item.content);
        let title = item.meta.title.unwrap_or_default();
        let mut wanted = KnowledgeFilters::default().into_wanted(&SourceName::ALL);
        let vector = if uri.source == SourceName::Collections {
            let (collection, vector) = documents::vector(toolbox, call, &uri).await?;
            wanted.push(Wanted::collection(collection));
            vector.filter(|_| toolbox.embeddings().is_some()).map(Into::into)
        } else {
            vector(toolbox, call, &uri).await?
        };
        let query = if vector.is_some() && !title.trim().is_empty() {
            title
        } else {
            telling_words(&format!("{title} {text}")).join(" ")
        };
        if query.is_empty() {
            let problem = format!("`{uri}` has no words that anything could share");
            return Err(CallError::Refused(problem));
        }
        let vectors =
            vector.map(|vector| Vectors { vector: Some(vector), way: Way::Alone, lambda: None });
        let search = actors::Search {
            query,
            wanted,
            order: None,
            // It is like itself most of all.
            limit: limit.saturating_add(ITSELF),
            offset: 0,
            snippet_length: None,
            highlight: false,
            preferences: call.defaults.preferences,
            fresh: false,
            vectors,
        };
        let mut page = toolbox.search(call, None, search).await?;
        let before = page.hits.len();
        page.hits.retain(|hit| (hit.uri.source, &hit.uri.id) != (uri.source, &uri.id));
        page.total = page.total.saturating_sub(before - page.hits.len());
        page.hits.truncate(limit);
        page.next_offset = None;
        let title = format!("like {uri}");
        respond(page, None).in_words(toolbox, call, &title).await
    }
}

/// Results that may be the item itself: of a conversation, several messages; of a
/// document, several chunks.
const ITSELF: usize = 40;

async fn read(
    toolbox: &Toolbox,
    call: &Call,
    uri: Uri,
) -> Result<vademecum_kit::model::Item, CallError> {
    let source = uri.source;
    let (id, part) = point(uri);
    let options = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
    let preferences = call.defaults.preferences;
    let read = actors::Read { source, id, part, options, page: None, preferences };
    toolbox.read_item(call, None, read).await
}

/// The mean vector of an item, if it has one.
async fn vector(
    toolbox: &Toolbox,
    call: &Call,
    uri: &Uri,
) -> Result<Option<Arc<[f32]>>, CallError> {
    let library = toolbox.roster().library(&call.principal);
    let Some(indexer) = library.indexer().cloned() else { return Ok(None) };
    indexer.catch_up().await;
    let (uri, deadline) = (uri.clone(), toolbox.deadline(call));
    let vector = toolbox.beside(call, move || indexer.vector_of(&uri, &deadline)).await??;
    Ok(vector.map(Into::into))
}

/// The words that say most about a text: those that it says most often, and of
/// these the longest, which are the rarest elsewhere as a rule. How rare they
/// are indeed is decided by the ranking.
fn telling_words(text: &str) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let word = word.to_lowercase();
        let long = word.chars().count() >= SHORTEST || !word.is_ascii();
        if long && !word.is_empty() && !is_stop_word(&word) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|(one, count), (other, other_count)| {
        other_count
            .cmp(count)
            .then_with(|| other.len().cmp(&one.len()))
            .then_with(|| one.cmp(other))
    });
    words.into_iter().take(WORDS).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_tell_most_come_first() {
        let words = telling_words("The amethyst and the geode: an Amethyst in the cave. Cave!");
        assert_eq!(words, ["amethyst", "cave", "geode"]);
        assert!(telling_words("the of an 1 2").is_empty());
    }
}
