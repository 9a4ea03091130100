//! A topic of the map as it is shown.

use vademecum_services::topic_map::{MapItem, Topic};

/// Name of the topic of the items without one.
pub(crate) const REST_NAME: &str = "Other items";

/// A topic with its items and its colour.
#[derive(Debug)]
pub(crate) struct ShownTopic<'m> {
    pub(crate) topic: &'m Topic,
    pub(crate) items: Vec<&'m MapItem>,
    /// Class of the style sheet.
    pub(crate) colour: &'static str,
}

/// Cuts a text that is longer than `most` characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}
