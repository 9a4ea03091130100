//! Search functions shared by all sources: query parsing, ranking, fusion, snippets and passages.

mod bag_scores;
mod bm25;
mod bound_sums;
mod chunk;
mod content_words;
mod diversify;
mod highlighter;
mod hybrid_fusion;
mod int8_kernel;
mod item;
mod item_fields;
mod markdown;
mod passage;
mod passage_budget;
mod phrase;
mod phrase_matcher;
mod plain_links;
mod quantized_index;
mod query;
mod query_words;
mod rank_fusion;
mod rank_request;
mod sentence_boundary;
mod snippet;
mod snippet_window;
mod title_match;
mod top_k;
pub mod vector;
mod word_stems;

pub use bag_scores::{WordBag, bag_similarity, score_bags};
pub use bm25::Bm25Scorer;
pub use chunk::{Chunk, ChunkSizes, first_piece_bytes, split_into_chunks};
pub use content_words::{ContentWord, content_words};
pub use diversify::{MmrLambda, diversify};
pub use highlighter::{Excerpt, Highlighter};
pub use hybrid_fusion::{FUSION_DEPTH, fuse_by_support};
pub use item::{GetRequest, Item};
pub use item_fields::{ItemExcerpt, ItemFields};
pub use markdown::{bounded_markup, parse_headings};
pub use passage::{ChunkSpan, Passage, read_passage};
pub use passage_budget::PassageBudget;
pub use phrase::{InflectedWord, Phrase, QueryLanguage, QueryWord, TypedWord};
pub use plain_links::{
    LinkEdit, remote_link_edits, restore_lines, without_remote_links, without_remote_links_in_json,
};
pub use quantized_index::{QuantizedIndex, QuantizedVector, rescore_depth};
pub use query::FtsQuery;
pub use rank_fusion::{FusedResult, Fusion, ListPosition, ReciprocalRank, reciprocal_rank};
pub use rank_request::{HitRequest, RankRequest, RankedMatch, Ranking};
pub use snippet::make_snippet;
pub use snippet_window::TextMatches;
pub use title_match::TitleMatches;
pub use top_k::{ScoredRow, TopK};
pub use vademecum_fts5::{detect_language, is_any_stop_word, is_stop_word};
pub use vector::{DistanceMetric, VectorError};
pub use word_stems::WordStems;
