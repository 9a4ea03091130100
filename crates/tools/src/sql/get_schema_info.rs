//! `get_schema_info`: lists the tables of a database and their columns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::CallError;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_sql::{
    schema::{self, ColumnFilter, DatabaseSchema, SchemaFilter, Table, TableColumn},
    schema_objects::{self, SchemaObject, SchemaObjects},
};

use super::{
    render::tsv_line,
    sql_call::{connect_profile, run_until_cancelled},
};
use crate::display::push_display;
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Maximum number of tables listed with columns if no schema is given; more tables are summarized.
const MAX_DETAILED_TABLES: usize = 10;
/// Number of table names listed for each schema in a summary.
const SUMMARY_TABLE_NAMES: usize = 5;
/// Header line of the text.
const COLUMN_HEADINGS: [&str; 16] = [
    "schema",
    "table",
    "type",
    "table_desc",
    "column",
    "data_type",
    "nullable",
    "col_desc",
    "is_pk",
    "is_unique",
    "fk_ref",
    "is_indexed",
    "identity",
    "default",
    "is_vector",
    "vector_dims",
];

/// Header line of the objects.
const OBJECT_HEADINGS: [&str; 6] = ["kind", "schema", "table", "column", "name", "definition"];

/// Lists tables and columns.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetSchemaInfo {
    /// Only this schema; in `MySQL`, this database.
    schema_name: Option<String>,
    /// Only this table; needs `schema_name`.
    table_name: Option<String>,
    /// Only tables with vectors.
    #[serde(default)]
    vector_tables_only: bool,
    /// Only names, without columns.
    #[serde(default)]
    compact: bool,
    /// Include partitions.
    #[serde(default)]
    include_partitions: bool,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// Result of `get_schema_info`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GetSchemaInfoOutput {
    /// Name of the profile.
    database: String,
    /// `read-only` or `read-write`, for this caller.
    mode: &'static str,
    /// Number of matching tables and views.
    found: usize,
    /// Whether some of them are omitted.
    truncated: bool,
    /// Tables with their columns.
    tables: Option<Vec<Table>>,
    /// Constraints, enum labels, triggers, functions and others, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<SchemaObject>,
    /// Whether some of them are omitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    objects_truncated: bool,
    /// Reason why `objects` could not be read.
    objects_problem: Option<String>,
    /// Summary by schema, if there are many tables.
    schemas: Option<Vec<SchemaSummary>>,
}

/// Summary of a schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct SchemaSummary {
    schema: String,
    tables: usize,
    first_tables: Vec<String>,
    vector_tables: Vec<String>,
}

/// Level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DetailLevel {
    Summary,
    Names,
    Columns,
}

impl Tool for GetSchemaInfo {
    const NAME: &'static str = "get_schema_info";
    const TITLE: &'static str = "Show tables";
    const DESCRIPTION: &'static str = "List tables, views and columns of a database, with \
        constraints, triggers and functions: call it before query_database. More than ten tables \
        are summarized, unless schema_name is set.";
    const TOOLSET: Toolset = Toolset::Databases;
    const HAS_LONG_RESULTS: bool = true;
    type Output = GetSchemaInfoOutput;

    fn second_text(output: &Self::Output) -> Option<String> {
        Some(render_objects(output))
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let part = self.schema_filter()?;
        let connection = connect_profile(services, call, self.profile.as_deref()).await?;
        let look =
            |which| run_until_cancelled(call, schema::read_schema(&connection, &part, which));
        let mut found = self.filter_tables(look(ColumnFilter::VectorsOnly).await?);
        let detail = self.detail_level(found.tables.len());
        let mut objects = SchemaObjects::default();
        if detail == DetailLevel::Columns {
            found = self.filter_tables(look(ColumnFilter::All).await?);
            let reading = schema_objects::read_objects(&connection, &part, &found.tables);
            objects = run_until_cancelled(call, reading).await?;
        }
        let profile = connection.profile();
        let bytes = profile.query_caps().max_bytes;
        let (mut output, page) =
            build_output(profile.name().to_owned(), &self, found, detail, bytes);
        output.mode = profile.mode(services.may_write(call));
        add_objects(&mut output, objects, bytes);
        let text = services.text(|| page);
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl GetSchemaInfo {
    fn schema_filter(&self) -> Result<SchemaFilter, CallError> {
        let non_empty = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        let part = SchemaFilter {
            schema: non_empty(&self.schema_name),
            table: non_empty(&self.table_name),
        };
        if part.table.is_some() && part.schema.is_none() {
            let problem = "table_name requires schema_name to be specified";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        Ok(part)
    }

    /// Filters tables by the arguments.
    fn filter_tables(&self, found: DatabaseSchema) -> DatabaseSchema {
        // A partition named in the arguments is always included.
        let with_partitions = self.include_partitions || self.table_name.is_some();
        let tables = found.tables.into_iter();
        let tables = tables
            .filter(|table| with_partitions || !table.is_partition)
            .filter(|table| !self.vector_tables_only || table.has_vector_column());
        DatabaseSchema { tables: tables.collect(), truncated: found.truncated }
    }

    fn detail_level(&self, tables: usize) -> DetailLevel {
        if self.compact && self.table_name.as_ref().is_none_or(String::is_empty) {
            DetailLevel::Names
        } else if self.is_unfiltered() && tables > MAX_DETAILED_TABLES {
            DetailLevel::Summary
        } else {
            DetailLevel::Columns
        }
    }

    /// Whether no filter on tables is given.
    fn is_unfiltered(&self) -> bool {
        self.schema_name.as_ref().is_none_or(String::is_empty) && !self.vector_tables_only
    }

    /// Returns the text for an empty result, with hints.
    fn empty_text(&self) -> String {
        let (what, why) = match (&self.table_name, &self.schema_name, self.vector_tables_only) {
            (Some(table), Some(schema), _) => (
                format!("Table '{schema}.{table}' not found."),
                "Its name may be spelled differently (names are case-sensitive), it may be \
                 in another schema, or it has no vector columns although vector_tables_only is set.",
            ),
            (_, Some(schema), false) => (
                format!("Schema '{schema}' not found, or it has no tables."),
                "Its name may be spelled differently: names are case-sensitive.",
            ),
            (_, _, true) => (
                "No tables with vector columns found.".to_owned(),
                "Without vector_tables_only all tables are listed.",
            ),
            (_, None, false) => (
                "The database has no tables that this profile can see.".to_owned(),
                "profile_list lists the other databases.",
            ),
        };
        format!(
            "No tables found matching your criteria.\n\n{what} {why}\n\nget_schema_info(compact=true) lists all tables."
        )
    }
}

/// Builds the output and its text, which is limited to about `bytes` bytes.
fn build_output(
    database: String,
    input: &GetSchemaInfo,
    found: DatabaseSchema,
    detail: DetailLevel,
    bytes: usize,
) -> (GetSchemaInfoOutput, String) {
    let mut page = format!("Database: {database}\n\n");
    let count = found.tables.len();
    let mut output = GetSchemaInfoOutput {
        database,
        mode: "read-only",
        found: count,
        truncated: found.truncated,
        tables: None,
        objects: Vec::new(),
        objects_truncated: false,
        objects_problem: None,
        schemas: None,
    };
    if found.tables.is_empty() {
        page.push_str(&input.empty_text());
        output.tables = Some(Vec::new());
        return (output, page);
    }
    if detail == DetailLevel::Summary {
        let schemas = summarize_schemas(&found.tables);
        page.push_str(&render_summary(count, &schemas));
        output.schemas = Some(schemas);
        return (output, page);
    }
    let mut shown = Vec::new();
    let head = if detail == DetailLevel::Names {
        COLUMN_HEADINGS.get(..4).unwrap_or(&COLUMN_HEADINGS)
    } else {
        &COLUMN_HEADINGS
    };
    page.push_str(&tsv_line(head.iter().copied()));
    for mut table in found.tables {
        if detail == DetailLevel::Names {
            table.columns.clear();
        }
        let lines =
            if detail == DetailLevel::Names { table_line(&table) } else { column_lines(&table) };
        if page.len() + lines.len() > bytes && !shown.is_empty() {
            break;
        }
        page.push_str(&lines);
        shown.push(table);
    }
    output.truncated |= shown.len() < count;
    if output.truncated {
        let shown = shown.len();
        push_display(
            &mut page,
            format_args!(
                "\n\n(truncated: {shown} of {count} tables are shown; ask for less with \
                 schema_name, table_name or compact)"
            ),
        );
    }
    output.tables = Some(shown);
    (output, page)
}

/// Adds the objects to the output, up to about `bytes` bytes of text.
fn add_objects(output: &mut GetSchemaInfoOutput, found: SchemaObjects, mut bytes: usize) {
    output.objects_truncated = found.truncated;
    output.objects_problem = found.problem;
    for object in found.objects {
        let line = object_line(&object).len();
        if line > bytes {
            output.objects_truncated = true;
            return;
        }
        bytes -= line;
        output.objects.push(object);
    }
}

fn object_line(object: &SchemaObject) -> String {
    let SchemaObject { kind, schema, table, column, name, definition } = object;
    let (table, column) = (table.as_deref(), column.as_deref());
    let cells =
        [kind, schema, table.unwrap_or_default(), column.unwrap_or_default(), name, definition];
    format!("\n{}", tsv_line(cells))
}

/// Renders the objects as a second text, because the lines of the first one are the columns.
fn render_objects(output: &GetSchemaInfoOutput) -> String {
    let mut page = format!("Access: {}", output.mode);
    if let Some(problem) = &output.objects_problem {
        let what = "constraints, triggers and functions could not be read";
        push_display(&mut page, format_args!("\n\n({what}: {problem})"));
    }
    if !output.objects.is_empty() {
        page.push_str("\n\n");
        page.push_str(&tsv_line(OBJECT_HEADINGS));
        output.objects.iter().for_each(|object| page.push_str(&object_line(object)));
    }
    if output.objects_truncated {
        page.push_str("\n\n(truncated: ask for less with schema_name or table_name)");
    }
    page
}

/// Formats the line of a table without its columns.
fn table_line(table: &Table) -> String {
    format!(
        "\n{}",
        tsv_line([&*table.schema, &table.name, table.kind.as_str(), &table.description])
    )
}

/// Formats one line for each column; a table without columns gets one line.
fn column_lines(table: &Table) -> String {
    if table.columns.is_empty() {
        let cells = [&*table.schema, &table.name, table.kind.as_str(), &table.description];
        return format!("\n{}", tsv_line(cells.into_iter().chain([""; 12])));
    }
    table.columns.iter().map(|it| column_line(table, it)).collect()
}

fn column_line(table: &Table, column: &TableColumn) -> String {
    let yes = |flag: bool| if flag { "true" } else { "false" };
    let dimensions = column.vector_dims.to_string();
    let cells = [
        &*table.schema,
        &table.name,
        table.kind.as_str(),
        &table.description,
        &column.name,
        &column.data_type,
        if column.nullable { "YES" } else { "NO" },
        &column.description,
        yes(column.is_pk),
        yes(column.is_unique),
        &column.fk_ref,
        yes(column.is_indexed),
        &column.identity,
        &column.default,
        yes(column.is_vector),
        &dimensions,
    ];
    format!("\n{}", tsv_line(cells))
}

fn summarize_schemas(tables: &[Table]) -> Vec<SchemaSummary> {
    let mut schemas: BTreeMap<&str, Vec<&Table>> = BTreeMap::new();
    for table in tables {
        schemas.entry(&table.schema).or_default().push(table);
    }
    schemas
        .into_iter()
        .map(|(schema, tables)| SchemaSummary {
            schema: schema.to_owned(),
            tables: tables.len(),
            first_tables: table_names(tables.iter().take(SUMMARY_TABLE_NAMES)),
            vector_tables: table_names(tables.iter().filter(|table| table.has_vector_column())),
        })
        .collect()
}

fn table_names<'a>(tables: impl Iterator<Item = &'a &'a Table>) -> Vec<String> {
    tables.map(|table| table.name.clone()).collect()
}

fn render_summary(found: usize, schemas: &[SchemaSummary]) -> String {
    let mut page = String::from("Database Schema Summary:\n========================\n\n");
    let count = schemas.len();
    push_display(&mut page, format_args!("Found {found} tables across {count} schemas.\n\n"));
    for SchemaSummary { schema, tables, first_tables, vector_tables } in schemas {
        let first = first_tables.join(", ");
        push_display(
            &mut page,
            format_args!("Schema '{schema}': {tables} tables\n  Tables: {first}"),
        );
        if let Some(more) = tables.checked_sub(first_tables.len()).filter(|more| *more > 0) {
            push_display(&mut page, format_args!(", ... (+{more} more)"));
        }
        page.push('\n');
        if !vector_tables.is_empty() {
            let named = vector_tables.join(", ");
            push_display(&mut page, format_args!("  Vector-enabled: {named}\n"));
        }
        page.push('\n');
    }
    page.push_str("Next:\n");
    for SchemaSummary { schema, .. } in schemas {
        push_display(
            &mut page,
            format_args!("- get_schema_info(schema_name={schema:?}): its columns\n"),
        );
    }
    page.push_str(
        "- get_schema_info(vector_tables_only=true): tables for search by meaning\n\
         - get_schema_info(compact=true): the names of all tables",
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_sql::schema::TableKind;

    fn sample_column(name: &str, dimensions: u32) -> TableColumn {
        TableColumn {
            name: name.to_owned(),
            data_type: "text".to_owned(),
            nullable: true,
            description: "two\nlines".to_owned(),
            is_pk: false,
            is_unique: true,
            fk_ref: "public.a.id, public.b.id".to_owned(),
            is_indexed: true,
            identity: String::new(),
            default: "now()".to_owned(),
            is_vector: dimensions > 0,
            vector_dims: dimensions,
        }
    }

    fn sample_table(name: &str, columns: Vec<TableColumn>) -> Table {
        Table {
            schema: "public".to_owned(),
            name: name.to_owned(),
            kind: TableKind::Table,
            description: "a\ttab".to_owned(),
            is_partition: false,
            columns,
        }
    }

    fn build_sample_output(
        tables: Vec<Table>,
        input: &GetSchemaInfo,
        bytes: usize,
    ) -> (GetSchemaInfoOutput, String) {
        let found = DatabaseSchema { tables, truncated: false };
        let detail = input.detail_level(found.tables.len());
        build_output("shop".to_owned(), input, found, detail, bytes)
    }

    #[test]
    fn each_column_is_line_of_sixteen_cells() {
        let tables = vec![
            sample_table("nothing", Vec::new()),
            sample_table("users", vec![sample_column("email", 3)]),
        ];
        let (output, text) = build_sample_output(tables, &GetSchemaInfo::default(), 10_000);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1]), ("Database: shop", ""));
        assert_eq!(lines[2], COLUMN_HEADINGS.join("\t"));
        assert_eq!(
            lines[4],
            "public\tusers\tTABLE\ta\\ttab\temail\ttext\tYES\ttwo\\nlines\tfalse\ttrue\t\
             public.a.id, public.b.id\ttrue\t\tnow()\ttrue\t3"
        );
        assert!(lines[2..].iter().all(|line| line.matches('\t').count() == 15), "{text}");
        assert!(!output.truncated && output.tables.unwrap().len() == 2);
    }

    #[test]
    fn unfiltered_tables_above_ten_are_summarized() {
        let tables = |count: usize| -> Vec<Table> {
            (0..count)
                .map(|at| sample_table(&format!("t{at:02}"), vec![sample_column("x", 3)]))
                .collect()
        };
        let (_, ten) = build_sample_output(tables(10), &GetSchemaInfo::default(), 10_000);
        assert!(ten.contains("\tt09\t"), "{ten}");
        let (output, text) = build_sample_output(tables(12), &GetSchemaInfo::default(), 10_000);
        for expected in [
            "Database Schema Summary",
            "Found 12 tables across 1 schemas.",
            "Tables: t00, t01, t02, t03, t04, ... (+7 more)",
            "Vector-enabled: t00, t01",
            "get_schema_info(schema_name=\"public\")",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(output.tables.is_none() && output.schemas.unwrap()[0].tables == 12);
        let one =
            GetSchemaInfo { schema_name: Some("public".to_owned()), ..GetSchemaInfo::default() };
        assert!(build_sample_output(tables(12), &one, 10_000).1.contains("\tt11\t"));
        let names = GetSchemaInfo { compact: true, ..GetSchemaInfo::default() };
        let (output, text) = build_sample_output(tables(12), &names, 10_000);
        assert!(
            text.contains("\npublic\tt11\tTABLE\ta\\ttab") && !text.contains("Summary"),
            "{text}"
        );
        assert!(output.tables.unwrap().iter().all(|table| table.columns.is_empty()));
    }

    #[test]
    fn truncated_text_reports_table_counts() {
        let tables = vec![
            sample_table("a", vec![sample_column("x", 0)]),
            sample_table("b", vec![sample_column("x", 0)]),
        ];
        let (output, text) = build_sample_output(tables, &GetSchemaInfo::default(), 200);
        assert!(output.truncated && output.tables.unwrap().len() == 1);
        assert!(text.contains("(truncated: 1 of 2 tables are shown"), "{text}");
    }
}
