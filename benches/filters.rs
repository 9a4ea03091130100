//! The cost of a filter on the search of a collection.
//!
//! A collection is filled with passages of fifty sources, with dates over ten years and with tags.
//! Each query, three words of a passage, is ranked without a filter and with each filter in turn. The
//! first round is reported on its own: then the answers of the filter are not known yet.
//!
//! The target is that a filtered search costs at most twice an unfiltered one.
//!
//! `cargo bench -p vademecum-benches --bench filters -- --rows 100k`

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use serde_json::{Map, json};
use tempfile::TempDir;
use vademecum_actors::collections::Catalogue;
use vademecum_benches::{Options, Report, TIMEOUT, TimingSummary, measure_thread_cpu};
use vademecum_collections::{
    Access, Collection, Document, DocumentFilter, NewChunk, NewSource, Scope,
};
use vademecum_model::{Deadline, Timestamp};
use vademecum_search::{FtsQuery, RankRequest};
use vademecum_store::Durability;

/// Default number of queries.
const DEFAULT_QUERIES: usize = 100;
/// Number of rounds. The first one is reported on its own.
const ROUNDS: usize = 4;
/// Number of results requested.
const RESULT_LIMIT: usize = 10;
/// Number of sources.
const SOURCES: i64 = 50;
/// Documents stored per transaction.
const BATCH_SIZE: usize = 1_000;
/// Date of the first document, in seconds since 1970, and the time between two documents.
const FIRST_DATE: f64 = 1_400_000_000.0;
const YEARS_SECONDS: f64 = 10.0 * 365.0 * 86_400.0;
/// Number of documents in a long list.
const LONG_LIST: usize = 5_000;
/// Target: maximum ratio to the search without a filter.
const TIMES: f64 = 2.0;

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("filters");
    for rows in &options.rows {
        let bench = FilterBench::fill(&options, *rows)?;
        println!(
            "\n{rows} chunks, {} queries, CPU µs\n{:16} {:>10} {:>10} {:>10} {:>8} {:>10}",
            bench.queries.len(),
            "filter",
            "first",
            "median",
            "p99",
            "ratio",
            "matches"
        );
        bench.measure(*rows, &mut report)?;
    }
    report.write(&options)
}

struct FilterBench {
    collection: Arc<Collection>,
    queries: Vec<Arc<FtsQuery>>,
    rows: usize,
    // The last field, so that the folder is dropped after its readers.
    _folder: TempDir,
}

impl FilterBench {
    fn fill(options: &Options, rows: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let catalogue = Catalogue::new(folder.path());
        catalogue.insert_record("bench", None, "bench.1.db", "{}")?;
        let collection = Arc::new(catalogue.open("bench.1.db"));
        let mut passages = options.text().all_passages()?.take(rows);
        let mut queries = Vec::new();
        let every = (rows / options.queries.unwrap_or(DEFAULT_QUERIES)).max(1);
        for batch in 0..rows.div_ceil(BATCH_SIZE) {
            collection.write(Durability::Bulk, |writer| {
                for source_id in 1..=SOURCES {
                    let name = format!("source {source_id}");
                    let source = NewSource { source_id, name, ..NewSource::default() };
                    collection.put_source(writer, &source)?;
                }
                let here = passages.by_ref().take(BATCH_SIZE);
                for (number, passage) in (batch * BATCH_SIZE..).zip(here) {
                    if number.is_multiple_of(every) {
                        let words: Vec<_> =
                            passage.body.split_whitespace().skip(3).take(3).collect();
                        queries.push(Arc::new(FtsQuery::parse(&words.join(" "))));
                    }
                    let chunk = NewChunk {
                        end: passage.body.chars().count(),
                        body: passage.body.clone(),
                        ..NewChunk::default()
                    };
                    let document = Document {
                        doc_id: format!("page:{number}"),
                        source_id: 1 + i64::try_from(number).unwrap_or(0) % SOURCES,
                        title: Some(passage.title),
                        content_hash: number.to_string(),
                        metadata: Map::from_iter([
                            ("Tags".to_owned(), json!([format!("tag {}", number % 7)])),
                            ("CreationDate".to_owned(), json!(date(number, rows))),
                        ]),
                        chunks: vec![chunk],
                        body: passage.body,
                        ..Document::default()
                    };
                    collection.put_document(writer, &document)?;
                }
                Ok::<_, vademecum_source::SourceError>(())
            })?;
        }
        Ok(Self { collection, queries, rows, _folder: folder })
    }

    /// Returns the filters to compare in a search. The first is none.
    fn filters(&self, search: usize) -> Vec<(&'static str, DocumentFilter)> {
        let none = DocumentFilter::default;
        let page = |number| format!("page:{number}");
        let listed = |first: usize| DocumentFilter {
            doc_ids: Some(
                (first..first + LONG_LIST).map(|number| page(number % self.rows)).collect(),
            ),
            ..none()
        };
        vec![
            ("none", none()),
            (
                "source_names",
                DocumentFilter {
                    source_names: Some(vec!["source 3".to_owned(), "source 4".to_owned()]),
                    ..none()
                },
            ),
            (
                "doc_ids",
                DocumentFilter {
                    doc_ids: Some((0..self.rows).step_by(97).map(page).collect()),
                    ..none()
                },
            ),
            ("5,000 doc_ids", listed(0)),
            // Nothing is known of a list that was not used before.
            ("5,000 new ones", listed(search)),
            (
                "created_after",
                DocumentFilter { created_after: date(self.rows / 2, self.rows), ..none() },
            ),
            ("tags_any", DocumentFilter { tags_any: Some(vec!["tag 2".to_owned()]), ..none() }),
        ]
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn measure(&self, rows: usize, report: &mut Report) -> Result<()> {
        let filters = self.filters(0);
        let mut first: Vec<Vec<Duration>> = vec![Vec::new(); filters.len()];
        let mut later = first.clone();
        let mut matches = vec![0; filters.len()];
        for round in 0..ROUNDS {
            for (number, query) in self.queries.iter().enumerate() {
                let search = 1 + round * self.queries.len() + number;
                for (position, (_, filter)) in self.filters(search).iter().enumerate() {
                    let (found, time) = measure_thread_cpu(|| self.count_matches(query, filter));
                    let times = if round == 0 { &mut first } else { &mut later };
                    if let Some(times) = times.get_mut(position) {
                        times.push(time);
                    }
                    if let Some(matches) = matches.get_mut(position) {
                        *matches += found?;
                    }
                }
            }
        }
        let mut unfiltered = None;
        for (((name, _), first), (later, matches)) in
            filters.iter().zip(first).zip(later.into_iter().zip(matches))
        {
            let first = first.into_iter().max().unwrap_or_default().as_secs_f64() * 1e6;
            let times = TimingSummary::from_durations(later);
            let base = *unfiltered.get_or_insert(times);
            let ratio = times.ratio_to(base);
            let matches = matches / (ROUNDS * self.queries.len().max(1));
            println!(
                "{name:16} {first:>10.1} {:>10.1} {:>10.1} {ratio:>8.2} {matches:>10} {}",
                times.median,
                times.p99,
                if ratio <= TIMES { "" } else { "missed" }
            );
            report.add_entry(json!({
                "rows": rows, "filter": name, "slowest_first": first, "median": times.median,
                "p99": times.p99, "ratio": ratio, "matches": matches,
            }));
        }
        Ok(())
    }

    fn count_matches(&self, query: &Arc<FtsQuery>, filter: &DocumentFilter) -> Result<usize> {
        let request =
            RankRequest { query: Arc::clone(query), limit: RESULT_LIMIT, ..RankRequest::default() };
        let scope = Scope { filter: filter.clone(), access: Access::Everything };
        let ranking = self.collection.read(Deadline::after(TIMEOUT), |reader| {
            self.collection.rank_matches(reader, &request, &scope)
        })?;
        Ok(ranking.total)
    }
}

/// Returns the date of a document.
fn date(number: usize, rows: usize) -> Option<Timestamp> {
    let number = f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let rows = f64::from(u32::try_from(rows).unwrap_or(u32::MAX));
    Timestamp::from_unix_seconds(FIRST_DATE + YEARS_SECONDS * number / rows)
}
