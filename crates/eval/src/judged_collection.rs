//! A judged collection: documents, queries and relevance judgements.
//!
//! The format is that of BEIR (<https://github.com/beir-cellar/beir>): `corpus.jsonl`,
//! `queries.jsonl` and `qrels/test.tsv`, or `dev.tsv` or `train.tsv` if there is no `test.tsv`.
//! Judgements in the four-column format of TREC are accepted too.
//!
//! Two additions to the format: a query may have a language (`lang` or `language`), and the
//! metadata of a document may make it a message of a conversation ([`MessagePlace`]).

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::metrics::RelevanceGrades;

/// Names of the files of judgements, without their ending. The first that exists is read.
const SPLITS: [&str; 3] = ["test", "dev", "train"];

/// A corpus, and queries whose relevant documents are known.
#[derive(Debug)]
pub struct JudgedCollection {
    /// All documents, in the order of the corpus.
    pub documents: Vec<CorpusDocument>,
    /// Queries with at least one relevant document. Others are left out, because they measure
    /// nothing.
    pub queries: Vec<JudgedQuery>,
    /// Number of relevant documents that are not in the corpus. They count as not found, as in
    /// `trec_eval`.
    pub missing: usize,
    /// Name of the file of judgements, without its ending: `test`, `dev` or `train`.
    pub split: &'static str,
    /// Number of judged queries that are not in `queries.jsonl`. They are left out.
    pub unknown_queries: usize,
    /// Number of judgements of these queries.
    pub skipped_judgements: usize,
}

/// A document of the corpus.
#[derive(Debug, Deserialize)]
pub struct CorpusDocument {
    /// Unique identifier, not empty. The file may have a number instead of text.
    #[serde(rename = "_id", deserialize_with = "text_or_number")]
    pub id: String,
    /// Title; may be empty.
    #[serde(default, deserialize_with = "text_or_null")]
    pub title: String,
    /// Text; may be empty.
    pub text: String,
    /// Place of the document in a conversation, if it is a message.
    #[serde(default, rename = "metadata", deserialize_with = "message_place")]
    pub message: Option<MessagePlace>,
}

/// Place of a document in a conversation. Its metadata has `conversation` and `sender`.
#[derive(Clone, Debug, PartialEq)]
pub struct MessagePlace {
    /// Name of the conversation.
    pub conversation: String,
    /// Author of the message.
    pub sender: String,
    /// Position in the conversation (`turn`). Messages without one follow in corpus order.
    pub turn: Option<f64>,
}

/// A query and the grades of its relevant documents.
#[derive(Debug, Deserialize)]
pub struct JudgedQuery {
    /// Unique identifier, not empty. The file may have a number instead of text.
    #[serde(rename = "_id", deserialize_with = "text_or_number")]
    pub id: String,
    /// The words of the query.
    pub text: String,
    #[serde(default)]
    lang: Option<String>,
    #[serde(default)]
    language: Option<String>,
    /// Relevant documents.
    #[serde(skip)]
    pub grades: RelevanceGrades,
}

impl JudgedQuery {
    /// Returns the language of the query, if the collection tells it.
    pub fn language(&self) -> Option<&str> {
        let language = self.lang.as_deref().or(self.language.as_deref());
        language.map(str::trim).filter(|language| !language.is_empty())
    }
}

/// Description of a measured collection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CollectionSummary {
    /// Name of its folder.
    pub name: String,
    /// Digest of its documents, queries and judgements.
    pub fingerprint: String,
    /// Number of documents.
    pub documents: usize,
    /// Name of the file of judgements, without its ending.
    pub split: String,
    /// Number of relevant documents that are not in the corpus.
    pub missing_documents: usize,
    /// Number of judged queries that are not in `queries.jsonl`; they are left out.
    pub unknown_queries: usize,
    /// Number of judgements of these queries.
    pub skipped_judgements: usize,
}

/// Error of reading a judged collection.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}, line {number}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        number: usize,
        /// The cause.
        source: LineError,
    },
    /// No query has a relevant document, so there is nothing to measure.
    #[error("{}: no query has a relevant document", .0.display())]
    NoRelevantDocuments(PathBuf),
}

/// Error in a line of a judged collection.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line is not UTF-8.
    #[error("is not UTF-8 text")]
    Encoding,
    /// The line is not a JSON object with the required fields.
    #[error("{message} (column {column})")]
    Json {
        /// Message of the parser, without the position.
        message: String,
        /// Column of the error, from 1.
        column: usize,
    },
    /// The identifier is empty.
    #[error("`_id` is empty")]
    EmptyId,
    /// Another line has the same identifier.
    #[error("duplicate `_id` {0}")]
    DuplicateId(String),
    /// The query has no text.
    #[error("the query `{0}` is empty")]
    EmptyQuery(String),
    /// The judgement has too few or too many columns.
    #[error("expected query, document and grade, found {0} columns")]
    Columns(usize),
    /// The grade is not an integer.
    #[error("the grade `{0}` is not an integer")]
    Grade(String),
    /// Two judgements of the same pair differ.
    #[error("`{document}` has conflicting grades for query `{query}`")]
    ConflictingGrades {
        /// Identifier of the query.
        query: String,
        /// Identifier of the document.
        document: String,
    },
}

/// Relevance of one document to one query. The grade is an error if it is not an integer.
struct Judgement<'a> {
    query: &'a str,
    document: &'a str,
    grade: Result<u32, LineError>,
}

impl JudgedCollection {
    /// Reads a collection from its three files. Errors name the file and line.
    pub fn read(folder: &Path) -> Result<Self, CollectionError> {
        let mut documents: Vec<CorpusDocument> = Vec::new();
        let mut known = HashSet::new();
        for_each_line(&folder.join("corpus.jsonl"), |line| {
            let document: CorpusDocument = parse_json_line(line)?;
            check_new_id(&mut known, &document.id)?;
            documents.push(document);
            Ok(())
        })?;
        let mut queries: Vec<JudgedQuery> = Vec::new();
        let mut known_queries = HashSet::new();
        for_each_line(&folder.join("queries.jsonl"), |line| {
            let query: JudgedQuery = parse_json_line(line)?;
            check_new_id(&mut known_queries, &query.id)?;
            if query.text.trim().is_empty() {
                return Err(LineError::EmptyQuery(query.id));
            }
            queries.push(query);
            Ok(())
        })?;
        let (split, judgements) = find_judgements(folder);
        let skipped = read_judgements(&judgements, &mut queries)?;
        queries.retain(|query| !query.grades.is_empty());
        if queries.is_empty() {
            return Err(CollectionError::NoRelevantDocuments(judgements));
        }
        let relevant = queries.iter().flat_map(|query| query.grades.keys());
        let missing = relevant.filter(|id| !known.contains(*id)).count();
        Ok(Self {
            documents,
            queries,
            missing,
            split,
            unknown_queries: skipped.len(),
            skipped_judgements: skipped.values().sum(),
        })
    }
}

/// Returns the first file of judgements that exists, with its name, or the usual one.
fn find_judgements(folder: &Path) -> (&'static str, PathBuf) {
    let path = |split: &str| folder.join("qrels").join(format!("{split}.tsv"));
    let found = SPLITS.into_iter().find(|split| path(split).exists());
    let split = found.unwrap_or(SPLITS[0]);
    (split, path(split))
}

/// Reads the judgements into the grades of the queries. Returns the number of judgements of each
/// unknown query.
fn read_judgements(
    path: &Path,
    queries: &mut [JudgedQuery],
) -> Result<HashMap<String, usize>, CollectionError> {
    let positions: HashMap<String, usize> =
        queries.iter().map(|query| query.id.clone()).zip(0..).collect();
    let mut first = true;
    let mut judged = HashMap::new();
    let mut skipped = HashMap::new();
    for_each_line(path, |line| {
        let is_first = std::mem::take(&mut first);
        let Judgement { query: id, document, grade } = parse_judgement(line)?;
        let position = positions.get(id);
        if is_first && position.is_none() && grade.is_err() {
            return Ok(()); // The names of the columns.
        }
        let grade = grade?;
        let Some(query) = position.and_then(|position| queries.get_mut(*position)) else {
            *skipped.entry(id.to_owned()).or_default() += 1;
            return Ok(());
        };
        let before = judged.insert((id.to_owned(), document.to_owned()), grade);
        if before.is_some_and(|before| before != grade) {
            return Err(LineError::ConflictingGrades {
                query: id.to_owned(),
                document: document.to_owned(),
            });
        }
        if grade > 0 {
            query.grades.insert(document.to_owned(), grade);
        }
        Ok(())
    })?;
    Ok(skipped)
}

/// Parses `query document grade`, or `query iteration document grade` as in TREC. Negative grades,
/// which TREC gives to spam, become 0.
fn parse_judgement(line: &str) -> Result<Judgement<'_>, LineError> {
    let columns: Vec<&str> = if line.contains('\t') {
        line.split('\t').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    let ([query, document, grade] | [query, _, document, grade]) = *columns.as_slice() else {
        return Err(LineError::Columns(columns.len()));
    };
    let grade = match grade.parse::<i32>() {
        Ok(number) => Ok(u32::try_from(number).unwrap_or(0)),
        Err(_) => Err(LineError::Grade(grade.to_owned())),
    };
    Ok(Judgement { query, document, grade })
}

fn check_new_id(known: &mut HashSet<String>, id: &str) -> Result<(), LineError> {
    if id.is_empty() {
        return Err(LineError::EmptyId);
    }
    if !known.insert(id.to_owned()) {
        return Err(LineError::DuplicateId(id.to_owned()));
    }
    Ok(())
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(serde::de::Error::custom("expected text or a number"))
        }
    }
}

fn text_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads the place of a message from metadata, which may be any JSON.
fn message_place<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<MessagePlace>, D::Error> {
    let metadata = Value::deserialize(deserializer)?;
    let field = |name: &str| {
        let text = text_or_number(metadata.get(name)?).ok();
        text.filter(|text| !text.trim().is_empty())
    };
    let place = |conversation, sender| MessagePlace {
        conversation,
        sender,
        turn: metadata["turn"].as_f64(),
    };
    Ok(field("conversation").zip(field("sender")).map(|(name, sender)| place(name, sender)))
}

/// Parses a line of JSON. The error has the column only; the caller adds the line.
fn parse_json_line<T: DeserializeOwned>(line: &str) -> Result<T, LineError> {
    serde_json::from_str(line).map_err(|error| {
        let reason = error.to_string();
        let message = reason.split(" at line ").next().unwrap_or(&reason).to_owned();
        LineError::Json { message, column: error.column() }
    })
}

/// Calls `take` with every line that is not blank. Errors get the path and line number.
fn for_each_line(
    path: &Path,
    mut take: impl FnMut(&str) -> Result<(), LineError>,
) -> Result<(), CollectionError> {
    let unreadable = |source| CollectionError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    for (number, line) in (1_usize..).zip(BufReader::new(file).split(b'\n')) {
        let line = line.map_err(unreadable)?;
        let taken = match std::str::from_utf8(&line) {
            Ok(text) => match text.trim_start_matches('\u{feff}').trim() {
                "" => Ok(()),
                text => take(text),
            },
            Err(_) => Err(LineError::Encoding),
        };
        taken.map_err(|source| CollectionError::Line { path: path.to_owned(), number, source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CORPUS: &str = "{\"_id\": \"a\", \"title\": \"A\", \"text\": \"x\", \"metadata\": {}}\n\
                          \n{\"_id\": \"b\", \"text\": \"\"}\n";
    const QUERIES: &str = "{\"_id\": \"1\", \"text\": \"x?\"}\n{\"_id\": \"2\", \"text\": \"y?\"}";

    /// Returns an error and its causes, separated by `: `.
    fn with_causes(error: &dyn std::error::Error) -> String {
        let causes = std::iter::successors(Some(error), |error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }

    fn read_collection(
        corpus: &str,
        queries: &str,
        qrels: &str,
    ) -> Result<JudgedCollection, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("qrels")).unwrap();
        fs::write(folder.path().join("corpus.jsonl"), corpus).unwrap();
        fs::write(folder.path().join("queries.jsonl"), queries).unwrap();
        fs::write(folder.path().join("qrels/test.tsv"), qrels).unwrap();
        JudgedCollection::read(folder.path()).map_err(|error| with_causes(&error))
    }

    #[test]
    fn judgements_are_read_in_all_formats() {
        for qrels in [
            "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tb\t-1\n",
            "1\ta\t2\r\n1\tb\t0\r\n",
            "1 0 a 2\n1 0 b 0\n",
            "1\t0\ta\t2\n",
        ] {
            let collection = read_collection(CORPUS, QUERIES, qrels).unwrap();
            let [query] = collection.queries.as_slice() else { panic!("{collection:?}") };
            assert_eq!(query.id, "1", "a query without relevant documents is left out");
            assert_eq!(query.grades, RelevanceGrades::from([("a".to_owned(), 2)]), "{qrels}");
            assert_eq!((collection.documents.len(), collection.missing), (2, 0));
        }
    }

    #[test]
    fn missing_relevant_document_is_counted() {
        let collection =
            read_collection(CORPUS, QUERIES, "1\ta\t1\n1\tgone\t1\n2\tlost\t0\n").unwrap();
        assert_eq!((collection.missing, collection.queries[0].grades.len()), (1, 2));
    }

    #[test]
    fn unknown_queries_are_skipped_and_counted() {
        let qrels = "query-id\tcorpus-id\tscore\n8\ta\t1\n1\ta\t1\n9\ta\t1\n9\tb\t0\n";
        let collection = read_collection(CORPUS, QUERIES, qrels).unwrap();
        assert_eq!((collection.unknown_queries, collection.skipped_judgements), (2, 3));
        assert_eq!((collection.queries.len(), collection.missing), (1, 0));
    }

    #[test]
    fn identifiers_may_be_numbers() {
        let corpus = "{\"_id\": 7, \"title\": null, \"text\": \"x\", \"metadata\": null}";
        let queries = "{\"_id\": 1, \"text\": \"x?\", \"lang\": null, \"language\": \"de\"}";
        let collection = read_collection(corpus, queries, "1\t7\t1\n").unwrap();
        assert_eq!((collection.documents[0].id.as_str(), collection.missing), ("7", 0));
        assert_eq!(collection.queries[0].language(), Some("de"));
    }

    #[test]
    fn judgements_fall_back_to_dev_and_train() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("qrels")).unwrap();
        for split in ["train", "dev", "test"] {
            fs::write(folder.path().join(format!("qrels/{split}.tsv")), "").unwrap();
            assert_eq!(find_judgements(folder.path()).0, split);
        }
        assert_eq!(find_judgements(Path::new("/nowhere")).0, "test");
    }

    #[test]
    fn message_place_needs_conversation_and_sender() {
        let read = |metadata: &str| {
            let line = format!("{{\"_id\": \"a\", \"text\": \"\", \"metadata\": {metadata}}}");
            parse_json_line::<CorpusDocument>(&line).unwrap().message
        };
        let place =
            |turn| MessagePlace { conversation: "7".to_owned(), sender: "Ada".to_owned(), turn };
        let complete = r#"{"conversation": 7, "sender": "Ada", "turn": 2, "more": []}"#;
        assert_eq!(read(complete), Some(place(Some(2.0))));
        assert_eq!(read(r#"{"conversation": "7", "sender": "Ada"}"#), Some(place(None)));
        for other in ["null", "[1]", "\"text\"", "{}", r#"{"conversation": "7", "sender": " "}"#] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn errors_name_file_and_line() {
        let good = "1\ta\t1\n";
        for (corpus, queries, qrels, file, reason) in [
            ("{\"_id\": \"a\"}", QUERIES, good, "corpus.jsonl, line 1", "missing field `text`"),
            ("{\"text\": \"a\"}", QUERIES, good, "corpus.jsonl, line 1", "missing field `_id`"),
            ("\n{", QUERIES, good, "corpus.jsonl, line 2", "EOF while parsing an object"),
            (
                "{\"_id\": \"a\", \"text\": \"\"}\n{\"_id\": \"a\", \"text\": \"\"}",
                QUERIES,
                good,
                "corpus.jsonl, line 2",
                "duplicate `_id` a",
            ),
            (CORPUS, "{\"_id\": [], \"text\": \"\"}", good, "queries.jsonl, line 1", "or a number"),
            (
                CORPUS,
                "{\"_id\": \"1\", \"text\": \" \"}",
                good,
                "queries.jsonl, line 1",
                "is empty",
            ),
            (CORPUS, QUERIES, "1\ta\t1\n1\tb\n", "test.tsv, line 2", "found 2 columns"),
            (CORPUS, QUERIES, "1\ta\tgood\n", "test.tsv, line 1", "the grade `good` is not"),
            (CORPUS, QUERIES, "1\ta\t1\nx\ty\tz\n", "test.tsv, line 2", "the grade `z` is not"),
            (CORPUS, QUERIES, "3\ta\t1\n", "test.tsv", "no query has a relevant document"),
            (CORPUS, QUERIES, "1\ta\t1\n1\ta\t2\n", "test.tsv, line 2", "conflicting grades"),
            (CORPUS, QUERIES, "1\ta\t0\n", "test.tsv", "no query has a relevant document"),
        ] {
            let error = read_collection(corpus, queries, qrels).unwrap_err();
            assert!(error.contains(&format!("{file}: ")) && error.contains(reason), "{error}");
            assert!(!error.contains("at line"), "{error}");
        }
    }

    #[test]
    fn missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = with_causes(&JudgedCollection::read(folder.path()).unwrap_err());
        assert!(error.contains("cannot read") && error.contains("corpus.jsonl"), "{error}");
    }
}
