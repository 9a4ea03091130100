//! Running a source's ranking statement: the first of all matches, scores from
//! 0 to 1, ties in a total order, and a true count, in one pass.

use rusqlite::{Row, ToSql};

use super::best::{Best, Match};
use crate::{
    model::{Ask, Order, Ranked, Ranking, Timestamp, Uri},
    store::{Reader, StoreError},
};

/// The statements with which a source ranks.
#[derive(Clone, Copy, Debug)]
pub struct Statements {
    /// Every match of `:query` as `key` and `bm25` (FTS5's: lower is better).
    pub matches: &'static str,
    /// The match `:key`: its `last_modified` and what its URI is made of.
    pub identify: &'static str,
}

/// Finds the matches that come first.
///
/// SQLite hands over every match and sorts none: the best are kept here,
/// together with those that tie with the last of them, so that the order is
/// total and every page agrees on it.
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
    let mut best = Best::new(ask.take);
    match ask.order {
        Order::Relevance => reader.each(statements.matches, &parameters, |row| {
            let bm25 = row.get::<_, Option<f64>>("bm25")?;
            best.add(Match { place: bm25.unwrap_or(0.0), key: row.get("key")?, bm25 });
            Ok(())
        })?,
        Order::Recent => {
            let mut identify = reader.prepare(statements.identify)?;
            reader.each(statements.matches, &parameters, |row| {
                let key: i64 = row.get("key")?;
                let mut found = identify.query([key])?;
                let moment = match found.next()? {
                    Some(row) => row.get::<_, Option<Timestamp>>("last_modified")?,
                    None => None,
                };
                let place = moment.map_or(f64::INFINITY, |moment| -moment.as_unix_milliseconds());
                best.add(Match { place, key, bm25: row.get("bm25")? });
                Ok(())
            })?;
        }
    }
    let (kept, total, lowest) = best.into_parts();
    let scored =
        (0_u32..).zip(&kept).map(|(place, found)| (found.key, score(found.bm25, lowest, place)));
    let mut ranked = reader.each_key(statements.identify, scored, |key, score, row| {
        Ok(Ranked { key, uri: uri(row)?, score, last_modified: row.get("last_modified")? })
    })?;
    sort(&mut ranked, ask.order);
    ranked.truncate(ask.take);
    Ok(Ranking { ranked, total })
}

/// Scores a match against the best one.
///
/// This is the contract's `(worst − bm25) / (worst − best)` with the worst
/// that can be, 0, instead of the worst on the page: so a score does not
/// depend on the page, and an only hit has 1 (`docs/adr/0003-scores.md`).
/// Where SQLite knows no rank, the place in the list decides.
fn score(bm25: Option<f64>, lowest: Option<f64>, place: u32) -> f64 {
    match (bm25, lowest) {
        (Some(bm25), Some(lowest)) if lowest < 0.0 => (bm25 / lowest).clamp(0.0, 1.0),
        _ => 1.0 / (1.0 + f64::from(place)),
    }
}

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
