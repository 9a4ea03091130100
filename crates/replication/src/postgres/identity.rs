//! The identity of an archive, by which a data folder recognises the one that it follows.

use std::{fs, io, path::PathBuf};

use tokio_postgres::Client;
use uuid::Uuid;
use vademecum_store::{ArchiveError, DataFolder};

use super::failure::Failure;

/// Stores $1 as the identity of the archive if it has none.
const CHOOSE_IDENTITY_SQL: &str = "INSERT INTO shared_value (user_id, kind, key, content) \
     VALUES ('', 'archive', '\\x6964', $1) \
     ON CONFLICT (user_id, kind, key) DO NOTHING";
/// The identity of the archive.
const IDENTITY_SQL: &str = "SELECT shared_value.content \
     FROM shared_value \
     WHERE shared_value.user_id = '' AND shared_value.kind = 'archive' AND shared_value.key = '\\x6964'";

/// A data folder with copies of the databases of one archive.
#[derive(Clone, Debug)]
pub(crate) struct FollowingFolder {
    path: PathBuf,
}

impl FollowingFolder {
    /// Returns the data folder at `path`, which need not exist.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Refuses an archive if the folder follows another one. Otherwise every copy would be discarded,
    /// because the archive does not have its state.
    ///
    /// Returns whether the folder has recorded the archive. One that does not exist has not.
    pub(crate) async fn check(&self, client: &Client) -> Result<bool, Failure> {
        let id = read_identity(client).await?;
        let file = self.path.join(DataFolder::ARCHIVE_ID_FILE);
        let known = match fs::read_to_string(&file) {
            Ok(text) => text.trim().to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !self.path.is_dir() {
                    return Ok(false);
                }
                let written = fs::write(&file, format!("{id}\n"));
                written.map_err(|error| refused(&format!("{}: {error}", file.display())))?;
                return Ok(true);
            }
            Err(error) => return Err(refused(&format!("{}: {error}", file.display()))),
        };
        if known == id {
            return Ok(true);
        }
        Err(refused(&format!(
            "{} holds copies of another archive; correct url and schema in [archive], or use another \
             data folder",
            self.path.display()
        )))
    }
}

/// Returns the identity of the archive, which its first server has chosen.
async fn read_identity(client: &Client) -> Result<String, Failure> {
    let failed = |error: tokio_postgres::Error| Failure::from_connect(&error);
    let own = Uuid::new_v4().to_string();
    client.execute(CHOOSE_IDENTITY_SQL, &[&own.as_bytes()]).await.map_err(failed)?;
    let row = client.query_one(IDENTITY_SQL, &[]).await.map_err(failed)?;
    let bytes: Vec<u8> = row.try_get("content").map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| refused("its identity is damaged"))
}

fn refused(reason: &str) -> Failure {
    Failure::Final(ArchiveError::Refused(reason.to_owned()))
}
