//! `vademecum search`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::{command::Common, get::call, output::say};

/// Searches the library.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum search \"when does rye bread rise\"
  vademecum search --source notes --source chats '\"rye bread\" -yeast'
  vademecum search --json --limit 5 bread")]
pub(super) struct Search {
    /// A question or a few words
    #[arg(required = true)]
    query: Vec<String>,
    /// Search this source or collection only; may be repeated
    #[arg(long, value_name = "SOURCE")]
    source: Vec<String>,
    /// How many results, 1 to 100
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Where to begin
    #[arg(long, default_value_t = 0)]
    offset: usize,
    /// Newest first instead of best first
    #[arg(long)]
    recent: bool,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Search {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let mut arguments = json!({
            "query": self.query.join(" "),
            "limit": self.limit,
            "offset": self.offset,
            "order_by": if self.recent { "recent" } else { "relevance" },
        });
        if !self.source.is_empty() {
            arguments["sources"] = json!(self.source);
        }
        let found = call(&common.app()?, "knowledge.search", &arguments).await?;
        if self.json {
            say(&serde_json::to_string_pretty(&found)?);
        } else {
            print(&found);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints results as a person reads them.
pub(super) fn print(found: &Value) {
    let results = found["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    for hit in results {
        let score = hit["score"].as_f64().unwrap_or_default();
        let title = hit["title"].as_str().unwrap_or("(no title)");
        say(&format!("{score:.2}  {title}  [{}]", text(&hit["uri"])));
        say(&format!("      {}", text(&hit["snippet"])));
    }
    let total = found["total_estimated"].as_u64().unwrap_or_default();
    match (results.len(), found["next_offset"].as_u64()) {
        (0, _) => say("Nothing was found."),
        (shown, Some(next)) => say(&format!("{shown} of {total}; go on with --offset {next}")),
        (shown, None) => say(&format!("{shown} of {total}")),
    }
    if let Some(instead) = found["_meta"]["searched_for"].as_str() {
        say(&format!("That stands nowhere as it was asked for; searched for: {instead}"));
    }
    let failed = found["_meta"]["failed_sources"].as_array();
    for source in failed.into_iter().flatten() {
        say(&format!("No answer from {}: {}", text(&source["source"]), text(&source["reason"])));
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
