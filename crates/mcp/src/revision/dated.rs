//! The revisions, and what they have.

use crate::{Status, error::Kind};

/// A revision of the protocol.
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
    /// 2026-07-28: every request stands for itself.
    V2026_07_28,
}

impl Revision {
    /// The newest of those with a handshake and sessions: what is spoken where
    /// nobody says otherwise.
    pub const NEWEST_WITH_SESSIONS: Self = Self::V2025_11_25;

    const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// The revision of that date.
    pub fn dated(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.date() == date)
    }

    /// What a handshake agrees on: what the client asks for, or the newest
    /// that has a handshake.
    pub fn negotiate(date: &str) -> Self {
        Self::dated(date)
            .filter(|revision| revision.has_sessions())
            .unwrap_or(Self::NEWEST_WITH_SESSIONS)
    }

    /// The date that names it.
    pub fn date(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// All dates, newest first.
    pub fn dates() -> [&'static str; 5] {
        Self::ALL.map(Self::date)
    }

    /// Whether a handshake opens a session; if not, every request says for
    /// itself who sends it and what they can do.
    pub fn has_sessions(self) -> bool {
        self < Self::V2026_07_28
    }

    /// Whether several messages may come as one. The oldest revision leaves it
    /// to JSON-RPC, which has them.
    pub(crate) fn takes_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// Whether there is such a method.
    pub(crate) fn has(self, method: &str) -> bool {
        match method {
            "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe" => self.has_sessions(),
            "server/discover" | "subscriptions/listen" => !self.has_sessions(),
            _ => true,
        }
    }

    /// The code of a failure.
    pub(crate) fn code(self, kind: &Kind) -> i32 {
        match kind {
            Kind::Parse => -32_700,
            Kind::Request => -32_600,
            Kind::Method => -32_601,
            Kind::Resource if self.has_sessions() => -32_002,
            Kind::Parameters | Kind::Meta | Kind::Resource => -32_602,
            Kind::Internal | Kind::InputRequired(_) => -32_603,
            Kind::Forbidden(_) => -32_003,
            Kind::TooMany(_) | Kind::Busy(_) => -32_004,
            Kind::HeaderMismatch => -32_020,
            Kind::MissingCapability => -32_021,
            Kind::UnsupportedVersion => -32_022,
        }
    }

    /// What HTTP says of a failure. Where there are sessions, a message that
    /// was read is answered with 200 whatever became of it.
    pub(crate) fn status(self, kind: &Kind) -> Status {
        match kind {
            Kind::Parse | Kind::Request | Kind::UnsupportedVersion => Status::BadRequest,
            Kind::Meta | Kind::HeaderMismatch | Kind::MissingCapability if !self.has_sessions() => {
                Status::BadRequest
            }
            Kind::Method if !self.has_sessions() => Status::NotFound,
            Kind::Forbidden(right) => Status::Forbidden(*right),
            Kind::TooMany(wait) => Status::TooMany(*wait),
            Kind::Busy(wait) => Status::Busy(*wait),
            _ => Status::Ok,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_agrees_on_what_the_client_asks_for_or_the_newest_that_has_one() {
        assert_eq!(Revision::negotiate("2024-11-05").date(), "2024-11-05");
        assert_eq!(Revision::negotiate("2031-01-01").date(), "2025-11-25");
        assert_eq!(Revision::negotiate("2026-07-28").date(), "2025-11-25");
    }
}
