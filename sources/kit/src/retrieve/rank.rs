//! Running a source's ranking statements: scores from 0 to 1, ties in a total
//! order, and a true count.

use rusqlite::{Row, ToSql};

use crate::{
    model::{Ask, Order, Ranked, Ranking, Timestamp, Uri},
    store::{Reader, StoreError},
};

/// The statements with which a source ranks.
///
/// All take `:query`, the first two `:take` as well. Rows have `key`, `bm25`
/// (FTS5's: lower is better), `last_modified` and whatever the URI is
/// made of; `by_recency` also has `best`, that of the best match of all.
#[derive(Clone, Copy, Debug)]
pub struct Statements {
    /// Best first.
    pub by_relevance: &'static str,
    /// Newest first.
    pub by_recency: &'static str,
    /// How many there are, as `n`.
    pub count: &'static str,
}

/// A row as it was read.
struct Match {
    ranked: Ranked,
    bm25: Option<f64>,
    best: Option<f64>,
}

/// Finds the matches that come first.
pub fn rank(
    reader: &Reader<'_>,
    ask: &Ask,
    statements: &Statements,
    expression: &str,
    filters: &[(&str, &dyn ToSql)],
    uri: impl Fn(&Row<'_>) -> rusqlite::Result<Uri>,
) -> Result<Ranking, StoreError> {
    if ask.query.is_empty() || ask.take == 0 {
        return Ok(Ranking::default());
    }
    let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":query", &expression)];
    parameters.extend_from_slice(filters);
    let mut matches = match ask.order {
        Order::Relevance => whole_ties(ask.take, |take| {
            let limit = i64::try_from(take).unwrap_or(i64::MAX);
            let mut parameters = parameters.clone();
            parameters.push((":take", &limit));
            reader.all(statements.by_relevance, &parameters, |row| read(row, false, &uri))
        })?,
        Order::Recent => {
            let limit = i64::try_from(ask.take).unwrap_or(i64::MAX);
            let mut parameters = parameters.clone();
            parameters.push((":take", &limit));
            reader.all(statements.by_recency, &parameters, |row| read(row, true, &uri))?
        }
    };
    score(&mut matches, ask.order);
    let total = if matches.len() < ask.take {
        matches.len()
    } else {
        let count = reader.one(statements.count, &parameters, |row| row.get::<_, i64>("n"))?;
        usize::try_from(count).unwrap_or(0)
    };
    matches.truncate(ask.take);
    Ok(Ranking { ranked: matches.into_iter().map(|found| found.ranked).collect(), total })
}

fn read(
    row: &Row<'_>,
    with_best: bool,
    uri: impl Fn(&Row<'_>) -> rusqlite::Result<Uri>,
) -> rusqlite::Result<Match> {
    Ok(Match {
        ranked: Ranked {
            key: row.get("key")?,
            uri: uri(row)?,
            score: 0.0,
            last_modified: row.get::<_, Option<Timestamp>>("last_modified")?,
        },
        bm25: row.get("bm25")?,
        best: if with_best { row.get("best")? } else { None },
    })
}

/// Asks for more until the cut does not go through matches of equal rank, so
/// that ties can be put in order and every page agrees on that order.
fn whole_ties(
    take: usize,
    mut fetch: impl FnMut(usize) -> Result<Vec<Match>, StoreError>,
) -> Result<Vec<Match>, StoreError> {
    let mut ask = take.saturating_add(1);
    loop {
        let matches = fetch(ask)?;
        let last = matches.last().and_then(|found| found.bm25);
        let cut = matches.get(take - 1).and_then(|found| found.bm25);
        if matches.len() < ask || last != cut {
            return Ok(matches);
        }
        ask = ask.saturating_mul(4);
    }
}

/// Scores every match against the best one, and puts ties in order.
///
/// This is the contract's `(worst − bm25) / (worst − best)` with the worst
/// that can be, 0, instead of the worst on the page: so a score does not
/// depend on the page, and an only hit has 1 (`docs/adr/0003-scores.md`).
/// Where SQLite knows no rank, the place in the list decides.
fn score(matches: &mut [Match], order: Order) {
    let best = matches.first().and_then(|found| found.best.or(found.bm25));
    for (place, found) in (0_u32..).zip(matches.iter_mut()) {
        found.ranked.score = match (found.bm25, best) {
            (Some(rank), Some(best)) if best < 0.0 => (rank / best).clamp(0.0, 1.0),
            _ => 1.0 / f64::from(place + 1),
        };
    }
    if order == Order::Relevance {
        matches.sort_by(|one, other| {
            let (one, other) = (&one.ranked, &other.ranked);
            other
                .score
                .total_cmp(&one.score)
                .then_with(|| other.last_modified.cmp(&one.last_modified))
                .then_with(|| one.uri.cmp(&other.uri))
        });
    }
}
