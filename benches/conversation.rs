//! The cost of long conversations, compared with that of short ones.
//!
//! Two users have the same messages: one in a single conversation, the other in conversations of
//! twenty. Each searches them for the maximum number of hits; the CPU time is that of the server.
//! Then many callers search the long conversation at once, and the sources that did not answer in
//! time are counted. At last messages are appended to a long and to a short conversation of a tldw
//! database, which a replica follows one by one.
//!
//! `cargo bench -p vademecum-benches --bench conversation -- --json conversation.json`

use std::{fs, path::Path, process::ExitCode, thread, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use rusqlite::{Connection, OpenFlags, params};
use serde_json::{Value, json};
use vademecum_benches::{
    CommonOptions, HttpClient, Passage, ServerProcess, TextSource, create_users, find_source,
    measure_thread_cpu, median_and_p99, run_bench_or_program, tool_call,
};
use vademecum_model::{ChatDraft, Draft, DraftBody, MessageDraft, SourceName, Timestamp};
use vademecum_store::{Database, Durability, Store};
use vademecum_tldw::{MissingItems, TldwFile, find_user, sync_source};

/// Number of messages in a short conversation.
const SHORT_LENGTH: usize = 20;
/// Number of hits per search.
const HITS: usize = 100;
/// Number of searches per measurement.
const CALLS: usize = 40;
/// Number of concurrent callers, and of the searches of each.
const CALLERS: usize = 16;
const CALLS_PER_CALLER: usize = 5;
/// Number of messages appended to each conversation.
const APPENDED: usize = 20;
/// Maximum length of a message, in characters.
const MESSAGE_CHARS: usize = 200;
/// The tables of a tldw database, with some items.
const TLDW_TABLES: &str = include_str!("../tests/it/fixtures/tldw/chacha.sql");
/// Settings without limits on the number of calls.
const SETTINGS: &str = "[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n";

#[derive(Debug, Parser)]
struct Options {
    /// Number of messages in the long conversation.
    #[arg(long, default_value_t = 50_000)]
    messages: usize,
    #[command(flatten)]
    common: CommonOptions,
}

fn main() -> ExitCode {
    run_bench_or_program(|| measure(&Options::parse()))
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(options: &Options) -> Result<()> {
    let passages = passages(options.messages)?;
    let folder = tempfile::tempdir()?;
    let names = ["long", "short"].map(str::to_owned);
    for (name, length) in names.iter().zip([options.messages, SHORT_LENGTH]) {
        save_conversations(&folder.path().join("users").join(name), &passages, length)?;
    }
    let text_bytes: usize = passages.iter().map(|passage| passage.body.len()).sum();
    let disk_bytes = fs::metadata(folder.path().join("users/long/chacha.db"))?.len();
    let disk_ratio = to_f64(usize::try_from(disk_bytes)?)? / to_f64(text_bytes)?;
    println!(
        "{} messages, {text_bytes} bytes of text; {disk_ratio:.2} times on disk",
        passages.len()
    );
    let headers = create_users(folder.path(), &names)?;
    let [long_user, short_user] = headers.as_slice() else { bail!("two users") };
    let server = ServerProcess::start(folder.path(), SETTINGS)?;
    let word = frequent_word(&passages)?;
    let search = tool_call("chats.search", &json!({ "query": word, "limit": HITS }));
    let long = search_cost(&server, long_user, &search)?;
    let short = search_cost(&server, short_user, &search)?;
    let hit_ratio = long.as_secs_f64() / short.as_secs_f64();
    println!(
        "{HITS} hits, CPU of the server: {long:?} in one conversation, {short:?} in short ones"
    );
    println!("  {hit_ratio:.2} times as much; target: at most 1.5 times");
    let all = tool_call("knowledge.search", &json!({ "query": word, "limit": HITS }));
    let late = count_late_sources(&server, long_user, &all)?;
    println!("{CALLERS} callers, limit {HITS}: {late} late sources; target: 0");
    drop(server);
    let [long_append, short_append] = append_costs(&folder.path().join("tldw"), &passages)?;
    let append_ratio = long_append.as_secs_f64() / short_append.as_secs_f64();
    println!(
        "an appended message of tldw, CPU: {long_append:?} in a long conversation, {short_append:?} in a short one"
    );
    println!("  {append_ratio:.2} times as much; target: at most 1.5 times");
    options.common.write_results(&json!({
        "messages": passages.len(), "text_bytes": text_bytes, "disk_ratio": disk_ratio,
        "long_us": long.as_secs_f64() * 1e6, "short_us": short.as_secs_f64() * 1e6,
        "hit_ratio": hit_ratio, "late_sources": late,
        "long_append_us": long_append.as_secs_f64() * 1e6,
        "short_append_us": short_append.as_secs_f64() * 1e6, "append_ratio": append_ratio,
    }))
}

/// Returns the text of the messages.
fn passages(count: usize) -> Result<Vec<Passage>> {
    let shorten = |passage: Passage| Passage {
        body: passage.body.chars().take(MESSAGE_CHARS).collect(),
        ..passage
    };
    Ok(TextSource::Synthetic.all_passages()?.take(count).map(shorten).collect())
}

/// Returns the word that most messages have.
fn frequent_word(passages: &[Passage]) -> Result<String> {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for word in passages.iter().take(1_000).flat_map(|passage| passage.body.split_whitespace()) {
        if word.len() > 4 && word.chars().all(char::is_alphabetic) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    Ok(most.context("no word")?.0.to_owned())
}

/// Saves the passages as conversations of this length.
fn save_conversations(library: &Path, passages: &[Passage], length: usize) -> Result<()> {
    let chats = find_source(SourceName::Chats)?;
    let store = Store::new(chats.database(), library);
    for (number, part) in passages.chunks(length).enumerate() {
        let messages = part.iter().enumerate().map(|(place, passage)| MessageDraft {
            origin: place.to_string(),
            sender: ["Zebulon", "Maren"].get(place % 2).copied().unwrap_or_default().to_owned(),
            content: passage.body.clone(),
            sent_at: timestamp(place),
            ..MessageDraft::default()
        });
        let origin = format!("bench:{number}");
        let title = part.first().map(|passage| passage.title.clone());
        let chat = ChatDraft { title, messages: messages.collect(), ..ChatDraft::default() };
        let body = DraftBody::Chat(chat);
        let draft = Draft { digest: origin.clone(), origin, id: None, body };
        store.write(Durability::Bulk, |writer| chats.save_draft(writer, &draft))?;
    }
    Ok(store.checkpoint()?)
}

/// Returns the average CPU time of the server for a call.
fn search_cost(server: &ServerProcess, user: &str, call: &str) -> Result<Duration> {
    let mut client = HttpClient::connect(server.address(), user)?;
    let process = server.process();
    client.call(call)?;
    let before = process.cpu_time()?;
    for _ in 0..CALLS {
        client.call(call)?;
    }
    Ok(process.cpu_time()?.saturating_sub(before) / u32::try_from(CALLS)?)
}

/// Returns the number of sources that did not answer in time, over all searches of all callers.
fn count_late_sources(server: &ServerProcess, user: &str, call: &str) -> Result<usize> {
    let ask = || -> Result<usize> {
        let mut client = HttpClient::connect(server.address(), user)?;
        let mut late = 0;
        for _ in 0..CALLS_PER_CALLER {
            let answer: Value = serde_json::from_str(&client.call(call)?)?;
            let pointers = ["/result/_meta", "/result/structuredContent/_meta"];
            let notes = pointers.iter().find_map(|place| answer.pointer(place));
            let failed = notes.and_then(|notes| notes["failed_sources"].as_array());
            late += failed.map_or(0, Vec::len);
        }
        Ok(late)
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(ask)).collect();
        let counts = callers
            .into_iter()
            .map(|caller| caller.join().map_err(|_| anyhow::anyhow!("a caller panicked"))?);
        counts.sum()
    })
}

/// Returns the median CPU time to follow a message that tldw appends to a long and to a short
/// conversation.
fn append_costs(folder: &Path, passages: &[Passage]) -> Result<[Duration; 2]> {
    fs::create_dir_all(folder)?;
    let path = folder.join("ChaChaNotes.db");
    let mut tldw = Connection::open_with_flags(&path, OpenFlags::default())?;
    tldw.execute_batch(TLDW_TABLES)?;
    let parts = [("long", passages), ("short", passages.get(..SHORT_LENGTH).context("too few")?)];
    for (id, part) in parts {
        let transaction = tldw.transaction()?;
        transaction.execute("INSERT INTO conversations (id, root_id) VALUES (?1, ?1)", [id])?;
        for (place, passage) in part.iter().enumerate() {
            append(&transaction, id, place, passage)?;
        }
        transaction.commit()?;
    }
    let chats = find_source(SourceName::Chats)?;
    let store = Store::new(Database::Chacha, &folder.join("replica"));
    let user = find_user(folder, None)?;
    let follow = || -> Result<usize> {
        let file = TldwFile::open(&path, Database::Chacha)?;
        let policy = MissingItems::Remove;
        let done = sync_source(&user, &file, &store, &*chats, policy, &mut |_, _| ())?;
        Ok(done.new + done.updated)
    };
    follow()?;
    let mut costs = [Vec::new(), Vec::new()];
    for round in 0..APPENDED {
        for ((id, part), costs) in parts.into_iter().zip(&mut costs) {
            append(&tldw, id, part.len() + round, passages.get(round).context("too few")?)?;
            let (changed, cost) = measure_thread_cpu(follow);
            ensure!(changed? == 1, "one conversation has changed");
            costs.push(cost);
        }
    }
    Ok(costs.map(|costs| median_and_p99(costs).0))
}

fn append(tldw: &Connection, conversation: &str, place: usize, passage: &Passage) -> Result<()> {
    let sql = "INSERT INTO messages (id, conversation_id, sender, content, timestamp)
               VALUES (?1, ?2, 'Maren', ?3, ?4)";
    let id = format!("{conversation}-{place}");
    let sent = timestamp(place).context("a time")?.to_string();
    tldw.prepare_cached(sql)?.execute(params![id, conversation, passage.body, sent])?;
    Ok(())
}

/// Returns a distinct time for each place, one second apart.
fn timestamp(place: usize) -> Option<Timestamp> {
    Timestamp::from_unix_seconds(1.7e9 + f64::from(u32::try_from(place).unwrap_or(0)))
}

fn to_f64(count: usize) -> Result<f64> {
    Ok(f64::from(u32::try_from(count)?))
}
