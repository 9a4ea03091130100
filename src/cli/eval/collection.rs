//! A judged collection: documents, questions, and which answer which.
//!
//! The form is that of BEIR (<https://github.com/beir-cellar/beir>):
//! `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`. Judgements in the four
//! columns of TREC are read too.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, de::DeserializeOwned};

use super::measures::Grades;

/// A judged collection.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) documents: Vec<Document>,
    /// The questions that have a relevant document; others measure nothing.
    pub(super) questions: Vec<Question>,
    /// Relevant documents that are not in the corpus. They count as not found,
    /// as `trec_eval` counts them.
    pub(super) missing: usize,
}

/// Something that can be found.
#[derive(Debug, Deserialize)]
pub(super) struct Document {
    #[serde(rename = "_id")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) title: String,
    pub(super) text: String,
}

/// Something that is asked, and what answers it.
#[derive(Debug, Deserialize)]
pub(super) struct Question {
    #[serde(rename = "_id")]
    pub(super) id: String,
    pub(super) text: String,
    #[serde(skip)]
    pub(super) grades: Grades,
}

/// That one document answers one question so well, or not at all.
struct Judgement<'a> {
    question: &'a str,
    document: &'a str,
    grade: Result<u32>,
}

impl Collection {
    /// Reads the three files of a folder.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut documents: Vec<Document> = Vec::new();
        let mut known = HashSet::new();
        each_line(&folder.join("corpus.jsonl"), |line| {
            let document: Document = object(line)?;
            admit(&mut known, &document.id)?;
            documents.push(document);
            Ok(())
        })?;
        let mut questions: Vec<Question> = Vec::new();
        let mut asked = HashSet::new();
        each_line(&folder.join("queries.jsonl"), |line| {
            let question: Question = object(line)?;
            admit(&mut asked, &question.id)?;
            ensure!(!question.text.trim().is_empty(), "the question `{}` is empty", question.id);
            questions.push(question);
            Ok(())
        })?;
        let judged = folder.join("qrels").join("test.tsv");
        judge(&judged, &mut questions)?;
        questions.retain(|question| !question.grades.is_empty());
        ensure!(!questions.is_empty(), "{}: no question has a relevant document", judged.display());
        let relevant = questions.iter().flat_map(|question| question.grades.keys());
        let missing = relevant.filter(|id| !known.contains(*id)).count();
        Ok(Self { documents, questions, missing })
    }
}

/// Reads which documents are relevant to which questions.
fn judge(path: &Path, questions: &mut [Question]) -> Result<()> {
    let places: HashMap<String, usize> =
        questions.iter().map(|question| question.id.clone()).zip(0..).collect();
    let mut first = true;
    let mut judged = HashMap::new();
    each_line(path, |line| {
        let is_first = std::mem::take(&mut first);
        let Judgement { question, document, grade } = judgement(line)?;
        let place = places.get(question);
        if is_first && place.is_none() && grade.is_err() {
            return Ok(()); // The names of the columns.
        }
        let grade = grade?;
        let asked = place.and_then(|place| questions.get_mut(*place));
        let asked = asked.with_context(|| format!("there is no question `{question}`"))?;
        let before = judged.insert((question.to_owned(), document.to_owned()), grade);
        if before.is_some_and(|before| before != grade) {
            bail!("`{document}` has another grade for question `{question}` already");
        }
        if grade > 0 {
            asked.grades.insert(document.to_owned(), grade);
        }
        Ok(())
    })
}

/// Reads `question document grade`, or `question iteration document grade` as
/// TREC writes it. Grades below 0, as TREC gives to spam, are 0.
fn judgement(line: &str) -> Result<Judgement<'_>> {
    let columns: Vec<&str> = if line.contains('\t') {
        line.split('\t').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    let ([question, document, grade] | [question, _, document, grade]) = *columns.as_slice() else {
        bail!("expected question, document and grade, found {} columns", columns.len());
    };
    let grade = match grade.parse::<i32>() {
        Ok(number) => Ok(u32::try_from(number).unwrap_or(0)),
        Err(_) => Err(anyhow::anyhow!("the grade `{grade}` is not a whole number")),
    };
    Ok(Judgement { question, document, grade })
}

fn admit(known: &mut HashSet<String>, id: &str) -> Result<()> {
    ensure!(!id.is_empty(), "`_id` is empty");
    ensure!(known.insert(id.to_owned()), "`_id` {id} was there before");
    Ok(())
}

/// Reads a line of JSON. The line is named by whoever asks, so it is left out
/// of the reason.
fn object<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line).map_err(|error| {
        let reason = error.to_string();
        let what = reason.split(" at line ").next().unwrap_or(&reason);
        anyhow::anyhow!("{what} (column {})", error.column())
    })
}

/// Hands every line that is not blank to `take`; what is wrong with one gets
/// its file and number.
fn each_line(path: &Path, mut take: impl FnMut(&str) -> Result<()>) -> Result<()> {
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

    fn read(corpus: &str, queries: &str, qrels: &str) -> Result<Collection, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("qrels")).unwrap();
        fs::write(folder.path().join("corpus.jsonl"), corpus).unwrap();
        fs::write(folder.path().join("queries.jsonl"), queries).unwrap();
        fs::write(folder.path().join("qrels/test.tsv"), qrels).unwrap();
        Collection::read(folder.path()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn judgements_are_read_with_and_without_header_and_as_trec_writes_them() {
        for qrels in [
            "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tb\t-1\n",
            "1\ta\t2\r\n1\tb\t0\r\n",
            "1 0 a 2\n1 0 b 0\n",
            "1\t0\ta\t2\n",
        ] {
            let collection = read(CORPUS, QUERIES, qrels).unwrap();
            let [question] = collection.questions.as_slice() else { panic!("{collection:?}") };
            assert_eq!(question.id, "1", "a question without relevant documents is left out");
            assert_eq!(question.grades, Grades::from([("a".to_owned(), 2)]), "{qrels}");
            assert_eq!((collection.documents.len(), collection.missing), (2, 0));
        }
    }

    #[test]
    fn a_relevant_document_that_is_not_there_is_counted() {
        let collection = read(CORPUS, QUERIES, "1\ta\t1\n1\tgone\t1\n2\tlost\t0\n").unwrap();
        assert_eq!((collection.missing, collection.questions[0].grades.len()), (1, 2));
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
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
                "`_id` a was there before",
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
            (CORPUS, QUERIES, "1\ta\t1\n3\ta\t1\n", "test.tsv, line 2", "no question `3`"),
            (CORPUS, QUERIES, "1\ta\t1\n1\ta\t2\n", "test.tsv, line 2", "another grade"),
            (CORPUS, QUERIES, "1\ta\t0\n", "test.tsv", "no question has a relevant document"),
        ] {
            let error = read(corpus, queries, qrels).unwrap_err();
            assert!(error.contains(&format!("{file}: ")) && error.contains(reason), "{error}");
            assert!(!error.contains("at line"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = format!("{:#}", Collection::read(folder.path()).unwrap_err());
        assert!(error.contains("cannot read") && error.contains("corpus.jsonl"), "{error}");
    }
}
