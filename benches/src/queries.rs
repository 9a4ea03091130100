//! Benchmark queries of four kinds, generated from the text that they search.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    ops::RangeInclusive,
    path::Path,
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use vademecum_search::FtsQuery;

use super::{Passage, stems::stem_text, text::SeededRng};

/// Number of queries generated per kind.
const QUERIES_PER_KIND: usize = 200;
/// Number of passages sampled for queries.
const SAMPLE_SIZE: usize = 5_000;
/// Matching passages per thousand for a common query.
const COMMON_PER_MILLE: RangeInclusive<usize> = 115..=145;

/// The word frequencies of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryKind {
    /// Two words that occur in 5 to 50 passages each.
    Rare,
    /// One rare, one medium and one frequent word.
    Mixed,
    /// Frequent words: about an eighth of all passages match.
    Common,
    /// Five to ten consecutive words of a sentence, including stop words.
    Question,
}

impl QueryKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Rare, Self::Mixed, Self::Common, Self::Question];

    /// Returns the name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rare => "rare",
            Self::Mixed => "mixed",
            Self::Common => "common",
            Self::Question => "question",
        }
    }
}

/// An evenly spaced sample of the passages of a library.
#[derive(Debug)]
pub struct PassageSample {
    stride: usize,
    seen: usize,
    passages: Vec<Passage>,
}

impl PassageSample {
    /// Creates a sample of a library with `rows` passages.
    pub fn for_rows(rows: usize) -> Self {
        Self { stride: rows.div_ceil(SAMPLE_SIZE).max(1), seen: 0, passages: Vec::new() }
    }

    /// Counts a passage and keeps it if it is part of the sample.
    pub fn add_passage(&mut self, passage: &Passage) {
        if self.seen.is_multiple_of(self.stride) {
            self.passages.push(passage.clone());
        }
        self.seen += 1;
    }
}

/// Document frequencies of the words of a full-text table.
#[derive(Debug)]
pub struct WordCounts {
    /// Number of rows in the table.
    pub rows: usize,
    /// Number of rows that contain each folded word.
    pub rows_by_word: HashMap<String, usize>,
}

/// The generated queries of each kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QuerySet(BTreeMap<QueryKind, Vec<String>>);

impl QuerySet {
    /// Generates queries from words of the sample, with the frequencies in `tallies`. `count`
    /// returns the number of rows that match an expression.
    pub fn generate(
        sample: &PassageSample,
        tallies: &WordCounts,
        count: impl Fn(&str) -> Result<usize>,
    ) -> Result<Self> {
        let words = WordsByFrequency::from_sample(sample, tallies);
        let mut die = SeededRng::new(sample.passages.len());
        let mut queries = BTreeMap::new();
        for kind in QueryKind::ALL {
            let mut made = BTreeSet::new();
            for _ in 0..QUERIES_PER_KIND * 50 {
                let query = match kind {
                    QueryKind::Rare => {
                        words.pick_query(&mut die, &[FrequencyBand::Rare, FrequencyBand::Rare])?
                    }
                    QueryKind::Mixed => words.pick_query(
                        &mut die,
                        &[FrequencyBand::Rare, FrequencyBand::Middle, FrequencyBand::Frequent],
                    )?,
                    QueryKind::Common => words.common(&mut die, tallies.rows, &count)?,
                    QueryKind::Question => question_query(&mut die, sample).unwrap_or_default(),
                };
                if !query.is_empty() {
                    made.insert(query);
                }
                if made.len() == QUERIES_PER_KIND {
                    break;
                }
            }
            anyhow::ensure!(
                !made.is_empty(),
                "the text is too short for {} queries",
                kind.as_str()
            );
            let mut made: Vec<String> = made.into_iter().collect();
            die.shuffle(&mut made);
            queries.insert(kind, made);
        }
        Ok(Self(queries))
    }

    /// Loads queries from a file.
    pub fn load(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).context("cannot read the queries")?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Saves the queries to a file.
    pub fn save(&self, file: &Path) -> Result<()> {
        fs::write(file, serde_json::to_string_pretty(self)?).context("cannot write the queries")
    }

    /// Returns up to `count` queries of a kind.
    pub fn of_kind(&self, kind: QueryKind, count: usize) -> &[String] {
        let made = self.0.get(&kind).map_or(&[][..], Vec::as_slice);
        &made[..made.len().min(count)]
    }
}

/// A range of document frequencies.
#[derive(Clone, Copy, Debug)]
enum FrequencyBand {
    Rare,
    Middle,
    Frequent,
    Common,
}

/// Words in their original spelling, by frequency.
#[derive(Debug, Default)]
struct WordsByFrequency {
    rare: Vec<String>,
    middle: Vec<String>,
    frequent: Vec<String>,
    common: Vec<String>,
}

impl WordsByFrequency {
    fn from_sample(sample: &PassageSample, tallies: &WordCounts) -> Self {
        let mut seen = BTreeSet::new();
        for passage in &sample.passages {
            let letters = |letter: char| !letter.is_alphanumeric();
            let words = passage.title.split(letters).chain(passage.body.split(letters));
            seen.extend(words.filter(|word| {
                (3..=20).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_lowercase())
            }));
        }
        let rows = tallies.rows;
        let mut words = Self::default();
        // Only one spelling per stem is used.
        let mut known_stems = BTreeSet::new();
        for word in seen {
            let stem = stem_text(word);
            let known = tallies.rows_by_word.get(&stem).copied().unwrap_or(0);
            if is_stop_word(word) || !known_stems.insert(stem) {
                continue;
            }
            let put = |list: &mut Vec<String>, band: RangeInclusive<usize>| {
                if band.contains(&known) {
                    list.push(word.to_owned());
                }
            };
            put(&mut words.rare, 5..=50);
            put(&mut words.middle, rows / 1_000..=rows / 100);
            put(&mut words.frequent, rows / 100..=rows / 25);
            put(&mut words.common, rows / 50..=rows / 9);
        }
        words
    }

    fn pick_query(&self, die: &mut SeededRng, bands: &[FrequencyBand]) -> Result<String> {
        let picked: Option<Vec<&str>> = bands
            .iter()
            .map(|band| {
                let list = match band {
                    FrequencyBand::Rare => &self.rare,
                    FrequencyBand::Middle => &self.middle,
                    FrequencyBand::Frequent => &self.frequent,
                    FrequencyBand::Common => &self.common,
                };
                list.get(die.below(list.len())).map(String::as_str)
            })
            .collect();
        Ok(picked.context("the text has no words that are frequent enough")?.join(" "))
    }

    /// Returns two to four words that match an eighth of all rows together, or an empty text if the
    /// drawn words do not.
    fn common(
        &self,
        die: &mut SeededRng,
        rows: usize,
        count: impl Fn(&str) -> Result<usize>,
    ) -> Result<String> {
        let bands = [FrequencyBand::Common; 4];
        let count_of_words = 2 + die.below(3);
        let query = self.pick_query(die, &bands[..count_of_words])?;
        let matching = count(&FtsQuery::parse(&query).expression())?;
        Ok(if COMMON_PER_MILLE.contains(&(matching * 1_000 / rows.max(1))) {
            query
        } else {
            String::new()
        })
    }
}

/// Returns five to ten consecutive words of a sentence, with at least one stop word and two others.
fn question_query(die: &mut SeededRng, sample: &PassageSample) -> Option<String> {
    let passage = sample.passages.get(die.below(sample.passages.len()))?;
    let sentences: Vec<&str> = passage.body.split(['.', '?', '!', ';', ':', '\n']).collect();
    let sentence = sentences.get(die.below(sentences.len()))?;
    let letters = |letter: char| !letter.is_alphanumeric();
    let words: Vec<&str> = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(letters))
        .filter(|word| !word.is_empty())
        .collect();
    let length = 5 + die.below(6);
    let start = die.below(words.len().saturating_sub(length) + 1);
    let chosen_words = words.get(start..start + length)?;
    let natural = chosen_words.iter().all(|word| word.chars().all(char::is_alphabetic));
    let empty = chosen_words.iter().filter(|word| is_stop_word(&word.to_lowercase())).count();
    (natural && empty >= 1 && empty + 2 <= length).then(|| chosen_words.join(" "))
}

fn is_stop_word(word: &str) -> bool {
    // The parser drops a stop word if another word is present.
    expression_words(&FtsQuery::parse(&format!("{word} qqqqqq")).expression()).count() < 2
}

/// Returns the words of a match expression.
pub(crate) fn expression_words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expression_words_omit_stop_words() {
        let expression = FtsQuery::parse("How do I knead the dough?").expression();
        assert_eq!(expression_words(&expression).collect::<Vec<_>>(), ["knead", "dough"]);
        assert!(is_stop_word("the") && !is_stop_word("dough"));
    }

    #[test]
    fn question_keeps_stop_words() {
        let body = "The dough rests on the warm table. ".repeat(20);
        let mut sample = PassageSample::for_rows(1);
        sample.add_passage(&Passage { title: String::new(), body });
        let mut die = SeededRng::new(1);
        let made: Vec<String> = (0..50).filter_map(|_| question_query(&mut die, &sample)).collect();
        assert!(
            !made.is_empty() && made.iter().all(|it| it.contains("the ") || it.contains("The"))
        );
    }
}
