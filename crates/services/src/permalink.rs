//! Web addresses of items: `/i/<source>/<id>` below the address of the server. A query names the
//! place in the item: `part`, a message of a conversation; `at`, an offset in characters; `field`, a
//! field of a character or prompt.

use std::sync::OnceLock;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::form_urlencoded;
use vademecum_core::config::{PublicUrl, Server};
use vademecum_model::{Loc, Uri};

/// Beginning of the path of every item.
pub const ITEM_PREFIX: &str = "/i/";

/// Characters that are escaped in a path.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Address at which browsers find the pages, once it is known: a server learns its port when it
/// listens.
#[derive(Debug, Default)]
pub struct SiteAddress(OnceLock<PublicUrl>);

impl SiteAddress {
    /// Returns the address of the settings, if they have one and the server has pages.
    pub fn of_settings(server: &Server) -> Self {
        let site = Self::default();
        if let Some(address) = server.public_url.clone().filter(|_| server.pages) {
            site.set(address);
        }
        site
    }

    /// Sets the address, unless it is known.
    pub fn set(&self, address: PublicUrl) {
        // An address of the settings stays.
        drop(self.0.set(address));
    }

    /// Returns the address of a place in an item; `None` while no address is known.
    pub fn permalink(&self, uri: &Uri, loc: Option<&Loc>) -> Option<String> {
        Some(self.0.get()?.join(&item_path(uri, loc)))
    }
}

/// Returns the path and query of a place in an item.
pub fn item_path(uri: &Uri, loc: Option<&Loc>) -> String {
    let path = format!("{ITEM_PREFIX}{}/{}", uri.source, utf8_percent_encode(&uri.id, ESCAPED));
    let mut query = form_urlencoded::Serializer::new(String::new());
    let part = uri.part.as_ref().or(loc.and_then(|loc| loc.message_id.as_ref()));
    if let Some(part) = part {
        query.append_pair("part", part);
    }
    if let Some(field) = loc.and_then(|loc| loc.field.as_deref()) {
        query.append_pair("field", field);
    }
    // A message is a place of its own.
    let offset = loc.and_then(|loc| loc.approx_offset).filter(|_| part.is_none());
    if let Some(offset) = offset {
        query.append_pair("at", &offset.to_string());
    }
    let query = query.finish();
    if query.is_empty() { path } else { format!("{path}?{query}") }
}

/// Returns the URI of the item with this path; `None` for other paths.
pub fn parse_item_path(path: &str) -> Option<Uri> {
    let (source, id) = path.strip_prefix(ITEM_PREFIX)?.split_once('/')?;
    let id = percent_decode_str(id).decode_utf8().ok().filter(|id| !id.is_empty())?;
    Some(Uri::item(source.parse().ok()?, id))
}

#[cfg(test)]
mod tests {
    use vademecum_model::SourceName;

    use super::*;

    #[test]
    fn item_path_is_parsed_back() {
        for id in ["42", "a/b c", "ä#?%2F&", "..", "%"] {
            let uri = Uri::item(SourceName::Collections, id);
            let path = item_path(&uri, None);
            assert_eq!(parse_item_path(&path), Some(uri), "{path}");
        }
        for path in ["/i/", "/i/notes", "/i/notes/", "/i/recipes/1", "/x/notes/1", "/i/notes/%FF"] {
            assert_eq!(parse_item_path(path), None, "{path}");
        }
    }

    #[test]
    fn item_path_names_the_place() {
        let loc = Loc { approx_offset: Some(120), ..Loc::default() };
        let note = Uri::item(SourceName::Notes, "a");
        assert_eq!(item_path(&note, Some(&loc)), "/i/notes/a?at=120");
        let message = Uri::part(SourceName::Chats, "c", "m&1");
        assert_eq!(item_path(&message, Some(&loc)), "/i/chats/c?part=m%261");
        let field = Loc { field: Some("first_message".to_owned()), ..Loc::default() };
        let character = Uri::item(SourceName::Characters, "3");
        assert_eq!(item_path(&character, Some(&field)), "/i/characters/3?field=first_message");
    }

    #[test]
    fn known_address_stays() {
        let site = SiteAddress::default();
        let uri = Uri::item(SourceName::Notes, "a");
        assert_eq!(site.permalink(&uri, None), None);
        site.set("http://localhost:7744".parse().unwrap());
        site.set("http://localhost:1".parse().unwrap());
        assert_eq!(site.permalink(&uri, None).unwrap(), "http://localhost:7744/i/notes/a");
    }
}
