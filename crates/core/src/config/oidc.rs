//! `[auth.oidc]`: the outside provider that logs users in.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    jwt::{default_groups_claim, default_user_claim},
    urls::is_trusted_url,
    validation::deserialize_validated,
};

/// Login through an OpenID Connect provider, with `auth.oauth` in multi-user mode. The address of
/// the callback at the provider is /login/callback below `server.public_url`. Users who log in need
/// an account of the same name (`vademecum user add`), unless `add_users` is true.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Oidc {
    /// Name of the provider on the login page.
    #[serde(default = "Oidc::default_name")]
    pub name: String,
    /// Issuer of the provider, as its metadata states it: https, or http on this machine.
    #[schemars(example = "https://id.example")]
    pub issuer: String,
    /// Id of this server at the provider.
    #[schemars(example = &"vademecum")]
    pub client_id: String,
    /// File with the secret of this server at the provider, if it has one; without one, PKCE alone
    /// protects codes.
    #[schemars(example = "/etc/vademecum/oidc.secret")]
    pub client_secret_file: Option<PathBuf>,
    /// Scopes to request besides `openid`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Claim with the user name. It must be one that users cannot change; `email` counts only if
    /// the provider has verified it.
    #[serde(default = "default_user_claim")]
    pub user_claim: String,
    /// Users that are admitted, by the exact value of `user_claim`. If this list and
    /// `allowed_groups` are empty, every user of the provider with an account here is admitted.
    #[serde(default)]
    pub allowed_subjects: Vec<String>,
    /// Groups whose members are admitted.
    #[serde(default)]
    pub allowed_groups: Vec<String>,
    /// Claim with the list of groups of a user.
    #[serde(default = "default_groups_claim")]
    pub groups_claim: String,
    /// Whether admitted users without an account get one. Needs `allowed_subjects` or
    /// `allowed_groups`.
    #[serde(default)]
    pub add_users: bool,
}

deserialize_validated!(Oidc);

impl Oidc {
    fn default_name() -> String {
        "your organization".to_owned()
    }

    fn validate(self) -> Result<Self, String> {
        if !is_trusted_url(&self.issuer) {
            return Err(format!(
                "issuer is `{}`: it must begin with https://, or be on this machine",
                self.issuer
            ));
        }
        if self.client_id.is_empty() {
            return Err("client_id must not be empty".to_owned());
        }
        if self.add_users && self.allowed_subjects.is_empty() && self.allowed_groups.is_empty() {
            return Err("add_users needs allowed_subjects or allowed_groups: otherwise everybody \
                        with an account at the provider would get one here"
                .to_owned());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oidc_adds_only_named_users() {
        let needed = "issuer = \"https://id.example\"\nclient_id = \"vademecum\"\n";
        let parse = |more: &str| toml::from_str::<Oidc>(&format!("{needed}{more}"));
        assert!(parse("").is_ok());
        assert!(parse("add_users = true").unwrap_err().to_string().contains("allowed_subjects"));
        assert!(parse("add_users = true\nallowed_groups = [\"staff\"]").is_ok());
        let plain = "issuer = \"http://id.example\"\nclient_id = \"vademecum\"";
        assert!(toml::from_str::<Oidc>(plain).unwrap_err().to_string().contains("https://"));
    }
}
