//! A model in a folder of this machine: a BERT encoder as sentence-transformers
//! saves it, run by ourselves on matrix products of a library.
//!
//! ```text
//! text ─▶ tokenizer ─▶ embedding ─▶ block ×N ─▶ pooling ─▶ vector
//!          words into    rows of     attention,    one row
//!          pieces        a table     feed-forward  of many
//! ```
//!
//! `folder.rs` reads what the folder says of itself, `weights.rs` the numbers;
//! `matrix.rs` is the only file that multiplies.

mod attention;
mod block;
mod embedding;
mod encoder;
mod error;
mod folder;
mod matrix;
mod norm;
mod pooling;
mod prompts;
mod provider;
mod settings;
#[cfg(test)]
mod testing;
mod tokenizer;
mod weights;

pub use provider::Local;
