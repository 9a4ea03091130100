//! The rows of a table that are nearest to a vector, over all its vectors.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::columns::{Table, quoted};
use vademecum_sql::{Caps, Connection, Parameter, Rows, SqlError};

/// Candidates of each vector for each row that is wanted.
const CANDIDATES: usize = 3;

/// How far two vectors are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum DistanceMetric {
    /// 1 less the cosine.
    #[default]
    Cosine,
    /// The length of the difference.
    L2,
    /// The negative dot product.
    InnerProduct,
}

impl DistanceMetric {
    /// As it is written.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::InnerProduct => "inner_product",
        }
    }

    /// pgvector's operator.
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
pub(super) struct Near {
    /// Its primary key.
    pub(super) key: Map<String, Value>,
    /// The mean of its distances, by the weights of their columns.
    pub(super) distance: f64,
    /// Its texts, in the order of [`Table::shown`].
    pub(super) texts: Vec<Option<String>>,
}

/// The nearest rows, nearest first.
///
/// Each vector is asked for its nearest by itself, so that an index on it is used;
/// what all of them found is put in order by all distances together.
pub(super) async fn nearest(
    connection: &Connection,
    table: &Table,
    vector: &[f32],
    metric: DistanceMetric,
    take: usize,
) -> Result<Vec<Near>, SqlError> {
    let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
    let asked = [Parameter::Text(format!("[{}]", numbers.join(",")))];
    let candidates = take.saturating_mul(CANDIDATES);
    let caps = connection.profile().caps();
    let caps = Caps { rows: candidates.saturating_mul(table.pairs.len()), ..caps };
    let rows = connection.read(&statement(table, metric, candidates), &asked, caps).await?;
    let mut near = in_order(table, rows);
    near.truncate(take);
    Ok(near)
}

/// What asks for the nearest of each vector.
fn statement(table: &Table, metric: DistanceMetric, candidates: usize) -> String {
    let distance = |pair: &super::columns::Pair| {
        let (vector, kind, operator) = (quoted(&pair.vector), &pair.kind, metric.operator());
        format!("{vector} {operator} $1::text::{kind}")
    };
    let mut columns = vec![if table.is_stored {
        "tableoid::text || ctid::text AS place".to_owned()
    } else {
        "NULL::text AS place".to_owned()
    }];
    for (number, pair) in (1..).zip(&table.pairs) {
        columns.push(format!("({})::float8 AS d{number}", distance(pair)));
    }
    for (number, text) in (1..).zip(table.shown()) {
        columns.push(format!("{}::text AS t{number}", quoted(text)));
    }
    for (number, key) in (1..).zip(&table.key) {
        columns.push(format!("{} AS k{number}", quoted(key)));
    }
    let (columns, from) = (columns.join(", "), table.quoted());
    let of_each: Vec<String> = table
        .pairs
        .iter()
        .map(|pair| {
            format!(
                "(SELECT {columns} FROM {from} WHERE {} IS NOT NULL ORDER BY {} LIMIT {candidates})",
                quoted(&pair.vector),
                distance(pair)
            )
        })
        .collect();
    of_each.join(" UNION ALL ")
}

/// The rows once each, by the mean of their distances.
fn in_order(table: &Table, rows: Rows) -> Vec<Near> {
    let (distances, texts) = (table.pairs.len(), table.shown().len());
    let mut found: HashMap<String, Near> = HashMap::new();
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
        let key: Map<String, Value> = table.key.iter().cloned().zip(values).collect();
        let (mut sum, mut weights) = (0.0, 0.0);
        for (pair, distance) in table.pairs.iter().zip(apart) {
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
            // Rows of a view are the same if they say the same.
            _ => format!("{key:?} {texts:?}"),
        };
        found.entry(same).or_insert(Near { key, distance: sum / weights, texts });
    }
    let mut near: Vec<(String, Near)> = found.into_iter().collect();
    near.sort_by(|(place, one), (other_place, other)| {
        one.distance.total_cmp(&other.distance).then_with(|| place.cmp(other_place))
    });
    near.into_iter().map(|(_, near)| near).collect()
}
