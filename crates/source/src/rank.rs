//! Ranking of the rows of a full-text table: raw scores, a total order and an exact match count.

use std::sync::Arc;

use rusqlite::Row;
use vademecum_fts5::{Postings, RowLengths};
use vademecum_model::{CorpusStatistics, FtsTable, Order, Timestamp, Uri};
use vademecum_search::{
    Bm25Scorer, FtsQuery, Phrase, PhraseSet, RankRequest, RankedMatch, Ranking, ScoredRow, TopK,
};
use vademecum_store::{
    FilterStatements, FtsIndex, IndexCache, Reader, RowExpression, RowFilter, Store, StoreError,
};

use super::word_forms::find_expression;

/// Instructions for finding and identifying the matches of a source.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "parameters of a statement have none")]
pub struct RankPlan<'a> {
    /// Full-text table.
    pub table: &'static FtsTable,
    /// Columns to search; empty means all.
    pub columns: &'a [&'static str],
    /// Filter on the matches; `None` accepts every match.
    pub filter: Option<FilterStatements<'a>>,
    /// Rows that do not exist for this caller, in ascending order. They are neither returned nor
    /// counted, and do not influence scores.
    pub hidden: &'a [i64],
    /// Statement that returns `last_modified` and the URI columns of the match `:key`.
    pub identify_sql: &'static str,
    /// Reads the URI from a row of `identify_sql`.
    pub read_uri: &'a dyn Fn(&Row<'_>) -> rusqlite::Result<Uri>,
}

/// Compares the columns `titles`, `sender` and `dated_at` of an identified match with the query, if they
/// raise scores; not every source has the last two. Returns the URI.
pub fn compare_names(request: &RankRequest, row: &Row<'_>, uri: Uri) -> rusqlite::Result<Uri> {
    let Some(named) = &request.named else { return Ok(uri) };
    if let Some(all) = row.get::<_, Option<String>>("titles")? {
        named.compare(&uri, &all);
    } else if let Ok(column) = row.as_ref().column_index("sender")
        && let Some(sender) = row.get::<_, Option<String>>(column)?
    {
        named.compare_sender(&uri, &sender);
    }
    if named.dates().is_some()
        && let Ok(column) = row.as_ref().column_index("dated_at")
        && let Some(date) = row.get::<_, Option<Timestamp>>(column)?
    {
        named.compare_date(&uri, date);
    }
    Ok(uri)
}

/// Returns the first matches of a table.
///
/// The best matches are kept together with those that tie with the last of them, so the order is
/// total and consistent across pages.
pub fn rank_table(
    reader: &Reader<'_>,
    request: &RankRequest,
    plan: &RankPlan<'_>,
) -> Result<Ranking, StoreError> {
    if request.query.is_empty() {
        return Ok(Ranking::default());
    }
    let index = reader.open_index(plan.table)?;
    let phrases = load_postings(&index, request.query.phrases(), plan)?;
    let mut own = compute_statistics(index.cache(), &phrases);
    if !plan.hidden.is_empty() {
        count_visible_rows(&mut own, &phrases, &*index.lengths()?, plan.hidden);
    }
    if request.limit == 0 {
        return Ok(Ranking { statistics: own, ..Ranking::default() });
    }
    let mut all = own.clone();
    all += &request.other_statistics;
    let excluded = load_postings(&index, request.query.excluded().iter(), plan)?;
    let times = request.query.phrases().map(|phrase| phrase.repetitions);
    let scored: Vec<_> = phrases.into_iter().zip(times).collect();
    let lengths = index.lengths()?;
    let required = request.query.required();
    let scorer = Bm25Scorer::new(&scored, required, (&excluded, plan.hidden), &all, &lengths);
    let (best, total) = select_top(reader, request, plan, &scorer)?;
    let (kept, best) = best.into_parts();
    let threshold = request.threshold.as_ref().filter(|_| request.order == Order::Relevance);
    let scores = || kept.iter().map(|found| found.score);
    let lowest = threshold.map_or(f64::NEG_INFINITY, |threshold| threshold.lowest_with(scores()));
    let named = kept.iter().filter(|found| found.score >= lowest);
    let keys = named.map(|found| (found.key, found.score));
    let mut ranked = reader.query_each_key(plan.identify_sql, keys, |key, score, row| {
        let mut missing = PhraseSet::default();
        for (position, (postings, _)) in scored.iter().enumerate() {
            if !postings.contains(key) {
                missing.insert(position);
            }
        }
        Ok(RankedMatch {
            key,
            uri: (plan.read_uri)(row)?,
            score,
            last_modified: row.get("last_modified")?,
            missing,
        })
    })?;
    // Only returned matches raise the threshold: a source that fails must not affect the others.
    if let Some(threshold) = threshold {
        threshold.raise(scores());
    }
    sort_matches(&mut ranked, request.order);
    ranked.truncate(request.limit);
    Ok(Ranking { ranked, total, best_score: best, statistics: own, has_supersessions: false })
}

/// Returns the cached statistics over all columns of a table, or `None` if any part is not cached.
/// Reads no file.
pub fn cached_table_statistics(
    store: &Store,
    query: &FtsQuery,
    table: &FtsTable,
) -> Option<CorpusStatistics> {
    cached_statistics(&*store.index_cache(table)?, query, table, &[])
}

/// Returns the cached statistics of a query, or `None` if any part is not cached. Reads no file.
pub(crate) fn cached_statistics(
    cache: &IndexCache,
    query: &FtsQuery,
    table: &FtsTable,
    columns: &[&str],
) -> Option<CorpusStatistics> {
    let key =
        |phrase: &Phrase| phrase.restrict_to_columns(phrase.cache_key(), table.columns, columns);
    let remembered = |phrase: &Phrase| match key(phrase) {
        Some(key) => cache.postings(&key),
        None => Some(Arc::default()),
    };
    let phrases: Option<Vec<_>> = query.phrases().map(remembered).collect();
    Some(compute_statistics(cache, &phrases?))
}

fn compute_statistics(cache: &IndexCache, phrases: &[Arc<Postings>]) -> CorpusStatistics {
    let count = |postings: &Arc<Postings>| u64::try_from(postings.len()).unwrap_or(u64::MAX);
    CorpusStatistics {
        rows: cache.rows(),
        tokens: cache.tokens(),
        document_frequencies: phrases.iter().map(count).collect(),
    }
}

fn load_postings<'p>(
    index: &FtsIndex<'_>,
    phrases: impl Iterator<Item = &'p Phrase>,
    plan: &RankPlan<'_>,
) -> Result<Vec<Arc<Postings>>, StoreError> {
    phrases.map(|phrase| phrase_postings(index, phrase, plan.table, plan.columns)).collect()
}

/// Returns the postings of a phrase in some columns.
pub(crate) fn phrase_postings(
    index: &FtsIndex<'_>,
    phrase: &Phrase,
    table: &FtsTable,
    columns: &[&str],
) -> Result<Arc<Postings>, StoreError> {
    let key = phrase.restrict_to_columns(phrase.cache_key(), table.columns, columns);
    let Some(key) = key else { return Ok(Arc::default()) };
    index.postings(&key, || {
        let columns = phrase.searched_columns(table.columns, columns);
        Ok(RowExpression { columns, ..find_expression(index, phrase)? })
    })
}

/// Replaces the statistics of a table by those of its visible rows. The totals that FTS5 keeps are
/// not used, because they include earlier versions of changed rows.
fn count_visible_rows(
    statistics: &mut CorpusStatistics,
    phrases: &[Arc<Postings>],
    lengths: &RowLengths,
    hidden: &[i64],
) {
    (statistics.rows, statistics.tokens) = lengths.totals();
    for length in hidden.iter().map(|row| lengths.words_in_row(*row)).filter(|words| *words > 0) {
        statistics.rows = statistics.rows.saturating_sub(1);
        statistics.tokens = statistics.tokens.saturating_sub(length.into());
    }
    for (matches, postings) in statistics.document_frequencies.iter_mut().zip(phrases) {
        *matches = count_visible(postings, hidden);
    }
}

/// Returns the number of rows with a phrase that are not hidden.
pub(crate) fn count_visible(postings: &Postings, hidden: &[i64]) -> u64 {
    let rows = postings.len() - hidden.iter().filter(|row| postings.contains(**row)).count();
    u64::try_from(rows).unwrap_or(u64::MAX)
}

/// Scores the matches and keeps the first ones. Returns them and the number of all matches.
fn select_top(
    reader: &Reader<'_>,
    request: &RankRequest,
    plan: &RankPlan<'_>,
    scorer: &Bm25Scorer<'_>,
) -> Result<(TopK, usize), StoreError> {
    let pause = || reader.check_deadline();
    let mut filter =
        plan.filter.map(|statements| RowFilter::new(reader, statements)).transpose()?;
    let accept = filter.as_mut().map(|filter| move |first, rows| filter.accepted_rows(first, rows));
    let mut best = TopK::new(request.limit);
    let first = best.rows_before_threshold();
    if request.order == Order::Relevance {
        let total = scorer.score_matches(first, pause, accept, |key, score| {
            best.push(ScoredRow { sort_key: -score, key, score });
            Ok::<_, StoreError>(-best.threshold())
        })?;
        return Ok((best, total));
    }
    let mut identify = reader.prepare(plan.identify_sql)?;
    let total = scorer.score_matches(usize::MAX, pause, accept, |key, score| {
        pause()?;
        let mut found = identify.query([key])?;
        let row = found.next()?;
        let moment: Option<Timestamp> =
            row.map(|row| row.get("last_modified")).transpose()?.flatten();
        let sort_key = moment.map_or(f64::INFINITY, |moment| -moment.as_unix_milliseconds());
        best.push(ScoredRow { sort_key, key, score });
        Ok::<_, StoreError>(f64::NEG_INFINITY)
    })?;
    Ok((best, total))
}

fn sort_matches(ranked: &mut [RankedMatch], order: Order) {
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
