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
    fn name(self) -> &'static str {
        match self {
            Self::Builtin => "bm25",
            Self::Tantivy => "tantivy",
            Self::Ours(way) => way.name,
        }
    }
}

/// Somebody who is asked, and how it went.
struct Contestant {
    place: usize,
    who: Who,
    times: Vec<Duration>,
    agreements: Vec<Agreement>,
}

impl Contestant {
    /// Everyone; the first, the built-in ranking, is what the others are
    /// compared with.
    fn all() -> Vec<Self> {
        let everyone = [Who::Builtin, Who::Tantivy].into_iter().chain(WAYS.map(Who::Ours));
        let contestant =
            |(place, who)| Self { place, who, times: Vec::new(), agreements: Vec::new() };
        (0..).zip(everyone).map(contestant).collect()
    }
}

/// What one kind of queries costs somebody.
struct Line {
    kind: Kind,
    matching: f64,
    who: Who,
    figures: Figures,
    base: Figures,
    overlap: f64,
    identical: usize,
}

impl Line {
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn tell(&self, rows: usize, queries: usize, report: &mut Report) {
        let (kind, who, to_base) = (self.kind, self.who.name(), self.figures.to(self.base));
        let Figures { median, p99 } = self.figures;
        let (matching, overlap) = (self.matching * 100.0, self.overlap);
        println!(
            "{:10} {matching:>7.2}% {who:12} {median:>12.1} {p99:>12.1} {to_base:>8.3} \
             {overlap:>8.3} {:>10}",
            kind.as_str(),
            format!("{}/{queries}", self.identical),
        );
        report.add(json!({
            "rows": rows, "kind": kind, "who": who, "queries": queries, "matching": self.matching,
            "median": median, "p99": p99, "to_bm25": to_base,
            "overlap_at_10": overlap, "identical": self.identical,
        }));
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
    fn measure(&self, kind: Kind, queries: &[String], report: &mut Report) -> Result<()> {
        let mut everyone = Contestant::all();
        let mut matching = Vec::new();
        for round in 0..ROUNDS {
            for query in queries {
                let query = Arc::new(FtsQuery::parse(query));
                let expression = query.expression();
                // Nobody always comes first.
                everyone.rotate_left(1);
                if round > 0 {
                    for one in &mut everyone {
                        one.times.push(self.ask(one.who, &query, &expression)?.1);
                    }
                    continue;
                }
                matching.push(self.share(&expression)?);
                let exact = self.plain.scored(&expression)?;
                for one in &mut everyone {
                    let (found, _) = self.ask(one.who, &query, &expression)?;
                    one.agreements.push(agree(&found, &exact));
                }
            }
        }
        everyone.sort_by_key(|one| one.place);
        let matching = mean(matching);
        let mut base = None;
        for one in everyone {
            let figures = Figures::of(one.times);
            let base = *base.get_or_insert(figures);
            let overlap = mean(one.agreements.iter().map(|it| it.overlap));
            let identical = one.agreements.iter().filter(|it| it.identical).count();
            let line = Line { kind, matching, who: one.who, figures, base, overlap, identical };
            line.tell(self.rows, queries.len(), report);
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
