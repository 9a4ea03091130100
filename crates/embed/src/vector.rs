//! Normalisation and binary encoding of vectors.

/// Scales the vector to length one. Returns `None` if its length is zero or not finite.
pub(super) fn normalise(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let squares: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    let length = squares.sqrt();
    if !length.is_finite() || length <= 0.0 {
        return None;
    }
    for value in &mut vector {
        #[expect(clippy::cast_possible_truncation, reason = "the vector is of this precision")]
        let unit = (f64::from(*value) / length) as f32;
        *value = unit;
    }
    Some(vector)
}

/// Encodes a vector as little-endian 32-bit floats.
pub(super) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Decodes little-endian 32-bit floats. Returns `None` if `bytes` is empty, is not a multiple of
/// four long, or holds a number that is not finite.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<Vec<f32>> {
    let (values, rest) = bytes.as_chunks::<4>();
    let vector: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let sound = rest.is_empty() && !vector.is_empty();
    (sound && vector.iter().all(|value| value.is_finite())).then_some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalise_returns_unit_length_or_none() {
        assert_eq!(normalise(vec![3.0, -4.0]), Some(vec![0.6, -0.8]));
        assert_eq!(normalise(vec![f32::MAX, 0.0]), Some(vec![1.0, 0.0]));
        for none in [vec![], vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![f32::INFINITY, 1.0]] {
            assert_eq!(normalise(none), None);
        }
    }

    #[test]
    fn vector_survives_encoding_round_trip() {
        let vector = vec![0.25, -1.0, f32::MIN_POSITIVE];
        let bytes = to_bytes(&vector);
        assert_eq!(bytes[..4], [0, 0, 128, 62]);
        assert_eq!(from_bytes(&bytes), Some(vector));
        assert_eq!(from_bytes(&bytes[1..]), None);
        assert_eq!(from_bytes(&to_bytes(&[f32::NAN])), None);
        assert_eq!(from_bytes(&[]), None);
    }
}
