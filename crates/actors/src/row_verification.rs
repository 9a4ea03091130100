//! Verification of the rows of open libraries in the background.

use super::UserRegistry;

impl UserRegistry {
    /// Verifies at most `limit` rows of each open database of a library, and logs damaged items.
    pub fn verify_some_rows(&self, limit: u32) {
        for library in self.list_open_libraries() {
            for store in library.stores().iter().filter(|store| store.is_open()) {
                match store.verify_next_rows(limit) {
                    Ok(damage) => {
                        for row in damage {
                            let (source, id) = row.item.unwrap_or_default();
                            tracing::error!(
                                path = %store.path().display(), table = row.table, %source, %id,
                                "an item is damaged; run `vademecum check`"
                            );
                        }
                    }
                    Err(error) => {
                        let path = store.path().display();
                        tracing::warn!(%path, %error, "rows were not verified");
                    }
                }
            }
        }
    }
}
