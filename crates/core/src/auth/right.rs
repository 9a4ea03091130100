//! Rights of a principal.

use std::{fmt, str::FromStr};

/// Right that a tool may require. Each right includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// Search and read the user's library.
    Read,
    /// Change the user's library.
    Write,
    /// Administer the server.
    Admin,
}

/// Error for an unknown scope name.
#[derive(Debug, thiserror::Error)]
#[error("unknown scope `{0}`, expected read, write or admin")]
pub struct RightError(String);

impl Right {
    /// All rights, weakest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// Returns the name, which is also the OAuth scope.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Right {
    type Err = RightError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|right| right.as_str() == text);
        found.ok_or_else(|| RightError(text.chars().take(100).collect()))
    }
}

/// Set of rights. Each right includes the ones before it, so the strongest one is enough to
/// represent the set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(Option<Right>);

impl Rights {
    /// The right `admin`, which includes the others.
    pub const ALL: Self = Self(Some(Right::Admin));

    /// Collects the rights granted by OAuth scopes. Unknown scopes are ignored.
    pub fn from_scopes<'a>(scopes: impl IntoIterator<Item = &'a str>) -> Self {
        scopes.into_iter().filter_map(|scope| scope.parse().ok()).collect()
    }

    /// Returns true if the set has `right` or a stronger one.
    pub fn contains(self, right: Right) -> bool {
        self.0.is_some_and(|greatest| greatest >= right)
    }

    /// Returns the rights that are also in `others`.
    #[must_use]
    pub fn limited_to(self, others: Self) -> Self {
        Self(self.0.min(others.0))
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        Self(rights.into_iter().max())
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let included = Right::ALL.into_iter().filter(|right| self.contains(*right));
        let names: Vec<&str> = included.map(Right::as_str).collect();
        formatter.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_include_weaker_rights() {
        let rights = Rights::from_scopes(["write"]);
        assert_eq!(Right::ALL.map(|right| rights.contains(right)), [true, true, false]);
        assert_eq!(rights.to_string(), "read write");
        assert_eq!(Rights::from_scopes(rights.to_string().split(' ')), rights);
    }

    #[test]
    fn rights_ignore_unknown_scopes() {
        for scopes in [&[][..], &["openid", "email"], &["Admin", "read:all", ""]] {
            let rights = Rights::from_scopes(scopes.iter().copied());
            assert!(!rights.contains(Right::Read), "{scopes:?}");
        }
    }
}
