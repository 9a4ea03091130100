//! The files of a model, with their sizes and digests.

use std::{fs, path::Path};

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use serde::Deserialize;

use super::{
    download::Downloader,
    error::InstallError,
    source::{ModelSource, check_name},
};

/// Files that a model may have.
const MODEL_FILES: [&str; 6] = [
    "config.json",
    "config_sentence_transformers.json",
    "model.safetensors",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
];
/// Maximum size of a file and of all, in bytes.
const MAX_BYTES: u64 = 8 << 30;
/// Name of the list in a web folder.
const CHECKSUMS: &str = "SHA256SUMS";

/// The files of a model on a server.
#[derive(Debug)]
pub(super) struct FileList {
    /// The files, small ones first.
    pub(super) files: Vec<ModelFile>,
    /// Commit of the repository.
    pub(super) revision: Option<String>,
}

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

/// What a repository says of a revision.
#[derive(Debug, Deserialize)]
struct RepositoryInfo {
    sha: String,
    siblings: Vec<RepositoryFile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryFile {
    rfilename: String,
    size: Option<u64>,
    blob_id: Option<String>,
    lfs: Option<LargeFile>,
}

#[derive(Debug, Deserialize)]
struct LargeFile {
    sha256: String,
    size: u64,
}

impl FileList {
    /// Fetches the list of a source on a server.
    pub(super) fn fetch(
        downloader: &Downloader,
        source: &ModelSource,
    ) -> Result<Self, InstallError> {
        let (address, mut list) = match source {
            ModelSource::Repository { server, name, revision } => {
                let address = format!("{server}/api/models/{name}/revision/{revision}?blobs=true");
                let text = downloader.fetch_text(&address)?;
                let list = Self::of_repository(&text, &format!("{server}/{name}"));
                (address, list)
            }
            ModelSource::Address(folder) => {
                let address = format!("{folder}/{CHECKSUMS}");
                let text = downloader.fetch_text(&address)?;
                (address, Self::of_checksums(&text, folder))
            }
            ModelSource::Folder(_) => return Ok(Self { files: Vec::new(), revision: None }),
        };
        if let Ok(list) = &mut list {
            list.files.sort_by_key(|file| (file.path.ends_with(".safetensors"), file.bytes));
        }
        list.and_then(Self::check).map_err(|reason| InstallError::Malformed { address, reason })
    }

    /// Reads the answer of a repository. The commit stands in the addresses, so that all files are of one
    /// revision.
    fn of_repository(text: &str, repository: &str) -> Result<Self, String> {
        let info: RepositoryInfo = serde_json::from_str(text).map_err(|error| error.to_string())?;
        check_name(&info.sha).map_err(|_| "its revision is no commit".to_owned())?;
        let mut files = Vec::new();
        for RepositoryFile { rfilename, size, blob_id, lfs } in info.siblings {
            if !is_model_file(&rfilename) {
                continue;
            }
            let (bytes, digest) = match (lfs, size, blob_id) {
                (Some(lfs), ..) => (lfs.size, digest(lfs.sha256, DigestKind::Sha256)),
                (None, Some(size), Some(blob)) => (size, digest(blob, DigestKind::GitBlob)),
                _ => (0, None),
            };
            let Some(digest) = digest else { return Err(format!("{rfilename} has no digest")) };
            let address = format!("{repository}/resolve/{}/{rfilename}", info.sha);
            files.push(ModelFile { path: rfilename, address, bytes, digest: Some(digest) });
        }
        Ok(Self { files, revision: Some(info.sha) })
    }

    /// Reads lines of a digest and a path, as `sha256sum` writes them.
    fn of_checksums(text: &str, folder: &str) -> Result<Self, String> {
        let mut files = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (hex, path) = line.split_once([' ', '\t']).ok_or("a line has no path")?;
            let path = path.trim_start().trim_start_matches('*').trim_start_matches("./");
            if !is_model_file(path) {
                continue;
            }
            let digest = digest(hex.to_owned(), DigestKind::Sha256);
            let Some(digest) = digest else { return Err(format!("{path} has no SHA-256 digest")) };
            let address = format!("{folder}/{path}");
            files.push(ModelFile {
                path: path.to_owned(),
                address,
                bytes: 0,
                digest: Some(digest),
            });
        }
        Ok(Self { files, revision: None })
    }

    /// Fails if the list is none of a model.
    fn check(self) -> Result<Self, String> {
        if !self.files.iter().any(|file| file.path.ends_with("model.safetensors")) {
            return Err(
                "it has no model.safetensors; models in other forms are not read".to_owned()
            );
        }
        if !self.files.iter().any(|file| file.path.ends_with("tokenizer.json")) {
            return Err("it has no tokenizer.json".to_owned());
        }
        let total = self.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes));
        if total.is_none_or(|total| total > MAX_BYTES) {
            return Err(format!("it is larger than {} GB", MAX_BYTES >> 30));
        }
        Ok(self)
    }
}

fn digest(hex: String, kind: DigestKind) -> Option<FileDigest> {
    let digits = kind.algorithm().output_len() * 2;
    let is_hex = hex.len() == digits && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| FileDigest { hex: hex.to_ascii_lowercase(), kind })
}

/// Returns whether the provider may read a file: one of the model's folder, or of a numbered step of its
/// pipeline such as `1_Pooling`.
fn is_model_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_step = |folder: &str| {
        let (number, rest) = folder.split_once('_').unwrap_or_default();
        number.bytes().all(|digit| digit.is_ascii_digit())
            && !number.is_empty()
            && rest.bytes().all(|letter| letter.is_ascii_alphanumeric())
    };
    MODEL_FILES.contains(&name) && (folder.is_empty() || is_step(folder))
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

    #[test]
    fn list_without_digests_or_weights_is_refused() {
        let hex = "a".repeat(64);
        let list = |text: &str| {
            FileList::of_checksums(text, "https://a.example/m").and_then(FileList::check)
        };
        let good = format!("{hex}  model.safetensors\n{hex} *./tokenizer.json\n{hex}  README.md\n");
        assert_eq!(list(&good).unwrap().files.len(), 2);
        for (text, problem) in [
            ("", "no model.safetensors"),
            (&format!("{hex}  model.safetensors"), "no tokenizer.json"),
            ("abc  model.safetensors", "no SHA-256 digest"),
            ("model.safetensors", "no path"),
        ] {
            assert!(list(text).unwrap_err().contains(problem), "{text}");
        }
        let repository = r#"{"sha": "0a", "siblings": [{"rfilename": "model.safetensors"}]}"#;
        let error = FileList::of_repository(repository, "https://a.example/a/b").unwrap_err();
        assert!(error.contains("no digest"), "{error}");
    }
}
