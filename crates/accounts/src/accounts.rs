//! Users and API keys, stored in `server.db`.

use std::time::Duration;

use rusqlite::{Row, types::Type};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use vademecum_core::auth::{KeyId, KeyScope, Rights, UserId};
use vademecum_model::{Deadline, Timestamp};
use vademecum_store::{DataFolder, Database, Durability, Store, StoreError};

use super::{
    AccountError, UserFolders,
    api_key::{ApiKey, KeyDigest},
};

/// Inserts a user, unless the name exists in any letter case.
const ADD_USER_SQL: &str = "INSERT INTO users (name, created_at, folder) \
     VALUES (:name, :now, :folder) \
     ON CONFLICT DO NOTHING";
/// Revokes a key. A key that is already revoked keeps its revocation time.
const REVOKE_SQL: &str =
    "UPDATE api_keys SET revoked_at = coalesce(revoked_at, :now) WHERE id = :id";
/// Replaces the secret of an API key that is not revoked. The old one is accepted until `:until`.
const ROTATE_SQL: &str = "UPDATE api_keys \
     SET previous_digest = digest, previous_until = :until, digest = :digest \
     WHERE id = :id AND revoked_at IS NULL AND client_id IS NULL";
/// Records the use of a key, unless one was recorded since `:recent`.
const USE_KEY_SQL: &str = "UPDATE api_keys \
     SET last_used_at = :now \
     WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :recent)";

/// Maximum duration of one read of the account database.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Minimum time between two records of the use of a key.
pub(super) const LAST_USE_INTERVAL: Duration = Duration::from_mins(1);

/// Store of users and their API keys.
#[derive(Debug)]
pub struct Accounts {
    pub(super) store: Store,
    pub(super) data: DataFolder,
}

/// User account.
#[derive(Clone, Debug)]
pub struct UserRecord {
    /// Unique name.
    pub name: UserId,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time since which the user is suspended, if so.
    pub suspended_at: Option<Timestamp>,
    /// Number of keys that are neither revoked nor expired.
    pub active_keys: i64,
}

/// Properties of a key to create.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    /// Owner of the key.
    pub user: UserId,
    /// Label chosen by the owner; may be empty.
    pub name: String,
    /// Rights that the key grants.
    pub rights: Rights,
    /// True if the key may act for other users.
    pub delegating: bool,
    /// Scope beyond the rights.
    pub scope: KeyScope,
    /// Time of expiry; `None` means never.
    pub expires_at: Option<Timestamp>,
}

/// Stored key, without its secret.
#[derive(Clone, Debug)]
pub struct KeyRecord {
    /// Identifier of the key.
    pub id: KeyId,
    /// Owner of the key.
    pub user: UserId,
    /// Label chosen by the owner; may be empty.
    pub name: String,
    /// Rights that the key grants.
    pub rights: Rights,
    /// True if the key may act for other users.
    pub delegating: bool,
    /// Scope beyond the rights.
    pub scope: KeyScope,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of expiry; `None` means never.
    pub expires_at: Option<Timestamp>,
    /// Time of revocation, if revoked.
    pub revoked_at: Option<Timestamp>,
    /// Time of the last use, to the minute; `None` if it was never used.
    pub last_used_at: Option<Timestamp>,
    /// Id of the client that holds the grant; `None` for an API key.
    pub client_id: Option<String>,
    /// Address to which the code of the grant was sent; `None` for an API key.
    pub redirect_uri: Option<String>,
}

/// Key whose secret was verified.
#[derive(Debug)]
pub(super) struct VerifiedKey {
    pub(super) record: KeyRecord,
    /// True if the owner of the key is suspended.
    pub(super) is_suspended: bool,
}

impl Accounts {
    /// Returns the accounts of a data folder. No file is opened until the first access.
    pub fn new(data: impl Into<DataFolder>) -> Self {
        let data = data.into();
        Self { store: data.server_store(Database::Server), data }
    }

    /// Adds a user and records the folder of its library. Fails with [`AccountError::UserExists`] if
    /// a name differs at most in case.
    pub fn add_user(&self, name: &UserId) -> Result<(), AccountError> {
        let now = Timestamp::now();
        let folder = UserFolders::new(&self.data).choose(name);
        let added = self.store.write(Durability::Full, |writer| {
            writer.execute(
                ADD_USER_SQL,
                &[(":name", &name.as_str()), (":now", &now), (":folder", &folder)],
            )
        });
        match added.map_err(store_error("add a user"))? {
            0 => Err(AccountError::UserExists(name.clone())),
            _ => Ok(()),
        }
    }

    /// Returns all users, ordered by name.
    pub fn list_users(&self) -> Result<Vec<UserRecord>, AccountError> {
        let now = Timestamp::now();
        let read = |row: &Row<'_>| {
            Ok(UserRecord {
                name: parse_column(row, "name")?,
                created_at: row.get("created_at")?,
                suspended_at: row.get("suspended_at")?,
                active_keys: row.get("keys")?,
            })
        };
        let found = self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(include_str!("sql/users.sql"), &[(":now", &now)], read)
        });
        found.map_err(store_error("list the users"))
    }

    /// Creates a key and returns its id and full text. The text cannot be retrieved again.
    pub fn create_key(&self, request: &KeyRequest) -> Result<(KeyId, SecretString), AccountError> {
        if self.find_user(&request.user)?.is_none() {
            return Err(AccountError::UnknownUser(request.user.clone()));
        }
        let key = ApiKey::generate()?;
        let (now, digest, scopes) = (Timestamp::now(), key.digest(), request.rights.to_string());
        let access = request.scope.to_json();
        let added = self.store.write(Durability::Full, |writer| {
            writer.execute(
                include_str!("sql/add_key.sql"),
                &[
                    (":id", &key.id.as_str()),
                    (":user", &request.user.as_str()),
                    (":name", &request.name),
                    (":digest", digest.as_bytes()),
                    (":scopes", &scopes),
                    (":delegating", &request.delegating),
                    (":access", &access),
                    (":now", &now),
                    (":expires_at", &request.expires_at),
                ],
            )
        });
        added.map_err(store_error("add a key"))?;
        Ok((key.id.clone(), key.into_secret()))
    }

    /// Returns all keys and grants, grouped by user, oldest first.
    pub fn list_keys(&self) -> Result<Vec<KeyRecord>, AccountError> {
        let found = self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(include_str!("sql/keys.sql"), &[], KeyRecord::from_row)
        });
        found.map_err(store_error("list the keys"))
    }

    /// Returns true if at least one key is neither revoked nor expired.
    pub fn has_active_key(&self) -> Result<bool, AccountError> {
        let now = Timestamp::now();
        let found = self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            let parameters: &[(&str, &dyn rusqlite::ToSql)] = &[(":now", &now)];
            reader.query_one(include_str!("sql/any_key.sql"), parameters, |row| row.get("found"))
        });
        found.map_err(store_error("look up a key"))
    }

    /// Revokes a key with immediate effect. Fails with [`AccountError::UnknownKey`] if there is no
    /// such key.
    pub fn revoke_key(&self, id: &KeyId) -> Result<(), AccountError> {
        let now = Timestamp::now();
        let revoked = self.store.write(Durability::Full, |writer| {
            writer.execute(REVOKE_SQL, &[(":id", &id.as_str()), (":now", &now)])
        });
        match revoked.map_err(store_error("revoke a key"))? {
            0 => Err(AccountError::UnknownKey(id.clone())),
            _ => Ok(()),
        }
    }

    /// Replaces the secret of a key and returns the new key. The old secret is accepted until
    /// `until`. Fails with [`AccountError::UnknownKey`] if there is no such key or it is revoked.
    pub fn rotate_key(&self, id: &KeyId, until: Timestamp) -> Result<SecretString, AccountError> {
        let key = ApiKey::generate_for(id.clone())?;
        let digest = key.digest();
        let rotated = self.store.write(Durability::Full, |writer| {
            writer.execute(
                ROTATE_SQL,
                &[(":id", &id.as_str()), (":digest", digest.as_bytes()), (":until", &until)],
            )
        });
        match rotated.map_err(store_error("rotate a key"))? {
            0 => Err(AccountError::UnknownKey(id.clone())),
            _ => Ok(key.into_secret()),
        }
    }

    /// Records the use of a key, at most once in [`LAST_USE_INTERVAL`].
    pub(super) fn record_use(&self, id: &KeyId) -> Result<(), AccountError> {
        let now = Timestamp::now();
        let recent = now.minus(LAST_USE_INTERVAL);
        let recorded = self.store.write(Durability::Bulk, |writer| {
            writer.execute(
                USE_KEY_SQL,
                &[(":id", &id.as_str()), (":now", &now), (":recent", &recent)],
            )
        });
        recorded.map(|_| ()).map_err(store_error("record the use of a key"))
    }

    /// Returns the stored key if id and secret match.
    pub(super) fn find_key(&self, key: &ApiKey) -> Result<Option<VerifiedKey>, AccountError> {
        let read = |row: &Row<'_>| {
            let previous: Option<[u8; 32]> = row.get("previous_digest")?;
            let until: Option<Timestamp> = row.get("previous_until")?;
            let previous = previous.filter(|_| until.is_some_and(|end| end > Timestamp::now()));
            let digests: Vec<KeyDigest> = [Some(row.get("digest")?), previous]
                .into_iter()
                .flatten()
                .map(KeyDigest::from_bytes)
                .collect();
            let suspended_at: Option<Timestamp> = row.get("suspended_at")?;
            let record = KeyRecord::from_row(row)?;
            Ok((VerifiedKey { record, is_suspended: suspended_at.is_some() }, digests))
        };
        let found = self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            let parameters: &[(&str, &dyn rusqlite::ToSql)] = &[(":id", &key.id.as_str())];
            reader.query_first(include_str!("sql/key.sql"), parameters, read)
        });
        let found = found.map_err(store_error("look up a key"))?;
        Ok(found
            .filter(|(_, digests)| digests.iter().any(|it| it.constant_time_eq(&key.digest())))
            .map(|(found, _)| found))
    }
}

impl KeyRecord {
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let scopes: String = row.get("scopes")?;
        Ok(Self {
            id: parse_column(row, "id")?,
            user: parse_column(row, "user")?,
            name: row.get("name")?,
            rights: Rights::from_scopes(scopes.split(' ')),
            delegating: row.get("delegating")?,
            scope: parse_json_column(row, "access")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            revoked_at: row.get("revoked_at")?,
            last_used_at: row.get("last_used_at")?,
            client_id: row.get("client_id")?,
            redirect_uri: row.get("redirect_uri")?,
        })
    }

    /// Returns true if the expiry is not after `now`. A key without expiry never expires.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// Reads a JSON column. A scope that cannot be read makes the key unusable.
fn parse_json_column<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}

/// Reads a text column and parses it.
pub(super) fn parse_column<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse()
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}

pub(super) fn store_error(action: &'static str) -> impl Fn(StoreError) -> AccountError {
    move |source| AccountError::Store { action, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_request(user: &str) -> KeyRequest {
        KeyRequest {
            user: user.parse().unwrap(),
            name: String::new(),
            rights: Rights::from_scopes(["read"]),
            delegating: false,
            scope: KeyScope::default(),
            expires_at: None,
        }
    }

    fn accounts_with_ada() -> (tempfile::TempDir, Accounts) {
        let folder = tempfile::tempdir().unwrap();
        let accounts = Accounts::new(folder.path());
        accounts.add_user(&"ada".parse().unwrap()).unwrap();
        (folder, accounts)
    }

    #[test]
    fn key_secret_is_never_stored() {
        use secrecy::ExposeSecret as _;
        let (folder, accounts) = accounts_with_ada();
        let (id, text) = accounts.create_key(&key_request("ada")).unwrap();
        accounts.store.checkpoint().unwrap();
        let bytes = std::fs::read(folder.path().join("server.db")).unwrap();
        // The secret may contain `_`, so take everything after the id.
        let secret = text.expose_secret().strip_prefix(&format!("vdm_{id}_")).unwrap().as_bytes();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        assert!(accounts.find_key(&ApiKey::parse(&text).unwrap()).unwrap().is_some());
    }

    #[test]
    fn key_with_wrong_secret_is_rejected() {
        use secrecy::ExposeSecret as _;
        let (_folder, accounts) = accounts_with_ada();
        let (id, _) = accounts.create_key(&key_request("ada")).unwrap();
        let other = ApiKey::generate().unwrap().into_secret();
        let secret = &other.expose_secret()["vdm_0123456789abcdef_".len()..];
        let forged = ApiKey::parse(&format!("vdm_{id}_{secret}").into()).unwrap();
        assert!(accounts.find_key(&forged).unwrap().is_none());
    }

    #[test]
    fn rotated_key_replaces_secret_after_grace_time() {
        use secrecy::ExposeSecret as _;
        let (_folder, accounts) = accounts_with_ada();
        let (id, old) = accounts.create_key(&key_request("ada")).unwrap();
        let accepts = |text: &SecretString| {
            accounts.find_key(&ApiKey::parse(text).unwrap()).unwrap().is_some()
        };
        let hour = Timestamp::now().plus(Duration::from_hours(1)).unwrap();
        let new = accounts.rotate_key(&id, hour).unwrap();
        assert_ne!(old.expose_secret(), new.expose_secret());
        assert!(accepts(&old) && accepts(&new));
        let newest = accounts.rotate_key(&id, Timestamp::now()).unwrap();
        assert!(!accepts(&old) && !accepts(&new) && accepts(&newest));
        accounts.revoke_key(&id).unwrap();
        assert!(matches!(
            accounts.rotate_key(&id, Timestamp::now()),
            Err(AccountError::UnknownKey(_))
        ));
    }

    #[test]
    fn key_use_is_recorded_once_a_minute() {
        let (_folder, accounts) = accounts_with_ada();
        let (id, _) = accounts.create_key(&key_request("ada")).unwrap();
        let last_use = || accounts.list_keys().unwrap()[0].last_used_at;
        assert_eq!(last_use(), None);
        accounts.record_use(&id).unwrap();
        let first = last_use();
        accounts.record_use(&id).unwrap();
        assert!(first.is_some() && last_use() == first);
    }

    #[test]
    fn user_name_case_variant_is_refused() {
        let (_folder, accounts) = accounts_with_ada();
        let shouted: UserId = "ADA".parse().unwrap();
        assert!(matches!(accounts.add_user(&shouted), Err(AccountError::UserExists(_))));
        assert!(accounts.find_user(&shouted).unwrap().is_none());
        assert!(matches!(
            accounts.create_key(&key_request("ADA")),
            Err(AccountError::UnknownUser(_))
        ));
    }

    #[test]
    fn revoked_key_is_inactive() {
        let (_folder, accounts) = accounts_with_ada();
        let (id, _) = accounts.create_key(&key_request("ada")).unwrap();
        assert!(accounts.has_active_key().unwrap());
        accounts.revoke_key(&id).unwrap();
        assert!(!accounts.has_active_key().unwrap());
        assert!(accounts.list_keys().unwrap()[0].revoked_at.is_some());
    }
}
