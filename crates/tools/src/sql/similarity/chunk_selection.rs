//! Splits texts into chunks and selects those that best match a query: BM25 and vector rank,
//! diversified and cut to a token budget.

use vademecum_fts5::is_stop_word;
use vademecum_search::{
    ChunkSizes, MmrLambda, WordBag, bag_similarity, diversify, score_bags, split_into_chunks,
};

use crate::token_estimate::{CHARS_PER_TOKEN, estimate_tokens, is_wide};

/// Weight of the BM25 score; the vector rank has the rest.
const BM25_WEIGHT: f64 = 0.5;

/// A text of a row that the vector search found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SourceText {
    /// Rank of the row, counted from 0.
    pub(super) row: usize,
    /// Name of the column with the text.
    pub(super) column: String,
    pub(super) text: String,
}

/// A chunk of a source text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoredChunk {
    /// Index of the source text.
    pub(super) source: usize,
    /// Number of the chunk within its text, counted from 1.
    pub(super) number: usize,
    pub(super) text: String,
    /// Score from 0 to 1; higher is better.
    pub(super) score: f64,
    pub(super) tokens: usize,
}

/// Parameters of chunking and selection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkSelection {
    /// Maximum size of a chunk, in tokens.
    pub(super) chunk_tokens: usize,
    /// Weight of relevance against novelty.
    pub(super) lambda: MmrLambda,
    /// Maximum size of all selected chunks, in tokens.
    pub(super) max_tokens: usize,
}

impl ChunkSelection {
    /// Returns the overlap of neighbouring chunks in tokens: a quarter of the chunk size, rounded
    /// up.
    pub(super) fn overlap_tokens(self) -> usize {
        self.chunk_tokens.div_ceil(4)
    }

    /// Selects chunks within the budget, best first, by maximal marginal relevance, and counts
    /// those that the budget left out or cut. `rows` is the number of rows found.
    pub(super) fn select_chunks(
        self,
        sources: &[SourceText],
        rows: usize,
        query: &str,
    ) -> (Vec<ScoredChunk>, usize) {
        let mut all = Vec::new();
        for (place, source) in sources.iter().enumerate() {
            let per_token = chars_per_token(&source.text);
            let sizes = ChunkSizes {
                chunk: self.chunk_tokens * per_token,
                overlap: self.overlap_tokens() * per_token,
                max_block: self.chunk_tokens * per_token,
            };
            let cut = split_into_chunks(&source.text, sizes).into_iter();
            let texts = cut.map(|chunk| chunk.text.trim()).filter(|text| !text.is_empty());
            all.extend(texts.zip(1..).map(|(text, number)| ScoredChunk {
                source: place,
                number,
                text: text.to_owned(),
                score: 0.0,
                tokens: estimate_tokens(text),
            }));
        }
        let bags: Vec<WordBag> = all.iter().map(|chunk| count_words(&chunk.text)).collect();
        let by_words = score_bags(&bags, &count_words(query));
        for (chunk, words) in all.iter_mut().zip(by_words) {
            let row = sources.get(chunk.source).map_or(0, |source| source.row);
            #[expect(clippy::cast_precision_loss, reason = "there are few rows")]
            let by_vectors = 1.0 - row as f64 / rows.max(1) as f64;
            chunk.score = BM25_WEIGHT * words + (1.0 - BM25_WEIGHT) * by_vectors;
        }
        let mut order: Vec<usize> = (0..all.len()).collect();
        let score = |place: &usize| all.get(*place).map_or(0.0, |chunk| chunk.score);
        order.sort_by(|one, other| score(other).total_cmp(&score(one)));
        let relevance: Vec<f64> = order.iter().map(score).collect();
        let alike = |one: usize, other: usize| {
            let bag = |place: usize| bags.get(*order.get(place)?);
            bag(one).zip(bag(other)).map_or(0.0, |(one, other)| bag_similarity(one, other))
        };
        let chosen = diversify(&relevance, self.lambda, order.len(), alike);
        let chosen = chosen.into_iter().filter_map(|place| all.get(*order.get(place)?).cloned());
        self.take_within_budget(chosen)
    }

    /// Takes chunks until the budget is spent. If the first chunk exceeds it, its beginning is
    /// taken.
    fn take_within_budget(
        self,
        mut chunks: impl Iterator<Item = ScoredChunk>,
    ) -> (Vec<ScoredChunk>, usize) {
        let (mut left, mut fit) = (self.max_tokens, Vec::new());
        while let Some(mut chunk) = chunks.next() {
            if chunk.tokens > left {
                if fit.is_empty() {
                    let length = left * chars_per_token(&chunk.text);
                    chunk.text = chunk.text.chars().take(length).collect();
                    chunk.tokens = estimate_tokens(&chunk.text);
                    fit.push(chunk);
                }
                return (fit, 1 + chunks.count());
            }
            left -= chunk.tokens;
            fit.push(chunk);
        }
        (fit, 0)
    }
}

/// Returns the mean number of characters per token of a text, from 1 to 4.
fn chars_per_token(text: &str) -> usize {
    (text.chars().count() / estimate_tokens(text).max(1)).clamp(1, CHARS_PER_TOKEN)
}

/// Counts the words of a text, without stop words.
fn count_words(text: &str) -> WordBag {
    let mut bag = WordBag::new();
    let mut add = |word: &str| {
        if !is_stop_word(word) {
            *bag.entry(word.to_owned()).or_default() += 1;
        }
    };
    for word in text.to_lowercase().split(|letter: char| !letter.is_alphanumeric()) {
        if word.chars().any(is_wide) {
            // These scripts do not mark word boundaries, so each character counts as a word.
            word.chars().for_each(|letter| add(letter.encode_utf8(&mut [0; 4])));
        } else if !word.is_empty() {
            add(word);
        }
    }
    bag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source_texts(texts: &[&str]) -> Vec<SourceText> {
        let source = |(row, text): (usize, &&str)| SourceText {
            row,
            column: "content".to_owned(),
            text: (*text).to_owned(),
        };
        texts.iter().enumerate().map(source).collect()
    }

    fn selection(size: usize, lambda: f64, budget: usize) -> ChunkSelection {
        ChunkSelection {
            chunk_tokens: size,
            lambda: MmrLambda::new(lambda).unwrap(),
            max_tokens: budget,
        }
    }

    #[test]
    fn neighbouring_chunks_overlap_by_quarter() {
        assert_eq!([100, 150, 1].map(|size| selection(size, 1.0, 1).overlap_tokens()), [25, 38, 1]);
    }

    #[test]
    fn novel_chunk_precedes_repeated_chunk() {
        let texts = [
            "Knead the rye dough for ten minutes.",
            "Knead the rye dough for ten minutes!",
            "Knead the rye dough for ten minutes, then.",
            "Rye dough rises in a warm place.",
        ];
        let order = |lambda: f64| -> Vec<usize> {
            let (chosen, _) = selection(100, lambda, 1_000).select_chunks(
                &source_texts(&texts),
                4,
                "knead rye dough",
            );
            chosen.iter().map(|chunk| chunk.source).collect()
        };
        assert_eq!(order(0.0)[..2], [0, 3]);
        assert_eq!(order(1.0), [0, 1, 2, 3]);
    }

    #[test]
    fn selected_chunks_fit_token_budget() {
        let long = "word ".repeat(400);
        let texts = source_texts(&[&long]);
        let (chosen, omitted) = selection(100, 1.0, 250).select_chunks(&texts, 1, "word");
        assert!(chosen.len() == 2 && omitted > 0, "{omitted}");
        assert!(chosen.iter().map(|chunk| chunk.tokens).sum::<usize>() <= 250);
        let (chosen, omitted) = selection(100, 1.0, 10).select_chunks(&texts, 1, "word");
        let ([one], 2..) = (&chosen[..], omitted) else { panic!("{chosen:?}, {omitted}") };
        assert!(one.tokens <= 10 && one.text.starts_with("word"));
    }
}
