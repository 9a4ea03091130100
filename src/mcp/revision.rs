//! The revisions of the protocol, and what differs between them on the wire.

/// A revision with sessions and a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05.
    V2024_11_05,
    /// 2025-03-26.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25.
    V2025_11_25,
}

impl Revision {
    /// The newest of them: what is spoken where nobody says otherwise.
    pub const NEWEST: Self = Self::V2025_11_25;

    const ALL: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// The revision of that date.
    pub fn dated(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.date() == date)
    }

    /// What a handshake agrees on: what the client asks for, or the newest.
    pub fn negotiate(date: &str) -> Self {
        Self::dated(date).unwrap_or(Self::NEWEST)
    }

    /// The date that names it.
    pub fn date(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    /// All dates, for an error message.
    pub fn dates() -> String {
        Self::ALL.map(Self::date).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_agrees_on_what_the_client_asks_for_or_the_newest() {
        assert_eq!(Revision::negotiate("2024-11-05").date(), "2024-11-05");
        assert_eq!(Revision::negotiate("2031-01-01").date(), "2025-11-25");
    }
}
