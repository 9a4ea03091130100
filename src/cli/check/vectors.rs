//! Whether the vectors of a library follow what it holds.

use std::path::Path;

use vademecum_kit::store::{Database, Store};

use super::finding::Findings;
use crate::{actors::chain, app::App};
use vademecum_core::auth::UserId;

/// Looks how far the vectors are behind, if there is somebody who makes them, and
/// makes those that are missing if that is wanted.
pub(super) async fn look(
    app: &App,
    user: &UserId,
    folder: &Path,
    repair: bool,
    findings: &mut Findings,
) {
    // Whoever only looks makes no file.
    let is_there = |database| Store::new(database, folder).path().exists();
    if !Database::ALL.into_iter().any(is_there) {
        return;
    }
    let library = app.library_of(user);
    let place = Store::new(Database::Index, folder).path().display().to_string();
    match library.vectors_behind() {
        None | Some(Ok(0)) => {}
        Some(Ok(behind)) if repair => {
            library.make_vectors(|_| {}).await;
            let left = library.vectors_behind().and_then(Result::ok).unwrap_or(behind);
            if left == 0 {
                findings
                    .mended(place.as_ref(), &format!("the vectors of {behind} items were made"));
            } else {
                let what = format!("the vectors of {left} items could not be made");
                findings.warn(&place, &what, "the log says why; a server tries again by itself");
            }
        }
        Some(Ok(behind)) => {
            let what = format!("it is {behind} items behind what the library holds");
            let remedy = "a search by meaning brings it up to date, and so does \
                          `vademecum check --repair`";
            findings.warn(&place, &what, remedy);
        }
        Some(Err(error)) => {
            let remedy = "see what is said of the databases of this library";
            findings.warn(&place, &format!("cannot be compared: {}", chain(&error)), remedy);
        }
    }
}
