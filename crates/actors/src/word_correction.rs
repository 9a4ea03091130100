//! Correction of query words that are not stored: stored words of all sources that are similar.

use std::collections::HashMap;

use actix::prelude::*;
use futures_util::future::join_all;
use vademecum_fts5::is_any_stop_word;
use vademecum_model::{CancelFlag, Deadline};
use vademecum_source::SimilarWord;

use super::{SourceSelection, aggregator::Aggregator};

/// Finds stored words for words that are not stored.
#[derive(Debug, Message)]
#[rtype(result = "HashMap<String, String>")]
pub(crate) struct CorrectWords {
    pub(crate) words: Vec<String>,
    pub(crate) selections: Vec<SourceSelection>,
    pub(crate) cancel: CancelFlag,
}

impl Handler<CorrectWords> for Aggregator {
    type Result = ResponseFuture<HashMap<String, String>>;

    fn handle(&mut self, message: CorrectWords, _: &mut Self::Context) -> Self::Result {
        let deadline = Deadline::after(self.timeout).with_cancellation(&message.cancel);
        let found =
            message.selections.iter().filter_map(|selection| self.selected_source(selection));
        let requests: Vec<_> = found
            .map(|source| {
                let (words, deadline) = (message.words.clone(), deadline.clone());
                let at = deadline.expires_at.into();
                let guess = async move { source.similar_words(words, deadline).await };
                tokio::time::timeout_at(at, guess)
            })
            .collect();
        Box::pin(async move {
            // A source without suggestions, or with late ones, contributes nothing.
            let guesses = join_all(requests).await.into_iter().flatten().flatten().flatten();
            best_corrections(guesses.collect())
        })
    }
}

/// Returns for each word the closest stored word that is no stop word; among equally close ones, the
/// one in the most passages.
fn best_corrections(guesses: Vec<SimilarWord>) -> HashMap<String, String> {
    let mut stored: HashMap<(String, String), (usize, u64)> = HashMap::new();
    for guess in guesses.into_iter().filter(|guess| !is_any_stop_word(&guess.stored_word)) {
        let (_, rows) =
            stored.entry((guess.query_word, guess.stored_word)).or_insert((guess.distance, 0));
        *rows += guess.rows;
    }
    let mut best: HashMap<String, (std::cmp::Reverse<usize>, u64, String)> = HashMap::new();
    for ((typed, stored), (distance, rows)) in stored {
        let candidate = (std::cmp::Reverse(distance), rows, stored);
        match best.get_mut(&typed) {
            Some(known) => *known = candidate.max(known.clone()),
            None => drop(best.insert(typed, candidate)),
        }
    }
    best.into_iter().map(|(typed, (_, _, stored))| (typed, stored)).collect()
}
