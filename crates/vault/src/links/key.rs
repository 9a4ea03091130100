//! Normal forms in which names and targets of links are compared.

use percent_encoding::percent_decode_str;
use twox_hash::XxHash3_64;
use unicode_normalization::UnicodeNormalization as _;
use vademecum_model::SourceName;

use super::dates::parse_date_name;

/// Number of bits of a stored key that are the number of its source.
const SOURCE_BITS: u32 = 3;
/// Number of bits of a key. With those of the source it is stored in six bytes.
const KEY_BITS: u32 = 44;

/// A key by which names are searched: a hash of a text in one of the normal forms below.
///
/// Of ten million different texts, one has the key of a given other text with a probability of one in a
/// million. Then a link or an address that leads elsewhere is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkKey(i64);

impl LinkKey {
    /// Returns the key of a text.
    pub(super) fn of(text: &str) -> Self {
        Self((XxHash3_64::oneshot(text.as_bytes()) >> (u64::BITS - KEY_BITS)).cast_signed())
    }

    /// Returns the key as it is stored for items of a source.
    pub(super) fn in_source(self, source: SourceName) -> i64 {
        (self.0 << SOURCE_BITS) | source_number(source)
    }

    /// Returns the key that was stored as `stored`.
    pub(super) fn from_stored(stored: i64) -> Self {
        Self(stored >> SOURCE_BITS)
    }
}

/// Returns the number of a source in stored keys. Numbers are never changed.
pub(super) fn source_number(source: SourceName) -> i64 {
    match source {
        SourceName::Notes => 1,
        SourceName::Media => 2,
        SourceName::Chats => 3,
        SourceName::Characters => 4,
        SourceName::Prompts => 5,
        SourceName::Collections => 0,
    }
}

/// Characters that are not part of an address at its end.
const ADDRESS_TAILS: [char; 12] = ['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', '}', ')'];

/// Extensions of Markdown files, which links omit.
const MARKDOWN_EXTENSIONS: [&str; 2] = [".md", ".markdown"];
/// Parameters of addresses that name a campaign, not a page.
const CAMPAIGN_PARAMETERS: &str = "utm_";

/// Returns a name in the form in which names are compared: without case, composed (NFC), with plain
/// spaces and `/` in paths.
pub(super) fn normalize_name(name: &str) -> String {
    let composed = name.trim().nfc().flat_map(char::to_lowercase);
    composed.map(|next| if next == '\u{a0}' { ' ' } else { next }).collect()
}

/// Returns a path like [`normalize_name`], without the extension of a Markdown file.
pub(super) fn normalize_path(path: &str) -> String {
    let path = normalize_name(path).replace('\\', "/");
    let bare = MARKDOWN_EXTENSIONS.iter().find_map(|extension| path.strip_suffix(extension));
    bare.filter(|bare| !bare.is_empty() && !bare.ends_with('/'))
        .map_or_else(|| path.clone(), str::to_owned)
}

/// Returns the name of a page in the form in which names are compared: a date as `YYYY-MM-DD`.
pub(super) fn normalize_page(name: &str) -> String {
    parse_date_name(name.trim()).unwrap_or_else(|| normalize_path(name))
}

/// Returns the key of a name or a target: its date, or its last part after a slash.
pub(super) fn name_key(name: &str) -> String {
    let page = normalize_page(name);
    // A file in a folder may have a date as its name.
    let last = page.rsplit('/').next().unwrap_or_default();
    parse_date_name(last).unwrap_or_else(|| last.to_owned())
}

/// Returns the key of a block: its id in lower case, after `id:`.
pub(super) fn block_key(id: &str) -> String {
    format!("id:{}", id.trim().to_lowercase())
}

/// Returns the key of a web address: without scheme, `www.`, fragment, campaign parameters and final
/// slash. `None` for other addresses.
pub(super) fn address_key(address: &str) -> Option<String> {
    let (scheme, rest) = address.trim().split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let host = host.to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let is_named = |host: &str| host.contains('.') || host.starts_with("localhost");
    if !is_named(host) {
        return None;
    }
    let mut key = format!("url:{host}");
    let path = path.trim_end_matches('/');
    if !path.is_empty() {
        key.extend(["/", path]);
    }
    let kept = query.split('&').filter(|it| !it.is_empty() && !it.starts_with(CAMPAIGN_PARAMETERS));
    for (parameter, sign) in kept.zip(["?"].into_iter().chain(std::iter::repeat("&"))) {
        key.extend([sign, parameter]);
    }
    Some(key)
}

/// Decodes percent-encoding; text that is not UTF-8 afterwards stays as it is.
pub(super) fn decode_percent(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Into::into)
}

/// Removes what follows an address: punctuation, and closing parentheses that it does not open.
pub(super) fn trim_address(mut address: &str) -> &str {
    let opened = address.matches('(').count();
    let mut closed = address.matches(')').count();
    while let Some(last) = address.chars().next_back().filter(|last| ADDRESS_TAILS.contains(last)) {
        if last == ')' {
            if closed <= opened {
                break;
            }
            closed -= 1;
        }
        address = address.get(..address.len() - 1).unwrap_or_default();
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_without_case_form_and_extension() {
        assert_eq!(normalize_path("Cafe\u{301}/Rye\u{a0}Bread.MD"), "café/rye bread");
        assert_eq!(normalize_path("a\\b.markdown"), "a/b");
        assert_eq!(normalize_path("v1.2"), "v1.2");
        assert_eq!(normalize_path(".md"), ".md");
    }

    #[test]
    fn stored_key_has_six_bytes_and_its_source() {
        for text in ["", "rye", "url:example.org", "id:1"] {
            let key = LinkKey::of(text);
            for source in SourceName::ALL {
                let stored = key.in_source(source);
                assert!((0..1 << 47).contains(&stored) && stored & 7 == source_number(source));
                assert_eq!(LinkKey::from_stored(stored), key);
            }
        }
        assert_ne!(LinkKey::of("rye"), LinkKey::of("oat"));
    }

    #[test]
    fn key_is_date_or_last_part() {
        assert_eq!(name_key("Folder/Rye Bread.md"), "rye bread");
        assert_eq!(name_key("Jan 31st, 2026"), "2026-01-31");
        assert_eq!(name_key("2026/01/31"), "2026-01-31");
        assert_eq!(name_key("Daily/2026_01_31"), "2026-01-31");
        assert_eq!(name_key("TCP/IP"), "ip");
    }

    #[test]
    fn addresses_of_one_page_have_one_key() {
        let key = Some("url:example.org/a?b=1&c".to_owned());
        for address in [
            "https://www.Example.org/a/?b=1&c#top",
            "http://example.org/a?utm_source=x&b=1&c&utm_medium=y",
        ] {
            assert_eq!(address_key(address), key, "{address}");
        }
        assert_eq!(address_key("https://example.org/").as_deref(), Some("url:example.org"));
        assert_eq!(address_key("ftp://example.org"), None);
        assert_eq!(address_key("https://x"), None);
    }
}
