//! A model in a folder: a real one makes the vectors that a plain implementation
//! of the formulas in double precision made of the same weights, with the tokenizer
//! of its makers (`fixtures/vectors/minilm.json`).

use std::{
    env,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::json;
use vademecum_core::config::{EmbeddingProvider, Embeddings as Settings};
use vademecum_embed::Embeddings;

use crate::program::{Caller, Library, program};

/// How far a number may be from the one it should be: both are rounded.
const NEAR: f64 = 5e-6;

/// What the model should make.
#[derive(Deserialize)]
struct Reference {
    sentences: Vec<Sentence>,
    cosines: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Sentence {
    text: String,
    begins: Vec<f64>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("fixtures/vectors/minilm.json")).unwrap()
}

/// The folder of a real model, where `tests/minilm` lays it down.
fn minilm() -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_vademecum")).ancestors().nth(2).unwrap();
    let named = env::var_os("VADEMECUM_MINILM").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| target.join("packages/minilm/model"));
    assert!(
        folder.join("model.safetensors").is_file(),
        "there is no model in {}: run `tests/minilm`, which lays one down there, or set \
         VADEMECUM_MINILM to a folder of all-MiniLM-L6-v2",
        folder.display()
    );
    folder
}

fn check(vectors: &[Vec<f64>]) {
    let reference = reference();
    assert_eq!(vectors.len(), reference.sentences.len());
    for (vector, sentence) in vectors.iter().zip(&reference.sentences) {
        assert_eq!(vector.len(), 384);
        for (number, expected) in vector.iter().zip(&sentence.begins) {
            assert!((number - expected).abs() < NEAR, "{number} for {expected}: {}", sentence.text);
        }
    }
    for (vector, cosines) in vectors.iter().zip(&reference.cosines) {
        for (other, expected) in vectors.iter().zip(cosines) {
            let cosine: f64 = vector.iter().zip(other).map(|(left, right)| left * right).sum();
            assert!((cosine - expected).abs() < NEAR, "{cosine} for {expected}");
        }
    }
}

#[test]
fn a_real_model_makes_the_vectors_that_it_should() {
    let folder = minilm();
    let settings = format!("[embeddings]\nprovider = \"local\"\nfolder = {folder:?}");
    let server = Library::new().serve_set(&settings);
    let client = server.client();
    let vectors: Vec<Vec<f64>> = reference()
        .sentences
        .iter()
        .map(|sentence| {
            let made = client.call("generate_embedding", &json!({ "text": sentence.text }));
            assert_eq!((&made["provider"], &made["dimensions"]), (&json!("local"), &json!(384)));
            serde_json::from_value::<Vec<f64>>(made["embedding"].clone()).unwrap()
        })
        .collect();
    check(&vectors);
}

#[test]
fn texts_that_are_indexed_together_have_the_same_vectors() {
    let settings = Settings {
        provider: EmbeddingProvider::Local,
        folder: Some(minilm()),
        batch_size: 3.try_into().unwrap(),
        ..Settings::default()
    };
    let data = tempfile::tempdir().unwrap();
    let embeddings = Embeddings::open(&settings, data.path()).unwrap().unwrap();
    let texts: Vec<String> = reference().sentences.into_iter().map(|it| it.text).collect();
    let vectors = embeddings.embed_documents(&texts).unwrap();
    let wide = |vector: &[f32]| vector.iter().copied().map(f64::from).collect::<Vec<_>>();
    check(&vectors.iter().map(|vector| wide(vector)).collect::<Vec<_>>());
}

#[test]
fn a_folder_without_a_model_is_named_with_what_it_lacks() {
    let library = Library::new();
    let roberta = json!({ "model_type": "roberta" }).to_string();
    for (config, problem) in [(None, "`config.json` is missing"), (Some(roberta), "`roberta`")] {
        if let Some(config) = config {
            library.write("model/config.json", config);
        }
        let folder = library.file("model");
        let settings = format!("[embeddings]\nprovider = \"local\"\nfolder = {folder:?}");
        let file = library.write("settings.toml", settings);
        let done = program()
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(file)
            .arg("--data")
            .arg(library.data())
            .output()
            .unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && said.contains(problem), "{said}");
        assert!(said.contains(folder.to_str().unwrap()), "{said}");
    }
}
