//! A file of a model, with its size and digest.

use std::{fs, path::Path};

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::error::InstallError;

/// Files that a model may have.
const MODEL_FILES: [&str; 6] = [
    "config.json",
    "config_sentence_transformers.json",
    "model.safetensors",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
];
/// A file of a model.
#[derive(Clone, Debug)]
pub(super) struct ModelFile {
    /// Path in the folder of the model, with slashes.
    pub(super) path: String,
    /// Its address; empty for a file of a folder.
    pub(super) address: String,
    /// Its size; 0 if it is unknown.
    pub(super) bytes: u64,
    /// Its digest; none for a file of a folder.
    pub(super) digest: Option<FileDigest>,
}

/// Digest of a file.
#[derive(Clone, Debug)]
pub(super) struct FileDigest {
    /// Lower-case hexadecimal digits.
    pub(super) hex: String,
    /// Algorithm and content.
    pub(super) kind: DigestKind,
}

impl FileDigest {
    /// Reads hexadecimal digits. `None` if they are no digest of this kind.
    pub(super) fn parse(hex: &str, kind: DigestKind) -> Option<Self> {
        let digits = kind.algorithm().output_len() * 2;
        let is_hex = hex.len() == digits && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then(|| Self { hex: hex.to_ascii_lowercase(), kind })
    }
}

/// Algorithm of a digest, and the content that it is computed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DigestKind {
    /// SHA-256 of the content.
    Sha256,
    /// SHA-1 of the content behind the header of a blob of git.
    GitBlob,
}

impl DigestKind {
    /// Returns the algorithm.
    pub(super) fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::Sha256 => &SHA256,
            Self::GitBlob => &SHA1_FOR_LEGACY_USE_ONLY,
        }
    }
}

/// Returns whether the provider may read a file: one of the model's folder, or of a numbered step of its
/// pipeline such as `1_Pooling`.
pub(super) fn is_model_file(path: &str) -> bool {
    let is_step = |folder: &str| {
        let (number, rest) = folder.split_once('_').unwrap_or_default();
        number.bytes().all(|digit| digit.is_ascii_digit())
            && !number.is_empty()
            && rest.bytes().all(|letter| letter.is_ascii_alphanumeric())
    };
    match path.rsplit_once('/') {
        Some((folder, name)) => is_step(folder) && MODEL_FILES.contains(&name),
        None => MODEL_FILES.contains(&path),
    }
}

/// Lists the files of a model in a folder.
pub(super) fn files_in_folder(folder: &Path) -> Result<Vec<ModelFile>, InstallError> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    for depth in 0..2 {
        for inside in std::mem::take(&mut folders) {
            let path = folder.join(&inside);
            let failed = |error| InstallError::file(&path, error);
            for entry in fs::read_dir(&path).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let relative = if inside.is_empty() { name } else { format!("{inside}/{name}") };
                let about = fs::metadata(entry.path()).map_err(failed)?;
                if about.is_dir() && depth == 0 {
                    folders.push(relative);
                } else if about.is_file() && is_model_file(&relative) {
                    let (address, bytes) = (String::new(), about.len());
                    files.push(ModelFile { path: relative, address, bytes, digest: None });
                }
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_steps_belong_to_a_model() {
        for path in ["config.json", "1_Pooling/config.json", "0_StaticEmbedding/model.safetensors"]
        {
            assert!(is_model_file(path), "{path}");
        }
        for path in [
            "",
            "README.md",
            "onnx/model.safetensors",
            "../config.json",
            "/config.json",
            "1_Pooling/../config.json",
            "1_a/b/config.json",
            "1_../config.json",
            "_a/config.json",
            "pytorch_model.bin",
        ] {
            assert!(!is_model_file(path), "{path}");
        }
    }
}
