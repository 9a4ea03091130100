//! `rag.search_fts`: full-text search over the chunks of collections.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors::collections::retrieve;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_search::FtsQuery;

use super::{
    filter::FilterInput,
    limits::{self, DEFAULT_K, with_collections},
    results::{RagSearchResponse, ResultPage, ReturnInput},
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Runs a full-text search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagSearchFts {
    /// Words or a question; any may match.
    query: String,
    /// Results: 1 to 50.
    #[schemars(extend("default" = 10))]
    k: Option<i64>,
    /// Results to skip.
    #[schemars(extend("default" = 0))]
    offset: Option<u32>,
    /// Document filters.
    #[serde(default)]
    filters: FilterInput,
    /// Fields to return.
    #[serde(default, rename = "return")]
    shown: ReturnInput,
}

impl Tool for RagSearchFts {
    const NAME: &'static str = "rag.search_fts";
    const TITLE: &'static str = "Search collections by words";
    const DESCRIPTION: &'static str =
        "Keyword search over collections. Read results with rag.get_chunks.";
    const TOOLSET: Toolset = Toolset::Rag;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::CodedJson;
    const HAS_LONG_RESULTS: bool = true;
    type Output = RagSearchResponse;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let begun = Instant::now();
        limits::check_query("query", &self.query)?;
        let k = limits::parse_k(self.k);
        let offset = usize::try_from(self.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        let filter = self.filters.into_filter()?;
        let query = Arc::new(FtsQuery::parse(&self.query));
        let what = self.shown;
        let response =
            with_collections(services, call, limits::FTS_TIMEOUT, move |opened, deadline| {
                let list = retrieve::search_full_text(
                    opened,
                    &query,
                    &filter,
                    offset.saturating_add(k),
                    deadline,
                );
                let shown =
                    ResultPage { fields: what, query: Some(query), is_hybrid: false, offset, k };
                shown.read_response(opened, &list, deadline)
            });
        let requested_k = self.k.unwrap_or_else(|| i64::try_from(DEFAULT_K).unwrap_or(0));
        Ok(response.await?.fail_if_all_failed()?.finish(call, requested_k, begun).into())
    }
}
