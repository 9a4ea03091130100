//! The file of an item, for a person on the machine that has it.

use std::path::Path;

use vademecum_model::Uri;

use super::page_request::PageRequest;
use crate::templates::ItemFile;

/// Returns the file of an item; `None` on a server for several users, in a browser on another machine,
/// and for a file that does not exist.
pub(super) async fn find_item_file(page: &PageRequest, uri: &Uri) -> Option<ItemFile> {
    let is_near = page.browser.address().is_some_and(|address| address.is_loopback());
    let library = page.services.library(page.principal());
    if !is_near || page.browser.oauth.has_passwords() || library.is_restricted() {
        return None;
    }
    let origins = library.source(uri.source)?.item_origins(uri.id.clone()).await.ok()?;
    let found = library.spawn_blocking(move || {
        let paths = origins.iter().filter_map(|origin| origin.strip_prefix("file:"));
        // A part of a file has a number after a `#`.
        let paths = paths.flat_map(|path| [Some(path), path.rsplit_once('#').map(|it| it.0)]);
        paths.flatten().find_map(|path| existing_file(Path::new(path)))
    });
    found.await.flatten()
}

fn existing_file(path: &Path) -> Option<ItemFile> {
    if !path.is_file() {
        return None;
    }
    let is_in_vault = path.ancestors().skip(1).any(|folder| folder.join(".obsidian").is_dir());
    Some(ItemFile { path: path.to_str()?.to_owned(), is_in_vault })
}
