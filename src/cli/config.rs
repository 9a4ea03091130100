//! `vademecum config`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use tempfile::NamedTempFile;
use vademecum_core::config::{SettingKey, SettingsFiles, editor};

use super::{
    common::CommonOptions,
    config_file::{ConfigFile, check_settings},
    output::{print_error, print_line},
};

/// Beginning of a settings file that is created for the editor.
const NEW_FILE: &str =
    "# Settings of Vademecum; config.example.toml has all of them with their defaults.\n";
/// Editor where the environment names none.
const DEFAULT_EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Show, change and check the settings
#[derive(Debug, Subcommand)]
#[command(after_help = "\
The first of these files is read: that of --config, config.toml in
the data folder, config.toml in the platform's folder for settings.

Examples:
  vademecum config path
  vademecum config get server.listen
  vademecum config set tools.write true
  vademecum config edit
  vademecum config check")]
pub(super) enum ConfigCommand {
    /// Print the path of the settings file that is in force
    Path,
    /// Print a setting, or all of a section; without a name the whole file
    Get {
        /// Name of the setting, such as server.listen
        key: Option<String>,
    },
    /// Change a setting; comments stay, and an invalid value changes nothing
    Set {
        /// Name of the setting, such as server.listen
        key: String,
        /// Value as in the file; a text needs no quotes
        value: String,
    },
    /// Open the file in the editor of VISUAL or EDITOR; an invalid one is not kept
    Edit,
    /// Say which file is in force, and whether it is valid
    Check,
}

impl ConfigCommand {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let files = common.find_settings();
        match self {
            Self::Path => print_path(&files, common)?,
            Self::Get { key } => print_setting(&files, key.as_deref())?,
            Self::Set { key, value } => {
                let file = open_target(&files)?;
                file.set(&key, &value)?;
                print_line(&format!("set {key} in {}", file.path().display()));
            }
            Self::Edit => edit(&open_target(&files)?)?,
            Self::Check => {
                let Some(path) = files.checked()? else {
                    print_line("no settings file: all settings have their defaults");
                    return Ok(ExitCode::SUCCESS);
                };
                let invalid = || format!("the settings in {} are invalid", path.display());
                check_settings(ConfigFile::read(path)?.text()).with_context(invalid)?;
                print_line(&format!("valid, in force: {}", path.display()));
                print_ignored(&files, common);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the path of the file in force, or of the one that would be created.
fn print_path(files: &SettingsFiles, common: &CommonOptions) -> Result<()> {
    let path = target(files)?;
    print_line(&path.display().to_string());
    if !path.exists() {
        print_error("no such file yet: all settings have their defaults");
    }
    print_ignored(files, common);
    Ok(())
}

/// Names the files that are not read because another one is.
fn print_ignored(files: &SettingsFiles, common: &CommonOptions) {
    let data = common.load_settings().ok().and_then(|settings| settings.storage.data_folder().ok());
    let in_data = data.map(|folder| folder.join("config.toml")).filter(|path| {
        path.exists() && files.in_force.as_ref() != Some(path) && !files.ignored.contains(path)
    });
    for ignored in files.ignored.iter().chain(&in_data) {
        print_error(&format!("not read, because another file is: {}", ignored.display()));
    }
}

fn print_setting(files: &SettingsFiles, key: Option<&str>) -> Result<()> {
    let file = open_target(files)?;
    let Some(key) = key else {
        print_line(file.text().trim_end());
        return Ok(());
    };
    if let Some(value) = file.value(key)? {
        print_line(&value);
        return Ok(());
    }
    let Some(known) = SettingKey::find(key) else {
        let near = SettingKey::nearest(key);
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        bail!("there is no setting `{key}`{near}");
    };
    match known.default {
        Some(default) => {
            print_line(&default.to_string());
            print_error("this is the default");
        }
        None => print_error(&format!("{key} is not set")),
    }
    Ok(())
}

/// Opens a copy of the file in the editor and writes it if it is valid.
fn edit(file: &ConfigFile) -> Result<()> {
    let copy = tempfile::Builder::new().prefix("vademecum-").suffix(".toml").tempfile()?;
    let before = if file.text().is_empty() { NEW_FILE } else { file.text() };
    fs::write(copy.path(), before)?;
    let editor = editor().unwrap_or_else(|| DEFAULT_EDITOR.to_owned());
    // `EDITOR` may have options, such as `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(DEFAULT_EDITOR);
    let status = Command::new(program).args(words).arg(copy.path()).status();
    let status = status.with_context(|| format!("cannot start the editor `{program}`"))?;
    if !status.success() {
        bail!("the editor failed; nothing was changed");
    }
    let after = fs::read_to_string(copy.path())?;
    if after == before {
        print_line("nothing was changed");
        return Ok(());
    }
    if let Err(error) = check_settings(&after) {
        let kept = keep(copy)?;
        let context = format!("nothing was changed; your text is in {}", kept.display());
        return Err(error.context(context));
    }
    file.write(&after)?;
    print_line(&format!("changed {}", file.path().display()));
    Ok(())
}

fn keep(copy: NamedTempFile) -> Result<PathBuf> {
    Ok(copy.keep()?.1)
}

/// Opens the file that is in force, or that is created.
pub(super) fn open_target(files: &SettingsFiles) -> Result<ConfigFile> {
    files.checked()?;
    ConfigFile::read(target(files)?)
}

fn target(files: &SettingsFiles) -> Result<&Path> {
    files.target().context("this machine has no folder for settings; name a file with --config")
}
