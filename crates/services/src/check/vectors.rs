//! Vector check: missing vectors of a library.

use std::path::Path;

use vademecum_actors::{UserRegistry, error_chain};
use vademecum_core::auth::{UserId, local_principal};
use vademecum_store::{Database, Store};

use super::findings::CheckFindings;

/// Warns if items have no vectors although an embedding model is configured. Computes the missing
/// ones if `repair` is set.
pub(super) async fn check_vectors(
    user_registry: &UserRegistry,
    user: &UserId,
    folder: &Path,
    repair: bool,
    findings: &mut CheckFindings,
) {
    // A check must not create a file.
    let is_there = |database| Store::new(database, folder).path().exists();
    if !Database::ALL.into_iter().any(is_there) {
        return;
    }
    let library = user_registry.library(&local_principal(user.clone()));
    let place = Store::new(Database::Index, folder).path().display().to_string();
    match library.count_outdated_vectors() {
        None | Some(Ok(0)) => {}
        Some(Ok(behind)) if repair => {
            library.index_all(|_| {}).await;
            let left = library.count_outdated_vectors().and_then(Result::ok).unwrap_or(behind);
            if left == 0 {
                findings.add_repaired(
                    place.as_ref(),
                    &format!("the vectors of {behind} items were computed"),
                );
            } else {
                let what = format!("the vectors of {left} items could not be computed");
                findings.add_warning(
                    &place,
                    &what,
                    "see the log for the reason; a running server retries",
                );
            }
        }
        Some(Ok(behind)) => {
            let what = format!("{behind} items of the library have no current vectors");
            let remedy = "they are computed by the next vector search, or by \
                          `vademecum check --repair`";
            findings.add_warning(&place, &what, remedy);
        }
        Some(Err(error)) => {
            let remedy = "see the findings about the databases of this library";
            findings.add_warning(
                &place,
                &format!("cannot compare vectors with items: {}", error_chain(&error)),
                remedy,
            );
        }
    }
}
