//! Users and their keys, as `server.db` has them.

use std::{path::Path, time::Duration};

use rusqlite::{Row, types::Type};
use secrecy::SecretString;
use vademecum_kit::{
    model::{Deadline, Timestamp},
    store::{Database, Durability, Store, StoreError},
};

use super::{
    AccountError, KeyId, Rights, UserId,
    api_key::{ApiKey, KeyDigest},
};

/// How long a look at the accounts may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Users and their keys.
#[derive(Debug)]
pub struct Accounts {
    store: Store,
}

/// A user.
#[derive(Clone, Debug)]
pub struct UserRecord {
    /// Who it is.
    pub name: UserId,
    /// Since when.
    pub created_at: Timestamp,
    /// How many keys are in force.
    pub keys: i64,
}

/// What a key is to be.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    /// Whose key it is.
    pub user: UserId,
    /// What its owner calls it; may be empty.
    pub name: String,
    /// What it allows.
    pub rights: Rights,
    /// Whether it may speak for other users.
    pub delegating: bool,
    /// When it ends, if ever.
    pub expires_at: Option<Timestamp>,
}

/// A key, without what only its owner has.
#[derive(Clone, Debug)]
pub struct KeyRecord {
    /// What it is known by.
    pub id: KeyId,
    /// Whose key it is.
    pub user: UserId,
    /// What its owner calls it; may be empty.
    pub name: String,
    /// What it allows.
    pub rights: Rights,
    /// Whether it may speak for other users.
    pub delegating: bool,
    /// Since when there is one.
    pub created_at: Timestamp,
    /// When it ends, if ever.
    pub expires_at: Option<Timestamp>,
    /// Since when it is worth nothing, if it is.
    pub revoked_at: Option<Timestamp>,
}

impl Accounts {
    /// The accounts in this folder. Nothing is opened yet.
    pub fn new(folder: &Path) -> Self {
        Self { store: Store::new(Database::Server, folder) }
    }

    /// Adds a user.
    pub fn add_user(&self, name: &UserId) -> Result<(), AccountError> {
        let now = Timestamp::now();
        let added = self.store.write(Durability::Full, |writer| {
            writer
                .run(include_str!("sql/add_user.sql"), &[(":name", &name.as_str()), (":now", &now)])
        });
        match added.map_err(failed("add a user"))? {
            0 => Err(AccountError::UserExists(name.clone())),
            _ => Ok(()),
        }
    }

    /// All users.
    pub fn users(&self) -> Result<Vec<UserRecord>, AccountError> {
        let now = Timestamp::now();
        let read = |row: &Row<'_>| {
            Ok(UserRecord {
                name: parsed(row, "name")?,
                created_at: row.get("created_at")?,
                keys: row.get("keys")?,
            })
        };
        let found = self.store.read(Deadline::after(PATIENCE), |reader| {
            reader.all(include_str!("sql/users.sql"), &[(":now", &now)], read)
        });
        found.map_err(failed("list the users"))
    }

    /// Whether there is a user of exactly that name.
    pub fn knows(&self, name: &UserId) -> Result<bool, AccountError> {
        let found = self.store.read(Deadline::after(PATIENCE), |reader| {
            let parameters: &[(&str, &dyn rusqlite::ToSql)] = &[(":name", &name.as_str())];
            reader.first(include_str!("sql/user.sql"), parameters, |_| Ok(()))
        });
        Ok(found.map_err(failed("look for a user"))?.is_some())
    }

    /// Makes a key. This is the only time that it can be seen.
    pub fn create_key(&self, request: &KeyRequest) -> Result<(KeyId, SecretString), AccountError> {
        if !self.knows(&request.user)? {
            return Err(AccountError::UnknownUser(request.user.clone()));
        }
        let key = ApiKey::mint()?;
        let (now, digest, scopes) = (Timestamp::now(), key.digest(), request.rights.to_string());
        let added = self.store.write(Durability::Full, |writer| {
            writer.run(
                include_str!("sql/add_key.sql"),
                &[
                    (":id", &key.id.as_str()),
                    (":user", &request.user.as_str()),
                    (":name", &request.name),
                    (":digest", digest.as_bytes()),
                    (":scopes", &scopes),
                    (":delegating", &request.delegating),
                    (":now", &now),
                    (":expires_at", &request.expires_at),
                ],
            )
        });
        added.map_err(failed("add a key"))?;
        Ok((key.id.clone(), key.into_text()))
    }

    /// All keys.
    pub fn keys(&self) -> Result<Vec<KeyRecord>, AccountError> {
        let found = self.store.read(Deadline::after(PATIENCE), |reader| {
            reader.all(include_str!("sql/keys.sql"), &[], KeyRecord::read)
        });
        found.map_err(failed("list the keys"))
    }

    /// Whether anybody could come in with a key.
    pub fn has_key(&self) -> Result<bool, AccountError> {
        let now = Timestamp::now();
        let found = self.store.read(Deadline::after(PATIENCE), |reader| {
            let parameters: &[(&str, &dyn rusqlite::ToSql)] = &[(":now", &now)];
            reader.one(include_str!("sql/any_key.sql"), parameters, |row| row.get("found"))
        });
        found.map_err(failed("look for a key"))
    }

    /// Revokes a key: from the next request on it is worth nothing.
    pub fn revoke(&self, id: &KeyId) -> Result<(), AccountError> {
        let now = Timestamp::now();
        let revoked = self.store.write(Durability::Full, |writer| {
            writer.run(include_str!("sql/revoke.sql"), &[(":id", &id.as_str()), (":now", &now)])
        });
        match revoked.map_err(failed("revoke a key"))? {
            0 => Err(AccountError::UnknownKey(id.clone())),
            _ => Ok(()),
        }
    }

    /// What is known of a key, if it is the one that was made.
    pub(super) fn find(&self, key: &ApiKey) -> Result<Option<KeyRecord>, AccountError> {
        let read =
            |row: &Row<'_>| Ok((KeyRecord::read(row)?, KeyDigest::of_bytes(row.get("digest")?)));
        let found = self.store.read(Deadline::after(PATIENCE), |reader| {
            let parameters: &[(&str, &dyn rusqlite::ToSql)] = &[(":id", &key.id.as_str())];
            reader.first(include_str!("sql/key.sql"), parameters, read)
        });
        let found = found.map_err(failed("look for a key"))?;
        Ok(found.filter(|(_, digest)| digest.is(&key.digest())).map(|(record, _)| record))
    }
}

impl KeyRecord {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let scopes: String = row.get("scopes")?;
        Ok(Self {
            id: parsed(row, "id")?,
            user: parsed(row, "user")?,
            name: row.get("name")?,
            rights: Rights::of_scopes(scopes.split(' ')),
            delegating: row.get("delegating")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            revoked_at: row.get("revoked_at")?,
        })
    }

    /// Whether its time is over.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A column that holds something with rules of its own.
fn parsed<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse()
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}

fn failed(action: &'static str) -> impl Fn(StoreError) -> AccountError {
    move |source| AccountError::Store { action, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(user: &str) -> KeyRequest {
        KeyRequest {
            user: user.parse().unwrap(),
            name: String::new(),
            rights: Rights::of_scopes(["read"]),
            delegating: false,
            expires_at: None,
        }
    }

    fn folder() -> (tempfile::TempDir, Accounts) {
        let folder = tempfile::tempdir().unwrap();
        let accounts = Accounts::new(folder.path());
        accounts.add_user(&"ada".parse().unwrap()).unwrap();
        (folder, accounts)
    }

    #[test]
    fn a_key_is_kept_as_a_hash_only() {
        use secrecy::ExposeSecret as _;
        let (folder, accounts) = folder();
        let (id, text) = accounts.create_key(&request("ada")).unwrap();
        accounts.store.settle().unwrap();
        let bytes = std::fs::read(folder.path().join("server.db")).unwrap();
        // The secret may have `_` itself, and what follows one of these may stand anywhere.
        let secret = text.expose_secret().strip_prefix(&format!("vdm_{id}_")).unwrap().as_bytes();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        assert!(accounts.find(&ApiKey::parse(&text).unwrap()).unwrap().is_some());
    }

    #[test]
    fn the_id_of_a_key_is_not_enough() {
        use secrecy::ExposeSecret as _;
        let (_folder, accounts) = folder();
        let (id, _) = accounts.create_key(&request("ada")).unwrap();
        let other = ApiKey::mint().unwrap().into_text();
        let secret = &other.expose_secret()["vdm_0123456789abcdef_".len()..];
        let forged = ApiKey::parse(&format!("vdm_{id}_{secret}").into()).unwrap();
        assert!(accounts.find(&forged).unwrap().is_none());
    }

    #[test]
    fn a_user_who_differs_in_case_is_neither_added_nor_known() {
        let (_folder, accounts) = folder();
        let shouted: UserId = "ADA".parse().unwrap();
        assert!(matches!(accounts.add_user(&shouted), Err(AccountError::UserExists(_))));
        assert!(!accounts.knows(&shouted).unwrap());
        assert!(matches!(accounts.create_key(&request("ADA")), Err(AccountError::UnknownUser(_))));
    }

    #[test]
    fn a_revoked_key_opens_nothing_any_more() {
        let (_folder, accounts) = folder();
        let (id, _) = accounts.create_key(&request("ada")).unwrap();
        assert!(accounts.has_key().unwrap());
        accounts.revoke(&id).unwrap();
        assert!(!accounts.has_key().unwrap());
        assert!(accounts.keys().unwrap()[0].revoked_at.is_some());
    }
}
