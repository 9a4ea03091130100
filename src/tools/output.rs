//! Answers that several tools give.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use vademecum_kit::{model::Hit, store::give_way};

use super::{Replied, Toolbox, text};
use crate::actors::{CallError, Failed, Page};
use vademecum_mcp::Call;

/// Results whose text is written faster than somebody else is asked to do it.
const SHORT_PAGE: usize = 20;

/// A page of results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchResponse<R> {
    /// The results, best or newest first.
    pub(crate) results: R,
    /// Whether there are more.
    pub(crate) has_more: bool,
    /// The `offset` of the next page.
    pub(crate) next_offset: Option<usize>,
    /// How many matches there are in all.
    pub(crate) total_estimated: usize,
    /// What else is to be known about this page.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(crate) meta: Option<About>,
}

/// What is to be known about a page of results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct About {
    /// Sources that gave no answer, and why: their hits are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_sources: Vec<Failed>,
    /// Results left out because this session has shown them before.
    #[serde(skip_serializing_if = "Option::is_none")]
    already_shown: Option<usize>,
    /// Everything had been shown: showing began again.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarted: Option<bool>,
    /// What was asked for is nowhere: the words that were searched for instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    searched_for: Option<String>,
    /// Items whose vectors are not made yet: they come later.
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors_missing: Option<usize>,
    /// Why only words were searched for, where meaning was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_vectors: Option<String>,
    /// The handle of this session, to be passed as `session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// Results in the shape that the caller wants.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Results {
    /// Every field of a hit.
    Full(Vec<Hit>),
    /// As deep-research clients know them.
    Compact(Vec<Compact>),
}

/// A result as deep-research clients know it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Compact {
    /// What `fetch` takes: the URI.
    pub(crate) id: String,
    /// Title or name.
    pub(crate) title: String,
    /// The snippet, or the full text.
    pub(crate) text: String,
    /// Where it was published; empty if it was not.
    pub(crate) url: String,
    /// What else is known of it.
    pub(crate) metadata: BTreeMap<&'static str, String>,
}

impl Compact {
    /// A hit, with a text for it.
    pub(crate) fn new(hit: Hit, text: String) -> Self {
        let mut metadata = BTreeMap::from([("source", hit.source.to_string())]);
        let mut note = |name, value: Option<String>| {
            if let Some(value) = value {
                metadata.insert(name, value);
            }
        };
        note("created_at", hit.created_at.map(|moment| moment.to_string()));
        note("last_modified", hit.last_modified.map(|moment| moment.to_string()));
        note("media_type", hit.media_type);
        note("sender", hit.sender);
        note("tags", hit.tags.filter(|tags| !tags.is_empty()).map(|tags| tags.join(", ")));
        let openable = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        Self {
            id: hit.uri.to_string(),
            title: hit.title.unwrap_or_else(|| hit.uri.to_string()),
            text,
            url: hit.url.filter(openable).unwrap_or_default(),
            metadata,
        }
    }
}

impl From<Hit> for Compact {
    fn from(mut hit: Hit) -> Self {
        let snippet = hit.snippet.take().unwrap_or_default();
        Self::new(hit, snippet)
    }
}

impl<R> SearchResponse<R> {
    /// The same page, with its results in another shape.
    pub(crate) fn map<S>(self, shape: impl FnOnce(R) -> S) -> SearchResponse<S> {
        let Self { results, has_more, next_offset, total_estimated, meta } = self;
        SearchResponse { results: shape(results), has_more, next_offset, total_estimated, meta }
    }

    /// The words that were searched for instead of what was asked for.
    pub(crate) fn searched_for(&self) -> Option<&str> {
        self.meta.as_ref()?.searched_for.as_deref()
    }

    /// What went differently than one would think, in sentences.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let Some(about) = &self.meta else { return Vec::new() };
        let mut remarks = Vec::new();
        if let Some(words) = &about.searched_for {
            remarks.push(format!("Nothing matches as asked; searched for: {words}."));
        }
        if let Some(count) = about.already_shown {
            remarks.push(format!("{count} shown before in this session are left out."));
        }
        if about.restarted == Some(true) {
            remarks.push("All had been shown in this session; showing began again.".to_owned());
        }
        for failed in &about.failed_sources {
            remarks.push(format!("No answer from {}: {}.", failed.whom(), failed.reason));
        }
        if let Some(count) = about.vectors_missing {
            remarks.push(format!("{count} items have no vectors yet; search again later."));
        }
        if let Some(reason) = &about.without_vectors {
            remarks.push(format!("Words only: {reason}."));
        }
        if let Some(handle) = &about.session {
            remarks.push(format!("session: {handle}"));
        }
        remarks
    }
}

/// Answers with a page. What is to be known about it stands in the answer, for
/// the model, and in the result's `_meta`, for the client.
pub(crate) fn respond(page: Page, session: Option<String>) -> Replied<SearchResponse<Vec<Hit>>> {
    let about = About {
        already_shown: (page.passed > 0 && !page.restarted).then_some(page.passed),
        failed_sources: page.failed,
        restarted: page.restarted.then_some(true),
        searched_for: page.searched_for,
        vectors_missing: (page.vectors_missing > 0).then_some(page.vectors_missing),
        without_vectors: page.without_vectors,
        session,
    };
    let about = (about != About::default()).then_some(about);
    let meta = about.as_ref().and_then(|about| match serde_json::to_value(about) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    });
    let output = SearchResponse {
        results: page.hits,
        has_more: page.next_offset.is_some(),
        next_offset: page.next_offset,
        total_estimated: page.total,
        meta: about,
    };
    Replied { output, text: None, meta: meta.map(under_our_name) }
}

impl Replied<SearchResponse<Vec<Hit>>> {
    /// The same answer with its text, if answers are wanted as text. That of a long page
    /// is written beside the event loop, on which others wait.
    pub(crate) async fn in_words(
        self,
        toolbox: &Toolbox,
        call: &Call,
        query: &str,
    ) -> Result<Self, CallError> {
        if !toolbox.says_lines() {
            return Ok(self);
        }
        if self.output.results.len() <= SHORT_PAGE {
            return Ok(Self { text: Some(text::page(query, &self.output, || ())), ..self });
        }
        let query = query.to_owned();
        let write = move || Self { text: Some(text::page(&query, &self.output, give_way)), ..self };
        toolbox.beside(call, write).await
    }
}

fn under_our_name(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (format!("vademecum/{name}"), value)).collect()
}
