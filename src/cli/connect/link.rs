//! How a client reaches this server.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    str::FromStr,
};

use anyhow::{Context, Result};

use crate::cli::command::Common;
use vademecum_core::config;

/// How a client reaches this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Link {
    /// The client starts the program and talks to it over a pipe.
    Stdio(Start),
    /// The client connects to a server that runs.
    Http {
        /// Where it runs.
        url: Url,
        /// The environment variable of the client that holds the key.
        key: Option<Variable>,
    },
}

/// How this program is started to serve one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Start {
    /// The program, as an absolute path.
    pub(in crate::cli) command: String,
    /// What follows on the command line.
    pub(in crate::cli) arguments: Vec<String>,
}

/// The address of a server: `http` or `https`, with a host and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Url(String);

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Variable(String);

impl Start {
    /// This program, told what the command line says of data, user and
    /// settings. A client starts it in a folder of its own, so paths are
    /// made absolute.
    pub(in crate::cli) fn of(common: &Common) -> Result<Self> {
        let program = config::program().context("cannot tell where this program is")?;
        let mut arguments = vec!["mcp".to_owned()];
        if let Some(data) = &common.data {
            arguments.extend(["--data".to_owned(), absolute(data)?]);
        }
        if let Some(user) = &common.user {
            arguments.extend(["--user".to_owned(), user.clone()]);
        }
        if let Some(file) = &common.config {
            arguments.extend(["--config".to_owned(), absolute(file)?]);
        }
        Ok(Self { command: absolute(&program)?, arguments })
    }
}

/// The path as text, from the root on.
pub(in crate::cli) fn absolute(path: &Path) -> Result<String> {
    let whole = std::path::absolute(path)
        .with_context(|| format!("cannot tell where {} is", path.display()))?;
    let text = whole.to_str();
    let text = text.with_context(|| {
        format!("{} is not Unicode, and settings of clients are", whole.display())
    })?;
    Ok(text.to_owned())
}

impl Url {
    /// Where a server with these settings can be reached from this machine.
    pub(super) fn of_server(listen: SocketAddr) -> Self {
        let host = match listen.ip() {
            IpAddr::V4(host) if host.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(host) if host.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            host => host,
        };
        Self(format!("http://{}/mcp", SocketAddr::new(host, listen.port())))
    }

    /// The address as text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether programs of a company on the internet could reach it.
    pub(super) fn is_public(&self) -> bool {
        let host = self.0.strip_prefix("https://").unwrap_or_default();
        let host = host.split('/').next().unwrap_or_default();
        let private = ["localhost", "127.", "[::1]", "10.", "192.168.", "0.0.0.0"];
        !host.is_empty() && !private.iter().any(|start| host.starts_with(start))
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let odd = |it: char| it.is_whitespace() || it.is_control() || "\"'<>`{}$".contains(it);
        let rest = rest.filter(|rest| !rest.contains(odd)).ok_or_else(|| {
            "it is not an address such as https://knowledge.example/mcp".to_owned()
        })?;
        match rest.split_once('/') {
            Some(("", _)) => Err("it names no host".to_owned()),
            None if rest.is_empty() => Err("it names no host".to_owned()),
            // The server answers at /mcp, and nowhere else.
            None | Some((_, "")) => Ok(Self(format!("{}/mcp", text.trim_end_matches('/')))),
            Some(_) => Ok(Self(text.to_owned())),
        }
    }
}

impl Variable {
    /// The name as text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let begins = text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
        let is_name = text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
        // A key that is given in place of a name is not repeated.
        (begins && is_name).then(|| Self(text.to_owned())).ok_or_else(|| {
            "it is not the name of an environment variable, such as VADEMECUM_KEY; the key \
             itself is never written"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_is_that_of_the_server() {
        for text in ["http://127.0.0.1:7744", "http://127.0.0.1:7744/"] {
            assert_eq!(text.parse::<Url>().unwrap().as_str(), "http://127.0.0.1:7744/mcp");
        }
        assert_eq!("https://a.b/x/mcp".parse::<Url>().unwrap().as_str(), "https://a.b/x/mcp");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "cursor", "ws://a/mcp", "http://", "https:///mcp", "http://a b/mcp"] {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_that_listens_everywhere_is_reached_on_this_machine() {
        let of = |text: &str| Url::of_server(text.parse().unwrap()).0;
        assert_eq!(of("0.0.0.0:80"), "http://127.0.0.1:80/mcp");
        assert_eq!(of("[::]:80"), "http://[::1]:80/mcp");
        assert_eq!(of("127.0.0.1:7744"), "http://127.0.0.1:7744/mcp");
    }

    #[test]
    fn only_https_to_another_machine_is_public() {
        let is_public = |text: &str| text.parse::<Url>().unwrap().is_public();
        assert!(is_public("https://knowledge.example/mcp"));
        for text in ["http://knowledge.example", "https://localhost:1/mcp", "https://127.0.0.1"] {
            assert!(!is_public(text), "{text}");
        }
    }

    #[test]
    fn a_key_is_no_name_of_a_variable() {
        assert!("VADEMECUM_KEY".parse::<Variable>().is_ok());
        for text in ["", "1A", "sk-123", "A B", "${A}"] {
            assert!(text.parse::<Variable>().is_err(), "{text}");
        }
    }
}
