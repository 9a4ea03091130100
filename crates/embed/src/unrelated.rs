//! The similarity that a model gives to texts that have nothing to do with a query.

use super::{EmbedError, Purpose, retrying_embedder::RetryingEmbedder};

/// Queries for the measurement, each on a subject of its own.
const QUERIES: [&str; 12] = [
    "how to prune an apple tree in winter",
    "cheapest train ticket from Lisbon to Porto",
    "rules for offside in football",
    "what is the boiling point of ethanol",
    "symptoms of a vitamin D deficiency",
    "who painted the ceiling of the Sistine Chapel",
    "convert a list to a dictionary in Python",
    "when does a landlord have to return a deposit",
    "how deep is the Mariana Trench",
    "best strings for a classical guitar",
    "history of the Ottoman navy",
    "how to remove red wine from a carpet",
];

/// Texts for the measurement, on subjects that no query has.
const TEXTS: [&str; 12] = [
    "The committee approved the minutes of the last meeting and adjourned at noon.",
    "Knit two stitches together at the beginning of each row until ten stitches remain.",
    "The suspension of the bicycle absorbs shocks from the road through a coil spring.",
    "Interest rates rose by a quarter of a percent, and bond prices fell the same day.",
    "The detective noticed that the dog had not barked during the night.",
    "Bees communicate the direction of flowers to each other by a dance.",
    "The satellite is equipped with two antennas for the transmission of images.",
    "Add the yeast to lukewarm milk and let the dough rise for an hour.",
    "The kingdom was divided among three brothers after the death of the king.",
    "Passengers must switch off electronic devices before the aircraft takes off.",
    "A glacier grinds the rock beneath it into a fine powder called rock flour.",
    "The choir rehearses on Tuesdays in the parish hall behind the church.",
];

/// Distribution of the cosine similarity between unrelated queries and texts of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnrelatedSimilarity {
    mean: f64,
    deviation: f64,
}

impl UnrelatedSimilarity {
    /// Embeds the queries and the texts, and measures their similarity. Blocks.
    pub(crate) fn measure(embedder: &RetryingEmbedder) -> Result<Self, EmbedError> {
        let queries = embedder.embed(&QUERIES, Purpose::Query, None)?;
        let texts = embedder.embed(&TEXTS, Purpose::Document, None)?;
        let cosine = |query: &[f32], text: &[f32]| {
            f64::from(query.iter().zip(text).map(|(one, other)| one * other).sum::<f32>())
        };
        let pairs = queries.iter().flat_map(|query| texts.iter().map(|text| cosine(query, text)));
        Ok(Self::from_similarities(&pairs.collect::<Vec<f64>>()))
    }

    fn from_similarities(all: &[f64]) -> Self {
        let count = f64::from(u32::try_from(all.len()).unwrap_or(u32::MAX).max(1));
        let mean = all.iter().sum::<f64>() / count;
        let variance = all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        Self { mean, deviation: variance.sqrt() }
    }

    /// Returns the cosine similarity that the nearest of `count` unrelated texts reaches by chance:
    /// `mean + deviation * sqrt(2 ln count)`, the expected maximum of normally distributed values.
    /// `count` is rounded up to a power of two, so that callers do not learn how many texts there
    /// are that they may not see.
    pub fn floor(&self, count: usize) -> f64 {
        let count = count.max(2).checked_next_power_of_two();
        let count = f64::from(count.and_then(|it| u32::try_from(it).ok()).unwrap_or(u32::MAX));
        self.mean + self.deviation * (2.0 * count.ln()).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_grows_with_number_of_texts() {
        let unrelated = UnrelatedSimilarity::from_similarities(&[0.0, 0.1, 0.2]);
        assert!((unrelated.mean - 0.1).abs() < 1e-12);
        let (few, many) = (unrelated.floor(10), unrelated.floor(100_000));
        assert!(0.2 < few && few < many && many < 0.6, "{few} {many}");
        assert_eq!(few.to_bits(), unrelated.floor(16).to_bits());
    }
}
