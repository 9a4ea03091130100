//! Output types shared by several tools.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use vademecum_actors::{AlreadyShown, SourceFailure};
use vademecum_model::{Hit, ItemRef, SourceName, Timestamp};
use vademecum_services::permalink::SiteAddress;

/// Sentence about a search whose best result is below the floor of scores.
pub const NO_ANSWER: &str =
    "None is likely to answer the query: even the best has few of its words.";
/// Maximum number of tags listed with a result.
pub(crate) const MAX_TAGS: usize = 20;

/// A page of search results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchResponse<R> {
    /// Results, best or newest first.
    pub results: R,
    /// Whether more results exist.
    pub has_more: bool,
    /// `offset` of the next page.
    pub next_offset: Option<usize>,
    /// Estimated number of all matches.
    pub total_estimated: usize,
    /// Whether a result may answer the query; `false` if even the best has few of its words.
    pub found: bool,
    /// Notes about this page.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub meta: Option<PageNotes>,
}

/// Returns what the signs of a query were read as, in sentences.
pub fn sign_sentences(
    [loosened, required, excluded, ignored]: [&[String]; 4],
) -> impl Iterator<Item = String> {
    [
        ("No result has these words as quoted; scores are halved", loosened),
        ("Required", required),
        ("Excluded", excluded),
        ("Signs without meaning, searched as words", ignored),
    ]
    .into_iter()
    .filter(|(_, parts)| !parts.is_empty())
    .map(|(words, parts)| format!("{words}: {}.", parts.join("; ")))
}

/// Notes about a page of results, for the model and for `_meta`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PageNotes {
    /// `false` if no result is likely to answer the query.
    pub found: Option<bool>,
    /// Sources that failed, with the reason; their hits are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_sources: Vec<SourceFailure>,
    /// Sources in which the filter by tags finds nothing because no item has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_tags: Vec<SourceName>,
    /// Number of results left out to keep `max_tokens`.
    pub left_out: Option<usize>,
    /// Matches that this session had shown before, by rank: those that are omitted from the results, or
    /// those among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub already_shown: Vec<AlreadyShown>,
    /// Number of further matches that are omitted because this session has shown them before.
    pub more_already_shown: Option<usize>,
    /// Positions of the results in the ranking, from 1, if some matches were shown before.
    #[serde(skip)]
    pub(crate) ranks: Vec<usize>,
    /// Whether the session had shown every result and started over.
    pub restarted: Option<bool>,
    /// Query searched for instead, with words that occur in place of some that do not. All scores are
    /// halved.
    pub searched_for: Option<String>,
    /// Query with words that occur, in place of some that do not.
    pub did_you_mean: Option<String>,
    /// Whether a quoted phrase occurs in no result; it is one of `loosened`.
    pub phrase_not_found: Option<bool>,
    /// Quoted phrases that occur in no result. Their words were searched for, and all scores are halved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loosened: Vec<String>,
    /// Phrases, and words with a field name, that every result has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// Words and phrases that no result has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// Parts of the query whose signs have no meaning, such as flags of programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// First and last day that the query names. Items of that time come first.
    pub dates: Option<[Timestamp; 2]>,
    /// Number of items that have no vectors yet.
    pub vectors_missing: Option<usize>,
    /// Reason for a full-text search although vectors were requested.
    pub without_vectors: Option<String>,
    /// Cosine similarity below which vector hits are coincidences.
    pub similarity_floor: Option<f64>,
    /// Session handle, to be passed as `session`.
    pub session: Option<String>,
}

impl PageNotes {
    /// Returns what the signs of the query were read as, in sentences.
    pub fn sign_sentences(&self) -> impl Iterator<Item = String> {
        sign_sentences([&self.loosened, &self.required, &self.excluded, &self.ignored])
    }
}

/// Results in the requested shape.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SearchResults {
    /// All fields of a hit.
    Full(Vec<Hit>),
    /// The shape of deep-research clients.
    Compact(Vec<CompactHit>),
}

/// A result in the shape of deep-research clients.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompactHit {
    /// Argument of `fetch`: the URI.
    pub(crate) id: String,
    /// Title or name.
    pub(crate) title: String,
    /// The snippet, or the full text.
    pub(crate) text: String,
    /// Web address of the item on the pages of this server; without one, that of the publication.
    pub(crate) url: String,
    /// Other known fields, by name.
    pub(crate) metadata: BTreeMap<&'static str, String>,
}

impl CompactHit {
    /// Converts a hit, with `text` as its text.
    pub(crate) fn new(hit: Hit, text: String, site: &SiteAddress) -> Self {
        let permalink = site.permalink(&hit.uri, hit.loc.as_ref());
        let mut metadata = BTreeMap::from([
            ("source", hit.source.to_string()),
            ("origin", hit.origin.as_str().to_owned()),
        ]);
        let mut note = |name, value: Option<String>| {
            if let Some(value) = value {
                metadata.insert(name, value);
            }
        };
        note("created_at", hit.created_at.map(|moment| moment.to_string()));
        note("last_modified", hit.last_modified.map(|moment| moment.to_string()));
        note("media_type", hit.media_type);
        note("path", hit.path);
        note("sender", hit.sender);
        note("missing_words", (!hit.missing.is_empty()).then(|| hit.missing.join(", ")));
        let words = |list: Vec<String>| (!list.is_empty()).then(|| list.join(", "));
        let names = hit.derived_origins.iter().map(|origin| origin.as_str().to_owned());
        note("derived_origins", words(names.collect()));
        let shown =
            hit.derived_from.iter().map(|it| format!("{} ({})", it.uri, it.origin.as_str()));
        note("derived_from", words(shown.collect()));
        note("agents", words(hit.agents));
        let titles = |items: &[ItemRef]| {
            let shown = items.iter().map(|it| format!("{} ({})", it.title, it.uri));
            (!items.is_empty()).then(|| shown.collect::<Vec<_>>().join("; "))
        };
        note("supersedes", titles(&hit.supersedes));
        note("superseded_by", titles(&hit.superseded_by));
        note("omitted_tags", hit.omitted_tags.map(|count| count.to_string()));
        note("tags", hit.tags.filter(|tags| !tags.is_empty()).map(|tags| tags.join(", ")));
        let openable = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        let published = hit.url.filter(openable);
        if permalink.is_some() {
            note("web_address", published.clone());
        }
        Self {
            id: hit.uri.to_string(),
            title: hit.title.unwrap_or_else(|| hit.uri.to_string()),
            text,
            url: permalink.or(published).unwrap_or_default(),
            metadata,
        }
    }

    /// Converts a hit, with its snippet as its text.
    pub(crate) fn of_snippet(mut hit: Hit, site: &SiteAddress) -> Self {
        let snippet = hit.snippet.take().unwrap_or_default();
        Self::new(hit, snippet, site)
    }
}

impl SearchResults {
    /// Returns the hits; none in the shape of deep-research clients.
    pub fn into_hits(self) -> Vec<Hit> {
        match self {
            Self::Full(hits) => hits,
            Self::Compact(_) => Vec::new(),
        }
    }

    /// Returns the URIs of the results; in the shape of deep-research clients, they are the ids.
    pub(super) fn uris(&self) -> Vec<String> {
        match self {
            Self::Full(hits) => hits.iter().map(|hit| hit.uri.to_string()).collect(),
            Self::Compact(hits) => hits.iter().map(|hit| hit.id.clone()).collect(),
        }
    }
}

impl SearchResponse<SearchResults> {
    /// Returns the URIs of the results, and of the matches that were shown before.
    pub(super) fn uris(&self) -> Vec<String> {
        let shown = self.meta.iter().flat_map(|about| &about.already_shown);
        let mut uris = self.results.uris();
        uris.extend(shown.map(|it| it.uri.to_string()));
        uris
    }
}

impl<R> SearchResponse<R> {
    /// Returns the same page with its results converted by `shape`.
    pub fn map_results<S>(self, shape: impl FnOnce(R) -> S) -> SearchResponse<S> {
        let Self { results, has_more, next_offset, total_estimated, found, meta } = self;
        let results = shape(results);
        SearchResponse { results, has_more, next_offset, total_estimated, found, meta }
    }

    /// Returns the words searched for instead of the query as typed.
    pub(crate) fn corrected_query(&self) -> Option<&str> {
        self.meta.as_ref()?.searched_for.as_deref()
    }

    /// Returns the notes of the page as sentences.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let Some(about) = &self.meta else { return Vec::new() };
        let mut remarks = Vec::new();
        if let Some(words) = &about.searched_for {
            remarks.push(format!("Some words occur nowhere; searched for: {words}."));
        }
        if let Some(words) = &about.did_you_mean {
            remarks.push(format!("Some words occur nowhere. Did you mean: {words}?"));
        }
        remarks.extend(about.sign_sentences());
        if let Some([after, before]) = about.dates.map(|dates| dates.map(|date| date.to_string())) {
            let days = [after, before].map(|date| date.get(..10).unwrap_or_default().to_owned());
            remarks.push(format!("Items of {} come first.", days.join(" to ")));
        }
        if let Some(count) = about.left_out {
            remarks.push(format!("max_tokens left out {count} results of this page."));
        }
        if let Some(count) = about.more_already_shown {
            remarks.push(format!("{count} more that this session has shown before are omitted."));
        }
        if about.restarted == Some(true) {
            remarks.push("This session had shown all results; it starts over.".to_owned());
        }
        if !about.without_tags.is_empty() {
            let names: Vec<_> = about.without_tags.iter().map(|source| source.as_str()).collect();
            remarks.push(format!("No item has tags in {}.", names.join(", ")));
        }
        for failed in &about.failed_sources {
            remarks.push(format!("No answer from {}: {}.", failed.display_name(), failed.reason));
        }
        if let Some(count) = about.vectors_missing {
            remarks.push(format!("{count} items have no vectors yet; search again later."));
        }
        if let Some(reason) = &about.without_vectors {
            remarks.push(format!("Full text only: {reason}."));
        }
        if let Some(handle) = &about.session {
            remarks.push(format!("session: {handle}"));
        }
        remarks
    }
}
