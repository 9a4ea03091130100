//! The configuration of a model: sizes of the encoder, truncation and pooling, read from its
//! folder.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{error::FolderError, model_folder::ModelFolder, pooling::Pooling};

const CONFIG: &str = "config.json";
const MODULES: &str = "modules.json";
const SENTENCE_CONFIG: &str = "sentence_bert_config.json";

/// Configuration of a model, from the files in its folder.
#[derive(Debug)]
pub(super) struct ModelSettings {
    /// Sizes of the encoder.
    pub(super) bert: BertConfig,
    /// Maximum number of tokens of a text; the rest is truncated.
    pub(super) max_tokens: usize,
    /// Texts are lower-cased before tokenization.
    pub(super) lower_case: bool,
    /// Pooling of the token rows into one vector.
    pub(super) pooling: Pooling,
}

/// Sizes of a BERT encoder, named as in `config.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct BertConfig {
    #[serde(default)]
    architectures: Vec<String>,
    #[serde(default = "default_position_embedding")]
    position_embedding_type: String,
    /// Length of a row and of the final vector.
    pub(super) hidden_size: usize,
    /// Number of transformer blocks.
    pub(super) num_hidden_layers: usize,
    /// Number of attention heads in each block.
    pub(super) num_attention_heads: usize,
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
    hidden_act: String,
    /// Activation of the feed-forward layer.
    #[serde(skip)]
    pub(super) activation: Activation,
}

/// Activation function of the feed-forward layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Activation {
    /// Exact GELU, by the error function.
    #[default]
    Gelu,
    /// Approximate GELU, by the hyperbolic tangent.
    GeluTanh,
}

fn default_position_embedding() -> String {
    "absolute".to_owned()
}

impl ModelSettings {
    /// Reads the configuration. Fails if the encoder does not support it.
    pub(super) fn read(folder: &mut ModelFolder) -> Result<Self, FolderError> {
        let bert = BertConfig::read(folder)?;
        let pooling = read_modules(folder, bert.hidden_size)?;
        let sentences: SentenceConfig =
            folder.read_optional_json(SENTENCE_CONFIG)?.unwrap_or_default();
        let positions = bert.max_position_embeddings;
        let max_tokens = sentences.max_seq_length.unwrap_or(positions).min(positions);
        if max_tokens < MIN_TOKENS {
            return Err(FolderError::Unsupported {
                file: SENTENCE_CONFIG.to_owned(),
                what: format!("at most {max_tokens} tokens"),
                supported: "at least three are required: start token, one word, end token",
            });
        }
        Ok(Self { bert, max_tokens, lower_case: sentences.do_lower_case, pooling })
    }
}

/// Minimum token limit: start token, one word, end token.
const MIN_TOKENS: usize = 3;

impl BertConfig {
    fn read(folder: &mut ModelFolder) -> Result<Self, FolderError> {
        /// The model type, read first because other types lack the sizes of BERT.
        #[derive(Deserialize)]
        struct Kind {
            #[serde(default)]
            model_type: String,
        }

        let config: Value = folder.read_json(CONFIG)?;
        let malformed = |error: serde_json::Error| FolderError::Malformed {
            file: CONFIG.to_owned(),
            reason: error.to_string(),
        };
        let kind = Kind::deserialize(&config).map_err(malformed)?;
        if kind.model_type != "bert" {
            return Err(unsupported_model(format!("a model of the type `{}`", kind.model_type)));
        }
        let mut bert = Self::deserialize(config).map_err(malformed)?;
        bert.activation = bert.validate()?;
        Ok(bert)
    }

    /// Rejects models that the encoder does not support. Returns the activation.
    fn validate(&self) -> Result<Activation, FolderError> {
        if let Some(other) = self.architectures.iter().find(|it| !it.starts_with("Bert")) {
            return Err(unsupported_model(format!("the architecture `{other}`")));
        }
        if self.position_embedding_type != default_position_embedding() {
            return Err(unsupported_model(format!("{} positions", self.position_embedding_type)));
        }
        let heads = self.num_attention_heads;
        if heads == 0 || self.hidden_size == 0 || !self.hidden_size.is_multiple_of(heads) {
            return Err(FolderError::Malformed {
                file: CONFIG.to_owned(),
                reason: format!(
                    "hidden_size {} is not divisible into {heads} heads",
                    self.hidden_size
                ),
            });
        }
        match self.hidden_act.as_str() {
            "gelu" => Ok(Activation::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
            other => Err(unsupported_model(format!("the activation `{other}`"))),
        }
    }

    /// Returns the length of the part of a row that one head reads.
    pub(super) fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }
}

fn unsupported_model(what: String) -> FolderError {
    FolderError::Unsupported {
        file: CONFIG.to_owned(),
        what,
        supported: "a BERT encoder with absolute positions and GELU is",
    }
}

/// Content of `sentence_bert_config.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
    do_lower_case: bool,
}

/// One step of the pipeline from text to vector, an entry of `modules.json`.
#[derive(Debug, Deserialize)]
struct PipelineModule {
    #[serde(default)]
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// Reads the pipeline and returns its pooling. The normalisation step is optional, because all
/// vectors are normalised anyway.
fn read_modules(folder: &mut ModelFolder, width: usize) -> Result<Pooling, FolderError> {
    let modules: Vec<PipelineModule> = folder.read_json(MODULES)?;
    let mut pooling = None;
    for (step, module) in modules.iter().enumerate() {
        let kind = module.kind.rsplit('.').next().unwrap_or_default();
        match (step, kind) {
            (0, "Transformer") if module.path.is_empty() => {}
            (1, "Pooling") => pooling = Some(read_pooling(folder, &module.path, width)?),
            (2, "Normalize") => {}
            _ => {
                return Err(FolderError::Unsupported {
                    file: MODULES.to_owned(),
                    what: format!(
                        "`{}` from the folder `{}` as step {step}",
                        module.kind, module.path
                    ),
                    supported: "a Transformer in the folder itself, then Pooling, then Normalize are",
                });
            }
        }
    }
    pooling.ok_or_else(|| FolderError::Malformed {
        file: MODULES.to_owned(),
        reason: "there is no Pooling step".to_owned(),
    })
}

/// Pooling configuration: older files have a boolean for each mode, newer ones a name.
#[derive(Debug, Deserialize)]
struct PoolingSettings {
    #[serde(alias = "embedding_dimension")]
    word_embedding_dimension: Option<usize>,
    pooling_mode: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

fn read_pooling(
    folder: &mut ModelFolder,
    path: &str,
    width: usize,
) -> Result<Pooling, FolderError> {
    let file = format!("{path}/{CONFIG}");
    let settings: PoolingSettings = folder.read_json(&file)?;
    if let Some(found) = settings.word_embedding_dimension.filter(|found| *found != width) {
        return Err(FolderError::Malformed {
            file,
            reason: format!("it pools vectors of {found} numbers where `{CONFIG}` says {width}"),
        });
    }
    let switched = settings.rest.iter().filter(|(_, value)| **value == Value::Bool(true));
    let switched = switched.filter_map(|(name, _)| name.strip_prefix("pooling_mode_"));
    let modes: Vec<&str> = settings.pooling_mode.as_deref().into_iter().chain(switched).collect();
    match modes.as_slice() {
        ["mean" | "mean_tokens"] => Ok(Pooling::Mean),
        ["cls" | "cls_token"] => Ok(Pooling::FirstToken),
        other => Err(FolderError::Unsupported {
            file,
            what: format!(
                "pooling by {}",
                if other.is_empty() { "nothing".to_owned() } else { other.join(" and ") }
            ),
            supported: "pooling by either mean or cls is",
        }),
    }
}
