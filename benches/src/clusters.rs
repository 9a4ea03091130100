//! Vectors that lie as those of sentences do: in clusters, and further apart
//! in some directions than in others.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use vademecum_kit::retrieve::vector::{numbers, unit};

/// Numbers of each vector, as all-MiniLM-L6-v2 has them.
pub const DIMENSIONS: usize = 384;
/// Around which so many vectors lie.
const CENTRES: usize = 1_000;
/// How far vectors lie from their centre, when that lies at about 1.
const SPREAD: f32 = 0.7;

/// Vectors to search in, all of length 1, one after the other.
#[derive(Clone, Debug)]
pub struct Vectors {
    numbers: Vec<f32>,
    /// Vectors to search for; none of them is among the others.
    pub queries: Vec<Vec<f32>>,
}

impl Vectors {
    /// Invents so many, always the same.
    pub fn invented(rows: usize, queries: usize) -> Result<Self> {
        let mut dice = Dice(7);
        let widths: Vec<f32> =
            (1_u16..).take(DIMENSIONS).map(|n| f32::from(n).powf(-0.25)).collect();
        let mut around = |centre: &[f32], spread: f32| -> Vec<f32> {
            let numbers = centre.iter().zip(&widths);
            numbers.map(|(number, width)| number + dice.bell() * width * spread).collect()
        };
        // All sentences have something in common.
        let middle = around(&[0.0; DIMENSIONS], 0.5);
        let centres: Vec<_> = (0..CENTRES).map(|_| around(&middle, 1.0)).collect();
        let mut which = Dice(11);
        let mut next = || unit(&around(&centres[which.below(CENTRES)], SPREAD));
        let mut all = Vec::with_capacity(rows * DIMENSIONS);
        for _ in 0..rows {
            all.extend(next()?);
        }
        let queries = (0..queries).map(|_| next()).collect::<Result<_, _>>()?;
        Ok(Self { numbers: all, queries })
    }

    /// Reads them from a file of numbers in four bytes each, little end first;
    /// the last are searched for.
    pub fn read(file: &Path, rows: usize, queries: usize) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut all = bytes.chunks_exact(4 * DIMENSIONS);
        ensure!(
            all.len() >= rows + queries,
            "{} has {} vectors of {DIMENSIONS} dimensions, and {rows} and {queries} are wanted",
            file.display(),
            all.len()
        );
        let mut next = || -> Result<Vec<f32>> {
            Ok(unit(&numbers(all.next().context("no more vectors")?, DIMENSIONS)?)?)
        };
        let mut numbers = Vec::with_capacity(rows * DIMENSIONS);
        for _ in 0..rows {
            numbers.extend(next()?);
        }
        let queries = (0..queries).map(|_| next()).collect::<Result<_>>()?;
        Ok(Self { numbers, queries })
    }

    /// All of them, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &[f32])> {
        (0..).zip(self.numbers.chunks_exact(DIMENSIONS))
    }

    /// How much memory they take.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.numbers.as_slice())
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll() >> 33).unwrap_or(0) % sides
    }

    /// Nearly a normal distribution: four even ones added up.
    fn bell(&mut self) -> f32 {
        let roll = self.roll().to_le_bytes();
        let (parts, _) = roll.as_chunks::<2>();
        let even = |part: &[u8; 2]| f32::from(u16::from_le_bytes(*part)) / 65_536.0 - 0.5;
        parts.iter().map(even).sum::<f32>() * 3.0_f32.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invented_vectors_are_always_the_same_and_of_length_1() {
        let [one, other] = [(); 2].map(|()| Vectors::invented(20, 2).unwrap());
        assert_eq!((&one.numbers, &one.queries), (&other.numbers, &other.queries));
        for (_, vector) in one.iter() {
            let length: f32 = vector.iter().map(|number| number * number).sum();
            assert!((length - 1.0).abs() < 1e-5);
        }
    }
}
