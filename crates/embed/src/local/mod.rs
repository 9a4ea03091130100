//! Local embedding: a BERT encoder in the folder format of sentence-transformers, run in this
//! process on a matrix multiplication library.
//!
//! ```text
//! text ─▶ tokenizer ─▶ embedding ─▶ block ×N ─▶ pooling ─▶ vector
//!          tokens       rows of      attention,   one row
//!                       a table      feed-forward of many
//! ```
//!
//! `model_folder.rs` reads the configuration files, `weights.rs` the tensors; `matrix.rs` is the
//! only file that multiplies matrices.

mod attention;
mod encoder;
mod error;
mod layer_norm;
mod matrix;
mod model_folder;
mod pooling;
mod prompts;
mod provider;
mod settings;
#[cfg(test)]
mod testing;
mod token_embedding;
mod tokenizer;
mod transformer_block;
mod weights;

pub use provider::LocalEmbedder;
