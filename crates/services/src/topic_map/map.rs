//! A map: plain values, with coordinates from 0 to [`MAP_SIZE`].

use vademecum_model::{SourceName, Uri};

/// Width and height of a map.
pub const MAP_SIZE: f64 = 1_000.0;

/// Map of the topics of a library.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicMap {
    /// The topics, the largest first. Items without a topic are in a nameless one, which is last.
    pub topics: Vec<Topic>,
    /// The items, ordered by topic. The first ones of a topic are the most typical.
    pub items: Vec<MapItem>,
    /// Pairs of similar topics, the most similar first.
    pub links: Vec<TopicLink>,
    /// Radius of the dot of an item.
    pub dot_radius: f64,
    /// Number of older items that are not on the map.
    pub omitted: usize,
    /// Sources that failed; their items are missing.
    pub missing_sources: Vec<SourceName>,
}

/// A group of similar items, drawn as a circle around their dots.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Name; `None` for the items without a topic, and for items without common words.
    pub name: Option<String>,
    /// Most distinctive words and phrases, the first ones of which make up the name.
    pub words: Vec<String>,
    /// Centre of the circle.
    pub x: f64,
    /// Distance from the upper edge, in units of the map.
    pub y: f64,
    /// Radius of the circle.
    pub radius: f64,
    /// Number of items.
    pub count: usize,
}

/// An item on the map: a dot in the circle of its topic.
#[derive(Clone, Debug, PartialEq)]
pub struct MapItem {
    /// URI of the item, which names its source.
    pub uri: Uri,
    /// Title, or the beginning of the text.
    pub title: String,
    /// Distance from the left edge, in units of the map.
    pub x: f64,
    /// Distance from the upper edge, in units of the map.
    pub y: f64,
    /// Index of the topic.
    pub topic: usize,
}

/// Two similar topics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopicLink {
    /// Index of the larger topic.
    pub from: usize,
    /// Index of the smaller topic.
    pub to: usize,
    /// Strength relative to the strongest link, greater than 0 and at most 1.
    pub strength: f64,
}
