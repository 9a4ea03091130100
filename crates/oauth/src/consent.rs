//! Consent: the user sees who asks for what, and where the answer goes, and limits what is granted.

use std::time::Duration;

use rusqlite::{ToSql, types::Type};
use vademecum_core::auth::{KeyScope, Right, Rights};
use vademecum_model::Timestamp;

use super::{
    AuthorizationRequest, AuthorizationServer, Client, LoginSession, NameWarning, OAuthError,
    ServerError,
    secret::{Secret, hash_texts},
};

/// Reads what a user agreed to for a client.
const CONSENT_SQL: &str = "SELECT fingerprint, scopes, access \
     FROM oauth_consents \
     WHERE user = :user AND client_id = :client_id";

/// Time for which a code can be exchanged.
const CODE_LIFETIME: Duration = Duration::from_mins(2);

/// Content of the consent page.
#[derive(Clone, Debug)]
pub struct ConsentForm {
    /// Client that asks.
    pub client: Client,
    /// Host or application that receives the answer.
    pub destination: String,
    /// Reasons to distrust the name of the client.
    pub warnings: Vec<NameWarning>,
    /// The answer stays on the machine of the browser.
    pub is_loopback: bool,
    /// Rights that the user may give, weakest first.
    pub offered: Vec<Right>,
    /// Strongest right that the client asks for.
    pub requested: Rights,
    /// Hash of the above, which the answer repeats.
    pub shown: String,
}

/// Answer of the user who agreed.
#[derive(Clone, Debug)]
pub struct ConsentAnswer {
    /// Hash of what the page showed.
    pub shown: String,
    /// Granted rights.
    pub rights: Rights,
    /// Further limits.
    pub scope: KeyScope,
}

/// Consent that a user gave before.
struct StoredConsent {
    fingerprint: Vec<u8>,
    rights: Rights,
    scope: KeyScope,
}

impl AuthorizationServer {
    /// Returns the content of the consent page.
    pub fn consent_form(
        &self,
        request: &AuthorizationRequest,
        session: &LoginSession,
    ) -> ConsentForm {
        ConsentForm {
            client: request.client.clone(),
            destination: request.redirect_uri.destination(),
            warnings: request.client.name_warnings(&request.redirect_uri),
            is_loopback: request.redirect_uri.is_loopback(),
            offered: Right::ALL
                .into_iter()
                .filter(|right| session.grantable.contains(*right))
                .collect(),
            requested: request.rights,
            shown: fingerprint(request),
        }
    }

    /// Returns where the browser goes if the user has agreed to the same before. Only for clients
    /// that are known by the host that receives the code: on the user's machine, any program could
    /// pass for another (RFC 8252, section 8.6).
    pub fn remembered_answer(
        &self,
        request: &AuthorizationRequest,
        session: &LoginSession,
    ) -> Result<Option<String>, ServerError> {
        if request.must_ask || !request.redirect_uri.identifies_client() {
            return Ok(None);
        }
        let found = self.read("look up a consent", |reader| {
            let parameters: &[(&str, &dyn ToSql)] =
                &[(":user", &session.user.as_str()), (":client_id", &request.client.id)];
            reader.query_first(CONSENT_SQL, parameters, |row| {
                let (scopes, access): (String, String) = (row.get("scopes")?, row.get("access")?);
                Ok(StoredConsent {
                    fingerprint: row.get("fingerprint")?,
                    rights: Rights::from_scopes(scopes.split(' ')),
                    scope: parse_scope(&access)?,
                })
            })
        })?;
        let same = found.filter(|it| it.fingerprint == fingerprint(request).as_bytes());
        match same {
            // The user may have lost rights since.
            Some(it)
                if Right::ALL.iter().all(|right| {
                    !it.rights.contains(*right) || session.grantable.contains(*right)
                }) =>
            {
                self.issue_code(request, session, it.rights, &it.scope).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Records that the user agreed, and returns where the browser goes. Fails if the page showed
    /// something else than the request says now, or no right was granted.
    pub fn approve(
        &self,
        request: &AuthorizationRequest,
        session: &LoginSession,
        answer: &ConsentAnswer,
    ) -> Result<Result<String, OAuthError>, ServerError> {
        if answer.shown != fingerprint(request) {
            return Ok(Err(OAuthError::invalid_request(
                "the client has changed since this page was shown: check it again",
            )));
        }
        let granted = Right::ALL
            .into_iter()
            .filter(|right| answer.rights.contains(*right) && session.grantable.contains(*right));
        let rights: Rights = granted.collect();
        if !rights.contains(Right::Read) {
            return Ok(Err(OAuthError::invalid_request("no right was granted: choose one")));
        }
        let now = Timestamp::now();
        let (scopes, access) = (rights.to_string(), answer.scope.to_json());
        let fingerprint = fingerprint(request);
        self.write("record a consent", |writer| {
            writer.execute(
                include_str!("sql/set_consent.sql"),
                &[
                    (":user", &session.user.as_str()),
                    (":client_id", &request.client.id),
                    (":fingerprint", &fingerprint.as_bytes()),
                    (":scopes", &scopes),
                    (":access", &access),
                    (":now", &now),
                ],
            )
        })?;
        self.issue_code(request, session, rights, &answer.scope).map(Ok)
    }

    /// Returns where the browser goes if the user refused.
    pub fn deny(&self, request: &AuthorizationRequest) -> String {
        let error = OAuthError::new("access_denied", "the user refused");
        request.error_redirect(self.public_url.as_str(), &error)
    }

    /// Returns where the browser goes if the user had to be asked, and the client forbade that.
    pub fn require_consent(&self, request: &AuthorizationRequest) -> String {
        let error = OAuthError::new("consent_required", "the user has not agreed yet");
        request.error_redirect(self.public_url.as_str(), &error)
    }

    /// Creates a code for what was granted, and returns the address that hands it to the client.
    fn issue_code(
        &self,
        request: &AuthorizationRequest,
        session: &LoginSession,
        rights: Rights,
        scope: &KeyScope,
    ) -> Result<String, ServerError> {
        let code = Secret::generate()?;
        let expires_at = Timestamp::now().plus(CODE_LIFETIME);
        let (scopes, access) = (rights.to_string(), scope.to_json());
        self.write("create a code", |writer| {
            writer.execute(
                include_str!("sql/add_code.sql"),
                &[
                    (":digest", &code.digest()),
                    (":client_id", &request.client.id),
                    (":client_name", &request.client.display_name()),
                    (":user", &session.user.as_str()),
                    (":redirect_uri", &request.redirect_uri.as_str()),
                    (":challenge", &request.challenge),
                    (":resource", &self.resource),
                    (":scopes", &scopes),
                    (":access", &access),
                    (":expires_at", &expires_at),
                ],
            )?;
            Ok(())
        })?;
        Ok(request.code_redirect(self.public_url.as_str(), code.expose()))
    }
}

/// Returns the hash of what the user agrees to: client, its name, the address that receives the
/// code, and the rights. A change of any of them needs a new answer.
fn fingerprint(request: &AuthorizationRequest) -> String {
    let AuthorizationRequest { client, redirect_uri, rights, .. } = request;
    hash_texts(&[&client.id, &client.name, &redirect_uri.without_port(), &rights.to_string()])
}

/// Reads the limits of a grant from a column.
pub(crate) fn parse_scope(text: &str) -> rusqlite::Result<KeyScope> {
    serde_json::from_str(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}
