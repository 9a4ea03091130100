//! Prompt lists: CSV with the columns `act` and `prompt`, and maybe more.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord};
use vademecum_kit::model::{PromptDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile,
    keywords::{between_commas, distinct},
    prompt_list::{AUTHOR, DETAILS, KEYWORDS, NAME, PromptList, SYSTEM_PROMPT, USER_PROMPT},
};

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
        let mut prompts = PromptList::new(file);
        // The header is row 1, as a spreadsheet counts.
        for (number, row) in (2..).zip(rows.records()) {
            let prompt = row.map(|row| columns.read(&row)).map_err(|error| error.to_string());
            prompts.add(&format!("row {number}"), prompt);
        }
        Ok(prompts.finish())
    }
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
        let user_prompt = column(&USER_PROMPT);
        let system_prompt = column(&SYSTEM_PROMPT);
        if user_prompt.is_none() && system_prompt.is_none() {
            return Err(missing("`prompt` (or `user_prompt`, `system_prompt`)"));
        }
        Ok(Self {
            name: column(&NAME).ok_or_else(|| missing("`act` (or `name`, `title`)"))?,
            user_prompt,
            system_prompt,
            author: column(&AUTHOR),
            details: column(&DETAILS),
            keywords: column(&KEYWORDS),
        })
    }

    fn read(&self, row: &StringRecord) -> PromptDraft {
        let text = |column: Option<usize>| {
            let text = row.get(column?)?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        PromptDraft {
            name: text(Some(self.name)).unwrap_or_default(),
            author: text(self.author),
            details: text(self.details),
            system_prompt: text(self.system_prompt),
            user_prompt: text(self.user_prompt),
            keywords: distinct(between_commas(&text(self.keywords).unwrap_or_default())),
            modified_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::Body;

    use super::*;
    use crate::Problem;

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
