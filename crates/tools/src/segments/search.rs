//! `rag_search`: returns the segments that best match any of several phrases.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::{join, join_all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors as actors;
use vademecum_actors::{
    CallError,
    collections::{
        VisibleCollection,
        retrieve::{self, ChunkHit, HitList, VectorSearch},
    },
};
use vademecum_collections::{DocumentFilter, EmbeddingModel, Passage};
use vademecum_core::config::RepeatedResults;
use vademecum_embed::UnrelatedSimilarity;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::{ContentOrigin, Deadline, Hit, RetrievalMode, RetrievalOptions, SourceName};
use vademecum_search::{
    FtsQuery, extract_headline, extract_summary, reciprocal_rank, vector::DistanceMetric,
};

use super::segment_location::SegmentLocation;
use crate::{
    ErrorFormat, Tool, ToolOutput, ToolResult, ToolServices,
    input::KnowledgeFilters,
    render::{content_text, origin_mark},
    similarity_floor_meta,
};

/// Maximum number of phrases in a search.
const MAX_PHRASES: usize = 5;
/// Maximum length of a phrase, in bytes.
const MAX_PHRASE_BYTES: usize = 8_192;
/// Maximum number of candidates from each ranking.
const MAX_CANDIDATES: usize = 40;
/// Maximum size of a segment of the library, in tokens.
const MAX_SEGMENT_TOKENS: usize = 1_000;

/// Searches the collections and the library that the user may see.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RagSearch {
    /// 1-5 search phrases for semantic retrieval
    #[schemars(length(min = 1, max = 5))]
    search_phrases: Vec<String>,
}

/// Result of `rag_search`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagSearchOutput {
    /// Always `success`; a failure is a JSON-RPC error.
    status: &'static str,
    /// Segments, best first, one of each document.
    segments: Vec<Segment>,
}

/// A segment of a document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the contract names them so")]
pub(super) struct Segment {
    /// Argument of `verify_document_access`.
    segment_uid: String,
    /// Name of the document.
    source_file_name: String,
    /// File type of the document.
    source_file_type: String,
    /// Headline of at most ten words.
    headline: String,
    /// Summary of one to three sentences.
    segment_summary: String,
    /// Text of the segment.
    raw_text: String,
    /// URL where a reader can open the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_url: Option<String>,
}

impl Tool for RagSearch {
    const NAME: &'static str = "rag_search";
    const TITLE: &'static str = "Search for segments";
    const DESCRIPTION: &'static str =
        "Searches the knowledge base for relevant information using semantic search";
    const TOOLSET: Toolset = Toolset::RagSearch;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::JsonRpcError;
    const HAS_LONG_RESULTS: bool = true;
    type Output = RagSearchOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let phrases = self.search_phrases;
        check_phrases(&phrases)?;
        let opened = visible_collections(services, call).await?;
        let ((lists, unembedded), library) = join(
            search_collections(services, call, &opened, &phrases),
            join_all(phrases.iter().map(|phrase| search_library(services, call, phrase))),
        )
        .await;
        let mut candidates = FusedCandidates::default();
        for list in &lists {
            candidates
                .add_ranking(list.hits.iter().map(|found| SegmentCandidate::Chunk(found.clone())));
        }
        let mut problem = unembedded;
        for answer in library {
            match answer {
                Ok(hits) => {
                    candidates.add_ranking(
                        hits.into_iter().map(|hit| SegmentCandidate::Item(Box::new(hit))),
                    );
                }
                Err(error) => problem = Some(error),
            }
        }
        if let (true, Some(problem)) = (candidates.by_key.is_empty(), problem) {
            return Err(problem);
        }
        let segments = read_segments(services, call, &opened, candidates.into_sorted()).await?;
        let floor = lists.iter().find_map(|list| list.similarity_floor);
        let output = RagSearchOutput { status: "success", segments };
        // The clients of this contract parse the JSON in the text.
        Ok(ToolOutput { output, text: None, meta: similarity_floor_meta(floor) })
    }
}

fn check_phrases(phrases: &[String]) -> Result<(), CallError> {
    if phrases.is_empty() || phrases.len() > MAX_PHRASES {
        let found = phrases.len();
        let problem = format!("search_phrases: expected 1 to {MAX_PHRASES} phrases, got {found}");
        return Err(CallError::Invalid(problem));
    }
    for (index, phrase) in phrases.iter().enumerate() {
        if phrase.trim().is_empty() {
            return Err(CallError::Invalid(format!("search_phrases[{index}]: is blank")));
        }
        if phrase.len() > MAX_PHRASE_BYTES {
            let problem = format!(
                "search_phrases[{index}]: is longer than {MAX_PHRASE_BYTES} bytes; shorten it"
            );
            return Err(CallError::LimitExceeded(problem));
        }
    }
    Ok(())
}

/// Returns the collections visible to the caller.
pub(crate) async fn visible_collections(
    services: &ToolServices,
    call: &RequestContext,
) -> Result<Arc<[VisibleCollection]>, CallError> {
    let (catalogue, principal) = (Arc::clone(&services.collections), call.principal.clone());
    let cancel = call.cancel.clone();
    let listed = move || catalogue.list_visible(&principal, &cancel);
    let opened = tokio::task::spawn_blocking(listed).await;
    match opened {
        Ok(Ok(opened)) => Ok(opened.into()),
        Ok(Err(error)) => {
            tracing::error!(%error, "the catalogue of collections cannot be read");
            Err(CallError::Unavailable)
        }
        Err(_) => Err(CallError::Unavailable),
    }
}

/// Searches the collections for each phrase by full text and by vectors. Also returns the reason if
/// embedding a phrase failed, because hits may then be missing.
async fn search_collections(
    services: &ToolServices,
    call: &RequestContext,
    opened: &Arc<[VisibleCollection]>,
    phrases: &[String],
) -> (Vec<HitList>, Option<CallError>) {
    if opened.is_empty() {
        return (Vec::new(), None);
    }
    let mut problem = None;
    let vectors = async {
        let Some(embeddings) = services.embeddings.as_ref() else { return Vec::new() };
        let requests = phrases.iter().map(|phrase| embeddings.embed_query(phrase));
        // An embedding failure costs the vector hits only.
        let made = join_all(requests).await.into_iter().map(|made| {
            made.inspect_err(|error| problem = Some(CallError::Refused(error.to_string())))
        });
        made.flatten().collect()
    };
    let deadline = services.deadline(call);
    let words = {
        let (opened, deadline) = (Arc::clone(opened), deadline.clone());
        let queries: Vec<_> = phrases.iter().map(|it| Arc::new(FtsQuery::parse(it))).collect();
        services.run_blocking(call, move || {
            let request = |query| {
                retrieve::search_full_text(
                    &opened,
                    query,
                    &DocumentFilter::default(),
                    MAX_CANDIDATES,
                    &deadline,
                )
            };
            queries.iter().map(request).collect::<Vec<_>>()
        })
    };
    let (words, vectors): (_, Vec<Arc<[f32]>>) = join(words, vectors).await;
    let mut lists = words.unwrap_or_default();
    if let Some(model) = services.embeddings.as_ref().map(|embeddings| embeddings.model().clone()) {
        let model = EmbeddingModel {
            provider: model.provider.to_owned(),
            model: model.name,
            dimensions: 0,
        };
        let opened = Arc::clone(opened);
        let unrelated = services.unrelated_similarity().await;
        let near = services.run_blocking(call, move || {
            search_vectors(&opened, &vectors, (&model, unrelated), &deadline)
        });
        lists.extend(near.await.unwrap_or_default());
    }
    (lists, problem)
}

fn search_vectors(
    opened: &[VisibleCollection],
    vectors: &[Arc<[f32]>],
    (model, unrelated): (&EmbeddingModel, Option<UnrelatedSimilarity>),
    deadline: &Deadline,
) -> Vec<HitList> {
    let filter = DocumentFilter::default();
    let request = |vector: &Arc<[f32]>| {
        let search = VectorSearch {
            vector,
            model: Some(model),
            unrelated,
            filter: &filter,
            take: MAX_CANDIDATES,
            metric: DistanceMetric::Cosine,
        };
        retrieve::search_vectors(opened, search, deadline)
    };
    vectors.iter().map(request).collect()
}

/// Searches the user's library for a phrase.
async fn search_library(
    services: &ToolServices,
    call: &RequestContext,
    phrase: &str,
) -> Result<Vec<Hit>, CallError> {
    let search = actors::SearchRequest {
        query: phrase.to_owned(),
        selections: KnowledgeFilters::default().into_selections(&SourceName::ALL),
        order: None,
        limit: MAX_CANDIDATES,
        offset: 0,
        snippet_length: None,
        highlight: false,
        preferences: call.defaults.preferences,
        repeated: RepeatedResults::Show,
        vector_query: None,
        spelling: actors::Spelling::Suggest,
    };
    Ok(services.search_session(call, None, search).await?.hits)
}

/// A hit of any ranking.
#[derive(Clone, Debug)]
enum SegmentCandidate {
    Chunk(ChunkHit),
    Item(Box<Hit>),
}

/// Candidates of all rankings, each with its sum of reciprocal ranks.
#[derive(Default)]
struct FusedCandidates {
    by_key: HashMap<String, (SegmentCandidate, f64)>,
}

impl FusedCandidates {
    /// Adds a ranking, best first.
    fn add_ranking(&mut self, ranking: impl Iterator<Item = SegmentCandidate>) {
        for (candidate, rank) in ranking.zip(1_u32..) {
            let key = match &candidate {
                SegmentCandidate::Chunk(found) => {
                    format!("{}#{}", found.collection_index, found.key)
                }
                SegmentCandidate::Item(hit) => hit.uri.to_string(),
            };
            let (_, score) = self.by_key.entry(key).or_insert((candidate, 0.0));
            *score += reciprocal_rank(rank);
        }
    }

    fn into_sorted(self) -> Vec<SegmentCandidate> {
        let mut all: Vec<_> = self.by_key.into_iter().collect();
        all.sort_by(|(key, (_, score)), (other_key, (_, other))| {
            other.total_cmp(score).then_with(|| key.cmp(other_key))
        });
        all.into_iter().map(|(_, (candidate, _))| candidate).collect()
    }
}

/// Reads the best candidates, one of each document, up to the configured number of segments.
async fn read_segments(
    services: &ToolServices,
    call: &RequestContext,
    opened: &Arc<[VisibleCollection]>,
    candidates: Vec<SegmentCandidate>,
) -> Result<Vec<Segment>, CallError> {
    let max_segments = services.segments;
    let chunks: Vec<ChunkHit> = candidates
        .iter()
        .filter_map(|candidate| match candidate {
            SegmentCandidate::Chunk(found) => Some(found.clone()),
            SegmentCandidate::Item(_) => None,
        })
        .take(max_segments * MAX_CANDIDATES)
        .collect();
    let (collections, deadline) = (Arc::clone(opened), services.deadline(call));
    let passages = services.run_blocking(call, move || {
        let passages = retrieve::load_passages(&collections, &chunks, &deadline)?;
        let named = chunks.iter().map(|found| (found.collection_index, found.key)).zip(passages);
        Ok::<_, vademecum_source::SourceError>(named.collect::<HashMap<_, _>>())
    });
    let mut passages = passages.await??;
    let mut segments: Vec<Segment> = Vec::new();
    let mut documents: Vec<(i64, String)> = Vec::new();
    for candidate in candidates {
        if segments.len() >= max_segments {
            break;
        }
        let (place, segment) = match candidate {
            SegmentCandidate::Chunk(found) => {
                let passage = passages.remove(&(found.collection_index, found.key)).flatten();
                let Some(passage) = passage else { continue };
                call.items.record_all_of(ContentOrigin::SharedCollection, [passage.id()]);
                let one = opened.get(found.collection_index);
                let source_url = one.and_then(|one| one.passage_url(&passage));
                segment_from_passage(passage, source_url)
            }
            SegmentCandidate::Item(hit) => match segment_from_hit(services, call, *hit).await {
                Some(found) => found,
                None => continue,
            },
        };
        let (source, document) = place.document_key();
        let document = (source, document.to_owned());
        if documents.contains(&document) {
            continue;
        }
        let Some(segment_uid) = place.seal_uid(services.server_key()?) else { continue };
        documents.push(document);
        segments.push(Segment { segment_uid, ..segment });
    }
    Ok(segments)
}

fn segment_from_passage(
    passage: Passage,
    source_url: Option<String>,
) -> (SegmentLocation, Segment) {
    let document = &passage.document;
    let place = SegmentLocation::Collection {
        source_id: document.source_id,
        doc_id: document.doc_id.clone(),
        index: passage.index,
    };
    let segment = Segment {
        segment_uid: String::new(),
        source_file_name: document
            .file_name
            .clone()
            .or_else(|| document.title.clone())
            .unwrap_or_else(|| document.doc_id.clone()),
        source_file_type: document.file_type.clone().unwrap_or_else(|| "txt".to_owned()),
        headline: extract_headline(
            passage.section.as_deref(),
            document.title.as_deref(),
            &passage.body,
        ),
        segment_summary: extract_summary(&passage.body),
        source_url,
        raw_text: passage.body,
    };
    (place, segment)
}

/// Reads the passage of an item that matched. Returns `None` if it cannot be read, for example
/// because it was deleted.
async fn segment_from_hit(
    services: &ToolServices,
    call: &RequestContext,
    hit: Hit,
) -> Option<(SegmentLocation, Segment)> {
    let options = RetrievalOptions {
        mode: Some(RetrievalMode::Chunk),
        max_tokens: Some(MAX_SEGMENT_TOKENS),
        loc: hit.loc.clone(),
        ..RetrievalOptions::default()
    };
    let item = services.read_uri(call, hit.uri.clone(), options).await.ok()?;
    let raw_text = content_text(&item.content);
    let title = hit.title.clone().filter(|title| !title.trim().is_empty());
    let segment = Segment {
        segment_uid: String::new(),
        source_file_name: title.clone().unwrap_or_else(|| hit.uri.to_string()),
        source_file_type: match hit.source {
            SourceName::Notes | SourceName::Prompts => "md".to_owned(),
            SourceName::Chats | SourceName::Characters => "json".to_owned(),
            SourceName::Media | SourceName::Collections => {
                hit.media_type.clone().unwrap_or_else(|| "txt".to_owned())
            }
        },
        headline: extract_headline(None, title.as_deref(), &raw_text),
        // The contract has no field for the origin of a text, and a headline has ten words.
        segment_summary: origin_mark(&hit) + &extract_summary(&raw_text),
        source_url: hit.url.clone().filter(|url| url.starts_with("http")),
        raw_text,
    };
    let user = call.principal.user().as_str().to_owned();
    let place = SegmentLocation::Library { user, uri: hit.uri.to_string(), loc: hit.loc };
    Some((place, segment))
}
