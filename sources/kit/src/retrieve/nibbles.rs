//! Codes as they lie in memory, four bits of each number apart from the other
//! four, and how they are multiplied with a query.
//!
//! 128 is added to each number, so that none is negative and it is sixteen
//! times its upper half and its lower half. Byte `n` of a row of halves holds number `n` in its lower half and number
//! `n + half` in its upper half, so that neighbours in memory are multiplied
//! with neighbours in the query. The loop is written so that the compiler
//! makes vector instructions of it; which ones there are is looked up once.

use multiversion::multiversion;

use super::vector::{VectorError, finite};

/// How many bytes a row of so many numbers takes.
pub(crate) fn row_bytes(dimensions: usize) -> usize {
    dimensions.div_ceil(2)
}

/// Codes that lie together: the upper halves of all, and the lower halves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    upper: Vec<u8>,
    lower: Vec<u8>,
}

impl Block {
    /// The upper halves of all rows, so many rows at a time.
    pub(crate) fn uppers(&self, rows: usize, dimensions: usize) -> impl Iterator<Item = &[u8]> {
        self.upper.chunks(rows * row_bytes(dimensions).max(1))
    }

    /// The upper and the lower half of one row.
    pub(crate) fn row(&self, row: usize, bytes: usize) -> Option<[&[u8]; 2]> {
        let place = row * bytes..(row + 1) * bytes;
        Some([self.upper.get(place.clone())?, self.lower.get(place)?])
    }

    /// Adds a row of zeros.
    pub(crate) fn push(&mut self, bytes: usize) {
        for half in [&mut self.upper, &mut self.lower] {
            half.resize(half.len() + bytes, 0);
        }
    }

    /// Drops the rows after the first so many.
    pub(crate) fn truncate(&mut self, rows: usize, bytes: usize) {
        self.upper.truncate(rows * bytes);
        self.lower.truncate(rows * bytes);
    }

    /// Takes a code apart and writes it to a row; its numbers are signed bytes.
    pub(crate) fn write(&mut self, row: usize, code: &[u8]) {
        let (first, second) = code.split_at(row_bytes(code.len()));
        let second = second.iter().copied().chain([0]);
        let place = row * first.len()..(row + 1) * first.len();
        let (Some(upper), Some(lower)) =
            (self.upper.get_mut(place.clone()), self.lower.get_mut(place))
        else {
            return;
        };
        for ((upper, lower), (first, second)) in
            upper.iter_mut().zip(lower).zip(first.iter().zip(second))
        {
            // For a signed byte this is the same as to add 128.
            let (first, second) = (first ^ 0x80, second ^ 0x80);
            *upper = (first >> 4) | (second & 0xf0);
            *lower = (first & 0x0f) | (second << 4);
        }
    }

    /// Writes a row of another block over one of this.
    pub(crate) fn copy(&mut self, row: usize, [upper, lower]: [&[u8]; 2]) {
        let place = row * upper.len()..(row + 1) * upper.len();
        for (to, from) in [(&mut self.upper, upper), (&mut self.lower, lower)] {
            if let Some(to) = to.get_mut(place.clone()) {
                to.copy_from_slice(from);
            }
        }
    }

    /// How much memory it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.upper.capacity() + self.lower.capacity() + size_of::<Self>()
    }
}

/// A query as whole numbers.
#[derive(Clone, Debug)]
pub(crate) struct WholeQuery {
    /// The first half of the numbers, and the second, filled up with a 0.
    halves: [Vec<i16>; 2],
    /// All of them added up.
    sum: i32,
    /// What one of its whole numbers stands for.
    scale: f32,
}

impl WholeQuery {
    /// Rounds a query, as finely as no sum of products can overflow.
    pub(crate) fn of(query: &[f32]) -> Result<Self, VectorError> {
        finite(query)?;
        let highest = query.iter().fold(0.0_f64, |high, number| high.max(f64::from(*number).abs()));
        let total: f64 = query.iter().map(|number| f64::from(*number).abs()).sum();
        if highest == 0.0 {
            return Err(VectorError::Zero);
        }
        // No number of a row is above 15; the sixteenth part is room for what rounding adds.
        let finest = (f64::from(i16::MAX) / highest).min(f64::from(i32::MAX / 16) / total);
        #[expect(clippy::cast_possible_truncation, reason = "the scale was chosen so that it fits")]
        let whole = |number: &f32| (f64::from(*number) * finest).round() as i16;
        let (first, second) = query.split_at(row_bytes(query.len()));
        let mut halves = [first, second].map(|half| half.iter().map(whole).collect::<Vec<_>>());
        let [first, second] = &mut halves;
        second.resize(first.len(), 0);
        let sum = halves.iter().flatten().map(|number| i32::from(*number)).sum();
        #[expect(clippy::cast_possible_truncation, reason = "six digits are enough for a scale")]
        Ok(Self { halves, sum, scale: (1.0 / finest) as f32 })
    }

    /// About how alike the query is to each of many codes, by their upper
    /// halves alone: the lower ones are taken to be in the middle. `products`
    /// is room to count in, as much as there are `guesses`.
    pub(crate) fn guess(
        &self,
        upper: &[u8],
        scales: &[f32],
        products: &mut [i32],
        guesses: &mut [f32],
    ) {
        self.times(upper, products);
        #[expect(clippy::cast_precision_loss, reason = "it is a guess")]
        let of = |product: i32| (product - 8 * self.sum) as f32 * 16.0 + self.sum as f32 * 7.5;
        for ((guess, product), scale) in guesses.iter_mut().zip(products).zip(scales) {
            *guess = of(*product) * self.scale * scale;
        }
    }

    /// Multiplies each of many rows of halves with the query.
    fn times(&self, rows: &[u8], products: &mut [i32]) {
        let [first, second] = &self.halves;
        multiply(rows, first, second, products);
    }

    /// How alike a code and the query are, by both halves.
    pub(crate) fn similarity(&self, [upper, lower]: [&[u8]; 2], scale: f32) -> f32 {
        let half = |row| {
            let mut product = [0];
            self.times(row, &mut product);
            i64::from(product[0])
        };
        let product = 16 * half(upper) + half(lower) - 128 * i64::from(self.sum);
        #[expect(clippy::cast_precision_loss, reason = "six digits are more than the code has")]
        let product = product as f32;
        product * self.scale * scale
    }
}

/// Multiplies each of many rows with the two halves of a query.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn multiply(rows: &[u8], first: &[i16], second: &[i16], products: &mut [i32]) {
    for (row, product) in rows.chunks_exact(first.len()).zip(products) {
        let numbers = row.iter().zip(first).zip(second);
        *product = numbers
            .map(|((byte, first), second)| {
                i32::from(byte & 15) * i32::from(*first) + i32::from(byte >> 4) * i32::from(*second)
            })
            .sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_put_together_again() {
        let code: Vec<u8> = [-128_i8, 127, -1, 0, 1, 16, -17].map(i8::cast_unsigned).into();
        let bytes = row_bytes(code.len());
        let mut block = Block::default();
        block.push(bytes);
        block.push(bytes);
        block.write(1, &code);
        block.copy(0, block.clone().row(1, bytes).unwrap());
        for row in 0..2 {
            for (place, number) in code.iter().enumerate() {
                let mut query = vec![0.0; code.len()];
                query[place] = 1.0;
                let query = WholeQuery::of(&query).unwrap();
                let found = query.similarity(block.row(row, bytes).unwrap(), 1.0);
                assert!((found - f32::from(number.cast_signed())).abs() < 0.01, "{found}");
            }
        }
    }

    fn product(query: &[f32], row: &[u8]) -> f32 {
        let query = WholeQuery::of(query).unwrap();
        let mut products = [0];
        query.times(row, &mut products);
        #[expect(clippy::cast_precision_loss, reason = "the numbers of a test are small")]
        let [product] = products.map(|product| product as f32 * query.scale);
        product
    }

    #[test]
    fn both_halves_of_a_byte_count() {
        // 1, 2 and 3; the fourth number is none.
        assert!((product(&[1.0, 0.0, 0.0], &[0x31, 0x02]) - 1.0).abs() < 1e-3);
        assert!((product(&[0.0, 1.0, 0.0], &[0x31, 0x02]) - 2.0).abs() < 1e-3);
        assert!((product(&[0.5, -0.5, 1.0], &[0x31, 0x02]) - 2.5).abs() < 1e-3);
    }

    #[test]
    fn the_highest_numbers_of_many_dimensions_do_not_overflow() {
        for dimensions in [1, 2, 384, 4_096, 20_000] {
            for sign in [1.0, -1.0] {
                let query = vec![sign; dimensions];
                let row = vec![0xff; row_bytes(dimensions)];
                #[expect(clippy::cast_precision_loss, reason = "no more than a few thousand")]
                let share = product(&query, &row) / (15.0 * sign * dimensions as f32);
                assert!((share - 1.0).abs() < 1e-3, "{dimensions}: {share}");
            }
        }
    }

    #[test]
    fn a_query_that_points_nowhere_is_refused() {
        assert_eq!(WholeQuery::of(&[0.0, 0.0]).err(), Some(VectorError::Zero));
        let error = Some(VectorError::NotFinite { place: 1 });
        assert_eq!(WholeQuery::of(&[0.0, f32::NAN]).err(), error);
    }
}
