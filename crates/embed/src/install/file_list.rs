//! The list of the files of a model on a server.

use serde::Deserialize;

use super::{
    download::Downloader,
    error::InstallError,
    model_file::{DigestKind, FileDigest, ModelFile, is_model_file},
    source::{ModelSource, check_name},
};

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
                (Some(lfs), ..) => (lfs.size, FileDigest::parse(&lfs.sha256, DigestKind::Sha256)),
                (None, Some(size), Some(blob)) => {
                    (size, FileDigest::parse(&blob, DigestKind::GitBlob))
                }
                _ => (0, None),
            };
            let Some(digest) = digest else { return Err(format!("{rfilename} has no digest")) };
            let address = format!("{repository}/resolve/{}/{rfilename}", info.sha);
            files.push(ModelFile { path: rfilename, address, bytes, digest: Some(digest) });
        }
        Ok(Self { files, revision: Some(info.sha) })
    }

    /// Reads lines of a digest and a path, in the form of the list that Linux programs write.
    fn of_checksums(text: &str, folder: &str) -> Result<Self, String> {
        let mut files = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (hex, path) = line.split_once([' ', '\t']).ok_or("a line has no path")?;
            let path = path.trim_start().trim_start_matches('*').trim_start_matches("./");
            if !is_model_file(path) {
                continue;
            }
            let digest = FileDigest::parse(hex, DigestKind::Sha256);
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

#[cfg(test)]
mod tests {
    use super::*;

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
