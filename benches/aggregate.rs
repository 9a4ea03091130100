//! What `knowledge.search` costs beyond the statements of its five sources,
//! and whether it finds what one index over everything would.
//!
//! Five sources are filled with text about different things. Each query is
//! asked in turn, after a first round that warms up:
//!
//! - `search`: the whole path, JSON message in, JSON message out with titles,
//!   snippets and places, without a session, with the default limit;
//! - `own`: what its sources do for it, `Source::rank` and, for what is shown,
//!   `Source::show`, one after the other in one thread;
//! - `slowest`: the plain `ORDER BY bm25() LIMIT` statement of that source for
//!   which it takes longest.
//!
//! The target is that `search` costs at most 1.3 times as much as `own` and
//! 100 µs more. The first ten are compared with those of a plain FTS5 table
//! over everything.
//!
//! `cargo bench -p vademecum-benches --bench aggregate -- --rows 10k,100k`

use std::{path::Path, sync::Arc, time::Duration, time::Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use vademecum::{app::App, registry};
use vademecum_benches::{
    Agreement, Cost, DEPTH, Figures, Kind, OneIndex, Options, PATIENCE, Place, Plain, Queries,
    Report, STATEMENTS, Sample, Sizes, Statements, WAYS, agree, fill, mean, of_this_thread,
};
use vademecum_core::config::Settings;
use vademecum_kit::{
    model::{Ask, Deadline, Filters, Ranked, View},
    retrieve::FtsQuery,
    source::{Source, SourceError},
    store::Store,
};

/// Queries of each kind, if nothing else is asked for.
const QUERIES: usize = 200;
/// Rounds, the first of which warms up.
const ROUNDS: usize = 3;
/// What `search` may cost: so many times what `own` costs …
const TIMES: f64 = 1.3;
/// … and so many microseconds more.
const MORE: f64 = 100.0;
/// What is shown by default, and how much of it.
const SHOWN: usize = 20;
const SNIPPET: usize = 300;

fn main() -> Result<()> {
    let options = Options::read();
    let mut report = Report::new("aggregate");
    actix::System::new().block_on(async {
        for rows in &options.rows {
            let (arena, queries) = Arena::prepare(&options, *rows)?;
            for kind in Kind::ALL {
                let asked = queries.of(kind, options.queries.unwrap_or(QUERIES));
                let found = arena.measure(asked).await?;
                found.tell(*rows, kind, &mut report);
            }
        }
        report.write(&options)
    })
}

/// A filled library, and all ways to search in it.
struct Arena {
    app: App,
    own: Vec<(Arc<dyn Source>, Arc<Store>)>,
    plain: Vec<(Statements, Plain)>,
    one: OneIndex,
    // Last, so that it goes when nobody reads from it any more.
    _place: Place,
}

impl Arena {
    /// Fills one, or opens what was filled before.
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn prepare(options: &Options, rows: usize) -> Result<(Self, Queries)> {
        let place = Place::new(options, "aggregate", rows)?;
        let (library, file) = (place.library(), place.folder().join("one.db"));
        let one = if place.is_filled() {
            println!("\n{rows} passages that were filled before");
            OneIndex::open(&file)?
        } else {
            let (began, mut sample) = (Instant::now(), Sample::of(rows));
            let filled = fill(&library, &options.text(), Sizes::of(rows), &mut sample)?;
            let seconds = began.elapsed().as_secs_f64();
            println!("\n{filled} of {rows} passages filled in {seconds:.1} s");
            let one = OneIndex::make(&file, &library)?;
            Queries::make(&sample, &one.tallies()?, |expression| one.count(expression))?
                .save(&place.queries())?;
            one
        };
        let mut settings = Settings::default();
        settings.storage.data = Some(place.folder().to_owned());
        let queries = Queries::load(&place.queries())?;
        let plain = STATEMENTS.map(|statements| {
            let file = library.join(statements.database.file_name());
            Ok((statements, Plain::open(&file)?))
        });
        let arena = Self {
            app: App::new(settings)?,
            own: own_stores(&library),
            plain: plain.into_iter().collect::<Result<_>>()?,
            one,
            _place: place,
        };
        Ok((arena, queries))
    }

    /// Asks every query in every way, in turns.
    async fn measure(&self, queries: &[String]) -> Result<Found> {
        let mut found = Found::default();
        for round in 0..ROUNDS {
            for text in queries {
                let query = Arc::new(FtsQuery::parse(text));
                let expression = query.expression();
                let message = message(text);
                let (answer, search) = Cost::of(self.app.ask(&message)).await;
                let answer = answer.context("no answer")?;
                let (shown, own) = of_this_thread(|| self.own(&query));
                let shown = shown?;
                let slowest = self.slowest(&expression)?;
                if round == 0 {
                    let uris = uris(&answer)?;
                    anyhow::ensure!(uris.len() == shown, "both show as many: {answer}");
                    found.agreements.push(agree(&uris, &self.one.scored(&expression)?));
                } else {
                    found.search.push(search.cpu);
                    found.own.push(own);
                    found.slowest.push(slowest);
                }
            }
        }
        Ok(found)
    }

    /// What the sources do for one search; tells how many hits are shown.
    fn own(&self, query: &Arc<FtsQuery>) -> Result<usize, SourceError> {
        let [way, ..] = WAYS;
        let ask: Ask = (way.ask)(Arc::clone(query), DEPTH);
        let deadline = Deadline::after(PATIENCE);
        let mut best: Vec<(usize, Ranked)> = Vec::new();
        for (number, (source, store)) in self.own.iter().enumerate() {
            let ranking = store.read(deadline.clone(), |reader| source.rank(reader, &ask))?;
            best.extend(ranking.ranked.into_iter().map(|ranked| (number, ranked)));
        }
        best.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
        best.truncate(SHOWN);
        let mut shown = 0;
        for (number, (source, store)) in self.own.iter().enumerate() {
            let of_this = best.iter().filter(|(source, _)| *source == number);
            let wanted: Vec<Ranked> = of_this.map(|(_, ranked)| ranked.clone()).collect();
            if wanted.is_empty() {
                continue;
            }
            let view = View {
                query: Arc::clone(query),
                filters: Filters::default(),
                snippet_length: SNIPPET,
                weights: Arc::default(),
                highlight: false,
                wanted,
            };
            shown += store.read(deadline.clone(), |reader| source.show(reader, &view))?.len();
        }
        Ok(shown)
    }

    /// How long the built-in ranking takes where it takes longest.
    fn slowest(&self, expression: &str) -> Result<Duration> {
        let mut slowest = Duration::ZERO;
        for (statements, plain) in &self.plain {
            let (found, time) = of_this_thread(|| plain.best(statements.best, expression, DEPTH));
            found?;
            slowest = slowest.max(time);
        }
        Ok(slowest)
    }
}

/// The sources on stores that the server does not use; one for each database.
fn own_stores(library: &Path) -> Vec<(Arc<dyn Source>, Arc<Store>)> {
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

/// What a client without a session says.
fn message(query: &str) -> String {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "knowledge.search", "arguments": { "query": query } },
    });
    message.to_string()
}

/// The hits of an answer, first to last.
fn uris(answer: &str) -> Result<Vec<String>> {
    let answer: Value = serde_json::from_str(answer)?;
    let hits = answer["result"]["structuredContent"]["results"].as_array();
    let hits = hits.with_context(|| format!("no results: {answer}"))?;
    Ok(hits.iter().filter_map(|hit| Some(hit["uri"].as_str()?.to_owned())).collect())
}

/// What was found out about one kind of queries.
#[derive(Default)]
struct Found {
    search: Vec<Duration>,
    own: Vec<Duration>,
    slowest: Vec<Duration>,
    agreements: Vec<Agreement>,
}

impl Found {
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn tell(self, rows: usize, kind: Kind, report: &mut Report) {
        let asked = self.agreements.len();
        let within = self.within();
        let overlap = mean(self.agreements.iter().map(|it| it.overlap));
        let identical = self.agreements.iter().filter(|it| it.identical).count();
        let [search, own, slowest] = [self.search, self.own, self.slowest].map(Figures::of);
        let target = own.median * TIMES + MORE;
        println!("{} ({asked} queries)", kind.as_str());
        println!("  search  {:>10.1} µs median {:>10.1} µs p99", search.median, search.p99);
        for (who, figures) in [("own", own), ("slowest", slowest)] {
            println!(
                "  {who:7} {:>10.1} µs median {:>10.1} µs p99; search costs {:.2} times, {:+.1} µs",
                figures.median,
                figures.p99,
                search.to(figures),
                search.median - figures.median,
            );
        }
        println!(
            "  target {target:>11.1} µs: {}; {:.0} % of the searches keep to their own",
            if search.median <= target { "kept" } else { "missed" },
            within * 100.0,
        );
        println!(
            "  the first ten are those of one index: {identical}/{asked}; overlap {overlap:.3}"
        );
        report.add(json!({
            "rows": rows, "kind": kind, "queries": asked,
            "search": search, "own": own, "slowest": slowest,
            "to_own": search.to(own), "more_than_own": search.median - own.median,
            "to_slowest": search.to(slowest), "more_than_slowest": search.median - slowest.median,
            "target": target, "within_target": within,
            "overlap_at_10": overlap, "identical": identical,
        }));
    }

    /// The share of searches that cost no more than they may.
    fn within(&self) -> f64 {
        let micros = |time: &Duration| time.as_secs_f64() * 1e6;
        mean(
            self.search.iter().zip(&self.own).map(|(search, own)| {
                f64::from(u8::from(micros(search) <= micros(own) * TIMES + MORE))
            }),
        )
    }
}
