//! Names of topics: the words that tell their items from the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    number::to_f64,
    phrases::Phrase,
    terms::{Term, TermIndex},
};

/// Maximum number of words and phrases of a topic.
const MAX_WORDS: usize = 6;
/// Maximum number of terms that become words.
const MAX_CANDIDATES: usize = 24;
/// Minimum share of the items of a topic that have a word.
const MIN_SHARE: f64 = 0.1;
/// A word that more of the items have is a name alone.
const NAMING_SHARE: f64 = 0.6;
/// Weight of an item that has a word only in its text, relative to one that has it in its title or
/// tags.
const TEXT_WEIGHT: f64 = 0.2;
/// Number of items that are added to the others, so that a topic of all items has a name.
const SMOOTHING: f64 = 10.0;

/// Most distinctive words of a topic, the first ones of which are its name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TopicName {
    pub(super) words: Vec<String>,
    /// Number of words that are the name.
    name_words: usize,
}

/// A term of a topic.
struct Candidate {
    term: Term,
    /// Share of the items that have it.
    share: f64,
    score: f64,
}

impl TopicName {
    /// Names the topic with these items.
    pub(super) fn of_items(items: &[usize], index: &TermIndex) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut used: BTreeSet<Term> = BTreeSet::new();
        let mut leading_share = 0.0;
        for Candidate { term, share, .. } in rank_terms(items, index) {
            let Some(phrase) = Phrase::around(term, index, items) else { continue };
            let is_known =
                words.iter().any(|word| word.to_lowercase() == phrase.written.to_lowercase());
            if words.len() == MAX_WORDS || is_known || !used.is_disjoint(&phrase.terms) {
                continue;
            }
            if words.is_empty() {
                leading_share = share;
            }
            used.extend(phrase.terms);
            words.push(phrase.written);
        }
        let name_words = if leading_share >= NAMING_SHARE { 1 } else { 2 };
        Self { words, name_words }
    }

    /// Returns the name; `None` without words.
    pub(super) fn to_text(&self) -> Option<String> {
        let name = self.words.iter().take(self.name_words).cloned().collect::<Vec<_>>().join(", ");
        (!name.is_empty()).then(|| capitalize(&name))
    }

    /// Adds words to the names that several topics have.
    pub(super) fn make_distinct(names: &mut [Self]) {
        let mut counts: HashMap<Option<String>, usize> = HashMap::new();
        for name in names.iter() {
            *counts.entry(name.to_text()).or_default() += 1;
        }
        for name in names {
            if counts.get(&name.to_text()).is_some_and(|count| *count > 1) {
                name.name_words += 1;
            }
        }
    }
}

/// Returns the most distinctive terms of some items, best first.
///
/// The score is the share of the items with a term, times the logarithm of its ratio to the share of
/// all other items: the term's part of the Kullback-Leibler divergence.
fn rank_terms(items: &[usize], index: &TermIndex) -> Vec<Candidate> {
    let mut counts: BTreeMap<Term, (usize, f64)> = BTreeMap::new();
    for item in items.iter().filter_map(|item| index.items.get(*item)) {
        for (term, is_in_name) in item.terms() {
            let (count, weight) = counts.entry(term).or_default();
            *count += 1;
            *weight += if is_in_name { 1.0 } else { TEXT_WEIGHT };
        }
    }
    let (size, all) = (to_f64(items.len()), to_f64(index.items.len()));
    let rank = |(term, (count, weight)): (Term, (usize, f64))| {
        let others = to_f64(index.document_count(term).saturating_sub(count));
        let elsewhere = (others + 0.5) / (all - size + SMOOTHING);
        let share = to_f64(count) / size;
        let score = weight / size * (share / elsewhere).ln();
        let is_frequent = share >= MIN_SHARE && (count > 1 || items.len() == 1);
        (is_frequent && score > 0.0).then_some(Candidate { term, share, score })
    };
    let mut ranked: Vec<Candidate> = counts.into_iter().filter_map(rank).collect();
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.term.cmp(&other.term)));
    ranked.truncate(MAX_CANDIDATES);
    ranked
}

fn capitalize(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::map_input::MapInput, *};

    fn names(titles: &[&str], groups: &[&[usize]]) -> Vec<TopicName> {
        let inputs: Vec<MapInput> =
            titles.iter().map(|title| MapInput::for_test(title, "")).collect();
        let index = TermIndex::new(&inputs);
        groups.iter().map(|items| TopicName::of_items(items, &index)).collect()
    }

    #[test]
    fn names_are_distinctive_words_and_phrases() {
        let titles = [
            "The notes on sourdough bread",
            "Notes on sourdough bread and rye",
            "Sourdough bread rolls",
            "Notes on borrow checker errors",
            "The borrow checker",
            "Notes: borrow checker and lifetimes",
        ];
        let found = names(&titles, &[&[0, 1, 2], &[3, 4, 5], &[]]);
        assert_eq!(found[0].to_text().as_deref(), Some("Sourdough bread"));
        assert_eq!(found[1].to_text().as_deref(), Some("Borrow checker"));
        assert!(!found[0].words.iter().any(|word| word == "on"), "{found:?}");
        assert_eq!((found[2].to_text(), found[2].words.len()), (None, 0));
    }

    #[test]
    fn topic_of_all_items_has_a_name() {
        let found = names(&["Rye bread", "Wheat bread", "Violin"], &[&[0, 1, 2]]);
        assert_eq!(found[0].to_text().as_deref(), Some("Bread"));
    }

    #[test]
    fn equal_names_are_made_distinct() {
        let name = |words: [&str; 2]| TopicName {
            words: words.map(str::to_owned).to_vec(),
            name_words: 1,
        };
        let mut names = [name(["rust", "release"]), name(["rye", "oven"]), name(["rust", "async"])];
        TopicName::make_distinct(&mut names);
        let texts = names.map(|name| name.to_text().unwrap());
        assert_eq!(texts, ["Rust, release", "Rye", "Rust, async"]);
    }

    #[test]
    fn names_exist_in_scripts_without_spaces() {
        let titles =
            ["图书馆的历史", "城市图书馆", "新图书馆", "足球比赛", "足球俱乐部", "足球的规则"];
        let found = names(&titles, &[&[0, 1, 2], &[3, 4, 5]]);
        assert_eq!(found[0].to_text().as_deref(), Some("图书馆"));
        assert_eq!(found[1].to_text().as_deref(), Some("足球"));
    }
}
