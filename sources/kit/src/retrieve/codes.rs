//! Vectors in eight bits a dimension, kept in memory to be looked through.

use std::collections::HashMap;

/// A vector in eight bits a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    bytes: Vec<u8>,
    scale: f32,
}

impl Code {
    /// The code of a vector.
    pub fn of(vector: &[f32]) -> Self {
        let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, reason = "it is between -127 and 127")]
        let code = |value: &f32| ((value / scale).round() as i8).cast_unsigned();
        Self { bytes: vector.iter().map(code).collect(), scale }
    }

    /// A code that was stored; none if it was that of no vector.
    pub fn from_parts(bytes: &[u8], scale: f32) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self { bytes: bytes.to_vec(), scale })
    }

    /// Its bytes, to be stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What a step of a byte is worth, to be stored.
    pub fn scale(&self) -> f32 {
        self.scale
    }
}

/// The codes of a collection.
#[derive(Debug)]
pub struct Codes {
    dimensions: usize,
    codes: HashMap<i64, Code>,
}

impl Codes {
    /// No codes of vectors that are so long.
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, codes: HashMap::new() }
    }

    /// How long the vectors are.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Adds a code, or puts it in the place of the one of that number.
    pub fn put(&mut self, id: i64, code: &Code) {
        self.codes.insert(id, code.clone());
    }

    /// Takes out the code of that number, if there is one.
    pub fn remove(&mut self, id: i64) {
        self.codes.remove(&id);
    }

    /// Those that are nearest to a vector and count, nearest first.
    pub fn nearest(
        &self,
        query: &[f32],
        take: usize,
        mut counts: impl FnMut(i64) -> bool,
    ) -> Vec<(i64, f32)> {
        let similarity = |code: &Code| {
            let products = query.iter().zip(&code.bytes);
            products.map(|(one, other)| one * f32::from(other.cast_signed())).sum::<f32>()
                * code.scale
        };
        let mut found: Vec<(i64, f32)> =
            self.codes.iter().map(|(id, code)| (*id, similarity(code))).collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        found.into_iter().filter(|(id, _)| counts(*id)).take(take).collect()
    }
}

/// The product of a vector and one that is stored: 32-bit floats, least byte
/// first. None if they are not equally long.
pub fn exact(query: &[f32], stored: &[u8]) -> Option<f32> {
    let (numbers, rest) = stored.as_chunks::<4>();
    (rest.is_empty() && numbers.len() == query.len()).then(|| {
        query.iter().zip(numbers).map(|(one, other)| one * f32::from_le_bytes(*other)).sum()
    })
}
