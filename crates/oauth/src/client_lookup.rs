//! Finds the client of an id: among the registered ones, or by its metadata document.

use rusqlite::ToSql;
use vademecum_model::Timestamp;
use vademecum_store::{StoreError, Writer};

use super::{AuthorizationServer, Client, OAuthError, ServerError, client::is_document_url};

/// Reads the registered client `:id`.
const CLIENT_SQL: &str =
    "SELECT id, name, redirect_uris, created_at, used_at FROM oauth_clients WHERE id = :id";
/// Records that the client `:id` got tokens.
const USE_CLIENT_SQL: &str = "UPDATE oauth_clients SET used_at = :now WHERE id = :id";

impl AuthorizationServer {
    /// Returns the client of this id. Fetches its document if the id is an address; blocks for up to
    /// some seconds then.
    pub fn find_client(&self, id: &str) -> Result<Result<Client, OAuthError>, ServerError> {
        if is_document_url(id) {
            return Ok(self.documents.find(id));
        }
        let found = self.read("look up a client", |reader| {
            let parameters: &[(&str, &dyn ToSql)] = &[(":id", &id)];
            reader.query_first(CLIENT_SQL, parameters, Client::from_row)
        })?;
        Ok(found.ok_or_else(|| {
            OAuthError::new("invalid_client", "this client is not registered here: register again")
        }))
    }

    /// Records that a client got tokens, so that its registration is kept.
    pub(crate) fn record_client_use(
        writer: &Writer<'_>,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        writer.execute(USE_CLIENT_SQL, &[(":id", &id), (":now", &now)])?;
        Ok(())
    }
}
