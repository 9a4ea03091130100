//! Endpoint of this server: the command that starts it, or its URL.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    str::FromStr,
};

use anyhow::{Context, Result};
use vademecum_accounts::LocalToken;
use vademecum_core::config::{self, PublicUrl};

use crate::cli::common::CommonOptions;

/// Endpoint through which a client reaches this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ServerEndpoint {
    /// The client starts the program and uses its standard input and output.
    Stdio(LaunchCommand),
    /// The client connects to a running server.
    Http {
        /// Address of the server.
        url: ServerUrl,
        /// Credential that the client sends.
        credential: Option<HttpCredential>,
    },
}

/// Credential of a client that connects to a running server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum HttpCredential {
    /// Environment variable of the client that holds the API key.
    Variable(EnvVarName),
    /// Token for callers on this machine.
    LocalToken(LocalToken),
}

impl HttpCredential {
    /// Returns the value of the header `Authorization`. `reference` formats a reference to an
    /// environment variable in the client's syntax.
    pub(super) fn to_header(&self, reference: impl Fn(&str) -> String) -> String {
        match self {
            Self::Variable(name) => format!("Bearer {}", reference(name.as_str())),
            Self::LocalToken(token) => format!("Bearer {}", token.expose()),
        }
    }
}

/// Command that starts this program to serve one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct LaunchCommand {
    /// Absolute path of the program.
    pub(in crate::cli) command: String,
    /// Arguments of the program.
    pub(in crate::cli) arguments: Vec<String>,
}

/// Address of a server: an `http` or `https` URL with a host and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct ServerUrl(String);

/// Name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct EnvVarName(String);

impl LaunchCommand {
    /// Creates the command that starts this program with the same options for data, user and
    /// settings. Paths are made absolute, because clients start programs in other folders.
    pub(in crate::cli) fn from_options(common: &CommonOptions) -> Result<Self> {
        let program = config::called_program().context("cannot find the path of this program")?;
        let mut arguments = vec!["mcp".to_owned()];
        if let Some(data) = &common.data {
            arguments.extend(["--data".to_owned(), absolute_path_text(data)?]);
        }
        if let Some(user) = &common.user {
            arguments.extend(["--user".to_owned(), user.clone()]);
        }
        if let Some(file) = &common.config {
            arguments.extend(["--config".to_owned(), absolute_path_text(file)?]);
        }
        Ok(Self { command: absolute_path_text(&program)?, arguments })
    }
}

/// Returns the absolute path as text. Fails if it is not valid Unicode.
pub(in crate::cli) fn absolute_path_text(path: &Path) -> Result<String> {
    let whole = std::path::absolute(path)
        .with_context(|| format!("cannot make {} an absolute path", path.display()))?;
    let text = whole.to_str();
    let text = text.with_context(|| {
        format!("{} is not valid Unicode, which client settings require", whole.display())
    })?;
    Ok(text.to_owned())
}

impl ServerUrl {
    /// Returns the address of a server on this machine that listens at `listen`. An unspecified
    /// host becomes the loopback address.
    pub(super) fn from_listen_address(listen: SocketAddr) -> Self {
        let host = match listen.ip() {
            IpAddr::V4(host) if host.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(host) if host.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            host => host,
        };
        Self(format!("http://{}/mcp", SocketAddr::new(host, listen.port())))
    }

    /// Returns the address of a server that is reached at `public_url`.
    pub(super) fn from_public_url(public_url: &PublicUrl) -> Self {
        Self(public_url.join("/mcp"))
    }

    /// Returns the address as text.
    pub(in crate::cli) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if the address uses `https` and its host is not local or private, so that it
    /// may be reachable from the internet.
    pub(super) fn is_public(&self) -> bool {
        let host = self.0.strip_prefix("https://").unwrap_or_default();
        let host = host.split('/').next().unwrap_or_default();
        let private = ["localhost", "127.", "[::1]", "10.", "192.168.", "0.0.0.0"];
        !host.is_empty() && !private.iter().any(|start| host.starts_with(start))
    }
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let odd = |it: char| it.is_whitespace() || it.is_control() || "\"'<>`{}$".contains(it);
        let rest = rest
            .filter(|rest| !rest.contains(odd))
            .ok_or_else(|| "not a URL such as https://knowledge.example/mcp".to_owned())?;
        match rest.split_once('/') {
            Some(("", _)) => Err("the URL has no host".to_owned()),
            None if rest.is_empty() => Err("the URL has no host".to_owned()),
            // The server serves MCP at /mcp only.
            None | Some((_, "")) => Ok(Self(format!("{}/mcp", text.trim_end_matches('/')))),
            Some(_) => Ok(Self(text.to_owned())),
        }
    }
}

impl EnvVarName {
    /// Returns the name as text.
    pub(in crate::cli) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EnvVarName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let begins = text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
        let is_name = text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
        // The error does not repeat the text: it may be a key that was given instead of a name.
        (begins && is_name).then(|| Self(text.to_owned())).ok_or_else(|| {
            "not the name of an environment variable, such as VADEMECUM_KEY; the key \
             itself is never written"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_without_path_gets_mcp_path() {
        for text in ["http://127.0.0.1:7744", "http://127.0.0.1:7744/"] {
            assert_eq!(text.parse::<ServerUrl>().unwrap().as_str(), "http://127.0.0.1:7744/mcp");
        }
        assert_eq!("https://a.b/x/mcp".parse::<ServerUrl>().unwrap().as_str(), "https://a.b/x/mcp");
    }

    #[test]
    fn invalid_url_is_rejected() {
        for text in ["", "cursor", "ws://a/mcp", "http://", "https:///mcp", "http://a b/mcp"] {
            assert!(text.parse::<ServerUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn unspecified_listen_address_becomes_loopback() {
        let of = |text: &str| ServerUrl::from_listen_address(text.parse().unwrap()).0;
        assert_eq!(of("0.0.0.0:80"), "http://127.0.0.1:80/mcp");
        assert_eq!(of("[::]:80"), "http://[::1]:80/mcp");
        assert_eq!(of("127.0.0.1:7744"), "http://127.0.0.1:7744/mcp");
    }

    #[test]
    fn only_https_to_remote_host_is_public() {
        let is_public = |text: &str| text.parse::<ServerUrl>().unwrap().is_public();
        assert!(is_public("https://knowledge.example/mcp"));
        for text in ["http://knowledge.example", "https://localhost:1/mcp", "https://127.0.0.1"] {
            assert!(!is_public(text), "{text}");
        }
    }

    #[test]
    fn variable_name_rejects_api_key() {
        assert!("VADEMECUM_KEY".parse::<EnvVarName>().is_ok());
        for text in ["", "1A", "sk-123", "A B", "${A}"] {
            assert!(text.parse::<EnvVarName>().is_err(), "{text}");
        }
    }
}
