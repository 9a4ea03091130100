//! End-to-end tests of `vademecum eval`, which measures retrieval quality on a collection with
//! relevance judgements.

use std::{collections::BTreeSet, fmt::Write, fs, process::Command};

use serde_json::{Value, json};

use crate::support::{Library, SOURCES};

/// Titles and texts. The id of a document is its position, counted from 1.
const DOCUMENTS: [(&str, &str); 15] = [
    ("Rye bread", "Rye dough rises slowly and is ready when its dome is cracked."),
    ("Sourdough", "A starter is fed with flour and water every day."),
    ("Lighthouse", "The keeper polished the prisms and trimmed the wick."),
    ("Lighthouse", "Whale oil burned in the lamp until kerosene came."),
    ("Tides", "Spring tides follow the full moon."),
    ("", "A barometer that falls announces a storm."),
    ("Compost", "Worms turn kitchen waste into compost."),
    ("Glacier", "Ice flows downhill under its own weight."),
    ("Violin", "The bow is rubbed with rosin before it is played."),
    ("Telescope", "A mirror gathers the light of a distant galaxy."),
    ("Beehive", "Bees dance to tell the others where nectar is."),
    ("Bicycle", "A chain that squeaks wants oil."),
    ("", "Ink is made of oak galls and iron."),
    ("Tea", "Green tea turns bitter in boiling water."),
    ("Saffron", "Threads of the crocus are picked by hand."),
];

/// Questions, each with its judged documents and their relevance grades.
const QUESTIONS: [(&str, &[(usize, i32)]); 5] = [
    ("When is rye dough ready?", &[(1, 2)]),
    ("What do bees dance for?", &[(11, 1), (5, 0)]),
    ("What burned in a lighthouse lamp?", &[(4, 1), (3, 1)]),
    ("Where is the zebra?", &[(8, 1)]),
    ("Who asks this?", &[(9, 0)]),
];

/// Writes the judged collection beside the data folder and returns its path.
fn write_collection(library: &Library) -> String {
    let documents = (1..)
        .zip(DOCUMENTS)
        .map(|(id, (title, text))| json!({ "_id": id.to_string(), "title": title, "text": text }));
    let questions = (1..)
        .zip(QUESTIONS)
        .map(|(id, (text, _))| json!({ "_id": format!("q{id}"), "text": text }));
    let lines = |objects: Vec<Value>| -> String {
        objects.iter().map(|object| object.to_string() + "\n").collect()
    };
    let mut judgements = "query-id\tcorpus-id\tscore\n".to_owned();
    for (id, (_, judged)) in (1..).zip(QUESTIONS) {
        for (document, grade) in judged {
            writeln!(judgements, "q{id}\t{document}\t{grade}").unwrap();
        }
    }
    library.write_file("judged/corpus.jsonl", lines(documents.collect()));
    library.write_file("judged/queries.jsonl", lines(questions.collect()));
    library.write_file("judged/qrels/test.tsv", judgements);
    library.file_path("judged").to_str().unwrap().to_owned()
}

/// Asserts the expected metrics of the four judged questions: three have perfect results, one has
/// none.
fn assert_expected_metrics(figures: &Value) {
    let keys = ["ndcg_at_10", "recall_at_100", "mrr_at_10"];
    for key in keys {
        let value = figures[key].as_f64().unwrap();
        assert!((value - 0.75).abs() < 1e-9, "{key}: {figures}");
    }
    assert_eq!(figures["empty"], 1, "{figures}");
    let (middle, slow) = (figures["p50_ms"].as_f64().unwrap(), figures["p99_ms"].as_f64().unwrap());
    assert!(middle > 0.0 && slow >= middle, "{figures}");
}

#[test]
fn eval_reports_metrics_beside_plain_fts5() {
    let library = Library::new();
    let folder = write_collection(&library);
    let done = library.run(&["eval", "--json", &folder]);
    assert!(done.code == 0 && done.stderr.is_empty(), "{done:?}");
    let report = done.parse_json();
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let figures = ["ndcg_at_10", "recall_at_100", "mrr_at_10", "empty", "p50_ms", "p99_ms"];
    let figures = BTreeSet::from(figures.map(str::to_owned));
    assert_eq!(keys(&report["plain"]), figures);
    assert_eq!(keys(&report), &figures | &BTreeSet::from(["plain".to_owned()]));
    assert_expected_metrics(&report);
    assert_expected_metrics(&report["plain"]);
}

#[test]
fn eval_spreads_documents_over_sources_once() {
    let library = Library::new();
    let folder = write_collection(&library);
    let first = library.run(&["eval", &folder]);
    assert_eq!(first.code, 0, "{first:?}");
    let head = "15 documents, 15 imported, 0 already present; 4 queries\n";
    assert!(first.stdout.starts_with(head), "{first:?}");
    for part in ["nDCG@10", "vademecum", "plain FTS5", "ratio"] {
        assert!(first.stdout.contains(part), "{first:?}");
    }
    // Every text contains one of these words. The index has no duplicates.
    let words = "a the of when ice spring worms";
    let found = library.run(&["search", "--json", "--limit", "100", words]).parse_json();
    for source in SOURCES {
        let done = library.run(&["search", "--json", "--source", source, "a the is by in with"]);
        assert!(done.parse_json()["total_estimated"].as_u64() > Some(0), "{source}: {done:?}");
    }
    let again = library.run(&["eval", &folder]);
    let head = "15 documents, 0 imported, 15 already present; 4 queries\n";
    assert!(again.stdout.starts_with(head), "{again:?}");
    let same = library.run(&["search", "--json", "--limit", "100", words]).parse_json();
    assert_eq!(same, found);
}

#[test]
fn eval_refuses_folder_with_other_content() {
    let library = Library::new();
    let folder = write_collection(&library);
    library.import_file("notes", "own.md", "A note of my own.");
    let done = library.run(&["eval", &folder]);
    assert!(done.code == 1 && done.stdout.is_empty(), "{done:?}");
    assert!(done.stderr.contains("contains other files"), "{done:?}");
    assert_eq!(fs::read_dir(library.data_folder()).unwrap().count(), 1, "nothing was added");

    let library = Library::new();
    let folder = write_collection(&library);
    assert_eq!(library.run(&["eval", &folder]).code, 0);
    library.write_file("judged/corpus.jsonl", r#"{ "_id": "1", "text": "Another one." }"#);
    let done = library.run(&["eval", &folder]);
    assert!(done.code == 1 && done.stderr.contains("contains another collection"), "{done:?}");
}

#[test]
fn eval_rejects_additional_documents() {
    let library = Library::new();
    let folder = write_collection(&library);
    assert_eq!(library.run(&["eval", &folder]).code, 0);
    library.import_file("notes", "own.md", "Rye dough of my own.");
    let done = library.run(&["eval", &folder]);
    assert!(done.code == 1 && done.stderr.contains("is not part of this collection"), "{done:?}");
}

#[test]
fn malformed_collection_is_reported_with_file_and_line() {
    for (file, content, part) in [
        ("corpus.jsonl", "{ \"_id\": \"1\" }", "corpus.jsonl, line 1: missing field `text`"),
        ("queries.jsonl", "\n{ nonsense", "queries.jsonl, line 2: key must be a string"),
        ("qrels/test.tsv", "q1\t1\tgood\n", "test.tsv, line 1: the grade `good`"),
        ("qrels/test.tsv", "q1\t1\n", "test.tsv, line 1: expected query, document and grade"),
        ("qrels/test.tsv", "q9\t1\t1\n", "test.tsv, line 1: unknown query `q9`"),
        ("qrels/test.tsv", "q1\t1\t0\n", "test.tsv: no query has a relevant document"),
    ] {
        let library = Library::new();
        let folder = write_collection(&library);
        library.write_file(&format!("judged/{file}"), content);
        let done = library.run(&["eval", &folder]);
        assert!(done.code == 1 && done.stderr.contains(part), "{done:?}");
        assert!(done.stdout.is_empty() && !library.data_folder().exists(), "{done:?}");
    }
    let done = Library::new().run(&["eval", "/nowhere"]);
    assert!(
        done.code == 1 && done.stderr.contains("cannot read /nowhere/corpus.jsonl"),
        "{done:?}"
    );
}

#[test]
fn eval_without_folder_leaves_no_files() {
    let library = Library::new();
    let folder = write_collection(&library);
    let temporary = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_vademecum"))
        .args(["eval", "--json", &folder])
        .env("TMPDIR", temporary.path())
        .env("XDG_DATA_HOME", temporary.path().join("home"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_expected_metrics(&serde_json::from_slice(&done.stdout).unwrap());
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn eval_with_provider_measures_vector_and_hybrid() {
    let library = Library::new();
    let folder = write_collection(&library);
    let file = library.write_file(
        "s.toml",
        "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n",
    );
    let arguments = ["eval", "--json", "--config", file.to_str().unwrap(), &folder];
    let done = crate::support::vademecum_command().args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    for mode in ["vector", "hybrid"] {
        let found = report[mode]["ndcg_at_10"].as_f64().unwrap();
        assert!(found > 0.4 && found <= 1.0, "{mode}: {report}");
    }
}

#[test]
fn eval_measures_collections_separately_with_mean() {
    let library = Library::new();
    let folder = write_collection(&library);
    let other =
        library.write_file("judged2/corpus.jsonl", r#"{ "_id": "1", "text": "Rye bread." }"#);
    library.write_file("judged2/queries.jsonl", r#"{ "_id": "q", "text": "rye" }"#);
    library.write_file("judged2/qrels/test.tsv", "q\t1\t1\n");
    let other = other.parent().unwrap().to_str().unwrap();
    let told = library.run(&["eval", "--json", &folder, other]).parse_json();
    assert_expected_metrics(&told["collections"]["judged"]);
    assert_eq!(told["collections"]["judged2"]["ndcg_at_10"], 1.0, "{told}");
    assert_eq!(told["mean"], json!({ "ndcg_at_10": 0.875, "plain": 0.875 }));
    let said = library.run(&["eval", &folder, other]);
    assert!(said.stdout.contains("15 documents, 0 imported, 15 already present"), "{said:?}");
    let mean = said.stdout.lines().last().unwrap();
    let mean: Vec<&str> = mean.split_whitespace().collect();
    assert_eq!(mean, ["mean", "0.8750", "-", "-", "0.8750"], "{said:?}");
}
