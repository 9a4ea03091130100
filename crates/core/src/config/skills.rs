//! `[skills]`: folders of agent skills that are offered to clients.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::AuthMode;
use crate::auth::UserId;

/// Folders of agent skills (`SKILL.md`) that clients with the extension Skills can use; other
/// clients see them as resources. See docs/skills.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Skills {
    /// Folders of the only user in single-user mode.
    pub folders: Vec<PathBuf>,
    /// Folders of each user in multi-user mode: `{ ada = ["/srv/skills/ada"] }`.
    pub users: BTreeMap<String, Vec<PathBuf>>,
}

impl Skills {
    /// Returns the folders of a user.
    pub fn folders_of(&self, user: &UserId, mode: AuthMode) -> &[PathBuf] {
        match mode {
            AuthMode::Single => &self.folders,
            AuthMode::Multi => self.users.get(user.as_str()).map_or(&[], Vec::as_slice),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_belong_to_one_user() {
        let text = "folders = [\"/own\"]\n[users]\nada = [\"/a\"]\nbob = [\"/b\", \"/c\"]";
        let skills: Skills = toml::from_str(text).unwrap();
        let of = |user: &str, mode| skills.folders_of(&user.parse().unwrap(), mode).len();
        assert_eq!([of("ada", AuthMode::Multi), of("bob", AuthMode::Multi)], [1, 2]);
        assert_eq!([of("eve", AuthMode::Multi), of("ada", AuthMode::Single)], [0, 1]);
    }
}
