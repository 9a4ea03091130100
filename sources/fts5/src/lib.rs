//! Safe interface to FTS5 extensions: a custom tokenizer, and a function that returns the postings
//! of a phrase, so that rows can be scored in memory instead of one by one
//! (`docs/adr/0007-postings-in-memory.md`).
//!
//! This is the only crate with `unsafe` code, and `ffi` is the only file that contains it. Start
//! with [`for_each_word`], which defines word boundaries.

mod collect;
mod ffi;
mod folding;
mod hash_lists;
mod language;
mod letters;
mod postings;
mod prepared;
mod row_bits;
mod row_languages;
mod row_lengths;
mod score_bounds;
mod spellings;
mod stems;
mod stop_words;
mod text_language;
mod tokens;
mod word_beginnings;
mod words;

pub use collect::{Alternatives, collect_postings};
pub use ffi::{register, release_free_memory, sqlite_heap_bytes};
pub use language::{Language, Script};
pub use letters::{is_letter, is_unspaced};
pub use postings::{BLOCK_ROWS, Posting, Postings, PostingsBlock, SEGMENT_WORDS};
pub use prepared::{PreparedText, with_prepared_texts};
pub use row_bits::{BLOCK_RANGES, RowBits};
pub use row_languages::{LanguageSet, RowLanguages};
pub use row_lengths::{LONG_ROW_WORDS, PASSAGE_WORDS, RowLengths};
pub use score_bounds::ScoreBounds;
pub use spellings::{is_digit_space, is_emoji};
pub use stems::with_stem;
pub use stop_words::{StopWords, detect_query_language, is_any_stop_word, is_stop_word};
pub use text_language::{LANGUAGE_PART_BYTES, detect_language, detect_languages};
pub use tokens::{
    ACCENT_MARK, ALTERNATIVE_SEPARATOR, EXACT_MARK, LANGUAGE_MARK, accented_token, exact_token,
    for_each_index_token,
};
pub use word_beginnings::WordBeginnings;
pub use words::{Word, WordKind, fold_word, for_each_candidate_word, for_each_word};
