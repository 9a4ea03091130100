//! The cost of `knowledge.search` compared with that of its five sources, and the agreement of its
//! results with those of one index over everything.
//!
//! Five sources are filled with texts on different topics. Each query is run in turn, after a
//! warm-up round:
//!
//! - `search`: the whole path from JSON message to JSON message, with titles, snippets and
//!   locations, without a session, with the default limit;
//! - `own`: the work of the sources for it, ranking and loading of the hits shown, sequentially in
//!   one thread;
//! - `slowest`: the plain `ORDER BY bm25() LIMIT` statement of the slowest source.
//!
//! The target is that `search` costs at most 1.3 times as much as `own` plus 100 µs. The first ten
//! results are compared with those of a plain FTS5 table over everything.
//!
//! `cargo bench -p vademecum-benches --bench aggregate -- --rows 10k,100k`

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use vademecum::{app::App, registry};
use vademecum_benches::{
    Agreement, CombinedIndex, Fts5Baseline, LibraryFolder, LibrarySizes, Options, PassageSample,
    QueryKind, QuerySet, RANK_DEPTH, RANK_VARIANTS, Report, SOURCE_STATEMENTS, SourceStatement,
    TIMEOUT, Timing, TimingSummary, compare_results, copy_with_stems, fill_library, mean,
    measure_thread_cpu,
};
use vademecum_core::config::Settings;
use vademecum_model::{Deadline, Filters};
use vademecum_search::{FtsQuery, HitRequest, RankRequest, RankedMatch};
use vademecum_source::{Source, SourceError};
use vademecum_store::Store;

/// Default number of queries per kind.
const DEFAULT_QUERIES: usize = 200;
/// Number of rounds. The first one is a warm-up.
const ROUNDS: usize = 3;
/// Target: maximum ratio of `search` to `own`, …
const MAX_RATIO: f64 = 1.3;
/// … plus this number of microseconds.
const MAX_EXTRA_MICROS: f64 = 100.0;
/// The default number of results, and the default snippet length in characters.
const RESULT_LIMIT: usize = 20;
const SNIPPET_CHARS: usize = 300;

fn main() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("aggregate");
    actix::System::new().block_on(async {
        for rows in &options.rows {
            let (arena, queries) = AggregateBench::prepare(&options, *rows)?;
            for kind in QueryKind::ALL {
                let chosen_queries =
                    queries.of_kind(kind, options.queries.unwrap_or(DEFAULT_QUERIES));
                let found = arena.measure(chosen_queries).await?;
                found.print_report(*rows, kind, &mut report);
            }
        }
        report.write(&options)
    })
}

/// A filled library and the ways to search it.
struct AggregateBench {
    app: App,
    own: Vec<(Arc<dyn Source>, Arc<Store>)>,
    plain: Vec<(SourceStatement, Fts5Baseline)>,
    combined: CombinedIndex,
    // The last field, so that the folder is dropped after its readers.
    _place: LibraryFolder,
}

impl AggregateBench {
    /// Fills a library, or opens that of an earlier run.
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn prepare(options: &Options, rows: usize) -> Result<(Self, QuerySet)> {
        let place = LibraryFolder::new(options, "aggregate", rows)?;
        let (library, file) = (place.library_folder(), place.folder().join("one.db"));
        let one = if place.is_filled() {
            println!("\n{rows} passages that were filled before");
            CombinedIndex::open(&file)?
        } else {
            let (began, mut sample) = (Instant::now(), PassageSample::for_rows(rows));
            let filled = fill_library(
                &library,
                &options.text(),
                LibrarySizes::for_total(rows),
                &mut sample,
            )?;
            let seconds = began.elapsed().as_secs_f64();
            println!("\n{filled} of {rows} passages filled in {seconds:.1} s");
            let one = CombinedIndex::build(&file, &library)?;
            QuerySet::generate(&sample, &one.word_counts()?, |expression| {
                one.count_matches(expression)
            })?
            .save(&place.queries_file())?;
            one
        };
        let mut settings = Settings::default();
        settings.storage.data = Some(place.folder().to_owned());
        let queries = QuerySet::load(&place.queries_file())?;
        let stems = place.folder().join("stems");
        copy_with_stems(&library, &stems)?;
        let plain = SOURCE_STATEMENTS.map(|statements| {
            let file = stems.join(statements.database.file_name());
            Ok((statements, Fts5Baseline::open(&file)?))
        });
        let arena = Self {
            app: App::new(settings)?,
            own: open_separate_stores(&library),
            plain: plain.into_iter().collect::<Result<_>>()?,
            combined: one,
            _place: place,
        };
        Ok((arena, queries))
    }

    /// Runs every query in every way, in turns.
    async fn measure(&self, queries: &[String]) -> Result<QueryTimings> {
        let mut found = QueryTimings::default();
        for round in 0..ROUNDS {
            for text in queries {
                let query = Arc::new(FtsQuery::parse(text));
                let expression = query.expression();
                let message = search_message(text);
                let (answer, search) = Timing::measure(self.app.handle_message(&message)).await;
                let answer = answer.context("no answer")?;
                let (shown, own) = measure_thread_cpu(|| self.own(&query));
                let shown = shown?;
                let slowest = self.slowest(&expression)?;
                if round == 0 {
                    let uris = result_uris(&answer)?;
                    anyhow::ensure!(
                        uris.len() == shown,
                        "`search` and `own` show different numbers of hits: {answer}"
                    );
                    found
                        .agreements
                        .push(compare_results(&uris, &self.combined.scored_matches(&expression)?));
                } else {
                    found.search.push(search.cpu);
                    found.own.push(own);
                    found.slowest.push(slowest);
                }
            }
        }
        Ok(found)
    }

    /// Does the work of the sources for one search. Returns the number of hits shown.
    fn own(&self, query: &Arc<FtsQuery>) -> Result<usize, SourceError> {
        let [way, ..] = RANK_VARIANTS;
        let request: RankRequest = (way.build_request)(Arc::clone(query), RANK_DEPTH);
        let deadline = Deadline::after(TIMEOUT);
        let mut best: Vec<(usize, RankedMatch)> = Vec::new();
        for (number, (source, store)) in self.own.iter().enumerate() {
            let ranking =
                store.read(deadline.clone(), |reader| source.rank_matches(reader, &request))?;
            best.extend(ranking.ranked.into_iter().map(|ranked| (number, ranked)));
        }
        best.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
        best.truncate(RESULT_LIMIT);
        let mut shown = 0;
        for (number, (source, store)) in self.own.iter().enumerate() {
            let of_this = best.iter().filter(|(source, _)| *source == number);
            let matches: Vec<RankedMatch> = of_this.map(|(_, ranked)| ranked.clone()).collect();
            if matches.is_empty() {
                continue;
            }
            let view = HitRequest {
                query: Arc::clone(query),
                filters: Filters::default(),
                snippet_length: SNIPPET_CHARS,
                weights: Arc::default(),
                highlight: false,
                matches,
            };
            shown += store.read(deadline.clone(), |reader| source.load_hits(reader, &view))?.len();
        }
        Ok(shown)
    }

    /// Returns the CPU time of the built-in ranking for the slowest source.
    fn slowest(&self, expression: &str) -> Result<Duration> {
        let mut slowest = Duration::ZERO;
        for (statements, plain) in &self.plain {
            let (found, time) =
                measure_thread_cpu(|| plain.best_rows(statements.best_sql, expression, RANK_DEPTH));
            found?;
            slowest = slowest.max(time);
        }
        Ok(slowest)
    }
}

/// Opens the sources on separate stores, one per database, that the server does not use.
fn open_separate_stores(library: &Path) -> Vec<(Arc<dyn Source>, Arc<Store>)> {
    let mut own: Vec<(Arc<dyn Source>, Arc<Store>)> = Vec::new();
    for source in registry::sources() {
        let same = own.iter().find(|(known, _)| known.database() == source.database());
        let store = match same {
            Some((_, store)) => Arc::clone(store),
            None => Arc::new(Store::new(source.database(), library)),
        };
        own.push((source, store));
    }
    own
}

/// Builds a search call without a session.
fn search_message(query: &str) -> String {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "knowledge.search", "arguments": { "query": query } },
    });
    message.to_string()
}

/// Returns the URIs of the hits in a response, in order.
fn result_uris(answer: &str) -> Result<Vec<String>> {
    let answer: Value = serde_json::from_str(answer)?;
    let hits = answer["result"]["structuredContent"]["results"].as_array();
    let hits = hits.with_context(|| format!("no results: {answer}"))?;
    Ok(hits.iter().filter_map(|hit| Some(hit["uri"].as_str()?.to_owned())).collect())
}

/// The measurements for one kind of queries.
#[derive(Default)]
struct QueryTimings {
    search: Vec<Duration>,
    own: Vec<Duration>,
    slowest: Vec<Duration>,
    agreements: Vec<Agreement>,
}

impl QueryTimings {
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn print_report(self, rows: usize, kind: QueryKind, report: &mut Report) {
        let query_count = self.agreements.len();
        let within = self.share_within_target();
        let overlap = mean(self.agreements.iter().map(|it| it.overlap));
        let identical = self.agreements.iter().filter(|it| it.identical).count();
        let [search, own, slowest] =
            [self.search, self.own, self.slowest].map(TimingSummary::from_durations);
        let target = own.median * MAX_RATIO + MAX_EXTRA_MICROS;
        println!("{} ({query_count} queries)", kind.as_str());
        println!("  search  {:>10.1} µs median {:>10.1} µs p99", search.median, search.p99);
        for (who, figures) in [("own", own), ("slowest", slowest)] {
            println!(
                "  {who:7} {:>10.1} µs median {:>10.1} µs p99; search costs {:.2} times, {:+.1} µs",
                figures.median,
                figures.p99,
                search.ratio_to(figures),
                search.median - figures.median,
            );
        }
        println!(
            "  target {target:>11.1} µs: {}; {:.0} % of the searches meet their own target",
            if search.median <= target { "kept" } else { "missed" },
            within * 100.0,
        );
        println!(
            "  first ten identical to those of one index: {identical}/{query_count}; \
             overlap {overlap:.3}"
        );
        report.add_entry(json!({
            "rows": rows, "kind": kind, "queries": query_count,
            "search": search, "own": own, "slowest": slowest,
            "to_own": search.ratio_to(own), "more_than_own": search.median - own.median,
            "to_slowest": search.ratio_to(slowest), "more_than_slowest": search.median - slowest.median,
            "target": target, "within_target": within,
            "overlap_at_10": overlap, "identical": identical,
        }));
    }

    /// Returns the share of searches within the target.
    fn share_within_target(&self) -> f64 {
        let micros = |time: &Duration| time.as_secs_f64() * 1e6;
        mean(self.search.iter().zip(&self.own).map(|(search, own)| {
            f64::from(u8::from(micros(search) <= micros(own) * MAX_RATIO + MAX_EXTRA_MICROS))
        }))
    }
}
