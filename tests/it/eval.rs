//! End-to-end tests of `vademecum eval`, which measures retrieval quality on a collection with
//! relevance judgements.

use std::{fmt::Write, fs, process::Command};

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

/// Settings with an embedding model for tests.
const STUB_EMBEDDINGS: &str =
    "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n";

/// Files of a collection with one document and one query.
const SMALL_COLLECTION: [&str; 3] =
    [r#"{ "_id": "1", "text": "Rye bread." }"#, r#"{ "_id": "q", "text": "rye" }"#, "q\t1\t1\n"];

/// Names of the metrics of a ranking.
const METRICS: [&str; 3] = ["mrr_at_10", "ndcg_at_10", "recall_at_100"];

/// Writes a collection in its three files and returns the path of its folder.
fn write_files(library: &Library, name: &str, files: [&str; 3]) -> String {
    for (file, text) in ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"].iter().zip(files) {
        library.write_file(&format!("{name}/{file}"), text);
    }
    library.file_path(name).to_str().unwrap().to_owned()
}

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
    let files = [&lines(documents.collect()), &lines(questions.collect()), &judgements];
    write_files(library, "judged", files.map(String::as_str))
}

/// Asserts the expected metrics of the four judged questions: three have perfect results, one has
/// none.
fn assert_expected_metrics(figures: &Value) {
    for key in METRICS {
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
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&report["per_query"]), ["q1", "q2", "q3", "q4"]);
    assert_eq!(keys(&report["per_query"]["q1"]["plain"]), METRICS);
    for figures in [&report, &report["plain"]] {
        assert_expected_metrics(figures);
        let interval = ["low", "high"].map(|it| figures["ndcg_at_10_interval"][it].as_f64());
        let [Some(low), Some(high)] = interval else { panic!("{report}") };
        assert!((0.0..=0.75).contains(&low) && (0.75..=1.0).contains(&high), "{report}");
    }
    let none = json!({ "mean": 0.0, "interval": { "low": 0.0, "high": 0.0 } });
    assert_eq!(report["difference_to_plain"], none);
    assert_eq!((&report["queries"], &report["collection"]["documents"]), (&json!(4), &json!(15)));
}

/// Without its clock, an evaluation prints the same at every run.
#[test]
fn eval_scores_and_intervals_are_reproducible() {
    let library = Library::new();
    let folder = write_collection(&library);
    let [one, other] = [(); 2].map(|()| {
        let mut report = library.run(&["eval", "--json", &folder]).parse_json();
        for key in ["p50_ms", "p99_ms"] {
            report[key].take();
            report["plain"][key].take();
        }
        report
    });
    assert_eq!(one, other);
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
        ("qrels/test.tsv", "q9\t1\t1\n", "test.tsv: no query has a relevant document"),
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
fn eval_with_provider_measures_vector_hybrid_and_oracle() {
    let library = Library::new();
    let folder = write_collection(&library);
    let file = library.write_file("s.toml", STUB_EMBEDDINGS);
    let config = ["--config", file.to_str().unwrap()];
    let report = library.run(&[&["eval", "--json", &folder][..], &config].concat()).parse_json();
    for mode in ["vector", "hybrid", "rank_fusion"] {
        let found = report[mode]["ndcg_at_10"].as_f64().unwrap();
        assert!(found > 0.4 && found <= 1.0, "{mode}: {report}");
        assert!(report[mode]["difference_to_plain"]["mean"].is_f64(), "{report}");
    }
    for metric in ["ndcg_at_10", "recall_at_100"] {
        let best = report["oracle"][metric].as_f64().unwrap();
        let legs = [&report, &report["vector"]].map(|leg| leg[metric].as_f64().unwrap());
        assert!(legs.into_iter().all(|leg| leg <= best), "{metric}: {report}");
    }
    let table = library.run(&[&["eval", &folder][..], &config].concat()).stdout;
    let rows: Vec<&str> = table.lines().filter_map(|line| line.split("  ").next()).collect();
    let expected = ["vademecum", "vector", "hybrid", "RRF", "oracle", "plain FTS5", "ratio"];
    assert_eq!(rows[2..9], expected, "{table}");
}

/// More queries than the settings allow a client in a minute.
#[test]
fn eval_ignores_rate_limits_and_quotas() {
    let library = Library::new();
    let folder = write_collection(&library);
    let limits = "[limits]\nrequests_per_minute = 1\ncalls_per_tool_per_minute = 1\n\
                  [quotas]\nmax_items = 1\n";
    let file = library.write_file("s.toml", limits);
    let config = file.to_str().unwrap();
    assert_expected_metrics(
        &library.run(&["eval", "--json", "--config", config, &folder]).parse_json(),
    );
}

#[test]
fn eval_skips_and_counts_unknown_queries() {
    let library = Library::new();
    let folder = write_collection(&library);
    let judgements = fs::read(library.file_path("judged/qrels/test.tsv")).unwrap();
    fs::remove_file(library.file_path("judged/qrels/test.tsv")).unwrap();
    let more = b"q8\t1\t1\nq9\t1\t1\nq9\t2\t0\n";
    library.write_file("judged/qrels/dev.tsv", [&judgements, &more[..]].concat());
    let report = library.run(&["eval", "--json", &folder]).parse_json();
    assert_expected_metrics(&report);
    let collection = &report["collection"];
    assert_eq!((&collection["unknown_queries"], &collection["split"]), (&json!(2), &json!("dev")));
    assert_eq!(collection["skipped_judgements"], 3);
    let output = library.run(&["eval", &folder]).stdout;
    assert!(output.contains("; 4 queries of dev.tsv\n"), "{output}");
    let skipped = "skipped 3 judgements of 2 queries that are not in queries.jsonl\n";
    assert!(output.contains(skipped), "{output}");
}

#[test]
fn eval_measures_collections_separately_with_mean() {
    let library = Library::new();
    let folder = write_collection(&library);
    let other = write_files(&library, "judged2", SMALL_COLLECTION);
    let report = library.run(&["eval", "--json", &folder, &other]).parse_json();
    assert_expected_metrics(&report["collections"]["judged"]);
    assert_eq!(report["collections"]["judged2"]["ndcg_at_10"], 1.0, "{report}");
    assert_eq!(report["mean"], json!({ "ndcg_at_10": 0.875, "plain": 0.875 }));
    let output = library.run(&["eval", &folder, &other]);
    assert!(output.stdout.contains("15 documents, 0 imported, 15 already present"), "{output:?}");
    let mean = output.stdout.lines().last().unwrap();
    let mean: Vec<&str> = mean.split_whitespace().collect();
    assert_eq!(mean, ["mean", "0.8750", "-", "-", "-", "0.8750"], "{output:?}");
}

#[test]
fn eval_refuses_folders_of_the_same_name() {
    let library = Library::new();
    let one = write_files(&library, "a/beir", SMALL_COLLECTION);
    let other = write_files(&library, "b/beir", SMALL_COLLECTION);
    let done = library.run(&["eval", &one, &other]);
    assert!(done.code == 1 && done.stderr.contains("have the same name"), "{done:?}");
}

/// The language is that of the query, else that of the folder.
#[test]
fn eval_reports_each_language_with_mean() {
    let library = Library::new();
    let mixed = [
        "{\"_id\": 1, \"text\": \"Rye bread.\"}\n{\"_id\": 2, \"text\": \"Roggen.\"}",
        "{\"_id\": 1, \"text\": \"rye\", \"lang\": \"en\"}\n\
         {\"_id\": 2, \"text\": \"zebra\", \"language\": \"de\"}",
        "1\t1\t1\n2\t2\t1\n",
    ];
    let mixed = write_files(&library, "mixed-fr", mixed);
    let report = library.run(&["eval", "--json", &mixed]).parse_json();
    let languages = report["languages"].as_object().unwrap();
    assert_eq!(languages.keys().collect::<Vec<_>>(), ["de", "en"]);
    assert_eq!(
        (&languages["de"]["ndcg_at_10"], &languages["en"]["empty"]),
        (&json!(0.0), &json!(0))
    );
    assert_eq!(report["language_mean"], json!({ "ndcg_at_10": 0.5, "plain": 0.5 }));

    let named = write_files(&library, "small-de", SMALL_COLLECTION);
    let report = library.run(&["eval", "--json", &named, &mixed]).parse_json();
    assert_eq!(report["languages"]["de"]["queries"], 2, "{report}");
    assert_eq!(report["languages"]["de"]["ndcg_at_10"], 0.5, "{report}");
    assert_eq!(report["language_mean"], json!({ "ndcg_at_10": 0.75, "plain": 0.75 }));
    let output = library.run(&["eval", &named, &mixed]).stdout;
    let (_, table) = output.rsplit_once("== nDCG@10 per language\n").unwrap();
    let rows: Vec<_> = table.lines().map(|row| row.split_whitespace().take(2)).collect();
    let rows: Vec<_> = rows.into_iter().map(Iterator::collect::<Vec<_>>).collect();
    assert_eq!(rows[1..], [["de", "0.5000"], ["en", "1.0000"], ["mean", "0.7500"]], "{output}");
}

#[test]
fn eval_compares_with_earlier_report() {
    let library = Library::new();
    let folder = write_collection(&library);
    let report = library.run(&["eval", "--json", &folder]).stdout;
    // As if the earlier run had found nothing for the first question.
    let mut earlier: Value = serde_json::from_str(&report).unwrap();
    for metric in METRICS {
        earlier["per_query"]["q1"][metric] = 0.0.into();
    }
    let file = library.write_file("before.json", earlier.to_string());
    let file = file.to_str().unwrap();
    let run = library.run(&["eval", "--json", "--compare", file, &folder]).parse_json();
    for metric in METRICS {
        let difference = &run["comparison"][metric];
        assert_eq!(difference["mean"], 0.25, "{run}");
        assert_eq!(difference["interval"], json!({ "low": 0.0, "high": 0.75 }), "{run}");
        assert_eq!(run["comparison"]["plain"][metric]["mean"], 0.0, "{run}");
    }
    let output = library.run(&["eval", "--compare", file, &folder]).stdout;
    let row = "vademecum   +0.2500 (+0.0000 to +0.7500)  +0.2500 (+0.0000 to +0.7500)";
    assert!(output.contains(row), "{output}");
}

#[test]
fn eval_compares_only_the_same_collections() {
    let library = Library::new();
    let folder = write_files(&library, "one", SMALL_COLLECTION);
    let other = write_files(&library, "two", SMALL_COLLECTION);
    let [file, nonsense, missing] = ["before.json", "note.json", "no.json"]
        .map(|name| library.file_path(name).to_str().unwrap().to_owned());
    fs::write(&file, library.run(&["eval", "--json", &folder]).stdout).unwrap();
    fs::write(&nonsense, "{}").unwrap();
    let refused = |arguments: &[&str]| {
        let done = library.run(&[&["eval", "--compare"], arguments].concat());
        assert!(done.code == 1 && done.stdout.is_empty(), "{done:?}");
        done.stderr
    };
    let error = refused(&[&file, &folder, &other]);
    assert!(
        error.contains("before.json: the earlier run measured `one`, not `one`, `two`"),
        "{error}"
    );
    assert!(refused(&[&nonsense, &folder]).contains("is not a report of `vademecum eval --json`"));
    assert!(refused(&[&missing, &folder]).contains("no.json: "));
    library.write_file("one/qrels/test.tsv", "q\t1\t2\n");
    let error = refused(&[&file, &folder]);
    assert!(error.contains("`one` with other documents, queries or judgements"), "{error}");
}

/// The documents of a conversation are its messages. A vector finds a passage of several messages,
/// which counts as the first of them.
#[test]
fn eval_stores_messages_as_conversations() {
    let message = |id: &str, text: &str, turn: u8| {
        let metadata = json!({ "conversation": "c1", "sender": "Ada", "turn": turn });
        json!({ "_id": id, "text": text, "metadata": metadata }).to_string() + "\n"
    };
    let overnight = format!("It rests overnight in the cold. {}", "Cold, cold. ".repeat(90));
    let corpus = [
        message("#2 a", &overnight, 2),
        message("1", "How long should the sourdough rest?", 1),
        message("3", "And which oven temperature is best?", 3),
        json!({ "_id": "4", "text": "The keeper polished the prisms." }).to_string(),
    ];
    let queries = "{\"_id\": \"a\", \"text\": \"overnight cold\"}\n\
                   {\"_id\": \"b\", \"text\": \"sourdough\"}\n\
                   {\"_id\": \"c\", \"text\": \"oven temperature\"}\n\
                   {\"_id\": \"d\", \"text\": \"polished prisms\"}\n";
    let judgements = "a\t#2 a\t1\nb\t1\t1\nc\t3\t1\nd\t4\t1\n";
    let library = Library::new();
    let folder = write_files(&library, "chats", [&corpus.concat(), queries, judgements]);
    let file = library.write_file("s.toml", STUB_EMBEDDINGS);
    let arguments = ["eval", "--json", "--config", file.to_str().unwrap(), &folder];
    let one = json!(1.0);
    for _ in 0..2 {
        let report = library.run(&arguments).parse_json();
        assert_eq!((&report["ndcg_at_10"], &report["hybrid"]["ndcg_at_10"]), (&one, &one));
        assert_eq!(report["per_query"]["a"]["vector"]["ndcg_at_10"], 1.0, "{report}");
    }
    let chats = library.run(&["search", "--json", "--source", "chats", "sourdough"]).parse_json();
    let uri = chats["results"][0]["uri"].as_str().unwrap();
    let chat = library.run(&["get", "--json", uri]).parse_json();
    let messages = chat["content"]["messages"].as_array().unwrap();
    let texts: Vec<&str> =
        messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
    let starts = ["How long", "It rests", "And which"];
    assert!(texts.iter().zip(starts).all(|(text, start)| text.starts_with(start)), "{chat}");
    assert!(texts.len() == 3 && messages[0]["sender"] == "Ada", "{chat}");
    let again = library.run(&["eval", &folder]).stdout;
    assert!(again.starts_with("4 documents, 0 imported, 4 already present; 4 queries"), "{again}");
}

/// Questions about conversations, in the forms of their authors.
#[test]
fn eval_reads_questions_about_conversations_as_delivered() {
    let library = Library::new();
    let turn = |text: &str| json!({ "speaker": "Ada", "text": text });
    let locomo = json!([{
        "conversation": {
            "session_1": [turn("The rye dough rises.")], "session_1_date_time": "1 May, 2023",
            "session_2": [turn("The keeper polished the prisms.")],
            "session_3": [turn("Bees dance for nectar.")],
        },
        "qa": [
            { "question": "What do bees dance for?", "category": 4, "evidence": ["D3:1"] },
            { "question": "Who polished the dough?", "category": 1, "evidence": ["D1:1; D2:1"] },
            { "question": "Where is the zebra?", "category": 5, "evidence": ["D1:1"] },
            { "question": "What is unknown?", "category": 3, "evidence": [] },
        ],
    }]);
    let file = library.write_file("locomo10.json", locomo.to_string());
    let path = file.to_str().unwrap();
    let report = library.run(&["eval", "--json", path]).parse_json();
    assert_eq!((&report["histories"], &report["unanswerable"]), (&json!(1), &json!(1)));
    for (category, hits) in [("single-hop", 1.0), ("multi-hop", 1.0), ("adversarial", 0.0)] {
        let figures = &report["categories"][category];
        for metric in ["hit_at_1", "hit_at_5", "hit_at_10", "evidence_recall_at_10", "mrr"] {
            assert_eq!(figures[metric], hits, "{category} {metric}: {report}");
            assert_eq!(figures["plain"][metric], hits, "{category} {metric}: {report}");
        }
    }
    assert_eq!(report["categories"]["all without adversarial"]["questions"], 2);
    let longmemeval = json!([{
        "question_id": "q1", "question_type": "multi-session", "question": "When did dough rise?",
        "haystack_session_ids": ["s1", "s2"], "answer_session_ids": ["s2"],
        "haystack_sessions": [
            [{ "role": "user", "content": "Bees dance." }],
            [{ "role": "user", "content": "The dough did rise at noon.", "has_answer": true }],
        ],
    }]);
    let other = library.write_file("longmemeval_s.json", longmemeval.to_string());
    let both = library.run(&["eval", path, other.to_str().unwrap()]);
    assert_eq!(both.code, 0, "{both:?}");
    assert!(both.stdout.contains("longmemeval_s.json: 1 libraries, 1 questions"), "{both:?}");
    assert!(!library.data_folder().exists(), "nothing is left");
    for (file, text, problem) in [
        ("object.json", "{}", "expected an array"),
        ("other.json", "[{}]", "neither of LoCoMo nor of LongMemEval"),
    ] {
        let file = library.write_file(file, text);
        let done = library.run(&["eval", file.to_str().unwrap()]);
        assert!(done.code == 1 && done.stderr.contains(problem), "{done:?}");
    }
}
