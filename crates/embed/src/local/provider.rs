//! The local model as a provider of vectors.

use std::{fmt, path::Path};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{
    super::{EmbedError, Embedder, Model, Purpose, SetupError},
    encoder::Encoder,
    error::FolderError,
    folder::Folder,
    prompts::Prompts,
    settings::Settings,
    tokenizer::Tokenizer,
    weights::Weights,
};
use vademecum_core::config::Embeddings;

/// A model in a folder of this machine.
pub struct Local {
    model: Model,
    prompts: Prompts,
    tokenizer: Tokenizer,
    encoder: Encoder,
    /// A thread each, so that whoever searches never waits for whoever indexes,
    /// and indexing leaves the other processors alone.
    queries: ThreadPool,
    documents: ThreadPool,
}

impl Local {
    /// Reads the model that the settings name.
    ///
    /// It is called as they say, or as the folder is, and bears a fingerprint of
    /// what was read: vectors of one name can be compared.
    pub fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let folder = settings.folder.as_ref().ok_or(SetupError::NoFolder)?;
        let unusable = |error: FolderError| SetupError::Folder {
            folder: folder.clone(),
            reason: error.to_string(),
        };
        let local = Self::read(folder, settings.model.as_deref()).map_err(unusable)?;
        match (settings.dimensions, local.model.dimensions) {
            (Some(wanted), Some(found)) if wanted.get() != found => {
                let wanted = wanted.get();
                Err(unusable(FolderError::Dimensions { wanted, found }))
            }
            _ => Ok(local),
        }
    }

    fn read(path: &Path, name: Option<&str>) -> Result<Self, FolderError> {
        let mut folder = Folder::new(path);
        let settings = Settings::read(&mut folder)?;
        let prompts = Prompts::read(&mut folder)?;
        let tokenizer = Tokenizer::read(&mut folder, &settings)?;
        let encoder = Encoder::read(&mut Weights::open(&mut folder)?, &settings)?;
        let called = path.file_name().map_or("model".into(), |name| name.to_string_lossy());
        let model = Model {
            provider: "local",
            name: format!("{}@{}", name.unwrap_or(&called), folder.fingerprint().short()),
            dimensions: Some(settings.bert.hidden_size),
        };
        let (queries, documents) = (thread("queries")?, thread("documents")?);
        Ok(Self { model, prompts, tokenizer, encoder, queries, documents })
    }

    fn vectors(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let failed = |error: &dyn fmt::Display| EmbedError::Model(error.to_string());
        let pieces = texts
            .iter()
            .map(|text| self.tokenizer.encode(self.prompts.before(text, purpose)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| failed(&error))?;
        self.encoder.encode(&pieces).map_err(|error| failed(&error))
    }
}

impl Embedder for Local {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let thread = match purpose {
            Purpose::Query => &self.queries,
            Purpose::Document => &self.documents,
        };
        thread.install(|| self.vectors(texts, purpose))
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Local").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A pool of one thread, in which products do not look for others.
fn thread(what: &str) -> Result<ThreadPool, FolderError> {
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
        super::testing::{Asked, Tiny},
        *,
    };

    fn vector(tiny: &Tiny, text: &str) -> Vec<f32> {
        tiny.open().embed(&[text], Purpose::Document).unwrap().remove(0)
    }

    /// Refuses vectors that are not those of the formulas.
    fn compare(vector: &[f32], expected: &[f64]) {
        assert_eq!(vector.len(), expected.len());
        for (number, expected) in vector.iter().zip(expected) {
            assert!((f64::from(*number) - expected).abs() < 1e-5, "{vector:?} for {expected:?}");
        }
    }

    #[test]
    fn vectors_are_those_of_the_formulas_however_many_texts_there_are() {
        let tiny = Tiny::new();
        let cases: [(&str, &[u32]); 5] = [
            ("bread", &[2, 4, 3]),
            ("", &[2, 3]),
            ("The dough rises", &[2, 9, 5, 6, 7, 3]),
            ("Stone", &[2, 1, 3]),
            ("CAFÉ, bread", &[2, 8, 1, 4, 3]),
        ];
        // Forty times over they are too many to go through together.
        let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).cycle().take(200).collect();
        let vectors = tiny.open().embed(&texts, Purpose::Document).unwrap();
        assert_eq!(vectors.len(), texts.len());
        for (vector, (_, pieces)) in vectors.iter().zip(cases.iter().cycle()) {
            compare(vector, &tiny.answer(Asked { pieces, first_only: false, tanh: false }));
        }
    }

    #[test]
    fn pooling_and_activation_are_those_of_the_folder() {
        let tiny = Tiny::new();
        tiny.write("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
        let pieces = &[2, 9, 5, 3];
        compare(
            &vector(&tiny, "the dough"),
            &tiny.answer(Asked { pieces, first_only: true, tanh: false }),
        );
        tiny.write(
            "1_Pooling/config.json",
            r#"{"embedding_dimension": 8, "pooling_mode": "mean"}"#,
        );
        tiny.set("config.json", "hidden_act", json!("gelu_new"));
        compare(
            &vector(&tiny, "the dough"),
            &tiny.answer(Asked { pieces, first_only: false, tanh: true }),
        );
    }

    #[test]
    fn a_text_is_read_up_to_the_length_that_the_folder_says() {
        let tiny = Tiny::new();
        let pieces = &[2, 4, 4, 4, 4, 4, 4, 4, 4, 3];
        let expected = tiny.answer(Asked { pieces, first_only: false, tanh: false });
        compare(&vector(&tiny, &"bread ".repeat(50)), &expected);
        // Beyond the last position there is nothing, whatever the folder says.
        tiny.set("sentence_bert_config.json", "max_seq_length", json!(1_000));
        let pieces = &[2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3];
        let expected = tiny.answer(Asked { pieces, first_only: false, tanh: false });
        compare(&vector(&tiny, &"bread ".repeat(50)), &expected);
    }

    #[test]
    fn what_a_model_wants_to_read_first_stands_before_queries_and_documents() {
        let tiny = Tiny::new();
        let plain = vector(&tiny, "the dough rises");
        tiny.write(
            "config_sentence_transformers.json",
            r#"{"prompts": {"query": "the ", "passage": "bread "}, "default_prompt_name": null}"#,
        );
        let local = tiny.open();
        assert_eq!(local.embed(&["dough rises"], Purpose::Query).unwrap()[0], plain);
        assert_ne!(local.embed(&["dough rises"], Purpose::Document).unwrap()[0], plain);
    }

    #[test]
    fn a_model_that_was_saved_as_part_of_another_is_read_as_well() {
        let tiny = Tiny::new();
        let plain = vector(&tiny, "dough");
        tiny.save_as("bert.", Dtype::F32);
        assert_eq!(vector(&tiny, "dough"), plain);
    }

    #[test]
    fn other_weights_are_another_model() {
        let mut tiny = Tiny::new();
        let before = tiny.open().model().clone();
        assert_eq!(before, tiny.open().model().clone());
        assert_eq!((before.provider, before.dimensions), ("local", Some(8)));
        assert!(before.name.starts_with("tiny@"), "{}", before.name);
        tiny.tensor("encoder.layer.1.output.dense.bias").1[0] += 1.0;
        tiny.save();
        assert_ne!(before, tiny.open().model().clone());
    }

    #[test]
    fn other_dimensions_than_those_of_the_model_are_refused() {
        let dimensions = std::num::NonZeroUsize::new(384);
        let tiny = Tiny::new();
        let error = Local::open(&Embeddings { dimensions, ..tiny.settings() }).unwrap_err();
        assert!(error.to_string().contains("is 384, and the model makes vectors of 8"), "{error}");
        let error = Local::open(&Embeddings { folder: None, ..tiny.settings() }).unwrap_err();
        assert!(error.to_string().contains("embeddings.folder"), "{error}");
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        for file in [
            "config.json",
            "modules.json",
            "1_Pooling/config.json",
            "tokenizer.json",
            "model.safetensors",
        ] {
            let tiny = Tiny::new();
            tiny.remove(file);
            let said = tiny.refusal();
            assert!(said.contains(&format!("`{file}` is missing")), "{said}");
        }
        let tiny = Tiny::new();
        tiny.remove("model.safetensors");
        tiny.write("pytorch_model.bin", "");
        assert!(tiny.refusal().contains("save the model again with safetensors"));
    }

    #[test]
    fn what_is_not_supported_is_named_with_what_is() {
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
            ("config.json", "num_attention_heads", json!(3), "8 does not part into 3 heads"),
            ("config.json", "num_attention_heads", json!(0), "does not part into 0 heads"),
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
            let tiny = Tiny::new();
            tiny.set(file, field, value);
            let said = tiny.refusal();
            assert!(said.contains(words) && said.contains(file), "{said}");
        }
        let tiny = Tiny::new();
        tiny.write("modules.json", r#"[{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}, {"path": "2_Dense", "type": "x.Dense"}]"#);
        assert!(tiny.refusal().contains("`x.Dense` from the folder `2_Dense` as step 2"));
        tiny.write("modules.json", r#"[{"path": "", "type": "x.Transformer"}]"#);
        assert!(tiny.refusal().contains("there is no Pooling"));
    }

    #[test]
    fn weights_that_do_not_fit_are_named_with_their_tensor() {
        let mut tiny = Tiny::new();
        tiny.set("config.json", "intermediate_size", json!(17));
        let said = tiny.refusal();
        assert!(said.contains("`encoder.layer.0.intermediate.dense.weight`"), "{said}");
        assert!(said.contains("[16, 8]") && said.contains("[17, 8]"), "{said}");

        tiny.set("config.json", "intermediate_size", json!(16));
        tiny.set("config.json", "num_hidden_layers", json!(usize::MAX));
        let said = tiny.refusal();
        assert!(said.contains("no tensor `encoder.layer.2.attention.self.query.weight`"), "{said}");

        tiny.set("config.json", "num_hidden_layers", json!(2));
        tiny.save_as("", Dtype::BF16);
        assert!(tiny.refusal().contains("numbers of the type BF16"), "{}", tiny.refusal());

        tiny.tensor("encoder.layer.1.output.LayerNorm.bias").1[3] = f32::NAN;
        tiny.save();
        let said = tiny.refusal();
        assert!(said.contains("`encoder.layer.1.output.LayerNorm.bias`"), "{said}");
        assert!(said.contains("not finite"), "{said}");

        tiny.forget("embeddings.token_type_embeddings.weight");
        tiny.save();
        assert!(tiny.refusal().contains("no tensor `embeddings.token_type_embeddings.weight`"));
    }

    #[test]
    fn a_hostile_file_of_weights_costs_no_more_than_it_is_long() {
        let file = "model.safetensors";
        let tiny = Tiny::new();
        let whole = tiny.read(file);
        tiny.write(file, &whole[..whole.len() - 1]);
        assert!(tiny.refusal().contains("bytes where its header says"), "{}", tiny.refusal());
        tiny.write(file, [u64::MAX.to_le_bytes().as_slice(), b"{}"].concat());
        assert!(tiny.refusal().contains("the header of model.safetensors"), "{}", tiny.refusal());
        tiny.write(file, [1]);
        assert!(tiny.refusal().contains("cannot be read"), "{}", tiny.refusal());
        let header = br#"{"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}}"#;
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        tiny.write(file, [length.as_slice(), header].concat());
        assert!(tiny.refusal().contains("cannot be understood"), "{}", tiny.refusal());
    }

    #[test]
    fn a_tokenizer_of_another_model_is_an_error_and_no_panic() {
        let tiny = Tiny::new();
        tiny.write("tokenizer.json", "{}");
        assert!(tiny.refusal().contains("`tokenizer.json` cannot be understood"));
        let tiny = Tiny::new();
        let tokenizer = String::from_utf8(tiny.read("tokenizer.json")).unwrap();
        tiny.write("tokenizer.json", tokenizer.replace(r#""bread":4"#, r#""bread":4000000000"#));
        let error = tiny.open().embed(&["bread"], Purpose::Query).unwrap_err().to_string();
        assert!(error.contains("the token 4000000000"), "{error}");
    }
}
