//! The local model as an embedding provider.

use std::{fmt, path::Path};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{
    super::{EmbedError, Embedder, Model, Purpose, SetupError},
    encoder::Encoder,
    error::{EncodeError, FolderError},
    model_folder::ModelFolder,
    prompts::Prompts,
    settings::{ModelKind, ModelSettings},
    static_table::StaticTable,
    tokenizer::Tokenizer,
};
use vademecum_core::config::Embeddings;

/// Embeds texts with a model in a local folder.
pub struct LocalEmbedder {
    model: Model,
    prompts: Prompts,
    tokenizer: Tokenizer,
    vectors: VectorModel,
    /// One thread each, so that queries never wait for indexing and indexing occupies a single
    /// core.
    query_pool: ThreadPool,
    document_pool: ThreadPool,
}

/// The part of a model that turns tokens into vectors.
enum VectorModel {
    Encoder(Encoder),
    Table(StaticTable),
}

impl VectorModel {
    fn read(
        folder: &mut ModelFolder,
        settings: &ModelSettings,
        tokenizer: &Tokenizer,
    ) -> Result<Self, FolderError> {
        Ok(match &settings.kind {
            ModelKind::Bert(bert, pooling) => {
                Self::Encoder(Encoder::read_bert(folder, bert, *pooling)?)
            }
            ModelKind::Modern(modern, pooling) => {
                let max_tokens = settings.max_tokens;
                Self::Encoder(Encoder::read_modern(folder, modern, *pooling, max_tokens)?)
            }
            ModelKind::Static(files) => Self::Table(StaticTable::read(folder, files, tokenizer)?),
        })
    }

    /// Returns the length of a vector.
    fn width(&self) -> usize {
        match self {
            Self::Encoder(encoder) => encoder.width(),
            Self::Table(table) => table.width(),
        }
    }

    /// Returns a vector for each text, in order. The vectors are not normalised.
    fn encode(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EncodeError> {
        match self {
            Self::Encoder(encoder) => encoder.encode(texts),
            Self::Table(table) => table.encode(texts),
        }
    }
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
        let vectors = VectorModel::read(&mut folder, &settings, &tokenizer)?;
        let called = path.file_name().map_or("model".into(), |name| name.to_string_lossy());
        let model = Model {
            provider: "local",
            name: format!("{}@{}", name.unwrap_or(&called), folder.fingerprint().short_hex()),
            dimensions: Some(vectors.width()),
        };
        let (queries, documents) =
            (single_thread_pool("queries")?, single_thread_pool("documents")?);
        Ok(Self {
            model,
            prompts,
            tokenizer,
            vectors,
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
        self.vectors.encode(&tokens).map_err(|error| failed(&error))
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
        super::{
            testing::{ReferenceInput, TinyModel},
            testing_modern,
        },
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
            assert_close(vector, &tiny.reference_vector((*tokens).into()));
        }
    }

    #[test]
    fn xlm_roberta_counts_positions_from_the_padding_token() {
        let tiny = TinyModel::new();
        tiny.set_json_field("config.json", "model_type", json!("xlm-roberta"));
        tiny.set_json_field("config.json", "architectures", json!(["XLMRobertaModel"]));
        tiny.set_json_field("config.json", "pad_token_id", json!(1));
        tiny.save_weights_as("roberta.", Dtype::F32);
        let input = ReferenceInput { first_position: 2, ..[2, 9, 5, 6, 7, 3].as_slice().into() };
        assert_close(&embed_document(&tiny, "The dough rises"), &tiny.reference_vector(input));
        // Of 12 positions, 10 are left for tokens.
        let tokens = [2, 4, 4, 4, 4, 4, 4, 4, 4, 3].as_slice();
        let expected = ReferenceInput { first_position: 2, ..tokens.into() };
        let vector = tiny.reference_vector(expected);
        assert_close(&embed_document(&tiny, &"bread ".repeat(50)), &vector);
    }

    #[test]
    fn modern_bert_equals_reference() {
        let tiny = testing_modern::create();
        for (text, tokens) in [
            ("bread", &[2, 4, 3][..]),
            ("the dough rises", &[2, 9, 5, 6, 7, 3]),
            ("bread bread dough the rise rise", &[2, 4, 4, 5, 9, 6, 6, 3]),
        ] {
            let expected = testing_modern::reference_vector(&tiny, tokens);
            assert_close(&embed_document(&tiny, text), &expected);
        }
        tiny.set_json_field("config.json", "layer_types", json!(vec!["full_attention"; 4]));
        assert_ne!(embed_document(&tiny, "the dough rises bread"), {
            let near = testing_modern::create();
            embed_document(&near, "the dough rises bread")
        });
        tiny.set_json_field("config.json", "layer_types", json!(vec!["linear_attention"; 4]));
        assert!(tiny.open_error().contains("a layer of the type `linear_attention`"));
    }

    /// Creates a static model whose table has the numbers 0, 1, 2 … in rows of two.
    fn static_model(rows: u16) -> TinyModel {
        let config = json!({ "model_type": "model2vec", "architectures": ["StaticModel"] });
        let mut tiny = TinyModel::with_tensors(&[], &config);
        let numbers = (0..2 * rows).map(f32::from).collect();
        tiny.set_tensor("embeddings", vec![rows.into(), 2], numbers);
        tiny.save_weights();
        tiny.remove_file("modules.json");
        tiny
    }

    #[test]
    fn static_vector_is_mean_of_rows_without_unknown_words() {
        let mut tiny = static_model(10);
        assert_eq!(tiny.open().model().dimensions, Some(2));
        // The rows 4 and 5, without start and end; `stone` is unknown, whose row is 1.
        assert_eq!(embed_document(&tiny, "bread stone dough"), [9.0, 10.0]);
        assert_eq!(embed_document(&tiny, "stone"), [2.0, 3.0]);
        // Each token has a weight.
        tiny.set_tensor("weights", vec![10], (0_u16..10).map(f32::from).collect());
        tiny.save_weights();
        assert_eq!(embed_document(&tiny, "bread dough"), [41.0, 45.5]);
    }

    #[test]
    fn static_table_of_sentence_transformers_is_read_from_its_folder() {
        let tiny = static_model(10);
        let path = "0_StaticEmbedding";
        tiny.write_file(&format!("{path}/tokenizer.json"), tiny.read_file("tokenizer.json"));
        let mut other = TinyModel::with_tensors(&[], &json!({}));
        other.set_tensor("embedding.weight", vec![10, 1], (0_u16..10).map(f32::from).collect());
        other.save_weights_as("", Dtype::F16);
        tiny.write_file(&format!("{path}/model.safetensors"), other.read_file("model.safetensors"));
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            tiny.remove_file(file);
        }
        let modules =
            json!([{ "path": path, "type": "sentence_transformers.models.StaticEmbedding" }]);
        tiny.write_file("modules.json", modules.to_string());
        // Unknown words have a row too.
        assert_eq!(embed_document(&tiny, "bread stone bread"), [(4.0 + 1.0 + 4.0) / 3.0]);
        let outside = json!([{ "path": "../x", "type": "x.StaticEmbedding" }]);
        tiny.write_file("modules.json", outside.to_string());
        assert!(tiny.open_error().contains("outside the folder"), "{}", tiny.open_error());
    }

    #[test]
    fn static_table_must_have_a_row_for_each_token() {
        let tiny = static_model(9);
        let error = tiny.open_error();
        assert!(error.contains("[9, 2]") && error.contains("[10, 2]"), "{error}");
        // Tokens may share rows.
        let numbers = [0_i64, 0, 0, 0, 1, 8, 0, 0, 0, 0].map(i64::to_le_bytes).concat();
        tiny.save_integers("mapping", &numbers);
        assert_eq!(embed_document(&tiny, "bread dough"), [9.0, 10.0]);
        tiny.save_integers("mapping", &[-1_i64; 10].map(i64::to_le_bytes).concat());
        let error = tiny.open().embed(&["bread"], Purpose::Query).unwrap_err().to_string();
        assert!(error.contains("the token 4"), "{error}");
    }

    #[test]
    fn pooling_and_activation_follow_configuration() {
        let tiny = TinyModel::new();
        tiny.write_file("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
        let tokens = [2, 9, 5, 3].as_slice();
        assert_close(
            &embed_document(&tiny, "the dough"),
            &tiny.reference_vector(ReferenceInput { first_only: true, ..tokens.into() }),
        );
        tiny.write_file(
            "1_Pooling/config.json",
            r#"{"embedding_dimension": 8, "pooling_mode": "mean"}"#,
        );
        tiny.set_json_field("config.json", "hidden_act", json!("gelu_new"));
        assert_close(
            &embed_document(&tiny, "the dough"),
            &tiny.reference_vector(ReferenceInput { tanh: true, ..tokens.into() }),
        );
    }

    #[test]
    fn text_is_truncated_to_maximum_length() {
        let tiny = TinyModel::new();
        let tokens = [2, 4, 4, 4, 4, 4, 4, 4, 4, 3].as_slice();
        let expected = tiny.reference_vector(tokens.into());
        assert_close(&embed_document(&tiny, &"bread ".repeat(50)), &expected);
        // The number of positions bounds the length, whatever the folder says.
        tiny.set_json_field("sentence_bert_config.json", "max_seq_length", json!(1_000));
        let tokens = [2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3].as_slice();
        let expected = tiny.reference_vector(tokens.into());
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
    fn numbers_of_16_and_64_bits_are_converted() {
        let tiny = TinyModel::new();
        let plain = embed_document(&tiny, "dough");
        tiny.save_weights_as("", Dtype::F64);
        assert_eq!(embed_document(&tiny, "dough"), plain);
        for dtype in [Dtype::F16, Dtype::BF16] {
            tiny.save_weights_as("", dtype);
            let vector = embed_document(&tiny, "dough");
            let difference = vector.iter().zip(&plain).map(|(one, other)| (one - other).abs());
            assert!(difference.fold(0.0, f32::max) < 0.1, "{vector:?} for {plain:?}");
        }
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
            ("config.json", "model_type", json!("mpnet"), "the type `mpnet`"),
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
        tiny.save_weights_as("", Dtype::I32);
        assert!(tiny.open_error().contains("numbers of the type I32"), "{}", tiny.open_error());

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
