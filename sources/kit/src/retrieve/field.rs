//! Items that are made of fields: characters and prompts.

use std::sync::Arc;

use super::{FtsQuery, Passage, read, snippet};
use crate::model::{Loc, Retrieval};

/// The field that names an item, and is shown as its title.
const NAME: &str = "name";

/// The fields of an item that have a text, most telling first.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(&'static str, String)>);

impl Fields {
    /// Keeps the fields that say something.
    pub fn new(fields: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Self {
        let filled = fields
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .filter(|(_, text)| !text.trim().is_empty());
        Self(filled.collect())
    }

    /// A snippet around the first match, and where it is.
    ///
    /// Only the fields that `matched` accepts are looked at; where none of
    /// them holds a match, the item's beginning is shown.
    pub fn snippet(
        &self,
        query: &FtsQuery,
        matched: impl Fn(&str) -> bool,
        length: usize,
    ) -> (Option<String>, Option<Loc>) {
        let found = self
            .0
            .iter()
            .filter(|(name, _)| matched(name))
            .find_map(|(name, text)| Some((*name, text, query.find(text)?)));
        let Some((name, text, place)) = found else { return (self.opening(length), None) };
        let offset = text.get(..place.start).unwrap_or_default().chars().count();
        let loc =
            Loc { approx_offset: Some(offset), field: Some(name.to_owned()), ..Loc::default() };
        // The name is the title already: the snippet says something else.
        let piece = if name == NAME {
            self.opening(length)
        } else {
            Some(snippet(text, Some(place), length))
        };
        (piece, Some(loc))
    }

    /// The beginning of the first field that is not the name.
    fn opening(&self, length: usize) -> Option<String> {
        let text = self.0.iter().find(|(name, _)| *name != NAME).or_else(|| self.0.first());
        text.map(|(_, text)| snippet(text, None, length))
    }

    /// Reads from the fields as from one text: the field that `loc` names, or
    /// all of them, each under its name.
    pub fn read(&self, retrieval: &Retrieval, about: &[Arc<FtsQuery>]) -> Passage {
        let named = retrieval.loc.field.as_deref();
        match self.0.iter().find(|(name, _)| Some(*name) == named) {
            Some((_, text)) => read(text, &[], retrieval, about),
            None => read(&self.text(), &[], retrieval, about),
        }
    }

    /// All fields in one text, each under its name.
    pub fn text(&self) -> String {
        let parts: Vec<String> =
            self.0.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        parts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields::new([
            ("name", Some("Ada".to_owned())),
            ("scenario", None),
            ("description", Some("Über engines, she wrote notes.".to_owned())),
        ])
    }

    #[test]
    fn a_match_names_its_field_and_offset() {
        let (text, loc) = fields().snippet(&FtsQuery::parse("engine"), |_| true, 300);
        assert_eq!(text.as_deref(), Some("Über engines, she wrote notes."));
        let loc = loc.unwrap();
        assert_eq!((loc.field.as_deref(), loc.approx_offset), (Some("description"), Some(5)));
    }

    #[test]
    fn a_field_that_was_not_searched_is_not_shown_as_the_match() {
        let (_, loc) = fields().snippet(&FtsQuery::parse("engine"), |name| name == "name", 300);
        assert_eq!(loc, None);
    }

    #[test]
    fn a_match_in_the_name_shows_what_the_title_does_not() {
        let (text, loc) = fields().snippet(&FtsQuery::parse("ada"), |_| true, 300);
        assert_eq!(text.as_deref(), Some("Über engines, she wrote notes."));
        assert_eq!(loc.and_then(|loc| loc.field).as_deref(), Some("name"));
    }
}
