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
use vademecum_core::{
    auth::{Principal, local_principal},
    config::{self, PassphraseSource, Settings},
};
use vademecum_services::{
    atomic_write,
    check::{ProfileDiagnosis, ProfileFinding, open_database, query_version},
    text::sanitize,
};
use vademecum_sql::{ErrorCode, Profile as Database, Profiles, SqlError};

use super::{
    common::CommonOptions,
    output::{print_error, print_json, print_line},
};

/// List, show and test the database profiles of the settings
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum profile list --config settings.toml
  vademecum profile test shop --config settings.toml
  vademecum profile doctor --config settings.toml
  vademecum profile encrypt /etc/vademecum/shop.sealed

Exit codes: 0 success, 2 invalid settings or secret, 3 connection to the database failed,
5 statement failed, 10 internal error.")]
pub(super) enum ProfileCommand {
    /// List the profiles
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the settings of a profile; secrets are not shown
    Show {
        /// Name of the profile
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect to the database of a profile
    Test {
        /// Name of the profile
        name: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check one profile, or all of them, for errors and unsafe settings
    Doctor {
        /// Name of the profile [default: all]
        name: Option<String>,
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Encrypt a secret into a file that profiles refer to as "encrypted:FILE"
    ///
    /// The secret is read from the terminal, or else from standard input. The passphrase is that of
    /// secrets.passphrase, or is read from the terminal as well.
    Encrypt {
        /// The file to write; it must not exist yet
        file: PathBuf,
    },
}

/// The profiles of the settings, and the principal that uses them: the local user.
pub(super) struct ProfileAccess {
    settings: Settings,
    pub(super) profiles: Arc<Profiles>,
    pub(super) owner: Principal,
}

impl ProfileCommand {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let json = self.is_json();
        // Boxed, because the futures of database clients are large.
        match Box::pin(self.execute(common)).await {
            Ok(code) => Ok(code),
            Err(error) => report_failure(&error, json),
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

    async fn execute(self, common: &CommonOptions) -> Result<ExitCode> {
        let settings = common.load_settings()?;
        match self {
            Self::List { json } => list_profiles(&ProfileAccess::open(settings, &[])?, json),
            Self::Show { name, json } => {
                show_profile(&ProfileAccess::open(settings, &[])?, &name, json)
            }
            Self::Test { name, json } => {
                let access = ProfileAccess::open(settings, &[&name])?;
                test_profile(access.find_profile(&name)?, json).await
            }
            Self::Doctor { name, json } => {
                let names = name.as_deref().map_or_else(
                    || settings.profiles.keys().map(|it| it.as_str().to_owned()).collect(),
                    |name| vec![name.to_owned()],
                );
                let needed: Vec<&str> = names.iter().map(String::as_str).collect();
                diagnose_profiles(&ProfileAccess::open(settings, &needed)?, &needed, json).await
            }
            Self::Encrypt { file } => encrypt_secret(&settings, &file),
        }
    }
}

/// Prints the error of a database command, as JSON too if `json` is set, and returns its exit code.
pub(super) fn report_failure(error: &anyhow::Error, json: bool) -> Result<ExitCode> {
    let known = error.downcast_ref::<SqlError>();
    // Any other error is one of the settings or of the command line.
    let code = known.map_or(ErrorCode::XsqlCfgInvalid, |error| error.code);
    if json {
        let error = json!({ "code": code, "message": format!("{error:#}") });
        print_json(&json!({ "ok": false, "schema_version": 1, "error": error }))?;
    }
    print_error(&sanitize(&format!("error: {error:#}")));
    if let Some(detail) = known.and_then(|it| it.detail.as_deref()) {
        print_error(&sanitize(detail));
    }
    Ok(ExitCode::from(code.exit_code()))
}

impl ProfileAccess {
    /// Opens the profiles. Prompts for the passphrase if one of the profiles in `needed` has an
    /// encrypted secret and the settings have no passphrase.
    pub(super) fn open(settings: Settings, needed: &[&str]) -> Result<Self> {
        let is_needed = |name: &config::ProfileName| needed.contains(&name.as_str());
        let mut needed = settings.profiles.iter().filter(|(name, _)| is_needed(name));
        let is_locked = settings.secrets.passphrase.is_none();
        let is_asked = is_locked && needed.any(|(_, profile)| profile.needs_passphrase());
        let unlock = if is_asked && Term::stderr().is_term() {
            PassphraseSource::Passphrase(prompt_secret("passphrase")?.into())
        } else {
            settings.secrets.passphrase_source()
        };
        let profiles = Arc::new(Profiles::new(&settings.profiles, &unlock)?);
        let owner = local_principal(settings.storage.user.parse()?);
        Ok(Self { settings, profiles, owner })
    }

    fn find_profile(&self, name: &str) -> Result<Arc<Database>, SqlError> {
        self.profiles.find_profile(&self.owner, name)
    }
}

fn list_profiles(access: &ProfileAccess, json: bool) -> Result<ExitCode> {
    let listed: Vec<_> = access
        .profiles
        .visible_profiles(&access.owner)
        .map(|profile| profile.to_listed(true))
        .collect();
    if json {
        print_json(&listed)?;
        return Ok(ExitCode::SUCCESS);
    }
    if listed.is_empty() {
        print_error("the settings have no profile; config.example.toml has an example");
    }
    for it in listed {
        print_line(&format!("{}\t{}\t{}\t{}", it.name, it.db, it.mode, sanitize(&it.description)));
    }
    Ok(ExitCode::SUCCESS)
}

fn show_profile(access: &ProfileAccess, name: &str, json: bool) -> Result<ExitCode> {
    let profile = access.find_profile(name)?;
    let shown = serde_json::to_value(profile.to_shown())?;
    if json {
        print_json(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(&format!("mode: {}", profile.mode(true)));
    for (key, value) in shown.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        print_line(&sanitize(&format!("{}: {value}", key.replace('_', " "))));
    }
    Ok(ExitCode::SUCCESS)
}

/// Result of `vademecum profile test`.
#[derive(Serialize)]
struct ConnectionTest<'a> {
    ok: bool,
    name: &'a str,
    version: &'a str,
    duration_ms: u128,
}

async fn test_profile(profile: Arc<Database>, json: bool) -> Result<ExitCode> {
    let start = Instant::now();
    let version = query_version(&open_database(&profile).await?, &profile).await?;
    let duration_ms = start.elapsed().as_millis();
    let (name, version) = (profile.name(), version.as_str());
    if json {
        let tested = ConnectionTest { ok: true, name, version, duration_ms };
        print_json(&tested)?;
    } else {
        print_line(&sanitize(&format!("{name}: {} {version}, {duration_ms} ms", profile.engine())));
    }
    Ok(ExitCode::SUCCESS)
}

async fn diagnose_profiles(access: &ProfileAccess, names: &[&str], json: bool) -> Result<ExitCode> {
    let mut diagnoses = Vec::new();
    for name in names {
        let profile = access.find_profile(name)?;
        let settings = access.settings.profiles.iter().find(|(it, _)| it.as_str() == *name);
        let mut diagnosis = ProfileDiagnosis::check_settings(
            name,
            settings.map(|(_, it)| it),
            access.settings.auth.mode,
        );
        diagnosis.check_connection(&profile).await;
        diagnoses.push(diagnosis);
    }
    let code =
        diagnoses.iter().find_map(ProfileDiagnosis::first_error).map_or(0, ErrorCode::exit_code);
    if json {
        print_json(&diagnoses)?;
        return Ok(ExitCode::from(code));
    }
    for ProfileDiagnosis { name, findings, .. } in &diagnoses {
        for finding in findings {
            let line = match finding {
                ProfileFinding::Sound { what } => format!("{name}: {what}"),
                ProfileFinding::Unsafe { what } => format!("{name}: warning: {what}"),
                ProfileFinding::Wrong { code: _, what, detail: None } => {
                    format!("{name}: error: {what}")
                }
                ProfileFinding::Wrong { code: _, what, detail: Some(detail) } => {
                    format!("{name}: error: {what}; {detail}")
                }
            };
            print_line(&sanitize(&line));
        }
    }
    Ok(ExitCode::from(code))
}

fn encrypt_secret(settings: &Settings, file: &std::path::Path) -> Result<ExitCode> {
    if !atomic_write::is_absent_or_empty(file) {
        bail!("{} exists already; remove it, or choose another file", file.display());
    }
    let secret = if Term::stderr().is_term() && io::IsTerminal::is_terminal(&io::stdin()) {
        prompt_secret("secret")?
    } else {
        let mut text = Zeroizing::new(String::new());
        io::stdin()
            .read_to_string(&mut text)
            .context("cannot read the secret from standard input")?;
        text.trim_end_matches(['\r', '\n']).into()
    };
    if secret.expose_secret().is_empty() {
        bail!("the secret is empty; type it, or pass it on standard input");
    }
    let passphrase = match &settings.secrets.passphrase {
        Some(passphrase) => {
            passphrase.read_secret("secrets.passphrase", &PassphraseSource::Unset)?
        }
        None if Term::stderr().is_term() => {
            let (once, again) = (prompt_secret("passphrase")?, prompt_secret("passphrase, again")?);
            if once.expose_secret() != again.expose_secret() {
                bail!("the two passphrases differ; nothing was written");
            }
            once
        }
        None => bail!("no terminal to read a passphrase from; set secrets.passphrase"),
    };
    let sealed = config::encrypt_secret(&secret, &passphrase)?;
    atomic_write::write_new_private_file(file, sealed.as_bytes())?;
    print_line(&format!(
        "wrote {0}; refer to it in a profile as \"encrypted:{0}\"",
        file.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Prompts for a secret on the terminal, without echo.
fn prompt_secret(what: &str) -> Result<SecretString> {
    let terminal = Term::stderr();
    terminal.write_str(&format!("{what}: "))?;
    Ok(Zeroizing::new(terminal.read_secure_line()?).as_str().into())
}
