//! Parsing of search text into phrases that FTS5 always accepts.
//!
//! A match contains any of the words, best match first, because the typical query is a
//! natural-language question. Quoted phrases must occur exactly as written, except in a long
//! question. Words with a field name must occur in that field, as in `title:bread`. Words after
//! `NOT`, and words after a minus at the end of a short query, as in `bread -rye`, must not occur.
//! `knead*` matches every word that starts with `knead`. All other operators are treated as words,
//! and so is everything in a text too long to be a query.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use vademecum_fts5::{
    StopWords, WordKind, detect_query_language, exact_token, for_each_word, is_any_stop_word,
    is_digit_space,
};
use vademecum_model::{CorpusStatistics, Field};

use super::{
    phrase::{Phrase, QueryLanguage, QueryWord, word_key},
    query_parts::{
        QueryPart, QueryPartKind, is_prose, is_question, split_parts, split_plain_words,
    },
    query_signs::{QuerySigns, SignReading},
    query_words::{TokenWord, TokenWords, any_form, exact_word, parse_phrase, parse_token_phrase},
};

/// Maximum number of phrases of one kind in a query. More words cost time and do not change the
/// first results.
const MAX_PHRASES: usize = 256;

/// A parsed search query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FtsQuery {
    typed: String,
    any: Vec<Phrase>,
    required: Vec<Phrase>,
    excluded: Vec<Phrase>,
    /// Folded words that may be replaced by similar stored ones.
    replaceable: HashSet<String>,
    reading: SignReading,
    signs: QuerySigns,
}

impl FtsQuery {
    /// Parses search text. Text without words gives an empty query, which matches nothing.
    pub fn parse(text: &str) -> Self {
        Self::parse_as(text, SignReading::default())
    }

    fn parse_as(text: &str, reading: SignReading) -> Self {
        let mut query = Self { typed: text.to_owned(), reading, ..Self::default() };
        let text = &join_digit_groups(text);
        let stop_words = StopWords::detect(text);
        let mut dropped = Vec::new();
        let parts = if is_prose(text) {
            query.signs.add_quotes_of_prose(text);
            split_plain_words(text).collect()
        } else {
            split_parts(text)
        };
        let is_question = is_question(&parts);
        let has_noun_capitals = detect_query_language(text) == Some("de");
        for (number, part) in parts.into_iter().enumerate() {
            let part = query.reading.read(part, is_question);
            query.signs.add(&part);
            let QueryPart { kind, field, text } = part;
            match (kind, field) {
                (QueryPartKind::Words, None) => {
                    let capitals = usize::from(number == 0 || has_noun_capitals);
                    query.replaceable.extend(replaceable_words(text, capitals));
                    query.add_words(text, stop_words, &mut dropped);
                }
                (QueryPartKind::PlainSign, _) => {
                    query.add_words(text, stop_words, &mut dropped);
                }
                (QueryPartKind::OptionalQuoted | QueryPartKind::LoosenedQuoted, _) => {
                    query.any.extend(parse_phrase(text, exact_word));
                    query.add_words(text, stop_words, &mut dropped);
                }
                (QueryPartKind::Words, Some(_)) => {
                    let words = parse_token_phrase(text).map(|words| Phrase { field, ..words });
                    query.required.extend(words);
                }
                (QueryPartKind::Quoted, _) => {
                    let words =
                        parse_phrase(text, exact_word).map(|words| Phrase { field, ..words });
                    query.required.extend(words);
                }
                (QueryPartKind::Excluded | QueryPartKind::ExcludedByMinus, _) => {
                    query.excluded.extend(parse_token_phrase(text));
                }
                (QueryPartKind::ExcludedQuoted, _) => {
                    query.excluded.extend(parse_phrase(text, exact_word));
                }
            }
        }
        if query.is_empty() {
            // Only stop words remain, so they are the search terms.
            query.any = dropped;
        }
        query.set_language(QueryLanguage::detect(text));
        query.merge_repetitions();
        query
    }

    /// Returns what the signs of the text were read as.
    pub fn signs(&self) -> &QuerySigns {
        &self.signs
    }

    /// Returns the query with the words after a minus searched for instead of excluded, and these
    /// words. `None` if it has none.
    pub fn with_minus_as_word(&self) -> Option<(Self, Vec<String>)> {
        let words = self.signs.excluded_by_minus.clone();
        let reading = SignReading { minus_excludes: false, ..self.reading.clone() };
        (!words.is_empty()).then(|| (Self::parse_as(&self.typed, reading), words))
    }

    /// Returns the query that finds more if this one finds nothing: first without the quotes around
    /// phrases that occur nowhere, then without any quotes, then without exclusions by a minus.
    /// `None` if there is nothing to loosen. Words after `NOT` and with a field name stay as they are.
    #[must_use]
    pub fn loosened(&self, statistics: &CorpusStatistics) -> Option<Self> {
        let counts = self.required.iter().zip(&statistics.document_frequencies);
        let nowhere: HashSet<String> = counts
            .filter(|(phrase, rows)| **rows == 0 && phrase.field.is_none())
            .map(|(phrase, _)| phrase.expression())
            .collect();
        let quoted = &self.signs.required_quotes;
        let is_nowhere = |text: &&String| {
            parse_phrase(text, exact_word).is_some_and(|it| nowhere.contains(&it.expression()))
        };
        let mut loose: Vec<String> = quoted.iter().filter(is_nowhere).cloned().collect();
        if loose.is_empty() {
            loose.clone_from(quoted);
        }
        if loose.is_empty() {
            return self.with_minus_as_word().map(|(query, _)| query);
        }
        let mut reading = self.reading.clone();
        reading.loosened.extend(loose);
        Some(Self::parse_as(&self.typed, reading))
    }

    fn set_language(&mut self, language: Option<QueryLanguage>) {
        let phrases = [&mut self.required, &mut self.any, &mut self.excluded];
        for word in phrases.into_iter().flatten().flat_map(|phrase| &mut phrase.words) {
            if let QueryWord::Inflected(word) = word {
                word.language = language;
            }
        }
    }

    /// Returns whether the query has no search terms.
    pub fn is_empty(&self) -> bool {
        self.any.is_empty() && self.required.is_empty()
    }

    /// Returns the text as typed.
    pub fn typed(&self) -> &str {
        &self.typed
    }

    /// Returns whether the query has words to exclude only.
    pub fn has_only_exclusions(&self) -> bool {
        self.is_empty() && !self.excluded.is_empty()
    }

    /// Returns the folded words of the query that occur in no document and may be replaced: no quoted
    /// words, names, and words with digits, and none that another language has as a stop word.
    pub fn unmatched_words(&self, statistics: &CorpusStatistics) -> Vec<String> {
        let counts = self.phrases().zip(&statistics.document_frequencies);
        let nowhere = counts.filter(|(phrase, matches)| **matches == 0 && !phrase.prefix);
        let labels: HashSet<String> = nowhere
            .filter(|(phrase, _)| phrase.words.len() == 1)
            .map(|(phrase, _)| Phrase { field: None, ..phrase.clone() }.expression())
            .collect();
        let mut words = Vec::new();
        for_each_word(&self.typed, |word| {
            let nowhere = labels.contains(&format!("\"{}\"", word_key(word.folded)))
                || labels.contains(&format!("\"{}\"", exact_token(word.folded)));
            let is_replaceable = nowhere && self.replaceable.contains(word.folded);
            if is_replaceable && !words.iter().any(|known| known == word.folded) {
                words.push(word.folded.to_owned());
            }
            ControlFlow::Continue(())
        });
        words
    }

    /// Returns the query with corrected spelling, or `None` if nothing changes. `corrections` maps
    /// folded query words to folded stored words.
    #[must_use]
    pub fn with_corrections(&self, corrections: &HashMap<String, String>) -> Option<Self> {
        let mut corrected = self.clone();
        for phrase in corrected.required.iter_mut().chain(&mut corrected.any) {
            for word in &mut phrase.words {
                let QueryWord::Inflected(inflected) = &*word else { continue };
                let [typed] = inflected.typed.as_slice() else { continue };
                if let Some(stored) = corrections.get(&typed.folded) {
                    *word = QueryWord::inflected(stored, None).with_language(inflected.language);
                }
            }
        }
        corrected.merge_repetitions();
        (corrected != *self).then_some(corrected)
    }

    /// Returns the query as typed with some words replaced. `corrections` maps folded words to stored
    /// ones.
    pub fn typed_with_corrections(&self, corrections: &HashMap<String, String>) -> String {
        let mut text = String::new();
        let mut copied = 0;
        for_each_word(&self.typed, |word| {
            let is_whole = !word.kind.has_parts() && word.range.start >= copied;
            if let Some(stored) = corrections.get(word.folded).filter(|_| is_whole) {
                text.push_str(self.typed.get(copied..word.range.start).unwrap_or_default());
                text.push_str(stored);
                copied = word.range.end;
            }
            ControlFlow::Continue(())
        });
        text + self.typed.get(copied..).unwrap_or_default()
    }

    /// Returns the whole query as one expression over all columns, equal for queries that find the
    /// same. Words of which any form may occur are stems in it.
    pub fn expression(&self) -> String {
        let list = |phrases: &[Phrase], operator: &str| {
            let repeated = |phrase: &Phrase| vec![phrase.expression(); phrase.repetitions];
            phrases.iter().flat_map(repeated).collect::<Vec<_>>().join(operator)
        };
        let required = list(&self.required, " AND ");
        let included = match (self.required.is_empty(), self.any.is_empty()) {
            (true, _) => format!("({})", list(&self.any, " OR ")),
            (false, true) => required,
            (false, false) => format!("{required} AND ({required} OR {})", list(&self.any, " OR ")),
        };
        if self.excluded.is_empty() {
            return included;
        }
        format!("({included}) NOT ({})", list(&self.excluded, " OR "))
    }

    /// Returns all phrases that a match can contain, required ones first. Weights and statistics
    /// use this order.
    pub fn phrases(&self) -> impl Iterator<Item = &Phrase> {
        self.required.iter().chain(&self.any)
    }

    /// Returns the number of required phrases.
    pub fn required(&self) -> usize {
        self.required.len()
    }

    /// Returns the phrases that a match must not contain.
    pub fn excluded(&self) -> &[Phrase] {
        &self.excluded
    }

    /// Adds the words of one space-separated token. Words joined by punctuation are added
    /// separately; those of a compound name such as `foo_bar` are also added as one phrase.
    fn add_words(&mut self, text: &str, stop_words: StopWords, dropped: &mut Vec<Phrase>) {
        let pieces = TokenWords::split(text);
        for piece in &pieces.0 {
            match piece {
                TokenWord::Word(word) => {
                    let is_dropped = !word.prefix && stop_words.contains(word.written());
                    let list = if is_dropped { &mut *dropped } else { &mut self.any };
                    list.push(if word.prefix {
                        Phrase::beginning(&word.folded)
                    } else {
                        QueryWord::inflected(&word.folded, word.accented.as_deref()).into()
                    });
                }
                TokenWord::Name { name, parts } => {
                    self.any.push(QueryWord::inflected(name, None).into());
                    if parts.len() > 1 {
                        self.any.push(Phrase { words: parts.clone(), ..Phrase::default() });
                    }
                }
                TokenWord::Joined(phrase) => self.any.push(phrase.clone()),
                TokenWord::Run(run) => match run.as_slice() {
                    [] => {}
                    [single] => self.any.push(QueryWord::Exact(single.clone()).into()),
                    several => {
                        let pairs = several.windows(2).map(|pair| QueryWord::Exact(pair.concat()));
                        self.any.extend(pairs.map(Phrase::from));
                    }
                },
            }
        }
        if pieces.0.len() > 1 && is_compound_name(text) {
            self.any.extend(parse_phrase(text, any_form));
        }
    }

    /// Merges repeated phrases, counts the repetitions and truncates each list to the maximum.
    fn merge_repetitions(&mut self) {
        for phrases in [&mut self.required, &mut self.any, &mut self.excluded] {
            let mut positions: HashMap<(String, Option<Field>), usize> = HashMap::new();
            let mut kept: Vec<Phrase> = Vec::new();
            for phrase in phrases.drain(..) {
                let label = (phrase.expression(), phrase.field);
                let place = *positions.entry(label).or_insert(kept.len());
                match kept.get_mut(place) {
                    Some(known) => known.merge(phrase),
                    None => kept.push(phrase),
                }
            }
            kept.truncate(MAX_PHRASES);
            *phrases = kept;
        }
    }
}

/// Returns whether words joined by punctuation are a compound name: an identifier, version, address
/// or path. Hyphenated words, words joined by slashes, and abbreviations such as `e.g.` are not:
/// treating them as phrases lowered result quality in every measurement.
fn is_compound_name(text: &str) -> bool {
    let inside = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    let abbreviated = |part: &str| part.len() < 2 && part.starts_with(char::is_alphabetic);
    inside.contains(['_', '&', '@', '\\'])
        || inside.contains("::")
        || inside.contains("//")
        || (inside.contains('.') && !inside.split('.').any(abbreviated))
}

/// Returns the words of a part that may be misspelled: neither words with digits, nor names, which
/// have more than `capitals` capitals, nor stop words of any language. The first word of a text and
/// German nouns have a capital without being names.
fn replaceable_words(text: &str, capitals: usize) -> Vec<String> {
    let mut words = Vec::new();
    for_each_word(text, |word| {
        let written = text.get(word.range.clone()).unwrap_or_default();
        let is_name = written.chars().filter(|letter| letter.is_uppercase()).count() > capitals;
        let has_digit = word.folded.contains(|letter: char| letter.is_numeric());
        let is_known = is_any_stop_word(word.accented.unwrap_or(word.folded));
        if word.kind == WordKind::Plain && !is_name && !has_digit && !is_known {
            words.push(word.folded.to_owned());
        }
        ControlFlow::Continue(())
    });
    words
}

/// Replaces the spaces between groups of digits, so that `12 500` with a thin space is one number.
fn join_digit_groups(text: &str) -> Cow<'_, str> {
    if !text.contains(is_digit_space) {
        return text.into();
    }
    let mut joined = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        let is_after_digit = joined.ends_with(|last: char| last.is_ascii_digit());
        let is_group = rest.as_str().bytes().take_while(u8::is_ascii_digit).count() == 3;
        let is_inside = is_digit_space(letter) && is_after_digit && is_group;
        joined.push(if is_inside { '\'' } else { letter });
    }
    joined.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_model::FtsColumn;

    fn expression(text: &str) -> String {
        FtsQuery::parse(text).expression()
    }

    #[test]
    fn query_matches_any_word_except_stop_words() {
        assert_eq!(expression("How do I knead the dough?"), r#"("knead" OR "dough")"#);
        assert_eq!(
            expression("to be or not to be"),
            r#"("to" OR "to" OR "be" OR "be" OR "or" OR "not")"#
        );
        assert_eq!(
            expression("Wie heißt der König von Spanien?"),
            r#"("heisst" OR "konig" OR "spanien")"#
        );
        assert_eq!(expression("die hard"), r#"("die" OR "hard")"#);
    }

    #[test]
    fn query_treats_unknown_operators_as_words() {
        assert_eq!(expression("king AND"), r#"("king")"#);
        assert_eq!(expression("OR"), r#"("or")"#);
        assert_eq!(expression("a:b"), r#"("b")"#);
        assert_eq!(expression("NEAR(x, 5)"), r#"("near" OR "x" OR "5")"#);
        assert_eq!(expression("\"unbalanced"), r#"("unbalanc")"#);
    }

    #[test]
    fn query_matches_compound_names_and_parts() {
        assert_eq!(expression("fork-bar"), r#"("fork" OR "bar")"#);
        assert_eq!(expression("foo_bar"), r#"("foo" OR "bar" OR "foo bar")"#);
        assert_eq!(expression("readFiles"), r#"("readfil" OR "read file")"#);
        assert_eq!(expression("C++ R&D"), r#"("c++" OR "r" OR "r d")"#);
        assert_eq!(expression("v1.2.3"), r#"("v1" OR "2" OR "3" OR "v1 2 3")"#);
        assert_eq!(expression("don't panic"), r#"("panic")"#);
    }

    #[test]
    fn query_matches_all_spellings_of_word() {
        assert_eq!(expression("e-mail"), r#"(("email" OR "e mail"))"#);
        assert_eq!(expression("the U.S.A."), r#"(("usa" OR "u s a"))"#);
        assert_eq!(expression("12\u{202f}500"), r#"(("12500" OR "12 500"))"#);
        assert_eq!(expression("iPhone15"), r#"(("iphone15" OR "i phone 15" OR "iphon 15"))"#);
        assert_eq!(expression("re-use"), r#"("reus" OR "use")"#);
        assert_eq!(expression("bread -e-mail"), r#"(("bread")) NOT (("email" OR "e mail"))"#);
        assert_eq!(expression("title:re-use"), r#"("reus" OR "re use")"#);
        assert_eq!(expression("\"e-mail\""), r#""e =mail""#);
        assert_eq!(expression("👍🏽 -🙂"), r#"(("👍")) NOT ("🙂")"#);
    }

    #[test]
    fn quoted_phrases_are_required_and_exclusions_forbidden() {
        assert_eq!(
            expression(r#""rye bread" starter -yeast"#),
            r#"("=rye =bread" AND ("=rye =bread" OR "starter")) NOT ("yeast")"#
        );
        assert_eq!(expression(r#""rye breads""#), r#""=rye =breads""#);
        assert!(FtsQuery::parse("-yeast").has_only_exclusions());
        assert!(FtsQuery::parse("NOT yeast").has_only_exclusions());
        assert_eq!(expression("bread NOT yeast"), expression("bread -yeast"));
        assert_eq!(expression("bread NOT"), r#"("bread")"#);
        assert_eq!(expression(r#"bread -"baking soda""#), r#"(("bread")) NOT ("=baking =soda")"#);
        assert_eq!(expression("„Model C“-Schulen"), r#""=model c" AND ("=model c" OR "schulen")"#);
        assert_eq!(expression(r#""C++ readFiles""#), r#""c++ =read =files""#);
    }

    #[test]
    fn flags_and_hyphens_exclude_nothing() {
        for (text, ignored) in [
            ("wc -l shows unexpected results", "-l"),
            ("less -FX", "-FX"),
            ("docker run -it", "-it"),
            ("-wheat bread", "-wheat"),
            ("gcc main.c -DNAME=x", "-DNAME=x"),
            ("freezer at -40C", "-40C"),
            ("git log --oneline -graph", "-graph"),
            ("Miten Obsidian Publish -sivusto julkaistaan?", "-sivusto"),
            ("Mikä on Obsidian Publish -sivustosi?", "-sivustosi?"),
            ("how do I find all of the large files by -name", "-name"),
            ("column IS NOT NULL", "NOT"),
        ] {
            let query = FtsQuery::parse(text);
            assert!(query.excluded().is_empty(), "{text}");
            assert_eq!(query.signs().ignored, [ignored], "{text}");
        }
        for text in ["bread -rye", "bread -rye -wheat", "bread -🙂", "bread -e-mail", "bread -rye*"]
        {
            assert!(!FtsQuery::parse(text).excluded().is_empty(), "{text}");
        }
    }

    #[test]
    fn query_without_matches_is_loosened_in_steps() {
        let counts = |document_frequencies: Vec<u64>| CorpusStatistics {
            document_frequencies,
            ..CorpusStatistics::default()
        };
        let query = FtsQuery::parse(r#""rye bread" "oat cake" oven -yeast"#);
        let first = query.loosened(&counts(vec![4, 0, 9])).unwrap();
        assert_eq!(first.signs().loosened, ["oat cake"]);
        assert_eq!((first.required(), first.excluded().len()), (1, 1));
        let second = first.loosened(&counts(vec![4])).unwrap();
        assert_eq!(second.signs().loosened, ["rye bread", "oat cake"]);
        assert_eq!((second.required(), second.excluded().len()), (0, 1));
        let third = second.loosened(&counts(Vec::new())).unwrap();
        assert_eq!(third.signs().ignored, ["-yeast"]);
        assert!(third.excluded().is_empty() && third.loosened(&counts(Vec::new())).is_none());
        for strict in ["bread NOT yeast", "title:bread", "bread"] {
            assert_eq!(FtsQuery::parse(strict).loosened(&counts(vec![0])), None, "{strict}");
        }
    }

    #[test]
    fn named_signs_are_bounded() {
        let numbers: Vec<String> = (0..9_000).map(|number| number.to_string()).collect();
        let many = format!("\"東{}\"", numbers.join("\"\"東"));
        let signs = FtsQuery::parse(&many).signs().clone();
        assert_eq!(signs.required.len(), 10);
        let long = format!("\"{}\" {}", "word ".repeat(99), "x ".repeat(40));
        let signs = FtsQuery::parse(&long).signs().clone();
        assert_eq!((signs.ignored.len(), signs.ignored[0].chars().count()), (1, 81));
    }

    #[test]
    fn prefix_matches_plain_and_inflected_words() {
        assert_eq!(expression("Knead* dough"), r#"(("knead" * OR "=knead" *) OR "dough")"#);
        assert_eq!(expression("a* *"), r#"("a")"#);
    }

    #[test]
    fn named_field_is_required() {
        let columns = [
            FtsColumn { name: "title", field: Field::Title, weight: 1.0 },
            FtsColumn { name: "content", field: Field::Text, weight: 1.0 },
        ];
        let within = |text: &str| {
            let query = FtsQuery::parse(text);
            let phrase = query.phrases().next().cloned();
            (
                query.required(),
                phrase.and_then(|it| it.restrict_to_columns(it.expression(), &columns, &[])),
            )
        };
        assert_eq!(within("title:Baking"), (1, Some(r#"{title} : ("bake")"#.to_owned())));
        assert_eq!(
            within(r#"body:"Baking it""#),
            (1, Some(r#"{content} : ("=baking it")"#.to_owned()))
        );
        assert_eq!(
            within("name:knead*"),
            (1, Some(r#"{title} : (("knead" * OR "=knead" *))"#.to_owned()))
        );
        assert_eq!(within("tags:x"), (1, None));
        assert_eq!(within("recipe:x").0, 0);
    }

    #[test]
    fn unspaced_text_matches_by_character_pairs() {
        assert_eq!(expression("東京都"), r#"("東京" OR "京都")"#);
        assert_eq!(expression("水"), r#"("水")"#);
        assert_eq!(expression("\"東京都\""), r#""東 京 都""#);
    }

    #[test]
    fn query_without_words_is_empty() {
        for text in ["", "*", "  ", "\u{fe0f}", "\"\"", "-", "\0", "()"] {
            assert!(FtsQuery::parse(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn query_truncates_excess_phrases() {
        let long: Vec<_> = (0..5_000).map(|number| format!("word{number}")).collect();
        assert_eq!(FtsQuery::parse(&long.join(" ")).any.len(), MAX_PHRASES);
        assert!(FtsQuery::parse(&long.join("-")).any.len() <= MAX_PHRASES);
    }

    #[test]
    fn fts5_accepts_every_parsed_query() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        vademecum_fts5::register(&connection).unwrap();
        connection
            .execute_batch("CREATE VIRTUAL TABLE f USING fts5 (title, b, tokenize = 'vademecum')")
            .unwrap();
        let long = "lorem \"ipsum ".repeat(700);
        let awkward = [
            "don't",
            "C++",
            "foo-bar",
            "R&D",
            "http://a.b/c?x=1#y",
            "std::vec::Vec",
            "OR",
            "king AND",
            "\"unbalanced",
            "a:b",
            "title:",
            "title:x*",
            "title:\"\"",
            "東京",
            "x\0y",
            "NOT x",
            "-x -y",
            "^a",
            "ab*",
            "{a b}: c",
            "'",
            "=x",
            long.as_str(),
        ];
        for text in awkward {
            let query = FtsQuery::parse(text);
            let count = connection.query_row(
                "SELECT count(*) FROM f WHERE f MATCH ?1",
                [query.expression()],
                |row| row.get::<_, i64>(0),
            );
            assert!(query.is_empty() || count.is_ok(), "{text}: {query:?}: {count:?}");
        }
    }
}
