//! Options that every command accepts, and the settings and application made from them.

use std::path::PathBuf;

use anyhow::Result;
use vademecum_core::config::{Settings, SettingsFiles};
use vademecum_store::make_private;

use crate::app::App;

/// Options that every command accepts.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct CommonOptions {
    /// Folder for databases and settings [default: the platform's folder for application data]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// User whose library to use [default: local]
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) user: Option<String>,
    /// File with settings [default: config.toml in the data folder, then that of `config path`]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Minimum level of messages logged to standard error: error, warn, info, debug or trace
    /// [default: warn]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(super) log: Option<String>,
}

impl CommonOptions {
    /// Looks for the settings file.
    pub(super) fn find_settings(&self) -> SettingsFiles {
        SettingsFiles::find(self.config.as_deref(), self.data.as_deref())
    }

    /// Loads the settings file and applies the options of the command line over it.
    pub(super) fn load_settings(&self) -> Result<Settings> {
        let mut settings = Settings::load(self.find_settings().checked()?)?;
        if let Some(data) = &self.data {
            settings.storage.data = Some(data.clone());
        }
        if let Some(user) = &self.user {
            settings.storage.user.clone_from(user);
        }
        if let Some(level) = &self.log {
            settings.log.level.clone_from(level);
        }
        Ok(settings)
    }

    /// Creates the application from these settings, and makes an existing data folder private.
    pub(super) fn create_app(&self) -> Result<App> {
        let settings = self.load_settings()?;
        let data = settings.storage.data_folder()?;
        if data.is_dir() {
            // A folder of another owner cannot be changed; `vademecum check` reports it.
            make_private(&data).ok();
        }
        Ok(App::new(settings)?)
    }
}
