//! `[telemetry]`: export of traces.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, de::Error as _};
use url::Url;

/// Export of traces. Metrics are always available at /metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// OpenTelemetry collector that receives a span for each request with its method, tool,
    /// duration and outcome, but no arguments. Spans are sent over HTTP to /v1/traces below it.
    /// Default: nothing is exported.
    #[schemars(example = "http://localhost:4318")]
    pub otlp_endpoint: Option<OtlpEndpoint>,
}

/// Address of a collector: `http://` or `https://`. It may hold a password, so `Debug` shows only
/// scheme and host.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct OtlpEndpoint(Url);

impl OtlpEndpoint {
    /// Returns the URL that spans are sent to.
    pub fn traces_url(&self) -> String {
        format!("{}/v1/traces", self.0.as_str().trim_end_matches('/'))
    }

    /// Returns whether the collector is on this machine.
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

impl fmt::Debug for OtlpEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host) = (self.0.scheme(), self.0.host_str().unwrap_or_default());
        write!(formatter, "{scheme}://{host}")
    }
}

impl<'de> Deserialize<'de> for OtlpEndpoint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let url = Url::parse(&text).ok();
        let fits = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        url.filter(fits).map(Self).ok_or_else(|| {
            // The text is not repeated, because it may hold a password.
            D::Error::custom("expected an address such as \"http://localhost:4318\"")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Result<Telemetry, toml::de::Error> {
        toml::from_str(&format!("otlp_endpoint = \"{text}\""))
    }

    #[test]
    fn otlp_endpoint_accepts_only_http_addresses() {
        for text in ["http://localhost:4318", "http://localhost:4318/"] {
            let endpoint = endpoint(text).unwrap().otlp_endpoint.unwrap();
            assert_eq!(endpoint.traces_url(), "http://localhost:4318/v1/traces");
            assert!(endpoint.is_loopback());
        }
        let with_password = endpoint("https://me:secret@otel.example/base").unwrap();
        assert!(!format!("{with_password:?}").contains("secret"));
        assert!(!with_password.otlp_endpoint.unwrap().is_loopback());
        for text in ["", "localhost:4318", "grpc://localhost:4317", "file:///x", "me:secret@"] {
            let error = endpoint(text).unwrap_err().to_string();
            assert!(error.contains("http://localhost:4318"), "{text}: {error}");
        }
    }
}
