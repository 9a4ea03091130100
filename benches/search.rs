//! What it costs to rank one source, beside FTS5's own ranking and tantivy.
//!
//! One table of notes is filled with passages of about a thousand characters.
//! Each query is asked of `Source::rank`, of a plain `ORDER BY bm25() LIMIT`
//! on a connection of its own to the same file, and of tantivy, which was
//! given the same words: one after the other, in turns, in one thread. The
//! first round warms up. Prints what they cost on the processor, and how far
//! their first ten agree with the exact first ten of `bm25()`.
//!
//! `cargo bench -p vademecum-benches --bench search -- --rows 10k,100k,1m`

use std::{sync::Arc, time::Duration, time::Instant};

use anyhow::Result;
use serde_json::json;
use vademecum_benches::{
    Agreement, Figures, Kind, Options, PATIENCE, Place, Plain, Queries, Report, STATEMENTS, Sample,
    TantivyIndex, TantivyWriter, WAYS, Way, agree, fill_notes, mean, of_this_thread, source,
};
use vademecum_kit::{
    model::{Ask, Deadline, SourceName},
    retrieve::FtsQuery,
    source::Source,
    store::Store,
};

/// Queries of each kind, if nothing else is asked for.
const QUERIES: usize = 100;
/// Rounds, the first of which warms up.
const ROUNDS: usize = 3;
/// How many matches are wanted.
const TAKE: usize = 20;

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let options = Options::read();
    let mut report = Report::new("search");
    for rows in &options.rows {
        let (arena, queries) = Arena::prepare(&options, *rows)?;
        println!(
            "\n{:10} {:>8} {:12} {:>12} {:>12} {:>8} {:>8} {:>10}",
            "kind", "matching", "who", "median µs", "p99 µs", "to bm25", "overlap", "identical"
        );
        for kind in Kind::ALL {
            let asked = queries.of(kind, options.queries.unwrap_or(QUERIES));
            arena.measure(kind, asked, &mut report)?;
        }
    }
    report.write(&options)
}

/// Who is asked.
#[derive(Clone, Copy)]
enum Who {
    Builtin,
    Tantivy,
    Ours(Way),
}

impl Who {
    /// Everyone; the built-in ranking is what the others are compared with.
    fn all() -> Vec<Self> {
        [Self::Builtin, Self::Tantivy].into_iter().chain(WAYS.map(Self::Ours)).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Builtin => "bm25",
            Self::Tantivy => "tantivy",
            Self::Ours(way) => way.name,
        }
    }
}

/// One text, and all who search in it.
struct Arena {
    rows: usize,
    notes: Arc<dyn Source>,
    store: Store,
    plain: Plain,
    tantivy: TantivyIndex,
    // Last, so that it goes when nobody reads from it any more.
    _place: Place,
}

impl Arena {
    /// Fills one, or opens what was filled before.
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn prepare(options: &Options, rows: usize) -> Result<(Self, Queries)> {
        let place = Place::new(options, "search", rows)?;
        let index = place.folder().join("tantivy");
        let mut sample = Sample::of(rows);
        let began = Instant::now();
        let filled_before = place.is_filled();
        if !filled_before {
            let mut writer = TantivyWriter::new(&index)?;
            let passages = Box::new(options.text().whole()?.take(rows));
            let filled = fill_notes(place.folder(), &mut writer, passages, &mut sample)?;
            writer.finish()?;
            let seconds = began.elapsed().as_secs_f64();
            println!("{filled} of {rows} passages filled in {seconds:.1} s, tantivy's included");
        }
        let notes = source(SourceName::Notes)?;
        let store = Store::new(notes.database(), place.folder());
        let plain = Plain::open(store.path())?;
        let rows = plain.rows()?;
        if filled_before {
            println!("{rows} passages that were filled before");
        } else {
            let tallies = plain.tallies()?;
            Queries::make(&sample, &tallies, |expression| plain.count(expression))?
                .save(&place.queries())?;
        }
        let queries = Queries::load(&place.queries())?;
        let tantivy = TantivyIndex::open(&index)?;
        Ok((Self { rows, notes, store, plain, tantivy, _place: place }, queries))
    }

    /// Asks everyone every query, in turns, and tells what it took.
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn measure(&self, kind: Kind, queries: &[String], report: &mut Report) -> Result<()> {
        let everyone = Who::all();
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); everyone.len()];
        let mut agreements: Vec<Vec<Agreement>> = vec![Vec::new(); everyone.len()];
        let mut matching = Vec::new();
        for round in 0..ROUNDS {
            for (number, query) in queries.iter().enumerate() {
                let query = Arc::new(FtsQuery::parse(query));
                let expression = query.expression();
                let exact = if round == 0 {
                    matching.push(self.share(&expression)?);
                    self.plain.scored(&expression)?
                } else {
                    Vec::new()
                };
                for turn in 0..everyone.len() {
                    // Nobody always comes first.
                    let at = (turn + number + round) % everyone.len();
                    let (Some(who), Some(times), Some(agreements)) =
                        (everyone.get(at), times.get_mut(at), agreements.get_mut(at))
                    else {
                        continue;
                    };
                    let (found, time) = self.ask(*who, &query, &expression)?;
                    if round == 0 {
                        agreements.push(agree(&found, &exact));
                    } else {
                        times.push(time);
                    }
                }
            }
        }
        let figures: Vec<Figures> = times.into_iter().map(Figures::of).collect();
        let base = figures.first().copied().unwrap_or_default();
        let matching = mean(matching);
        for ((who, figures), agreements) in everyone.iter().zip(figures).zip(agreements) {
            let overlap = mean(agreements.iter().map(|it| it.overlap));
            let identical = agreements.iter().filter(|it| it.identical).count();
            println!(
                "{:10} {:>7.2}% {:12} {:>12.1} {:>12.1} {:>8.3} {:>8.3} {:>10}",
                kind.as_str(),
                matching * 100.0,
                who.name(),
                figures.median,
                figures.p99,
                figures.to(base),
                overlap,
                format!("{identical}/{}", agreements.len()),
            );
            report.add(json!({
                "rows": self.rows, "kind": kind, "who": who.name(), "queries": agreements.len(),
                "matching": matching, "median": figures.median, "p99": figures.p99,
                "to_bm25": figures.to(base), "overlap_at_10": overlap, "identical": identical,
            }));
        }
        Ok(())
    }

    /// The share of all passages that match.
    fn share(&self, expression: &str) -> Result<f64> {
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        Ok(count(self.plain.count(expression)?) / count(self.rows))
    }

    /// The first rows that somebody finds, and what it took.
    fn ask(
        &self,
        who: Who,
        query: &Arc<FtsQuery>,
        expression: &str,
    ) -> Result<(Vec<i64>, Duration)> {
        let [notes, ..] = STATEMENTS;
        let (found, time) = match who {
            Who::Builtin => of_this_thread(|| self.plain.best(notes.best, expression, TAKE)),
            Who::Tantivy => of_this_thread(|| self.tantivy.best(expression, TAKE)),
            Who::Ours(way) => {
                let ask = (way.ask)(Arc::clone(query), TAKE);
                of_this_thread(|| self.rank(&ask))
            }
        };
        Ok((found?, time))
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<i64>> {
        let deadline = Deadline::after(PATIENCE);
        let ranking = self.store.read(deadline, |reader| self.notes.rank(reader, ask))?;
        Ok(ranking.ranked.into_iter().map(|found| found.key).collect())
    }
}
