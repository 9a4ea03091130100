//! `vademecum log`.

use std::{
    collections::{HashMap, hash_map::Entry},
    process::ExitCode,
};

use anyhow::Result;
use vademecum_actors::Library;
use vademecum_model::{Deadline, ItemId, SourceName, Timestamp, Uri};
use vademecum_vault::journal::{FieldChange, JournalEntry};

use super::{
    audit::{parse_since, sanitize_columns},
    common::CommonOptions,
    output::{print_json, print_line},
};

/// Maximum length of the removed and the added part of a change in a line, in characters.
const MAX_SUMMARY_CHARS: usize = 40;
/// Time to read the journals.
const READ_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(1);

/// List the changes of the library: when, by which client, what
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum log --since 1d
  vademecum log --client claude-ai --since 1h
  vademecum log --json

The columns are: time, action, version, client or command, item, title, and the beginning of
what was removed (-) and added (+). The newest change is the last. `--json` and the tool
knowledge.history show more of it, and `vademecum undo` undoes changes.")]
pub(super) struct Log {
    /// List only changes by clients of this name
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// List only changes since this time: an age such as 12h or 7d, or a date
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Print all details as JSON
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let library = common.create_app()?.library();
        let changes = list_changes(&library, self.since, self.client).await?;
        let mut items = HashMap::new();
        for change in &changes {
            let uri = Uri::item(change.source, change.item.as_str());
            if let Entry::Vacant(unknown) = items.entry(uri) {
                let described = describe_item(&library, unknown.key()).await;
                unknown.insert(described);
            }
        }
        let nothing = ItemChanges::default();
        let of = |change: &JournalEntry| {
            items.get(&Uri::item(change.source, change.item.as_str())).unwrap_or(&nothing)
        };
        if self.json {
            let rows = changes.iter().map(|change| entry_to_json(change, of(change)));
            print_json(&rows.collect::<Vec<_>>())?;
        } else {
            for change in &changes {
                print_line(&format_change(change, of(change)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The title of an item, and what each of its changes changed, if the texts are kept.
#[derive(Default)]
struct ItemChanges {
    title: String,
    fields: HashMap<(i64, Timestamp), Vec<FieldChange>>,
}

impl ItemChanges {
    fn of(&self, change: &JournalEntry) -> Option<&[FieldChange]> {
        self.fields.get(&(change.version, change.changed_at)).map(Vec::as_slice)
    }
}

/// Reads the title and the changes of an item; empty ones if they cannot be read.
async fn describe_item(library: &Library, uri: &Uri) -> ItemChanges {
    let Some(source) = library.source(uri.source) else { return ItemChanges::default() };
    let id = match uri.id.parse() {
        Ok(number) if uri.source != SourceName::Notes => ItemId::Number(number),
        Ok(_) | Err(_) => ItemId::Text(uri.id.clone()),
    };
    let draft = source.load_draft(&id, Deadline::after(READ_TIMEOUT)).await;
    let history = source.item_history(&id, (0, usize::MAX), Deadline::after(READ_TIMEOUT)).await;
    let changes = history.map(|history| history.changes).unwrap_or_default();
    // A deleted item has the title that was removed.
    let removed = || {
        let fields = changes.iter().filter_map(|change| change.fields.as_ref()).flatten();
        fields.filter(|change| change.field == "title").find_map(|change| change.removed.clone())
    };
    let title = match draft {
        Ok(mut draft) => std::mem::take(draft.body.title_mut()),
        Err(_) => removed().unwrap_or_default(),
    };
    let fields = changes
        .into_iter()
        .filter_map(|change| Some(((change.version, change.changed_at), change.fields?)));
    ItemChanges { title, fields: fields.collect() }
}

/// Returns the beginning of what a change removed and added: its text, or else another field.
fn summarize(fields: &[FieldChange]) -> String {
    let text = fields.iter().find(|change| change.field == "content");
    let Some(change) = text.or_else(|| fields.first()) else { return String::new() };
    let part = |sign: &str, part: &Option<String>| {
        let words = part.as_deref().unwrap_or_default().split_whitespace();
        let line = words.collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(MAX_SUMMARY_CHARS).collect();
        let cut = if short.len() < line.len() { "…" } else { "" };
        if line.is_empty() { None } else { Some(format!("{sign}{short}{cut}")) }
    };
    let parts: Vec<String> =
        [part("-", &change.removed), part("+", &change.added)].into_iter().flatten().collect();
    format!("{}: {}", change.field, parts.join(" "))
}

/// Returns the changes of all sources, oldest first.
async fn list_changes(
    library: &Library,
    since: Option<Timestamp>,
    client: Option<String>,
) -> Result<Vec<JournalEntry>> {
    let since = since.unwrap_or_else(Timestamp::earliest);
    let mut changes = Vec::new();
    for name in SourceName::ALL {
        let Some(source) = library.source(name).filter(|source| source.has_store()) else {
            continue;
        };
        let deadline = Deadline::after(READ_TIMEOUT);
        changes.extend(source.list_changes(since, client.clone(), deadline).await?);
    }
    changes.sort_by_key(|change| (change.changed_at, change.number));
    Ok(changes)
}

/// Returns the columns of a change in one line. Characters from elsewhere do not control the
/// terminal.
fn format_change(change: &JournalEntry, item: &ItemChanges) -> String {
    let author = &change.author;
    let who = if author.client.is_empty() { &author.tool } else { &author.client };
    sanitize_columns(&[
        change.changed_at.to_string(),
        change.action.as_str().to_owned(),
        format!("version {}", change.version),
        who.clone(),
        Uri::item(change.source, change.item.as_str()).to_string(),
        item.title.clone(),
        item.of(change).map(summarize).unwrap_or_default(),
    ])
}

fn entry_to_json(change: &JournalEntry, item: &ItemChanges) -> serde_json::Value {
    serde_json::json!({
        "changed_at": change.changed_at,
        "uri": Uri::item(change.source, change.item.as_str()),
        "action": change.action,
        "version": change.version,
        "author": change.author,
        "title": item.title,
        "fields": item.of(change),
    })
}
