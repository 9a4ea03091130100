//! `rag.search_fts`: chunks by their words.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::retrieve::FtsQuery;

use super::{
    filter::FilterInput,
    limits::{self, K, with_collections},
    results::{Response, ReturnInput, Shown},
};
use crate::{
    actors::CallError,
    collections::retrieve,
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};

/// Searches by words.
#[derive(Debug)]
pub struct RagSearchFts;

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagSearchFtsInput {
    /// Words or a question; any may match.
    query: String,
    /// Results: 1 to 50.
    #[schemars(extend("default" = 10))]
    k: Option<i64>,
    /// Results to pass over.
    #[schemars(extend("default" = 0))]
    offset: Option<u32>,
    /// Which documents count.
    #[serde(default)]
    filters: FilterInput,
    /// What results show.
    #[serde(default, rename = "return")]
    shown: ReturnInput,
}

impl Contract for RagSearchFts {
    const NAME: &'static str = "rag.search_fts";
    const TITLE: &'static str = "Search collections by words";
    const DESCRIPTION: &'static str =
        "Keyword search over collections. Read results with rag.get_chunks.";
    const TOOLSET: Toolset = Toolset::Rag;
    const FORM: Form = Form::Coded;
    type Input = RagSearchFtsInput;
    type Output = Response;

    async fn call(
        toolbox: &Toolbox,
        input: RagSearchFtsInput,
        call: &Call,
    ) -> Result<Replied<Response>, CallError> {
        let begun = Instant::now();
        limits::query("query", &input.query)?;
        let k = limits::wanted(input.k)?;
        let offset = usize::try_from(input.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        let filter = input.filters.read()?;
        let query = Arc::new(FtsQuery::parse(&input.query));
        let what = input.shown;
        let response =
            with_collections(toolbox, call, limits::SEARCH_FTS, move |opened, deadline| {
                let list =
                    retrieve::words(opened, &query, &filter, offset.saturating_add(k), deadline);
                let shown = Shown { what, query: Some(query), is_hybrid: false, offset, k };
                shown.read(opened, &list, deadline)
            });
        let asked = input.k.unwrap_or_else(|| i64::try_from(K).unwrap_or(0));
        Ok(response.await?.or_failure()?.timed(asked, begun).into())
    }
}
