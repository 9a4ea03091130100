//! `profile_list` and `profile_show`: which databases there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{asked::required, envelope::Envelope};
use crate::{
    actors::CallError,
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::{ListedProfile, ShownProfile};

/// Lists the profiles.
#[derive(Debug)]
pub struct ProfileList;

/// Nothing is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileListInput {}

/// The profiles that the caller may use.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProfileListData {
    /// By name.
    profiles: Vec<ListedProfile>,
}

impl Contract for ProfileList {
    const NAME: &'static str = "profile_list";
    const TITLE: &'static str = "List databases";
    const DESCRIPTION: &'static str = "List the databases that can be queried.";
    const TOOLSET: Toolset = Toolset::Databases;
    const FORM: Form = Form::Enveloped;
    type Input = ProfileListInput;
    type Output = Envelope<ProfileListData>;

    async fn call(
        toolbox: &Toolbox,
        ProfileListInput {}: ProfileListInput,
        call: &Call,
    ) -> Result<Replied<Self::Output>, CallError> {
        let profiles = toolbox.databases().profiles().for_principal(&call.principal);
        let profiles = profiles.map(|profile| profile.listed()).collect();
        Ok(Envelope::of(ProfileListData { profiles }))
    }
}

/// Shows a profile.
#[derive(Debug)]
pub struct ProfileShow;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["name"]))]
pub struct ProfileShowInput {
    /// The profile.
    #[serde(default)]
    #[schemars(with = "String")]
    name: Option<String>,
}

impl Contract for ProfileShow {
    const NAME: &'static str = "profile_show";
    const TITLE: &'static str = "Show a database";
    const DESCRIPTION: &'static str = "Show what is known of a database, without its secrets.";
    const TOOLSET: Toolset = Toolset::Databases;
    const FORM: Form = Form::Enveloped;
    type Input = ProfileShowInput;
    type Output = Envelope<ShownProfile>;

    async fn call(
        toolbox: &Toolbox,
        input: ProfileShowInput,
        call: &Call,
    ) -> Result<Replied<Self::Output>, CallError> {
        let name = required("name", input.name)?;
        let profile = toolbox.databases().profiles().get(&call.principal, &name)?;
        Ok(Envelope::of(profile.shown()))
    }
}
