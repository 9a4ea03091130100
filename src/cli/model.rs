//! `vademecum model`.

use std::{io::IsTerminal as _, process::ExitCode};

use anyhow::{Result, bail};
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use vademecum_core::config::{EmbeddingProvider, Settings};
use vademecum_embed::install::{InstalledModel, ModelInstaller, ModelSource, RECOMMENDED_MODELS};

use super::{
    common::CommonOptions,
    config::open_target,
    output::{print_error, print_json, print_line},
};
use crate::app::open_data_folder;

/// Address of the model repository, unless the settings name another one.
const REPOSITORY: &str = "https://huggingface.co";
/// File in the data folder that says that `import` has named the command.
const OFFERED_FILE: &str = ".model-offered";

/// Install models that search by meaning
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum model list
  vademecum model install potion-base-8m
  vademecum model install intfloat/multilingual-e5-small
  vademecum model install https://files.example/models/mine
  vademecum model install ~/Downloads/all-MiniLM-L6-v2
  vademecum model remove potion-base-8m

Models are read in the form of sentence-transformers or model2vec, with safetensors. Each
downloaded file is compared with the digest that the repository states, or with SHA256SUMS
beside the files of another address. A download that stopped goes on when the command is
run again. No text leaves this machine. `embeddings.mirror` names another repository.")]
pub(super) enum ModelCommand {
    /// List recommended and installed models
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Install a model, and use it if no provider is set
    Install {
        /// Recommended model, repository (OWNER/NAME or OWNER/NAME@REVISION), address or folder
        source: String,
        /// Name under which to install it [default: the last part of the source, in lower case]
        #[arg(long)]
        name: Option<String>,
        /// Do not change the settings
        #[arg(long)]
        no_use: bool,
    },
    /// Remove an installed model
    Remove {
        /// Its name in `model list`
        name: String,
    },
}

impl ModelCommand {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let settings = common.load_settings()?;
        let installer = ModelInstaller::new(&settings.storage.data_folder()?);
        match self {
            Self::List { json } => list(&installer, &settings, json)?,
            Self::Install { source, name, no_use } => {
                // Creates the folder with access for its owner only.
                open_data_folder(&settings)?;
                let mirror = settings.embeddings.mirror.as_ref();
                let mirror = mirror.map_or(REPOSITORY, |mirror| mirror.as_str());
                let source = ModelSource::parse(&source, mirror)?;
                let bar = progress_bar();
                let installed = installer.install(&source, name.as_deref(), &mut |done, total| {
                    bar.set_length(total.max(done));
                    bar.set_position(done);
                });
                bar.finish_and_clear();
                let installed = installed?;
                print_line(&describe(&installed));
                if !no_use {
                    use_model(&installed, &settings, common)?;
                }
            }
            Self::Remove { name } => {
                if is_in_use(&installer, &name, &settings)? {
                    bail!(
                        "the settings use the model {name}; set embeddings.provider or \
                         embeddings.folder to another one first"
                    );
                }
                if !installer.remove(&name)? {
                    bail!(
                        "no model {name} is installed; `vademecum model list` shows those that are"
                    );
                }
                print_line(&format!("removed {name}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Names the command once on a terminal, if no provider is set.
pub(super) fn offer_model(settings: &Settings) {
    let Ok(data) = settings.storage.data_folder() else { return };
    let offered = data.join(OFFERED_FILE);
    if settings.embeddings.provider != EmbeddingProvider::None
        || !std::io::stderr().is_terminal()
        || offered.exists()
        || std::fs::write(&offered, "").is_err()
    {
        return;
    }
    let [first, ..] = RECOMMENDED_MODELS;
    print_error(&format!(
        "search by meaning needs a model: `vademecum model install {}` ({} MB); `vademecum model list` shows \
         others",
        first.name, first.megabytes
    ));
}

/// Prints the recommended and the installed models.
fn list(installer: &ModelInstaller, settings: &Settings, json: bool) -> Result<()> {
    let installed = installer.list()?;
    if json {
        let models: Vec<_> = installed
            .iter()
            .map(|model| {
                serde_json::json!({
                    "name": model.name, "folder": model.folder, "source": model.source,
                    "revision": model.revision, "dimensions": model.dimensions,
                    "bytes": model.bytes, "in_use": uses(settings, model),
                })
            })
            .collect();
        return print_json(&models);
    }
    print_line("Recommended:");
    for model in RECOMMENDED_MODELS {
        print_line(&format!(
            "  {}: {} MB, {}, {}; {}",
            model.name, model.megabytes, model.languages, model.licence, model.kind
        ));
    }
    if installed.is_empty() {
        print_line("Installed: none; `vademecum model install NAME` installs one");
        return Ok(());
    }
    print_line("Installed:");
    for model in &installed {
        let in_use = if uses(settings, model) { "; in use" } else { "" };
        print_line(&format!("  {}{in_use}", describe(model)));
    }
    Ok(())
}

fn describe(model: &InstalledModel) -> String {
    let InstalledModel { name, folder, source, dimensions, bytes, .. } = model;
    #[expect(clippy::cast_precision_loss, reason = "a size in MB with one decimal place")]
    let megabytes = *bytes as f64 / 1e6;
    format!(
        "{name}: {megabytes:.1} MB, vectors of {dimensions} numbers, from {source}, in {}",
        folder.display()
    )
}

fn uses(settings: &Settings, model: &InstalledModel) -> bool {
    settings.embeddings.provider == EmbeddingProvider::Local
        && settings.embeddings.folder.as_ref() == Some(&model.folder)
}

fn is_in_use(installer: &ModelInstaller, name: &str, settings: &Settings) -> Result<bool> {
    Ok(installer.list()?.iter().any(|model| model.name == name && uses(settings, model)))
}

/// Makes a model the provider of the settings, if they have none.
fn use_model(model: &InstalledModel, settings: &Settings, common: &CommonOptions) -> Result<()> {
    if uses(settings, model) {
        print_line("the settings use it already; restart a running server");
        return Ok(());
    }
    let folder = model.folder.display().to_string();
    if settings.embeddings.provider != EmbeddingProvider::None {
        print_line(&format!(
            "the settings have another provider; to use this one: `vademecum config set embeddings.provider \
             local` and `vademecum config set embeddings.folder {folder}`"
        ));
        return Ok(());
    }
    // The folder first: a provider without one is invalid.
    open_target(&common.find_settings())?.set("embeddings.folder", &folder)?;
    let file = open_target(&common.find_settings())?;
    file.set("embeddings.provider", "local")?;
    print_line(&format!(
        "set embeddings.provider and embeddings.folder in {}; restart a running server. Agents search by \
         meaning with the mode `hybrid` or `vector`",
        file.path().display()
    ));
    Ok(())
}

/// Creates a bar of bytes. It is visible only if standard error is a terminal.
fn progress_bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style)
}
