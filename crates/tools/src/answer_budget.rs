//! The token budget of a search, measured on the answer as the client receives it.

use std::sync::Arc;

use vademecum_actors::SearchPage;
use vademecum_mcp::Shape;
use vademecum_model::{Hit, Uri};
use vademecum_services::permalink::SiteAddress;

use super::{
    ToolOutput,
    output::{CompactHit, SearchResponse, SearchResults},
    page_output::unrecorded_output,
    registered_tool::to_tool_result,
    render::render_page,
    token_estimate::estimate_tokens,
};

/// A page of results, and how it is sent.
#[derive(Clone, Debug)]
pub(super) struct SearchAnswer {
    pub(super) page: SearchPage,
    pub(super) session: Option<String>,
    pub(super) query: String,
    pub(super) shape: Shape,
    /// Whether lines of text are sent beside the JSON.
    pub(super) wants_text: bool,
    /// Whether a text is sent at all.
    pub(super) sends_text: bool,
    /// Whether invisible characters are removed.
    pub(super) is_cleaned: bool,
    /// Address of the pages, for the permalinks of compact results.
    pub(super) site: Arc<SiteAddress>,
}

/// An answer within its budget, and the results that are not part of it.
pub(super) struct FittedAnswer {
    pub(super) output: ToolOutput<SearchResponse<SearchResults>>,
    pub(super) dropped: Vec<Uri>,
}

impl SearchAnswer {
    /// Builds the answer with as many results as fit into `max_tokens`, but at least one. Calls
    /// `pause` often, so that long work can yield.
    pub(super) fn fit(mut self, max_tokens: usize, pause: fn()) -> FittedAnswer {
        let all = self.page.hits.len();
        let fits = |answer: &Self, count: usize| {
            max_tokens == usize::MAX || answer.with_results(count).count_tokens(pause) <= max_tokens
        };
        // Results come before the names of matches that were shown before.
        let mut named = self.page.already_shown.len();
        while named > 0 && !fits(&self, all) {
            named /= 2;
            self.page.truncate_already_shown(named);
        }
        // Most answers fit as they are. Else the number of results is found by bisection.
        let count = if fits(&self, all) {
            all
        } else {
            let (mut fitting, mut too_many) = (1, all.max(1));
            while fitting + 1 < too_many {
                let middle = fitting.midpoint(too_many);
                *(if fits(&self, middle) { &mut fitting } else { &mut too_many }) = middle;
            }
            fitting
        };
        let dropped = self.page.truncate(count);
        FittedAnswer { output: self.build(pause), dropped }
    }

    fn with_results(&self, count: usize) -> Self {
        let mut some = self.clone();
        some.page.truncate(count);
        some
    }

    fn count_tokens(self, pause: fn()) -> usize {
        let (is_cleaned, sends_text) = (self.is_cleaned, self.sends_text);
        let Ok(sent) = to_tool_result(self.build(pause), None, is_cleaned) else {
            return usize::MAX;
        };
        // Without a text of its own, the answer has the JSON as text, too.
        let text = sent.text.as_ref().or(sent.structured.as_ref()).filter(|_| sends_text);
        let parts = [text, sent.structured.as_ref()];
        parts.into_iter().flatten().map(|part| estimate_tokens(part)).sum()
    }

    fn build(self, pause: fn()) -> ToolOutput<SearchResponse<SearchResults>> {
        let ToolOutput { output, text: _, meta } = unrecorded_output(self.page, self.session);
        // A client that requests a shape reads the JSON and needs no other text.
        let has_text = self.wants_text && self.sends_text && self.shape == Shape::Full;
        let text = has_text.then(|| render_page(&self.query, &output, pause));
        let output = output.map_results(|hits| match self.shape {
            Shape::Full => SearchResults::Full(hits),
            Shape::Compact => compact_results(hits, &self.site),
        });
        ToolOutput { output, text, meta }
    }
}

fn compact_results(hits: Vec<Hit>, site: &SiteAddress) -> SearchResults {
    let hits = hits.into_iter().map(|hit| CompactHit::of_snippet(hit, site));
    SearchResults::Compact(hits.collect())
}
