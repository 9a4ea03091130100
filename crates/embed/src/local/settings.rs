//! The configuration of a model: its type, truncation and pooling, read from its folder.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    bert_config::BertConfig,
    config_file::{CONFIG, unsupported_model},
    error::FolderError,
    model_folder::ModelFolder,
    modern_config::{self, ModernConfig},
    pooling::Pooling,
};

const MODULES: &str = "modules.json";
const SENTENCE_CONFIG: &str = "sentence_bert_config.json";

/// Type of a static model in `config.json`, which its authors call model2vec.
const STATIC_TYPE: &str = "model2vec";
/// Maximum number of tokens of a text. Attention takes memory and time for each pair of tokens, and the
/// chunks of documents are shorter.
const MAX_TOKENS: usize = 2_048;

/// Configuration of a model, from the files in its folder.
#[derive(Debug)]
pub(super) struct ModelSettings {
    /// Type of the model, with its sizes.
    pub(super) kind: ModelKind,
    /// Maximum number of tokens of a text; the rest is truncated.
    pub(super) max_tokens: usize,
    /// Texts are lower-cased before tokenization.
    pub(super) lower_case: bool,
}

/// Type of a model.
#[derive(Debug)]
pub(super) enum ModelKind {
    /// BERT, RoBERTa or XLM-RoBERTa.
    Bert(BertConfig, Pooling),
    /// ModernBERT.
    Modern(ModernConfig, Pooling),
    /// A table with a vector for each token.
    Static(StaticFiles),
}

/// The files of a static model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StaticFiles {
    /// Subfolder with the weights and the tokenizer; empty for the folder itself.
    pub(super) path: String,
    /// Name of the table in the weights.
    pub(super) table: &'static str,
    /// Whether tokens of unknown words are left out where there are others.
    pub(super) skips_unknown: bool,
}

impl ModelSettings {
    /// Reads the configuration. Fails if it is not supported.
    pub(super) fn read(folder: &mut ModelFolder) -> Result<Self, FolderError> {
        let config: Option<Value> = folder.read_optional_json(CONFIG)?;
        let field = |name| config.as_ref().and_then(|config| config.get(name)?.as_str());
        let model_type = field("model_type").unwrap_or_default().to_owned();
        if model_type == STATIC_TYPE {
            let (path, table) = (String::new(), "embeddings");
            return Ok(Self::of_table(StaticFiles { path, table, skips_unknown: true }));
        }
        let modules: Option<Vec<PipelineModule>> = folder.read_optional_json(MODULES)?;
        if let Some([first, rest @ ..]) = modules.as_deref()
            && first.name() == "StaticEmbedding"
            && rest.iter().all(|module| module.name() == "Normalize")
        {
            let path = if first.path == "." { "" } else { &first.path };
            let (path, table) = (path.to_owned(), "embedding.weight");
            return Ok(Self::of_table(StaticFiles { path, table, skips_unknown: false }));
        }
        let missing = |file: &str| FolderError::Missing { file: file.to_owned() };
        let config = config.ok_or_else(|| missing(CONFIG))?;
        // The type is checked first: what is missing of another type does not matter.
        let pooling = |folder: &mut _, width| match &modules {
            Some(modules) => read_modules(folder, modules, width),
            None => Err(missing(MODULES)),
        };
        let (kind, positions) = if BertConfig::is_for(&model_type) {
            let bert = BertConfig::read(config)?;
            let positions = bert.max_tokens();
            let pooling = pooling(folder, bert.hidden_size)?;
            (ModelKind::Bert(bert, pooling), positions)
        } else if model_type == modern_config::MODEL_TYPE {
            let modern = ModernConfig::read(config)?;
            let positions = modern.max_position_embeddings;
            let pooling = pooling(folder, modern.hidden_size)?;
            (ModelKind::Modern(modern, pooling), positions)
        } else {
            return Err(unsupported_model(format!("a model of the type `{model_type}`")));
        };
        let sentences: SentenceConfig =
            folder.read_optional_json(SENTENCE_CONFIG)?.unwrap_or_default();
        let max_tokens = sentences.max_seq_length.unwrap_or(positions).min(positions);
        if max_tokens < MIN_TOKENS {
            return Err(FolderError::Unsupported {
                file: SENTENCE_CONFIG.to_owned(),
                what: format!("at most {max_tokens} tokens"),
                supported: "at least three are required: start token, one word, end token",
            });
        }
        let max_tokens = max_tokens.min(MAX_TOKENS);
        Ok(Self { kind, max_tokens, lower_case: sentences.do_lower_case })
    }

    fn of_table(files: StaticFiles) -> Self {
        Self { kind: ModelKind::Static(files), max_tokens: MAX_TOKENS, lower_case: false }
    }
}

/// Minimum token limit: start token, one word, end token.
const MIN_TOKENS: usize = 3;

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

impl PipelineModule {
    /// Returns the name of the class, without that of its Python module.
    fn name(&self) -> &str {
        self.kind.rsplit('.').next().unwrap_or_default()
    }
}

/// Returns the pooling of a pipeline. The normalisation step is optional, because all vectors are normalised
/// anyway.
fn read_modules(
    folder: &mut ModelFolder,
    modules: &[PipelineModule],
    width: usize,
) -> Result<Pooling, FolderError> {
    let mut pooling = None;
    for (step, module) in modules.iter().enumerate() {
        match (step, module.name()) {
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
