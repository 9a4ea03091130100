//! The configuration of a BERT or XLM-RoBERTa encoder in `config.json`.

use serde::Deserialize;
use serde_json::Value;

use super::{
    activation::Activation,
    config_file::{malformed_config, read_activation, unsupported_model},
    error::FolderError,
    head_sizes::HeadSizes,
};

/// Prefixes of the architectures of these types of models.
const ARCHITECTURES: [(&str, &str); 4] = [
    ("bert", "Bert"),
    ("camembert", "Camembert"),
    ("roberta", "Roberta"),
    ("xlm-roberta", "XLMRoberta"),
];

/// Sizes of a BERT encoder, named as in `config.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct BertConfig {
    model_type: String,
    #[serde(default)]
    architectures: Vec<String>,
    #[serde(default = "default_position_embedding")]
    position_embedding_type: String,
    /// Length of a row and of the final vector.
    pub(super) hidden_size: usize,
    /// Number of transformer blocks.
    pub(super) num_hidden_layers: usize,
    /// Number of attention heads in each block.
    num_attention_heads: usize,
    /// Width of the feed-forward layer.
    pub(super) intermediate_size: usize,
    /// Number of tokens in the vocabulary.
    pub(super) vocab_size: usize,
    /// Number of positions.
    pub(super) max_position_embeddings: usize,
    /// Number of segment types.
    pub(super) type_vocab_size: usize,
    /// Constant that is added to the variance in layer normalisation.
    pub(super) layer_norm_eps: f32,
    #[serde(default)]
    pad_token_id: usize,
    hidden_act: String,
    /// Activation of the feed-forward layer.
    #[serde(skip)]
    pub(super) activation: Activation,
}

fn default_position_embedding() -> String {
    "absolute".to_owned()
}

impl BertConfig {
    /// Returns whether models of this type are encoders like BERT.
    pub(super) fn is_for(model_type: &str) -> bool {
        ARCHITECTURES.iter().any(|(known, _)| *known == model_type)
    }

    /// Reads the content of `config.json`. Fails if the encoder does not support it.
    pub(super) fn read(config: Value) -> Result<Self, FolderError> {
        let mut bert: Self =
            serde_json::from_value(config).map_err(|error| malformed_config(&error))?;
        let expected = ARCHITECTURES.iter().find(|(known, _)| *known == bert.model_type);
        let prefix = expected.map_or("Bert", |(_, prefix)| prefix);
        if let Some(other) = bert.architectures.iter().find(|it| !it.starts_with(prefix)) {
            return Err(unsupported_model(format!("the architecture `{other}`")));
        }
        if bert.position_embedding_type != default_position_embedding() {
            return Err(unsupported_model(format!("{} positions", bert.position_embedding_type)));
        }
        HeadSizes::check(bert.hidden_size, bert.num_attention_heads)?;
        if bert.first_position() >= bert.max_position_embeddings {
            return Err(malformed_config(&"there are no positions for tokens"));
        }
        bert.activation = read_activation(&bert.hidden_act)?;
        Ok(bert)
    }

    /// Returns the sizes of the heads.
    pub(super) fn heads(&self) -> HeadSizes {
        HeadSizes::new(self.hidden_size, self.num_attention_heads)
    }

    /// Returns the position of the first token. `RoBERTa` counts from the number of the padding token on.
    pub(super) fn first_position(&self) -> usize {
        if self.model_type == "bert" { 0 } else { self.pad_token_id.saturating_add(1) }
    }

    /// Returns the maximum number of tokens of a text.
    pub(super) fn max_tokens(&self) -> usize {
        self.max_position_embeddings.saturating_sub(self.first_position())
    }
}
