//! The vectors of a collection as small codes in memory, and which of them
//! are nearest to a query.
//!
//! A vector of length 1 is rounded to one byte a number and one scale. A scan
//! is as fast as memory can be read, so it reads half of it: the upper four
//! bits of all numbers lie together, and the lower four elsewhere. The upper
//! halves choose a few candidates for each that is wanted, and both halves put
//! these in order. The caller asks for the [`rescored`] nearest and compares
//! them exactly, with [`vector::exact`](super::vector::exact), from the vectors
//! that are stored in full.

use std::borrow::Cow;

use hashbrown::HashTable;

use super::{
    best::{Best, Match},
    nibbles::{Block, WholeQuery, row_bytes},
    vector::{VectorError, finite},
};

/// Highest number in a code.
const HIGHEST: f32 = 127.0;
/// Rows that lie together. Memory grows by so many, not by as much again; they
/// are a few megabytes, so that the system can map them as one.
const ROWS: usize = 16_384;
/// Rows that are looked at in one go: what is known of them stays in the cache.
const BATCH: usize = 1_024;
/// Rows that the first look keeps for each one that is wanted, and at least.
const KEPT: usize = 4;
const KEPT_AT_LEAST: usize = 160;

/// How many of the nearest codes to compare exactly, so that the first `take`
/// are nearly always the true ones.
pub fn rescored(take: usize) -> usize {
    take.saturating_mul(2).max(30)
}

/// A vector, rounded to a byte a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Code<'b> {
    bytes: Cow<'b, [u8]>,
    scale: f32,
}

impl Code<'static> {
    /// Rounds a vector.
    pub fn of(vector: &[f32]) -> Result<Self, VectorError> {
        finite(vector)?;
        let highest = vector.iter().fold(0.0_f32, |high, number| high.max(number.abs()));
        let scale = highest / HIGHEST;
        if !scale.is_normal() {
            return Err(VectorError::Zero);
        }
        #[expect(clippy::cast_possible_truncation, reason = "none is above the highest")]
        let byte = |number: &f32| ((number / scale).round() as i8).cast_unsigned();
        Ok(Self { bytes: vector.iter().map(byte).collect(), scale })
    }
}

impl<'b> Code<'b> {
    /// A code as it was stored.
    pub fn from_parts(bytes: &'b [u8], scale: f32) -> Result<Self, VectorError> {
        if scale.is_finite() && scale > 0.0 {
            Ok(Self { bytes: Cow::Borrowed(bytes), scale })
        } else {
            Err(VectorError::Scale)
        }
    }

    /// The numbers, each a signed byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What 1 in a byte stands for.
    pub fn scale(&self) -> f32 {
        self.scale
    }
}

/// The codes of a collection, by the ids of what they belong to.
#[derive(Clone, Debug)]
pub struct Codes {
    dimensions: usize,
    ids: Vec<i64>,
    scales: Vec<f32>,
    blocks: Vec<Block>,
    /// At which place the code of an id is; the ids themselves are there.
    places: HashTable<u32>,
}

impl Codes {
    /// No codes yet, of vectors of so many dimensions.
    pub fn new(dimensions: usize) -> Self {
        let (ids, scales, blocks) = (Vec::new(), Vec::new(), Vec::new());
        Self { dimensions, ids, scales, blocks, places: HashTable::new() }
    }

    /// How many numbers each vector has.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether there is one of this id.
    pub fn contains(&self, id: i64) -> bool {
        self.place(id).is_some()
    }

    /// How much memory they take.
    pub fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(Block::memory_bytes).sum::<usize>()
            + self.ids.capacity() * size_of::<i64>()
            + self.scales.capacity() * size_of::<f32>()
            + self.places.allocation_size()
    }

    /// Adds a code, or puts it in the place of the one that its id had.
    pub fn insert(&mut self, id: i64, code: &Code<'_>) -> Result<(), VectorError> {
        let (expected, found) = (self.dimensions, code.bytes.len());
        if found != expected {
            return Err(VectorError::Dimensions { expected, found });
        }
        let place = match self.place(id) {
            Some(place) => place,
            None => self.push(id)?,
        };
        if let Some(scale) = self.scales.get_mut(place) {
            *scale = code.scale;
        }
        if let Some(block) = self.blocks.get_mut(place / ROWS) {
            block.write(place % ROWS, &code.bytes);
        }
        Ok(())
    }

    /// Removes the code of an id, and tells whether there was one.
    pub fn remove(&mut self, id: i64) -> bool {
        let is_it = |place: &u32| at(&self.ids, *place) == Some(id);
        let Ok(entry) = self.places.find_entry(hash(id), is_it) else { return false };
        let (hole, _) = entry.remove();
        let last = self.ids.len().saturating_sub(1);
        self.move_last(last, hole);
        self.ids.truncate(last);
        self.scales.truncate(last);
        let bytes = row_bytes(self.dimensions);
        if let Some(block) = self.blocks.last_mut() {
            block.truncate(last % ROWS, bytes);
        }
        self.blocks.truncate(last.div_ceil(ROWS));
        true
    }

    /// The `take` nearest of those that are `allowed`, with their approximate
    /// similarities, nearest first; what is equally near comes by id.
    pub fn nearest(
        &self,
        query: &[f32],
        take: usize,
        mut allowed: impl FnMut(i64) -> bool,
    ) -> Result<Vec<(i64, f32)>, VectorError> {
        let query = self.whole(query)?;
        let mut best = Best::new(take.saturating_mul(KEPT).max(KEPT_AT_LEAST));
        let (mut products, mut guesses) = ([0; BATCH], [0.0; BATCH]);
        let mut place = 0_i64;
        let uppers = self.blocks.iter().flat_map(|block| block.uppers(BATCH, self.dimensions));
        let rows = self.ids.chunks(BATCH).zip(self.scales.chunks(BATCH));
        for (upper, (ids, scales)) in uppers.zip(rows) {
            query.guess(upper, scales, &mut products, &mut guesses);
            for (id, guess) in ids.iter().zip(&guesses) {
                let score = f64::from(*guess);
                if best.admits(-score) && allowed(*id) {
                    best.add(Match { place: -score, key: place, score });
                }
                place += 1;
            }
        }
        let (kept, ..) = best.into_parts();
        let places = kept.iter().filter_map(|found| usize::try_from(found.key).ok());
        Ok(self.in_order(&query, places, take))
    }

    /// The `take` nearest of a few, as [`nearest`](Self::nearest) has them; ids
    /// without a code are passed over.
    ///
    /// Where few are allowed, this is faster than to look at all.
    pub fn nearest_among(
        &self,
        query: &[f32],
        take: usize,
        among: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<(i64, f32)>, VectorError> {
        let query = self.whole(query)?;
        let mut places: Vec<usize> = among.into_iter().filter_map(|id| self.place(id)).collect();
        places.sort_unstable();
        places.dedup();
        Ok(self.in_order(&query, places, take))
    }

    fn whole(&self, query: &[f32]) -> Result<WholeQuery, VectorError> {
        let (expected, found) = (self.dimensions, query.len());
        if found == expected {
            WholeQuery::of(query)
        } else {
            Err(VectorError::Dimensions { expected, found })
        }
    }

    /// Compares the codes at some places by all their bits.
    fn in_order(
        &self,
        query: &WholeQuery,
        places: impl IntoIterator<Item = usize>,
        take: usize,
    ) -> Vec<(i64, f32)> {
        let bytes = row_bytes(self.dimensions);
        let compared = places.into_iter().filter_map(|place| {
            let row = self.blocks.get(place / ROWS)?.row(place % ROWS, bytes)?;
            Some((*self.ids.get(place)?, query.similarity(row, *self.scales.get(place)?)))
        });
        let mut compared: Vec<_> = compared.collect();
        compared.sort_unstable_by(|one, other| {
            other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0))
        });
        compared.truncate(take);
        compared
    }

    fn place(&self, id: i64) -> Option<usize> {
        let place = self.places.find(hash(id), |place| at(&self.ids, *place) == Some(id))?;
        usize::try_from(*place).ok()
    }

    /// Makes room for one more code, and tells where.
    fn push(&mut self, id: i64) -> Result<usize, VectorError> {
        let place = self.ids.len();
        let short = u32::try_from(place).map_err(|_| VectorError::TooMany)?;
        self.ids.push(id);
        self.scales.push(0.0);
        if place.is_multiple_of(ROWS) {
            self.blocks.push(Block::default());
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(row_bytes(self.dimensions));
        }
        let ids = &self.ids;
        self.places.insert_unique(hash(id), short, |place| at(ids, *place).map_or(0, hash));
        Ok(place)
    }

    /// Moves the last code to where one was removed.
    fn move_last(&mut self, last: usize, hole: u32) {
        let Ok(to) = usize::try_from(hole) else { return };
        let (Some(id), Some(scale)) = (self.ids.get(last).copied(), self.scales.get(last).copied())
        else {
            return;
        };
        if let Some(place) =
            self.places.find_mut(hash(id), |place| at(&self.ids, *place) == Some(id))
        {
            *place = hole;
        }
        let bytes = row_bytes(self.dimensions);
        let moved = self.blocks.get(last / ROWS).and_then(|block| block.row(last % ROWS, bytes));
        let moved = moved.map(|halves| halves.map(<[u8]>::to_vec));
        if let (Some([upper, lower]), Some(block)) = (moved, self.blocks.get_mut(to / ROWS)) {
            block.copy(to % ROWS, [&upper, &lower]);
        }
        if let (Some(to_id), Some(to_scale)) = (self.ids.get_mut(to), self.scales.get_mut(to)) {
            (*to_id, *to_scale) = (id, scale);
        }
    }
}

fn at(ids: &[i64], place: u32) -> Option<i64> {
    ids.get(usize::try_from(place).ok()?).copied()
}

/// Scatters ids, whatever steps they are numbered in.
fn hash(id: i64) -> u64 {
    let wide = u128::from(id.cast_unsigned()) * 0x9e37_79b9_7f4a_7c15;
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    let (upper, lower) = ((wide >> 64) as u64, wide as u64);
    upper ^ lower
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::retrieve::vector::{bytes, exact, unit};

    /// Numbers that look random and are the same each time.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0 >> 33
        }

        #[expect(clippy::cast_precision_loss, reason = "dice need not be exact")]
        fn vector(&mut self, dimensions: usize) -> Vec<f32> {
            let number = |_| (self.roll() % 2_001) as f32 / 1_000.0 - 1.0;
            unit(&(0..dimensions).map(number).collect::<Vec<_>>()).unwrap()
        }
    }

    fn codes(vectors: &BTreeMap<i64, Vec<f32>>, dimensions: usize) -> Codes {
        let mut codes = Codes::new(dimensions);
        for (id, vector) in vectors {
            codes.insert(*id, &Code::of(vector).unwrap()).unwrap();
        }
        codes
    }

    fn exactly(vectors: &BTreeMap<i64, Vec<f32>>, query: &[f32], take: usize) -> Vec<i64> {
        let similarity = |vector: &Vec<f32>| exact(query, &bytes(vector)).unwrap();
        let mut all: Vec<_> = vectors.iter().map(|(id, it)| (*id, similarity(it))).collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all.into_iter().take(take).map(|(id, _)| id).collect()
    }

    #[test]
    fn rescoring_what_is_nearest_finds_the_true_ten() {
        let mut dice = Dice(1);
        for dimensions in [7, 64, 384] {
            let vectors: BTreeMap<_, _> =
                (0..1_500).map(|id| (id * 1_024, dice.vector(dimensions))).collect();
            let codes = codes(&vectors, dimensions);
            for _ in 0..2 {
                let query = dice.vector(dimensions);
                let near = codes.nearest(&query, rescored(10), |_| true).unwrap();
                let near: BTreeMap<_, _> =
                    near.iter().map(|(id, _)| (*id, vectors[id].clone())).collect();
                assert_eq!(near.len(), rescored(10));
                assert_eq!(exactly(&near, &query, 10), exactly(&vectors, &query, 10));
            }
        }
    }

    #[test]
    fn a_similarity_is_nearly_the_exact_one() {
        let mut dice = Dice(2);
        for dimensions in [1, 2, 3, 383, 384, 1_536] {
            let vectors = BTreeMap::from([(5, dice.vector(dimensions))]);
            let query = dice.vector(dimensions);
            let found = codes(&vectors, dimensions).nearest(&query, 1, |_| true).unwrap();
            let exact = exact(&query, &bytes(&vectors[&5])).unwrap();
            assert!((found[0].1 - exact).abs() < 0.005, "{dimensions}: {found:?} {exact}");
        }
    }

    #[test]
    fn what_is_not_allowed_takes_nobodys_place() {
        let mut dice = Dice(3);
        let vectors: BTreeMap<_, _> = (0..2_500).map(|id| (id, dice.vector(16))).collect();
        let codes = codes(&vectors, 16);
        let query = dice.vector(16);
        let few: Vec<i64> = (0..2_500).step_by(250).collect();
        let filtered = codes.nearest(&query, 10, |id| id % 250 == 0).unwrap();
        assert_eq!(filtered.len(), 10);
        assert!(filtered.iter().all(|(id, _)| few.contains(id)), "{filtered:?}");
        let twice = few.iter().chain(&few).copied().chain([-1, 9_999]);
        assert_eq!(codes.nearest_among(&query, 10, twice).unwrap(), filtered);
        assert_eq!(codes.nearest(&query, 10, |_| false).unwrap(), []);
    }

    #[test]
    fn what_is_equally_near_comes_by_id_whenever_it_was_inserted() {
        let code = Code::of(&[0.6, 0.8]).unwrap();
        let mut codes = Codes::new(2);
        for id in [7, -3, 5_000, 0, 12] {
            codes.insert(id, &code).unwrap();
        }
        let found = codes.nearest(&[1.0, 0.0], 3, |_| true).unwrap();
        assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [-3, 0, 7]);
    }

    #[test]
    fn any_number_of_changes_leaves_what_was_kept() {
        let mut dice = Dice(4);
        let mut kept = BTreeMap::new();
        let mut changed = Codes::new(9);
        for _ in 0..60_000 {
            let id = i64::try_from(dice.roll() % 30_000).unwrap() - 15_000;
            if dice.roll().is_multiple_of(3) {
                assert_eq!(changed.remove(id), kept.remove(&id).is_some());
            } else {
                let vector = dice.vector(9);
                changed.insert(id, &Code::of(&vector).unwrap()).unwrap();
                kept.insert(id, vector);
            }
            assert_eq!(changed.len(), kept.len());
        }
        assert!(kept.len() > ROWS, "more than one block: {}", kept.len());
        let query = dice.vector(9);
        let fresh = codes(&kept, 9);
        let all = |codes: &Codes| codes.nearest(&query, 30_000, |_| true).unwrap();
        assert_eq!(all(&changed), all(&fresh));
        for id in kept.keys() {
            assert!(changed.contains(*id) && changed.remove(*id));
        }
        assert!(changed.is_empty() && all(&changed).is_empty());
    }

    #[test]
    fn a_stored_code_is_the_same_code() {
        let code = Code::of(&[0.6, -0.8, 0.0]).unwrap();
        assert_eq!(code.bytes(), [95_i8, -127, 0].map(i8::cast_unsigned));
        assert_eq!(Code::from_parts(code.bytes(), code.scale()).unwrap(), code);
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert_eq!(Code::from_parts(&[1], scale), Err(VectorError::Scale));
        }
    }

    #[test]
    fn vectors_that_do_not_fit_are_refused() {
        let error = VectorError::Dimensions { expected: 3, found: 2 };
        let mut codes = Codes::new(3);
        let code = Code::of(&[0.6, 0.8]).unwrap();
        assert_eq!(codes.insert(1, &code), Err(error));
        assert_eq!(codes.nearest(&[0.6, 0.8], 1, |_| true), Err(error));
        assert!(codes.is_empty());
        assert_eq!(Code::of(&[0.0; 3]), Err(VectorError::Zero));
        assert_eq!(Code::of(&[0.0, f32::NAN]), Err(VectorError::NotFinite { place: 1 }));
        assert_eq!(codes.nearest(&[0.0; 3], 1, |_| true), Err(VectorError::Zero));
    }

    #[test]
    fn a_code_takes_little_more_than_its_numbers_and_a_few_take_little() {
        let mut codes = Codes::new(384);
        let code = Code::from_parts(&[1; 384], 0.1).unwrap();
        codes.insert(0, &code).unwrap();
        assert!(codes.memory_bytes() < 2_000, "{}", codes.memory_bytes());
        for id in 1..4_096 {
            codes.insert(id, &code).unwrap();
        }
        assert!(codes.memory_bytes() < 4_096 * 430, "{}", codes.memory_bytes());
        assert!(codes.places.allocation_size() < 4_096 * 11);
    }
}
