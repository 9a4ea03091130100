//! Ranking the rows of a full-text table: the first of all matches, raw scores,
//! ties in a total order, and a true count.

use std::sync::Arc;

use rusqlite::{Row, ToSql};
use vademecum_fts5::Postings;

use super::{
    FtsQuery,
    best::{Best, Match},
    bm25::Scorer,
    phrase::Phrase,
};
use crate::{
    model::{Ask, Order, Ranked, Ranking, Statistics, Timestamp, Uri},
    store::{Index, Memory, Parameters, Reader, Store, StoreError, Table},
};

/// How a source finds and names its matches.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "parameters of a statement have none")]
pub struct Plan<'a> {
    /// The full-text table.
    pub table: &'static Table,
    /// The columns that count; all, if empty.
    pub columns: &'a [&'static str],
    /// A statement that gives a row if the match `:key` counts, and its other
    /// parameters; without one, every match counts.
    pub passes: Option<(&'static str, &'a Parameters<'a>)>,
    /// The match `:key`: its `last_modified` and what its URI is made of.
    pub identify: &'static str,
    /// Reads the URI from a row of `identify`.
    pub uri: fn(&Row<'_>) -> rusqlite::Result<Uri>,
}

/// Finds the matches that come first.
///
/// The best are kept here, together with those that tie with the last of
/// them, so that the order is total and every page agrees on it.
pub fn rank(reader: &Reader<'_>, ask: &Ask, plan: &Plan<'_>) -> Result<Ranking, StoreError> {
    if ask.query.is_empty() {
        return Ok(Ranking::default());
    }
    let index = reader.index(plan.table)?;
    let phrases = postings(&index, ask.query.phrases(), plan)?;
    let own = statistics(index.memory(), &phrases);
    if ask.take == 0 {
        return Ok(Ranking { statistics: own, ..Ranking::default() });
    }
    let mut all = own.clone();
    all += &ask.others;
    let excluded = postings(&index, ask.query.excluded().iter(), plan)?;
    let times = ask.query.phrases().map(|phrase| phrase.times);
    let scored: Vec<_> = phrases.into_iter().zip(times).collect();
    let lengths = index.lengths()?;
    let scorer = Scorer::new(&scored, ask.query.required(), &excluded, &all, &lengths);
    let best = choose(reader, ask, plan, scorer)?;
    let (kept, total, best) = best.into_parts();
    let floor = ask.floor.as_ref().filter(|_| ask.order == Order::Relevance);
    let scores = || kept.iter().map(|found| found.score);
    let lowest = floor.map_or(f64::NEG_INFINITY, |floor| floor.with(scores()));
    let named = kept.iter().filter(|found| found.score >= lowest);
    let keys = named.map(|found| (found.key, found.score));
    let mut ranked = reader.each_key(plan.identify, keys, |key, score, row| {
        Ok(Ranked { key, uri: (plan.uri)(row)?, score, last_modified: row.get("last_modified")? })
    })?;
    // Only what was named counts: a source that fails must not lower the others.
    if let Some(floor) = floor {
        floor.raise(scores());
    }
    sort(&mut ranked, ask.order);
    ranked.truncate(ask.take);
    Ok(Ranking { ranked, total, best, statistics: own })
}

/// The statistics of all columns of a table for a query as far as they are
/// remembered; `None` if they are not. Looks at no file.
pub fn known_in(store: &Store, query: &FtsQuery, table: &Table) -> Option<Statistics> {
    known(&*store.memory(table)?, query, table, &[])
}

/// The statistics of a table for a query as far as they are remembered,
/// without a look into the file; `None` if they are not.
pub(crate) fn known(
    memory: &Memory,
    query: &FtsQuery,
    table: &Table,
    columns: &[&str],
) -> Option<Statistics> {
    let remembered = |phrase: &Phrase| match phrase.expression_in(table.columns, columns) {
        Some(expression) => memory.postings(&expression),
        None => Some(Arc::default()),
    };
    let phrases: Option<Vec<_>> = query.phrases().map(remembered).collect();
    Some(statistics(memory, &phrases?))
}

fn statistics(memory: &Memory, phrases: &[Arc<Postings>]) -> Statistics {
    let count = |postings: &Arc<Postings>| u64::try_from(postings.len()).unwrap_or(u64::MAX);
    Statistics {
        rows: memory.rows(),
        tokens: memory.tokens(),
        matches: phrases.iter().map(count).collect(),
    }
}

fn postings<'p>(
    index: &Index<'_>,
    phrases: impl Iterator<Item = &'p Phrase>,
    plan: &Plan<'_>,
) -> Result<Vec<Arc<Postings>>, StoreError> {
    phrases
        .map(|phrase| match phrase.expression_in(plan.table.columns, plan.columns) {
            Some(expression) => index.postings(&expression),
            None => Ok(Arc::default()),
        })
        .collect()
}

/// Looks at every match and keeps the first.
fn choose(
    reader: &Reader<'_>,
    ask: &Ask,
    plan: &Plan<'_>,
    scorer: Scorer<'_>,
) -> Result<Best, StoreError> {
    let mut best = Best::new(ask.take);
    let mut identify = reader.prepare(plan.identify)?;
    let mut filter = match plan.passes {
        Some((sql, parameters)) => Some((reader.prepare(sql)?, parameters)),
        None => None,
    };
    let mut looked_at = 0_u32;
    let pause = || reader.still_in_time();
    scorer.each(pause, |key, score| {
        looked_at = looked_at.wrapping_add(1);
        if looked_at.is_multiple_of(LOOKS) {
            reader.still_in_time()?;
        }
        if let Some((statement, parameters)) = &mut filter {
            let mut all: Vec<(&str, &dyn ToSql)> = vec![(":key", &key)];
            all.extend_from_slice(parameters);
            if !statement.exists(all.as_slice())? {
                return Ok(());
            }
        }
        let place = match ask.order {
            Order::Relevance => -score,
            Order::Recent => {
                let mut found = identify.query([key])?;
                let row = found.next()?;
                let moment: Option<Timestamp> =
                    row.map(|row| row.get("last_modified")).transpose()?.flatten();
                moment.map_or(f64::INFINITY, |moment| -moment.as_unix_milliseconds())
            }
        };
        best.add(Match { place, key, score });
        Ok::<_, StoreError>(())
    })?;
    Ok(best)
}

/// Matches between two looks at the clock.
const LOOKS: u32 = 256;

fn sort(ranked: &mut [Ranked], order: Order) {
    ranked.sort_by(|one, other| {
        let by_score = match order {
            Order::Relevance => other.score.total_cmp(&one.score),
            Order::Recent => std::cmp::Ordering::Equal,
        };
        by_score
            .then_with(|| other.last_modified.cmp(&one.last_modified))
            .then_with(|| one.uri.cmp(&other.uri))
    });
}
