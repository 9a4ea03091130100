//! A tiny model in a temporary folder, and a reference implementation of the encoder: the plain
//! formulas in double precision, without a library.

use std::{collections::BTreeMap, fs, path::Path};

use half::{bf16, f16};
use safetensors::{Dtype, tensor::TensorView};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::LocalEmbedder;
use vademecum_core::config::Embeddings;

const WIDTH: usize = 8;
const HEADS: usize = 2;
const INTERMEDIATE_WIDTH: usize = 16;
const BLOCKS: usize = 2;
const POSITIONS: usize = 12;
const EPSILON: f64 = 1e-12;
const WORDS: [&str; 10] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "bread", "dough", "rise", "##s", "cafe", "the"];

/// A matrix as a list of rows.
pub(super) type MatrixRows = Vec<Vec<f64>>;

/// A tiny BERT model on disk.
pub(super) struct TinyModel {
    folder: TempDir,
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

/// Input of the reference implementation.
#[derive(Clone, Copy)]
pub(super) struct ReferenceInput<'a> {
    pub(super) tokens: &'a [u32],
    pub(super) first_only: bool,
    pub(super) tanh: bool,
    /// Position of the first token.
    pub(super) first_position: usize,
}

impl<'a> From<&'a [u32]> for ReferenceInput<'a> {
    fn from(tokens: &'a [u32]) -> Self {
        Self { tokens, first_only: false, tanh: false, first_position: 0 }
    }
}

impl TinyModel {
    /// Creates a complete, valid model.
    pub(super) fn new() -> Self {
        Self::with_tensors(&bert_shapes(), &bert_config_json())
    }

    /// Creates a model with random tensors of these shapes.
    pub(super) fn with_tensors(shapes: &[(String, Vec<usize>)], config: &Value) -> Self {
        let tensors = pseudo_random_tensors(shapes);
        let tiny = Self { folder: tempfile::tempdir().unwrap(), tensors };
        tiny.write_file("config.json", config.to_string());
        tiny.write_file("tokenizer.json", tokenizer_json().to_string());
        tiny.write_file("modules.json", modules_json().to_string());
        tiny.write_file(
            "sentence_bert_config.json",
            r#"{"max_seq_length": 10, "do_lower_case": false}"#,
        );
        tiny.write_file(
            "1_Pooling/config.json",
            r#"{"word_embedding_dimension": 8, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}"#,
        );
        tiny.save_weights();
        tiny
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns settings that select the model.
    pub(super) fn settings(&self) -> Embeddings {
        let folder = Some(self.path().to_owned());
        Embeddings { model: Some("tiny".to_owned()), folder, ..Embeddings::default() }
    }

    pub(super) fn open(&self) -> LocalEmbedder {
        LocalEmbedder::open(&self.settings()).unwrap()
    }

    /// Returns the message of the error with which opening fails.
    pub(super) fn open_error(&self) -> String {
        LocalEmbedder::open(&self.settings()).unwrap_err().to_string()
    }

    pub(super) fn write_file(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn remove_file(&self, file: &str) {
        fs::remove_file(self.path().join(file)).unwrap();
    }

    pub(super) fn read_file(&self, file: &str) -> Vec<u8> {
        fs::read(self.path().join(file)).unwrap()
    }

    pub(super) fn set_json_field(&self, file: &str, field: &str, value: Value) {
        let mut content: Value = serde_json::from_slice(&self.read_file(file)).unwrap();
        content[field] = value;
        self.write_file(file, content.to_string());
    }

    /// Returns a tensor (shape and numbers), to be changed before saving.
    pub(super) fn tensor_mut(&mut self, name: &str) -> &mut (Vec<usize>, Vec<f32>) {
        self.tensors.get_mut(name).unwrap()
    }

    /// Removes a tensor before saving.
    pub(super) fn remove_tensor(&mut self, name: &str) {
        self.tensors.remove(name).unwrap();
    }

    /// Saves the tensors as 32-bit floats.
    pub(super) fn save_weights(&self) {
        self.save_weights_as("", Dtype::F32);
    }

    /// Saves the tensors as `dtype`, with `prefix` before their names.
    pub(super) fn save_weights_as(&self, prefix: &str, dtype: Dtype) {
        let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, (shape, numbers))| {
                let bytes = numbers.iter().flat_map(|number| match dtype {
                    Dtype::F16 => f16::from_f32(*number).to_le_bytes().to_vec(),
                    Dtype::BF16 => bf16::from_f32(*number).to_le_bytes().to_vec(),
                    Dtype::F64 => f64::from(*number).to_le_bytes().to_vec(),
                    _ => number.to_le_bytes().to_vec(),
                });
                (format!("{prefix}{name}"), shape.clone(), bytes.collect())
            })
            .collect();
        let views = tensors.iter().map(|(name, shape, bytes)| {
            (name.as_str(), TensorView::new(dtype, shape.clone(), bytes).unwrap())
        });
        self.write_file("model.safetensors", safetensors::serialize(views, None).unwrap());
    }

    /// Saves the tensors as 32-bit floats, and one of 64-bit integers.
    pub(super) fn save_integers(&self, name: &str, numbers: &[u8]) {
        let floats: Vec<(&String, &[usize], Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, (shape, numbers))| {
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                (name, shape.as_slice(), bytes)
            })
            .collect();
        let floats = floats.iter().map(|(name, shape, bytes)| {
            (name.as_str(), TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap())
        });
        let integers = TensorView::new(Dtype::I64, vec![numbers.len() / 8], numbers).unwrap();
        let all = floats.chain([(name, integers)]);
        self.write_file("model.safetensors", safetensors::serialize(all, None).unwrap());
    }

    /// Adds or replaces a tensor.
    pub(super) fn set_tensor(&mut self, name: &str, shape: Vec<usize>, numbers: Vec<f32>) {
        self.tensors.insert(name.to_owned(), (shape, numbers));
    }

    /// Returns the vector that the formulas give.
    pub(super) fn reference_vector(&self, input: ReferenceInput<'_>) -> Vec<f64> {
        let rows = self.tensor_rows("embeddings.word_embeddings.weight");
        let positions = self.tensor_rows("embeddings.position_embeddings.weight");
        let segment = &self.tensor_rows("embeddings.token_type_embeddings.weight")[0];
        let positions = positions.iter().skip(input.first_position);
        let embedded = input.tokens.iter().zip(positions).map(|(token, position)| {
            let row = &rows[usize::try_from(*token).unwrap()];
            (0..WIDTH).map(|it| row[it] + position[it] + segment[it]).collect()
        });
        let mut rows = self.reference_norm("embeddings.LayerNorm", &embedded.collect());
        for block in 0..BLOCKS {
            rows = self.reference_block(&format!("encoder.layer.{block}"), &rows, input.tanh);
        }
        let pooled = if input.first_only { &rows[..1] } else { &rows[..] };
        let count = f64::from(u32::try_from(pooled.len()).unwrap());
        (0..WIDTH).map(|it| pooled.iter().map(|row| row[it]).sum::<f64>() / count).collect()
    }

    fn reference_block(&self, name: &str, rows: &MatrixRows, tanh: bool) -> MatrixRows {
        let part =
            |which: &str| self.reference_linear(&format!("{name}.attention.self.{which}"), rows);
        let (queries, keys, values) = (part("query"), part("key"), part("value"));
        let size = WIDTH / HEADS;
        let mut attended = vec![vec![0.0; WIDTH]; rows.len()];
        for head in 0..HEADS {
            let span = head * size..(head + 1) * size;
            for (row, query) in queries.iter().enumerate() {
                let weights: Vec<f64> = keys
                    .iter()
                    .map(|key| span.clone().map(|it| query[it] * key[it]).sum::<f64>() / 2.0)
                    .map(f64::exp)
                    .collect();
                let sum: f64 = weights.iter().sum();
                for it in span.clone() {
                    attended[row][it] = weights
                        .iter()
                        .zip(&values)
                        .map(|(weight, value)| weight / sum * value[it])
                        .sum();
                }
            }
        }
        let attended = add_rows(
            &self.reference_linear(&format!("{name}.attention.output.dense"), &attended),
            rows,
        );
        let attended =
            self.reference_norm(&format!("{name}.attention.output.LayerNorm"), &attended);
        let mut wide = self.reference_linear(&format!("{name}.intermediate.dense"), &attended);
        for number in wide.iter_mut().flatten() {
            *number = if tanh { gelu_tanh(*number) } else { gelu(*number) };
        }
        let narrow =
            add_rows(&self.reference_linear(&format!("{name}.output.dense"), &wide), &attended);
        self.reference_norm(&format!("{name}.output.LayerNorm"), &narrow)
    }

    pub(super) fn tensor_rows(&self, name: &str) -> MatrixRows {
        let (shape, numbers) = &self.tensors[name];
        let rows = numbers.chunks(*shape.last().unwrap());
        rows.map(|row| row.iter().copied().map(f64::from).collect()).collect()
    }

    pub(super) fn reference_linear(&self, name: &str, rows: &MatrixRows) -> MatrixRows {
        let weights = self.tensor_rows(&format!("{name}.weight"));
        let bias = &self.bias(name, weights.len());
        let product = |row: &Vec<f64>, weights: &Vec<f64>| -> f64 {
            row.iter().zip(weights).map(|(number, weight)| number * weight).sum()
        };
        rows.iter()
            .map(|row| weights.iter().zip(bias).map(|(it, bias)| product(row, it) + bias).collect())
            .collect()
    }

    /// Returns the bias of a layer; zeros if it has none.
    fn bias(&self, name: &str, width: usize) -> Vec<f64> {
        let name = format!("{name}.bias");
        if self.tensors.contains_key(&name) {
            return self.tensor_rows(&name).remove(0);
        }
        vec![0.0; width]
    }

    pub(super) fn reference_norm(&self, name: &str, rows: &MatrixRows) -> MatrixRows {
        let scale = &self.tensor_rows(&format!("{name}.weight"))[0];
        let bias = &self.bias(name, WIDTH);
        let width = 8.0;
        rows.iter()
            .map(|row| {
                let mean = row.iter().sum::<f64>() / width;
                let variance = row.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / width;
                let size = (variance + EPSILON).sqrt();
                (0..WIDTH).map(|it| (row[it] - mean) / size * scale[it] + bias[it]).collect()
            })
            .collect()
    }
}

pub(super) fn add_rows(left: &MatrixRows, right: &MatrixRows) -> MatrixRows {
    let sum = |(left, right): (&Vec<f64>, &Vec<f64>)| {
        left.iter().zip(right).map(|(a, b)| a + b).collect()
    };
    left.iter().zip(right).map(sum).collect()
}

/// Exact GELU. The error function is summed up by its Maclaurin series.
pub(super) fn gelu(number: f64) -> f64 {
    let at = number / std::f64::consts::SQRT_2;
    let (mut term, mut sum) = (at, at);
    for step in 1..100 {
        term *= -at * at / f64::from(step);
        sum += term / f64::from(2 * step + 1);
    }
    number * 0.5 * (1.0 + sum * std::f64::consts::FRAC_2_SQRT_PI)
}

fn gelu_tanh(number: f64) -> f64 {
    let inner = number + 0.044_715 * number.powi(3);
    number * 0.5 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * inner).tanh())
}

/// Returns the names and shapes of the tensors of the tiny BERT.
fn bert_shapes() -> Vec<(String, Vec<usize>)> {
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![WORDS.len(), WIDTH]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, WIDTH]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![WIDTH]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![WIDTH]),
    ];
    for block in 0..BLOCKS {
        let parts = [
            ("attention.self.query", WIDTH, Some(WIDTH)),
            ("attention.self.key", WIDTH, Some(WIDTH)),
            ("attention.self.value", WIDTH, Some(WIDTH)),
            ("attention.output.dense", WIDTH, Some(WIDTH)),
            ("attention.output.LayerNorm", WIDTH, None),
            ("intermediate.dense", INTERMEDIATE_WIDTH, Some(WIDTH)),
            ("output.dense", WIDTH, Some(INTERMEDIATE_WIDTH)),
            ("output.LayerNorm", WIDTH, None),
        ];
        for (part, out, into) in parts {
            let name = format!("encoder.layer.{block}.{part}");
            shapes.push((format!("{name}.weight"), [out].into_iter().chain(into).collect()));
            shapes.push((format!("{name}.bias"), vec![out]));
        }
    }
    shapes
}

/// Returns pseudo-random tensors from a fixed seed.
fn pseudo_random_tensors(
    shapes: &[(String, Vec<usize>)],
) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let mut seed = 0x2545_f491_u32;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        f32::from(u16::try_from(seed >> 16).unwrap()) / 32_768.0 - 1.0
    };
    let mut numbers = |shape: &[usize]| (0..shape.iter().product()).map(|_| next()).collect();
    shapes.iter().map(|(name, shape)| (name.clone(), (shape.clone(), numbers(shape)))).collect()
}

fn bert_config_json() -> Value {
    json!({
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu",
        "hidden_size": WIDTH, "num_hidden_layers": BLOCKS, "num_attention_heads": HEADS,
        "intermediate_size": INTERMEDIATE_WIDTH, "vocab_size": WORDS.len(), "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
    })
}

fn modules_json() -> Value {
    json!([
        { "idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer" },
        { "idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" },
        { "idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize" },
    ])
}

/// Returns a tokenizer file that pads and truncates to five tokens; the loader must override both.
fn tokenizer_json() -> Value {
    let vocabulary: serde_json::Map<String, Value> =
        WORDS.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    json!({
        "version": "1.0",
        "truncation": { "max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Right" },
        "padding": {
            "strategy": { "Fixed": 5 }, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
        },
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true,
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                { "SpecialToken": { "id": "[CLS]", "type_id": 0 } },
                { "Sequence": { "id": "A", "type_id": 0 } },
                { "SpecialToken": { "id": "[SEP]", "type_id": 0 } },
            ],
            "pair": [
                { "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } },
            ],
            "special_tokens": {
                "[CLS]": { "id": "[CLS]", "ids": [2], "tokens": ["[CLS]"] },
                "[SEP]": { "id": "[SEP]", "ids": [3], "tokens": ["[SEP]"] },
            },
        },
        "decoder": null,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}
