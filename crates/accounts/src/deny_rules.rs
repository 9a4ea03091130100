//! The deny rules of the settings.

use std::sync::Arc;

use vademecum_core::{
    auth::{KeyId, Principal},
    config::Deny,
};
use vademecum_model::matches_pattern;

/// The deny rules of the settings.
#[derive(Clone, Debug, Default)]
pub struct DenyRules(Arc<[Deny]>);

impl DenyRules {
    /// Copies the rules of the settings.
    pub fn new(rules: &[Deny]) -> Self {
        Self(rules.into())
    }

    /// Adds the rules that apply to a principal. `key` is the id and name of its key, if it used
    /// one. Rules for clients take effect when the client is known.
    #[must_use]
    pub fn restrict(&self, principal: Principal, key: Option<(&KeyId, &str)>) -> Principal {
        let key = key.map(|(id, name)| [id.as_str(), name]);
        let names = key.as_ref().map_or(&[][..], <[&str; 2]>::as_slice);
        let user = principal.user().clone();
        let applies = |rule: &&Deny| {
            matches_any(rule.user.as_ref(), &[user.as_str()])
                && matches_any(rule.key.as_ref(), names)
        };
        if !self.0.iter().any(|rule| applies(&rule)) {
            return principal;
        }
        let access = principal.access().clone().with_denied(self.0.iter().filter(applies));
        principal.with_access(access)
    }
}

fn matches_any(pattern: Option<&String>, names: &[&str]) -> bool {
    pattern.is_none_or(|pattern| names.iter().any(|name| matches_pattern(pattern, name)))
}

#[cfg(test)]
mod tests {
    use vademecum_core::auth::{UserId, local_principal};

    use super::*;

    fn deny(text: &str) -> Deny {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn deny_rule_applies_to_matching_callers() {
        let (ada, id): (UserId, KeyId) =
            ("ada".parse().unwrap(), "0123456789abcdef".parse().unwrap());
        for (text, keyed, keyless) in [
            ("sources = []", true, true),
            ("user = \"a*\"", true, true),
            ("user = \"eve\"", false, false),
            ("key = \"lap*\"", true, false),
            ("key = \"0123*\"", true, false),
            ("user = \"ada\"\nkey = \"phone\"", false, false),
        ] {
            let rules = DenyRules::new(&[deny(text)]);
            let is_denied = |key| {
                let ada = local_principal(ada.clone());
                rules.restrict(ada, key).access().item_access().is_some()
            };
            assert_eq!(is_denied(Some((&id, "laptop"))), keyed, "{text}");
            assert_eq!(is_denied(None), keyless, "{text}");
        }
    }
}
