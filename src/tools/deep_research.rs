//! `search` and `fetch`, as deep-research clients know them: exactly one
//! argument each, and compact answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_kit::model::{Mode, RetrievalOptions, SourceName, Uri};

use super::{
    Contract, Replied, Toolbox,
    input::{KnowledgeFilters, point},
    output::{Compact, respond},
    text::plain,
};
use crate::actors::{self, CallError};
use vademecum_mcp::{Call, Toolset};

/// Results of one search.
const RESULTS: usize = 20;

/// `knowledge.search` under another name.
#[derive(Debug)]
pub struct Search;

/// What is searched for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
}

/// The results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchOutput {
    /// The results, best first.
    results: Vec<Compact>,
}

impl Contract for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search the library";
    const DESCRIPTION: &'static str = "Search the user's library. Read a result with fetch.";
    const TOOLSET: Toolset = Toolset::DeepResearch;
    type Input = SearchInput;
    type Output = SearchOutput;

    async fn call(
        toolbox: &Toolbox,
        input: SearchInput,
        call: &Call,
    ) -> Result<Replied<SearchOutput>, CallError> {
        let search = actors::Search {
            query: input.query,
            wanted: KnowledgeFilters::default().into_wanted(&SourceName::ALL),
            order: None,
            limit: RESULTS,
            offset: 0,
            snippet_length: None,
            highlight: false,
            preferences: call.defaults.preferences,
            fresh: true,
            vectors: None,
        };
        let page = toolbox.search(call, call.scope.as_ref(), search).await?;
        let replied = respond(page, None);
        let results = replied.output.results.into_iter().map(Compact::from).collect();
        // The contract wants the text to be the same JSON.
        Ok(Replied { output: SearchOutput { results }, text: None, meta: replied.meta })
    }
}

/// `knowledge.get` under another name.
#[derive(Debug)]
pub struct Fetch;

/// What is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchInput {
    /// The `id` of a result.
    id: String,
}

impl Contract for Fetch {
    const NAME: &'static str = "fetch";
    const TITLE: &'static str = "Fetch a document";
    const DESCRIPTION: &'static str = "Read a result of search in full.";
    const TOOLSET: Toolset = Toolset::DeepResearch;
    type Input = FetchInput;
    type Output = Compact;

    async fn call(
        toolbox: &Toolbox,
        input: FetchInput,
        call: &Call,
    ) -> Result<Replied<Compact>, CallError> {
        let uri: Uri =
            input.id.parse().map_err(|error| CallError::Invalid(format!("id: {error}")))?;
        let source = uri.source;
        let asked = uri.to_string();
        let (id, part) = point(uri);
        let options = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        let preferences = call.defaults.preferences;
        let read = actors::Read { source, id, part, options, page: None, preferences };
        let item = toolbox.read_item(call, call.scope.as_ref(), read).await?;
        let more = item.range.and_then(|range| range.next_offset);
        let mut document = Compact::new(item.meta, plain(&item.content));
        document.id = asked;
        if let Some(offset) = more {
            document.metadata.insert("truncated", "true".to_owned());
            document.metadata.insert("next_offset", offset.to_string());
        }
        Ok(document.into())
    }
}
