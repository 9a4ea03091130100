//! `vademecum search`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use vademecum_tools::{NO_ANSWER, sign_sentences};

use super::{
    common::CommonOptions,
    empty_library::print_empty_advice,
    get::call_tool,
    hit_format::HitFormat,
    output::{print_exact, print_json, print_line},
};

/// Search the library
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum search \"when does rye bread rise\"
  vademecum search --source notes --source chats '\"rye bread\" -yeast'
  vademecum search tag:recipes title:rye bread
  vademecum search --json --limit 5 bread")]
pub(super) struct Search {
    /// A question or a few words
    #[arg(required = true)]
    query: Vec<String>,
    /// Search this source or collection only; may be repeated
    #[arg(long, value_name = "SOURCE")]
    source: Vec<String>,
    /// Maximum number of results, 1 to 100
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Number of results to skip
    #[arg(long, default_value_t = 0)]
    offset: usize,
    /// Sort by date, newest first, instead of by relevance
    #[arg(long)]
    recent: bool,
    /// What to do about words that occur nowhere
    #[arg(long, value_name = "MODE", value_parser = ["repair", "suggest", "off"], default_value = "repair")]
    spelling: String,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Search {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut arguments = json!({
            "query": self.query.join(" "),
            "limit": self.limit,
            "offset": self.offset,
            "spelling": self.spelling,
            "highlight": !self.json && HitFormat::detect().shows_matches(),
            "order_by": if self.recent { "recent" } else { "relevance" },
        });
        if !self.source.is_empty() {
            arguments["sources"] = json!(self.source);
        }
        let found = call_tool(common, "knowledge.search", &arguments).await?;
        if self.json {
            print_json(&found)?;
        } else {
            print_results(&found);
            if found["total_estimated"] == 0 {
                print_empty_advice(common).await?;
            }
        }
        Ok(exit_code(&found))
    }
}

/// Prints search results as text.
pub(super) fn print_results(found: &Value) {
    let results = found["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(instead) = found["_meta"]["searched_for"].as_str() {
        print_line(&format!("Some words occur nowhere; searched for: {instead}"));
    }
    if let Some(instead) = found["_meta"]["did_you_mean"].as_str() {
        print_line(&format!("Some words occur nowhere. Did you mean: {instead}?"));
    }
    let format = HitFormat::detect();
    for hit in results {
        // The lines are sanitized and have only colours as control characters.
        format.format_hit(hit).iter().for_each(|line| print_exact(line));
    }
    let total = found["total_estimated"].as_u64().unwrap_or_default();
    match (results.len(), found["next_offset"].as_u64()) {
        (0, _) => print_line("Nothing was found."),
        (shown, Some(next)) => {
            print_line(&format!("{shown} of {total}; continue with --offset {next}"));
        }
        (shown, None) => print_line(&format!("{shown} of {total}")),
    }
    if !results.is_empty() && found["found"] == false {
        print_line(NO_ANSWER);
    }
    let parts = ["loosened", "required", "excluded", "ignored"].map(|kind| {
        let parts = found["_meta"][kind].as_array().into_iter().flatten();
        parts.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    });
    sign_sentences(parts.each_ref().map(Vec::as_slice)).for_each(|line| print_line(&line));
    print_failed_sources(found);
}

/// Prints the sources that gave no answer.
pub(super) fn print_failed_sources(found: &Value) {
    let failed = found["_meta"]["failed_sources"].as_array();
    for source in failed.into_iter().flatten() {
        print_line(&format!(
            "Source {} failed: {}",
            str_or_empty(&source["source"]),
            str_or_empty(&source["reason"])
        ));
    }
}

/// Returns the exit code of a command with this answer: a failure if a source gave no answer, because
/// a script would take what is missing for nothing found.
pub(super) fn exit_code(answer: &Value) -> ExitCode {
    let failed = answer["_meta"]["failed_sources"].as_array();
    if failed.is_none_or(Vec::is_empty) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Joins the lines of a text, so that a title cannot imitate a further result.
pub(super) fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text, or an empty one for any other value.
pub(super) fn str_or_empty(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
