//! Results of tools, as far as pages show them.

use serde::Deserialize;
use serde_json::Value;
use vademecum_model::{Loc, SourceName, Timestamp, Uri};

/// A hit of a search, an entry of a list, or the metadata of an item.
#[derive(Debug, Deserialize)]
pub(crate) struct HitView {
    pub(crate) uri: Uri,
    pub(crate) source: SourceName,
    pub(crate) title: Option<String>,
    pub(crate) snippet: Option<String>,
    #[serde(default)]
    pub(crate) highlights: Vec<HighlightView>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) last_modified: Option<Timestamp>,
    #[serde(default)]
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) media_type: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) folder: Option<String>,
    pub(crate) sender: Option<String>,
    pub(crate) start_ms: Option<u64>,
    #[serde(default)]
    pub(crate) supersedes: Vec<ItemRefView>,
    #[serde(default)]
    pub(crate) superseded_by: Vec<ItemRefView>,
    pub(crate) loc: Option<Loc>,
}

impl HitView {
    /// Returns the title, or the URI of an item without one.
    pub(crate) fn display_title(&self) -> String {
        let title = self.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        title.map_or_else(|| self.uri.to_string(), str::to_owned)
    }

    /// Returns the tags.
    pub(crate) fn tags(&self) -> &[String] {
        self.tags.as_deref().unwrap_or_default()
    }

    /// Returns the time of the last change, or that of the creation.
    pub(crate) fn date(&self) -> Option<Timestamp> {
        self.last_modified.or(self.created_at)
    }
}

/// Range of a match in a snippet, in characters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct HighlightView {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Another item.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ItemRefView {
    pub(crate) uri: Uri,
    #[serde(default)]
    pub(crate) title: String,
}

/// A page of results.
#[derive(Debug, Deserialize)]
pub(crate) struct SearchView {
    pub(crate) results: Vec<HitView>,
    pub(crate) next_offset: Option<usize>,
    #[serde(default)]
    pub(crate) total_estimated: usize,
    #[serde(rename = "_meta", default)]
    pub(crate) notes: SearchNotesView,
}

/// Notes about a page of results.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct SearchNotesView {
    #[serde(default)]
    pub(crate) failed_sources: Vec<FailedSourceView>,
    pub(crate) searched_for: Option<String>,
    pub(crate) did_you_mean: Option<String>,
    #[serde(default)]
    pub(crate) phrase_not_found: bool,
}

/// A source that gave no answer.
#[derive(Debug, Deserialize)]
pub(crate) struct FailedSourceView {
    pub(crate) source: String,
    pub(crate) reason: String,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct ListView {
    pub(crate) results: Vec<HitView>,
    pub(crate) total: usize,
    pub(crate) next_offset: Option<usize>,
    #[serde(default)]
    pub(crate) facets: FacetsView,
    #[serde(rename = "_meta", default)]
    pub(crate) notes: SearchNotesView,
}

/// Counted properties of a list.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FacetsView {
    #[serde(default)]
    pub(crate) sources: FacetView,
    #[serde(default)]
    pub(crate) tags: FacetView,
    #[serde(default)]
    pub(crate) months: FacetView,
}

/// Values of a property with their counts.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FacetView {
    pub(crate) values: Vec<FacetValueView>,
}

/// A value of a property.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct FacetValueView {
    pub(crate) value: String,
    pub(crate) count: usize,
}

/// An item.
#[derive(Debug, Deserialize)]
pub(crate) struct ItemView {
    pub(crate) meta: HitView,
    pub(crate) content: Value,
    pub(crate) range: Option<RangeView>,
    pub(crate) language: Option<String>,
}

/// Position of the content in the text of an item: characters, or messages of a conversation.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct RangeView {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) total: usize,
    pub(crate) next_offset: Option<usize>,
}

/// Links of an item.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LinksView {
    #[serde(default)]
    pub(crate) out: Vec<LinkedItemView>,
    #[serde(rename = "in", default)]
    pub(crate) incoming: Vec<LinkedItemView>,
    #[serde(default)]
    pub(crate) shared: Vec<LinkedItemView>,
    #[serde(default)]
    pub(crate) unresolved: Vec<UnresolvedLinkView>,
}

/// A linked item.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LinkedItemView {
    pub(crate) uri: Uri,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) context: String,
}

/// A link to nothing that is stored.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct UnresolvedLinkView {
    pub(crate) text: String,
}

/// Changes of an item.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct HistoryView {
    #[serde(default)]
    pub(crate) changes: Vec<ChangeView>,
    #[serde(default)]
    pub(crate) total: usize,
}

/// A change of an item.
#[derive(Debug, Deserialize)]
pub(crate) struct ChangeView {
    pub(crate) version: i64,
    pub(crate) changed_at: Timestamp,
    pub(crate) action: String,
    pub(crate) client: Option<String>,
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) fields: Option<Vec<FieldChangeView>>,
}

/// A change of a field.
#[derive(Debug, Deserialize)]
pub(crate) struct FieldChangeView {
    pub(crate) field: String,
    pub(crate) removed: Option<String>,
    pub(crate) added: Option<String>,
}
