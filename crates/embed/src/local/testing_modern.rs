//! A tiny ModernBERT model, and a reference implementation in double precision.

use serde_json::json;

use super::testing::{MatrixRows, TinyModel, add_rows, gelu};

const WIDTH: usize = 8;
const HEADS: usize = 2;
const HEAD_SIZE: usize = WIDTH / HEADS;
const INTERMEDIATE_WIDTH: usize = 16;
const BLOCKS: usize = 4;
const FAR_BASE: f64 = 160_000.0;
const NEAR_BASE: f64 = 10_000.0;
/// Maximum distance of rows in blocks that do not attend to all.
const DISTANCE: usize = 1;

/// Creates a tiny ModernBERT: the blocks 0 and 3 attend to all rows.
pub(super) fn create() -> TinyModel {
    let mut shapes = vec![
        ("embeddings.tok_embeddings.weight".to_owned(), vec![10, WIDTH]),
        ("embeddings.norm.weight".to_owned(), vec![WIDTH]),
        ("final_norm.weight".to_owned(), vec![WIDTH]),
    ];
    for block in 0..BLOCKS {
        let parts: [(&str, &[usize]); 6] = [
            ("attn_norm", &[WIDTH]),
            ("attn.Wqkv", &[3 * WIDTH, WIDTH]),
            ("attn.Wo", &[WIDTH, WIDTH]),
            ("mlp_norm", &[WIDTH]),
            ("mlp.Wi", &[2 * INTERMEDIATE_WIDTH, WIDTH]),
            ("mlp.Wo", &[WIDTH, INTERMEDIATE_WIDTH]),
        ];
        for (part, shape) in parts.into_iter().filter(|(part, _)| block > 0 || *part != "attn_norm")
        {
            shapes.push((format!("layers.{block}.{part}.weight"), shape.to_vec()));
        }
    }
    let config = json!({
        "architectures": ["ModernBertModel"], "model_type": "modernbert",
        "hidden_activation": "gelu", "hidden_size": WIDTH, "num_hidden_layers": BLOCKS,
        "num_attention_heads": HEADS, "intermediate_size": INTERMEDIATE_WIDTH, "vocab_size": 10,
        "max_position_embeddings": 12, "norm_eps": 1e-12, "norm_bias": false,
        "attention_bias": false, "mlp_bias": false, "global_attn_every_n_layers": 3,
        "local_attention": 2 * DISTANCE, "global_rope_theta": FAR_BASE, "local_rope_theta": NEAR_BASE,
    });
    TinyModel::with_tensors(&shapes, &config)
}

/// Returns the vector that the formulas give: the mean of the rows after the last normalisation.
pub(super) fn reference_vector(tiny: &TinyModel, tokens: &[u32]) -> Vec<f64> {
    let table = tiny.tensor_rows("embeddings.tok_embeddings.weight");
    let rows = tokens.iter().map(|token| table[usize::try_from(*token).unwrap()].clone()).collect();
    let mut rows = tiny.reference_norm("embeddings.norm", &rows);
    for block in 0..BLOCKS {
        let name = format!("layers.{block}");
        let normalised = if block == 0 {
            rows.clone()
        } else {
            tiny.reference_norm(&format!("{name}.attn_norm"), &rows)
        };
        let qkv = tiny.reference_linear(&format!("{name}.attn.Wqkv"), &normalised);
        let attended = attend(&qkv, block % 3 == 0);
        rows = add_rows(&tiny.reference_linear(&format!("{name}.attn.Wo"), &attended), &rows);
        let normalised = tiny.reference_norm(&format!("{name}.mlp_norm"), &rows);
        let wide = tiny.reference_linear(&format!("{name}.mlp.Wi"), &normalised);
        let gated = wide
            .iter()
            .map(|row| {
                let (numbers, gates) = row.split_at(INTERMEDIATE_WIDTH);
                numbers.iter().zip(gates).map(|(number, gate)| gelu(*number) * gate).collect()
            })
            .collect();
        rows = add_rows(&tiny.reference_linear(&format!("{name}.mlp.Wo"), &gated), &rows);
    }
    let rows = tiny.reference_norm("final_norm", &rows);
    let count = f64::from(u32::try_from(rows.len()).unwrap());
    (0..WIDTH).map(|it| rows.iter().map(|row| row[it]).sum::<f64>() / count).collect()
}

/// Computes the attention of rows that hold a query, a key and a value.
fn attend(qkv: &MatrixRows, to_all: bool) -> MatrixRows {
    let base = if to_all { FAR_BASE } else { NEAR_BASE };
    let mut attended = vec![vec![0.0; WIDTH]; qkv.len()];
    for head in 0..HEADS {
        let part = |which: usize, at: usize| -> Vec<f64> {
            let begin = which * WIDTH + head * HEAD_SIZE;
            qkv[at][begin..begin + HEAD_SIZE].to_vec()
        };
        for (at, out) in attended.iter_mut().enumerate() {
            let query = rotate(&part(0, at), at, base);
            let near = (0..qkv.len()).filter(|other| to_all || at.abs_diff(*other) <= DISTANCE);
            let near: Vec<usize> = near.collect();
            let weight = |other: &usize| {
                let key = rotate(&part(1, *other), *other, base);
                let product: f64 = query.iter().zip(&key).map(|(one, other)| one * other).sum();
                (product / 2.0).exp()
            };
            let weights: Vec<f64> = near.iter().map(weight).collect();
            let sum: f64 = weights.iter().sum();
            for (other, weight) in near.iter().zip(&weights) {
                for (it, number) in part(2, *other).iter().enumerate() {
                    out[head * HEAD_SIZE + it] += weight / sum * number;
                }
            }
        }
    }
    attended
}

/// Rotates the pairs of a head: the number `i` and the number `i` of its second half.
fn rotate(head: &[f64], position: usize, base: f64) -> Vec<f64> {
    let half = HEAD_SIZE / 2;
    let mut rotated = head.to_vec();
    for pair in 0..half {
        let number = |of: usize| f64::from(u32::try_from(of).unwrap());
        let angle = number(position) / base.powf(2.0 * number(pair) / number(HEAD_SIZE));
        let (sine, cosine) = angle.sin_cos();
        rotated[pair] = head[pair] * cosine - head[pair + half] * sine;
        rotated[pair + half] = head[pair + half] * cosine + head[pair] * sine;
    }
    rotated
}
