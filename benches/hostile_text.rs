//! What texts that are made to be expensive cost the program, compared with prose of their size.
//!
//! Each text is a file that the program imports as a note and as a document, and synchronizes as a
//! collection that is divided at headings and as one that is divided into windows. Counted is the CPU
//! time of the process that owns the databases, without that of its reader process, whose limits are
//! its own, and without that of a file of one word. Prints the ratio to the prose of the same run.
//!
//! `cargo bench -p vademecum-benches --bench hostile_text -- --megabytes 16`

use std::{
    env,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::{Map, Value, json};
use vademecum_benches::{CommonOptions, Process, SeededRng};

/// Number of different words of the prose.
const PROSE_WORDS: usize = 20_000;

#[derive(Debug, Parser)]
struct Options {
    /// Size of each text, in megabytes (2^20 bytes).
    #[arg(long, default_value_t = 16)]
    megabytes: usize,
    /// Names of the texts to measure; all by default.
    #[arg(long, value_delimiter = ',')]
    texts: Vec<String>,
    #[command(flatten)]
    common: CommonOptions,
}

/// What the program does with a file.
#[derive(Clone, Copy, Debug)]
enum Work {
    Note,
    Document,
    Headings,
    Windows,
}

impl Work {
    const ALL: [Self; 4] = [Self::Note, Self::Document, Self::Headings, Self::Windows];

    /// Returns the arguments of the command, and the settings.
    fn command(self, file: &Path) -> (Vec<&'static str>, String) {
        let folder = file.parent().map(Path::to_string_lossy).unwrap_or_default();
        let collection = |chunking: &str| {
            format!("[[collections]]\nname = \"texts\"\nfolders = [{folder:?}]\n{chunking}")
        };
        match self {
            Self::Note => (vec!["import", "notes"], String::new()),
            Self::Document => (vec!["import", "media"], String::new()),
            Self::Headings => (vec!["collection", "sync"], collection("")),
            Self::Windows => {
                (vec!["collection", "sync"], collection("chunking = { enabled = true }\n"))
            }
        }
    }
}

fn main() -> ExitCode {
    // The commands that the bench runs, and the process that they start.
    if matches!(env::args().nth(1).as_deref(), Some("import" | "collection" | "reader")) {
        return vademecum::cli::main();
    }
    match measure(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_to_stderr(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a bench reports its failure")]
fn print_to_stderr(message: &str) {
    eprintln!("{message}");
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(options: &Options) -> Result<()> {
    let bytes = options.megabytes << 20;
    let mut results = Map::new();
    for work in Work::ALL {
        let start = cpu_seconds(work, "One.")?;
        let prose = prose(bytes);
        let cost = |text: &str| -> Result<f64> {
            let used = cpu_seconds(work, text)? - start;
            Ok(used * size(bytes)? / size(text.len())?)
        };
        // The first run loads the program from disk.
        let base = cost(&prose)?.min(cost(&prose)?);
        println!("\n{work:?}: prose {base:.2} CPU s for {} MB", options.megabytes);
        let mut ratios = Map::new();
        for (name, text) in hostile_texts(bytes) {
            if !options.texts.is_empty() && !options.texts.iter().any(|it| it == name) {
                continue;
            }
            let ratio = cost(&text)? / base;
            println!("  {name:14} {ratio:6.2}");
            ratios.insert(name.to_owned(), json!(ratio));
        }
        results.insert(format!("{work:?}"), json!({ "prose_s": base, "ratios": ratios }));
    }
    options.common.write_results(&Value::Object(results))
}

/// Returns a size as a number with a fraction.
fn size(bytes: usize) -> Result<f64> {
    Ok(f64::from(u32::try_from(bytes)?))
}

/// Returns the CPU time of the process that stores a text, in seconds.
fn cpu_seconds(work: Work, text: &str) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("texts/text.md");
    fs::create_dir(folder.path().join("texts"))?;
    fs::write(&file, text)?;
    let (arguments, settings) = work.command(&file);
    let settings_file = folder.path().join("settings.toml");
    fs::write(&settings_file, settings)?;
    let mut command = Command::new(env::current_exe()?);
    command.args(arguments).arg("--config").arg(&settings_file);
    command.arg("--data").arg(folder.path().join("data"));
    if matches!(work, Work::Note | Work::Document) {
        command.arg(&file);
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let id = Pid::from_raw(child.id().cast_signed()).context("no process")?;
    // The process has ended, but can still be asked.
    waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let used = Process::with_id(child.id()).cpu_time()?;
    ensure!(child.wait()?.success(), "{work:?} failed");
    Ok(used.as_secs_f64())
}

/// Returns sentences of words that occur as often as in prose.
fn prose(bytes: usize) -> String {
    let words: Vec<String> = {
        let mut rng = SeededRng::new(5);
        let letters: Vec<char> = ('a'..='x').collect();
        (0..PROSE_WORDS)
            .map(|_| (0..2 + rng.below(9)).map(|_| letters[rng.below(letters.len())]).collect())
            .collect()
    };
    let mut rng = SeededRng::new(1);
    let mut text = String::with_capacity(bytes + 256);
    while text.len() < bytes {
        for _ in 0..6 + rng.below(12) {
            // Few words are frequent.
            let most = 1 + rng.below(PROSE_WORDS);
            text.push_str(&words[rng.below(most)]);
            text.push(' ');
        }
        text.pop();
        text.push_str(if rng.below(7) == 0 { ".\n\n" } else { ". " });
    }
    text
}

/// Returns texts of this size that were expensive in some version, or look as if they were.
fn hostile_texts(bytes: usize) -> Vec<(&'static str, String)> {
    let repeated = [
        ("brackets", "["),
        ("destinations", "]("),
        ("open links", "[["),
        ("one letter", "a\n"),
        ("stars", "*"),
        ("emphasis", "_a_ "),
        ("cells", "| a "),
        ("rows", "| a | b |\n"),
        ("quotes", "> a\n"),
        ("nested quotes", "> > > > > > > > > > > > a\n"),
        ("headings", "# h\n"),
        ("underlined", "a\n===\n"),
        ("no breaks", "abcdefghij"),
        ("Thai", "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอน"),
        ("Han", "京都は美しい"),
        ("marks", "\u{301}"),
        ("letters, marks", "e\u{301}"),
        ("emoji", "👨\u{200d}👩\u{200d}👧\u{200d}"),
        ("controls", "\u{1}\u{2}"),
        ("lists", "- a\n"),
        ("elements", "<div>"),
        ("JSON", "{\"a\":"),
        ("commas", ","),
        ("CSV", "a,b,c\n"),
        ("links", "[[page]] "),
        ("Markdown links", "[a](b) "),
        ("mail addresses", "a@b.c "),
        ("backticks", "`"),
        ("entities", "&amp;"),
        ("formulas", "$a$ "),
        ("comments", "%%"),
        ("properties", "supersedes:: [[a]], [[b]]\n"),
        ("zero width", "a\u{200b}"),
        ("blanks", " a"),
    ];
    let mut texts: Vec<(&str, String)> =
        repeated.map(|(name, unit)| (name, unit.repeat(bytes / unit.len()))).into();
    let numbered = |length: usize, line: &dyn Fn(usize) -> String| {
        (0..bytes / length).fold(String::new(), |mut text, number| {
            // Writing to a string cannot fail.
            write!(text, "{}", line(number)).ok();
            text
        })
    };
    texts.extend([
        ("front matter", format!("---\n{}---\nText.\n", "k: v\n".repeat(bytes / 5))),
        ("anchors", {
            let lines = numbered(30, &|it| format!("a{it}: &a{it} [*a{it}, *a{it}]\n"));
            format!("---\n{lines}---\nText.\n")
        }),
        ("nested list", numbered(204, &|it| format!("{}- a\n", "  ".repeat(it % 200)))),
        ("addresses", numbered(28, &|it| format!("https://example.org/{it}/x "))),
        ("pages", numbered(16, &|it| format!("[[page {it}]] "))),
        ("numbers", numbered(8, &|it| format!("{it:07x} "))),
        ("long heading", format!("# {}\n\n{}", "a b ".repeat(bytes / 8), prose(bytes / 2))),
        ("one line", prose(bytes).replace('\n', " ")),
    ]);
    texts
}
