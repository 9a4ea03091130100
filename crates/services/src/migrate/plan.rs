//! The databases to move, by owner: those of the server first, then user by user.

use std::{collections::BTreeSet, path::Path};

use vademecum_accounts::UserFolders;
use vademecum_actors::collections::Catalogue;
use vademecum_core::auth::UserId;
use vademecum_store::{Archive, DataFolder, Database, Store};

use super::error::MigrationError;
use crate::library_folders;

/// Owner of databases: a user, or the server.
pub(super) type Owner = Option<UserId>;

/// Returns the owners in a data folder.
pub(super) fn local_owners(
    data: &DataFolder,
    only_user: Option<&UserId>,
) -> Result<Vec<Owner>, MigrationError> {
    if let Some(user) = only_user {
        return Ok(vec![Some(user.clone())]);
    }
    let users = library_folders::list_users(data.path())?;
    Ok([None].into_iter().chain(users.into_iter().map(Some)).collect())
}

/// Returns the owners in a data folder or in the archive, and the names in the archive that are
/// those of no user.
pub(super) fn all_owners(
    data: &DataFolder,
    archive: &dyn Archive,
    only_user: Option<&UserId>,
) -> Result<(Vec<Owner>, Vec<String>), MigrationError> {
    let mut owners: BTreeSet<Owner> = local_owners(data, only_user)?.into_iter().collect();
    let mut invalid = Vec::new();
    if only_user.is_none() {
        for name in archive.users()? {
            match name.parse() {
                Ok(user) => drop(owners.insert(Some(user))),
                Err(_) => invalid.push(name),
            }
        }
    }
    Ok((owners.into_iter().collect(), invalid))
}

/// Returns the databases of an owner that the data folder has. They follow the archive.
pub(crate) fn local_stores(data: &DataFolder, owner: &Owner) -> Result<Vec<Store>, MigrationError> {
    let mut stores = own_stores(data, owner);
    if owner.is_none() {
        stores.extend(local_collections(data)?);
    }
    stores.retain(|store| store.path().exists());
    Ok(stores)
}

/// Returns the collections of a data folder. They follow the archive.
pub(super) fn local_collections(data: &DataFolder) -> Result<Vec<Store>, MigrationError> {
    // The file of the catalogue may not follow the archive yet, so it is read without it.
    let catalogue = Catalogue::new(data.path());
    let records = catalogue.list_records().map_err(MigrationError::Catalogue)?.into_iter();
    let path = |file: String| catalogue.folder().join(file);
    Ok(records.map(|record| data.collection_store(path(record.file))).collect())
}

/// Returns the databases of an owner that the archive may have. They follow the archive.
pub(super) fn archived_stores(
    data: &DataFolder,
    archive: &dyn Archive,
    owner: &Owner,
) -> Result<Vec<Store>, MigrationError> {
    let mut stores = own_stores(data, owner);
    if owner.is_none() {
        let folder = Catalogue::new(data.path()).folder().to_owned();
        for part in archive.list_parts("")? {
            let file = part.part.strip_prefix("collection/").filter(|file| is_file_name(file));
            stores.extend(file.map(|file| data.collection_store(folder.join(file))));
        }
    }
    Ok(stores)
}

/// Returns the databases of a user, or those of the server without collections.
pub(super) fn own_stores(data: &DataFolder, owner: &Owner) -> Vec<Store> {
    let Some(user) = owner else {
        return [Database::Server, Database::Audit].map(|kind| data.server_store(kind)).into();
    };
    let folder = UserFolders::new(data.path()).path(user);
    data.library_stores(&folder, user.as_str()).into()
}

/// Returns whether a name of the archive is that of a database file, and leads to no other folder.
fn is_file_name(name: &str) -> bool {
    let path = Path::new(name);
    let is_plain = path.file_name().is_some_and(|file| file == name);
    let is_database = path.extension().is_some_and(|it| it == "db");
    is_plain && is_database && !name.contains(['/', '\\', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_the_archive_stay_in_the_folder() {
        assert!(is_file_name("docs.3.db"));
        for name in ["", "..", "../x.db", "/x.db", "a/b.db", "a\\b.db", "C:x.db", "x.lock"] {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
