//! `[auth.oidc]`: the outside provider that logs users in.

use std::path::PathBuf;

use serde::Deserialize;

use super::urls::is_trusted_url;

/// Login through an outside `OpenID` Connect provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "OidcTable")]
pub struct Oidc {
    /// Name of the provider on the login page.
    pub name: String,
    /// Issuer of the provider: https, or http on this machine.
    pub issuer: String,
    /// Id of this server at the provider.
    pub client_id: String,
    /// File with the secret of this server at the provider; without one, PKCE alone protects codes.
    pub client_secret_file: Option<PathBuf>,
    /// Scopes that are requested, besides `openid`.
    pub scopes: Vec<String>,
    /// Claim with the user name.
    pub user_claim: String,
    /// Names of the users that are admitted, as `user_claim` states them.
    pub allowed_subjects: Vec<String>,
    /// Groups whose members are admitted. If both lists are empty, all users with an account are
    /// admitted.
    pub allowed_groups: Vec<String>,
    /// Claim with the list of groups.
    pub groups_claim: String,
    /// Whether admitted users without an account get one. Needs a list of subjects or groups.
    pub add_users: bool,
}

/// `[auth.oidc]` as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OidcTable {
    name: Option<String>,
    issuer: String,
    client_id: String,
    client_secret_file: Option<PathBuf>,
    #[serde(default)]
    scopes: Vec<String>,
    user_claim: Option<String>,
    #[serde(default)]
    allowed_subjects: Vec<String>,
    #[serde(default)]
    allowed_groups: Vec<String>,
    groups_claim: Option<String>,
    #[serde(default)]
    add_users: bool,
}

impl TryFrom<OidcTable> for Oidc {
    type Error = String;

    fn try_from(table: OidcTable) -> Result<Self, String> {
        if !is_trusted_url(&table.issuer) {
            return Err(format!(
                "issuer is `{}`: it must begin with https://, or be on this machine",
                table.issuer
            ));
        }
        if table.client_id.is_empty() {
            return Err("client_id must not be empty".to_owned());
        }
        if table.add_users && table.allowed_subjects.is_empty() && table.allowed_groups.is_empty() {
            return Err("add_users needs allowed_subjects or allowed_groups: otherwise everybody \
                        with an account at the provider would get one here"
                .to_owned());
        }
        Ok(Self {
            name: table.name.unwrap_or_else(|| "your organization".to_owned()),
            issuer: table.issuer,
            client_id: table.client_id,
            client_secret_file: table.client_secret_file,
            scopes: table.scopes,
            user_claim: table.user_claim.unwrap_or_else(|| "sub".to_owned()),
            allowed_subjects: table.allowed_subjects,
            allowed_groups: table.allowed_groups,
            groups_claim: table.groups_claim.unwrap_or_else(|| "groups".to_owned()),
            add_users: table.add_users,
        })
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
