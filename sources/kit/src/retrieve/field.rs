//! Items that are made of fields: characters and prompts.

use std::sync::Arc;

use super::{Excerpt, Finder, Found, FtsQuery, Passage, read};
use crate::model::{Highlight, Loc, Retrieval};

/// The field that names an item, and is shown as its title.
const NAME: &str = "name";

/// The fields of an item that have a text, most telling first.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(&'static str, String)>);

/// What a list of results shows of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// A snippet.
    pub snippet: Option<String>,
    /// Where the match is.
    pub loc: Option<Loc>,
    /// What is highlighted in the snippet.
    pub highlights: Option<Vec<Highlight>>,
    /// The words of the query that occur.
    pub matched: Option<Vec<String>>,
}

impl Fields {
    /// Keeps the fields that say something.
    pub fn new(fields: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Self {
        let filled = fields
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .filter(|(_, text)| !text.trim().is_empty());
        Self(filled.collect())
    }

    /// Shows the field in which most of the query stands together.
    ///
    /// Only the fields that `searched` accepts are looked at; where none of
    /// them holds a match, the item's beginning is shown.
    pub fn show(&self, finder: &Finder<'_>, searched: impl Fn(&str) -> bool) -> Shown {
        let mut all = Found::default();
        let mut best: Option<(&'static str, &str, Found)> = None;
        for (name, text) in self.0.iter().filter(|(name, _)| searched(name)) {
            let found = finder.look(text);
            all.add(&found);
            // The name is the title already: of equals, the other says more.
            let is_better = |(known, _, best): &(&str, &str, Found)| {
                found.is_denser_than(best)
                    || *known == NAME && found.densest.is_some() && !best.is_denser_than(&found)
            };
            if found.densest.is_some() && best.as_ref().is_none_or(is_better) {
                best = Some((*name, text.as_str(), found));
            }
        }
        let loc = best.as_ref().and_then(|(name, text, found)| {
            let start = found.densest.as_ref()?.start;
            let offset = text.get(..start).unwrap_or_default().chars().count();
            let field = Some((*name).to_owned());
            Some(Loc { approx_offset: Some(offset), field, ..Loc::default() })
        });
        let excerpt = match best {
            Some((name, text, found)) if name != NAME => Some(finder.excerpt(text, found.densest)),
            Some(_) | None => self.opening().map(|text| finder.excerpt(text, None)),
        };
        let matched = finder.matched(&all, &[]);
        let Some(Excerpt { snippet, highlights }) = excerpt else {
            return Shown { loc, matched, ..Shown::default() };
        };
        Shown { snippet: Some(snippet), loc, highlights, matched }
    }

    /// The first field that is not the name.
    fn opening(&self) -> Option<&str> {
        let text = self.0.iter().find(|(name, _)| *name != NAME).or_else(|| self.0.first());
        text.map(|(_, text)| text.as_str())
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

    fn show(query: &str, searched: impl Fn(&str) -> bool) -> (Option<String>, Option<Loc>) {
        let query = FtsQuery::parse(query);
        let shown = fields().show(&Finder::new(&query, 300), searched);
        (shown.snippet, shown.loc)
    }

    #[test]
    fn a_match_names_its_field_and_offset() {
        let (text, loc) = show("engine", |_| true);
        assert_eq!(text.as_deref(), Some("Über engines, she wrote notes."));
        let loc = loc.unwrap();
        assert_eq!((loc.field.as_deref(), loc.approx_offset), (Some("description"), Some(5)));
    }

    #[test]
    fn a_field_that_was_not_searched_is_not_shown_as_the_match() {
        let (_, loc) = show("engine", |name| name == "name");
        assert_eq!(loc, None);
    }

    #[test]
    fn a_match_in_the_name_shows_what_the_title_does_not() {
        let (text, loc) = show("ada", |_| true);
        assert_eq!(text.as_deref(), Some("Über engines, she wrote notes."));
        assert_eq!(loc.and_then(|loc| loc.field).as_deref(), Some("name"));
    }

    #[test]
    fn the_field_with_most_of_the_query_is_shown() {
        let (_, loc) = show("ada engines notes", |_| true);
        assert_eq!(loc.and_then(|loc| loc.field).as_deref(), Some("description"));
    }

    #[test]
    fn of_equal_fields_the_name_comes_last() {
        let fields = Fields::new([
            ("name", Some("Ada".to_owned())),
            ("description", Some("This is Ada.".to_owned())),
        ]);
        let query = FtsQuery::parse("ada");
        let loc = fields.show(&Finder::new(&query, 300), |_| true).loc;
        assert_eq!(loc.and_then(|loc| loc.field).as_deref(), Some("description"));
    }
}
