//! What the signs of a query are read as: its quotes, minus signs and `NOT`.

use std::collections::HashSet;

use super::query_parts::{QueryPart, QueryPartKind, quoted_texts};

/// Maximum number of parts of a query that are named, of each kind.
const MAX_NAMED: usize = 10;

/// Maximum length of a named part, in characters.
const MAX_NAMED_CHARS: usize = 80;

/// Parts of a query that have signs, by what they mean for the search. Long queries name the first
/// ones only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuerySigns {
    /// Phrases, and words with a field name, that must occur.
    pub required: Vec<String>,
    /// Words and phrases that must not occur.
    pub excluded: Vec<String>,
    /// Quoted phrases that need not occur because no result has them.
    pub loosened: Vec<String>,
    /// Signs that are ignored: flags of programs, and quotes in long texts.
    pub ignored: Vec<String>,
    /// Whole texts of the quoted phrases that must occur in any field.
    pub(crate) required_quotes: Vec<String>,
    /// Whole words that are excluded by a minus.
    pub(crate) excluded_by_minus: Vec<String>,
}

/// How the signs of a query are read, where they can be read in several ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignReading {
    /// Quoted phrases that need not occur.
    pub(crate) loosened: HashSet<String>,
    /// Whether words after a minus may be excluded.
    pub(crate) minus_excludes: bool,
}

impl Default for SignReading {
    fn default() -> Self {
        Self { loosened: HashSet::new(), minus_excludes: true }
    }
}

impl SignReading {
    /// Returns the part as it is read in this query.
    pub(crate) fn read<'a>(&self, part: QueryPart<'a>, is_question: bool) -> QueryPart<'a> {
        let kind = match (part.kind, part.field) {
            (QueryPartKind::Quoted, None) if is_question => QueryPartKind::OptionalQuoted,
            (QueryPartKind::Quoted, None) if self.loosened.contains(part.text) => {
                QueryPartKind::LoosenedQuoted
            }
            (QueryPartKind::ExcludedByMinus, _) if !self.minus_excludes => QueryPartKind::PlainSign,
            (kind, _) => kind,
        };
        QueryPart { kind, ..part }
    }
}

impl QuerySigns {
    /// Returns whether no sign has a meaning.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a part of a query.
    pub(crate) fn add(&mut self, part: &QueryPart<'_>) {
        let text = part.text;
        match (part.kind, part.field) {
            (QueryPartKind::Words, None) => {}
            (QueryPartKind::Words, Some(field)) => {
                name_part(&mut self.required, &format!("{}:{text}", field.query_name()));
            }
            (QueryPartKind::Quoted, field) => {
                if field.is_none() {
                    self.required_quotes.push(text.to_owned());
                }
                name_part(&mut self.required, text);
            }
            (QueryPartKind::OptionalQuoted, _) => {
                name_part(&mut self.ignored, &format!("\"{text}\""));
            }
            (QueryPartKind::LoosenedQuoted, _) => name_part(&mut self.loosened, text),
            (QueryPartKind::PlainSign, _) if text == "NOT" => name_part(&mut self.ignored, text),
            (QueryPartKind::PlainSign, _) => name_part(&mut self.ignored, &format!("-{text}")),
            (QueryPartKind::ExcludedByMinus, _) => {
                self.excluded_by_minus.push(text.to_owned());
                name_part(&mut self.excluded, text);
            }
            (QueryPartKind::Excluded | QueryPartKind::ExcludedQuoted, _) => {
                name_part(&mut self.excluded, text);
            }
        }
    }

    /// Adds the quotes of a text that is too long to be a query.
    pub(crate) fn add_quotes_of_prose(&mut self, text: &str) {
        for quoted in quoted_texts(text).take(MAX_NAMED) {
            name_part(&mut self.ignored, &format!("\"{quoted}\""));
        }
    }
}

/// Adds a part to a list, if it is not in it and there is room.
fn name_part(list: &mut Vec<String>, part: &str) {
    let mut name: String = part.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = name.char_indices().nth(MAX_NAMED_CHARS) {
        name.truncate(at);
        name.push('…');
    }
    if list.len() < MAX_NAMED && !name.is_empty() && !list.contains(&name) {
        list.push(name);
    }
}
