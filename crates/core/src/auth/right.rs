//! What a principal may do.

use std::{fmt, str::FromStr};

/// What a tool may need. Each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// To search and read the user's library.
    Read,
    /// To change it.
    Write,
    /// To look after the server.
    Admin,
}

/// Says which text is no right.
#[derive(Debug, thiserror::Error)]
#[error("unknown scope `{0}`, expected read, write or admin")]
pub struct RightError(String);

impl Right {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// The name, which is also that of the OAuth scope.
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

/// What somebody may do. As each right includes those before it, the greatest
/// one says it all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(Option<Right>);

impl Rights {
    /// Everything.
    pub const ALL: Self = Self(Some(Right::Admin));

    /// The rights that scopes give; what is no scope of ours gives none.
    pub fn of_scopes<'a>(scopes: impl IntoIterator<Item = &'a str>) -> Self {
        scopes.into_iter().filter_map(|scope| scope.parse().ok()).collect()
    }

    /// Whether a right is among them.
    pub fn include(self, right: Right) -> bool {
        self.0.is_some_and(|greatest| greatest >= right)
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        Self(rights.into_iter().max())
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let included = Right::ALL.into_iter().filter(|right| self.include(*right));
        let names: Vec<&str> = included.map(Right::as_str).collect();
        formatter.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_includes_those_before_it() {
        let rights = Rights::of_scopes(["write"]);
        assert_eq!(Right::ALL.map(|right| rights.include(right)), [true, true, false]);
        assert_eq!(rights.to_string(), "read write");
        assert_eq!(Rights::of_scopes(rights.to_string().split(' ')), rights);
    }

    #[test]
    fn scopes_of_somebody_else_give_no_right() {
        for scopes in [&[][..], &["openid", "email"], &["Admin", "read:all", ""]] {
            let rights = Rights::of_scopes(scopes.iter().copied());
            assert!(!rights.include(Right::Read), "{scopes:?}");
        }
    }
}
