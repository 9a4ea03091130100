//! `vademecum schema`.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::{
    command::Common,
    database::{tell_json, with},
    explain::Format,
    output::{complain, plain, say},
};
use vademecum_sql::{
    Connection,
    keys::{self, ForeignKey, Index},
    schema::{self, Part, Table, Which},
};

/// Tells which tables the database of a profile has.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum schema --config settings.toml --profile shop
  vademecum schema --config settings.toml --profile shop --format json 'order*' public.customer

Ends with the codes of `vademecum query`.")]
pub(super) struct Schema {
    /// The profile of the database; not needed where there is only one
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// What the answer looks like
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    format: Format,
    /// Only the tables of these names, or of the form `schema.name`; `*` is anything and `?`
    /// is one letter
    #[arg(value_name = "TABLE-GLOB")]
    tables: Vec<String>,
}

/// A table as it is printed.
#[derive(Serialize)]
struct Printed {
    schema: String,
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    comment: String,
    columns: Vec<PrintedColumn>,
    indexes: Vec<PrintedIndex>,
    foreign_keys: Vec<PrintedKey>,
}

#[derive(Serialize)]
struct PrintedColumn {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    nullable: bool,
    default: Option<String>,
    comment: String,
    primary_key: bool,
}

#[derive(Serialize)]
struct PrintedIndex {
    name: String,
    columns: Vec<String>,
    unique: bool,
}

#[derive(Serialize)]
struct PrintedKey {
    name: String,
    columns: Vec<String>,
    referenced_schema: String,
    referenced_table: String,
    referenced_columns: Vec<String>,
}

impl Schema {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let is_json = self.format == Format::Json;
        let answer = async |connection| self.answer(&connection).await;
        with(common, self.profile.as_deref(), is_json, answer).await
    }

    async fn answer(&self, connection: &Connection) -> Result<()> {
        let part = Part::default();
        let found = schema::read(connection, &part, Which::All).await?;
        let indexes = keys::indexes(connection, &part).await?;
        let foreign_keys = keys::foreign_keys(connection, &part).await?;
        let tables = found.tables.into_iter().filter(|table| self.wants(table));
        let tables: Vec<Printed> =
            tables.map(|table| Printed::of(table, &indexes, &foreign_keys)).collect();
        if self.format == Format::Json {
            return tell_json(&json!({ "tables": tables, "truncated": found.truncated }));
        }
        for table in &tables {
            table.say();
        }
        if tables.is_empty() {
            complain("there is no such table");
        }
        if found.truncated {
            complain("there are more tables than can be looked at");
        }
        Ok(())
    }

    fn wants(&self, table: &Table) -> bool {
        let whole = format!("{}.{}", table.schema, table.name);
        let matches = |glob: &String| is_like(&table.name, glob) || is_like(&whole, glob);
        self.tables.is_empty() || self.tables.iter().any(matches)
    }
}

impl Printed {
    fn of(table: Table, indexes: &[Index], foreign_keys: &[ForeignKey]) -> Self {
        let Table { schema, name, kind, description, is_partition: _, columns } = table;
        let is_here = |it: &(String, String)| (&it.0, &it.1) == (&schema, &name);
        let indexes = indexes.iter().filter(|it| is_here(&it.table)).map(|it| PrintedIndex {
            name: it.name.clone(),
            columns: it.columns.clone(),
            unique: it.is_unique,
        });
        let keys = foreign_keys.iter().filter(|it| is_here(&it.table)).map(|it| PrintedKey {
            name: it.name.clone(),
            columns: it.columns.clone(),
            referenced_schema: it.target.0.clone(),
            referenced_table: it.target.1.clone(),
            referenced_columns: it.target_columns.clone(),
        });
        let (indexes, foreign_keys) = (indexes.collect(), keys.collect());
        let columns = columns.into_iter().map(|column| PrintedColumn {
            name: column.name,
            kind: column.data_type,
            nullable: column.nullable,
            default: Some(column.default).filter(|it| !it.is_empty()),
            comment: column.description,
            primary_key: column.is_pk,
        });
        let columns = columns.collect();
        let (kind, comment) = (kind.name(), description);
        Self { schema, name, kind, comment, columns, indexes, foreign_keys }
    }

    /// Prints it for people.
    fn say(&self) {
        let line = |text: String| say(&plain(text.trim_end()));
        let remark =
            |text: &str| if text.is_empty() { String::new() } else { format!("  -- {text}") };
        line(format!("{}.{} ({}){}", self.schema, self.name, self.kind, remark(&self.comment)));
        for column in &self.columns {
            let key = if column.primary_key { ", primary key" } else { "" };
            let null = if column.nullable { "" } else { ", not null" };
            let default = column.default.as_ref().map(|it| format!(", default {it}"));
            line(format!(
                "  {}  {}{key}{null}{}{}",
                column.name,
                column.kind,
                default.unwrap_or_default(),
                remark(&column.comment)
            ));
        }
        for index in &self.indexes {
            let unique = if index.unique { "unique " } else { "" };
            line(format!("  {unique}index {} ({})", index.name, index.columns.join(", ")));
        }
        for key in &self.foreign_keys {
            line(format!(
                "  foreign key ({}) to {}.{} ({})",
                key.columns.join(", "),
                key.referenced_schema,
                key.referenced_table,
                key.referenced_columns.join(", ")
            ));
        }
    }
}

/// Whether a name is of a form: `*` is anything, `?` is one letter.
fn is_like(name: &str, glob: &str) -> bool {
    let mut signs = glob.chars();
    match signs.next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = signs.as_str();
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| name.get(at..).is_some_and(|name| is_like(name, rest)))
        }
        Some(sign) => {
            let mut letters = name.chars();
            let first = letters.next();
            first.is_some_and(|it| sign == '?' || it == sign)
                && is_like(letters.as_str(), signs.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_of_a_whole_name() {
        for (name, glob, expected) in [
            ("orders", "orders", true),
            ("orders", "order", false),
            ("orders", "ord*", true),
            ("orders", "*", true),
            ("orders", "o?d*s", true),
            ("public.orders", "*.orders", true),
            ("größe", "gr??e", true),
            ("", "?", false),
        ] {
            assert_eq!(is_like(name, glob), expected, "{name} {glob}");
        }
    }
}
