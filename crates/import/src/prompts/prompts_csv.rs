//! Prompt lists: CSV with the columns `act` and `prompt`, and optionally others.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord};
use vademecum_model::{PromptDraft, SourceName};

use super::prompt_collector::{
    AUTHOR_KEYS, DETAILS_KEYS, KEYWORDS_KEYS, NAME_KEYS, PromptCollector, SYSTEM_PROMPT_KEYS,
    USER_PROMPT_KEYS,
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    text::keywords::{distinct_keywords, split_commas},
};

/// Importer of prompt lists in CSV.
#[derive(Debug)]
pub(crate) struct CsvPromptImporter;

impl Importer for CsvPromptImporter {
    fn source(&self) -> SourceName {
        SourceName::Prompts
    }

    fn format_name(&self) -> &'static str {
        "prompt lists with the columns act and prompt (.csv)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let is_table = probe.has_extension(&["csv"]);
        let mut rows = ReaderBuilder::new().from_reader(probe.head_text().as_bytes());
        let says_so = rows
            .headers()
            .is_ok_and(|header| PromptColumns::from_header(probe.path(), header).is_ok());
        Confidence::ByContent.when(is_table && says_so).max(Confidence::Possible.when(is_table))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let mut rows = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let header = rows.headers().map_err(|cause| csv_error(file, cause))?;
        let columns = PromptColumns::from_header(&file.path, header)?;
        let mut prompts = PromptCollector::new(file);
        // The header is row 1, as in a spreadsheet.
        for (number, row) in (2..).zip(rows.records()) {
            let prompt = row.map(|row| columns.read_row(&row)).map_err(|error| error.to_string());
            prompts.add_prompt(&format!("row {number}"), prompt);
        }
        Ok(prompts.finish())
    }
}

fn csv_error(file: &SourceFile, cause: csv::Error) -> ImportError {
    ImportError::Csv { path: file.path.clone(), cause }
}

/// Indexes of the known columns.
#[derive(Debug)]
struct PromptColumns {
    name: usize,
    user_prompt: Option<usize>,
    system_prompt: Option<usize>,
    author: Option<usize>,
    details: Option<usize>,
    keywords: Option<usize>,
}

impl PromptColumns {
    fn from_header(path: &Path, header: &StringRecord) -> Result<Self, ImportError> {
        let titles: Vec<_> = header.iter().map(|title| title.trim().to_lowercase()).collect();
        let column = |names: &[&str]| {
            names.iter().find_map(|name| titles.iter().position(|title| title == name))
        };
        let missing = |needed| ImportError::MissingColumn {
            path: path.to_owned(),
            needed,
            found: titles.iter().map(|title| format!("`{title}`")).collect::<Vec<_>>().join(", "),
        };
        let user_prompt = column(&USER_PROMPT_KEYS);
        let system_prompt = column(&SYSTEM_PROMPT_KEYS);
        if user_prompt.is_none() && system_prompt.is_none() {
            return Err(missing("`prompt` (or `user_prompt`, `system_prompt`)"));
        }
        Ok(Self {
            name: column(&NAME_KEYS).ok_or_else(|| missing("`act` (or `name`, `title`)"))?,
            user_prompt,
            system_prompt,
            author: column(&AUTHOR_KEYS),
            details: column(&DETAILS_KEYS),
            keywords: column(&KEYWORDS_KEYS),
        })
    }

    fn read_row(&self, row: &StringRecord) -> PromptDraft {
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
            keywords: distinct_keywords(split_commas(&text(self.keywords).unwrap_or_default())),
            modified_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::DraftBody;

    use super::*;
    use crate::Problem;

    fn read_prompts(text: &str) -> Result<(Vec<PromptDraft>, Vec<Problem>), ImportError> {
        let reading = CsvPromptImporter.parse(&SourceFile::in_memory("/list.csv", text))?;
        let prompts = reading.drafts.into_iter().map(|draft| match draft.body {
            DraftBody::Prompt(prompt) => {
                assert_eq!(draft.origin, format!("file:/list.csv#{}", prompt.name));
                prompt
            }
            other => panic!("not a prompt: {other:?}"),
        });
        Ok((prompts.collect(), reading.problems))
    }

    #[test]
    fn csv_is_read_with_quotes_and_line_breaks() {
        let text = "\u{feff}\"act\",\"prompt\"\r\n\"Terminal\",\"Act as a \"\"terminal\"\",\nplease.\"\r\n";
        let (prompts, problems) = read_prompts(text).unwrap();
        assert_eq!(prompts[0].name, "Terminal");
        assert_eq!(prompts[0].user_prompt.as_deref(), Some("Act as a \"terminal\",\nplease."));
        assert!(problems.is_empty());
    }

    #[test]
    fn additional_columns_are_read_or_ignored() {
        let text = "Act,Prompt,for_devs,type,contributor,tags,description,system_prompt\n\
                    A,Say a,TRUE,TEXT,ada,\"x, y\",For a,Be kind\n";
        let prompt = read_prompts(text).unwrap().0.remove(0);
        assert_eq!(prompt.author.as_deref(), Some("ada"));
        assert_eq!(prompt.keywords, ["x", "y"]);
        assert_eq!(prompt.details.as_deref(), Some("For a"));
        assert_eq!(prompt.system_prompt.as_deref(), Some("Be kind"));
    }

    #[test]
    fn incomplete_row_is_reported_others_kept() {
        let (prompts, problems) = read_prompts("act,prompt\n,text\nB,\nshort\nC,text\n").unwrap();
        assert_eq!(prompts.len(), 1);
        let found: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(found, ["row 2", "row 3", "row 4"]);
    }

    #[test]
    fn duplicates_are_dropped_and_equal_names_numbered() {
        let (prompts, problems) =
            read_prompts("act,prompt\nA,1\nA,1\nA (2),x\nA,2\nA,3\nA,2\nB,1\n").unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["A", "A (2)", "A (3)", "A (4)", "B"]);
        assert!(problems.is_empty());
    }

    #[test]
    fn missing_column_error_lists_existing_columns() {
        let error = read_prompts("act,text\nA,b\n").unwrap_err().to_string();
        assert!(error.contains("no column `prompt`") && error.contains("`act`, `text`"), "{error}");
        let error = read_prompts("").unwrap_err().to_string();
        assert!(error.contains("no column"), "{error}");
    }
}
