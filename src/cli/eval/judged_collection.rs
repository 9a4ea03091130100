//! A judged collection: documents, queries and relevance judgements.
//!
//! The format is that of BEIR (<https://github.com/beir-cellar/beir>): `corpus.jsonl`,
//! `queries.jsonl` and `qrels/test.tsv`. Judgements in the four-column format of TREC are accepted
//! too.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, de::DeserializeOwned};

use super::metrics::RelevanceGrades;

/// A judged collection.
#[derive(Debug)]
pub(super) struct JudgedCollection {
    pub(super) documents: Vec<CorpusDocument>,
    /// Queries with at least one relevant document. Others are left out, because they measure
    /// nothing.
    pub(super) queries: Vec<JudgedQuery>,
    /// Number of relevant documents that are not in the corpus. They count as not found, as in
    /// `trec_eval`.
    pub(super) missing: usize,
}

/// A document of the corpus.
#[derive(Debug, Deserialize)]
pub(super) struct CorpusDocument {
    #[serde(rename = "_id")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) title: String,
    pub(super) text: String,
}

/// A query and the grades of its relevant documents.
#[derive(Debug, Deserialize)]
pub(super) struct JudgedQuery {
    #[serde(rename = "_id")]
    pub(super) id: String,
    pub(super) text: String,
    #[serde(skip)]
    pub(super) grades: RelevanceGrades,
}

/// Relevance of one document to one query. The grade is an error if it is not an integer.
struct Judgement<'a> {
    question: &'a str,
    document: &'a str,
    grade: Result<u32>,
}

impl JudgedCollection {
    /// Reads a collection from its three files. Errors name the file and line.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut documents: Vec<CorpusDocument> = Vec::new();
        let mut known = HashSet::new();
        for_each_line(&folder.join("corpus.jsonl"), |line| {
            let document: CorpusDocument = parse_json_line(line)?;
            check_new_id(&mut known, &document.id)?;
            documents.push(document);
            Ok(())
        })?;
        let mut questions: Vec<JudgedQuery> = Vec::new();
        let mut asked = HashSet::new();
        for_each_line(&folder.join("queries.jsonl"), |line| {
            let question: JudgedQuery = parse_json_line(line)?;
            check_new_id(&mut asked, &question.id)?;
            ensure!(!question.text.trim().is_empty(), "the query `{}` is empty", question.id);
            questions.push(question);
            Ok(())
        })?;
        let judged = folder.join("qrels").join("test.tsv");
        read_judgements(&judged, &mut questions)?;
        questions.retain(|question| !question.grades.is_empty());
        ensure!(!questions.is_empty(), "{}: no query has a relevant document", judged.display());
        let relevant = questions.iter().flat_map(|question| question.grades.keys());
        let missing = relevant.filter(|id| !known.contains(*id)).count();
        Ok(Self { documents, queries: questions, missing })
    }
}

/// Reads the judgements into the grades of the queries.
fn read_judgements(path: &Path, questions: &mut [JudgedQuery]) -> Result<()> {
    let places: HashMap<String, usize> =
        questions.iter().map(|question| question.id.clone()).zip(0..).collect();
    let mut first = true;
    let mut judged = HashMap::new();
    for_each_line(path, |line| {
        let is_first = std::mem::take(&mut first);
        let Judgement { question, document, grade } = parse_judgement(line)?;
        let place = places.get(question);
        if is_first && place.is_none() && grade.is_err() {
            return Ok(()); // The names of the columns.
        }
        let grade = grade?;
        let asked = place.and_then(|place| questions.get_mut(*place));
        let asked = asked.with_context(|| format!("unknown query `{question}`"))?;
        let before = judged.insert((question.to_owned(), document.to_owned()), grade);
        if before.is_some_and(|before| before != grade) {
            bail!("`{document}` has conflicting grades for query `{question}`");
        }
        if grade > 0 {
            asked.grades.insert(document.to_owned(), grade);
        }
        Ok(())
    })
}

/// Parses `query document grade`, or `query iteration document grade` as in TREC. Negative grades,
/// which TREC gives to spam, become 0.
fn parse_judgement(line: &str) -> Result<Judgement<'_>> {
    let columns: Vec<&str> = if line.contains('\t') {
        line.split('\t').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    let ([question, document, grade] | [question, _, document, grade]) = *columns.as_slice() else {
        bail!("expected query, document and grade, found {} columns", columns.len());
    };
    let grade = match grade.parse::<i32>() {
        Ok(number) => Ok(u32::try_from(number).unwrap_or(0)),
        Err(_) => Err(anyhow::anyhow!("the grade `{grade}` is not an integer")),
    };
    Ok(Judgement { question, document, grade })
}

fn check_new_id(known: &mut HashSet<String>, id: &str) -> Result<()> {
    ensure!(!id.is_empty(), "`_id` is empty");
    ensure!(known.insert(id.to_owned()), "duplicate `_id` {id}");
    Ok(())
}

/// Parses a line of JSON. The error has the column only; the caller adds the line.
fn parse_json_line<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line).map_err(|error| {
        let reason = error.to_string();
        let what = reason.split(" at line ").next().unwrap_or(&reason);
        anyhow::anyhow!("{what} (column {})", error.column())
    })
}

/// Calls `take` with every line that is not blank. Errors get the path and line number.
fn for_each_line(path: &Path, mut take: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let unreadable = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(unreadable)?;
    for (number, line) in (1_usize..).zip(BufReader::new(file).split(b'\n')) {
        let line = line.with_context(unreadable)?;
        let taken = match std::str::from_utf8(&line) {
            Ok(text) => match text.trim_start_matches('\u{feff}').trim() {
                "" => Ok(()),
                text => take(text),
            },
            Err(_) => Err(anyhow::anyhow!("is not UTF-8 text")),
        };
        taken.with_context(|| format!("{}, line {number}", path.display()))?;
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
        JudgedCollection::read(folder.path()).map_err(|error| format!("{error:#}"))
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
            let [question] = collection.queries.as_slice() else { panic!("{collection:?}") };
            assert_eq!(question.id, "1", "a question without relevant documents is left out");
            assert_eq!(question.grades, RelevanceGrades::from([("a".to_owned(), 2)]), "{qrels}");
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
            (CORPUS, "{\"_id\": 1, \"text\": \"\"}", good, "queries.jsonl, line 1", "integer `1`"),
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
            (CORPUS, QUERIES, "1\ta\t1\n3\ta\t1\n", "test.tsv, line 2", "unknown query `3`"),
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
        let error = format!("{:#}", JudgedCollection::read(folder.path()).unwrap_err());
        assert!(error.contains("cannot read") && error.contains("corpus.jsonl"), "{error}");
    }
}
