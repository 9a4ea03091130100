//! A deterministic embedder for tests: vectors are hashes of words, so that texts with more words
//! in common are more similar.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{EmbedError, Embedder, Model, Purpose};

/// Makes a vector from the hashes of the words of a text.
#[derive(Clone, Debug)]
pub struct StubEmbedder {
    model: Model,
    dimensions: usize,
}

impl StubEmbedder {
    /// Default number of dimensions.
    pub const DEFAULT_DIMENSIONS: usize = 384;

    /// Number of dimensions that a word contributes to. With several, two words hardly ever
    /// collide.
    const DIMENSIONS_PER_WORD: usize = 4;

    /// Creates an embedder for vectors of this length.
    pub fn new(dimensions: usize) -> Self {
        let model =
            Model { provider: "stub", name: "stub".to_owned(), dimensions: Some(dimensions) };
        Self { model, dimensions }
    }

    fn hash_words(&self, text: &str) -> Vec<f32> {
        let lower = text.to_lowercase();
        let mut counts: BTreeMap<&str, f32> = BTreeMap::new();
        for word in lower.split(|letter: char| !letter.is_alphanumeric()) {
            if !word.is_empty() {
                *counts.entry(word).or_default() += 1.0;
            }
        }
        if counts.is_empty() {
            counts.insert(&lower, 1.0);
        }
        let mut vector = vec![0.0; self.dimensions];
        for (word, count) in counts {
            let hash = Sha256::digest(word);
            let chunks = hash.as_chunks::<8>().0.iter().take(Self::DIMENSIONS_PER_WORD);
            // The first dimension of a word outweighs its others, so that no vector is zero, even
            // with few dimensions.
            for (number, bytes) in chunks.enumerate() {
                let bits = u64::from_le_bytes(*bytes);
                let sign = if number > 0 && bits >> 63 == 1 { -1.0 } else { 1.0 };
                let weight = if number == 0 { 4.0 } else { 1.0 };
                let index = usize::try_from(bits % self.dimensions.max(1) as u64);
                if let Some(value) = index.ok().and_then(|index| vector.get_mut(index)) {
                    *value += sign * weight * count.sqrt();
                }
            }
        }
        vector
    }
}

impl Embedder for StubEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.hash_words(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let vectors = StubEmbedder::new(384).embed(&[a, b], Purpose::Query).unwrap();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let (a, b) = (&vectors[0], &vectors[1]);
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn similarity_grows_with_common_words() {
        let query = "How does rye bread rise?";
        assert!((cosine(query, "rise does BREAD how, rye") - 1.0).abs() < 1e-6);
        let (near, far) = (cosine(query, "Rye bread is dark."), cosine(query, "A lighthouse."));
        assert!(near > 0.3 && far.abs() < 0.2, "{near} {far}");
    }

    #[test]
    fn vectors_are_identical_on_every_platform() {
        let made = StubEmbedder::new(8).embed(&["bread"], Purpose::Document).unwrap();
        assert_eq!(made, [[3.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]]);
    }

    #[test]
    fn no_text_has_zero_vector() {
        for text in ["", "?!", "…", "a", "one two three four five"] {
            for dimensions in [1, 2, 3, 384] {
                let made = StubEmbedder::new(dimensions).embed(&[text], Purpose::Query).unwrap();
                assert!(made[0].iter().any(|value| *value != 0.0), "{text} {dimensions}");
            }
        }
    }
}
