//! `[quotas]`: limits of the library of each user.

use schemars::JsonSchema;
use serde::Deserialize;

use super::AuthMode;

/// Limits of the library of each user, for the tools that write, not for imports by the operator. 0
/// is unlimited, which is the default in single-user mode; in multi-user mode it is 5000000000
/// bytes and 500000 items. `vademecum user quota` overrides them for a user, and `vademecum check`
/// shows the use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// Maximum size of the databases, in bytes.
    #[schemars(example = Self::MULTI_USER_BYTES)]
    pub max_bytes: Option<u64>,
    /// Maximum number of items.
    #[schemars(example = Self::MULTI_USER_ITEMS)]
    pub max_items: Option<u64>,
}

impl Quotas {
    const MULTI_USER_BYTES: u64 = 5_000_000_000;
    const MULTI_USER_ITEMS: u64 = 500_000;

    /// Returns the quotas with the defaults of a mode.
    #[must_use]
    pub fn for_mode(self, mode: AuthMode) -> Self {
        let defaults = match mode {
            AuthMode::Single => Self::default(),
            AuthMode::Multi => Self {
                max_bytes: Some(Self::MULTI_USER_BYTES),
                max_items: Some(Self::MULTI_USER_ITEMS),
            },
        };
        self.or(defaults)
    }

    /// Returns these quotas, with those that are not set taken from `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            max_bytes: self.max_bytes.or(others.max_bytes),
            max_items: self.max_items.or(others.max_items),
        }
    }

    /// Returns the maximum size; `None` is unlimited.
    pub fn byte_limit(self) -> Option<u64> {
        self.max_bytes.filter(|most| *most > 0)
    }

    /// Returns the maximum number of items; `None` is unlimited.
    pub fn item_limit(self) -> Option<u64> {
        self.max_items.filter(|most| *most > 0)
    }
}
