//! Texts in chunks, and which of them say most about a question.

use std::collections::HashMap;

use vademecum_kit::retrieve::{Lambda, Sizes, chunks, diversify, is_stop_word};

/// Characters of a token in scripts with letters. A character of others is a token.
const CHARACTERS: usize = 4;
/// BM25: how soon a word that is repeated adds nothing more, and how much long
/// chunks are discounted.
const K1: f64 = 1.5;
const B: f64 = 0.75;
/// How much the words count; the vectors count the rest.
const WORDS: f64 = 0.5;

/// A text that was found by its vectors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    /// The place of its row, counted from 0.
    pub(super) row: usize,
    /// The column it is from.
    pub(super) column: String,
    pub(super) text: String,
}

/// A part of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chunk {
    /// Which of the sources.
    pub(super) source: usize,
    /// Its place in there, counted from 1.
    pub(super) number: usize,
    pub(super) text: String,
    /// 0 to 1, higher is better.
    pub(super) score: f64,
    pub(super) tokens: usize,
}

/// How texts are cut and chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Tokens of a chunk, at most.
    pub(super) size: usize,
    /// Relevance against novelty.
    pub(super) lambda: Lambda,
    /// Tokens of all chunks together, at most.
    pub(super) budget: usize,
}

impl Choice {
    /// Tokens that neighbours share: a quarter.
    pub(super) fn overlap(self) -> usize {
        self.size.div_ceil(4)
    }

    /// The chunks that are shown, best first: each time the one that is relevant and
    /// says something new, for as long as there is room.
    pub(super) fn choose(self, sources: &[Source], rows: usize, query: &str) -> Vec<Chunk> {
        let mut all = Vec::new();
        for (place, source) in sources.iter().enumerate() {
            let per_token = per_token(&source.text);
            let sizes = Sizes {
                chunk: self.size * per_token,
                overlap: self.overlap() * per_token,
                whole: self.size * per_token,
            };
            let cut = chunks(&source.text, sizes).into_iter();
            let said = cut.map(|chunk| chunk.text.trim()).filter(|text| !text.is_empty());
            all.extend(said.zip(1..).map(|(text, number)| Chunk {
                source: place,
                number,
                text: text.to_owned(),
                score: 0.0,
                tokens: tokens(text),
            }));
        }
        let bags: Vec<HashMap<String, f64>> = all.iter().map(|chunk| bag(&chunk.text)).collect();
        let by_words = bm25(&bags, &bag(query));
        for (chunk, words) in all.iter_mut().zip(by_words) {
            let row = sources.get(chunk.source).map_or(0, |source| source.row);
            #[expect(clippy::cast_precision_loss, reason = "there are few rows")]
            let by_vectors = 1.0 - row as f64 / rows.max(1) as f64;
            chunk.score = WORDS * words + (1.0 - WORDS) * by_vectors;
        }
        let mut order: Vec<usize> = (0..all.len()).collect();
        let score = |place: &usize| all.get(*place).map_or(0.0, |chunk| chunk.score);
        order.sort_by(|one, other| score(other).total_cmp(&score(one)));
        let relevance: Vec<f64> = order.iter().map(score).collect();
        let alike = |one: usize, other: usize| {
            let bag = |place: usize| bags.get(*order.get(place)?);
            bag(one).zip(bag(other)).map_or(0.0, |(one, other)| cosine(one, other))
        };
        let chosen = diversify(&relevance, self.lambda, order.len(), alike);
        let chosen = chosen.into_iter().filter_map(|place| all.get(*order.get(place)?).cloned());
        self.within(chosen)
    }

    /// The first that fit. If even the first is too long, its beginning is shown.
    fn within(self, chunks: impl Iterator<Item = Chunk>) -> Vec<Chunk> {
        let (mut left, mut fit) = (self.budget, Vec::new());
        for mut chunk in chunks {
            if chunk.tokens > left {
                if fit.is_empty() {
                    let length = left * per_token(&chunk.text);
                    chunk.text = chunk.text.chars().take(length).collect();
                    chunk.tokens = tokens(&chunk.text);
                    fit.push(chunk);
                }
                break;
            }
            left -= chunk.tokens;
            fit.push(chunk);
        }
        fit
    }
}

/// About how many tokens a text has.
pub(super) fn tokens(text: &str) -> usize {
    let wide = text.chars().filter(|letter| is_wide(*letter)).count();
    let narrow = text.chars().count() - wide;
    wide + narrow.div_ceil(CHARACTERS)
}

/// Characters of a token in this text.
fn per_token(text: &str) -> usize {
    (text.chars().count() / tokens(text).max(1)).clamp(1, CHARACTERS)
}

/// Whether a character is of a script that has one for each syllable or word.
fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text with how often each stands in it.
fn bag(text: &str) -> HashMap<String, f64> {
    let mut bag: HashMap<String, f64> = HashMap::new();
    let mut add = |word: &str| {
        if !is_stop_word(word) {
            *bag.entry(word.to_owned()).or_default() += 1.0;
        }
    };
    for word in text.to_lowercase().split(|letter: char| !letter.is_alphanumeric()) {
        if word.chars().any(is_wide) {
            // Nothing says where such words end.
            word.chars().for_each(|letter| add(letter.encode_utf8(&mut [0; 4])));
        } else if !word.is_empty() {
            add(word);
        }
    }
    bag
}

/// BM25 of each text over all of them, the best being 1.
fn bm25(bags: &[HashMap<String, f64>], query: &HashMap<String, f64>) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "there are few chunks")]
    let count = bags.len() as f64;
    let length = |bag: &HashMap<String, f64>| bag.values().sum::<f64>();
    let mean = (bags.iter().map(length).sum::<f64>() / count.max(1.0)).max(1.0);
    let mut scores = vec![0.0; bags.len()];
    for word in query.keys() {
        #[expect(clippy::cast_precision_loss, reason = "there are few chunks")]
        let with = bags.iter().filter(|bag| bag.contains_key(word)).count() as f64;
        let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
        for (score, bag) in scores.iter_mut().zip(bags) {
            let times = bag.get(word).copied().unwrap_or(0.0);
            let discount = K1 * (1.0 - B + B * length(bag) / mean);
            *score += rarity * times * (K1 + 1.0) / (times + discount);
        }
    }
    let best = scores.iter().copied().fold(0.0, f64::max);
    if best > 0.0 {
        for score in &mut scores {
            *score /= best;
        }
    }
    scores
}

/// How alike two texts are by their words: 0 to 1.
fn cosine(one: &HashMap<String, f64>, other: &HashMap<String, f64>) -> f64 {
    let length =
        |bag: &HashMap<String, f64>| bag.values().map(|times| times * times).sum::<f64>().sqrt();
    let both = one.iter().filter_map(|(word, times)| Some(times * other.get(word)?)).sum::<f64>();
    let lengths = length(one) * length(other);
    if lengths > 0.0 { both / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> Vec<Source> {
        let source = |(row, text): (usize, &&str)| Source {
            row,
            column: "content".to_owned(),
            text: (*text).to_owned(),
        };
        texts.iter().enumerate().map(source).collect()
    }

    fn choice(size: usize, lambda: f64, budget: usize) -> Choice {
        Choice { size, lambda: Lambda::new(lambda).unwrap(), budget }
    }

    #[test]
    fn neighbours_share_a_quarter() {
        assert_eq!([100, 150, 1].map(|size| choice(size, 1.0, 1).overlap()), [25, 38, 1]);
    }

    #[test]
    fn what_says_something_new_comes_before_what_is_said_again() {
        let texts = [
            "Knead the rye dough for ten minutes.",
            "Knead the rye dough for ten minutes!",
            "Knead the rye dough for ten minutes, then.",
            "Rye dough rises in a warm place.",
        ];
        let order = |lambda: f64| -> Vec<usize> {
            let chosen = choice(100, lambda, 1_000).choose(&sources(&texts), 4, "knead rye dough");
            chosen.iter().map(|chunk| chunk.source).collect()
        };
        assert_eq!(order(0.0)[..2], [0, 3]);
        assert_eq!(order(1.0), [0, 1, 2, 3]);
    }

    #[test]
    fn chunks_are_shown_for_as_long_as_there_is_room() {
        let long = "word ".repeat(400);
        let texts = sources(&[&long]);
        let chosen = choice(100, 1.0, 250).choose(&texts, 1, "word");
        assert_eq!(chosen.len(), 2);
        assert!(chosen.iter().map(|chunk| chunk.tokens).sum::<usize>() <= 250);
        let [one] = &choice(100, 1.0, 10).choose(&texts, 1, "word")[..] else { panic!() };
        assert!(one.tokens <= 10 && one.text.starts_with("word"));
    }

    #[test]
    fn a_character_is_a_token_where_it_is_a_word() {
        assert_eq!((tokens("abcd"), tokens("abcde"), tokens("面包好吃")), (1, 2, 4));
        assert_eq!(per_token("面包好吃"), 1);
    }

    #[test]
    fn rare_words_count_more_and_the_best_is_1() {
        let bags = ["rye bread", "rye", "rye rolls"].map(bag);
        let scores = bm25(&bags, &bag("the rye bread"));
        assert_eq!(scores[0], 1.0);
        assert!(scores[1] > scores[2] && scores[2] > 0.0, "{scores:?}");
        assert_eq!(bm25(&bags, &bag("zebra")), [0.0; 3]);
    }
}
