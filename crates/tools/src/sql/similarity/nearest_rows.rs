//! Nearest-neighbour search over all vector columns of a table.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_sql::{Parameter, ProfileConnection, QueryCaps, Rows, SqlError};

use super::vector_columns::{VectorTable, quote_identifier};

/// Candidates per vector column for each requested row.
const CANDIDATES_PER_ROW: usize = 3;

/// Vector distance metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum DistanceMetric {
    /// Cosine distance: 1 minus the cosine.
    #[default]
    Cosine,
    /// Euclidean distance.
    L2,
    /// Negative inner product.
    InnerProduct,
}

impl DistanceMetric {
    /// Returns the name on the wire.
    pub(super) fn wire_name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::InnerProduct => "inner_product",
        }
    }

    /// Returns the pgvector operator.
    fn operator(self) -> &'static str {
        match self {
            Self::Cosine => "<=>",
            Self::L2 => "<->",
            Self::InnerProduct => "<#>",
        }
    }
}

/// A row that was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NearestRow {
    /// Values of the primary key.
    pub(super) key: Map<String, Value>,
    /// Mean distance of the vector columns, by their weights.
    pub(super) distance: f64,
    /// Texts, in the order of [`VectorTable::text_columns`].
    pub(super) texts: Vec<Option<String>>,
}

/// Returns the nearest rows, nearest first.
///
/// Each vector column is searched separately, so that its index is used; the union is then sorted
/// by the weighted mean of all distances.
pub(super) async fn find_nearest_rows(
    connection: &ProfileConnection,
    table: &VectorTable,
    vector: &[f32],
    metric: DistanceMetric,
    take: usize,
) -> Result<Vec<NearestRow>, SqlError> {
    let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
    let parameters = [Parameter::Text(format!("[{}]", numbers.join(",")))];
    let candidates = take.saturating_mul(CANDIDATES_PER_ROW);
    let caps = connection.profile().query_caps();
    let caps =
        QueryCaps { max_rows: candidates.saturating_mul(table.vector_columns.len()), ..caps };
    let rows = connection
        .run_query(&nearest_statement(table, metric, candidates), &parameters, caps)
        .await?;
    let mut near = merge_rows(table, rows);
    near.truncate(take);
    Ok(near)
}

/// Builds the statement that finds the nearest rows of each vector column.
fn nearest_statement(table: &VectorTable, metric: DistanceMetric, candidates: usize) -> String {
    let distance = |pair: &super::vector_columns::VectorColumn| {
        let (vector, kind, operator) =
            (quote_identifier(&pair.column), &pair.type_name, metric.operator());
        format!("{vector} {operator} $1::text::{kind}")
    };
    let mut columns = vec![if table.is_stored {
        "tableoid::text || ctid::text AS place".to_owned()
    } else {
        "NULL::text AS place".to_owned()
    }];
    for (number, pair) in (1..).zip(&table.vector_columns) {
        columns.push(format!("({})::float8 AS d{number}", distance(pair)));
    }
    for (number, text) in (1..).zip(table.text_columns()) {
        columns.push(format!("{}::text AS t{number}", quote_identifier(text)));
    }
    for (number, key) in (1..).zip(&table.key_columns) {
        columns.push(format!("{} AS k{number}", quote_identifier(key)));
    }
    let (columns, from) = (columns.join(", "), table.quoted_name());
    let of_each: Vec<String> = table
        .vector_columns
        .iter()
        .map(|pair| {
            format!(
                "(SELECT {columns} FROM {from} WHERE {} IS NOT NULL ORDER BY {} LIMIT {candidates})",
                quote_identifier(&pair.column),
                distance(pair)
            )
        })
        .collect();
    of_each.join(" UNION ALL ")
}

/// Merges duplicate rows and sorts them by the weighted mean of their distances. Rows without any
/// distance are dropped.
fn merge_rows(table: &VectorTable, rows: Rows) -> Vec<NearestRow> {
    let (distances, texts) = (table.vector_columns.len(), table.text_columns().len());
    let mut found: HashMap<String, NearestRow> = HashMap::new();
    for row in rows.rows {
        let mut values = row.into_iter();
        let place = values.next().unwrap_or_default();
        let apart: Vec<Option<f64>> = values
            .by_ref()
            .take(distances)
            .map(|it| it.as_f64().filter(|it| it.is_finite()))
            .collect();
        let texts: Vec<Option<String>> =
            values.by_ref().take(texts).map(|it| it.as_str().map(str::to_owned)).collect();
        let key: Map<String, Value> = table.key_columns.iter().cloned().zip(values).collect();
        let (mut sum, mut weights) = (0.0, 0.0);
        for (pair, distance) in table.vector_columns.iter().zip(apart) {
            if let Some(distance) = distance {
                sum += pair.weight * distance;
                weights += pair.weight;
            }
        }
        if weights <= 0.0 {
            continue;
        }
        let same = match place {
            Value::String(place) => place,
            // Rows of a view are identified by their values.
            _ => format!("{key:?} {texts:?}"),
        };
        found.entry(same).or_insert(NearestRow { key, distance: sum / weights, texts });
    }
    let mut near: Vec<(String, NearestRow)> = found.into_iter().collect();
    near.sort_by(|(place, one), (other_place, other)| {
        one.distance.total_cmp(&other.distance).then_with(|| place.cmp(other_place))
    });
    near.into_iter().map(|(_, near)| near).collect()
}
