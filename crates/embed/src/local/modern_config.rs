//! The configuration of a ModernBERT encoder in `config.json`.

use serde::Deserialize;
use serde_json::Value;

use super::{
    activation::Activation,
    config_file::{malformed_config, read_activation, unsupported_model},
    error::FolderError,
    head_sizes::HeadSizes,
};

/// Type of the models.
pub(super) const MODEL_TYPE: &str = "modernbert";

/// Name of the blocks that attend to all rows, and of the positions of these blocks.
const FULL_ATTENTION: &str = "full_attention";
const SLIDING_ATTENTION: &str = "sliding_attention";

/// Sizes of a ModernBERT encoder, named as in `config.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ModernConfig {
    #[serde(default)]
    architectures: Vec<String>,
    /// Length of a row and of the final vector.
    pub(super) hidden_size: usize,
    /// Number of transformer blocks.
    pub(super) num_hidden_layers: usize,
    num_attention_heads: usize,
    /// Width of the feed-forward layer after its gates.
    pub(super) intermediate_size: usize,
    /// Number of tokens in the vocabulary.
    pub(super) vocab_size: usize,
    /// Maximum number of tokens of a text.
    pub(super) max_position_embeddings: usize,
    /// Constant that is added to the variance in layer normalisation.
    #[serde(default = "default_norm_eps")]
    pub(super) norm_eps: f32,
    /// Whether layer normalisations have a bias.
    #[serde(default)]
    pub(super) norm_bias: bool,
    /// Whether the layers of attentions have a bias.
    #[serde(default)]
    pub(super) attention_bias: bool,
    /// Whether feed-forward layers have a bias.
    #[serde(default)]
    pub(super) mlp_bias: bool,
    /// Number of rows around a row that it attends to, in blocks that do not attend to all.
    #[serde(default = "default_local_attention")]
    local_attention: usize,
    #[serde(default = "default_global_every")]
    global_attn_every_n_layers: usize,
    /// Kind of each block; newer files have it instead of the number above.
    layer_types: Option<Vec<String>>,
    global_rope_theta: Option<f32>,
    local_rope_theta: Option<f32>,
    /// Bases of the positions by kind of block; newer files have them instead of the two above.
    rope_parameters: Option<Value>,
    #[serde(default = "default_activation")]
    hidden_activation: String,
    /// Activation of the feed-forward layer.
    #[serde(skip)]
    pub(super) activation: Activation,
}

fn default_norm_eps() -> f32 {
    1e-5
}

fn default_local_attention() -> usize {
    128
}

fn default_global_every() -> usize {
    3
}

fn default_activation() -> String {
    "gelu".to_owned()
}

impl ModernConfig {
    /// Reads the content of `config.json`. Fails if the encoder does not support it.
    pub(super) fn read(config: Value) -> Result<Self, FolderError> {
        let mut modern: Self =
            serde_json::from_value(config).map_err(|error| malformed_config(&error))?;
        if let Some(other) = modern.architectures.iter().find(|it| !it.starts_with("ModernBert")) {
            return Err(unsupported_model(format!("the architecture `{other}`")));
        }
        HeadSizes::check(modern.hidden_size, modern.num_attention_heads)?;
        if !modern.heads().size.is_multiple_of(2) {
            let reason = format!("heads of {} numbers have no pairs", modern.heads().size);
            return Err(malformed_config(&reason));
        }
        if modern.global_attn_every_n_layers == 0 {
            return Err(malformed_config(&"global_attn_every_n_layers is 0"));
        }
        for kind in modern.layer_types.iter().flatten() {
            if ![FULL_ATTENTION, SLIDING_ATTENTION].contains(&kind.as_str()) {
                return Err(unsupported_model(format!("a layer of the type `{kind}`")));
            }
        }
        for kind in [FULL_ATTENTION, SLIDING_ATTENTION] {
            let scaling = modern.position_parameter(kind, "rope_type").and_then(Value::as_str);
            if let Some(other) = scaling.filter(|it| *it != "default") {
                return Err(unsupported_model(format!("{other} positions")));
            }
        }
        modern.activation = read_activation(&modern.hidden_activation)?;
        Ok(modern)
    }

    /// Returns the sizes of the heads.
    pub(super) fn heads(&self) -> HeadSizes {
        HeadSizes::new(self.hidden_size, self.num_attention_heads)
    }

    /// Returns whether the rows of a block attend to all others.
    pub(super) fn attends_to_all(&self, block: usize) -> bool {
        match self.layer_types.as_ref().and_then(|types| types.get(block)) {
            Some(kind) => kind == FULL_ATTENTION,
            None => block.is_multiple_of(self.global_attn_every_n_layers),
        }
    }

    /// Returns the maximum distance of a row that another one attends to, in the other blocks.
    pub(super) fn max_distance(&self) -> usize {
        self.local_attention / 2
    }

    /// Returns the base of the positions in blocks that attend to all rows.
    pub(super) fn far_base(&self) -> f32 {
        self.base(FULL_ATTENTION).or(self.global_rope_theta).unwrap_or(160_000.0)
    }

    /// Returns the base of the positions in the other blocks.
    pub(super) fn near_base(&self) -> f32 {
        self.base(SLIDING_ATTENTION).or(self.local_rope_theta).unwrap_or(10_000.0)
    }

    fn base(&self, kind: &str) -> Option<f32> {
        let base = self.position_parameter(kind, "rope_theta")?.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "bases are at most millions")]
        Some(base as f32)
    }

    fn position_parameter(&self, kind: &str, name: &str) -> Option<&Value> {
        self.rope_parameters.as_ref()?.get(kind)?.get(name)
    }
}
