//! What is true of every vector: its length, how alike two are, and as which
//! distance a contract names that.
//!
//! All vectors here have length 1. Then the dot product *is* the cosine, and
//! every distance is a function of it.

/// What makes a vector unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// It comes from another model, or a part of it is missing.
    #[error("a vector of {found} dimensions where all others have {expected}")]
    Dimensions {
        /// How many all others have.
        expected: usize,
        /// How many this one has.
        found: usize,
    },
    /// One of its numbers is infinite or none.
    #[error("the number at place {place} of the vector is not finite")]
    NotFinite {
        /// Which number, counted from 0.
        place: usize,
    },
    /// All its numbers are 0, or it has none.
    #[error("the vector has no direction: all its numbers are 0")]
    Zero,
    /// A stored scale that no vector can have.
    #[error("a stored vector has a scale that is not a finite number above 0")]
    Scale,
    /// More than can be counted.
    #[error("more than four thousand million vectors in one collection")]
    TooMany,
}

/// How a contract names the distance of two vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// 1 less the cosine.
    #[default]
    Cosine,
    /// The length of the difference, √(2 − 2·cosine).
    L2,
    /// The negative dot product, which is the negative cosine.
    InnerProduct,
}

impl Metric {
    /// The distance of two vectors of such a similarity: less is nearer.
    ///
    /// All metrics order vectors the same way, because the vectors have length 1.
    pub fn distance(self, similarity: f32) -> f32 {
        match self {
            Self::Cosine => 1.0 - similarity,
            Self::L2 => (2.0 - 2.0 * similarity).max(0.0).sqrt(),
            Self::InnerProduct => -similarity,
        }
    }
}

/// The vector of length 1 in the same direction.
pub fn unit(vector: &[f32]) -> Result<Vec<f32>, VectorError> {
    finite(vector)?;
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err(VectorError::Zero);
    }
    #[expect(clippy::cast_possible_truncation, reason = "no number is above 1")]
    Ok(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

/// Refuses a vector with numbers that are none.
pub(crate) fn finite(vector: &[f32]) -> Result<(), VectorError> {
    match vector.iter().position(|number| !number.is_finite()) {
        Some(place) => Err(VectorError::NotFinite { place }),
        None => Ok(()),
    }
}

/// Sums that are added up side by side, which is what makes [`exact`] fast.
const LANES: usize = 16;

/// The exact similarity of two vectors of length 1, the second as it is
/// stored: each number in four bytes, little end first.
///
/// The order of the additions is always the same, so every machine finds the
/// same similarity.
pub fn exact(query: &[f32], stored: &[u8]) -> Result<f32, VectorError> {
    let (numbers, rest) = stored.as_chunks::<4>();
    if numbers.len() != query.len() || !rest.is_empty() {
        return Err(VectorError::Dimensions { expected: query.len(), found: numbers.len() });
    }
    let mut sums = [0.0_f32; LANES];
    for (numbers, query) in numbers.chunks(LANES).zip(query.chunks(LANES)) {
        for ((sum, number), query) in sums.iter_mut().zip(numbers).zip(query) {
            *sum += f32::from_le_bytes(*number) * query;
        }
    }
    Ok(sums.iter().sum())
}

/// A vector as it is stored: each number in four bytes, little end first.
pub fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The numbers of a vector that was stored or sent so.
pub fn numbers(stored: &[u8], dimensions: usize) -> Result<Vec<f32>, VectorError> {
    let (numbers, rest) = stored.as_chunks::<4>();
    if numbers.len() != dimensions || !rest.is_empty() {
        return Err(VectorError::Dimensions { expected: dimensions, found: numbers.len() });
    }
    let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    finite(&numbers)?;
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_vector_has_length_1_and_the_same_direction() {
        assert_eq!(unit(&[3.0, 0.0, -4.0]).unwrap(), [0.6, 0.0, -0.8]);
        assert_eq!(unit(&[f32::MAX, 0.0]).unwrap(), [1.0, 0.0]);
        assert_eq!(unit(&[f32::MIN_POSITIVE, 0.0]).unwrap(), [1.0, 0.0]);
    }

    #[test]
    fn a_vector_without_a_direction_is_refused() {
        assert_eq!(unit(&[0.0, -0.0]), Err(VectorError::Zero));
        assert_eq!(unit(&[]), Err(VectorError::Zero));
        assert_eq!(unit(&[1.0, f32::NAN]), Err(VectorError::NotFinite { place: 1 }));
        assert_eq!(unit(&[f32::INFINITY]), Err(VectorError::NotFinite { place: 0 }));
    }

    #[test]
    fn a_stored_vector_has_the_similarity_it_had() {
        let one = unit(&[1.0; 37]).unwrap();
        assert!((exact(&one, &bytes(&one)).unwrap() - 1.0).abs() < 1e-6);
        let other: Vec<f32> = one.iter().map(|number| -number).collect();
        assert!((exact(&one, &bytes(&other)).unwrap() + 1.0).abs() < 1e-6);
        assert_eq!(numbers(&bytes(&one), 37).unwrap(), one);
    }

    #[test]
    fn a_stored_vector_of_another_length_is_refused() {
        let error = Err(VectorError::Dimensions { expected: 2, found: 1 });
        assert_eq!(exact(&[0.6, 0.8], &bytes(&[1.0])), error);
        assert_eq!(exact(&[0.6, 0.8], &[0; 7]), error);
        assert_eq!(numbers(&[0; 9], 2), Err(VectorError::Dimensions { expected: 2, found: 2 }));
        let infinite = bytes(&[0.0, f32::INFINITY]);
        assert_eq!(numbers(&infinite, 2), Err(VectorError::NotFinite { place: 1 }));
    }

    #[test]
    fn every_metric_puts_the_more_alike_first() {
        for metric in [Metric::Cosine, Metric::L2, Metric::InnerProduct] {
            let distances = [1.0, 0.5, 0.0, -1.0].map(|similarity| metric.distance(similarity));
            assert!(distances.is_sorted(), "{metric:?}: {distances:?}");
        }
        assert_eq!(Metric::L2.distance(0.5), 1.0);
        assert_eq!(Metric::L2.distance(1.000_001), 0.0);
    }
}
