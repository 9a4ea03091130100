//! The models in the data folder.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use vademecum_core::config::{EmbeddingProvider, Embeddings};
use vademecum_store::create_private_folder;

use super::{
    download::{Downloader, OnBytes},
    error::InstallError,
    file_list::FileList,
    model_file::{ModelFile, files_in_folder},
    source::{ModelSource, check_name},
};
use crate::{Embedder, LocalEmbedder};

/// Name of the file that says where a model comes from.
const RECORD_FILE: &str = "vademecum-model.json";
/// Folder of the models in the data folder.
const MODELS_FOLDER: &str = "models";

/// Installs models into the data folder.
#[derive(Debug)]
pub struct ModelInstaller {
    models: PathBuf,
}

/// An installed model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InstalledModel {
    /// Its name, that of its folder.
    #[serde(skip)]
    pub name: String,
    /// Its folder.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Its source, as [`ModelSource`] shows it.
    pub source: String,
    /// Revision of the repository, if it comes from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Length of its vectors.
    pub dimensions: usize,
    /// Size of its files, in bytes.
    pub bytes: u64,
}

impl ModelInstaller {
    /// Creates the installer for a data folder. The paths of models are absolute.
    pub fn new(data: &Path) -> Self {
        let models = data.join(MODELS_FOLDER);
        Self { models: std::path::absolute(&models).unwrap_or(models) }
    }

    /// Lists the installed models by name.
    pub fn list(&self) -> Result<Vec<InstalledModel>, InstallError> {
        let unreadable = |source| InstallError::file(&self.models, source);
        let entries = match fs::read_dir(&self.models) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(unreadable)?,
        };
        let mut models = Vec::new();
        for entry in entries {
            let folder = entry.map_err(unreadable)?.path();
            let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
            // Hidden folders hold downloads.
            if let Ok(record) = fs::read(folder.join(RECORD_FILE))
                && !name.starts_with('.')
                && let Ok(record) = serde_json::from_slice::<InstalledModel>(&record)
            {
                models.push(InstalledModel { name: name.to_owned(), folder, ..record });
            }
        }
        models.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(models)
    }

    /// Installs a model under the name of the source, or another one, and calls `on_bytes` during the
    /// download. A model of the same name is replaced when the new one is complete.
    ///
    /// Fails if a file is missing, its digest is wrong, the model cannot be loaded, or another installation
    /// of the name runs. What was downloaded until then is kept for the next attempt, except a file with a
    /// wrong digest.
    pub fn install(
        &self,
        source: &ModelSource,
        name: Option<&str>,
        on_bytes: OnBytes<'_>,
    ) -> Result<InstalledModel, InstallError> {
        let name = name.map_or_else(|| source.model_name(), |name| Ok(name.to_owned()))?;
        check_name(&name)?;
        create_private_folder(&self.models)?;
        let (folder, staged) = (self.models.join(&name), self.models.join(format!(".{name}.part")));
        let _lock = self.lock(&name)?;
        let revision = match source {
            ModelSource::Folder(from) => {
                remove_folder(&staged)?;
                copy_model(from, &staged, on_bytes)?;
                None
            }
            ModelSource::Repository { .. } | ModelSource::Address(_) => {
                let downloader = Downloader::new();
                let list = FileList::fetch(&downloader, source)?;
                downloader.fetch_all(&list.files, &staged, on_bytes)?;
                remove_others(&staged, &list.files)?;
                list.revision
            }
        };
        let dimensions = load(&staged)?;
        let bytes = folder_size(&staged)?;
        let installed = InstalledModel {
            name,
            folder: folder.clone(),
            source: source.to_string(),
            revision,
            dimensions,
            bytes,
        };
        let record = staged.join(RECORD_FILE);
        let text = serde_json::to_vec_pretty(&installed).map_err(std::io::Error::other);
        text.and_then(|text| fs::write(&record, text))
            .map_err(|error| InstallError::file(&record, error))?;
        // A server that has the former model in use has read it into memory.
        remove_folder(&folder)?;
        fs::rename(&staged, &folder).map_err(|error| InstallError::file(&folder, error))?;
        Ok(installed)
    }

    /// Removes an installed model. Returns `false` if there is none of this name.
    pub fn remove(&self, name: &str) -> Result<bool, InstallError> {
        check_name(name)?;
        let folder = self.models.join(name);
        if !folder.is_dir() {
            return Ok(false);
        }
        let _lock = self.lock(name)?;
        remove_folder(&folder)?;
        Ok(true)
    }

    /// Locks a name until the file is dropped.
    fn lock(&self, name: &str) -> Result<File, InstallError> {
        let path = self.models.join(format!(".{name}.lock"));
        let failed = |error| InstallError::file(&path, error);
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => {
                Err(InstallError::Running { name: name.to_owned() })
            }
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// Loads a model, as a server does. Returns the length of its vectors.
fn load(folder: &Path) -> Result<usize, InstallError> {
    let settings = Embeddings {
        provider: EmbeddingProvider::Local,
        folder: Some(folder.to_owned()),
        ..Embeddings::default()
    };
    let model = LocalEmbedder::open(&settings)?;
    Ok(model.model().dimensions.unwrap_or_default())
}

/// Copies the files of a model from a folder.
fn copy_model(from: &Path, to: &Path, on_bytes: OnBytes<'_>) -> Result<(), InstallError> {
    let files = files_in_folder(from)?;
    let total = files.iter().map(|file| file.bytes).sum();
    let mut done = 0;
    for ModelFile { path, bytes, .. } in &files {
        let target = to.join(path);
        let failed = |error| InstallError::file(&target, error);
        let folder = target.parent().unwrap_or(to);
        create_private_folder(folder)?;
        let mut source = File::open(from.join(path))
            .map_err(|error| InstallError::file(&from.join(path), error))?;
        let mut copy = File::create(&target).map_err(failed)?;
        std::io::copy(&mut source, &mut copy).and_then(|_| copy.sync_all()).map_err(failed)?;
        done += bytes;
        on_bytes(done, total);
    }
    Ok(())
}

/// Removes files of an earlier list from a download.
fn remove_others(staged: &Path, files: &[ModelFile]) -> Result<(), InstallError> {
    for file in files_in_folder(staged)? {
        if !files.iter().any(|it| it.path == file.path) {
            let path = staged.join(&file.path);
            fs::remove_file(&path).map_err(|error| InstallError::file(&path, error))?;
        }
    }
    Ok(())
}

fn folder_size(folder: &Path) -> Result<u64, InstallError> {
    Ok(files_in_folder(folder)?.iter().map(|file| file.bytes).sum())
}

fn remove_folder(folder: &Path) -> Result<(), InstallError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(InstallError::file(folder, error))
        }
        _ => Ok(()),
    }
}
