//! `search_knowledgebase`: documentation by project and version.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_collections::{Filter, Passage};
use vademecum_kit::{
    model::Deadline,
    retrieve::{FtsQuery, ReciprocalRank, vector::Metric},
    source::SourceError,
};

use super::{
    Contract, Replied, Toolbox,
    rag::{of_text, with_collections},
    text,
};
use crate::{
    actors::CallError,
    collections::{Opened, retrieve},
};
use vademecum_mcp::{Call, Toolset};

/// Results: as many, if nobody says, and at most.
const RESULTS: i64 = 5;
const MOST: i64 = 20;
/// Chunks that are looked at by words and by vectors.
const CANDIDATES: usize = 50;
/// The longest query, in bytes.
const QUERY_BYTES: usize = 8_192;
/// How long a search may take.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
const LINE: &str =
    "================================================================================";
const DASHES: &str =
    "--------------------------------------------------------------------------------";

/// Searches documentation.
#[derive(Debug)]
pub struct SearchKnowledgebase;

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchKnowledgebaseInput {
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

/// What was found, or what there is.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SearchKnowledgebaseOutput {
    /// What was found, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<KnowledgebaseChunk>>,
    /// What there is, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    products: Option<Vec<Product>>,
    /// Chunks of all products.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_chunks: Option<u64>,
}

/// What there is.
#[derive(Debug)]
struct Products {
    products: Vec<Product>,
    total_chunks: u64,
}

/// A product.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Product {
    name: String,
    versions: Vec<Version>,
}

/// A version of a product.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Version {
    version: String,
    chunks: u64,
}

/// A chunk of documentation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct KnowledgebaseChunk {
    /// What `rag.get_chunks` takes.
    chunk_id: String,
    project_name: String,
    project_version: String,
    title: Option<String>,
    section: Option<String>,
    /// How well it fits: 0 to 1, higher is better.
    similarity: f64,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl Contract for SearchKnowledgebase {
    const NAME: &'static str = "search_knowledgebase";
    const TITLE: &'static str = "Search documentation";
    const DESCRIPTION: &'static str =
        "Search documentation by product and version. list_products names them.";
    const TOOLSET: Toolset = Toolset::Knowledgebase;
    type Input = SearchKnowledgebaseInput;
    type Output = SearchKnowledgebaseOutput;

    async fn call(
        toolbox: &Toolbox,
        input: SearchKnowledgebaseInput,
        call: &Call,
    ) -> Result<Replied<SearchKnowledgebaseOutput>, CallError> {
        if input.list_products {
            let products = with_collections(toolbox, call, PATIENCE, list).await?;
            let text = toolbox.text(|| products.text());
            let Products { products, total_chunks } = products;
            let output = SearchKnowledgebaseOutput {
                products: Some(products),
                total_chunks: Some(total_chunks),
                ..SearchKnowledgebaseOutput::default()
            };
            return Ok(Replied { output, text, meta: None });
        }
        let query = input.query.as_deref().unwrap_or_default().trim().to_owned();
        if query.is_empty() {
            let problem = "query: is missing; say what to search for, or set list_products";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        if query.len() > QUERY_BYTES {
            let problem = format!("query: is longer than {QUERY_BYTES} bytes; shorten it");
            return Err(CallError::TooMuch(problem));
        }
        let some = |names: Option<Vec<String>>| names.filter(|names| !names.is_empty());
        let (names, versions) = (some(input.project_names), some(input.project_versions));
        let filter =
            Filter { project_names: names, project_versions: versions, ..Filter::default() };
        let top = input.top_n.unwrap_or(RESULTS).clamp(1, MOST);
        let top = usize::try_from(top).unwrap_or(1);
        // Without vectors, words must do.
        let vector = of_text(toolbox, &query, None).await.ok();
        let (asked, wanted) = (Arc::new(FtsQuery::parse(&query)), filter.clone());
        let found = with_collections(toolbox, call, PATIENCE, move |opened, deadline| {
            search(opened, &asked, vector, &wanted, top, deadline)
        });
        let results = found.await?;
        let text = toolbox.text(|| write_found(&query, &filter, &results));
        let output = SearchKnowledgebaseOutput {
            results: Some(results),
            ..SearchKnowledgebaseOutput::default()
        };
        Ok(Replied { output, text, meta: None })
    }
}

type Vector = (Arc<[f32]>, vademecum_collections::EmbeddingModel);

fn search(
    opened: &[Opened],
    query: &Arc<FtsQuery>,
    vector: Option<Vector>,
    filter: &Filter,
    top: usize,
    deadline: &Deadline,
) -> Result<Vec<KnowledgebaseChunk>, SourceError> {
    let mut list = retrieve::words(opened, query, filter, CANDIDATES, deadline);
    if let Some((vector, model)) = vector {
        let metric = Metric::Cosine;
        let near =
            retrieve::near(opened, &vector, Some(&model), filter, CANDIDATES, metric, deadline);
        if !near.found.is_empty() {
            list = retrieve::fuse(&list, &near, ReciprocalRank::default());
        }
    }
    // What belongs to no product is no documentation.
    let mut results = Vec::new();
    let passages = retrieve::read(opened, &list.found, deadline)?;
    for (found, passage) in list.found.iter().zip(passages) {
        let Some(passage) = passage else { continue };
        results.extend(KnowledgebaseChunk::of(passage, found.score));
        if results.len() == top {
            break;
        }
    }
    Ok(results)
}

impl KnowledgebaseChunk {
    fn of(passage: Passage, similarity: f64) -> Option<Self> {
        let chunk_id = passage.id().to_string();
        let document = passage.document;
        Some(Self {
            chunk_id,
            project_name: document.project_name?,
            project_version: document.project_version.unwrap_or_default(),
            title: document.title,
            section: passage.section,
            similarity,
            text: passage.body,
            url: document.url,
        })
    }
}

fn list(opened: &[Opened], deadline: &Deadline) -> Result<Products, SourceError> {
    let mut all: Vec<(String, String, u64)> = Vec::new();
    for one in opened {
        let scope = one.scope(&Filter::default());
        all.extend(
            one.collection
                .read(deadline.clone(), |reader| one.collection.projects(reader, &scope))?,
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
            // Two collections may hold parts of the same version.
            Some(last) if last.version == *version => last.chunks += chunks,
            Some(_) | None => {
                product.versions.push(Version { version: version.clone(), chunks: *chunks });
            }
        }
    }
    Ok(Products { products, total_chunks: all.iter().map(|(_, _, chunks)| chunks).sum() })
}

impl Products {
    fn text(&self) -> String {
        let line = LINE.get(..50).unwrap_or(LINE);
        let mut page = format!("Available Products in Knowledgebase\n{line}\n\n");
        for product in &self.products {
            text::push(&mut page, format_args!("Product: {}\n", product.name));
            for Version { version, chunks } in &product.versions {
                text::push(&mut page, format_args!("  - Version {version} ({chunks} chunks)\n"));
            }
            page.push('\n');
        }
        let total = self.total_chunks;
        text::push(&mut page, format_args!("{line}\nTotal: {total} chunks across all products"));
        page
    }
}

fn write_found(query: &str, filter: &Filter, results: &[KnowledgebaseChunk]) -> String {
    let mut page = format!("Knowledgebase Search Results: \"{query}\"\n");
    let filters: Vec<String> =
        [("Projects", &filter.project_names), ("Versions", &filter.project_versions)]
            .into_iter()
            .filter_map(|(name, list)| Some(format!("{name}: {}", list.as_ref()?.join(", "))))
            .collect();
    if !filters.is_empty() {
        text::push(&mut page, format_args!("Filter - {}\n", filters.join("; ")));
    }
    let count = results.len();
    text::push(&mut page, format_args!("{LINE}\n\nFound {count} relevant chunks:\n\n"));
    for (result, number) in results.iter().zip(1..) {
        text::push(&mut page, format_args!("Result {number}/{count}\n"));
        let project = format!("{} {}", result.project_name, result.project_version);
        text::push(&mut page, format_args!("Project: {}\n", project.trim_end()));
        for (name, value) in [("Title", &result.title), ("Section", &result.section)] {
            if let Some(value) = value {
                text::push(&mut page, format_args!("{name}: {value}\n"));
            }
        }
        text::push(&mut page, format_args!("Similarity: {:.3}\n\n", result.similarity));
        text::push(&mut page, format_args!("{}\n\n{DASHES}\n\n", result.text.trim()));
    }
    text::push(&mut page, format_args!("{LINE}\nTotal: {count} results"));
    page
}
