//! Options that every command accepts, and the settings and application made from them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use vademecum_accounts::{Accounts, UserFolders};
use vademecum_core::{
    auth::UserId,
    config::{Settings, SettingsFiles},
};
use vademecum_mcp::{closest_name, did_you_mean};
use vademecum_store::make_private;

use crate::app::{App, open_data_folder};

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

    /// Fails if `--user` names a user of whom there is nothing, while others have a library: a typing
    /// error must not make a library. The replicas of tldw have users of their own.
    pub(super) fn check_user(&self, settings: &Settings) -> Result<()> {
        let data = settings.storage.data_folder()?;
        if self.user.is_none() || settings.storage.tldw.is_some() || !data.is_dir() {
            return Ok(());
        }
        let user: UserId = settings.storage.user.parse()?;
        let data = open_data_folder(settings)?;
        let mut known = UserFolders::new(&data).list_users()?;
        known.extend(Accounts::new(&data).list_users()?.into_iter().map(|account| account.name));
        let is_known = known.is_empty()
            || known.iter().any(|it| it.as_str().eq_ignore_ascii_case(user.as_str()));
        if is_known {
            return Ok(());
        }
        let near = closest_name(user.as_str(), known.iter().map(UserId::as_str));
        bail!("there is no user {user}{}; `vademecum user add {user}` adds one", did_you_mean(near))
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
