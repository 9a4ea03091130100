//! The cost of an archive in `PostgreSQL`, compared with the same servers without one.
//!
//! Two servers hold the same libraries: one follows an archive, the other keeps them itself. Each
//! measurement alternates between them. The archive is a `PostgreSQL` server that the bench starts
//! on the same disk, whose commits wait for it, or one that `--postgres` names. Measured are
//! searches, writes, the first search of a user at a server without a copy, the time from
//! `kill -9` of a server to the first answer of another, the size of the tables, and the statements
//! that `docs/deploy/sizing.md` multiplies. `tests/cluster` measures the death of a `PostgreSQL`
//! leader.
//!
//! `cargo bench -p vademecum-benches --bench archive -- --json archive.json`

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};
use vademecum_benches::{
    ArchiveDatabase, CommonOptions, Deployment, HttpClient, LibrarySizes, Passage, PassageSample,
    PrivatePostgres, SeededRng, TextSource, TimingSummary, fill_stores, run_bench_or_program,
    save_notes, tool_call,
};
use vademecum_store::{Archive, Database, Entry, Head, PartName, Put, WriteId};

/// Settings of all servers.
const SETTINGS: &str = "[tools]\nwrite = true\n\
     [limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n";
/// Users with their numbers of passages, in all sources.
const READER: (&str, usize) = ("reader", 5_000);
const SMALL: (&str, usize) = ("small", 1_000);
const LARGE: (&str, usize) = ("large", 10_000);
/// User with notes of two to five thousand characters.
const WRITER: &str = "writer";
/// Databases of a library that an archive keeps.
const LIBRARY: [&str; 4] = ["chacha", "media", "prompts", "imports"];
/// Number of users whose heads are read in one statement, as for all open libraries.
const OPEN_LIBRARIES: usize = 256;
/// Number of concurrent writers, and their time.
const WRITERS: usize = 8;
const WRITING: Duration = Duration::from_secs(5);
/// Time after which a client that is not answered gives up.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(30);
const SEARCH_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, Parser)]
struct Options {
    /// Address of a database, instead of a private server.
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// A folder of texts to read instead of generating them.
    #[arg(long, value_name = "FOLDER")]
    text: Option<PathBuf>,
    /// Number of notes of two to five thousand characters.
    #[arg(long, default_value_t = 3_000)]
    notes: usize,
    /// Number of searches at each server.
    #[arg(long, default_value_t = 2_000)]
    searches: usize,
    /// Number of writes at each server.
    #[arg(long, default_value_t = 500)]
    writes: usize,
    /// Number of servers that start without a copy.
    #[arg(long, default_value_t = 7)]
    starts: usize,
    #[command(flatten)]
    common: CommonOptions,
}

fn main() -> ExitCode {
    run_bench_or_program(|| measure(&Options::parse()))
}

/// The measurements of one run.
struct Comparison<'a> {
    options: &'a Options,
    /// Without an archive and with one.
    sides: [Deployment; 2],
    database: ArchiveDatabase<'a>,
    text: TextSource,
    words: Vec<String>,
    figures: Vec<Value>,
}

fn measure(options: &Options) -> Result<()> {
    let server = match options.postgres {
        Some(_) => None,
        None => Some(PrivatePostgres::start()?),
    };
    let url = options.postgres.as_deref().or(server.as_ref().map(PrivatePostgres::url));
    let url = url.context("no database")?;
    let database = ArchiveDatabase::connect(url, server.as_ref())?;
    let users = [READER.0, SMALL.0, LARGE.0, WRITER].map(str::to_owned);
    let archived = format!("{SETTINGS}{}", database.settings());
    let sides = [Deployment::new(&users, SETTINGS)?, Deployment::new(&users, &archived)?];
    let text = options.text.clone().map_or(TextSource::Synthetic, TextSource::Folder);
    let words = frequent_words(&text)?;
    let figures = Vec::new();
    let mut comparison = Comparison { options, sides, database, text, words, figures };
    let measured = comparison.measure_all();
    let Comparison { sides, mut database, figures, .. } = comparison;
    drop(sides);
    database.remove_schema()?;
    measured?;
    options.common.write_results(
        &json!({ "bench": "archive", "text": text_label(options), "figures": figures }),
    )
}

fn text_label(options: &Options) -> String {
    options.text.as_ref().map_or_else(|| "generated".to_owned(), |it| it.display().to_string())
}

impl Comparison<'_> {
    fn measure_all(&mut self) -> Result<()> {
        self.measure_size()?;
        self.measure_searches()?;
        self.measure_writes()?;
        self.measure_first_searches()?;
        self.measure_failover()?;
        self.measure_heads()?;
        self.measure_puts()
    }

    /// Fills the libraries, and compares the sizes of tables and files with that of the text.
    fn measure_size(&mut self) -> Result<()> {
        let before = self.database.size_bytes()?;
        let (mut text_bytes, mut file_bytes) = (0, 0);
        for side in &self.sides {
            let mut rng = SeededRng::new(2);
            let mut passages = self.text.all_passages()?;
            let notes = std::iter::from_fn(|| long_note(&mut passages, &mut rng));
            text_bytes = 0;
            let notes = notes.take(self.options.notes).inspect(|note| {
                text_bytes += note.title.len() + note.body.len();
            });
            save_notes(&side.store(Database::Chacha, WRITER), notes)?;
            file_bytes = folder_size(&side.library(WRITER))?;
        }
        let after = self.database.size_bytes()?;
        let name = format!("{} notes, {:.1} kB each", self.options.notes, {
            to_f64(text_bytes) / 1e3 / to_f64(self.options.notes)
        });
        self.report_size(&name, text_bytes, file_bytes, after - before);

        let (mut text_bytes, mut file_bytes) = (0, 0);
        for side in &self.sides {
            (text_bytes, file_bytes) = (0, 0);
            for (user, passages) in [READER, SMALL, LARGE] {
                fill_stores(
                    |database| side.store(database, user),
                    &self.text,
                    LibrarySizes::for_total(passages),
                    &mut PassageSample::for_rows(passages),
                )?;
                file_bytes += folder_size(&side.library(user))?;
            }
        }
        for (_, passages) in [READER, SMALL, LARGE] {
            text_bytes += LibrarySizes::for_total(passages).text_bytes(&self.text)?;
        }
        let size = self.database.size_bytes()? - after;
        let passages = READER.1 + SMALL.1 + LARGE.1;
        let each = to_f64(text_bytes) / 1e3 / to_f64(passages);
        let name = format!("{passages} passages in five sources, {each:.1} kB each");
        self.report_size(&name, text_bytes, file_bytes, size);
        Ok(())
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn report_size(&mut self, name: &str, text_bytes: usize, file_bytes: usize, size: f64) {
        let (text_bytes, file_bytes) = (to_f64(text_bytes), to_f64(file_bytes));
        println!("size, {name}: {:.1} MB of text", text_bytes / 1e6);
        println!(
            "  SQLite      {:>8.1} MB, {:.2} times",
            file_bytes / 1e6,
            file_bytes / text_bytes
        );
        println!(
            "  PostgreSQL  {:>8.1} MB, {:.2} times (target: at most 1.5)",
            size / 1e6,
            size / text_bytes
        );
        self.figures.push(json!({ "figure": "size", "name": name, "text_bytes": text_bytes,
            "file_bytes": file_bytes, "table_bytes": size, "ratio": size / text_bytes }));
    }

    /// Measures the same requests at both servers, in turns.
    fn measure_requests(
        &mut self,
        name: &str,
        (user, count, target): (usize, usize, f64),
        next: impl Fn(&[String], &mut SeededRng) -> String,
    ) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let [local, archived] = &self.sides;
        let servers = [local.start(local.folder())?, archived.start(folder.path())?];
        let mut clients =
            [local.open_session(&servers[0], user)?, archived.open_session(&servers[1], user)?];
        let (mut rng, mut times) = (SeededRng::new(1), [Vec::new(), Vec::new()]);
        // The first requests fill the caches.
        for _ in 0..count / 10 {
            let request = next(&self.words, &mut rng);
            for client in &mut clients {
                client.call(&request)?;
            }
        }
        let cpu_time = || -> Result<Vec<Duration>> {
            servers.iter().map(|server| server.process().cpu_time()).collect()
        };
        let (cpu, work) = (cpu_time()?, self.database.work()?);
        for round in 0..count {
            let request = next(&self.words, &mut rng);
            for place in [round % 2, 1 - round % 2] {
                if let (Some(client), Some(times)) = (clients.get_mut(place), times.get_mut(place))
                {
                    times.push(client.timed_call(&request)?.1);
                }
            }
        }
        let work = self.database.work()?.per_request(work, count);
        let cpu =
            cpu_time()?.into_iter().zip(cpu).map(|(after, before)| after.saturating_sub(before));
        let cpu: Vec<f64> = cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / to_f64(count)).collect();
        let details = json!({ "cpu_us": cpu, "database": work });
        self.report_times(name, times, &format!("at most {target} times"), &details);
        Ok(())
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn report_times(
        &mut self,
        name: &str,
        times: [Vec<Duration>; 2],
        target: &str,
        details: &Value,
    ) {
        let [without, with] = times.map(TimingSummary::from_durations);
        let show = |times: TimingSummary| {
            format!("{:>9.2} ms median {:>9.2} ms p99", times.median / 1e3, times.p99 / 1e3)
        };
        println!("{name}");
        println!("  without     {}", show(without));
        println!("  with        {}", show(with));
        println!(
            "  {:.2} times the median, {:.2} times the p99; target: {target}",
            with.ratio_to(without),
            with.p99 / without.p99
        );
        if !details.is_null() {
            println!("  for each: {details}");
        }
        self.figures.push(json!({ "figure": name, "without": without, "with": with,
            "ratio": with.ratio_to(without), "target": target, "details": details }));
    }

    fn measure_searches(&mut self) -> Result<()> {
        let count = self.options.searches;
        let name = format!("search, {} passages", READER.1);
        self.measure_requests(&name, (0, count, 1.15), search)
    }

    fn measure_writes(&mut self) -> Result<()> {
        let content: Vec<String> =
            self.text.all_passages()?.take(100).map(|passage| passage.body).collect();
        let count = self.options.writes;
        self.measure_requests("notes.create, 1 kB", (3, count, 2.0), |words, rng| {
            let title = format!("{} {}", word(words, rng), word(words, rng));
            let content = content.get(rng.below(content.len()));
            tool_call("notes.create", &json!({ "title": title, "content": content }))
        })
    }

    /// Measures the first search of a user: at a server that was just started on its files, and at
    /// one without a copy.
    fn measure_first_searches(&mut self) -> Result<()> {
        let users = [
            (1, format!("first search, {} passages", SMALL.1), "at most 500 ms"),
            (2, format!("first search, {} passages", LARGE.1), "at most 2,500 ms"),
            (3, format!("first search, {} long notes", self.options.notes), "none"),
        ];
        let mut times: [[Vec<Duration>; 2]; 3] = Default::default();
        let mut rng = SeededRng::new(3);
        for _ in 0..self.options.starts {
            let folder = tempfile::tempdir()?;
            let [local, archived] = &self.sides;
            for (place, side, path) in [(0, local, local.folder()), (1, archived, folder.path())] {
                let server = side.start(path)?;
                for ((user, ..), times) in users.iter().zip(&mut times) {
                    let mut client = side.open_session(&server, *user)?;
                    let request = search(&self.words, &mut rng);
                    let began = Instant::now();
                    search_all_sources(&mut client, &request)?;
                    times.get_mut(place).context("a side")?.push(began.elapsed());
                }
            }
        }
        for ((_, name, target), times) in users.iter().zip(times) {
            self.report_times(name, times, target, &Value::Null);
        }
        Ok(())
    }

    /// Measures the time from `kill -9` of a server to the first answer: of the same one, started
    /// again, and of another one that has no copy yet.
    fn measure_failover(&mut self) -> Result<()> {
        let mut times = [Vec::new(), Vec::new()];
        let request = search(&self.words, &mut SeededRng::new(4));
        let [local, archived] = &self.sides;
        for _ in 0..self.options.starts {
            let server = local.start(local.folder())?;
            local.open_session(&server, 1)?.call(&request)?;
            let began = Instant::now();
            drop(server);
            let server = local.start(local.folder())?;
            local.open_session(&server, 1)?.call(&request)?;
            times[0].push(began.elapsed());

            let folders = [tempfile::tempdir()?, tempfile::tempdir()?];
            let first = archived.start(folders[0].path())?;
            let second = archived.start(folders[1].path())?;
            let mut client = archived.open_session(&first, 1)?;
            client.call(&request)?;
            let headers =
                format!("{}{}", archived.header(1)?, client.session_header().context("a session")?);
            let began = Instant::now();
            drop(first);
            ensure!(client.call(&request).is_err(), "a killed server answered");
            while let Err(error) = HttpClient::connect(second.address(), &headers)
                .and_then(|mut client| search_all_sources(&mut client, &request))
            {
                ensure!(began.elapsed() < FAILOVER_TIMEOUT, "no answer: {error:#}");
                thread::sleep(Duration::from_millis(10));
            }
            times[1].push(began.elapsed());
        }
        let name = format!("kill -9 to first answer, {} passages", SMALL.1);
        self.report_times(&name, times, "at most 2,000 ms", &Value::Null);
        Ok(())
    }

    fn archive(&self) -> Result<Arc<dyn Archive>> {
        let [_, archived] = &self.sides;
        Ok(Arc::clone(archived.data().archive().context("no archive")?.archive()))
    }

    /// Measures the question whether a library has changed, compared with the shortest statement.
    fn measure_heads(&mut self) -> Result<()> {
        let archive = self.archive()?;
        let parts_of = |user: &str| LIBRARY.map(|part| part_name(user, part));
        let open: Vec<PartName> =
            (0..OPEN_LIBRARIES).flat_map(|number| parts_of(&format!("open{number}"))).collect();
        for part in &open {
            put(&*archive, part, Head::default(), 100)?;
        }
        for (name, parts, count) in [
            ("heads of one library", parts_of(READER.0).to_vec(), 2_000),
            ("heads of 256 libraries", open, 200),
        ] {
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..count {
                let began = Instant::now();
                self.database.number("SELECT 1::float8")?;
                times[0].push(began.elapsed());
                let began = Instant::now();
                archive.heads(&parts)?;
                times[1].push(began.elapsed());
            }
            self.report_times(name, times, "none; compared with SELECT 1", &Value::Null);
        }
        Ok(())
    }

    /// Measures the number of writes of several users at once that the database stores.
    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn measure_puts(&mut self) -> Result<()> {
        let archive = self.archive()?;
        let (began, work) = (Instant::now(), self.database.work()?);
        let write = |number: usize| -> Result<usize> {
            let part = part_name(&format!("writer{number}"), "chacha");
            let (mut head, mut count) = (Head::default(), 0);
            while began.elapsed() < WRITING {
                head = put(&*archive, &part, head, 1_000)?;
                count += 1;
            }
            Ok(count)
        };
        let count: usize = thread::scope(|scope| -> Result<usize> {
            let writers: Vec<_> =
                (0..WRITERS).map(|number| scope.spawn(move || write(number))).collect();
            let counts = writers
                .into_iter()
                .map(|writer| writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))?);
            counts.sum()
        })?;
        let per_second = to_f64(count) / began.elapsed().as_secs_f64();
        let work = self.database.work()?.per_request(work, count);
        println!("{WRITERS} writers: {per_second:.0} writes of 1 kB a second; for each: {work}");
        self.figures.push(json!({ "figure": "puts", "writers": WRITERS,
            "per_second": per_second, "details": work }));
        Ok(())
    }
}

fn part_name(user: &str, part: &str) -> PartName {
    PartName { user: user.to_owned(), part: part.to_owned() }
}

/// Stores a row of `bytes` bytes, which differs from others.
fn put(archive: &dyn Archive, part: &PartName, seen: Head, bytes: usize) -> Result<Head> {
    let write = WriteId::random();
    let key = write.0.as_bytes().to_vec();
    let row = key.iter().copied().cycle().zip(0_u8..=250).map(|(one, other)| one ^ other);
    let row = row.cycle().take(bytes).collect();
    let entry = Entry { table: "note".to_owned(), key, row: Some(row) };
    match archive.put(part, seen, write, 1, &[entry])? {
        Put::Done(head) => Ok(head),
        Put::Behind(head) => anyhow::bail!("another write came first: {head:?}"),
    }
}

/// Joins two to five thousand characters of passages.
fn long_note(passages: &mut impl Iterator<Item = Passage>, rng: &mut SeededRng) -> Option<Passage> {
    let mut note = passages.next()?;
    let length = 2_000 + rng.below(3_000);
    while note.body.len() < length {
        note.body.push_str("\n\n");
        note.body.push_str(&passages.next()?.body);
    }
    Some(note)
}

/// Returns the size of all files in a folder, in bytes.
fn folder_size(folder: &Path) -> Result<usize> {
    let sizes = fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len()));
    Ok(usize::try_from(sizes.sum::<Result<u64>>()?)?)
}

/// Returns words of the text, frequent and rare ones.
fn frequent_words(text: &TextSource) -> Result<Vec<String>> {
    let passages = text.all_passages()?.take(200);
    let mut words: Vec<String> = passages
        .flat_map(|passage| {
            let words = passage.body.split(|letter: char| !letter.is_alphabetic());
            words.filter(|word| word.len() > 3).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    ensure!(!words.is_empty(), "no words in the text");
    Ok(words)
}

fn word(words: &[String], rng: &mut SeededRng) -> String {
    words.get(rng.below(words.len())).cloned().unwrap_or_default()
}

/// Returns a search for two words.
fn search(words: &[String], rng: &mut SeededRng) -> String {
    let query = format!("{} {}", word(words, rng), word(words, rng));
    tool_call("knowledge.search", &json!({ "query": query }))
}

/// Repeats a search until all sources answer. On a busy machine, the copy of a large library may be
/// complete only after the first search has timed out.
fn search_all_sources(client: &mut HttpClient, request: &str) -> Result<()> {
    let began = Instant::now();
    loop {
        match client.call(request) {
            Ok(answer) if !answer.contains("failed_sources") => return Ok(()),
            other => {
                let is_late = began.elapsed() > SEARCH_TIMEOUT;
                ensure!(!is_late, "the search is incomplete: {:?}", other.err());
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn to_f64(count: usize) -> f64 {
    count as f64
}
