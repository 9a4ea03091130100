//! Details of a conversation that is a session of a coding agent.

use serde::{Deserialize, Serialize};

/// The surroundings of a session of a coding agent. The agent is the service of the conversation.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionDetails {
    /// Name of the project: the last part of the working folder.
    pub project: Option<String>,
    /// Working folder.
    pub folder: Option<String>,
    /// Address of the git remote.
    pub remote: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// First model that answered.
    pub model: Option<String>,
    /// Version of the program.
    pub version: Option<String>,
    /// Whether the conversation holds the reasoning and the tool output of its parent. Lists and
    /// searches leave it out unless they are asked for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_log: bool,
}
