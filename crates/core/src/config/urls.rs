//! Addresses of this server, and of the providers that it trusts.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde_with::DeserializeFromStr;
use ureq::http::Uri;

/// Address of this server as clients and browsers use it: scheme, host and port, without a path.
///
/// It is `https`, or `http` on this machine, because passwords and tokens are sent to it.
#[derive(Clone, Debug, PartialEq, Eq, DeserializeFromStr, JsonSchema)]
#[schemars(with = "String")]
pub struct PublicUrl(String);

impl PublicUrl {
    /// Returns the address of a server on this machine whose port does not matter.
    pub fn localhost() -> Self {
        Self("http://localhost".to_owned())
    }

    /// Returns the address without a slash at its end, which is also the issuer of tokens.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address of a path that begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Returns true if browsers encrypt the connection.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Returns the host without the port.
    pub fn host(&self) -> String {
        let uri: Option<Uri> = self.0.parse().ok();
        uri.as_ref().and_then(Uri::host).unwrap_or_default().to_owned()
    }

    /// Returns the address at which MCP is served.
    pub fn resource(&self) -> Option<ResourceUrl> {
        self.join("/mcp").parse().ok()
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.strip_suffix('/').unwrap_or(text);
        let uri: Option<Uri> = address.parse().ok();
        let is_origin = uri.as_ref().is_some_and(|uri| uri.path() == "/" && uri.query().is_none());
        let is_plain = !address.ends_with('/') && !address.contains(['?', '#', '@', '"', '\\']);
        if is_origin && is_plain && is_trusted_url(address) {
            Ok(Self(address.to_ascii_lowercase()))
        } else {
            Err(format!(
                "`{text}` is not an address such as https://knowledge.example: it has a host and no \
                 path, and begins with https://, or http:// on this machine"
            ))
        }
    }
}

/// Address by which clients know the server, without query and fragment.
#[derive(Clone, Debug, PartialEq, Eq, DeserializeFromStr, JsonSchema)]
#[schemars(with = "String")]
pub struct ResourceUrl {
    text: String,
    origin: String,
    host: String,
    path: String,
}

impl ResourceUrl {
    /// Returns the full address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the URL of the protected resource metadata (RFC 9728).
    pub fn metadata_url(&self) -> String {
        let path = self.path.trim_end_matches('/');
        format!("{}/.well-known/oauth-protected-resource{path}", self.origin)
    }
}

impl fmt::Display for ResourceUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for ResourceUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not an address such as https://knowledge.example/mcp, without ? and #"
            )
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return Err(wrong());
        };
        if text.contains(['?', '#', '@', '"', '\\']) {
            return Err(wrong());
        }
        Ok(Self {
            text: text.to_owned(),
            origin: format!("{scheme}://{authority}"),
            host: authority.host().to_owned(),
            path: uri.path().to_owned(),
        })
    }
}

/// Returns whether keys fetched from `url` cannot be replaced on the way: https, or http on this
/// machine.
pub(super) fn is_trusted_url(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(_)) => true,
        (Some("http"), Some(host)) => matches!(host, "localhost" | "127.0.0.1" | "[::1]"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_url_is_an_encrypted_or_local_origin() {
        for (text, url) in [
            ("https://Knowledge.example/", "https://knowledge.example"),
            ("https://knowledge.example:8443", "https://knowledge.example:8443"),
            ("http://127.0.0.1:7744", "http://127.0.0.1:7744"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().as_str(), url);
        }
        for wrong in [
            "",
            "knowledge.example",
            "http://knowledge.example",
            "https://knowledge.example/mcp",
            "https://knowledge.example//",
            "https://knowledge.example?x",
            "https://user@knowledge.example",
            "https://",
        ] {
            assert!(wrong.parse::<PublicUrl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn metadata_url_keeps_resource_path() {
        let metadata = |text: &str| text.parse::<ResourceUrl>().map(|it| it.metadata_url());
        let base = "https://a.example:8443/.well-known/oauth-protected-resource";
        assert_eq!(metadata("https://a.example:8443/mcp"), Ok(format!("{base}/mcp")));
        assert_eq!(metadata("https://a.example:8443/kb/mcp"), Ok(format!("{base}/kb/mcp")));
        assert_eq!(metadata("https://a.example:8443"), Ok(base.to_owned()));
        for wrong in ["", "/mcp", "a.example/mcp", "ftp://a/mcp", "https://a/mcp?x", "https://a/#x"]
        {
            assert!(metadata(wrong).is_err(), "{wrong}");
        }
    }
}
