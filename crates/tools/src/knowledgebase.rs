//! `search_knowledgebase`: searches documentation by product and version.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::{
    CallError,
    collections::{
        VisibleCollection,
        retrieve::{self, VectorSearch},
    },
};
use vademecum_collections::{DocumentFilter, Passage};
use vademecum_embed::UnrelatedSimilarity;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::{ContentOrigin, Deadline};
use vademecum_search::{FtsQuery, ReciprocalRank, vector::DistanceMetric};
use vademecum_source::SourceError;

use super::{
    Tool, ToolOutput, ToolResult, ToolServices,
    rag::{embed_query, with_collections},
    similarity_floor_meta,
};
use crate::display::push_display;

/// Number of results: default and maximum.
const DEFAULT_RESULTS: i64 = 5;
const MAX_RESULTS: i64 = 20;
/// Number of candidates from full text and from vectors each.
const MAX_CANDIDATES: usize = 50;
/// Maximum length of a query, in bytes.
const MAX_QUERY_BYTES: usize = 8_192;
/// Maximum time for the sources to answer a search.
const SEARCH_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);
const DOUBLE_RULE: &str =
    "================================================================================";
const SINGLE_RULE: &str =
    "--------------------------------------------------------------------------------";

/// Searches documentation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchKnowledgebase {
    /// A question; not needed with `list_products`.
    query: Option<String>,
    /// Products, named exactly as `list_products` does.
    project_names: Option<Vec<String>>,
    /// Versions, named exactly so.
    project_versions: Option<Vec<String>>,
    /// Results: 1 to 20.
    #[schemars(extend("default" = 5))]
    top_n: Option<i64>,
    /// Only list products and versions.
    #[serde(default)]
    list_products: bool,
}

/// Result of `search_knowledgebase`: chunks, or the list of products.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SearchKnowledgebaseOutput {
    /// Chunks, best first.
    results: Option<Vec<KnowledgebaseChunk>>,
    /// Whether more chunks match; a larger `top_n` shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    has_more: Option<bool>,
    /// Products, by name.
    products: Option<Vec<Product>>,
    /// Number of chunks of all products.
    total_chunks: Option<u64>,
}

/// Products and versions of all visible collections.
#[derive(Debug)]
struct ProductList {
    products: Vec<Product>,
    total_chunks: u64,
}

/// A product and its versions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Product {
    name: String,
    versions: Vec<ProductVersion>,
}

/// A version and its number of chunks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ProductVersion {
    version: String,
    chunks: u64,
}

/// A chunk of documentation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct KnowledgebaseChunk {
    /// Argument of `rag.get_chunks`.
    chunk_id: String,
    /// Where the content comes from.
    origin: ContentOrigin,
    project_name: String,
    project_version: String,
    title: Option<String>,
    section: Option<String>,
    /// Fused score from 0 to 1; higher is better.
    similarity: f64,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl Tool for SearchKnowledgebase {
    const NAME: &'static str = "search_knowledgebase";
    const TITLE: &'static str = "Search documentation";
    const DESCRIPTION: &'static str =
        "Search documentation by product and version. list_products names them.";
    const TOOLSET: Toolset = Toolset::Knowledgebase;
    const HAS_LONG_RESULTS: bool = true;
    type Output = SearchKnowledgebaseOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        if self.list_products {
            let products = with_collections(services, call, SEARCH_TIMEOUT, list_products).await?;
            let text = services.text(|| products.render());
            let ProductList { products, total_chunks } = products;
            let output = SearchKnowledgebaseOutput {
                products: Some(products),
                total_chunks: Some(total_chunks),
                ..SearchKnowledgebaseOutput::default()
            };
            return Ok(ToolOutput { output, text, meta: None });
        }
        let query = self.query.as_deref().unwrap_or_default().trim().to_owned();
        if query.is_empty() {
            let problem = "query: is missing; pass a query, or set list_products";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        if query.len() > MAX_QUERY_BYTES {
            let problem = format!("query: is longer than {MAX_QUERY_BYTES} bytes; shorten it");
            return Err(CallError::LimitExceeded(problem));
        }
        let some = |names: Option<Vec<String>>| names.filter(|names| !names.is_empty());
        let (names, versions) = (some(self.project_names), some(self.project_versions));
        let filter = DocumentFilter {
            project_names: names,
            project_versions: versions,
            ..DocumentFilter::default()
        };
        let top = self.top_n.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let top = usize::try_from(top).unwrap_or(1);
        // Without an embedding provider the search uses full text only.
        let vector = embed_query(services, &query, None).await.ok();
        let unrelated = match &vector {
            Some(_) => services.unrelated_similarity().await,
            None => None,
        };
        let (fts_query, document_filter) = (Arc::new(FtsQuery::parse(&query)), filter.clone());
        let found = with_collections(services, call, SEARCH_TIMEOUT, move |opened, deadline| {
            search_collections(
                opened,
                &fts_query,
                (vector, unrelated),
                &document_filter,
                top,
                deadline,
            )
        });
        let (mut results, floor) = found.await?;
        let has_more = results.len() > top;
        results.truncate(top);
        let chunks = results.iter().map(|chunk| &chunk.chunk_id);
        call.items.record_all_of(ContentOrigin::SharedCollection, chunks);
        let text = services.text(|| render_results(&query, &filter, &results, has_more));
        let output = SearchKnowledgebaseOutput {
            results: Some(results),
            has_more: Some(has_more),
            ..SearchKnowledgebaseOutput::default()
        };
        Ok(ToolOutput { output, text, meta: similarity_floor_meta(floor) })
    }
}

type QueryVector = (Arc<[f32]>, vademecum_collections::EmbeddingModel);

/// Returns the best `top` chunks, and one more if there is one, and the floor of the vector search.
fn search_collections(
    opened: &[VisibleCollection],
    query: &Arc<FtsQuery>,
    (vector, unrelated): (Option<QueryVector>, Option<UnrelatedSimilarity>),
    filter: &DocumentFilter,
    top: usize,
    deadline: &Deadline,
) -> Result<(Vec<KnowledgebaseChunk>, Option<f64>), SourceError> {
    let mut floor = None;
    let mut list = retrieve::search_full_text(opened, query, filter, MAX_CANDIDATES, deadline);
    if let Some((vector, model)) = vector {
        let search = VectorSearch {
            vector: &vector,
            model: Some(&model),
            unrelated,
            filter,
            take: MAX_CANDIDATES,
            metric: DistanceMetric::Cosine,
        };
        let near = retrieve::search_vectors(opened, search, deadline);
        floor = near.similarity_floor;
        if !near.hits.is_empty() {
            list = retrieve::fuse_rankings(&list, &near, ReciprocalRank::default());
        }
    }
    // Chunks without a product are not documentation and are skipped.
    let mut results = Vec::new();
    let passages = retrieve::load_passages(opened, &list.hits, deadline)?;
    for (found, passage) in list.hits.iter().zip(passages) {
        let Some(passage) = passage else { continue };
        let url = opened.get(found.collection_index).and_then(|one| one.passage_url(&passage));
        results.extend(KnowledgebaseChunk::from_passage(passage, url, found.score));
        if results.len() > top {
            break;
        }
    }
    Ok((results, floor))
}

impl KnowledgebaseChunk {
    fn from_passage(passage: Passage, url: Option<String>, similarity: f64) -> Option<Self> {
        let chunk_id = passage.id().to_string();
        let document = passage.document;
        Some(Self {
            chunk_id,
            origin: ContentOrigin::SharedCollection,
            project_name: document.project_name?,
            project_version: document.project_version.unwrap_or_default(),
            title: document.title,
            section: passage.section,
            similarity,
            text: passage.body,
            url,
        })
    }
}

fn list_products(
    opened: &[VisibleCollection],
    deadline: &Deadline,
) -> Result<ProductList, SourceError> {
    let mut all: Vec<(String, String, u64)> = Vec::new();
    for one in opened {
        let scope = one.scope(&DocumentFilter::default());
        all.extend(
            one.collection
                .read(deadline.clone(), |reader| one.collection.list_projects(reader, &scope))?,
        );
    }
    all.sort();
    let mut products: Vec<Product> = Vec::new();
    for (name, version, chunks) in &all {
        if products.last().is_none_or(|product| product.name != *name) {
            products.push(Product { name: name.clone(), versions: Vec::new() });
        }
        let Some(product) = products.last_mut() else { continue };
        match product.versions.last_mut() {
            // Several collections may hold chunks of the same version.
            Some(last) if last.version == *version => last.chunks += chunks,
            Some(_) | None => {
                product.versions.push(ProductVersion { version: version.clone(), chunks: *chunks });
            }
        }
    }
    Ok(ProductList { products, total_chunks: all.iter().map(|(_, _, chunks)| chunks).sum() })
}

impl ProductList {
    fn render(&self) -> String {
        let line = DOUBLE_RULE.get(..50).unwrap_or(DOUBLE_RULE);
        let mut page = format!("Available Products in Knowledgebase\n{line}\n\n");
        for product in &self.products {
            push_display(&mut page, format_args!("Product: {}\n", product.name));
            for ProductVersion { version, chunks } in &product.versions {
                push_display(&mut page, format_args!("  - Version {version} ({chunks} chunks)\n"));
            }
            page.push('\n');
        }
        let total = self.total_chunks;
        push_display(&mut page, format_args!("{line}\nTotal: {total} chunks across all products"));
        page
    }
}

fn render_results(
    query: &str,
    filter: &DocumentFilter,
    results: &[KnowledgebaseChunk],
    has_more: bool,
) -> String {
    let mut page = format!("Knowledgebase Search Results: \"{query}\"\n");
    let filters: Vec<String> =
        [("Projects", &filter.project_names), ("Versions", &filter.project_versions)]
            .into_iter()
            .filter_map(|(name, list)| Some(format!("{name}: {}", list.as_ref()?.join(", "))))
            .collect();
    if !filters.is_empty() {
        push_display(&mut page, format_args!("Filter - {}\n", filters.join("; ")));
    }
    let count = results.len();
    push_display(&mut page, format_args!("{DOUBLE_RULE}\n\nFound {count} relevant chunks:\n\n"));
    for (result, number) in results.iter().zip(1..) {
        push_display(&mut page, format_args!("Result {number}/{count}\n"));
        let project = format!("{} {}", result.project_name, result.project_version);
        push_display(&mut page, format_args!("Project: {}\n", project.trim_end()));
        for (name, value) in [("Title", &result.title), ("Section", &result.section)] {
            if let Some(value) = value {
                push_display(&mut page, format_args!("{name}: {value}\n"));
            }
        }
        push_display(&mut page, format_args!("Similarity: {:.3}\n\n", result.similarity));
        push_display(&mut page, format_args!("{}\n\n{SINGLE_RULE}\n\n", result.text.trim()));
    }
    push_display(&mut page, format_args!("{DOUBLE_RULE}\nTotal: {count} results"));
    if has_more {
        let more = format_args!("; more match: raise top_n (at most {MAX_RESULTS})");
        push_display(&mut page, more);
    }
    page
}
