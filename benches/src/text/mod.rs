//! The text that a library is filled with: invented, or read from a folder.

mod folder;
mod invented;
mod markup;

use std::path::PathBuf;

use anyhow::Result;

/// About how many characters a passage has.
pub(crate) const LENGTH: usize = 1_000;

/// A piece of text about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Passage {
    /// A few words.
    pub title: String,
    /// About a thousand characters.
    pub body: String,
}

/// Passages, one after the other.
pub type Passages = Box<dyn Iterator<Item = Passage> + Send>;

/// Where text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// Made up, the same in every run, without end.
    Invented,
    /// Read from the files in a folder, until there are no more.
    Folder(PathBuf),
}

impl Text {
    /// So many parts that are about different things.
    pub fn parts(&self, count: usize) -> Result<Vec<Passages>> {
        match self {
            Self::Invented => Ok((0..count)
                .map(|part| Box::new(invented::Invented::new(part, count)) as Passages)
                .collect()),
            Self::Folder(folder) => folder::parts(folder, count),
        }
    }

    /// All of it in one part.
    pub fn whole(&self) -> Result<Passages> {
        Ok(self.parts(1)?.pop().unwrap_or_else(|| Box::new(std::iter::empty())))
    }

    /// What it is called, as part of a file name.
    pub fn label(&self) -> String {
        match self {
            Self::Invented => "invented".to_owned(),
            Self::Folder(folder) => {
                let path = folder.to_string_lossy();
                let words = path.split(|letter: char| !letter.is_alphanumeric());
                words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
            }
        }
    }
}

/// A die that falls the same way in every run.
#[derive(Clone, Debug)]
pub struct Die(u64);

impl Die {
    /// A die of its own for every seed.
    pub fn new(seed: usize) -> Self {
        let mut die =
            Self(0x9E37_79B9_7F4A_7C15 ^ (seed as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93));
        die.throw();
        die
    }

    /// A number below `sides`.
    pub fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.throw()).unwrap_or(0) % sides.max(1)
    }

    /// A number from 0 to 1.
    pub fn share(&mut self) -> f64 {
        f64::from(self.throw()) / f64::from(u32::MAX)
    }

    /// Puts things in another order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }

    /// xorshift64*: good enough to spread words.
    fn throw(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        u32::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32).unwrap_or(0)
    }
}
