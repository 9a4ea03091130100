//! The earlier versions of items that were exported with their history.

use vademecum_import::Problem;
use vademecum_model::Uri;
use vademecum_source::SourceError;

use super::{batch::ImportBatch, error::ImportError, pipeline::ImportJob};

impl ImportJob<'_> {
    /// Adds the earlier versions of exported items. An interrupted import reads their files again.
    pub(super) async fn add_versions(&self, batch: &mut ImportBatch) -> Result<(), ImportError> {
        for (file, versions) in std::mem::take(&mut batch.versions) {
            let Some((entry, _)) = batch.files.get_mut(file) else { continue };
            let item = entry.items.first().and_then(|item| item.parse::<Uri>().ok());
            let Some(item) = item.filter(|_| !self.options.dry_run) else { continue };
            let added = self.source_handle(item.source)?.add_versions(item.id, versions).await;
            match added {
                Err(SourceError::Refused(reason)) => {
                    entry.problems.push(Problem { place: "versions".to_owned(), reason });
                }
                other => other.map_err(ImportError::Save)?,
            }
        }
        Ok(())
    }
}
