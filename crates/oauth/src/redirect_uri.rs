//! Addresses to which codes are sent. They are compared exactly; only the port of an address of this
//! machine is free, because native applications listen on any (RFC 8252, section 7.3).

use std::{fmt, str::FromStr};

use url::{Host, Url};

/// Maximum length, in bytes.
const MAX_LENGTH: usize = 1_000;
/// Schemes of applications that are no reverse domain names, as RFC 8252 asks for. All others that
/// have no dot are refused, because systems open some with programs that run what they are given.
const APPLICATION_SCHEMES: [&str; 8] =
    ["claude", "cline", "cursor", "vscode", "vscode-insiders", "windsurf", "zed", "codex"];

/// Address to which a code may be sent: https, http on the client's own machine, or the scheme of an
/// application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUri {
    text: String,
    url: Url,
    kind: RedirectKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RedirectKind {
    Web,
    Loopback,
    Application,
}

/// Error for an address to which no code is sent.
#[derive(Debug, thiserror::Error)]
#[error(
    "the redirect address `{0}` is not supported: use https, http on 127.0.0.1, [::1] or localhost, \
     or a scheme of your own with a dot, without user and fragment"
)]
pub struct RedirectUriError(String);

impl RedirectUri {
    /// Returns the text as the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host that receives the code, with its port unless it is the client's own machine;
    /// for an application its scheme.
    pub fn destination(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match (self.kind, self.url.port()) {
            (RedirectKind::Application, _) => format!("{}:", self.url.scheme()),
            (RedirectKind::Web, Some(port)) => format!("{host}:{port}"),
            (RedirectKind::Web, None) | (RedirectKind::Loopback, _) => host.to_owned(),
        }
    }

    /// Returns the host if the code is sent to one over https.
    pub(crate) fn web_host(&self) -> Option<&str> {
        self.url.host_str().filter(|_| self.kind == RedirectKind::Web)
    }

    /// Returns the scheme if an application receives the code.
    pub(crate) fn application_scheme(&self) -> Option<&str> {
        (self.kind == RedirectKind::Application).then(|| self.url.scheme())
    }

    /// Returns true if the code stays on the machine of the browser.
    pub fn is_loopback(&self) -> bool {
        self.kind == RedirectKind::Loopback
    }

    /// Returns true if only the owner of a host receives the code, so that the client is known.
    pub fn identifies_client(&self) -> bool {
        self.kind == RedirectKind::Web
    }

    /// Returns the source expression of a content security policy that permits forms to end here.
    pub fn policy_source(&self) -> String {
        match self.kind {
            RedirectKind::Application => format!("{}:", self.url.scheme()),
            RedirectKind::Web | RedirectKind::Loopback => self.url.origin().ascii_serialization(),
        }
    }

    /// Returns true if a code for an address that was registered as `registered` may be sent here.
    pub fn matches(&self, registered: &Self) -> bool {
        if self.kind != RedirectKind::Loopback || registered.kind != RedirectKind::Loopback {
            return self.text == registered.text;
        }
        self.without_port() == registered.without_port()
    }

    /// Returns the address without the port, for comparisons of addresses of this machine.
    pub(crate) fn without_port(&self) -> String {
        if self.kind != RedirectKind::Loopback {
            return self.text.clone();
        }
        let mut url = self.url.clone();
        // Fails only for addresses without a host.
        url.set_port(None).ok();
        url.into()
    }

    /// Returns the address with these parameters added to its query.
    pub fn with_parameters(&self, parameters: &[(&str, &str)]) -> String {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for RedirectUri {
    type Err = RedirectUriError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || RedirectUriError(text.chars().take(100).collect());
        let is_plain = text.len() <= MAX_LENGTH
            && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'\\'));
        let url = Url::parse(text).ok().filter(|_| is_plain).ok_or_else(wrong)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong());
        }
        let kind = match (url.scheme(), url.host()) {
            // The host becomes part of a content security policy, where a semicolon has a meaning.
            ("https", Some(_)) if has_plain_host(&url) => RedirectKind::Web,
            ("http", Some(host)) if is_loopback(&host) => RedirectKind::Loopback,
            ("http" | "https", _) => return Err(wrong()),
            (scheme, _) if is_application_scheme(scheme) => RedirectKind::Application,
            _ => return Err(wrong()),
        };
        Ok(Self { text: text.to_owned(), url, kind })
    }
}

fn has_plain_host(url: &Url) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    url.host_str().is_some_and(|host| host.bytes().all(is_plain))
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

fn is_application_scheme(scheme: &str) -> bool {
    let is_reverse_domain = scheme.contains('.') && !scheme.starts_with("ms-");
    is_reverse_domain || APPLICATION_SCHEMES.contains(&scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> RedirectUri {
        text.parse().unwrap()
    }

    #[test]
    fn redirect_uri_rejects_dangerous_addresses() {
        for wrong in [
            "",
            "/callback",
            "http://claude.ai/callback",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "https://user@claude.ai/",
            "https://claude.ai/#fragment",
            "https://claude.ai\\@evil.example/",
            "https://evil.example;script-src/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ms-msdt:/id",
            "search-ms:query",
            "https://claude.ai/ x",
        ] {
            assert!(wrong.parse::<RedirectUri>().is_err(), "{wrong}");
        }
        for good in [
            "https://claude.ai/api/mcp/auth_callback",
            "http://localhost:33418/callback",
            "http://[::1]:1/",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/callback",
        ] {
            assert_eq!(parse(good).as_str(), good);
        }
    }

    #[test]
    fn only_loopback_port_is_free() {
        let registered = parse("http://127.0.0.1:1000/callback");
        assert!(parse("http://127.0.0.1:2000/callback").matches(&registered));
        assert!(parse("http://127.0.0.1/callback").matches(&registered));
        for other in [
            "http://127.0.0.1:1000/callback/",
            "http://127.0.0.1:1000/callback?x=1",
            "http://localhost:1000/callback",
            "http://[::1]:1000/callback",
        ] {
            assert!(!parse(other).matches(&registered), "{other}");
        }
        let web = parse("https://claude.ai/callback");
        for other in [
            "https://claude.ai:444/callback",
            "https://claude.ai/callback/",
            "https://claude.ai/callback?x",
            "https://claude.ai/CALLBACK",
            "https://claude.ai.evil.example/callback",
        ] {
            assert!(!parse(other).matches(&web), "{other}");
        }
    }

    #[test]
    fn parameters_join_existing_query() {
        let address = parse("https://a.example/cb?keep=1").with_parameters(&[("code", "x&y")]);
        assert_eq!(address, "https://a.example/cb?keep=1&code=x%26y");
        let application = parse("com.example.app:/cb").with_parameters(&[("code", "x")]);
        assert_eq!(application, "com.example.app:/cb?code=x");
    }
}
