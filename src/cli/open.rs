//! `vademecum open`.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use maud::{DOCTYPE, html};

use super::{
    common::CommonOptions,
    login::{create_login_link, local_address},
    output::{print_error, print_line},
    serve::serve_http,
};
use crate::app::App;
use vademecum_core::config::PublicUrl;
use vademecum_model::Uri;
use vademecum_oauth::CodeLifetime;
use vademecum_services::permalink::item_path;

/// Name of the file in the data folder that sends the browser to the link.
const REDIRECT_FILE: &str = "open.html";
/// Maximum time to find out whether a server runs.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Open the library in the browser
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum open
  vademecum open --print
  vademecum open notes://6f9619ff-8b86-d011-b42d-00c04fc964ff
  vademecum open --user ada --config vademecum.toml

The link logs the browser in, once and within 60 seconds. If no server runs at the
address of the settings, this command serves until Ctrl-C.")]
pub(super) struct Open {
    /// Address of an item or its permalink [default: the first page]
    #[arg(value_name = "ITEM")]
    item: Option<String>,
    /// Print the link instead of opening a browser
    #[arg(long)]
    print: bool,
}

impl Open {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let settings = common.load_settings()?;
        common.check_user(&settings)?;
        if !settings.server.pages {
            bail!("there are no pages: server.pages is off in the settings");
        }
        let local = local_address(&settings)?;
        if is_served(&local).await {
            let address = settings.server.public_url.clone().unwrap_or(local);
            let app = App::new(settings)?;
            self.show(&app, &address)?;
        } else {
            serve_http(settings, |app, address| {
                if let Err(error) = self.show(app, address) {
                    print_error(&format!("error: {error:#}"));
                }
            })
            .await?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Opens a browser with a link that logs it in, or prints the link if there is no browser.
    fn show(&self, app: &App, address: &PublicUrl) -> Result<()> {
        let page = self.item.as_deref().map(|item| page_path(item, address)).transpose()?;
        let link = create_login_link(app, address, CodeLifetime::Local, page.as_deref())?;
        if !self.print {
            let file = write_redirect(app.data().path(), &link)?;
            match open::that_detached(&file) {
                Ok(()) => {
                    print_error(&format!("opened {address}/ in the browser; if not, open this:"));
                }
                Err(error) => print_error(&format!("no browser was opened ({error}); open this:")),
            }
        }
        print_line(&link);
        Ok(())
    }
}

/// Returns the path of the page of an item, from its address or its permalink on this server.
fn page_path(item: &str, address: &PublicUrl) -> Result<String> {
    if let Ok(uri) = item.parse::<Uri>() {
        return Ok(item_path(&uri, None));
    }
    let path = item.strip_prefix(&address.to_string()).filter(|path| path.starts_with('/'));
    let path = path.map(str::to_owned);
    path.with_context(|| format!("`{item}` is neither an item nor a page of {address}"))
}

/// Writes a file that only its owner can read and that sends a browser to the link, and returns its
/// path. Every account can read the arguments of a program, so the link is none.
fn write_redirect(folder: &Path, link: &str) -> Result<PathBuf> {
    let page = html! {
        (DOCTYPE)
        html {
            head {
                meta charset="utf-8";
                meta name="referrer" content="no-referrer";
                meta http-equiv="refresh" content={ "0;url=" (link) };
                title { "Vademecum" }
            }
            body { a href=(link) { "Open the library" } }
        }
    };
    let path = folder.join(REDIRECT_FILE);
    let write = || {
        // Temporary files are created with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(page.into_string().as_bytes())?;
        file.persist(&path).map_err(io::Error::from)
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Returns true if a server answers at an address.
async fn is_served(address: &PublicUrl) -> bool {
    let url = address.join("/health/live");
    let answered = tokio::task::spawn_blocking(move || {
        let agent = ureq::Agent::config_builder().timeout_global(Some(PROBE_TIMEOUT)).build();
        let mut answer = ureq::Agent::from(agent).get(&url).call().ok()?;
        answer.body_mut().read_to_string().ok()
    });
    answered.await.is_ok_and(|answer| answer.as_deref() == Some("live"))
}
