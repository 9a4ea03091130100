//! Supported protocol versions and the features of each.

use crate::{FailureKind, ReplyStatus};

/// Version (dated revision) of the Model Context Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// 2024-11-05: the oldest supported version.
    V2024_11_05,
    /// 2025-03-26: the last one with JSON-RPC batches.
    V2025_03_26,
    /// 2025-06-18: the first one without JSON-RPC batches.
    V2025_06_18,
    /// 2025-11-25: the first one with icons, the last one with sessions.
    V2025_11_25,
    /// 2026-07-28: stateless, every request carries its own version and capabilities.
    V2026_07_28,
}

impl ProtocolVersion {
    /// Newest version with a handshake and sessions; the default when a client names no version.
    pub const NEWEST_WITH_SESSIONS: Self = Self::V2025_11_25;

    const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// Returns the version with this date, if it is supported.
    pub fn from_date(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.date() == date)
    }

    /// Returns the version for a handshake: the requested one, or the newest with a handshake if
    /// the requested one is unsupported or has none.
    pub fn negotiate(date: &str) -> Self {
        Self::from_date(date)
            .filter(|revision| revision.has_sessions())
            .unwrap_or(Self::NEWEST_WITH_SESSIONS)
    }

    /// Returns the date that identifies this version on the wire.
    pub fn date(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns all dates, newest first.
    pub fn dates() -> [&'static str; 5] {
        Self::ALL.map(Self::date)
    }

    /// Returns `true` if a handshake opens a session. Otherwise every request carries client and
    /// capabilities itself.
    pub fn has_sessions(self) -> bool {
        self < Self::V2026_07_28
    }

    /// Returns `true` if servers and tools can have icons.
    pub(crate) fn has_icons(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Returns `true` if JSON-RPC batches are supported. The oldest version does not mention them,
    /// but JSON-RPC allows them.
    pub(crate) fn supports_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// Returns `true` if this version has the method. Methods that all versions share are not
    /// listed here.
    pub(crate) fn has_method(self, method: &str) -> bool {
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

    /// Returns the JSON-RPC error code of a failure.
    pub(crate) fn error_code(self, kind: &FailureKind) -> i32 {
        match kind {
            FailureKind::ParseError => -32_700,
            FailureKind::InvalidRequest => -32_600,
            FailureKind::MethodNotFound => -32_601,
            FailureKind::ResourceNotFound if self.has_sessions() => -32_002,
            FailureKind::InvalidParams
            | FailureKind::InvalidMeta
            | FailureKind::ResourceNotFound => -32_602,
            FailureKind::InternalError | FailureKind::InputRequired(_) => -32_603,
            FailureKind::Forbidden(_) => -32_003,
            FailureKind::TooMany(_) | FailureKind::Busy(_) => -32_004,
            FailureKind::HeaderMismatch => -32_020,
            FailureKind::MissingCapability => -32_021,
            FailureKind::UnsupportedVersion => -32_022,
        }
    }

    /// Returns the HTTP status of a failure. Versions with sessions answer a readable message with
    /// 200 even if it fails.
    pub(crate) fn reply_status(self, kind: &FailureKind) -> ReplyStatus {
        match kind {
            FailureKind::ParseError
            | FailureKind::InvalidRequest
            | FailureKind::UnsupportedVersion => ReplyStatus::BadRequest,
            FailureKind::InvalidMeta
            | FailureKind::HeaderMismatch
            | FailureKind::MissingCapability
                if !self.has_sessions() =>
            {
                ReplyStatus::BadRequest
            }
            FailureKind::MethodNotFound if !self.has_sessions() => ReplyStatus::NotFound,
            FailureKind::Forbidden(right) => ReplyStatus::Forbidden(*right),
            FailureKind::TooMany(wait) => ReplyStatus::TooMany(*wait),
            FailureKind::Busy(wait) => ReplyStatus::Busy(*wait),
            _ => ReplyStatus::Ok,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshake_agrees_on_requested_or_newest_version() {
        assert_eq!(ProtocolVersion::negotiate("2024-11-05").date(), "2024-11-05");
        assert_eq!(ProtocolVersion::negotiate("2031-01-01").date(), "2025-11-25");
        assert_eq!(ProtocolVersion::negotiate("2026-07-28").date(), "2025-11-25");
    }
}
