//! Reading the signs of a query so that they take no answer away: quotes around phrases that occur
//! nowhere, and words after a minus that texts write with it (`docs/adr/0067-signs-in-queries.md`).

use std::{rc::Rc, sync::Arc};

use actix::{fut::ready, prelude::*};
use vademecum_search::FtsQuery;

use super::{
    CallError, Session,
    merged_results::MergedResults,
    session::{Search, SessionFuture},
};

/// Number of matches whose texts are searched for a word with its minus.
const MAX_CHECKED: usize = 10;

/// Length of the part of each text that is searched, in characters.
const CHECKED_CHARS: usize = 1_000;

/// Number of characters of a word that are compared. The rest may be an ending.
const COMPARED_CHARS: usize = 5;

impl Session {
    /// Returns the query with the words after its minus signs searched for, if a text has one of them
    /// with the minus, as `-name` in `find -name`; else the query as it is.
    pub(super) fn read_minus(
        &self,
        search: &Rc<Search>,
        query: Arc<FtsQuery>,
    ) -> SessionFuture<Result<Arc<FtsQuery>, CallError>> {
        let Some((with_words, words)) = query.with_minus_as_word() else {
            return Box::pin(ready(Ok(query)));
        };
        let ranked = self.rank_loosened(Rc::clone(search), Arc::new(with_words), MAX_CHECKED);
        let search = Rc::clone(search);
        Box::pin(ranked.then(move |ranked, session, _| {
            let (with_words, merged) = match ranked {
                Ok(ranked) => ranked,
                Err(error) => return Box::pin(ready(Err(error))) as SessionFuture<_>,
            };
            let weights = merged.statistics.phrase_weights().into();
            let ranked = merged.ranked;
            let load = search.load(&with_words, ranked, weights, CHECKED_CHARS);
            Box::pin(load.into_actor(session).map(move |loaded, _, _| {
                let (hits, _) = loaded?;
                let is_written = hits.iter().any(|hit| {
                    let texts = [&hit.title, &hit.snippet].into_iter().flatten();
                    texts.into_iter().any(|text| words.iter().any(|it| has_minus(text, it)))
                });
                Ok(if is_written { with_words } else { query })
            }))
        }))
    }

    /// Ranks the first `depth` matches of a query. If it has none, its signs are loosened step by step.
    pub(super) fn rank_loosened(
        &self,
        search: Rc<Search>,
        query: Arc<FtsQuery>,
        depth: usize,
    ) -> SessionFuture<Result<(Arc<FtsQuery>, MergedResults), CallError>> {
        let ranked = self.rank(&search, &query, depth);
        Box::pin(ranked.then(move |merged, session, _| {
            let merged = match merged {
                Ok(merged) => merged,
                Err(error) => return Box::pin(ready(Err(error))) as SessionFuture<_>,
            };
            match merged.is_empty().then(|| query.loosened(&merged.statistics)).flatten() {
                Some(loosened) => session.rank_loosened(search, Arc::new(loosened), depth),
                None => Box::pin(ready(Ok((query, merged)))),
            }
        }))
    }
}

/// Returns whether a text has the beginning of a word with a minus before it, and nothing that makes
/// the minus a hyphen before that.
fn has_minus(text: &str, word: &str) -> bool {
    let beginning: String = word.to_lowercase().chars().take(COMPARED_CHARS).collect();
    let text = text.to_lowercase();
    text.match_indices(&format!("-{beginning}")).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_of_a_flag_is_no_hyphen() {
        for text in ["find . -name '*.rs'", "`-name`", "-Names of files", "(-name)"] {
            assert!(has_minus(text, "name"), "{text}");
        }
        for text in ["file-name", "the name", "--name", "- name", ""] {
            assert!(!has_minus(text, "name"), "{text}");
        }
        assert!(has_minus("Obsidian Publish -sivustolla", "sivustosi"));
    }
}
