//! A seeded pseudorandom number generator.

/// Pseudorandom number generator (LCG) that yields the same sequence in every run; the field is the
/// seed.
pub(crate) struct SeededRng(pub(crate) u64);

impl SeededRng {
    /// Returns a number in `0..end`.
    pub(crate) fn next_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    /// Returns a random element of `all`.
    pub(crate) fn choose<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.next_below(all.len())]
    }
}
