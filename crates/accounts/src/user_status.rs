//! Suspension and removal of users, and their effect on running servers.

use std::{collections::HashMap, time::Duration};

use rusqlite::Row;
use vademecum_core::{auth::UserId, config::Quotas};
use vademecum_model::{Deadline, Timestamp};
use vademecum_store::{ChangeDetector, Durability, StoreError, Writer};

use super::{
    AccountError, Accounts,
    accounts::{READ_TIMEOUT, parse_column, store_error},
    erasures::require_erasures,
};

/// Deletes the keys of a user.
const DELETE_KEYS_SQL: &str = "DELETE FROM api_keys WHERE user = :name";
/// Deletes the one-time codes of a user.
const DELETE_LOGIN_CODES_SQL: &str = "DELETE FROM login_codes WHERE user = :name";
/// Deletes the logins of a user in browsers.
const DELETE_LOGIN_SESSIONS_SQL: &str = "DELETE FROM login_sessions WHERE user = :name";
/// Deletes a user, whose keys must be deleted already.
const DELETE_USER_SQL: &str =
    "DELETE FROM users WHERE name = :name AND name = :name COLLATE BINARY";
/// Lists the users whose sessions were ended.
const ENDED_USERS_SQL: &str = "SELECT name, ended_at FROM ended_users";
/// Tells running servers to end the sessions of a user.
const END_SESSIONS_SQL: &str = "INSERT INTO ended_users (name, ended_at) \
     VALUES (:name, :now) \
     ON CONFLICT (name) DO UPDATE SET ended_at = excluded.ended_at";

/// Age of a quota that a write is compared with. Servers that follow an archive check it twice as
/// often.
const MAX_QUOTA_AGE: Duration = Duration::from_secs(1);

/// Stored properties of a user.
#[derive(Clone, Debug)]
pub struct UserStatus {
    /// Folder of the library; `None` if it follows from the name.
    pub folder: Option<String>,
    /// Time since which the user is suspended, if so.
    pub suspended_at: Option<Timestamp>,
    /// Quotas that override those of the settings.
    pub quotas: Quotas,
}

impl Accounts {
    /// Returns the status of the user of exactly this name; the comparison is case-sensitive.
    pub fn find_user(&self, name: &UserId) -> Result<Option<UserStatus>, AccountError> {
        self.find_user_until(name, Deadline::after(READ_TIMEOUT))
    }

    fn find_user_until(
        &self,
        name: &UserId,
        deadline: Deadline,
    ) -> Result<Option<UserStatus>, AccountError> {
        let read = |row: &Row<'_>| {
            Ok(UserStatus {
                folder: row.get("folder")?,
                suspended_at: row.get("suspended_at")?,
                quotas: Quotas {
                    max_bytes: read_limit(row, "max_bytes")?,
                    max_items: read_limit(row, "max_items")?,
                },
            })
        };
        let found = self.store.read(deadline, |reader| {
            let parameters: &[(&str, &dyn rusqlite::ToSql)] = &[(":name", &name.as_str())];
            reader.query_first(include_str!("sql/user.sql"), parameters, read)
        });
        found.map_err(store_error("look up a user"))
    }

    /// Returns the quotas that override those of the settings for a user. Creates no database. A
    /// change at another server counts a second later at the latest.
    pub fn quotas(&self, name: &UserId) -> Result<Quotas, AccountError> {
        if !self.store.may_have_rows() {
            return Ok(Quotas::default());
        }
        let deadline = Deadline::after(READ_TIMEOUT).accepting_age(MAX_QUOTA_AGE);
        Ok(self.find_user_until(name, deadline)?.map(|status| status.quotas).unwrap_or_default())
    }

    /// Replaces the quotas that override those of the settings for a user. Fails with
    /// [`AccountError::UnknownUser`] if there is no such user.
    pub fn set_quotas(&self, name: &UserId, quotas: Quotas) -> Result<(), AccountError> {
        let number = |limit: Option<u64>| limit.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let (bytes, items) = (number(quotas.max_bytes), number(quotas.max_items));
        let changed = self.store.write(Durability::Full, |writer| {
            writer.execute(
                include_str!("sql/set_quotas.sql"),
                &[(":name", &name.as_str()), (":max_bytes", &bytes), (":max_items", &items)],
            )
        });
        match changed.map_err(store_error("set a quota"))? {
            0 => Err(AccountError::UnknownUser(name.clone())),
            _ => Ok(()),
        }
    }

    /// Suspends a user: keys and tokens are refused and sessions end, until the user is resumed.
    /// Logins in browsers end for good.
    /// Fails with [`AccountError::UnknownUser`] if there is no such user.
    pub fn suspend_user(&self, name: &UserId) -> Result<(), AccountError> {
        self.set_suspension(name, Some(Timestamp::now()))
    }

    /// Ends a suspension. Fails with [`AccountError::UnknownUser`] if there is no such user.
    pub fn resume_user(&self, name: &UserId) -> Result<(), AccountError> {
        self.set_suspension(name, None)
    }

    fn set_suspension(&self, name: &UserId, since: Option<Timestamp>) -> Result<(), AccountError> {
        let changed = self.store.write(Durability::Full, |writer| {
            let changed = writer.execute(
                include_str!("sql/suspend.sql"),
                &[(":name", &name.as_str()), (":suspended_at", &since)],
            )?;
            if since.is_some() {
                // Otherwise they would be valid again when the user is resumed.
                let this: &[(&str, &dyn rusqlite::ToSql)] = &[(":name", &name.as_str())];
                writer.execute(DELETE_LOGIN_SESSIONS_SQL, this)?;
                writer.execute(DELETE_LOGIN_CODES_SQL, this)?;
                end_sessions(writer, name)?;
            }
            Ok(changed)
        });
        match changed.map_err(store_error("suspend or resume a user"))? {
            0 => Err(AccountError::UnknownUser(name.clone())),
            _ => Ok(()),
        }
    }

    /// Removes a user with all keys. Sessions end, and other nodes must erase their copies of the
    /// library; the library itself is not touched. Fails with
    /// [`AccountError::UnknownUser`] if there is no such user.
    pub fn remove_user(&self, name: &UserId) -> Result<(), AccountError> {
        if self.find_user(name)?.is_none() {
            return Err(AccountError::UnknownUser(name.clone()));
        }
        let removed = self.store.write(Durability::Full, |writer| {
            let this: &[(&str, &dyn rusqlite::ToSql)] = &[(":name", &name.as_str())];
            writer.execute(DELETE_KEYS_SQL, this)?;
            writer.execute(DELETE_USER_SQL, this)?;
            require_erasures(writer, &self.data, name)?;
            end_sessions(writer, name)
        });
        removed.map_err(store_error("remove a user"))
    }

    /// Returns the users whose sessions were ended, and when, by the clock of the server that did it.
    /// Creates no database.
    fn ended_users(&self) -> Result<HashMap<UserId, Timestamp>, AccountError> {
        if !self.store.may_have_rows() {
            return Ok(HashMap::new());
        }
        let read = |row: &Row<'_>| Ok((parse_column(row, "name")?, row.get("ended_at")?));
        let found = self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(ENDED_USERS_SQL, &[], read)
        });
        let found = found.map_err(store_error("list the ended sessions"))?;
        Ok(found.into_iter().collect())
    }
}

fn read_limit(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let limit: Option<i64> = row.get(column)?;
    Ok(limit.map(|limit| u64::try_from(limit).unwrap_or(0)))
}

fn end_sessions(writer: &Writer<'_>, name: &UserId) -> Result<(), StoreError> {
    let now = Timestamp::now();
    writer.execute(END_SESSIONS_SQL, &[(":name", &name.as_str()), (":now", &now)])?;
    Ok(())
}

/// Watches the account database for users whose sessions must end, whichever process ended them.
#[derive(Debug)]
pub struct EndedUsers {
    accounts: Accounts,
    changes: ChangeDetector,
    /// The ends that were seen; `None` until they could be read. They are compared, not ordered,
    /// because the clocks of servers differ.
    known: Option<HashMap<UserId, Timestamp>>,
}

impl EndedUsers {
    /// Starts to watch; earlier ends are not reported. Reads a file.
    pub fn watch(accounts: Accounts) -> Self {
        let changes = ChangeDetector::new(&accounts.store);
        let known = accounts.ended_users().ok();
        Self { accounts, changes, known }
    }

    /// Returns the users whose sessions ended since the last call. Costs one pragma if the database
    /// did not change. Reads a file.
    pub fn take(&mut self) -> Result<Vec<UserId>, AccountError> {
        self.accounts.store.follow_checked_head().map_err(store_error("follow the archive"))?;
        if !self.changes.check_for_change() {
            return Ok(Vec::new());
        }
        let ended = self.accounts.ended_users()?;
        let known = self.known.get_or_insert_with(|| ended.clone());
        let new = ended.iter().filter(|(user, at)| known.get(*user) != Some(*at));
        let users: Vec<UserId> = new.map(|(user, _)| user.clone()).collect();
        *known = ended;
        Ok(users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspension_and_removal_end_sessions_once() {
        let folder = tempfile::tempdir().unwrap();
        let accounts = Accounts::new(folder.path());
        let [ada, eve]: [UserId; 2] = ["ada", "eve"].map(|name| name.parse().unwrap());
        accounts.add_user(&ada).unwrap();
        let mut watch = EndedUsers::watch(Accounts::new(folder.path()));
        assert!(watch.take().unwrap().is_empty());
        std::thread::sleep(std::time::Duration::from_millis(2));
        accounts.suspend_user(&ada).unwrap();
        assert!(accounts.find_user(&ada).unwrap().unwrap().suspended_at.is_some());
        assert_eq!(watch.take().unwrap(), std::slice::from_ref(&ada));
        accounts.resume_user(&ada).unwrap();
        assert!(accounts.find_user(&ada).unwrap().unwrap().suspended_at.is_none());
        assert!(watch.take().unwrap().is_empty(), "resuming ends nothing");
        std::thread::sleep(std::time::Duration::from_millis(2));
        accounts.remove_user(&ada).unwrap();
        assert_eq!(watch.take().unwrap(), std::slice::from_ref(&ada));
        // The clock of the server that ends them is behind.
        let ended = accounts.store.write(Durability::Full, |writer| {
            let earlier = "2020-01-01T00:00:00.000Z";
            writer.execute(END_SESSIONS_SQL, &[(":name", &eve.as_str()), (":now", &earlier)])
        });
        assert_eq!(ended.unwrap(), 1);
        assert_eq!(watch.take().unwrap(), std::slice::from_ref(&eve));
        for unknown in [&ada, &eve] {
            assert!(matches!(accounts.suspend_user(unknown), Err(AccountError::UnknownUser(_))));
            assert!(matches!(accounts.remove_user(unknown), Err(AccountError::UnknownUser(_))));
        }
    }
}
