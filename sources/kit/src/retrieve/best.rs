//! The best of many matches, with those that tie with the last of them.

/// A match that was not identified yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    /// Where it comes: lower is earlier.
    pub(crate) place: f64,
    /// The row of the full-text table.
    pub(crate) key: i64,
    /// How well it matches: higher is better.
    pub(crate) score: f64,
}

/// Keeps the matches that come first out of any number.
#[derive(Debug)]
pub(crate) struct Best {
    take: usize,
    kept: Vec<Match>,
    /// Matches that come later than this are not kept.
    threshold: f64,
    /// How many are kept before those that have become too many are dropped.
    room: usize,
    total: usize,
    highest: f64,
}

impl Best {
    /// Keeps the first `take`, and whatever ties with the last of them.
    pub(crate) fn new(take: usize) -> Self {
        Self {
            take,
            kept: Vec::new(),
            threshold: f64::INFINITY,
            room: take.saturating_mul(2).max(256),
            total: 0,
            highest: 0.0,
        }
    }

    /// Whether a match at this place could be kept, as far as is known by now.
    pub(crate) fn admits(&self, place: f64) -> bool {
        place <= self.threshold
    }

    /// Looks at a match.
    pub(crate) fn add(&mut self, found: Match) {
        self.total += 1;
        self.highest = self.highest.max(found.score);
        if found.place > self.threshold {
            return;
        }
        self.kept.push(found);
        if self.kept.len() >= self.room {
            self.prune();
            // If all of them tie, the next look comes only when there are twice as many.
            self.room = self.room.max(self.kept.len().saturating_mul(2));
        }
    }

    /// What was kept, first to last; how many there were; the highest score.
    pub(crate) fn into_parts(mut self) -> (Vec<Match>, usize, f64) {
        self.prune();
        self.kept.sort_by(|one, other| {
            one.place.total_cmp(&other.place).then_with(|| one.key.cmp(&other.key))
        });
        (self.kept, self.total, self.highest)
    }

    fn prune(&mut self) {
        if self.kept.len() <= self.take || self.take == 0 {
            return;
        }
        let by_place = |one: &Match, other: &Match| one.place.total_cmp(&other.place);
        let (_, last, _) = self.kept.select_nth_unstable_by(self.take - 1, by_place);
        let threshold = last.place;
        self.kept.retain(|found| found.place <= threshold);
        self.threshold = threshold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(take: usize, places: impl IntoIterator<Item = u32>) -> (Vec<f64>, usize) {
        let mut best = Best::new(take);
        for (key, place) in (0..).zip(places) {
            best.add(Match { place: f64::from(place), key, score: -f64::from(place) });
        }
        let (kept, total, _) = best.into_parts();
        (kept.iter().map(|found| found.place).collect(), total)
    }

    #[test]
    fn the_first_are_kept_whatever_order_they_come_in() {
        let scattered = (0..10_000).map(|number| number * 7_919 % 10_000);
        let (kept, total) = best(5, scattered);
        assert_eq!((kept, total), (vec![0.0, 1.0, 2.0, 3.0, 4.0], 10_000));
    }

    #[test]
    fn what_ties_with_the_last_is_kept_too() {
        assert_eq!(best(2, [3, 1, 2, 2, 9, 2]).0, [1.0, 2.0, 2.0, 2.0]);
        assert_eq!(best(1, std::iter::repeat_n(7, 5_000)).0.len(), 5_000);
        assert_eq!(best(10, [2, 1]).0, [1.0, 2.0]);
    }
}
