//! `vademecum profile`.

use std::{
    io::{self, Read as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use console::Term;
use secrecy::{ExposeSecret as _, SecretString, zeroize::Zeroizing};
use serde::Serialize;
use serde_json::json;

use super::{
    aside,
    command::Common,
    diagnosis::{Diagnosis, Finding},
    output::{complain, plain, say},
    probe,
};
use vademecum_core::{
    auth::{Principal, desktop},
    config::{self, Settings, Unlock},
};
use vademecum_sql::{ErrorCode, Profile as Database, Profiles, SqlError};

/// Databases of your own.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum profile list --config settings.toml
  vademecum profile test shop --config settings.toml
  vademecum profile doctor --config settings.toml
  vademecum profile encrypt /etc/vademecum/shop.sealed

Ends with 0 if all is well, with 2 if the settings or a secret are not right, with 3 if the
database cannot be reached, with 5 if it does not answer, with 10 for a fault of this program.")]
pub(super) enum Profile {
    /// List the profiles
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a profile says; secrets are not shown
    Show {
        /// Its name
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect to the database of a profile
    Test {
        /// Its name
        name: String,
        /// Print what came of it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Look for what is wrong or unsafe with a profile, or with all
    Doctor {
        /// Its name
        name: Option<String>,
        /// Print what was found as JSON
        #[arg(long)]
        json: bool,
    },
    /// Encrypt a secret into a file that profiles name as "encrypted:FILE"
    ///
    /// The secret is asked for on the terminal, or is all of standard input. The passphrase
    /// is that of secrets.passphrase, or is asked for as well.
    Encrypt {
        /// The file to write; it must not be there yet
        file: PathBuf,
    },
}

/// The profiles of the settings, and who asks for them: whoever owns the machine.
pub(super) struct Desk {
    settings: Settings,
    pub(super) profiles: Arc<Profiles>,
    pub(super) owner: Principal,
}

impl Profile {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let json = self.is_json();
        // Boxed: what talks to databases is large, and commands are rare.
        match Box::pin(self.done(common)).await {
            Ok(code) => Ok(code),
            Err(error) => failed(&error, json),
        }
    }

    fn is_json(&self) -> bool {
        match self {
            Self::List { json }
            | Self::Show { json, .. }
            | Self::Test { json, .. }
            | Self::Doctor { json, .. } => *json,
            Self::Encrypt { .. } => false,
        }
    }

    async fn done(self, common: &Common) -> Result<ExitCode> {
        let settings = common.settings()?;
        match self {
            Self::List { json } => list(&Desk::of(settings, &[])?, json),
            Self::Show { name, json } => show(&Desk::of(settings, &[])?, &name, json),
            Self::Test { name, json } => {
                let desk = Desk::of(settings, &[&name])?;
                test(desk.profile(&name)?, json).await
            }
            Self::Doctor { name, json } => {
                let names = name.as_deref().map_or_else(
                    || settings.profiles.keys().map(|it| it.as_str().to_owned()).collect(),
                    |name| vec![name.to_owned()],
                );
                let asked: Vec<&str> = names.iter().map(String::as_str).collect();
                doctor(&Desk::of(settings, &asked)?, &asked, json).await
            }
            Self::Encrypt { file } => encrypt(&settings, &file),
        }
    }
}

/// Tells why a command that asks a database has failed, and ends with its code.
pub(super) fn failed(error: &anyhow::Error, json: bool) -> Result<ExitCode> {
    let known = error.downcast_ref::<SqlError>();
    // Whatever else went wrong was wrong in the settings or on the command line.
    let code = known.map_or(ErrorCode::XsqlCfgInvalid, |error| error.code);
    if json {
        let error = json!({ "code": code, "message": format!("{error:#}") });
        say(&serde_json::to_string_pretty(&json!({ "ok": false, "error": error }))?);
    }
    complain(&plain(&format!("error: {error:#}")));
    if let Some(detail) = known.and_then(|it| it.detail.as_deref()) {
        complain(&plain(detail));
    }
    Ok(ExitCode::from(code.exit_code()))
}

impl Desk {
    /// The profiles. A passphrase is asked for if one of these needs one that the
    /// settings do not name.
    pub(super) fn of(settings: Settings, needed: &[&str]) -> Result<Self> {
        let is_needed = |name: &config::ProfileName| needed.contains(&name.as_str());
        let mut needed = settings.profiles.iter().filter(|(name, _)| is_needed(name));
        let is_locked = settings.secrets.passphrase.is_none();
        let is_asked = is_locked && needed.any(|(_, profile)| profile.is_encrypted());
        let unlock = if is_asked && Term::stderr().is_term() {
            Unlock::With(ask("passphrase")?.into())
        } else {
            settings.secrets.unlock()
        };
        let profiles = Arc::new(Profiles::new(&settings.profiles, &unlock)?);
        let owner = desktop(settings.storage.user.parse()?);
        Ok(Self { settings, profiles, owner })
    }

    fn profile(&self, name: &str) -> Result<Arc<Database>, SqlError> {
        self.profiles.get(&self.owner, name)
    }
}

fn list(desk: &Desk, json: bool) -> Result<ExitCode> {
    let listed: Vec<_> =
        desk.profiles.for_principal(&desk.owner).map(|profile| profile.listed()).collect();
    if json {
        say(&serde_json::to_string_pretty(&listed)?);
        return Ok(ExitCode::SUCCESS);
    }
    if listed.is_empty() {
        complain("there is no profile; config.example.toml shows how one is written");
    }
    for it in listed {
        say(&format!("{}\t{}\t{}\t{}", it.name, it.db, it.mode, plain(&it.description)));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(desk: &Desk, name: &str, json: bool) -> Result<ExitCode> {
    let shown = serde_json::to_value(desk.profile(name)?.shown())?;
    if json {
        say(&serde_json::to_string_pretty(&shown)?);
        return Ok(ExitCode::SUCCESS);
    }
    for (key, value) in shown.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        say(&plain(&format!("{}: {value}", key.replace('_', " "))));
    }
    Ok(ExitCode::SUCCESS)
}

/// What came of a test.
#[derive(Serialize)]
struct Tested<'a> {
    ok: bool,
    name: &'a str,
    version: &'a str,
    duration_ms: u128,
}

async fn test(profile: Arc<Database>, json: bool) -> Result<ExitCode> {
    let start = Instant::now();
    let version = probe::version(&probe::open(&profile).await?, &profile).await?;
    let duration_ms = start.elapsed().as_millis();
    let (name, version) = (profile.name(), version.as_str());
    if json {
        let tested = Tested { ok: true, name, version, duration_ms };
        say(&serde_json::to_string_pretty(&tested)?);
    } else {
        say(&plain(&format!("{name}: {} {version}, {duration_ms} ms", profile.engine())));
    }
    Ok(ExitCode::SUCCESS)
}

async fn doctor(desk: &Desk, names: &[&str], json: bool) -> Result<ExitCode> {
    let mut diagnoses = Vec::new();
    for name in names {
        let profile = desk.profile(name)?;
        let settings = desk.settings.profiles.iter().find(|(it, _)| it.as_str() == *name);
        let mut diagnosis =
            Diagnosis::of_settings(name, settings.map(|(_, it)| it), desk.settings.auth.mode);
        diagnosis.connect(&profile).await;
        diagnoses.push(diagnosis);
    }
    let code = diagnoses.iter().find_map(Diagnosis::failure).map_or(0, ErrorCode::exit_code);
    if json {
        say(&serde_json::to_string_pretty(&diagnoses)?);
        return Ok(ExitCode::from(code));
    }
    for Diagnosis { name, findings, .. } in &diagnoses {
        for finding in findings {
            let line = match finding {
                Finding::Sound { what } => format!("{name}: {what}"),
                Finding::Unsafe { what } => format!("{name}: warning: {what}"),
                Finding::Wrong { code: _, what, detail: None } => format!("{name}: error: {what}"),
                Finding::Wrong { code: _, what, detail: Some(detail) } => {
                    format!("{name}: error: {what}; {detail}")
                }
            };
            say(&plain(&line));
        }
    }
    Ok(ExitCode::from(code))
}

fn encrypt(settings: &Settings, file: &std::path::Path) -> Result<ExitCode> {
    if !aside::is_free(file) {
        bail!("{} is there already; remove it, or name another file", file.display());
    }
    let secret = if Term::stderr().is_term() && io::IsTerminal::is_terminal(&io::stdin()) {
        ask("secret")?
    } else {
        let mut text = Zeroizing::new(String::new());
        io::stdin()
            .read_to_string(&mut text)
            .context("cannot read the secret from standard input")?;
        text.trim_end_matches(['\r', '\n']).into()
    };
    if secret.expose_secret().is_empty() {
        bail!("the secret is empty; type it, or send it to standard input");
    }
    let passphrase = match &settings.secrets.passphrase {
        Some(passphrase) => passphrase.read("secrets.passphrase", &Unlock::Nothing)?,
        None if Term::stderr().is_term() => {
            let (once, again) = (ask("passphrase")?, ask("passphrase, again")?);
            if once.expose_secret() != again.expose_secret() {
                bail!("the two passphrases are not the same; nothing was written");
            }
            once
        }
        None => bail!("no terminal to ask for a passphrase; set secrets.passphrase"),
    };
    let sealed = config::seal(&secret, &passphrase)?;
    aside::write_private(file, sealed.as_bytes())?;
    say(&format!("wrote {0}; name it in a profile as \"encrypted:{0}\"", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// Asks for something that is not shown while it is typed.
fn ask(what: &str) -> Result<SecretString> {
    let terminal = Term::stderr();
    terminal.write_str(&format!("{what}: "))?;
    Ok(Zeroizing::new(terminal.read_secure_line()?).as_str().into())
}
