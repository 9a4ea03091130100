//! Opens the data folder and the archive of the settings.

use vademecum_kit::store::DataFolder;

use super::AppError;
use vademecum_core::config::Settings;

/// Opens the data folder of the settings. Its databases follow the archive, if there is one.
pub(super) fn open_data_folder(settings: &Settings) -> Result<DataFolder, AppError> {
    Ok(DataFolder::new(settings.storage.data_folder()?, None))
}
