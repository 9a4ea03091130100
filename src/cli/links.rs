//! `vademecum links`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    common::CommonOptions,
    get::call_tool,
    output::{print_json, print_line},
    search::{single_line, str_or_empty},
};

/// Show the links of an item
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum links \"Rye bread\"
  vademecum links notes://6f9619ff-8b86-d011-b42d-00c04fc964ff --direction in
  vademecum links \"Rye bread#Crust\"
  vademecum links \"Rye bread\" --depth 2 --json")]
pub(super) struct Links {
    /// URI of the item, as in a search result, or its title, file name or alias; with #Heading, a section
    item: String,
    /// Show the links in the item, the links to it, or both
    #[arg(long, value_parser = ["in", "out", "both"], default_value = "both")]
    direction: String,
    /// 2: show the links of the linked items, too
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2), default_value_t = 1)]
    depth: u8,
    /// Maximum number of entries of each list, 1 to 1000
    #[arg(long, default_value_t = 200)]
    limit: usize,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Links {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let arguments = json!({
            "uri": self.item, "direction": self.direction, "depth": self.depth, "limit": self.limit,
        });
        let links = call_tool(common, "knowledge.links", &arguments).await?;
        if self.json {
            print_json(&links)?;
        } else {
            print_links(&links);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the lists of links, each item with its kind and context, and its URI below.
fn print_links(links: &Value) {
    print_line(&heading(&links["item"]));
    for (name, list) in [("Links to", "out"), ("Linked from", "in"), ("Same address in", "shared")]
    {
        let entries = links[list].as_array().map(Vec::as_slice).unwrap_or_default();
        let omitted = links["omitted"][list].as_u64().unwrap_or_default();
        if entries.is_empty() && (list == "shared" || links[list].is_null()) {
            continue;
        }
        print_line(&format!("\n{name}: {}", count(entries, omitted)));
        for entry in entries {
            print_entry(entry);
        }
        print_omitted(omitted);
    }
    for (name, list) in [("Files", "files"), ("Unresolved", "unresolved")] {
        let entries = links[list].as_array().map(Vec::as_slice).unwrap_or_default();
        if entries.is_empty() {
            continue;
        }
        let omitted = links["omitted"][list].as_u64().unwrap_or_default();
        print_line(&format!("\n{name}: {}", count(entries, omitted)));
        for link in entries {
            let text = single_line(str_or_empty(&link["text"]));
            print_line(&format!("  {text}  ({})", str_or_empty(&link["kind"])));
        }
        print_omitted(omitted);
    }
}

fn count(entries: &[Value], omitted: u64) -> u64 {
    omitted + u64::try_from(entries.len()).unwrap_or(u64::MAX)
}

fn print_entry(entry: &Value) {
    let fragment = match str_or_empty(&entry["fragment"]) {
        "" => String::new(),
        fragment => format!(" #{}", single_line(fragment)),
    };
    let count =
        entry["count"].as_u64().map_or_else(String::new, |count| format!(", {count} times"));
    let kind = str_or_empty(&entry["kind"]);
    print_line(&format!("  {}{fragment}  ({kind}{count})", heading(entry)));
    let context = single_line(str_or_empty(&entry["context"]));
    if !context.is_empty() {
        print_line(&format!("      {context}"));
    }
    for (mark, list) in [("→", "out"), ("←", "in")] {
        for next in entry[list].as_array().into_iter().flatten() {
            print_line(&format!("      {mark} {}", heading(next)));
        }
    }
}

fn heading(item: &Value) -> String {
    let title = single_line(str_or_empty(&item["title"]));
    let title = if title.is_empty() { "(no title)".to_owned() } else { title };
    format!("{title}  {}", str_or_empty(&item["uri"]))
}

fn print_omitted(omitted: u64) {
    if omitted > 0 {
        print_line(&format!("  … {omitted} more; raise --limit"));
    }
}
