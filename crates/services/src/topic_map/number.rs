//! Conversion of counts for arithmetic.

/// Converts a number of items or terms.
pub(super) fn to_f64(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
