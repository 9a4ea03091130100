//! Prompt lists: CSV with the columns `act` and `prompt`, and maybe more.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use csv::{ReaderBuilder, StringRecord};
use vademecum_kit::model::{Body, Draft, PromptDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    digest::digest,
    keywords::{between_commas, distinct},
};

/// Goes up when the same row makes another prompt than before.
const VERSION: &str = "prompts/1";

/// Reads prompts.
#[derive(Debug)]
pub(super) struct Prompts;

impl Importer for Prompts {
    fn source(&self) -> SourceName {
        SourceName::Prompts
    }

    fn format(&self) -> &'static str {
        "prompt lists with the columns act and prompt (.csv)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let is_table = glance.ends_in(&["csv"]);
        let mut rows = ReaderBuilder::new().from_reader(glance.opening().as_bytes());
        let says_so =
            rows.headers().is_ok_and(|header| Columns::find(glance.path(), header).is_ok());
        Fit::Content.when(is_table && says_so).max(Fit::Maybe.when(is_table))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let mut rows = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let header = rows.headers().map_err(|cause| csv_error(file, cause))?;
        let columns = Columns::find(&file.path, header)?;
        let mut names = Names::default();
        let mut reading = Reading::default();
        // The header is row 1, as a spreadsheet counts.
        for (number, row) in (2..).zip(rows.records()) {
            let prompt = row.map_err(|error| error.to_string()).and_then(|row| columns.read(&row));
            match prompt {
                Ok(prompt) => reading.drafts.extend(names.admit(prompt).map(|it| draft(file, it))),
                Err(reason) => {
                    reading.problems.push(Problem { place: format!("row {number}"), reason });
                }
            }
        }
        Ok(reading)
    }
}

fn draft(file: &SourceFile, mut prompt: PromptDraft) -> Draft {
    let texts = [&prompt.author, &prompt.details, &prompt.system_prompt, &prompt.user_prompt];
    let texts = texts.map(|text| text.as_deref().unwrap_or_default());
    let parts = [prompt.name.as_str()]
        .into_iter()
        .chain(texts)
        .chain(prompt.keywords.iter().map(String::as_str))
        .map(str::as_bytes);
    let digest = digest(VERSION, parts);
    prompt.modified_at = file.modified;
    let origin = format!("{}#{}", file.origin(), prompt.name);
    Draft { origin, digest, id: None, body: Body::Prompt(prompt) }
}

fn csv_error(file: &SourceFile, cause: csv::Error) -> ImportError {
    ImportError::Csv { path: file.path.clone(), cause }
}

/// Which column holds what.
#[derive(Debug)]
struct Columns {
    name: usize,
    user_prompt: Option<usize>,
    system_prompt: Option<usize>,
    author: Option<usize>,
    details: Option<usize>,
    keywords: Option<usize>,
}

impl Columns {
    fn find(path: &Path, header: &StringRecord) -> Result<Self, ImportError> {
        let titles: Vec<_> = header.iter().map(|title| title.trim().to_lowercase()).collect();
        let column = |names: &[&str]| {
            names.iter().find_map(|name| titles.iter().position(|title| title == name))
        };
        let missing = |needed| ImportError::Column {
            path: path.to_owned(),
            needed,
            found: titles.iter().map(|title| format!("`{title}`")).collect::<Vec<_>>().join(", "),
        };
        let user_prompt = column(&["prompt", "user_prompt"]);
        let system_prompt = column(&["system_prompt"]);
        if user_prompt.is_none() && system_prompt.is_none() {
            return Err(missing("`prompt` (or `user_prompt`, `system_prompt`)"));
        }
        Ok(Self {
            name: column(&["act", "name", "title"])
                .ok_or_else(|| missing("`act` (or `name`, `title`)"))?,
            user_prompt,
            system_prompt,
            author: column(&["contributor", "author"]),
            details: column(&["details", "description"]),
            keywords: column(&["tags", "keywords"]),
        })
    }

    fn read(&self, row: &StringRecord) -> Result<PromptDraft, String> {
        let text = |column: Option<usize>| {
            let text = row.get(column?)?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let prompt = PromptDraft {
            name: text(Some(self.name)).ok_or("the prompt has no name")?,
            author: text(self.author),
            details: text(self.details),
            system_prompt: text(self.system_prompt),
            user_prompt: text(self.user_prompt),
            keywords: distinct(between_commas(&text(self.keywords).unwrap_or_default())),
            modified_at: None,
        };
        if prompt.system_prompt.is_none() && prompt.user_prompt.is_none() {
            return Err(format!("the prompt `{}` has no text", prompt.name));
        }
        Ok(prompt)
    }
}

/// Gives each prompt of a file a name of its own.
#[derive(Debug, Default)]
struct Names {
    texts: HashSet<(String, Option<String>, Option<String>)>,
    taken: HashSet<String>,
    counts: HashMap<String, usize>,
}

impl Names {
    /// Passes a prompt on, unless it was there before; another one under the
    /// same name becomes ` (2)`.
    fn admit(&mut self, mut prompt: PromptDraft) -> Option<PromptDraft> {
        let PromptDraft { name, system_prompt, user_prompt, .. } = &prompt;
        if !self.texts.insert((name.clone(), system_prompt.clone(), user_prompt.clone())) {
            return None;
        }
        let name = name.clone();
        let count = self.counts.entry(name.clone()).or_insert(0);
        loop {
            *count += 1;
            prompt.name = if *count == 1 { name.clone() } else { format!("{name} ({count})") };
            if self.taken.insert(prompt.name.clone()) {
                return Some(prompt);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<PromptDraft>, Vec<Problem>), ImportError> {
        let reading = Prompts.read(&SourceFile::example("/list.csv", text))?;
        let prompts = reading.drafts.into_iter().map(|draft| match draft.body {
            Body::Prompt(prompt) => {
                assert_eq!(draft.origin, format!("file:/list.csv#{}", prompt.name));
                prompt
            }
            other => panic!("not a prompt: {other:?}"),
        });
        Ok((prompts.collect(), reading.problems))
    }

    #[test]
    fn a_list_is_read_with_quotes_and_line_breaks() {
        let text = "\u{feff}\"act\",\"prompt\"\r\n\"Terminal\",\"Act as a \"\"terminal\"\",\nplease.\"\r\n";
        let (prompts, problems) = read(text).unwrap();
        assert_eq!(prompts[0].name, "Terminal");
        assert_eq!(prompts[0].user_prompt.as_deref(), Some("Act as a \"terminal\",\nplease."));
        assert!(problems.is_empty());
    }

    #[test]
    fn further_columns_are_understood_or_passed_by() {
        let text = "Act,Prompt,for_devs,type,contributor,tags,description,system_prompt\n\
                    A,Say a,TRUE,TEXT,ada,\"x, y\",For a,Be kind\n";
        let prompt = read(text).unwrap().0.remove(0);
        assert_eq!(prompt.author.as_deref(), Some("ada"));
        assert_eq!(prompt.keywords, ["x", "y"]);
        assert_eq!(prompt.details.as_deref(), Some("For a"));
        assert_eq!(prompt.system_prompt.as_deref(), Some("Be kind"));
    }

    #[test]
    fn a_row_without_name_or_text_is_named_and_the_rest_goes_in() {
        let (prompts, problems) = read("act,prompt\n,text\nB,\nshort\nC,text\n").unwrap();
        assert_eq!(prompts.len(), 1);
        let places: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(places, ["row 2", "row 3", "row 4"]);
    }

    #[test]
    fn repetitions_are_dropped_and_namesakes_are_numbered() {
        let (prompts, problems) =
            read("act,prompt\nA,1\nA,1\nA (2),x\nA,2\nA,3\nA,2\nB,1\n").unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["A", "A (2)", "A (3)", "A (4)", "B"]);
        assert!(problems.is_empty());
    }

    #[test]
    fn a_missing_column_is_named_with_those_that_are_there() {
        let error = read("act,text\nA,b\n").unwrap_err().to_string();
        assert!(error.contains("no column `prompt`") && error.contains("`act`, `text`"), "{error}");
        let error = read("").unwrap_err().to_string();
        assert!(error.contains("no column"), "{error}");
    }
}
