//! `rag_search`: the segments that fit any of a few phrases.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::{join, join_all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_collections::{EmbeddingModel, Filter, Passage};
use vademecum_kit::{
    model::{Deadline, Hit, Mode, RetrievalOptions, SourceName},
    retrieve::{FtsQuery, vector::Metric},
};

use super::{brief, place::Place};
use crate::{
    actors::{self, CallError},
    collections::{
        Opened,
        retrieve::{self, Found, List},
    },
    tools::{
        Contract, Form, Replied, Toolbox,
        input::{KnowledgeFilters, point},
        text::plain,
    },
};
use vademecum_mcp::{Call, Toolset};

/// Phrases of one search at most.
const MOST_PHRASES: usize = 5;
/// The longest phrase, in bytes.
const LONGEST_PHRASE: usize = 8_192;
/// Results of each phrase in each place that are looked at.
const CANDIDATES: usize = 40;
/// What is added to a rank before it counts, as is usual for reciprocal ranks.
const RANK_OFFSET: f64 = 60.0;
/// Tokens of a segment at most.
const SEGMENT_TOKENS: usize = 1_000;

/// Searches everything that the user may see.
#[derive(Debug)]
pub struct RagSearch;

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RagSearchInput {
    /// 1-5 search phrases for semantic retrieval
    #[schemars(length(min = 1, max = 5))]
    search_phrases: Vec<String>,
}

/// The segments that fit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagSearchOutput {
    /// Always `success`: what is wrong is an error.
    status: &'static str,
    /// Best first, one of each document.
    segments: Vec<Segment>,
}

/// A part of a document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the contract names them so")]
pub(super) struct Segment {
    /// What `verify_document_access` takes.
    segment_uid: String,
    /// The document.
    source_file_name: String,
    /// What kind of file it is.
    source_file_type: String,
    /// At most ten words.
    headline: String,
    /// One to three sentences of it.
    segment_summary: String,
    /// What it says.
    raw_text: String,
    /// Where a reader finds the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_url: Option<String>,
}

impl Contract for RagSearch {
    const NAME: &'static str = "rag_search";
    const TITLE: &'static str = "Search for segments";
    const DESCRIPTION: &'static str =
        "Searches the knowledge base for relevant information using semantic search";
    const TOOLSET: Toolset = Toolset::RagSearch;
    const FORM: Form = Form::Bare;
    type Input = RagSearchInput;
    type Output = RagSearchOutput;

    async fn call(
        toolbox: &Toolbox,
        input: RagSearchInput,
        call: &Call,
    ) -> Result<Replied<RagSearchOutput>, CallError> {
        let phrases = input.search_phrases;
        check(&phrases)?;
        let opened = visible(toolbox, call).await?;
        let ((lists, unembedded), library) = join(
            search_collections(toolbox, call, &opened, &phrases),
            join_all(phrases.iter().map(|phrase| search_library(toolbox, call, phrase))),
        )
        .await;
        let mut candidates = Candidates::default();
        for list in &lists {
            candidates.add(list.found.iter().map(|found| Candidate::Chunk(found.clone())));
        }
        let mut problem = unembedded;
        for answer in library {
            match answer {
                Ok(hits) => {
                    candidates.add(hits.into_iter().map(|hit| Candidate::Item(Box::new(hit))));
                }
                Err(error) => problem = Some(error),
            }
        }
        if let (true, Some(problem)) = (candidates.by_key.is_empty(), problem) {
            return Err(problem);
        }
        let segments = read(toolbox, call, &opened, candidates.best_first()).await?;
        // Its readers look for the JSON in the text.
        Ok(RagSearchOutput { status: "success", segments }.into())
    }
}

fn check(phrases: &[String]) -> Result<(), CallError> {
    if phrases.is_empty() || phrases.len() > MOST_PHRASES {
        let found = phrases.len();
        let problem = format!("search_phrases: expected 1 to {MOST_PHRASES} phrases, got {found}");
        return Err(CallError::Invalid(problem));
    }
    for (index, phrase) in phrases.iter().enumerate() {
        if phrase.trim().is_empty() {
            return Err(CallError::Invalid(format!("search_phrases[{index}]: is blank")));
        }
        if phrase.len() > LONGEST_PHRASE {
            let problem = format!(
                "search_phrases[{index}]: is longer than {LONGEST_PHRASE} bytes; shorten it"
            );
            return Err(CallError::TooMuch(problem));
        }
    }
    Ok(())
}

/// The collections that the caller may see.
pub(crate) async fn visible(toolbox: &Toolbox, call: &Call) -> Result<Arc<[Opened]>, CallError> {
    let (catalogue, principal) = (Arc::clone(toolbox.collections()), call.principal.clone());
    let opened = tokio::task::spawn_blocking(move || catalogue.visible(&principal)).await;
    match opened {
        Ok(Ok(opened)) => Ok(opened.into()),
        Ok(Err(error)) => {
            tracing::error!(%error, "the catalogue of collections cannot be read");
            Err(CallError::Unavailable)
        }
        Err(_) => Err(CallError::Unavailable),
    }
}

/// What the collections have for each phrase, by words and by vectors; and why
/// there are none of the latter, if there should be: what words do not find might
/// have been found by them.
async fn search_collections(
    toolbox: &Toolbox,
    call: &Call,
    opened: &Arc<[Opened]>,
    phrases: &[String],
) -> (Vec<List>, Option<CallError>) {
    if opened.is_empty() {
        return (Vec::new(), None);
    }
    let mut problem = None;
    let vectors = async {
        let Some(embeddings) = toolbox.embeddings() else { return Vec::new() };
        let asked = phrases.iter().map(|phrase| embeddings.query(phrase));
        // Who makes no vectors costs what would be found by them, and no more.
        let made = join_all(asked).await.into_iter().map(|made| {
            made.inspect_err(|error| problem = Some(CallError::Refused(error.to_string())))
        });
        made.flatten().collect()
    };
    let deadline = toolbox.deadline(call);
    let words = {
        let (opened, deadline) = (Arc::clone(opened), deadline.clone());
        let queries: Vec<_> = phrases.iter().map(|it| Arc::new(FtsQuery::parse(it))).collect();
        toolbox.beside(call, move || {
            let ask =
                |query| retrieve::words(&opened, query, &Filter::default(), CANDIDATES, &deadline);
            queries.iter().map(ask).collect::<Vec<_>>()
        })
    };
    let (words, vectors): (_, Vec<Arc<[f32]>>) = join(words, vectors).await;
    let mut lists = words.unwrap_or_default();
    if let Some(model) = toolbox.embeddings().map(|embeddings| embeddings.model().clone()) {
        let model = EmbeddingModel {
            provider: model.provider.to_owned(),
            model: model.name,
            dimensions: 0,
        };
        let opened = Arc::clone(opened);
        let near = toolbox.beside(call, move || near(&opened, &vectors, &model, &deadline));
        lists.extend(near.await.unwrap_or_default());
    }
    (lists, problem)
}

fn near(
    opened: &[Opened],
    vectors: &[Arc<[f32]>],
    model: &EmbeddingModel,
    deadline: &Deadline,
) -> Vec<List> {
    let filter = Filter::default();
    let ask = |vector: &Arc<[f32]>| {
        retrieve::near(opened, vector, Some(model), &filter, CANDIDATES, Metric::Cosine, deadline)
    };
    vectors.iter().map(ask).collect()
}

/// What the user's library has for a phrase.
async fn search_library(
    toolbox: &Toolbox,
    call: &Call,
    phrase: &str,
) -> Result<Vec<Hit>, CallError> {
    let search = actors::Search {
        query: phrase.to_owned(),
        wanted: KnowledgeFilters::default().into_wanted(&SourceName::ALL),
        order: None,
        limit: CANDIDATES,
        offset: 0,
        snippet_length: None,
        highlight: false,
        preferences: call.defaults.preferences,
        fresh: false,
        vectors: None,
    };
    Ok(toolbox.search(call, None, search).await?.hits)
}

/// Something that was found.
#[derive(Clone, Debug)]
enum Candidate {
    Chunk(Found),
    Item(Box<Hit>),
}

/// What was found by anything, with the sum of its reciprocal ranks.
#[derive(Default)]
struct Candidates {
    by_key: HashMap<String, (Candidate, f64)>,
}

impl Candidates {
    /// Adds a ranking, best first.
    fn add(&mut self, ranking: impl Iterator<Item = Candidate>) {
        for (candidate, rank) in ranking.zip(1_u32..) {
            let key = match &candidate {
                Candidate::Chunk(found) => format!("{}#{}", found.place, found.key),
                Candidate::Item(hit) => hit.uri.to_string(),
            };
            let (_, score) = self.by_key.entry(key).or_insert((candidate, 0.0));
            *score += 1.0 / (RANK_OFFSET + f64::from(rank));
        }
    }

    fn best_first(self) -> Vec<Candidate> {
        let mut all: Vec<_> = self.by_key.into_iter().collect();
        all.sort_by(|(key, (_, score)), (other_key, (_, other))| {
            other.total_cmp(score).then_with(|| key.cmp(other_key))
        });
        all.into_iter().map(|(_, (candidate, _))| candidate).collect()
    }
}

/// Reads the best candidates, one of each document, as many as are wanted.
async fn read(
    toolbox: &Toolbox,
    call: &Call,
    opened: &Arc<[Opened]>,
    candidates: Vec<Candidate>,
) -> Result<Vec<Segment>, CallError> {
    let wanted = toolbox.segments();
    let chunks: Vec<Found> = candidates
        .iter()
        .filter_map(|candidate| match candidate {
            Candidate::Chunk(found) => Some(found.clone()),
            Candidate::Item(_) => None,
        })
        .take(wanted * CANDIDATES)
        .collect();
    let (collections, deadline) = (Arc::clone(opened), toolbox.deadline(call));
    let passages = toolbox.beside(call, move || {
        let passages = retrieve::read(&collections, &chunks, &deadline)?;
        let named = chunks.iter().map(|found| (found.place, found.key)).zip(passages);
        Ok::<_, vademecum_kit::source::SourceError>(named.collect::<HashMap<_, _>>())
    });
    let mut passages = passages.await??;
    let mut segments: Vec<Segment> = Vec::new();
    let mut documents: Vec<(i64, String)> = Vec::new();
    for candidate in candidates {
        if segments.len() >= wanted {
            break;
        }
        let (place, segment) = match candidate {
            Candidate::Chunk(found) => {
                let passage = passages.remove(&(found.place, found.key)).flatten();
                let Some(passage) = passage else { continue };
                of_passage(passage)
            }
            Candidate::Item(hit) => match of_hit(toolbox, call, *hit).await {
                Some(found) => found,
                None => continue,
            },
        };
        let (source, document) = place.document();
        let document = (source, document.to_owned());
        if documents.contains(&document) {
            continue;
        }
        let Some(segment_uid) = place.uid(toolbox.server_key()?) else { continue };
        documents.push(document);
        segments.push(Segment { segment_uid, ..segment });
    }
    Ok(segments)
}

fn of_passage(passage: Passage) -> (Place, Segment) {
    let document = &passage.document;
    let place = Place::Collection {
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
        headline: brief::headline(
            passage.section.as_deref(),
            document.title.as_deref(),
            &passage.body,
        ),
        segment_summary: brief::summary(&passage.body),
        source_url: document.url.clone(),
        raw_text: passage.body,
    };
    (place, segment)
}

/// Reads the passage of an item that matched. What has vanished is nothing.
async fn of_hit(toolbox: &Toolbox, call: &Call, hit: Hit) -> Option<(Place, Segment)> {
    let options = RetrievalOptions {
        mode: Some(Mode::Chunk),
        max_tokens: Some(SEGMENT_TOKENS),
        loc: hit.loc.clone(),
        ..RetrievalOptions::default()
    };
    let (id, part) = point(hit.uri.clone());
    let preferences = call.defaults.preferences;
    let read = actors::Read { source: hit.source, id, part, options, page: None, preferences };
    let item = toolbox.read_item(call, None, read).await.ok()?;
    let raw_text = plain(&item.content);
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
        headline: brief::headline(None, title.as_deref(), &raw_text),
        segment_summary: brief::summary(&raw_text),
        source_url: hit.url.clone().filter(|url| url.starts_with("http")),
        raw_text,
    };
    let user = call.principal.user().as_str().to_owned();
    let place = Place::Library { user, uri: hit.uri.to_string(), loc: hit.loc };
    Some((place, segment))
}
