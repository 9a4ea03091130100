//! `knowledge.related`: finds items similar to a given one.

use std::{collections::HashMap, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors as actors;
use vademecum_actors::{CallError, SearchMode, SourceSelection, VectorQuery};
use vademecum_core::config::RepeatedResults;
use vademecum_fts5::is_stop_word;
use vademecum_mcp::RequestContext;
use vademecum_model::{Hit, RetrievalMode, RetrievalOptions, SourceName, Uri};

use super::{
    Tool, ToolResult, ToolServices, documents,
    input::{KnowledgeFilters, Limit},
    item_lookup,
    output::SearchResponse,
    page_output::page_output,
    render::content_text,
};

/// Maximum number of words in the query for an item without vectors.
const MAX_QUERY_WORDS: usize = 24;
/// Minimum length of an ASCII query word, in characters.
const MIN_WORD_CHARS: usize = 4;

/// Finds items similar to a given one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeRelated {
    /// The item: its URI, or its title; with `#Heading`, a section of it.
    #[schemars(description = "")]
    uri: String,
    /// How many results.
    #[schemars(description = "", extend("default" = 10))]
    limit: Option<Limit>,
}

impl Tool for KnowledgeRelated {
    const NAME: &'static str = "knowledge.related";
    const TITLE: &'static str = "Find similar";
    const DESCRIPTION: &'static str = "Find items similar to one.";
    type Output = SearchResponse<Vec<Hit>>;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let uri = item_lookup::find_uri(services, call, &self.uri).await?;
        let limit = self.limit.map_or(10, |limit| limit.0);
        let whole =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        let item = services.read_uri(call, uri.clone(), whole).await?;
        let text = content_text(&item.content);
        let title = item.meta.title.unwrap_or_default();
        let mut selections = KnowledgeFilters::default().into_selections(&SourceName::ALL);
        let vector = if uri.source == SourceName::Collections {
            let (collection, vector) = documents::document_vector(services, call, &uri).await?;
            selections.push(SourceSelection::collection(collection));
            vector.filter(|_| services.embeddings.as_ref().is_some()).map(Into::into)
        } else if uri.part.is_none() {
            item_vector(services, call, &uri).await?
        } else {
            // The vectors are those of the whole item.
            None
        };
        let query = if vector.is_some() && !title.trim().is_empty() {
            title
        } else {
            let title = if uri.part.is_none() { title.as_str() } else { "" };
            salient_words(&format!("{title} {text}")).join(" ")
        };
        if query.is_empty() {
            let problem = format!("`{uri}` has no words to search for");
            return Err(CallError::Refused(problem));
        }
        let vectors = vector.map(|vector| VectorQuery {
            unrelated: None,
            vector: Some(vector),
            mode: SearchMode::Vector,
            lambda: None,
        });
        let search = actors::SearchRequest {
            query,
            selections,
            order: None,
            // The item itself is its own best match and is removed below.
            limit: limit.saturating_add(MAX_OWN_MATCHES),
            offset: 0,
            snippet_length: None,
            highlight: false,
            preferences: call.defaults.preferences,
            repeated: RepeatedResults::Show,
            vector_query: vectors,
            spelling: actors::Spelling::Off,
        };
        let mut page = services.search_session(call, None, search).await?;
        let before = page.hits.len();
        page.hits.retain(|hit| (hit.uri.source, &hit.uri.id) != (uri.source, &uri.id));
        page.total = page.total.saturating_sub(before - page.hits.len());
        page.hits.truncate(limit);
        page.next_offset = None;
        let title = format!("like {uri}");
        let mut replied = page_output(call, page, None);
        replied.output.has_more = replied.output.results.len() < replied.output.total_estimated;
        replied.with_text(services, call, &title).await
    }
}

/// Extra results requested because the item itself may match several times: with messages of a
/// conversation or chunks of a document.
const MAX_OWN_MATCHES: usize = 40;

/// Returns the mean vector of an item, if it has vectors.
async fn item_vector(
    services: &ToolServices,
    call: &RequestContext,
    uri: &Uri,
) -> Result<Option<Arc<[f32]>>, CallError> {
    let library = services.registry.library(&call.principal);
    let Some(indexer) = library.indexer().cloned() else { return Ok(None) };
    indexer.sync_and_wait().await;
    let (uri, deadline) = (uri.clone(), services.deadline(call));
    let vector =
        services.run_blocking(call, move || indexer.item_vector(&uri, &deadline)).await??;
    Ok(vector.map(Into::into))
}

/// Returns the most salient words of a text: the most frequent first, then the longest, which are
/// usually rarer. The ranking weighs their actual rarity.
fn salient_words(text: &str) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let word = word.to_lowercase();
        let long = word.chars().count() >= MIN_WORD_CHARS || !word.is_ascii();
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
    words.into_iter().take(MAX_QUERY_WORDS).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salient_words_are_sorted_by_frequency_and_length() {
        let words = salient_words("The amethyst and the geode: an Amethyst in the cave. Cave!");
        assert_eq!(words, ["amethyst", "cave", "geode"]);
        assert!(salient_words("the of an 1 2").is_empty());
    }
}
