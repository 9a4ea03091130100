//! The text that fills benchmark libraries: synthetic, or read from a folder.

mod folder;
mod markup;
mod synthetic;

use std::path::PathBuf;

use anyhow::Result;

/// Approximate length of a passage, in characters.
pub(crate) const PASSAGE_CHARS: usize = 1_000;

/// A passage of text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Passage {
    /// A title of a few words.
    pub title: String,
    /// A text of about a thousand characters.
    pub body: String,
}

/// An iterator of passages.
pub type Passages = Box<dyn Iterator<Item = Passage> + Send>;

/// The source of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextSource {
    /// Synthetic text, identical in every run and unlimited.
    Synthetic,
    /// The files in a folder.
    Folder(PathBuf),
}

impl TextSource {
    /// Splits the text into `count` parts with different topics.
    pub fn split(&self, count: usize) -> Result<Vec<Passages>> {
        match self {
            Self::Synthetic => Ok((0..count)
                .map(|part| Box::new(synthetic::SyntheticText::new(part, count)) as Passages)
                .collect()),
            Self::Folder(folder) => folder::split_folder(folder, count),
        }
    }

    /// Returns the whole text as one part.
    pub fn all_passages(&self) -> Result<Passages> {
        Ok(self.split(1)?.pop().unwrap_or_else(|| Box::new(std::iter::empty())))
    }

    /// Returns a label for file names.
    pub fn label(&self) -> String {
        match self {
            Self::Synthetic => "invented".to_owned(),
            Self::Folder(folder) => {
                let path = folder.to_string_lossy();
                let words = path.split(|letter: char| !letter.is_alphanumeric());
                words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
            }
        }
    }
}

/// A deterministic pseudo-random number generator (xorshift64*).
#[derive(Clone, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// Creates a generator from a seed.
    pub fn new(seed: usize) -> Self {
        let mut die =
            Self(0x9E37_79B9_7F4A_7C15 ^ (seed as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93));
        die.next_u32();
        die
    }

    /// Returns a number below `sides`.
    pub fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.next_u32()).unwrap_or(0) % sides.max(1)
    }

    /// Returns a number from 0 to 1.
    pub fn unit_interval(&mut self) -> f64 {
        f64::from(self.next_u32()) / f64::from(u32::MAX)
    }

    /// Shuffles a slice.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }

    /// Advances the xorshift64* state and returns its upper 32 bits.
    fn next_u32(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        u32::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32).unwrap_or(0)
    }
}
