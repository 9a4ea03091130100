//! Diagnosis of a database profile: its settings, its connection and the rights of its user.

use std::{net::IpAddr, sync::Arc};

use serde::Serialize;
use vademecum_core::config::{self, AuthMode, DatabaseLocation, TlsMode};
use vademecum_sql::{ErrorCode, Profile, SqlError, driver::GuardReport};

use super::profile_connection::{excess_rights, open_database, query_version};

const PLAIN_TEXT_SECRET: &str = "the settings contain a plain-text secret; move it to \"file:PATH\" \
                          or \"encrypted:PATH\", and remove allow_plaintext";
const WRITES_ALLOWED: &str = "unsafe_allow_write is on: any user of the profile may change the \
                      database, if the server allows it as well";
const NO_USERS: &str = "auth.mode is \"multi\" and `users` is empty: no user can use the profile; \
                      add the users of the profile";
const MAYBE_UNENCRYPTED: &str = "the connection leads to another machine and may be unencrypted; set \
                           tls = \"verify-full\"";
const UNVERIFIED_SERVER: &str = "the connection is encrypted, but the server is not verified; set \
                       tls = \"verify-full\", with ca_file if necessary";

/// Findings about one profile.
#[derive(Debug, Serialize)]
pub struct ProfileDiagnosis {
    /// Name of the profile.
    pub name: String,
    /// `false` if the profile cannot be used.
    pub(crate) ok: bool,
    /// Findings, in the order of the checks.
    pub findings: Vec<ProfileFinding>,
}

/// Result of one check.
#[derive(Debug, Serialize)]
#[serde(tag = "level", rename_all = "lowercase")]
pub enum ProfileFinding {
    /// The check passed.
    Sound {
        /// Description of the passed check.
        what: String,
    },
    /// A problem that does not prevent the use of the profile.
    #[serde(rename = "warning")]
    Unsafe {
        /// Description and remedy.
        what: String,
    },
    /// A problem that prevents the use of the profile.
    #[serde(rename = "error")]
    Wrong {
        /// Error code, as calls of tools return it.
        code: ErrorCode,
        /// Description and remedy.
        what: String,
        /// Location and cause, for the local user only.
        detail: Option<String>,
    },
}

impl ProfileDiagnosis {
    /// Checks the settings of a profile without a connection to its database.
    pub fn check_settings(name: &str, settings: Option<&config::Profile>, mode: AuthMode) -> Self {
        let mut found = Self { name: name.to_owned(), ok: true, findings: Vec::new() };
        let Some(settings) = settings else { return found };
        let has_no_users = mode == AuthMode::Multi && settings.users.is_empty();
        let warnings = [
            (settings.has_plaintext_secret(), PLAIN_TEXT_SECRET),
            (settings.unsafe_allow_write, WRITES_ALLOWED),
            (has_no_users, NO_USERS),
        ];
        warnings
            .iter()
            .filter(|(is_so, _)| *is_so)
            .for_each(|(_, warning)| found.add_warning(warning));
        if let DatabaseLocation::Server(server) = &settings.location
            && settings.ssh.is_none()
            && !is_local_host(&server.host)
        {
            match server.tls {
                TlsMode::Disable | TlsMode::Prefer => found.add_warning(MAYBE_UNENCRYPTED),
                TlsMode::Require => found.add_warning(UNVERIFIED_SERVER),
                TlsMode::VerifyFull => {}
            }
        }
        found.findings.push(ProfileFinding::Sound { what: "the settings are valid".to_owned() });
        found
    }

    /// Checks the connection to the database, and the rights of its user.
    pub async fn check_connection(&mut self, profile: &Arc<Profile>) {
        let database = match open_database(profile).await {
            Ok(database) => database,
            Err(error) => return self.add_error(error),
        };
        self.add_passed(if profile.has_tunnel() {
            "secrets are available, and the SSH login succeeded"
        } else {
            "secrets are available"
        });
        match query_version(&database, profile).await {
            Ok(version) => self.add_passed(&format!("{} {version} answers", profile.engine())),
            Err(error) => return self.add_error(error),
        }
        match excess_rights(&database, profile).await {
            Ok(warnings) if warnings.is_empty() => self.add_passed("its user can only read"),
            Ok(warnings) => warnings.iter().for_each(|warning| self.add_warning(warning)),
            Err(error) => self.add_error(error),
        }
        match database.check_tables(profile.query_caps()).await {
            Ok(report) => self.add_guard_report(&report),
            Err(error) => self.add_error(error),
        }
    }

    /// Lists the tables that the user may select and the guard refuses.
    fn add_guard_report(&mut self, report: &GuardReport) {
        let GuardReport { tables, refused, log_remedy } = report;
        for table in refused {
            self.add_warning(&format!(
                "the table {} cannot be read through this server: {}",
                table.name, table.reason
            ));
        }
        if *tables > 0 && refused.is_empty() {
            self.add_passed(&format!("all {tables} tables that its user may select can be read"));
        }
        if let Some(remedy) = log_remedy {
            self.add_warning(&format!(
                "each statement leaves some kilobytes in the log of the database server, with the \
                 values in it; to prevent that, run: {remedy}"
            ));
        }
    }

    /// Returns the code of the first error, if there is any.
    pub fn first_error(&self) -> Option<ErrorCode> {
        self.findings.iter().find_map(|finding| match finding {
            ProfileFinding::Wrong { code, .. } => Some(*code),
            ProfileFinding::Sound { .. } | ProfileFinding::Unsafe { .. } => None,
        })
    }

    fn add_passed(&mut self, what: &str) {
        self.findings.push(ProfileFinding::Sound { what: what.to_owned() });
    }

    fn add_warning(&mut self, what: &str) {
        self.findings.push(ProfileFinding::Unsafe { what: what.to_owned() });
    }

    fn add_error(&mut self, error: SqlError) {
        self.ok = false;
        let SqlError { code, message, detail, .. } = error;
        self.findings.push(ProfileFinding::Wrong { code, what: message, detail });
    }
}

/// Returns `true` if the host is this machine, so that the connection does not leave it.
fn is_local_host(host: &str) -> bool {
    host == "localhost"
        || host.starts_with('/')
        || host.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}
