//! Queries of four kinds, made of the text that they are to find.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    ops::RangeInclusive,
    path::Path,
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use vademecum_kit::retrieve::FtsQuery;

use super::{Passage, stems::stems, text::Die};

/// Queries of each kind that are made.
const EACH: usize = 200;
/// Passages that queries are made of.
const SAMPLE: usize = 5_000;
/// Of a thousand passages, how many match a common query.
const COMMON: RangeInclusive<usize> = 115..=145;

/// What a query is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Words that tens of passages hold.
    Rare,
    /// One rare, one in the middle, one frequent.
    Mixed,
    /// Frequent words: an eighth of all passages match.
    Common,
    /// Five to ten words of a sentence, with its stop words.
    Question,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Rare, Self::Mixed, Self::Common, Self::Question];

    /// Its name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rare => "rare",
            Self::Mixed => "mixed",
            Self::Common => "common",
            Self::Question => "question",
        }
    }
}

/// Some of the passages of a library, evenly spread.
#[derive(Debug)]
pub struct Sample {
    every: usize,
    seen: usize,
    kept: Vec<Passage>,
}

impl Sample {
    /// A sample of so many passages.
    pub fn of(rows: usize) -> Self {
        Self { every: rows.div_ceil(SAMPLE).max(1), seen: 0, kept: Vec::new() }
    }

    /// Shows it a passage.
    pub fn look(&mut self, passage: &Passage) {
        if self.seen.is_multiple_of(self.every) {
            self.kept.push(passage.clone());
        }
        self.seen += 1;
    }
}

/// How many rows of a full-text table hold each word.
#[derive(Debug)]
pub struct Tallies {
    /// Rows in all.
    pub rows: usize,
    /// Rows that hold a folded word.
    pub words: HashMap<String, usize>,
}

/// The queries of every kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queries(BTreeMap<Kind, Vec<String>>);

impl Queries {
    /// Makes queries whose words are in the sample and as frequent as `tallies`
    /// says; `count` tells how many rows match an expression.
    pub fn make(
        sample: &Sample,
        tallies: &Tallies,
        count: impl Fn(&str) -> Result<usize>,
    ) -> Result<Self> {
        let words = Words::of(sample, tallies);
        let mut die = Die::new(sample.kept.len());
        let mut queries = BTreeMap::new();
        for kind in Kind::ALL {
            let mut made = BTreeSet::new();
            for _ in 0..EACH * 50 {
                let query = match kind {
                    Kind::Rare => words.pick(&mut die, &[Band::Rare, Band::Rare])?,
                    Kind::Mixed => {
                        words.pick(&mut die, &[Band::Rare, Band::Middle, Band::Frequent])?
                    }
                    Kind::Common => words.common(&mut die, tallies.rows, &count)?,
                    Kind::Question => question(&mut die, sample).unwrap_or_default(),
                };
                if !query.is_empty() {
                    made.insert(query);
                }
                if made.len() == EACH {
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

    /// Reads those that were made before.
    pub fn load(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).context("cannot read the queries")?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Writes them to a file.
    pub fn save(&self, file: &Path) -> Result<()> {
        fs::write(file, serde_json::to_string_pretty(self)?).context("cannot write the queries")
    }

    /// So many of a kind, if there are.
    pub fn of(&self, kind: Kind, count: usize) -> &[String] {
        let made = self.0.get(&kind).map_or(&[][..], Vec::as_slice);
        &made[..made.len().min(count)]
    }
}

/// How frequent a word is.
#[derive(Clone, Copy, Debug)]
enum Band {
    Rare,
    Middle,
    Frequent,
    Common,
}

/// Words as they are written, by how frequent they are.
#[derive(Debug, Default)]
struct Words {
    rare: Vec<String>,
    middle: Vec<String>,
    frequent: Vec<String>,
    common: Vec<String>,
}

impl Words {
    fn of(sample: &Sample, tallies: &Tallies) -> Self {
        let mut seen = BTreeSet::new();
        for passage in &sample.kept {
            let letters = |letter: char| !letter.is_alphanumeric();
            let words = passage.title.split(letters).chain(passage.body.split(letters));
            seen.extend(words.filter(|word| {
                (3..=20).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_lowercase())
            }));
        }
        let rows = tallies.rows;
        let mut words = Self::default();
        // A stem that is written in several ways is one word.
        let mut known_stems = BTreeSet::new();
        for word in seen {
            let stem = stems(word);
            let known = tallies.words.get(&stem).copied().unwrap_or(0);
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

    fn pick(&self, die: &mut Die, bands: &[Band]) -> Result<String> {
        let picked: Option<Vec<&str>> = bands
            .iter()
            .map(|band| {
                let list = match band {
                    Band::Rare => &self.rare,
                    Band::Middle => &self.middle,
                    Band::Frequent => &self.frequent,
                    Band::Common => &self.common,
                };
                list.get(die.below(list.len())).map(String::as_str)
            })
            .collect();
        Ok(picked.context("the text has no words that are frequent enough")?.join(" "))
    }

    /// Two to four words that an eighth of all rows match; nothing if a few
    /// tries do not lead there.
    fn common(
        &self,
        die: &mut Die,
        rows: usize,
        count: impl Fn(&str) -> Result<usize>,
    ) -> Result<String> {
        let bands = [Band::Common; 4];
        let count_of_words = 2 + die.below(3);
        let query = self.pick(die, &bands[..count_of_words])?;
        let matching = count(&FtsQuery::parse(&query).expression())?;
        Ok(if COMMON.contains(&(matching * 1_000 / rows.max(1))) { query } else { String::new() })
    }
}

/// Five to ten neighbouring words of a sentence, some of which say something
/// and some of which do not.
fn question(die: &mut Die, sample: &Sample) -> Option<String> {
    let passage = sample.kept.get(die.below(sample.kept.len()))?;
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
    let asked = words.get(start..start + length)?;
    let natural = asked.iter().all(|word| word.chars().all(char::is_alphabetic));
    let empty = asked.iter().filter(|word| is_stop_word(&word.to_lowercase())).count();
    (natural && empty >= 1 && empty + 2 <= length).then(|| asked.join(" "))
}

fn is_stop_word(word: &str) -> bool {
    // Beside a word that says something, one that says nothing is not looked for.
    words_of(&FtsQuery::parse(&format!("{word} qqqqqq")).expression()).count() < 2
}

/// The words of a match expression.
pub(crate) fn words_of(expression: &str) -> impl Iterator<Item = &str> {
    expression.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_expression_are_those_that_are_looked_for() {
        let expression = FtsQuery::parse("How do I knead the dough?").expression();
        assert_eq!(words_of(&expression).collect::<Vec<_>>(), ["knead", "dough"]);
        assert!(is_stop_word("the") && !is_stop_word("dough"));
    }

    #[test]
    fn a_question_keeps_its_stop_words() {
        let body = "The dough rests on the warm table. ".repeat(20);
        let mut sample = Sample::of(1);
        sample.look(&Passage { title: String::new(), body });
        let mut die = Die::new(1);
        let made: Vec<String> = (0..50).filter_map(|_| question(&mut die, &sample)).collect();
        assert!(
            !made.is_empty() && made.iter().all(|it| it.contains("the ") || it.contains("The"))
        );
    }
}
