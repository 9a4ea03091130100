//! `profile_list` and `profile_show`: list and describe database profiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{envelope::Envelope, sql_call::require_argument};
use crate::{
    actors::CallError,
    tools::{ErrorFormat, Tool, ToolOutput, ToolRegistry},
};
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_sql::{ListedProfile, ShownProfile};

/// Lists the profiles.
#[derive(Debug)]
pub struct ProfileList;

/// Arguments of `profile_list`: none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileListInput {}

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
    type Input = ProfileListInput;
    type Output = Envelope<ProfileListData>;

    async fn call(
        toolbox: &ToolRegistry,
        ProfileListInput {}: ProfileListInput,
        call: &RequestContext,
    ) -> Result<ToolOutput<Self::Output>, CallError> {
        let profiles = toolbox.databases().profiles().visible_profiles(&call.principal);
        let profiles = profiles.map(|profile| profile.to_listed()).collect();
        Ok(Envelope::success(ProfileListData { profiles }))
    }
}

/// Shows a profile.
#[derive(Debug)]
pub struct ProfileShow;

/// Arguments of `profile_show`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["name"]))]
pub struct ProfileShowInput {
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
    type Input = ProfileShowInput;
    type Output = Envelope<ShownProfile>;

    async fn call(
        toolbox: &ToolRegistry,
        input: ProfileShowInput,
        call: &RequestContext,
    ) -> Result<ToolOutput<Self::Output>, CallError> {
        let name = require_argument("name", input.name)?;
        let profile = toolbox.databases().profiles().find_profile(&call.principal, &name)?;
        Ok(Envelope::success(profile.to_shown()))
    }
}
