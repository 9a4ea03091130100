//! `vademecum list`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Map, Value, json};
use vademecum_model::Timestamp;
use vademecum_services::text::sanitize;

use super::{
    common::CommonOptions,
    empty_library::print_empty_advice,
    get::call_tool,
    output::{print_json, print_line, terminal_width},
    search::{exit_code, print_failed_sources, single_line, str_or_empty},
};

/// Minimum width of a line, in terminal columns.
const MIN_WIDTH: usize = 20;

/// List items of the library, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum list --source notes --after 2026-01-01
  vademecum list --after 7d
  vademecum list --property 'rating=>=7' --property status=read
  vademecum list --tasks open --folder Projects
  vademecum list --links broken
  vademecum list --tag recipes --folder Kitchen/Bread --order title
  vademecum list --facet folders --facet tags")]
pub(super) struct List {
    /// List this source only; may be repeated
    #[arg(long, value_name = "SOURCE")]
    source: Vec<String>,
    /// List items with this tag only; may be repeated for items with any of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// List notes in this folder or below it only
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// List items from this file, from this folder or from files that match a pattern only
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// List notes with this property only; may be repeated. A value may begin with >=, <=, >, < or !=; * is any
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_property)]
    property: Vec<(String, String)>,
    /// List notes with tasks in this state only, and the tasks
    #[arg(long, value_parser = ["open", "done"])]
    tasks: Option<String>,
    /// List notes with broken links, notes to which none links, or notes without any links only
    #[arg(long, value_parser = ["broken", "orphan", "unlinked"])]
    links: Option<String>,
    /// List media of this type only; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    media_type: Vec<String>,
    /// List items changed then or later only: a date, or an age such as 12h or 7d
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// List items changed before that only: a date, or an age
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// List the items as they were at this time
    #[arg(long, value_name = "DATE", conflicts_with = "facet")]
    as_of: Option<String>,
    /// Order of the items
    #[arg(long, value_parser = ["modified", "created", "title"], default_value = "modified")]
    order: String,
    /// Maximum number of items, 0 to 100 [default: 20, or 0 with --facet]
    #[arg(long)]
    limit: Option<usize>,
    /// Number of items to skip
    #[arg(long, default_value_t = 0)]
    offset: usize,
    /// Count the items of each value of this property; may be repeated
    #[arg(
        long,
        value_name = "PROPERTY",
        value_parser = ["tags", "folders", "types", "months", "sources"]
    )]
    facet: Vec<String>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// Returns the time of an age; other texts are for the tool to read.
fn time_of_age(text: &str) -> String {
    let age = humantime::parse_duration(text);
    age.map_or_else(|_| text.to_owned(), |age| Timestamp::before_now(age).to_string())
}

/// Reads `name=value`; the value may begin with a sign of comparison.
fn parse_property(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected NAME=VALUE, such as rating=8 or 'rating=>=7'".to_owned()),
    }
}

impl List {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let page = call_tool(common, "knowledge.list", &self.arguments()).await?;
        if self.json {
            print_json(&page)?;
        } else {
            print_page(&page, terminal_width());
            if page["total"] == 0 {
                print_empty_advice(common).await?;
            }
        }
        Ok(exit_code(&page))
    }

    /// Returns the arguments of the tool, without those that are not given.
    fn arguments(&self) -> Value {
        let default_limit = if self.facet.is_empty() { 20 } else { 0 };
        let lists = [
            ("sources", &self.source),
            ("tags", &self.tag),
            ("media_types", &self.media_type),
            ("facets", &self.facet),
        ];
        let texts = [
            ("folder", self.folder.clone()),
            ("path", self.path.clone()),
            ("tasks", self.tasks.clone()),
            ("links", self.links.clone()),
            ("after", self.after.as_deref().map(time_of_age)),
            ("before", self.before.as_deref().map(time_of_age)),
            ("as_of", self.as_of.clone()),
        ];
        let mut arguments = Map::new();
        for (name, values) in lists.into_iter().filter(|(_, values)| !values.is_empty()) {
            arguments.insert(name.to_owned(), json!(values));
        }
        for (name, value) in texts {
            arguments.extend(value.map(|value| (name.to_owned(), json!(value))));
        }
        if !self.property.is_empty() {
            let conditions: Map<String, Value> =
                self.property.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            arguments.insert("properties".to_owned(), Value::Object(conditions));
        }
        arguments.insert("order_by".to_owned(), json!(self.order));
        arguments.insert("limit".to_owned(), json!(self.limit.unwrap_or(default_limit)));
        arguments.insert("offset".to_owned(), json!(self.offset));
        Value::Object(arguments)
    }
}

/// Prints the items, one a line with its date, title, folder and tags, and its URI below; then the
/// facets and the number of items. Lines except URIs are cut to `width`, if there is one.
fn print_page(page: &Value, width: Option<usize>) {
    let cut = |line: &str| match width {
        Some(width) => {
            print_line(&console::truncate_str(&sanitize(line), width.max(MIN_WIDTH), "…"));
        }
        None => print_line(line),
    };
    let results = page["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    for item in results {
        let date: String = str_or_empty(&item["last_modified"]).chars().take(10).collect();
        let title = single_line(item["title"].as_str().unwrap_or("(no title)"));
        let tags = item["tags"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let folder = item["folder"].as_str().map(|folder| format!("  in {}", single_line(folder)));
        let tags: Vec<String> = tags.map(|tag| format!("  #{}", single_line(tag))).collect();
        cut(&format!("{date}  {title}{}{}", folder.unwrap_or_default(), tags.concat()));
        print_line(&format!("            {}", str_or_empty(&item["uri"])));
        for (name, value) in item["properties"].as_object().into_iter().flatten() {
            cut(&format!("            {name}: {}", single_line(str_or_empty(value))));
        }
        for (mark, list) in [("-", "tasks"), ("broken:", "broken_links")] {
            for text in item[list].as_array().into_iter().flatten() {
                cut(&format!("            {mark} {}", single_line(str_or_empty(text))));
            }
        }
        if let Some(omitted) = item["omitted_tasks"].as_u64() {
            print_line(&format!("            and {omitted} more tasks"));
        }
    }
    for (facet, counts) in page["facets"].as_object().into_iter().flatten() {
        print_line(&format!("{facet}:"));
        for value in counts["values"].as_array().into_iter().flatten() {
            let count = value["count"].as_u64().unwrap_or_default();
            cut(&format!("{count:>8}  {}", single_line(str_or_empty(&value["value"]))));
        }
        if let Some(omitted) = counts["omitted"].as_u64() {
            print_line(&format!("          and {omitted} more"));
        }
    }
    let total = page["total"].as_u64().unwrap_or_default();
    match (results.len(), page["next_offset"].as_u64()) {
        (0, _) if total == 0 => print_line("Nothing matches."),
        (shown, Some(next)) => {
            print_line(&format!("{shown} of {total}; continue with --offset {next}"));
        }
        (shown, None) => print_line(&format!("{shown} of {total}")),
    }
    print_failed_sources(page);
}
