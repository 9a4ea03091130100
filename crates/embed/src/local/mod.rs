//! Local embedding: an encoder (BERT, XLM-RoBERTa or ModernBERT) or a static table in the folder format of
//! sentence-transformers or model2vec, run in this process on a matrix multiplication library.
//!
//! ```text
//! text ─▶ tokenizer ─▶ embedding ─▶ block ×N ─▶ pooling ─▶ vector
//!          tokens       rows of      attention,   one row
//!                       a table      feed-forward of many
//!                   ─▶ static table ───────────────────────▶
//! ```
//!
//! `model_folder.rs` reads the configuration files, `weights.rs` the tensors; `matrix.rs` is the
//! only file that multiplies matrices.

mod activation;
mod attention;
mod bert_config;
mod config_file;
mod encoder;
mod error;
mod head_sizes;
mod layer_norm;
mod matrix;
mod model_folder;
mod modern_block;
mod modern_config;
mod pooling;
mod prompts;
mod provider;
mod rotary_positions;
mod settings;
mod static_table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_modern;
mod token_embedding;
mod tokenizer;
mod transformer_block;
mod weights;

pub use provider::LocalEmbedder;
