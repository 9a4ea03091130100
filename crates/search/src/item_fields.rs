//! Items that consist of several text fields: characters and prompts.

use std::sync::Arc;

use vademecum_model::{Highlight, Loc, Retrieval};

use super::{Excerpt, FtsQuery, Highlighter, Passage, TextMatches, read_passage};

/// Field that names an item and is shown as its title.
const NAME_FIELD: &str = "name";

/// Non-empty fields of an item, most informative first.
#[derive(Clone, Debug, Default)]
pub struct ItemFields(Vec<(&'static str, String)>);

/// Search result details of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemExcerpt {
    /// Plain text around the match, cut between words.
    pub snippet: Option<String>,
    /// Location of the match.
    pub loc: Option<Loc>,
    /// Matching ranges of the snippet.
    pub highlights: Option<Vec<Highlight>>,
    /// Query words that occur in the item.
    pub matched: Option<Vec<String>>,
}

impl ItemFields {
    /// Keeps the fields that are not blank.
    pub fn new(fields: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Self {
        let filled = fields
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .filter(|(_, text)| !text.trim().is_empty());
        Self(filled.collect())
    }

    /// Returns an excerpt of the field with the densest match.
    ///
    /// Only fields accepted by `searched` are considered. If none of them matches, the excerpt is
    /// the beginning of the item.
    pub fn best_excerpt(
        &self,
        finder: &Highlighter<'_>,
        searched: impl Fn(&str) -> bool,
    ) -> ItemExcerpt {
        let mut all = TextMatches::default();
        let mut best: Option<(&'static str, &str, TextMatches)> = None;
        for (name, text) in self.0.iter().filter(|(name, _)| searched(name)) {
            let found = finder.find_matches(text);
            all.merge_phrases(&found);
            // The name is already shown as the title, so another field wins a tie.
            let is_better = |(known, _, best): &(&str, &str, TextMatches)| {
                found.is_denser_than(best)
                    || *known == NAME_FIELD
                        && found.densest.is_some()
                        && !best.is_denser_than(&found)
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
            Some((name, text, found)) if name != NAME_FIELD => {
                Some(finder.make_excerpt(text, found.densest))
            }
            Some(_) | None => self.leading_text().map(|text| finder.make_excerpt(text, None)),
        };
        let matched = finder.matched_words(&all, &[]);
        let Some(Excerpt { snippet, highlights }) = excerpt else {
            return ItemExcerpt { loc, matched, ..ItemExcerpt::default() };
        };
        ItemExcerpt { snippet: Some(snippet), loc, highlights, matched }
    }

    /// Returns the first field other than the name.
    fn leading_text(&self) -> Option<&str> {
        let text = self.0.iter().find(|(name, _)| *name != NAME_FIELD).or_else(|| self.0.first());
        text.map(|(_, text)| text.as_str())
    }

    /// Reads a passage from the field that `loc` names, or from all fields joined, each with its
    /// name.
    pub fn read_passage(&self, retrieval: &Retrieval, about: &[Arc<FtsQuery>]) -> Passage {
        let named = retrieval.loc.field.as_deref();
        match self.0.iter().find(|(name, _)| Some(*name) == named) {
            Some((_, text)) => read_passage(text, &[], retrieval, about),
            None => read_passage(&self.joined_text(), &[], retrieval, about),
        }
    }

    /// Joins all fields into one text, each with its name.
    pub fn joined_text(&self) -> String {
        let parts: Vec<String> =
            self.0.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        parts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> ItemFields {
        ItemFields::new([
            ("name", Some("Ada".to_owned())),
            ("scenario", None),
            ("description", Some("Über engines, she wrote notes.".to_owned())),
        ])
    }

    fn excerpt_of(query: &str, searched: impl Fn(&str) -> bool) -> (Option<String>, Option<Loc>) {
        let query = FtsQuery::parse(query);
        let shown = fields().best_excerpt(&Highlighter::new(&query, 300), searched);
        (shown.snippet, shown.loc)
    }

    #[test]
    fn match_reports_field_and_offset() {
        let (text, loc) = excerpt_of("engine", |_| true);
        assert_eq!(text.as_deref(), Some("Über engines, she wrote notes."));
        let loc = loc.unwrap();
        assert_eq!((loc.field.as_deref(), loc.approx_offset), (Some("description"), Some(5)));
    }

    #[test]
    fn unsearched_field_is_never_the_match() {
        let (_, loc) = excerpt_of("engine", |name| name == "name");
        assert_eq!(loc, None);
    }

    #[test]
    fn name_match_shows_another_field() {
        let (text, loc) = excerpt_of("ada", |_| true);
        assert_eq!(text.as_deref(), Some("Über engines, she wrote notes."));
        assert_eq!(loc.and_then(|loc| loc.field).as_deref(), Some("name"));
    }

    #[test]
    fn field_with_densest_match_is_shown() {
        let (_, loc) = excerpt_of("ada engines notes", |_| true);
        assert_eq!(loc.and_then(|loc| loc.field).as_deref(), Some("description"));
    }

    #[test]
    fn name_field_loses_ties() {
        let fields = ItemFields::new([
            ("name", Some("Ada".to_owned())),
            ("description", Some("This is Ada.".to_owned())),
        ]);
        let query = FtsQuery::parse("ada");
        let loc = fields.best_excerpt(&Highlighter::new(&query, 300), |_| true).loc;
        assert_eq!(loc.and_then(|loc| loc.field).as_deref(), Some("description"));
    }
}
