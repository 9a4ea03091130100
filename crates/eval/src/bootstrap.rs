//! Confidence intervals of means over queries, by the percentile bootstrap (Efron 1979).
//!
//! All intervals over the same number of queries use the same resamples, so results are
//! reproducible. Differences are paired: they are taken per query before resampling.

use serde::Serialize;

/// Number of resamples.
const RESAMPLES: usize = 1_000;
/// Position of the lower bound among the sorted resampled means: the 2.5th percentile by the
/// nearest-rank method.
const LOWER_BOUND: usize = RESAMPLES / 40 - 1;
/// Position of the upper bound: the 97.5th percentile.
const UPPER_BOUND: usize = RESAMPLES - RESAMPLES / 40 - 1;
/// Seed of the resamples.
const SEED: u64 = 20;

/// The 95 % confidence interval of a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ConfidenceInterval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Mean difference of two search methods or two runs, over the same queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Mean of the differences, one for each query.
    pub mean: f64,
    /// Bootstrap confidence interval of the mean.
    pub interval: ConfidenceInterval,
}

impl ConfidenceInterval {
    /// Returns the interval of the mean of `values`, one per query. It is 0 to 0 without values.
    pub fn of_mean(values: &[f64]) -> Self {
        let mut generator = SplitMix64(SEED);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| mean(values.iter().filter_map(|_| values.get(generator.below(values.len())))))
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        let bound = |place: usize| means.get(place).copied().unwrap_or_default();
        Self { low: bound(LOWER_BOUND), high: bound(UPPER_BOUND) }
    }
}

impl Difference {
    /// Returns the mean of the differences of two values per query.
    pub(crate) fn of_pairs(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let differences: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
        Self { mean: mean(differences.iter()), interval: ConfidenceInterval::of_mean(&differences) }
    }
}

/// Returns the mean, or 0 without values.
pub(crate) fn mean<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

/// The generator `SplitMix64` (Steele, Lea and Flood 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `count`.
    fn below(&mut self, count: usize) -> usize {
        let scaled = u128::from(self.next_u64()) * count as u128;
        usize::try_from(scaled >> 64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_matches_published_sequence() {
        // The first outputs for seed 1234567 of the reference implementation.
        let mut generator = SplitMix64(1_234_567);
        assert_eq!(
            [(); 2].map(|()| generator.next_u64()),
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
        assert!((0..1_000).all(|_| generator.below(3) < 3));
    }

    #[test]
    fn interval_contains_mean_and_is_reproducible() {
        let values: Vec<f64> = (0_u32..400).map(|place| f64::from(place % 2)).collect();
        let interval = ConfidenceInterval::of_mean(&values);
        // The standard error is 0.5 / sqrt(400) = 0.025, so the normal interval is 0.451 to 0.549.
        assert!((interval.low - 0.451).abs() < 0.008, "{interval:?}");
        assert!((interval.high - 0.549).abs() < 0.008, "{interval:?}");
        assert_eq!(ConfidenceInterval::of_mean(&values), interval);
    }

    #[test]
    fn interval_of_constant_or_nothing_is_point() {
        let point = ConfidenceInterval { low: 0.5, high: 0.5 };
        assert_eq!(ConfidenceInterval::of_mean(&[0.5; 8]), point);
        assert_eq!(ConfidenceInterval::of_mean(&[]), ConfidenceInterval::default());
    }

    #[test]
    fn difference_is_paired() {
        // The values vary much, their differences do not.
        let pairs = (0_u32..100).map(|place| (f64::from(place) + 0.25, f64::from(place)));
        let expected =
            Difference { mean: 0.25, interval: ConfidenceInterval { low: 0.25, high: 0.25 } };
        assert_eq!(Difference::of_pairs(pairs), expected);
    }
}
