//! `profile_list` and `profile_show`: list and describe database profiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_sql::{ListedProfile, ShownProfile};

use super::{envelope::Envelope, sql_call::require_argument};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Lists the profiles.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileList {}

/// Result of `profile_list`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProfileListData {
    /// Profiles that the caller may use, by name.
    profiles: Vec<ListedProfile>,
}

impl Tool for ProfileList {
    const NAME: &'static str = "profile_list";
    const TITLE: &'static str = "List databases";
    const DESCRIPTION: &'static str = "List the databases that can be queried.";
    const TOOLSET: Toolset = Toolset::Databases;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Envelope;
    type Output = Envelope<ProfileListData>;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let profiles = services.databases.profiles().visible_profiles(&call.principal);
        let may_write = services.may_write(call);
        let profiles = profiles.map(|profile| profile.to_listed(may_write)).collect();
        Ok(Envelope::success(ProfileListData { profiles }))
    }
}

/// Shows a profile.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["name"]))]
pub struct ProfileShow {
    /// Profile name.
    #[serde(default)]
    #[schemars(with = "String")]
    name: Option<String>,
}

impl Tool for ProfileShow {
    const NAME: &'static str = "profile_show";
    const TITLE: &'static str = "Show a database";
    const DESCRIPTION: &'static str = "Show the settings of a database, without its secrets.";
    const TOOLSET: Toolset = Toolset::Databases;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Envelope;
    type Output = Envelope<ShownProfile>;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let name = require_argument("name", self.name)?;
        let profile = services.databases.profiles().find_profile(&call.principal, &name)?;
        let mode = Some(profile.mode(services.may_write(call)));
        Ok(Envelope::success(ShownProfile { mode, ..profile.to_shown() }))
    }
}
