//! The place at which a browser continues after a login.

use url::form_urlencoded;
use vademecum_oauth::Endpoint;

use super::PageForm;

/// Name of the parameter with the path of a page.
const PAGE: &str = "page";

/// Place at which a browser continues after a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoginTarget {
    /// The first page.
    Home,
    /// A page of this server: its path and query.
    Page(String),
    /// The authorization request with this query.
    Authorization(String),
}

impl LoginTarget {
    /// Returns the target of the page that a request asked for.
    pub(crate) fn page(path_and_query: &str) -> Self {
        if is_local(path_and_query) { Self::Page(path_and_query.to_owned()) } else { Self::Home }
    }

    /// Reads the query of a login page, or the hidden field of its form. Nothing in it leads to
    /// another server.
    pub(super) fn parse(request: &str) -> Self {
        if request.is_empty() {
            return Self::Home;
        }
        if request.strip_prefix(PAGE).is_some_and(|rest| rest.starts_with('=')) {
            return Self::page(PageForm::parse(request.as_bytes()).get(PAGE));
        }
        // The query is parsed again at the authorization endpoint; it cannot leave its path.
        Self::Authorization(request.chars().filter(char::is_ascii_graphic).collect())
    }

    /// Returns the query of a login page that leads here.
    pub(crate) fn to_request(&self) -> String {
        match self {
            Self::Home => String::new(),
            Self::Page(path) => {
                form_urlencoded::Serializer::new(String::new()).append_pair(PAGE, path).finish()
            }
            Self::Authorization(query) => query.clone(),
        }
    }

    /// Returns the path and query. Without pages, the first page is the account page.
    pub(super) fn address(&self, has_pages: bool) -> String {
        match self {
            Self::Home if has_pages => "/".to_owned(),
            Self::Home => Endpoint::Account.path().to_owned(),
            Self::Page(path) => path.clone(),
            Self::Authorization(query) => format!("{}?{query}", Endpoint::Authorize.path()),
        }
    }
}

/// Returns true for the path of a page of this server. Browsers take `//` and `/\` for the beginning
/// of another host.
fn is_local(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains('\\')
        && path.chars().all(|letter| letter.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_kept_through_the_login() {
        let target = LoginTarget::page("/search?q=a%20b&source=notes");
        assert_eq!(LoginTarget::parse(&target.to_request()), target);
        assert_eq!(target.address(true), "/search?q=a%20b&source=notes");
    }

    #[test]
    fn other_servers_are_no_target() {
        for path in ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\r\nb: c"]
        {
            assert_eq!(LoginTarget::page(path), LoginTarget::Home, "{path:?}");
        }
        assert_eq!(LoginTarget::parse("page=%2F%2Fevil.example"), LoginTarget::Home);
        assert_eq!(LoginTarget::Home.address(true), "/");
        assert_eq!(LoginTarget::Home.address(false), "/account");
        let request = LoginTarget::parse("//evil.example\r\nx");
        assert_eq!(request.address(true), "/oauth/authorize?//evil.examplex");
    }
}
