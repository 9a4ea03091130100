//! Synthetic vectors with the distribution of sentence embeddings: in clusters, and with different
//! variances per dimension.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use vademecum_search::vector::{decode_vector, normalize};

/// Number of dimensions, as in all-MiniLM-L6-v2.
pub const DIMENSIONS: usize = 384;
/// Number of clusters.
const CLUSTER_COUNT: usize = 1_000;
/// Distance of vectors from their centre, relative to that of the centres.
const CLUSTER_SPREAD: f32 = 0.7;

/// Vectors to search, all of length 1, stored contiguously.
#[derive(Clone, Debug)]
pub struct BenchVectors {
    values: Vec<f32>,
    /// Query vectors, which are not among the others.
    pub queries: Vec<Vec<f32>>,
}

impl BenchVectors {
    /// Generates vectors deterministically.
    pub fn synthetic(rows: usize, queries: usize) -> Result<Self> {
        let mut rng = VectorRng(7);
        let widths: Vec<f32> =
            (1_u16..).take(DIMENSIONS).map(|n| f32::from(n).powf(-0.25)).collect();
        let mut around = |centre: &[f32], spread: f32| -> Vec<f32> {
            let numbers = centre.iter().zip(&widths);
            numbers
                .map(|(number, width)| number + rng.approximate_normal() * width * spread)
                .collect()
        };
        // A common offset: all sentences share some direction.
        let middle = around(&[0.0; DIMENSIONS], 0.5);
        let centres: Vec<_> = (0..CLUSTER_COUNT).map(|_| around(&middle, 1.0)).collect();
        let mut which = VectorRng(11);
        let mut next = || normalize(&around(&centres[which.below(CLUSTER_COUNT)], CLUSTER_SPREAD));
        let mut all = Vec::with_capacity(rows * DIMENSIONS);
        for _ in 0..rows {
            all.extend(next()?);
        }
        let queries = (0..queries).map(|_| next()).collect::<Result<_, _>>()?;
        Ok(Self { values: all, queries })
    }

    /// Reads vectors from a file of little-endian 32-bit floats. The last ones are the queries.
    pub fn read_file(file: &Path, rows: usize, queries: usize) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut all = bytes.chunks_exact(4 * DIMENSIONS);
        ensure!(
            all.len() >= rows + queries,
            "{} has {} vectors of {DIMENSIONS} dimensions, but {rows} rows and {queries} queries are needed",
            file.display(),
            all.len()
        );
        let mut next = || -> Result<Vec<f32>> {
            Ok(normalize(&decode_vector(all.next().context("no more vectors")?, DIMENSIONS)?)?)
        };
        let mut numbers = Vec::with_capacity(rows * DIMENSIONS);
        for _ in 0..rows {
            numbers.extend(next()?);
        }
        let queries = (0..queries).map(|_| next()).collect::<Result<_>>()?;
        Ok(Self { values: numbers, queries })
    }

    /// Iterates over all vectors with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &[f32])> {
        (0..).zip(self.values.chunks_exact(DIMENSIONS))
    }

    /// Returns the size of the vectors in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }
}

struct VectorRng(u64);

impl VectorRng {
    fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.next_u64() >> 33).unwrap_or(0) % sides
    }

    /// Approximates a normal distribution by a sum of four uniform numbers.
    fn approximate_normal(&mut self) -> f32 {
        let roll = self.next_u64().to_le_bytes();
        let (parts, _) = roll.as_chunks::<2>();
        let even = |part: &[u8; 2]| f32::from(u16::from_le_bytes(*part)) / 65_536.0 - 0.5;
        parts.iter().map(even).sum::<f32>() * 3.0_f32.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_vectors_are_deterministic_unit_vectors() {
        let [one, other] = [(); 2].map(|()| BenchVectors::synthetic(20, 2).unwrap());
        assert_eq!((&one.values, &one.queries), (&other.values, &other.queries));
        for (_, vector) in one.iter() {
            let length: f32 = vector.iter().map(|number| number * number).sum();
            assert!((length - 1.0).abs() < 1e-5);
        }
    }
}
