//! Grants and clients, as users and operators see them, and their revocation.

use rusqlite::ToSql;
use vademecum_accounts::{AccountError, GrantToken, GrantTokenKind, KeyRecord};
use vademecum_core::auth::{KeyId, UserId};
use vademecum_model::Timestamp;

use super::{AuthorizationServer, RedirectUri, ServerError, TokenForm};

/// Lists the registered clients, oldest first.
const CLIENTS_SQL: &str = "SELECT id, name, redirect_uris, created_at, used_at \
     FROM oauth_clients \
     ORDER BY created_at, id";
/// Deletes the registered client `:id`.
const DELETE_CLIENT_SQL: &str = "DELETE FROM oauth_clients WHERE id = :id";
/// Deletes the codes of the client `:id`.
const DELETE_CLIENT_CODES_SQL: &str = "DELETE FROM oauth_codes WHERE client_id = :id";
/// Forgets that users agreed to the client `:id`.
const DELETE_CLIENT_CONSENTS_SQL: &str = "DELETE FROM oauth_consents WHERE client_id = :id";
/// Forgets that a user agreed to a client.
const DELETE_CONSENT_SQL: &str =
    "DELETE FROM oauth_consents WHERE user = :user AND client_id = :client_id";
/// Deletes the token `:digest`.
const DELETE_TOKEN_SQL: &str = "DELETE FROM oauth_tokens WHERE digest = :digest";
/// Revokes the valid grants of the client `:id`.
const REVOKE_CLIENT_SQL: &str =
    "UPDATE api_keys SET revoked_at = :now WHERE client_id = :id AND revoked_at IS NULL";

/// Grant of a user for a client.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Key with the user, the rights and the times of the grant.
    pub key: KeyRecord,
    /// Host or application that received the code.
    pub destination: String,
}

/// Client that registered itself, as operators see it.
#[derive(Clone, Debug)]
pub struct RegisteredClient {
    /// Identifier.
    pub id: String,
    /// Name that the client gave itself; may be empty.
    pub name: String,
    /// Time of registration.
    pub created_at: Timestamp,
    /// Time at which it got tokens last; `None` if it never did.
    pub used_at: Option<Timestamp>,
}

impl Grant {
    /// Returns the grant of a key; `None` for an API key.
    fn of_key(key: KeyRecord) -> Option<Self> {
        let address = key.redirect_uri.clone()?;
        let parsed = address.parse::<RedirectUri>();
        let destination = parsed.map_or(address, |it| it.destination());
        Some(Self { key, destination })
    }

    /// Returns true if the grant is neither revoked nor expired.
    pub fn is_valid(&self) -> bool {
        self.key.revoked_at.is_none() && !self.key.has_expired(Timestamp::now())
    }
}

impl AuthorizationServer {
    /// Returns the grants of a user, or of all, oldest first.
    pub fn list_grants(&self, user: Option<&UserId>) -> Result<Vec<Grant>, ServerError> {
        let keys = self.accounts.list_keys()?.into_iter();
        let of_user = keys.filter(|key| user.is_none_or(|user| key.user == *user));
        Ok(of_user.filter_map(Grant::of_key).collect())
    }

    /// Returns the registered clients, oldest first.
    pub fn list_clients(&self) -> Result<Vec<RegisteredClient>, ServerError> {
        self.read("list the clients", |reader| {
            reader.query_all(CLIENTS_SQL, &[], |row| {
                Ok(RegisteredClient {
                    id: row.get("id")?,
                    name: row.get("name")?,
                    created_at: row.get("created_at")?,
                    used_at: row.get("used_at")?,
                })
            })
        })
    }

    /// Revokes a grant with immediate effect. The user must agree again before the client gets
    /// another one. Fails with [`AccountError::UnknownGrant`] unless `user`, if named, has it.
    pub fn revoke_grant(&self, key: &KeyId, user: Option<&UserId>) -> Result<Grant, ServerError> {
        let found = self.list_grants(user)?.into_iter().find(|grant| grant.key.id == *key);
        let found = found.ok_or_else(|| AccountError::UnknownGrant(key.to_string()))?;
        let (client, now) = (found.key.client_id.clone(), Timestamp::now());
        self.write("revoke a grant", |writer| {
            let grant: &[(&str, &dyn ToSql)] = &[(":key", &key.as_str()), (":now", &now)];
            writer.execute(include_str!("sql/revoke_grant.sql"), grant)?;
            let consent: &[(&str, &dyn ToSql)] =
                &[(":client_id", &client), (":user", &found.key.user.as_str())];
            writer.execute(DELETE_CONSENT_SQL, consent)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Revokes all grants of a client, forgets that users agreed to it, and removes its
    /// registration. Fails with [`AccountError::UnknownGrant`] if there is no such client.
    pub fn revoke_client(&self, id: &str) -> Result<usize, ServerError> {
        let now = Timestamp::now();
        let changed = self.write("revoke a client", |writer| {
            let client: &[(&str, &dyn ToSql)] = &[(":id", &id)];
            let known = writer.execute(DELETE_CLIENT_SQL, client)?;
            writer.execute(DELETE_CLIENT_CODES_SQL, client)?;
            writer.execute(DELETE_CLIENT_CONSENTS_SQL, client)?;
            let grants: &[(&str, &dyn ToSql)] = &[(":id", &id), (":now", &now)];
            let revoked = writer.execute(REVOKE_CLIENT_SQL, grants)?;
            Ok((known, revoked))
        })?;
        match changed {
            (0, 0) => Err(AccountError::UnknownGrant(id.to_owned()).into()),
            (_, revoked) => Ok(revoked),
        }
    }

    /// Revokes the token of a request (RFC 7009): with a refresh token the whole grant. Returns the
    /// grant that ended. An unknown token, or one of another client, changes nothing.
    pub fn revoke_token(&self, form: &TokenForm) -> Result<Option<KeyId>, ServerError> {
        let token = form.get("token").and_then(|text| GrantToken::parse(&text.into()));
        let Some(token) = token else { return Ok(None) };
        let (digest, now) = (token.digest(), Timestamp::now());
        let client_id = form.get("client_id");
        self.write("revoke a token", |writer| {
            let this: &[(&str, &dyn ToSql)] = &[(":digest", &digest)];
            let owner: Option<String> = writer.with_reader(|reader| {
                let sql = include_str!("sql/token_client.sql");
                reader.query_first(sql, this, |row| row.get("client_id"))
            })?;
            if owner.is_none() || client_id.is_some_and(|id| owner.as_deref() != Some(id)) {
                return Ok(None);
            }
            if token.kind() == GrantTokenKind::Access {
                writer.execute(DELETE_TOKEN_SQL, this)?;
                return Ok(None);
            }
            let grant: &[(&str, &dyn ToSql)] = &[(":key", &token.key().as_str()), (":now", &now)];
            writer.execute(include_str!("sql/revoke_grant.sql"), grant)?;
            Ok(Some(token.key().clone()))
        })
    }
}
