//! What `vademecum profile doctor` finds.

use std::{net::IpAddr, sync::Arc};

use serde::Serialize;

use super::probe;
use vademecum_core::config::{self, Mode, Place, Tls};
use vademecum_sql::{ErrorCode, Profile, SqlError};

const PLAIN_TEXT: &str = "a secret stands in the settings in plain text; move it to \"file:PATH\" \
                          or \"encrypted:PATH\", and take allow_plaintext out";
const WRITES: &str = "unsafe_allow_write is on: whoever may use the profile may change the \
                      database, if the server allows it as well";
const NOBODY: &str = "auth.mode is \"multi\" and `users` is empty: no user can use the profile; \
                      name those who may";
const UNENCRYPTED: &str = "the connection leads to another machine and may be unencrypted; set \
                           tls = \"verify-full\"";
const ANYBODY: &str = "the connection is encrypted, and could be with anybody; set \
                       tls = \"verify-full\", with ca_file if need be";

/// What was found with one profile.
#[derive(Debug, Serialize)]
pub(super) struct Diagnosis {
    /// Which profile.
    pub(super) name: String,
    /// Whether it can be used.
    pub(super) ok: bool,
    /// What was found, in the order in which it was looked at.
    pub(super) findings: Vec<Finding>,
}

/// Something that was found.
#[derive(Debug, Serialize)]
#[serde(tag = "level", rename_all = "lowercase")]
pub(super) enum Finding {
    /// It is as it should be.
    Sound {
        /// What is.
        what: String,
    },
    /// It works, and should be otherwise.
    #[serde(rename = "warning")]
    Unsafe {
        /// What, and what to do.
        what: String,
    },
    /// It does not work.
    #[serde(rename = "error")]
    Wrong {
        /// Which kind of error.
        code: ErrorCode,
        /// What, and what to do.
        what: String,
        /// Where and why, for whoever owns the machine.
        detail: Option<String>,
    },
}

impl Diagnosis {
    /// Looks at what the settings say.
    pub(super) fn of_settings(name: &str, settings: Option<&config::Profile>, mode: Mode) -> Self {
        let mut found = Self { name: name.to_owned(), ok: true, findings: Vec::new() };
        let Some(settings) = settings else { return found };
        let nobody = mode == Mode::Multi && settings.users.is_empty();
        let warnings = [
            (settings.has_plain_text(), PLAIN_TEXT),
            (settings.unsafe_allow_write, WRITES),
            (nobody, NOBODY),
        ];
        warnings.iter().filter(|(is_so, _)| *is_so).for_each(|(_, warning)| found.warn(warning));
        if let Place::Server(server) = &settings.place
            && settings.ssh.is_none()
            && !is_here(&server.host)
        {
            match server.tls {
                Tls::Disable | Tls::Prefer => found.warn(UNENCRYPTED),
                Tls::Require => found.warn(ANYBODY),
                Tls::VerifyFull => {}
            }
        }
        found.findings.push(Finding::Sound { what: "the settings are sound".to_owned() });
        found
    }

    /// Looks whether the database can be reached, and what its user could do.
    pub(super) async fn connect(&mut self, profile: &Arc<Profile>) {
        let database = match probe::open(profile).await {
            Ok(database) => database,
            Err(error) => return self.fail(error),
        };
        self.sound(if profile.has_tunnel() {
            "secrets are there, and the SSH server lets us in"
        } else {
            "secrets are there"
        });
        match probe::version(&database, profile).await {
            Ok(version) => self.sound(&format!("{} {version} answers", profile.engine())),
            Err(error) => return self.fail(error),
        }
        match probe::rights(&database, profile).await {
            Ok(warnings) if warnings.is_empty() => self.sound("its user can only read"),
            Ok(warnings) => warnings.iter().for_each(|warning| self.warn(warning)),
            Err(error) => self.fail(error),
        }
    }

    /// What does not work, if anything does not.
    pub(super) fn failure(&self) -> Option<ErrorCode> {
        self.findings.iter().find_map(|finding| match finding {
            Finding::Wrong { code, .. } => Some(*code),
            Finding::Sound { .. } | Finding::Unsafe { .. } => None,
        })
    }

    fn sound(&mut self, what: &str) {
        self.findings.push(Finding::Sound { what: what.to_owned() });
    }

    fn warn(&mut self, what: &str) {
        self.findings.push(Finding::Unsafe { what: what.to_owned() });
    }

    fn fail(&mut self, error: SqlError) {
        self.ok = false;
        let SqlError { code, message, detail, .. } = error;
        self.findings.push(Finding::Wrong { code, what: message, detail });
    }
}

/// Whether a server is this machine: nobody is in between.
fn is_here(host: &str) -> bool {
    host == "localhost"
        || host.starts_with('/')
        || host.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}
