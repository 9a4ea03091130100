//! Scores of texts that are not in any index, by the words that they contain.

use std::collections::HashMap;

use vademecum_model::to_f64;

use super::bm25::{length_norm, saturate_frequency};

/// Words of a text with the number of their occurrences.
pub type WordBag = HashMap<String, u32>;

/// Returns the BM25 score of each text for the words of a query, scaled so that the best is 1. The
/// texts are their own collection. Repeated query words count once.
///
/// The weight of a word is `ln(1 + (texts - n + 0.5) / (n + 0.5))`, which is positive even if all `n`
/// texts contain it: there may be few.
pub fn score_bags(bags: &[WordBag], query: &WordBag) -> Vec<f64> {
    let length = |bag: &WordBag| bag.values().sum::<u32>();
    let count = to_f64(bags.len() as u64);
    let words: f64 = bags.iter().map(|bag| f64::from(length(bag))).sum();
    let mean = (words / count.max(1.0)).max(1.0);
    let mut scores = vec![0.0; bags.len()];
    for word in query.keys() {
        let with = to_f64(bags.iter().filter(|bag| bag.contains_key(word)).count() as u64);
        let weight = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
        for (score, bag) in scores.iter_mut().zip(bags) {
            let times = f64::from(bag.get(word).copied().unwrap_or(0));
            *score += weight * saturate_frequency(times, length_norm(length(bag), mean));
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

/// Returns the cosine similarity of two texts by word counts, from 0 to 1.
pub fn bag_similarity(one: &WordBag, other: &WordBag) -> f64 {
    let product = |one: u32, other: u32| f64::from(one) * f64::from(other);
    let length = |bag: &WordBag| bag.values().map(|n| product(*n, *n)).sum::<f64>().sqrt();
    let both = one.iter().filter_map(|(word, n)| Some(product(*n, *other.get(word)?))).sum::<f64>();
    let lengths = length(one) * length(other);
    if lengths > 0.0 { both / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bag(words: &str) -> WordBag {
        let mut bag = WordBag::new();
        words.split(' ').for_each(|word| *bag.entry(word.to_owned()).or_default() += 1);
        bag
    }

    #[test]
    fn rare_words_score_higher_and_best_is_one() {
        let bags = ["rye bread", "rye", "rye rolls"].map(bag);
        let scores = score_bags(&bags, &bag("rye bread"));
        assert_eq!(scores[0], 1.0);
        assert!(scores[1] > scores[2] && scores[2] > 0.0, "{scores:?}");
        assert_eq!(score_bags(&bags, &bag("zebra")), [0.0; 3]);
    }

    #[test]
    fn similarity_depends_on_common_words() {
        assert!((bag_similarity(&bag("rye bread"), &bag("bread rye")) - 1.0).abs() < 1e-9);
        assert!((bag_similarity(&bag("rye bread"), &bag("rye rolls")) - 0.5).abs() < 1e-9);
        assert_eq!(bag_similarity(&bag("rye"), &WordBag::new()), 0.0);
    }
}
