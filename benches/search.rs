//! The cost of ranking one source, compared with FTS5's built-in ranking and tantivy.
//!
//! A table of notes is filled with passages of about a thousand characters. Each query is run in
//! turn by the rank method of the source, by a plain `ORDER BY bm25() LIMIT` on a separate
//! connection to the same file, and by tantivy with the same terms, with and without a count of all
//! matches, all in one thread.
//!
//! First, all queries of all kinds are asked once, mixed, by a store that was just opened: as a person
//! asks. `first` is the very first of them, `once` are the others, by kind. Their targets are 3 times
//! the time of tantivy with the count, and 10 ms for the first one.
//!
//! Then they are asked again in rounds, of which the first is a warm-up. Prints the CPU times and the
//! agreement of the first ten results with the exact first ten of `bm25()` over stems; ours differ
//! where a passage has another form of a word than the query. The targets are 1.5 times the time of
//! tantivy without the count, and 1.0 times that with it.
//!
//! `cargo bench -p vademecum-benches --bench search -- --rows 10k,100k,1m`

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::json;
use vademecum_benches::{
    Agreement, Fts5Baseline, LibraryFolder, Options, PassageSample, QueryKind, QuerySet,
    RANK_VARIANTS, RankVariant, Report, SOURCE_STATEMENTS, TIMEOUT, TantivyIndex, TantivyWriter,
    TimingSummary, compare_results, copy_with_stems, fill_notes, find_source, mean,
    measure_thread_cpu,
};
use vademecum_model::{Deadline, SourceName};
use vademecum_search::{FtsQuery, RankRequest};
use vademecum_source::Source;
use vademecum_store::Store;

/// Default number of queries per kind.
const DEFAULT_QUERIES: usize = 100;
/// Number of rounds. The first one is a warm-up.
const ROUNDS: usize = 3;
/// Number of results requested.
const RESULT_LIMIT: usize = 20;

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("search");
    for rows in &options.rows {
        let (arena, queries) = SearchBench::prepare(&options, *rows)?;
        arena.measure_once(&options, &queries, &mut report)?;
        println!(
            "\n{:10} {:>8} {:13} {:>12} {:>12} {:>8} {:>8} {:>10}",
            "kind", "matching", "who", "median µs", "p99 µs", "to bm25", "overlap", "identical"
        );
        for kind in QueryKind::ALL {
            let chosen_queries = queries.of_kind(kind, options.queries.unwrap_or(DEFAULT_QUERIES));
            arena.measure(kind, chosen_queries, &mut report)?;
        }
    }
    report.write(&options)
}

/// The ranking implementation.
#[derive(Clone, Copy)]
enum Ranker {
    Builtin,
    Tantivy,
    TantivyCounted,
    Ours(RankVariant),
}

impl Ranker {
    fn name(self) -> &'static str {
        match self {
            Self::Builtin => "bm25",
            Self::Tantivy => "tantivy",
            Self::TantivyCounted => "tantivy+count",
            Self::Ours(way) => way.name,
        }
    }
}

/// A ranking implementation and its measurements.
struct RankerResult {
    position: usize,
    ranker: Ranker,
    times: Vec<Duration>,
    agreements: Vec<Agreement>,
}

impl RankerResult {
    /// Returns all implementations. The first one, the built-in ranking, is the baseline.
    fn all() -> Vec<Self> {
        let everyone = [Ranker::Builtin, Ranker::Tantivy, Ranker::TantivyCounted]
            .into_iter()
            .chain(RANK_VARIANTS.map(Ranker::Ours));
        let contestant = |(place, who)| Self {
            position: place,
            ranker: who,
            times: Vec::new(),
            agreements: Vec::new(),
        };
        (0..).zip(everyone).map(contestant).collect()
    }
}

/// The result of one implementation for one kind of queries.
struct ReportLine {
    kind: QueryKind,
    matching: f64,
    ranker: Ranker,
    timing: TimingSummary,
    base: TimingSummary,
    overlap: f64,
    identical: usize,
}

impl ReportLine {
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn print_report(&self, rows: usize, queries: usize, report: &mut Report) {
        let (kind, who, to_base) = (self.kind, self.ranker.name(), self.timing.ratio_to(self.base));
        let TimingSummary { median, p99 } = self.timing;
        let (matching, overlap) = (self.matching * 100.0, self.overlap);
        println!(
            "{:10} {matching:>7.2}% {who:13} {median:>12.1} {p99:>12.1} {to_base:>8.3} \
             {overlap:>8.3} {:>10}",
            kind.as_str(),
            format!("{}/{queries}", self.identical),
        );
        report.add_entry(json!({
            "rows": rows, "kind": kind, "who": who, "queries": queries, "matching": self.matching,
            "median": median, "p99": p99, "to_bm25": to_base,
            "overlap_at_10": overlap, "identical": self.identical,
        }));
    }
}

/// The indexes over one text.
struct SearchBench {
    rows: usize,
    notes: Arc<dyn Source>,
    store: Store,
    baseline: Fts5Baseline,
    tantivy: TantivyIndex,
    // The last field, so that the folder is dropped after its readers.
    _place: LibraryFolder,
}

impl SearchBench {
    /// Fills the indexes, or opens those of an earlier run.
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn prepare(options: &Options, rows: usize) -> Result<(Self, QuerySet)> {
        let place = LibraryFolder::new(options, "search", rows)?;
        let index = place.folder().join("tantivy");
        let mut sample = PassageSample::for_rows(rows);
        let began = Instant::now();
        let filled_before = place.is_filled();
        if !filled_before {
            let mut writer = TantivyWriter::new(&index)?;
            let passages = Box::new(options.text().all_passages()?.take(rows));
            let filled = fill_notes(place.folder(), &mut writer, passages, &mut sample)?;
            writer.finish()?;
            let seconds = began.elapsed().as_secs_f64();
            println!("{filled} of {rows} passages filled in {seconds:.1} s, tantivy's included");
        }
        let notes = find_source(SourceName::Notes)?;
        let store = Store::new(notes.database(), place.folder());
        let stems = place.folder().join("stems");
        copy_with_stems(place.folder(), &stems)?;
        let plain = Fts5Baseline::open(&stems.join(notes.database().file_name()))?;
        let rows = plain.count_rows()?;
        if filled_before {
            println!("{rows} passages that were filled before");
        } else {
            let tallies = plain.word_counts()?;
            QuerySet::generate(&sample, &tallies, |expression| plain.count_matches(expression))?
                .save(&place.queries_file())?;
        }
        let queries = QuerySet::load(&place.queries_file())?;
        let tantivy = TantivyIndex::open(&index)?;
        Ok((Self { rows, notes, store, baseline: plain, tantivy, _place: place }, queries))
    }

    /// Runs all queries once, in the order of a stream of mixed kinds, and reports the times by kind.
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn measure_once(
        &self,
        options: &Options,
        queries: &QuerySet,
        report: &mut Report,
    ) -> Result<()> {
        let count = options.queries.unwrap_or(DEFAULT_QUERIES);
        let rankers = [Ranker::TantivyCounted, Ranker::Tantivy]
            .into_iter()
            .chain(RANK_VARIANTS.map(Ranker::Ours))
            .chain([Ranker::Builtin]);
        self.store.close();
        let mut times: BTreeMap<(QueryKind, usize), Vec<Duration>> = BTreeMap::new();
        let mut first = Vec::new();
        for number in 0..count {
            for kind in QueryKind::ALL {
                let Some(query) = queries.of_kind(kind, count).get(number) else { continue };
                let query = Arc::new(FtsQuery::parse(query));
                let expression = query.expression();
                for (position, ranker) in rankers.clone().enumerate() {
                    let time = self.run_query(ranker, &query, &expression)?.1;
                    if first.len() <= position {
                        first.push(time);
                    } else {
                        times.entry((kind, position)).or_default().push(time);
                    }
                }
            }
        }
        println!(
            "\n{:10} {:13} {:>12} {:>12} {:>12} {:>10}",
            "once", "who", "median µs", "p95 µs", "max µs", "to tantivy+count"
        );
        for (ranker, time) in rankers.clone().zip(first) {
            println!("{:10} {:13} {:>12.1}", "first", ranker.name(), micros(time));
            let micros = micros(time);
            report.add_entry(json!({
                "rows": self.rows, "kind": "first", "who": ranker.name(), "median": micros,
            }));
        }
        let mut base = [0.0; 2];
        for ((kind, position), mut times) in times {
            times.sort_unstable();
            let at = |share: usize| {
                let index = (times.len() * share / 100).min(times.len() - 1);
                times.get(index).copied().map_or(0.0, micros)
            };
            let [median, p95, most] = [at(50), at(95), at(100)];
            if position == 0 {
                base = [median, p95];
            }
            let who = rankers.clone().nth(position).map_or("", Ranker::name);
            let ratios = [median / base[0], p95 / base[1]];
            println!(
                "{:10} {who:13} {median:>12.1} {p95:>12.1} {most:>12.1} {:>10.2} {:>6.2}",
                kind.as_str(),
                ratios[0],
                ratios[1]
            );
            report.add_entry(json!({
                "rows": self.rows, "kind": kind, "who": who, "asked": "once", "queries": times.len(),
                "median": median, "p95": p95, "max": most, "to_tantivy_with_count": ratios,
            }));
        }
        Ok(())
    }

    /// Runs every query with every implementation in turn and reports the results.
    fn measure(&self, kind: QueryKind, queries: &[String], report: &mut Report) -> Result<()> {
        let mut everyone = RankerResult::all();
        let mut matching = Vec::new();
        for round in 0..ROUNDS {
            for query in queries {
                let query = Arc::new(FtsQuery::parse(query));
                let expression = query.expression();
                // Rotating the order distributes the effects of caching.
                everyone.rotate_left(1);
                if round > 0 {
                    for one in &mut everyone {
                        one.times.push(self.run_query(one.ranker, &query, &expression)?.1);
                    }
                    continue;
                }
                matching.push(self.matching_share(&expression)?);
                let exact = self.baseline.scored_rows(&expression)?;
                for one in &mut everyone {
                    let (found, _) = self.run_query(one.ranker, &query, &expression)?;
                    one.agreements.push(compare_results(&found, &exact));
                }
            }
        }
        everyone.sort_by_key(|one| one.position);
        let matching = mean(matching);
        let mut base = None;
        for one in everyone {
            let figures = TimingSummary::from_durations(one.times);
            let base = *base.get_or_insert(figures);
            let overlap = mean(one.agreements.iter().map(|it| it.overlap));
            let identical = one.agreements.iter().filter(|it| it.identical).count();
            let line = ReportLine {
                kind,
                matching,
                ranker: one.ranker,
                timing: figures,
                base,
                overlap,
                identical,
            };
            line.print_report(self.rows, one.agreements.len(), report);
        }
        Ok(())
    }

    /// Returns the share of passages that match.
    fn matching_share(&self, expression: &str) -> Result<f64> {
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        Ok(count(self.baseline.count_matches(expression)?) / count(self.rows))
    }

    /// Runs a query. Returns the best rows and the CPU time.
    fn run_query(
        &self,
        who: Ranker,
        query: &Arc<FtsQuery>,
        expression: &str,
    ) -> Result<(Vec<i64>, Duration)> {
        let [notes, ..] = SOURCE_STATEMENTS;
        let (found, time) = match who {
            Ranker::Builtin => measure_thread_cpu(|| {
                self.baseline.best_rows(notes.best_sql, expression, RESULT_LIMIT)
            }),
            Ranker::Tantivy => {
                measure_thread_cpu(|| self.tantivy.best_rows(expression, RESULT_LIMIT, false))
            }
            Ranker::TantivyCounted => {
                measure_thread_cpu(|| self.tantivy.best_rows(expression, RESULT_LIMIT, true))
            }
            Ranker::Ours(way) => {
                let request = (way.build_request)(Arc::clone(query), RESULT_LIMIT);
                measure_thread_cpu(|| self.rank_notes(&request))
            }
        };
        Ok((found?, time))
    }

    fn rank_notes(&self, request: &RankRequest) -> Result<Vec<i64>> {
        let deadline = Deadline::after(TIMEOUT);
        let ranking =
            self.store.read(deadline, |reader| self.notes.rank_matches(reader, request))?;
        Ok(ranking.ranked.into_iter().map(|found| found.key).collect())
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
