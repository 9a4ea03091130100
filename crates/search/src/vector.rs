//! Vector encoding, similarity and distance metrics.
//!
//! All vectors have length 1. The dot product is therefore the cosine similarity, and every
//! distance is a function of it.

/// Error for an unusable vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// The number of dimensions differs, for example because another model produced the vector.
    #[error("vector has {found} dimensions, expected {expected}")]
    Dimensions {
        /// Expected number of dimensions.
        expected: usize,
        /// Number of dimensions of this vector.
        found: usize,
    },
    /// A component is infinite or NaN.
    #[error("component {place} of the vector is not finite")]
    NotFinite {
        /// Index of the component, starting at 0.
        place: usize,
    },
    /// All components are 0, or there are none.
    #[error("the vector has no direction: all components are 0")]
    Zero,
    /// The stored scale is not a finite positive number.
    #[error("the scale of a stored vector is not a finite positive number")]
    Scale,
    /// The index already holds the maximum of 2^32 vectors.
    #[error("too many vectors in one collection (limit 4294967296)")]
    TooMany,
}

/// Distance metric of two vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DistanceMetric {
    /// 1 − cosine, from 0 to 2.
    #[default]
    Cosine,
    /// Euclidean distance, √(2 − 2·cosine).
    L2,
    /// Negative dot product, equal to the negative cosine.
    InnerProduct,
}

impl DistanceMetric {
    /// Converts a similarity to a distance; lower is nearer.
    ///
    /// All metrics give the same order, because vectors have length 1.
    pub fn distance(self, similarity: f32) -> f32 {
        match self {
            Self::Cosine => 1.0 - similarity,
            Self::L2 => (2.0 - 2.0 * similarity).max(0.0).sqrt(),
            Self::InnerProduct => -similarity,
        }
    }
}

/// Scales a vector to length 1.
pub fn normalize(vector: &[f32]) -> Result<Vec<f32>, VectorError> {
    ensure_finite(vector)?;
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err(VectorError::Zero);
    }
    #[expect(clippy::cast_possible_truncation, reason = "no number is above 1")]
    Ok(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

/// Returns an error if a component is infinite or NaN.
pub(crate) fn ensure_finite(vector: &[f32]) -> Result<(), VectorError> {
    match vector.iter().position(|number| !number.is_finite()) {
        Some(place) => Err(VectorError::NotFinite { place }),
        None => Ok(()),
    }
}

/// Number of parallel partial sums, which lets the compiler vectorise [`exact_similarity`].
const PARALLEL_SUMS: usize = 16;

/// Returns the exact similarity of two vectors of length 1. `stored` is encoded as little-endian
/// `f32`.
///
/// The order of additions is fixed, so the result is the same on every machine.
pub fn exact_similarity(query: &[f32], stored: &[u8]) -> Result<f32, VectorError> {
    let (numbers, rest) = stored.as_chunks::<4>();
    if numbers.len() != query.len() || !rest.is_empty() {
        return Err(VectorError::Dimensions { expected: query.len(), found: numbers.len() });
    }
    let mut sums = [0.0_f32; PARALLEL_SUMS];
    for (numbers, query) in numbers.chunks(PARALLEL_SUMS).zip(query.chunks(PARALLEL_SUMS)) {
        for ((sum, number), query) in sums.iter_mut().zip(numbers).zip(query) {
            *sum += f32::from_le_bytes(*number) * query;
        }
    }
    Ok(sums.iter().sum())
}

/// Encodes a vector as little-endian `f32`.
pub fn encode_vector(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Decodes a vector from little-endian `f32` and checks its dimensions.
pub fn decode_vector(stored: &[u8], dimensions: usize) -> Result<Vec<f32>, VectorError> {
    let (numbers, rest) = stored.as_chunks::<4>();
    if numbers.len() != dimensions || !rest.is_empty() {
        return Err(VectorError::Dimensions { expected: dimensions, found: numbers.len() });
    }
    let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    ensure_finite(&numbers)?;
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_keeps_direction() {
        assert_eq!(normalize(&[3.0, 0.0, -4.0]).unwrap(), [0.6, 0.0, -0.8]);
        assert_eq!(normalize(&[f32::MAX, 0.0]).unwrap(), [1.0, 0.0]);
        assert_eq!(normalize(&[f32::MIN_POSITIVE, 0.0]).unwrap(), [1.0, 0.0]);
    }

    #[test]
    fn normalize_rejects_zero_vector() {
        assert_eq!(normalize(&[0.0, -0.0]), Err(VectorError::Zero));
        assert_eq!(normalize(&[]), Err(VectorError::Zero));
        assert_eq!(normalize(&[1.0, f32::NAN]), Err(VectorError::NotFinite { place: 1 }));
        assert_eq!(normalize(&[f32::INFINITY]), Err(VectorError::NotFinite { place: 0 }));
    }

    #[test]
    fn encoded_vector_keeps_similarity() {
        let one = normalize(&[1.0; 37]).unwrap();
        assert!((exact_similarity(&one, &encode_vector(&one)).unwrap() - 1.0).abs() < 1e-6);
        let other: Vec<f32> = one.iter().map(|number| -number).collect();
        assert!((exact_similarity(&one, &encode_vector(&other)).unwrap() + 1.0).abs() < 1e-6);
        assert_eq!(decode_vector(&encode_vector(&one), 37).unwrap(), one);
    }

    #[test]
    fn decode_rejects_other_dimensions() {
        let error = Err(VectorError::Dimensions { expected: 2, found: 1 });
        assert_eq!(exact_similarity(&[0.6, 0.8], &encode_vector(&[1.0])), error);
        assert_eq!(exact_similarity(&[0.6, 0.8], &[0; 7]), error);
        assert_eq!(
            decode_vector(&[0; 9], 2),
            Err(VectorError::Dimensions { expected: 2, found: 2 })
        );
        let infinite = encode_vector(&[0.0, f32::INFINITY]);
        assert_eq!(decode_vector(&infinite, 2), Err(VectorError::NotFinite { place: 1 }));
    }

    #[test]
    fn metrics_agree_on_order() {
        for metric in [DistanceMetric::Cosine, DistanceMetric::L2, DistanceMetric::InnerProduct] {
            let distances = [1.0, 0.5, 0.0, -1.0].map(|similarity| metric.distance(similarity));
            assert!(distances.is_sorted(), "{metric:?}: {distances:?}");
        }
        assert_eq!(DistanceMetric::L2.distance(0.5), 1.0);
        assert_eq!(DistanceMetric::L2.distance(1.000_001), 0.0);
    }
}
