//! `[quotas]`: limits of the library of each user.

use serde::Deserialize;

use super::AuthMode;

/// Limits of the library of each user. They apply to the tools that write, not to imports by the
/// operator. `vademecum user quota` overrides them for a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// Maximum size of the databases, in bytes; 0 is unlimited. By default unlimited in single-user
    /// mode, and 5 GB in multi-user mode.
    pub max_bytes: Option<u64>,
    /// Maximum number of items; 0 is unlimited. By default unlimited in single-user mode, and
    /// 500,000 in multi-user mode.
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
