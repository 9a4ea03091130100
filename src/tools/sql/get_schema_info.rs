//! `get_schema_info`: which tables a database has, and their columns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    asked::{connect, while_wanted},
    told::line,
};
use crate::{
    actors::CallError,
    tools::{Contract, Replied, Toolbox, text},
};
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::schema::{self, Part, Schema, Table, TableColumn, Which};

/// Tables that are shown whole where nobody says which; of more there is a summary.
const MOST_TABLES: usize = 10;
/// Names of tables in the summary of a schema.
const FIRST: usize = 5;
/// The columns of the text.
const HEAD: [&str; 16] = [
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

/// Tells which tables there are.
#[derive(Debug)]
pub struct GetSchemaInfo;

/// Which tables, and how much of them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetSchemaInfoInput {
    /// Only this schema; of `MySQL`, this database.
    schema_name: Option<String>,
    /// Only this table; takes `schema_name`.
    table_name: Option<String>,
    /// Only tables with vectors.
    #[serde(default)]
    vector_tables_only: bool,
    /// Only names, without columns.
    #[serde(default)]
    compact: bool,
    /// Partitions too, not only their tables.
    #[serde(default)]
    include_partitions: bool,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// What there is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GetSchemaInfoOutput {
    /// The database.
    database: String,
    /// How many tables and views there are.
    found: usize,
    /// Whether some of them are not shown.
    truncated: bool,
    /// They, with their columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<Table>>,
    /// They in short, where there are many.
    #[serde(skip_serializing_if = "Option::is_none")]
    schemas: Option<Vec<SchemaSummary>>,
}

/// A schema in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct SchemaSummary {
    schema: String,
    tables: usize,
    first_tables: Vec<String>,
    vector_tables: Vec<String>,
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Summary,
    Names,
    Columns,
}

impl Contract for GetSchemaInfo {
    const NAME: &'static str = "get_schema_info";
    const TITLE: &'static str = "Show tables";
    const DESCRIPTION: &'static str = "List tables, views and columns of a database: call it \
        before query_database. Of more than ten tables it gives a summary, unless schema_name is \
        said.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Input = GetSchemaInfoInput;
    type Output = GetSchemaInfoOutput;

    async fn call(
        toolbox: &Toolbox,
        input: GetSchemaInfoInput,
        call: &Call,
    ) -> Result<Replied<GetSchemaInfoOutput>, CallError> {
        let part = input.part()?;
        let connection = connect(toolbox, call, input.profile.as_deref()).await?;
        let look = |which| while_wanted(call, schema::read(&connection, &part, which));
        let mut found = input.wanted(look(Which::Vectors).await?);
        let detail = input.detail(found.tables.len());
        if detail == Detail::Columns {
            found = input.wanted(look(Which::All).await?);
        }
        let bytes = connection.profile().caps().bytes;
        let database = connection.profile().name().to_owned();
        let (output, page) = show(database, &input, found, detail, bytes);
        let text = toolbox.text(|| page);
        Ok(Replied { output, text, meta: None })
    }
}

impl GetSchemaInfoInput {
    fn part(&self) -> Result<Part, CallError> {
        let said = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        let part = Part { schema: said(&self.schema_name), table: said(&self.table_name) };
        if part.table.is_some() && part.schema.is_none() {
            let problem = "table_name requires schema_name to be specified";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        Ok(part)
    }

    /// What is wanted of what there is.
    fn wanted(&self, found: Schema) -> Schema {
        // Whoever names a partition wants it.
        let with_partitions = self.include_partitions || self.table_name.is_some();
        let tables = found.tables.into_iter();
        let tables = tables
            .filter(|table| with_partitions || !table.is_partition)
            .filter(|table| !self.vector_tables_only || table.has_vectors());
        Schema { tables: tables.collect(), truncated: found.truncated }
    }

    fn detail(&self, tables: usize) -> Detail {
        if self.compact && self.table_name.as_ref().is_none_or(String::is_empty) {
            Detail::Names
        } else if self.is_anything() && tables > MOST_TABLES {
            Detail::Summary
        } else {
            Detail::Columns
        }
    }

    /// Whether nothing was said of which tables.
    fn is_anything(&self) -> bool {
        self.schema_name.as_ref().is_none_or(String::is_empty) && !self.vector_tables_only
    }

    /// What could help who finds nothing.
    fn nothing(&self) -> String {
        let (what, why) = match (&self.table_name, &self.schema_name, self.vector_tables_only) {
            (Some(table), Some(schema), _) => (
                format!("Table '{schema}.{table}' not found."),
                "Its name may be written in another way (upper and lower case count), it may be \
                 in another schema, or have no vectors where only tables with vectors are wanted.",
            ),
            (_, Some(schema), false) => (
                format!("Schema '{schema}' not found, or it has no tables."),
                "Its name may be written in another way: upper and lower case count.",
            ),
            (_, _, true) => (
                "No tables with vector columns found.".to_owned(),
                "Without vector_tables_only all tables are listed.",
            ),
            (_, None, false) => (
                "The database has no tables that this profile can see.".to_owned(),
                "profile_list tells which other databases there are.",
            ),
        };
        format!(
            "No tables found matching your criteria.\n\n{what} {why}\n\nget_schema_info(compact=true) lists all tables."
        )
    }
}

/// The answer and its text, which has so many bytes at most.
fn show(
    database: String,
    input: &GetSchemaInfoInput,
    found: Schema,
    detail: Detail,
    bytes: usize,
) -> (GetSchemaInfoOutput, String) {
    let mut page = format!("Database: {database}\n\n");
    let count = found.tables.len();
    let mut output = GetSchemaInfoOutput {
        database,
        found: count,
        truncated: found.truncated,
        tables: None,
        schemas: None,
    };
    if found.tables.is_empty() {
        page.push_str(&input.nothing());
        output.tables = Some(Vec::new());
        return (output, page);
    }
    if detail == Detail::Summary {
        let schemas = summarised(&found.tables);
        page.push_str(&summary(count, &schemas));
        output.schemas = Some(schemas);
        return (output, page);
    }
    let mut shown = Vec::new();
    let head = if detail == Detail::Names { HEAD.get(..4).unwrap_or(&HEAD) } else { &HEAD };
    page.push_str(&line(head.iter().copied()));
    for mut table in found.tables {
        if detail == Detail::Names {
            table.columns.clear();
        }
        let lines = if detail == Detail::Names { name(&table) } else { columns(&table) };
        if page.len() + lines.len() > bytes && !shown.is_empty() {
            break;
        }
        page.push_str(&lines);
        shown.push(table);
    }
    output.truncated |= shown.len() < count;
    if output.truncated {
        let shown = shown.len();
        text::push(
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

/// The line of a table without its columns.
fn name(table: &Table) -> String {
    format!("\n{}", line([&*table.schema, &table.name, table.kind.name(), &table.description]))
}

/// A line for each column; a table without any has one for itself.
fn columns(table: &Table) -> String {
    if table.columns.is_empty() {
        let cells = [&*table.schema, &table.name, table.kind.name(), &table.description];
        return format!("\n{}", line(cells.into_iter().chain([""; 12])));
    }
    table.columns.iter().map(|it| column(table, it)).collect()
}

fn column(table: &Table, column: &TableColumn) -> String {
    let yes = |said: bool| if said { "true" } else { "false" };
    let dimensions = column.vector_dims.to_string();
    let cells = [
        &*table.schema,
        &table.name,
        table.kind.name(),
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
    format!("\n{}", line(cells))
}

fn summarised(tables: &[Table]) -> Vec<SchemaSummary> {
    let mut schemas: BTreeMap<&str, Vec<&Table>> = BTreeMap::new();
    for table in tables {
        schemas.entry(&table.schema).or_default().push(table);
    }
    schemas
        .into_iter()
        .map(|(schema, tables)| SchemaSummary {
            schema: schema.to_owned(),
            tables: tables.len(),
            first_tables: names(tables.iter().take(FIRST)),
            vector_tables: names(tables.iter().filter(|table| table.has_vectors())),
        })
        .collect()
}

fn names<'a>(tables: impl Iterator<Item = &'a &'a Table>) -> Vec<String> {
    tables.map(|table| table.name.clone()).collect()
}

fn summary(found: usize, schemas: &[SchemaSummary]) -> String {
    let mut page = String::from("Database Schema Summary:\n========================\n\n");
    let count = schemas.len();
    text::push(&mut page, format_args!("Found {found} tables across {count} schemas.\n\n"));
    for SchemaSummary { schema, tables, first_tables, vector_tables } in schemas {
        let first = first_tables.join(", ");
        text::push(
            &mut page,
            format_args!("Schema '{schema}': {tables} tables\n  Tables: {first}"),
        );
        if let Some(more) = tables.checked_sub(first_tables.len()).filter(|more| *more > 0) {
            text::push(&mut page, format_args!(", ... (+{more} more)"));
        }
        page.push('\n');
        if !vector_tables.is_empty() {
            let named = vector_tables.join(", ");
            text::push(&mut page, format_args!("  Vector-enabled: {named}\n"));
        }
        page.push('\n');
    }
    page.push_str("Next:\n");
    for SchemaSummary { schema, .. } in schemas {
        text::push(
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

    fn column_of(name: &str, dimensions: u32) -> TableColumn {
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

    fn table(name: &str, columns: Vec<TableColumn>) -> Table {
        Table {
            schema: "public".to_owned(),
            name: name.to_owned(),
            kind: TableKind::Table,
            description: "a\ttab".to_owned(),
            is_partition: false,
            columns,
        }
    }

    fn shown(
        tables: Vec<Table>,
        input: &GetSchemaInfoInput,
        bytes: usize,
    ) -> (GetSchemaInfoOutput, String) {
        let found = Schema { tables, truncated: false };
        let detail = input.detail(found.tables.len());
        show("shop".to_owned(), input, found, detail, bytes)
    }

    #[test]
    fn each_column_has_a_line_of_sixteen_cells() {
        let tables =
            vec![table("nothing", Vec::new()), table("users", vec![column_of("email", 3)])];
        let (output, text) = shown(tables, &GetSchemaInfoInput::default(), 10_000);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1]), ("Database: shop", ""));
        assert_eq!(lines[2], HEAD.join("\t"));
        assert_eq!(
            lines[4],
            "public\tusers\tTABLE\ta\\ttab\temail\ttext\tYES\ttwo\\nlines\tfalse\ttrue\t\
             public.a.id, public.b.id\ttrue\t\tnow()\ttrue\t3"
        );
        assert!(lines[2..].iter().all(|line| line.matches('\t').count() == 15), "{text}");
        assert!(!output.truncated && output.tables.unwrap().len() == 2);
    }

    #[test]
    fn more_than_ten_tables_are_summed_up_where_nobody_says_which() {
        let tables = |count: usize| -> Vec<Table> {
            (0..count).map(|at| table(&format!("t{at:02}"), vec![column_of("x", 3)])).collect()
        };
        let (_, ten) = shown(tables(10), &GetSchemaInfoInput::default(), 10_000);
        assert!(ten.contains("\tt09\t"), "{ten}");
        let (output, text) = shown(tables(12), &GetSchemaInfoInput::default(), 10_000);
        for said in [
            "Database Schema Summary",
            "Found 12 tables across 1 schemas.",
            "Tables: t00, t01, t02, t03, t04, ... (+7 more)",
            "Vector-enabled: t00, t01",
            "get_schema_info(schema_name=\"public\")",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(output.tables.is_none() && output.schemas.unwrap()[0].tables == 12);
        let one = GetSchemaInfoInput {
            schema_name: Some("public".to_owned()),
            ..GetSchemaInfoInput::default()
        };
        assert!(shown(tables(12), &one, 10_000).1.contains("\tt11\t"));
        let names = GetSchemaInfoInput { compact: true, ..GetSchemaInfoInput::default() };
        let (output, text) = shown(tables(12), &names, 10_000);
        assert!(
            text.contains("\npublic\tt11\tTABLE\ta\\ttab") && !text.contains("Summary"),
            "{text}"
        );
        assert!(output.tables.unwrap().iter().all(|table| table.columns.is_empty()));
    }

    #[test]
    fn what_is_cut_off_is_said() {
        let tables = vec![table("a", vec![column_of("x", 0)]), table("b", vec![column_of("x", 0)])];
        let (output, text) = shown(tables, &GetSchemaInfoInput::default(), 200);
        assert!(output.truncated && output.tables.unwrap().len() == 1);
        assert!(text.contains("(truncated: 1 of 2 tables are shown"), "{text}");
    }
}
