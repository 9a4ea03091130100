//! What a folder says of its model: the sizes of the encoder, and the modules
//! that make one vector of its answer.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{error::FolderError, folder::Folder, pooling::Pooling};

const CONFIG: &str = "config.json";
const MODULES: &str = "modules.json";
const SENTENCES: &str = "sentence_bert_config.json";

/// A model as its folder describes it.
#[derive(Debug)]
pub(super) struct Settings {
    /// The sizes of the encoder.
    pub(super) bert: Bert,
    /// How many pieces of a text are read; what follows is not.
    pub(super) max_tokens: usize,
    /// Whether texts are lower-cased before the tokenizer sees them.
    pub(super) lower_case: bool,
    /// How one vector is made of many.
    pub(super) pooling: Pooling,
}

/// The sizes of a BERT encoder, by their names in `config.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Bert {
    #[serde(default)]
    architectures: Vec<String>,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    /// How long a vector is.
    pub(super) hidden_size: usize,
    /// How many blocks there are.
    pub(super) num_hidden_layers: usize,
    /// How many heads attend in each.
    pub(super) num_attention_heads: usize,
    /// How wide the feed-forward part is.
    pub(super) intermediate_size: usize,
    /// How many pieces are known.
    pub(super) vocab_size: usize,
    /// How many places there are.
    pub(super) max_position_embeddings: usize,
    /// How many kinds of segments are known.
    pub(super) type_vocab_size: usize,
    /// What keeps a variance from being zero.
    pub(super) layer_norm_eps: f32,
    hidden_act: String,
    /// What bends the feed-forward part.
    #[serde(skip)]
    pub(super) activation: Activation,
}

/// What bends the feed-forward part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Activation {
    /// GELU by the error function.
    #[default]
    Gelu,
    /// GELU by the hyperbolic tangent.
    GeluTanh,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl Settings {
    /// Reads them, and refuses what the encoder does not know.
    pub(super) fn read(folder: &mut Folder) -> Result<Self, FolderError> {
        let bert = Bert::read(folder)?;
        let pooling = read_modules(folder, bert.hidden_size)?;
        let sentences: Sentences = folder.optional_json(SENTENCES)?.unwrap_or_default();
        let places = bert.max_position_embeddings;
        let max_tokens = sentences.max_seq_length.unwrap_or(places).min(places);
        if max_tokens < MIN_TOKENS {
            return Err(FolderError::Unsupported {
                file: SENTENCES.to_owned(),
                what: format!("at most {max_tokens} tokens"),
                supported: "a text takes at least three: its beginning, a word, its end",
            });
        }
        Ok(Self { bert, max_tokens, lower_case: sentences.do_lower_case, pooling })
    }
}

/// The fewest tokens in which a text says something: its beginning, a word, its end.
const MIN_TOKENS: usize = 3;

impl Bert {
    fn read(folder: &mut Folder) -> Result<Self, FolderError> {
        /// Says what a model is before it is known to have the sizes of BERT.
        #[derive(Deserialize)]
        struct Kind {
            #[serde(default)]
            model_type: String,
        }

        let config: Value = folder.json(CONFIG)?;
        let malformed = |error: serde_json::Error| FolderError::Malformed {
            file: CONFIG.to_owned(),
            reason: error.to_string(),
        };
        let kind = Kind::deserialize(&config).map_err(malformed)?;
        if kind.model_type != "bert" {
            return Err(unsupported(format!("a model of the type `{}`", kind.model_type)));
        }
        let mut bert = Self::deserialize(config).map_err(malformed)?;
        bert.activation = bert.check()?;
        Ok(bert)
    }

    /// Refuses what is not run here.
    fn check(&self) -> Result<Activation, FolderError> {
        if let Some(other) = self.architectures.iter().find(|it| !it.starts_with("Bert")) {
            return Err(unsupported(format!("the architecture `{other}`")));
        }
        if self.position_embedding_type != absolute() {
            return Err(unsupported(format!("{} positions", self.position_embedding_type)));
        }
        let heads = self.num_attention_heads;
        if heads == 0 || self.hidden_size == 0 || !self.hidden_size.is_multiple_of(heads) {
            return Err(FolderError::Malformed {
                file: CONFIG.to_owned(),
                reason: format!(
                    "hidden_size {} does not part into {heads} heads",
                    self.hidden_size
                ),
            });
        }
        match self.hidden_act.as_str() {
            "gelu" => Ok(Activation::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
            other => Err(unsupported(format!("the activation `{other}`"))),
        }
    }

    /// How long the part of a vector is that one head reads.
    pub(super) fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }
}

fn unsupported(what: String) -> FolderError {
    FolderError::Unsupported {
        file: CONFIG.to_owned(),
        what,
        supported: "a BERT encoder with absolute positions and GELU is",
    }
}

/// What stands in `sentence_bert_config.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sentences {
    max_seq_length: Option<usize>,
    do_lower_case: bool,
}

/// One of the steps from a text to its vector.
#[derive(Debug, Deserialize)]
struct Module {
    #[serde(default)]
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// Reads how one vector is made of many. That it is normalised need not stand
/// there: all vectors are.
fn read_modules(folder: &mut Folder, width: usize) -> Result<Pooling, FolderError> {
    let modules: Vec<Module> = folder.json(MODULES)?;
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
        reason: "there is no Pooling, which makes one vector of many".to_owned(),
    })
}

/// Older files have a switch for each way of pooling, newer ones a name.
#[derive(Debug, Deserialize)]
struct PoolingSettings {
    #[serde(alias = "embedding_dimension")]
    word_embedding_dimension: Option<usize>,
    pooling_mode: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

fn read_pooling(folder: &mut Folder, path: &str, width: usize) -> Result<Pooling, FolderError> {
    let file = format!("{path}/{CONFIG}");
    let settings: PoolingSettings = folder.json(&file)?;
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
        ["cls" | "cls_token"] => Ok(Pooling::First),
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
