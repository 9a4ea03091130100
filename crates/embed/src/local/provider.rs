//! The local model as an embedding provider.

use std::{fmt, path::Path};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{
    super::{EmbedError, Embedder, Model, Purpose, SetupError},
    encoder::Encoder,
    error::FolderError,
    model_folder::ModelFolder,
    prompts::Prompts,
    settings::ModelSettings,
    tokenizer::Tokenizer,
    weights::ModelWeights,
};
use vademecum_core::config::Embeddings;

/// Embeds texts with a model in a local folder.
pub struct LocalEmbedder {
    model: Model,
    prompts: Prompts,
    tokenizer: Tokenizer,
    encoder: Encoder,
    /// One thread each, so that queries never wait for indexing and indexing occupies a single
    /// core.
    query_pool: ThreadPool,
    document_pool: ThreadPool,
}

impl LocalEmbedder {
    /// Loads the model from the folder of the settings.
    ///
    /// Its name is that of the settings or the folder, with a fingerprint of all files that were
    /// read appended, so that vectors are comparable if names are equal.
    pub fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let folder = settings.folder.as_ref().ok_or(SetupError::NoFolder)?;
        let unusable = |error: FolderError| SetupError::Folder {
            folder: folder.clone(),
            reason: error.to_string(),
        };
        let local = Self::read_model(folder, settings.model.as_deref()).map_err(unusable)?;
        match (settings.dimensions, local.model.dimensions) {
            (Some(configured), Some(found)) if configured.get() != found => {
                let configured = configured.get();
                Err(unusable(FolderError::Dimensions { configured, found }))
            }
            _ => Ok(local),
        }
    }

    fn read_model(path: &Path, name: Option<&str>) -> Result<Self, FolderError> {
        let mut folder = ModelFolder::new(path);
        let settings = ModelSettings::read(&mut folder)?;
        let prompts = Prompts::read(&mut folder)?;
        let tokenizer = Tokenizer::read(&mut folder, &settings)?;
        let encoder = Encoder::read(&mut ModelWeights::open(&mut folder)?, &settings)?;
        let called = path.file_name().map_or("model".into(), |name| name.to_string_lossy());
        let model = Model {
            provider: "local",
            name: format!("{}@{}", name.unwrap_or(&called), folder.fingerprint().short_hex()),
            dimensions: Some(settings.bert.hidden_size),
        };
        let (queries, documents) =
            (single_thread_pool("queries")?, single_thread_pool("documents")?);
        Ok(Self {
            model,
            prompts,
            tokenizer,
            encoder,
            query_pool: queries,
            document_pool: documents,
        })
    }

    fn embed_texts(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let failed = |error: &dyn fmt::Display| EmbedError::LocalModel(error.to_string());
        let tokens = texts
            .iter()
            .map(|text| self.tokenizer.encode(self.prompts.prepend_prompt(text, purpose)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| failed(&error))?;
        self.encoder.encode(&tokens).map_err(|error| failed(&error))
    }
}

impl Embedder for LocalEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let thread = match purpose {
            Purpose::Query => &self.query_pool,
            Purpose::Document => &self.document_pool,
        };
        thread.install(|| self.embed_texts(texts, purpose))
    }
}

impl fmt::Debug for LocalEmbedder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Local").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Creates a pool of one thread, so that matrix products are not spread over other cores.
fn single_thread_pool(what: &str) -> Result<ThreadPool, FolderError> {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let name = format!("embed-{what}");
    builder
        .thread_name(move |_| name.clone())
        .build()
        .map_err(|error| FolderError::NoThread(error.to_string()))
}

#[cfg(test)]
mod tests {
    use safetensors::Dtype;
    use serde_json::json;

    use super::{
        super::testing::{ReferenceInput, TinyModel},
        *,
    };

    fn embed_document(tiny: &TinyModel, text: &str) -> Vec<f32> {
        tiny.open().embed(&[text], Purpose::Document).unwrap().remove(0)
    }

    /// Asserts that a vector equals the reference computation.
    fn assert_close(vector: &[f32], expected: &[f64]) {
        assert_eq!(vector.len(), expected.len());
        for (number, expected) in vector.iter().zip(expected) {
            assert!((f64::from(*number) - expected).abs() < 1e-5, "{vector:?} for {expected:?}");
        }
    }

    #[test]
    fn vectors_equal_reference_for_any_batch_size() {
        let tiny = TinyModel::new();
        let cases: [(&str, &[u32]); 5] = [
            ("bread", &[2, 4, 3]),
            ("", &[2, 3]),
            ("The dough rises", &[2, 9, 5, 6, 7, 3]),
            ("Stone", &[2, 1, 3]),
            ("CAFÉ, bread", &[2, 8, 1, 4, 3]),
        ];
        // Two hundred texts exceed one batch of the encoder.
        let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).cycle().take(200).collect();
        let vectors = tiny.open().embed(&texts, Purpose::Document).unwrap();
        assert_eq!(vectors.len(), texts.len());
        for (vector, (_, tokens)) in vectors.iter().zip(cases.iter().cycle()) {
            assert_close(
                vector,
                &tiny.reference_vector(ReferenceInput { tokens, first_only: false, tanh: false }),
            );
        }
    }

    #[test]
    fn pooling_and_activation_follow_configuration() {
        let tiny = TinyModel::new();
        tiny.write_file("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
        let tokens = &[2, 9, 5, 3];
        assert_close(
            &embed_document(&tiny, "the dough"),
            &tiny.reference_vector(ReferenceInput { tokens, first_only: true, tanh: false }),
        );
        tiny.write_file(
            "1_Pooling/config.json",
            r#"{"embedding_dimension": 8, "pooling_mode": "mean"}"#,
        );
        tiny.set_json_field("config.json", "hidden_act", json!("gelu_new"));
        assert_close(
            &embed_document(&tiny, "the dough"),
            &tiny.reference_vector(ReferenceInput { tokens, first_only: false, tanh: true }),
        );
    }

    #[test]
    fn text_is_truncated_to_maximum_length() {
        let tiny = TinyModel::new();
        let tokens = &[2, 4, 4, 4, 4, 4, 4, 4, 4, 3];
        let expected =
            tiny.reference_vector(ReferenceInput { tokens, first_only: false, tanh: false });
        assert_close(&embed_document(&tiny, &"bread ".repeat(50)), &expected);
        // The number of positions bounds the length, whatever the folder says.
        tiny.set_json_field("sentence_bert_config.json", "max_seq_length", json!(1_000));
        let tokens = &[2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3];
        let expected =
            tiny.reference_vector(ReferenceInput { tokens, first_only: false, tanh: false });
        assert_close(&embed_document(&tiny, &"bread ".repeat(50)), &expected);
    }

    #[test]
    fn prompts_are_prepended_to_queries_and_documents() {
        let tiny = TinyModel::new();
        let plain = embed_document(&tiny, "the dough rises");
        tiny.write_file(
            "config_sentence_transformers.json",
            r#"{"prompts": {"query": "the ", "passage": "bread "}, "default_prompt_name": null}"#,
        );
        let local = tiny.open();
        assert_eq!(local.embed(&["dough rises"], Purpose::Query).unwrap()[0], plain);
        assert_ne!(local.embed(&["dough rises"], Purpose::Document).unwrap()[0], plain);
    }

    #[test]
    fn prefixed_tensor_names_are_accepted() {
        let tiny = TinyModel::new();
        let plain = embed_document(&tiny, "dough");
        tiny.save_weights_as("bert.", Dtype::F32);
        assert_eq!(embed_document(&tiny, "dough"), plain);
    }

    #[test]
    fn changed_weights_change_model_name() {
        let mut tiny = TinyModel::new();
        let before = tiny.open().model().clone();
        assert_eq!(before, tiny.open().model().clone());
        assert_eq!((before.provider, before.dimensions), ("local", Some(8)));
        assert!(before.name.starts_with("tiny@"), "{}", before.name);
        tiny.tensor_mut("encoder.layer.1.output.dense.bias").1[0] += 1.0;
        tiny.save_weights();
        assert_ne!(before, tiny.open().model().clone());
    }

    #[test]
    fn mismatched_dimensions_are_rejected() {
        let dimensions = std::num::NonZeroUsize::new(384);
        let tiny = TinyModel::new();
        let error = LocalEmbedder::open(&Embeddings { dimensions, ..tiny.settings() }).unwrap_err();
        assert!(error.to_string().contains("is 384, and the model makes vectors of 8"), "{error}");
        let error =
            LocalEmbedder::open(&Embeddings { folder: None, ..tiny.settings() }).unwrap_err();
        assert!(error.to_string().contains("embeddings.folder"), "{error}");
    }

    #[test]
    fn missing_file_is_named() {
        for file in [
            "config.json",
            "modules.json",
            "1_Pooling/config.json",
            "tokenizer.json",
            "model.safetensors",
        ] {
            let tiny = TinyModel::new();
            tiny.remove_file(file);
            let error = tiny.open_error();
            assert!(error.contains(&format!("`{file}` is missing")), "{error}");
        }
        let tiny = TinyModel::new();
        tiny.remove_file("model.safetensors");
        tiny.write_file("pytorch_model.bin", "");
        assert!(tiny.open_error().contains("save the model again with safetensors"));
    }

    #[test]
    fn unsupported_settings_are_named_with_alternatives() {
        let pooling = "1_Pooling/config.json";
        for (file, field, value, words) in [
            ("config.json", "model_type", json!("roberta"), "the type `roberta`"),
            ("config.json", "architectures", json!(["XlmModel"]), "the architecture `XlmModel`"),
            (
                "config.json",
                "position_embedding_type",
                json!("relative_key"),
                "relative_key positions",
            ),
            ("config.json", "hidden_act", json!("relu"), "the activation `relu`"),
            ("config.json", "num_attention_heads", json!(3), "8 is not divisible into 3 heads"),
            ("config.json", "num_attention_heads", json!(0), "is not divisible into 0 heads"),
            (
                pooling,
                "pooling_mode_max_tokens",
                json!(true),
                "pooling by max_tokens and mean_tokens",
            ),
            (pooling, "pooling_mode_mean_tokens", json!(false), "pooling by nothing"),
            (pooling, "word_embedding_dimension", json!(9), "vectors of 9 numbers"),
            ("sentence_bert_config.json", "max_seq_length", json!(2), "at most 2 tokens"),
        ] {
            let tiny = TinyModel::new();
            tiny.set_json_field(file, field, value);
            let error = tiny.open_error();
            assert!(error.contains(words) && error.contains(file), "{error}");
        }
        let tiny = TinyModel::new();
        tiny.write_file("modules.json", r#"[{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}, {"path": "2_Dense", "type": "x.Dense"}]"#);
        assert!(tiny.open_error().contains("`x.Dense` from the folder `2_Dense` as step 2"));
        tiny.write_file("modules.json", r#"[{"path": "", "type": "x.Transformer"}]"#);
        assert!(tiny.open_error().contains("there is no Pooling"));
    }

    #[test]
    fn mismatched_weights_are_named_by_tensor() {
        let mut tiny = TinyModel::new();
        tiny.set_json_field("config.json", "intermediate_size", json!(17));
        let error = tiny.open_error();
        assert!(error.contains("`encoder.layer.0.intermediate.dense.weight`"), "{error}");
        assert!(error.contains("[16, 8]") && error.contains("[17, 8]"), "{error}");

        tiny.set_json_field("config.json", "intermediate_size", json!(16));
        tiny.set_json_field("config.json", "num_hidden_layers", json!(usize::MAX));
        let error = tiny.open_error();
        assert!(
            error.contains("no tensor `encoder.layer.2.attention.self.query.weight`"),
            "{error}"
        );

        tiny.set_json_field("config.json", "num_hidden_layers", json!(2));
        tiny.save_weights_as("", Dtype::BF16);
        assert!(tiny.open_error().contains("numbers of the type BF16"), "{}", tiny.open_error());

        tiny.tensor_mut("encoder.layer.1.output.LayerNorm.bias").1[3] = f32::NAN;
        tiny.save_weights();
        let error = tiny.open_error();
        assert!(error.contains("`encoder.layer.1.output.LayerNorm.bias`"), "{error}");
        assert!(error.contains("not finite"), "{error}");

        tiny.remove_tensor("embeddings.token_type_embeddings.weight");
        tiny.save_weights();
        assert!(tiny.open_error().contains("no tensor `embeddings.token_type_embeddings.weight`"));
    }

    #[test]
    fn malicious_weights_cannot_exhaust_memory() {
        let file = "model.safetensors";
        let tiny = TinyModel::new();
        let whole = tiny.read_file(file);
        tiny.write_file(file, &whole[..whole.len() - 1]);
        assert!(tiny.open_error().contains("bytes where its header says"), "{}", tiny.open_error());
        tiny.write_file(file, [u64::MAX.to_le_bytes().as_slice(), b"{}"].concat());
        assert!(
            tiny.open_error().contains("the header of model.safetensors"),
            "{}",
            tiny.open_error()
        );
        tiny.write_file(file, [1]);
        assert!(tiny.open_error().contains("cannot be read"), "{}", tiny.open_error());
        let header = br#"{"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}}"#;
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        tiny.write_file(file, [length.as_slice(), header].concat());
        assert!(tiny.open_error().contains("cannot be understood"), "{}", tiny.open_error());
    }

    #[test]
    fn foreign_tokenizer_returns_error() {
        let tiny = TinyModel::new();
        tiny.write_file("tokenizer.json", "{}");
        assert!(tiny.open_error().contains("`tokenizer.json` cannot be understood"));
        let tiny = TinyModel::new();
        let tokenizer = String::from_utf8(tiny.read_file("tokenizer.json")).unwrap();
        tiny.write_file(
            "tokenizer.json",
            tokenizer.replace(r#""bread":4"#, r#""bread":4000000000"#),
        );
        let error = tiny.open().embed(&["bread"], Purpose::Query).unwrap_err().to_string();
        assert!(error.contains("the token 4000000000"), "{error}");
    }
}
