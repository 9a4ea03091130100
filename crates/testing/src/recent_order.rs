//! The order by date of a source.

use vademecum_model::{Filters, Order};
use vademecum_search::Ranking;
use vademecum_source::Source;

use super::SourceFixture;

pub(super) fn check_recent_order<S: Source>(bench: &SourceFixture<S>, word: &str) {
    let recent = bench.rank_with(word, Filters::default(), Order::Recent, 1_000);
    assert!(recent.ranked.is_sorted_by(|one, next| one.last_modified >= next.last_modified));
    assert_eq!(recent.total, bench.rank(word, 1).total);
    let scores = |ranking: Ranking| {
        let mut pairs: Vec<_> = ranking
            .ranked
            .into_iter()
            .map(|match_| (match_.uri, format!("{:.9}", match_.score)))
            .collect();
        pairs.sort();
        pairs
    };
    assert_eq!(scores(recent), scores(bench.rank(word, 1_000)), "the order changes no score");
}
