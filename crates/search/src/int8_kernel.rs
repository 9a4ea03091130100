//! Memory layout of quantized vectors and their dot products with a query.
//!
//! Each signed byte is offset by 128 to make it non-negative, then split into its upper and lower
//! four bits (nibbles). Upper and lower nibbles are stored in separate arrays. Byte `n` of a row of
//! nibbles holds that of number `n` in its lower half and that of number `n + half` in its upper
//! half, so adjacent bytes are multiplied with adjacent query numbers. The loop is written for
//! auto-vectorisation; the instruction set is selected once at run time.

use multiversion::multiversion;

use super::vector::{VectorError, ensure_finite};

/// Returns the number of bytes of a nibble row for the given number of dimensions.
pub(crate) fn nibble_row_bytes(dimensions: usize) -> usize {
    dimensions.div_ceil(2)
}

/// Consecutive quantized vectors, split into upper and lower nibbles.
#[derive(Clone, Debug, Default)]
pub(crate) struct NibbleBlock {
    upper: Vec<u8>,
    lower: Vec<u8>,
}

impl NibbleBlock {
    /// Returns the upper nibbles of all rows, in chunks of `rows` rows.
    pub(crate) fn upper_chunks(
        &self,
        rows: usize,
        dimensions: usize,
    ) -> impl Iterator<Item = &[u8]> {
        self.upper.chunks(rows * nibble_row_bytes(dimensions).max(1))
    }

    /// Returns the upper and lower nibbles of one row.
    pub(crate) fn row_nibbles(&self, row: usize, bytes: usize) -> Option<[&[u8]; 2]> {
        let place = row * bytes..(row + 1) * bytes;
        Some([self.upper.get(place.clone())?, self.lower.get(place)?])
    }

    /// Appends a row of zeros.
    pub(crate) fn push_zero_row(&mut self, bytes: usize) {
        for half in [&mut self.upper, &mut self.lower] {
            half.resize(half.len() + bytes, 0);
        }
    }

    /// Drops all rows after the first `rows`.
    pub(crate) fn truncate(&mut self, rows: usize, bytes: usize) {
        self.upper.truncate(rows * bytes);
        self.lower.truncate(rows * bytes);
    }

    /// Splits a code of signed bytes into nibbles and writes it to a row.
    pub(crate) fn write_row(&mut self, row: usize, code: &[u8]) {
        let (first, second) = code.split_at(nibble_row_bytes(code.len()));
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
            // For a signed byte, this equals adding 128.
            let (first, second) = (first ^ 0x80, second ^ 0x80);
            *upper = (first >> 4) | (second & 0xf0);
            *lower = (first & 0x0f) | (second << 4);
        }
    }

    /// Overwrites a row with nibbles from another block.
    pub(crate) fn copy_row(&mut self, row: usize, [upper, lower]: [&[u8]; 2]) {
        let place = row * upper.len()..(row + 1) * upper.len();
        for (to, from) in [(&mut self.upper, upper), (&mut self.lower, lower)] {
            if let Some(to) = to.get_mut(place.clone()) {
                to.copy_from_slice(from);
            }
        }
    }

    /// Returns the memory size in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.upper.capacity() + self.lower.capacity() + size_of::<Self>()
    }
}

/// A query vector scaled to integers.
#[derive(Clone, Debug)]
pub(crate) struct IntegerQuery {
    /// First and second half of the numbers; the second is zero-padded to the same length.
    halves: [Vec<i16>; 2],
    /// Sum of all numbers.
    sum: i32,
    /// Factor from integers back to the original values.
    scale: f32,
}

impl IntegerQuery {
    /// Scales a query to the finest integers that cannot overflow a sum of products.
    pub(crate) fn quantize(query: &[f32]) -> Result<Self, VectorError> {
        ensure_finite(query)?;
        let highest = query.iter().fold(0.0_f64, |high, number| high.max(f64::from(*number).abs()));
        let total: f64 = query.iter().map(|number| f64::from(*number).abs()).sum();
        if highest == 0.0 {
            return Err(VectorError::Zero);
        }
        // No nibble exceeds 15; using 16 leaves room for rounding errors.
        let finest = (f64::from(i16::MAX) / highest).min(f64::from(i32::MAX / 16) / total);
        #[expect(clippy::cast_possible_truncation, reason = "the scale was chosen so that it fits")]
        let whole = |number: &f32| (f64::from(*number) * finest).round() as i16;
        let (first, second) = query.split_at(nibble_row_bytes(query.len()));
        let mut halves = [first, second].map(|half| half.iter().map(whole).collect::<Vec<_>>());
        let [first, second] = &mut halves;
        second.resize(first.len(), 0);
        let sum = halves.iter().flatten().map(|number| i32::from(*number)).sum();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "f32 precision is sufficient for a scale"
        )]
        Ok(Self { halves, sum, scale: (1.0 / finest) as f32 })
    }

    /// Estimates the similarity of the query to many codes from their upper nibbles alone, assuming
    /// middle values for the lower ones. `products` is a scratch buffer of the length of `guesses`.
    pub(crate) fn estimate_similarities(
        &self,
        upper: &[u8],
        scales: &[f32],
        products: &mut [i32],
        guesses: &mut [f32],
    ) {
        self.multiply_rows(upper, products);
        #[expect(clippy::cast_precision_loss, reason = "the result is an estimate")]
        let of = |product: i32| (product - 8 * self.sum) as f32 * 16.0 + self.sum as f32 * 7.5;
        for ((guess, product), scale) in guesses.iter_mut().zip(products).zip(scales) {
            *guess = of(*product) * self.scale * scale;
        }
    }

    /// Computes the dot product of the query with each nibble row.
    fn multiply_rows(&self, rows: &[u8], products: &mut [i32]) {
        let [first, second] = &self.halves;
        multiply(rows, first, second, products);
    }

    /// Returns the similarity of the query to a code from both nibbles.
    pub(crate) fn similarity(&self, [upper, lower]: [&[u8]; 2], scale: f32) -> f32 {
        let half = |row| {
            let mut product = [0];
            self.multiply_rows(row, &mut product);
            i64::from(product[0])
        };
        let product = 16 * half(upper) + half(lower) - 128 * i64::from(self.sum);
        #[expect(clippy::cast_precision_loss, reason = "f32 precision exceeds that of the code")]
        let product = product as f32;
        product * self.scale * scale
    }
}

/// Computes the dot product of each row with the two halves of a query.
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
    fn nibbles_recombine_to_original_code() {
        let code: Vec<u8> = [-128_i8, 127, -1, 0, 1, 16, -17].map(i8::cast_unsigned).into();
        let bytes = nibble_row_bytes(code.len());
        let mut block = NibbleBlock::default();
        block.push_zero_row(bytes);
        block.push_zero_row(bytes);
        block.write_row(1, &code);
        block.copy_row(0, block.clone().row_nibbles(1, bytes).unwrap());
        for row in 0..2 {
            for (place, number) in code.iter().enumerate() {
                let mut query = vec![0.0; code.len()];
                query[place] = 1.0;
                let query = IntegerQuery::quantize(&query).unwrap();
                let found = query.similarity(block.row_nibbles(row, bytes).unwrap(), 1.0);
                assert!((found - f32::from(number.cast_signed())).abs() < 0.01, "{found}");
            }
        }
    }

    fn product(query: &[f32], row: &[u8]) -> f32 {
        let query = IntegerQuery::quantize(query).unwrap();
        let mut products = [0];
        query.multiply_rows(row, &mut products);
        #[expect(clippy::cast_precision_loss, reason = "the numbers of a test are small")]
        let [product] = products.map(|product| product as f32 * query.scale);
        product
    }

    #[test]
    fn product_includes_both_nibbles() {
        // Values 1, 2 and 3; the fourth is padding.
        assert!((product(&[1.0, 0.0, 0.0], &[0x31, 0x02]) - 1.0).abs() < 1e-3);
        assert!((product(&[0.0, 1.0, 0.0], &[0x31, 0x02]) - 2.0).abs() < 1e-3);
        assert!((product(&[0.5, -0.5, 1.0], &[0x31, 0x02]) - 2.5).abs() < 1e-3);
    }

    #[test]
    fn product_of_maximum_values_does_not_overflow() {
        for dimensions in [1, 2, 384, 4_096, 20_000] {
            for sign in [1.0, -1.0] {
                let query = vec![sign; dimensions];
                let row = vec![0xff; nibble_row_bytes(dimensions)];
                #[expect(clippy::cast_precision_loss, reason = "no more than a few thousand")]
                let share = product(&query, &row) / (15.0 * sign * dimensions as f32);
                assert!((share - 1.0).abs() < 1e-3, "{dimensions}: {share}");
            }
        }
    }

    #[test]
    fn query_rejects_zero_vector() {
        assert_eq!(IntegerQuery::quantize(&[0.0, 0.0]).err(), Some(VectorError::Zero));
        let error = Some(VectorError::NotFinite { place: 1 });
        assert_eq!(IntegerQuery::quantize(&[0.0, f32::NAN]).err(), error);
    }
}
