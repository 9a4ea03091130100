//! `vademecum schema`.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use vademecum_services::text::sanitize;
use vademecum_sql::{
    ProfileConnection,
    keys::{self, ForeignKey, Index},
    schema::{self, ColumnFilter, SchemaFilter, Table},
};

use super::{
    common::CommonOptions,
    database::{print_json_envelope, run_with_connection},
    explain::OutputFormat,
    output::{print_error, print_line},
};

/// Show the tables of the database of a profile
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum schema --config settings.toml --profile shop
  vademecum schema --config settings.toml --profile shop --format json 'order*' public.customer

Exit codes are those of `vademecum query`.")]
pub(super) struct Schema {
    /// Profile of the database; optional if there is only one, or a default
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Output format
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    format: OutputFormat,
    /// Show only tables with these names, or `schema.name`; `*` matches any text, `?` one character
    #[arg(value_name = "TABLE-GLOB")]
    tables: Vec<String>,
}

/// A table in the output.
#[derive(Serialize)]
struct TableOutput {
    schema: String,
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    comment: String,
    columns: Vec<ColumnOutput>,
    indexes: Vec<IndexOutput>,
    foreign_keys: Vec<ForeignKeyOutput>,
}

#[derive(Serialize)]
struct ColumnOutput {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    nullable: bool,
    default: Option<String>,
    comment: String,
    primary_key: bool,
}

#[derive(Serialize)]
struct IndexOutput {
    name: String,
    columns: Vec<String>,
    unique: bool,
}

#[derive(Serialize)]
struct ForeignKeyOutput {
    name: String,
    columns: Vec<String>,
    referenced_schema: String,
    referenced_table: String,
    referenced_columns: Vec<String>,
}

impl Schema {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let is_json = self.format == OutputFormat::Json;
        let answer = async |connection| self.print_tables(&connection).await;
        run_with_connection(common, self.profile.as_deref(), is_json, answer).await
    }

    async fn print_tables(&self, connection: &ProfileConnection) -> Result<()> {
        let part = SchemaFilter::default();
        let found = schema::read_schema(connection, &part, ColumnFilter::All).await?;
        let indexes = keys::fetch_indexes(connection, &part).await?;
        let foreign_keys = keys::fetch_foreign_keys(connection, &part).await?;
        let tables = found.tables.into_iter().filter(|table| self.is_selected(table));
        let tables: Vec<TableOutput> =
            tables.map(|table| TableOutput::from_table(table, &indexes, &foreign_keys)).collect();
        if self.format == OutputFormat::Json {
            return print_json_envelope(&json!({ "tables": tables, "truncated": found.truncated }));
        }
        for table in &tables {
            table.print_text();
        }
        if tables.is_empty() {
            print_error("no matching table");
        }
        if found.truncated {
            print_error("the database has more tables than can be shown");
        }
        Ok(())
    }

    fn is_selected(&self, table: &Table) -> bool {
        let whole = format!("{}.{}", table.schema, table.name);
        let matches = |glob: &String| matches_glob(&table.name, glob) || matches_glob(&whole, glob);
        self.tables.is_empty() || self.tables.iter().any(matches)
    }
}

impl TableOutput {
    fn from_table(table: Table, indexes: &[Index], foreign_keys: &[ForeignKey]) -> Self {
        let Table { schema, name, kind, description, is_partition: _, columns } = table;
        let is_here = |it: &(String, String)| (&it.0, &it.1) == (&schema, &name);
        let indexes = indexes.iter().filter(|it| is_here(&it.table)).map(|it| IndexOutput {
            name: it.name.clone(),
            columns: it.columns.clone(),
            unique: it.is_unique,
        });
        let keys = foreign_keys.iter().filter(|it| is_here(&it.table)).map(|it| ForeignKeyOutput {
            name: it.name.clone(),
            columns: it.columns.clone(),
            referenced_schema: it.target.0.clone(),
            referenced_table: it.target.1.clone(),
            referenced_columns: it.target_columns.clone(),
        });
        let (indexes, foreign_keys) = (indexes.collect(), keys.collect());
        let columns = columns.into_iter().map(|column| ColumnOutput {
            name: column.name,
            kind: column.data_type,
            nullable: column.nullable,
            default: Some(column.default).filter(|it| !it.is_empty()),
            comment: column.description,
            primary_key: column.is_pk,
        });
        let columns = columns.collect();
        let (kind, comment) = (kind.as_str(), description);
        Self { schema, name, kind, comment, columns, indexes, foreign_keys }
    }

    /// Prints the table as text.
    fn print_text(&self) {
        let line = |text: String| print_line(&sanitize(text.trim_end()));
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

/// Returns `true` if the name matches the glob: `*` matches any text, `?` one character.
fn matches_glob(name: &str, glob: &str) -> bool {
    let mut signs = glob.chars();
    match signs.next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = signs.as_str();
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| name.get(at..).is_some_and(|name| matches_glob(name, rest)))
        }
        Some(sign) => {
            let mut letters = name.chars();
            let first = letters.next();
            first.is_some_and(|it| sign == '?' || it == sign)
                && matches_glob(letters.as_str(), signs.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_matches_the_complete_name() {
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
            assert_eq!(matches_glob(name, glob), expected, "{name} {glob}");
        }
    }
}
