//! In-memory index of quantized vectors with approximate nearest-neighbour search.
//!
//! A vector of length 1 is quantized to one signed byte per dimension and one scale. A scan is
//! limited by memory bandwidth, so the upper four bits of all numbers are stored separately from
//! the lower four and the scan reads only the upper ones. It selects a few candidates per requested
//! result, which are then ordered by all eight bits. The caller requests [`rescore_depth`] results
//! and compares them with [`vector::exact_similarity`](super::vector::exact_similarity) against the
//! vectors stored in full.

use std::borrow::Cow;

use hashbrown::HashTable;

use super::{
    int8_kernel::{IntegerQuery, NibbleBlock, nibble_row_bytes},
    top_k::{ScoredRow, TopK},
    vector::{VectorError, ensure_finite},
};

/// Maximum absolute value of a quantized number.
const MAX_QUANTIZED: f32 = 127.0;
/// Number of rows per memory block. Memory grows by whole blocks instead of doubling. A block of a
/// few megabytes can be mapped by the system as one unit.
const BLOCK_ROWS: usize = 16_384;
/// Number of rows scored at once, so that the intermediate values stay in the CPU cache.
const BATCH_ROWS: usize = 1_024;
/// Number of scan candidates per requested result, and a minimum.
const CANDIDATES_PER_RESULT: usize = 4;
const MIN_CANDIDATES: usize = 160;

/// Returns the number of nearest codes to compare exactly so that the first `take` are nearly
/// always correct.
pub fn rescore_depth(take: usize) -> usize {
    take.saturating_mul(2).max(30)
}

/// A vector quantized to one signed byte per dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedVector<'b> {
    bytes: Cow<'b, [u8]>,
    scale: f32,
}

impl QuantizedVector<'static> {
    /// Quantizes a vector. Fails if it is zero or has a number that is not finite.
    pub fn quantize(vector: &[f32]) -> Result<Self, VectorError> {
        ensure_finite(vector)?;
        let highest = vector.iter().fold(0.0_f32, |high, number| high.max(number.abs()));
        let scale = highest / MAX_QUANTIZED;
        if !scale.is_normal() {
            return Err(VectorError::Zero);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the quotient is at most 127")]
        let byte = |number: &f32| ((number / scale).round() as i8).cast_unsigned();
        Ok(Self { bytes: vector.iter().map(byte).collect(), scale })
    }
}

impl<'b> QuantizedVector<'b> {
    /// Creates a code from its stored parts.
    pub fn from_parts(bytes: &'b [u8], scale: f32) -> Result<Self, VectorError> {
        if scale.is_finite() && scale > 0.0 {
            Ok(Self { bytes: Cow::Borrowed(bytes), scale })
        } else {
            Err(VectorError::Scale)
        }
    }

    /// Returns the numbers, each a signed byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the factor from bytes to the original values.
    pub fn scale(&self) -> f32 {
        self.scale
    }
}

/// Quantized vectors of a collection, by identifier.
#[derive(Clone, Debug)]
pub struct QuantizedIndex {
    dimensions: usize,
    ids: Vec<i64>,
    scales: Vec<f32>,
    blocks: Vec<NibbleBlock>,
    /// Row of each identifier. The hash table stores only rows; the keys are in `ids`.
    rows_by_id: HashTable<u32>,
}

impl QuantizedIndex {
    /// Creates an empty index for vectors with the given number of dimensions.
    pub fn new(dimensions: usize) -> Self {
        let (ids, scales, blocks) = (Vec::new(), Vec::new(), Vec::new());
        Self { dimensions, ids, scales, blocks, rows_by_id: HashTable::new() }
    }

    /// Returns the number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns whether the index contains an identifier.
    pub fn contains(&self, id: i64) -> bool {
        self.row_of(id).is_some()
    }

    /// Returns the memory size in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(NibbleBlock::memory_bytes).sum::<usize>()
            + self.ids.capacity() * size_of::<i64>()
            + self.scales.capacity() * size_of::<f32>()
            + self.rows_by_id.allocation_size()
    }

    /// Inserts a code, replacing any previous code of the same identifier.
    pub fn insert(&mut self, id: i64, code: &QuantizedVector<'_>) -> Result<(), VectorError> {
        let (expected, found) = (self.dimensions, code.bytes.len());
        if found != expected {
            return Err(VectorError::Dimensions { expected, found });
        }
        let place = match self.row_of(id) {
            Some(place) => place,
            None => self.append_row(id)?,
        };
        if let Some(scale) = self.scales.get_mut(place) {
            *scale = code.scale;
        }
        if let Some(block) = self.blocks.get_mut(place / BLOCK_ROWS) {
            block.write_row(place % BLOCK_ROWS, &code.bytes);
        }
        Ok(())
    }

    /// Removes the code of an identifier and returns whether it existed.
    pub fn remove(&mut self, id: i64) -> bool {
        let is_it = |place: &u32| id_at(&self.ids, *place) == Some(id);
        let Ok(entry) = self.rows_by_id.find_entry(hash_id(id), is_it) else { return false };
        let (hole, _) = entry.remove();
        let last = self.ids.len().saturating_sub(1);
        self.move_last_row(last, hole);
        self.ids.truncate(last);
        self.scales.truncate(last);
        let bytes = nibble_row_bytes(self.dimensions);
        if let Some(block) = self.blocks.last_mut() {
            block.truncate(last % BLOCK_ROWS, bytes);
        }
        self.blocks.truncate(last.div_ceil(BLOCK_ROWS));
        true
    }

    /// Returns the `take` nearest vectors accepted by `allowed`, with approximate similarities,
    /// nearest first. Ties are ordered by identifier.
    pub fn nearest(
        &self,
        query: &[f32],
        take: usize,
        mut allowed: impl FnMut(i64) -> bool,
    ) -> Result<Vec<(i64, f32)>, VectorError> {
        let query = self.quantize_query(query)?;
        let mut best = TopK::new(take.saturating_mul(CANDIDATES_PER_RESULT).max(MIN_CANDIDATES));
        let (mut products, mut guesses) = ([0; BATCH_ROWS], [0.0; BATCH_ROWS]);
        let mut place = 0_i64;
        let uppers =
            self.blocks.iter().flat_map(|block| block.upper_chunks(BATCH_ROWS, self.dimensions));
        let rows = self.ids.chunks(BATCH_ROWS).zip(self.scales.chunks(BATCH_ROWS));
        for (upper, (ids, scales)) in uppers.zip(rows) {
            query.estimate_similarities(upper, scales, &mut products, &mut guesses);
            for (id, guess) in ids.iter().zip(&guesses) {
                let score = f64::from(*guess);
                if best.admits(-score) && allowed(*id) {
                    best.push(ScoredRow { sort_key: -score, key: place, score });
                }
                place += 1;
            }
        }
        let (kept, ..) = best.into_parts();
        let rows_found = kept.iter().filter_map(|found| usize::try_from(found.key).ok());
        Ok(self.rank_rows(&query, rows_found, take))
    }

    /// Returns the `take` nearest vectors among the given identifiers, as
    /// [`nearest`](Self::nearest) does. Identifiers without a code are ignored.
    ///
    /// This is faster than a scan if few identifiers are allowed.
    pub fn nearest_among(
        &self,
        query: &[f32],
        take: usize,
        among: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<(i64, f32)>, VectorError> {
        let query = self.quantize_query(query)?;
        let mut rows: Vec<usize> = among.into_iter().filter_map(|id| self.row_of(id)).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(self.rank_rows(&query, rows, take))
    }

    fn quantize_query(&self, query: &[f32]) -> Result<IntegerQuery, VectorError> {
        let (expected, found) = (self.dimensions, query.len());
        if found == expected {
            IntegerQuery::quantize(query)
        } else {
            Err(VectorError::Dimensions { expected, found })
        }
    }

    /// Orders the codes in the given rows by similarity, using all eight bits.
    fn rank_rows(
        &self,
        query: &IntegerQuery,
        rows: impl IntoIterator<Item = usize>,
        take: usize,
    ) -> Vec<(i64, f32)> {
        let bytes = nibble_row_bytes(self.dimensions);
        let compared = rows.into_iter().filter_map(|place| {
            let row =
                self.blocks.get(place / BLOCK_ROWS)?.row_nibbles(place % BLOCK_ROWS, bytes)?;
            Some((*self.ids.get(place)?, query.similarity(row, *self.scales.get(place)?)))
        });
        let mut compared: Vec<_> = compared.collect();
        compared.sort_unstable_by(|one, other| {
            other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0))
        });
        compared.truncate(take);
        compared
    }

    fn row_of(&self, id: i64) -> Option<usize> {
        let place =
            self.rows_by_id.find(hash_id(id), |place| id_at(&self.ids, *place) == Some(id))?;
        usize::try_from(*place).ok()
    }

    /// Appends a row for a new identifier and returns its number.
    fn append_row(&mut self, id: i64) -> Result<usize, VectorError> {
        let place = self.ids.len();
        let short = u32::try_from(place).map_err(|_| VectorError::TooMany)?;
        self.ids.push(id);
        self.scales.push(0.0);
        if place.is_multiple_of(BLOCK_ROWS) {
            self.blocks.push(NibbleBlock::default());
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push_zero_row(nibble_row_bytes(self.dimensions));
        }
        let ids = &self.ids;
        self.rows_by_id
            .insert_unique(hash_id(id), short, |place| id_at(ids, *place).map_or(0, hash_id));
        Ok(place)
    }

    /// Moves the last row into the gap left by a removed one.
    fn move_last_row(&mut self, last: usize, hole: u32) {
        let Ok(to) = usize::try_from(hole) else { return };
        let (Some(id), Some(scale)) = (self.ids.get(last).copied(), self.scales.get(last).copied())
        else {
            return;
        };
        if let Some(place) =
            self.rows_by_id.find_mut(hash_id(id), |place| id_at(&self.ids, *place) == Some(id))
        {
            *place = hole;
        }
        let bytes = nibble_row_bytes(self.dimensions);
        let moved = self
            .blocks
            .get(last / BLOCK_ROWS)
            .and_then(|block| block.row_nibbles(last % BLOCK_ROWS, bytes));
        let moved = moved.map(|halves| halves.map(<[u8]>::to_vec));
        if let (Some([upper, lower]), Some(block)) = (moved, self.blocks.get_mut(to / BLOCK_ROWS)) {
            block.copy_row(to % BLOCK_ROWS, [&upper, &lower]);
        }
        if let (Some(to_id), Some(to_scale)) = (self.ids.get_mut(to), self.scales.get_mut(to)) {
            (*to_id, *to_scale) = (id, scale);
        }
    }
}

fn id_at(ids: &[i64], place: u32) -> Option<i64> {
    ids.get(usize::try_from(place).ok()?).copied()
}

/// Spreads identifiers evenly over hash values, whatever their step size.
fn hash_id(id: i64) -> u64 {
    let wide = u128::from(id.cast_unsigned()) * 0x9e37_79b9_7f4a_7c15;
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    let (upper, lower) = ((wide >> 64) as u64, wide as u64);
    upper ^ lower
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::vector::{encode_vector, exact_similarity, normalize};

    /// A seeded pseudo-random number generator.
    struct SeededRng(u64);

    impl SeededRng {
        fn next_number(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0 >> 33
        }

        #[expect(clippy::cast_precision_loss, reason = "random test data need not be exact")]
        fn vector(&mut self, dimensions: usize) -> Vec<f32> {
            let number = |_| (self.next_number() % 2_001) as f32 / 1_000.0 - 1.0;
            normalize(&(0..dimensions).map(number).collect::<Vec<_>>()).unwrap()
        }
    }

    fn index_of(vectors: &BTreeMap<i64, Vec<f32>>, dimensions: usize) -> QuantizedIndex {
        let mut codes = QuantizedIndex::new(dimensions);
        for (id, vector) in vectors {
            codes.insert(*id, &QuantizedVector::quantize(vector).unwrap()).unwrap();
        }
        codes
    }

    fn exact_nearest(vectors: &BTreeMap<i64, Vec<f32>>, query: &[f32], take: usize) -> Vec<i64> {
        let similarity =
            |vector: &Vec<f32>| exact_similarity(query, &encode_vector(vector)).unwrap();
        let mut all: Vec<_> = vectors.iter().map(|(id, it)| (*id, similarity(it))).collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all.into_iter().take(take).map(|(id, _)| id).collect()
    }

    #[test]
    fn rescoring_finds_exact_nearest_ten() {
        let mut rng = SeededRng(1);
        for dimensions in [7, 64, 384] {
            let vectors: BTreeMap<_, _> =
                (0..1_500).map(|id| (id * 1_024, rng.vector(dimensions))).collect();
            let codes = index_of(&vectors, dimensions);
            for _ in 0..2 {
                let query = rng.vector(dimensions);
                let near = codes.nearest(&query, rescore_depth(10), |_| true).unwrap();
                let near: BTreeMap<_, _> =
                    near.iter().map(|(id, _)| (*id, vectors[id].clone())).collect();
                assert_eq!(near.len(), rescore_depth(10));
                assert_eq!(exact_nearest(&near, &query, 10), exact_nearest(&vectors, &query, 10));
            }
        }
    }

    #[test]
    fn similarity_approximates_exact_value() {
        let mut rng = SeededRng(2);
        for dimensions in [1, 2, 3, 383, 384, 1_536] {
            let vectors = BTreeMap::from([(5, rng.vector(dimensions))]);
            let query = rng.vector(dimensions);
            let found = index_of(&vectors, dimensions).nearest(&query, 1, |_| true).unwrap();
            let exact = exact_similarity(&query, &encode_vector(&vectors[&5])).unwrap();
            assert!((found[0].1 - exact).abs() < 0.005, "{dimensions}: {found:?} {exact}");
        }
    }

    #[test]
    fn disallowed_vectors_displace_no_results() {
        let mut rng = SeededRng(3);
        let vectors: BTreeMap<_, _> = (0..2_500).map(|id| (id, rng.vector(16))).collect();
        let codes = index_of(&vectors, 16);
        let query = rng.vector(16);
        let few: Vec<i64> = (0..2_500).step_by(250).collect();
        let filtered = codes.nearest(&query, 10, |id| id % 250 == 0).unwrap();
        assert_eq!(filtered.len(), 10);
        assert!(filtered.iter().all(|(id, _)| few.contains(id)), "{filtered:?}");
        let twice = few.iter().chain(&few).copied().chain([-1, 9_999]);
        assert_eq!(codes.nearest_among(&query, 10, twice).unwrap(), filtered);
        assert_eq!(codes.nearest(&query, 10, |_| false).unwrap(), []);
    }

    #[test]
    fn ties_are_ordered_by_id() {
        let code = QuantizedVector::quantize(&[0.6, 0.8]).unwrap();
        let mut codes = QuantizedIndex::new(2);
        for id in [7, -3, 5_000, 0, 12] {
            codes.insert(id, &code).unwrap();
        }
        let found = codes.nearest(&[1.0, 0.0], 3, |_| true).unwrap();
        assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [-3, 0, 7]);
    }

    #[test]
    fn random_changes_keep_remaining_vectors() {
        let mut rng = SeededRng(4);
        let mut kept = BTreeMap::new();
        let mut changed = QuantizedIndex::new(9);
        for _ in 0..60_000 {
            let id = i64::try_from(rng.next_number() % 30_000).unwrap() - 15_000;
            if rng.next_number().is_multiple_of(3) {
                assert_eq!(changed.remove(id), kept.remove(&id).is_some());
            } else {
                let vector = rng.vector(9);
                changed.insert(id, &QuantizedVector::quantize(&vector).unwrap()).unwrap();
                kept.insert(id, vector);
            }
            assert_eq!(changed.len(), kept.len());
        }
        assert!(kept.len() > BLOCK_ROWS, "more than one block: {}", kept.len());
        let query = rng.vector(9);
        let fresh = index_of(&kept, 9);
        let all = |codes: &QuantizedIndex| codes.nearest(&query, 30_000, |_| true).unwrap();
        assert_eq!(all(&changed), all(&fresh));
        for id in kept.keys() {
            assert!(changed.contains(*id) && changed.remove(*id));
        }
        assert!(changed.is_empty() && all(&changed).is_empty());
    }

    #[test]
    fn code_round_trips_through_parts() {
        let code = QuantizedVector::quantize(&[0.6, -0.8, 0.0]).unwrap();
        assert_eq!(code.bytes(), [95_i8, -127, 0].map(i8::cast_unsigned));
        assert_eq!(QuantizedVector::from_parts(code.bytes(), code.scale()).unwrap(), code);
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert_eq!(QuantizedVector::from_parts(&[1], scale), Err(VectorError::Scale));
        }
    }

    #[test]
    fn index_rejects_unusable_vectors() {
        let error = VectorError::Dimensions { expected: 3, found: 2 };
        let mut codes = QuantizedIndex::new(3);
        let code = QuantizedVector::quantize(&[0.6, 0.8]).unwrap();
        assert_eq!(codes.insert(1, &code), Err(error));
        assert_eq!(codes.nearest(&[0.6, 0.8], 1, |_| true), Err(error));
        assert!(codes.is_empty());
        assert_eq!(QuantizedVector::quantize(&[0.0; 3]), Err(VectorError::Zero));
        assert_eq!(
            QuantizedVector::quantize(&[0.0, f32::NAN]),
            Err(VectorError::NotFinite { place: 1 })
        );
        assert_eq!(codes.nearest(&[0.0; 3], 1, |_| true), Err(VectorError::Zero));
    }

    #[test]
    fn index_memory_stays_near_code_size() {
        let mut codes = QuantizedIndex::new(384);
        let code = QuantizedVector::from_parts(&[1; 384], 0.1).unwrap();
        codes.insert(0, &code).unwrap();
        assert!(codes.memory_bytes() < 2_000, "{}", codes.memory_bytes());
        for id in 1..4_096 {
            codes.insert(id, &code).unwrap();
        }
        assert!(codes.memory_bytes() < 4_096 * 430, "{}", codes.memory_bytes());
        assert!(codes.rows_by_id.allocation_size() < 4_096 * 11);
    }
}
