//! Installation of models for the local provider: from a model repository, a web folder with checksums, or
//! a folder (`docs/adr/0085-installing-models.md`).
//!
//! Files are downloaded into a folder beside the models, one after the other, and a download that stopped
//! is continued. A model gets its name only when all digests are right and it can be loaded.

mod catalog;
mod download;
mod error;
mod file_list;
mod installer;
mod model_file;
mod source;

pub use catalog::{RECOMMENDED_MODELS, RecommendedModel};
pub use download::OnBytes;
pub use error::InstallError;
pub use installer::{InstalledModel, ModelInstaller};
pub use source::ModelSource;
