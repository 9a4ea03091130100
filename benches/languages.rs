//! The cost of a search in other scripts and alphabets, compared with Spanish.
//!
//! The same invented texts are written with the letters of each script: Latin with accents, as in
//! Spanish; Cyrillic; Arabic; Devanagari with vowel signs; and Thai and Han without spaces. A library
//! of 240 notes holds one of them at a time. Each query, ten words of a note, is sent as a client sends
//! it, from JSON message to JSON message, with snippets.
//!
//! The target is that no script costs more than 1.5 times as much as Spanish.
//!
//! `cargo bench -p vademecum-benches --bench languages`

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use vademecum::app::App;
use vademecum_benches::{Options, Report, Timing, TimingSummary};
use vademecum_core::config::Settings;

/// Number of notes.
const NOTES: usize = 240;
/// Default number of queries.
const DEFAULT_QUERIES: usize = 100;
/// Number of rounds. The first one is a warm-up.
const ROUNDS: usize = 4;
/// Number of words of a query.
const QUERY_WORDS: usize = 10;
/// Target: maximum ratio to Spanish.
const TIMES: f64 = 1.5;

/// A script: its name, its letters instead of `a` to `z`, and whether it has spaces.
const SCRIPTS: [(&str, &str, bool); 6] = [
    ("Spanish", "ábcdéfghíjklmnópqrstúvwxyz", true),
    ("Cyrillic", "абцдефгхийклмнопярстувшьыз", true),
    ("Arabic", "ابصديفغهيجكلمنوبقرستوضشخيز", true),
    ("Devanagari", "ाबचदेफगहिजकलमनोपखरसतुवथठयझ", true),
    ("Thai", "าบจดเฟกหิชคลมนโปขรสตุวถฐยซ", false),
    ("Han", "一二三四五六七八九十百千日月火水木金土山川田人口手目", false),
];

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("languages");
    println!("{:12} {:>10} {:>10} {:>8}", "script", "median µs", "p99 µs", "ratio");
    actix::System::new().block_on(async {
        let mut spanish = None;
        for (name, letters, has_spaces) in SCRIPTS {
            let times = Box::pin(measure(&options, letters, has_spaces)).await?;
            let ratio = times.ratio_to(*spanish.get_or_insert(times));
            println!(
                "{name:12} {:>10.1} {:>10.1} {ratio:>8.2} {}",
                times.median,
                times.p99,
                if ratio <= TIMES { "" } else { "missed" }
            );
            report.add_entry(json!({
                "script": name, "median": times.median, "p99": times.p99, "ratio": ratio,
            }));
        }
        report.write(&options)
    })
}

/// Fills a library with texts in the letters of a script, and returns the CPU time of its searches.
async fn measure(options: &Options, letters: &str, has_spaces: bool) -> Result<TimingSummary> {
    let folder = tempfile::tempdir()?;
    let mut settings = Settings::default();
    settings.storage.data = Some(folder.path().to_owned());
    settings.tools.write = true;
    let app = App::new(settings)?;
    let mut queries = Vec::new();
    for (number, passage) in options.text().all_passages()?.take(NOTES).enumerate() {
        let text = transliterate(&passage.body, letters, has_spaces);
        let arguments = json!({ "title": format!("{number}"), "content": text });
        let message = call_message("notes.create", &arguments);
        read_result(app.handle_message(&message).await)?;
        let words: Vec<&str> = passage.body.split_whitespace().skip(3).take(QUERY_WORDS).collect();
        queries.push(transliterate(&words.join(" "), letters, has_spaces));
    }
    queries.truncate(options.queries.unwrap_or(DEFAULT_QUERIES));
    let mut times: Vec<Duration> = Vec::new();
    for round in 0..ROUNDS {
        for query in &queries {
            let message = call_message("knowledge.search", &json!({ "query": query }));
            let (answer, timing) = Timing::measure(app.handle_message(&message)).await;
            let found = read_result(answer)?;
            let results = found["structuredContent"]["results"].as_array();
            ensure!(results.is_some_and(|results| !results.is_empty()), "nothing found: {found}");
            if round > 0 {
                times.push(timing.cpu);
            }
        }
    }
    Ok(TimingSummary::from_durations(times))
}

fn call_message(tool: &str, arguments: &Value) -> String {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    });
    message.to_string()
}

fn read_result(answer: Option<String>) -> Result<Value> {
    let mut answer: Value = serde_json::from_str(&answer.context("no answer")?)?;
    ensure!(answer["result"]["isError"] != true && answer["error"].is_null(), "{answer}");
    Ok(answer["result"].take())
}

/// Writes a text of ASCII letters with those of a script.
fn transliterate(text: &str, letters: &str, has_spaces: bool) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let other = |letter: char| {
        let number = u32::from(letter.to_ascii_lowercase()).checked_sub(u32::from('a'));
        number.and_then(|number| letters.get(usize::try_from(number).ok()?).copied())
    };
    text.chars()
        .filter(|letter| has_spaces || *letter != ' ')
        .map(|letter| other(letter).unwrap_or(letter))
        .collect()
}
