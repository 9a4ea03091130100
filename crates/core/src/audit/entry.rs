//! One entry of the audit log.

use std::{
    fmt::{Display, Write as _},
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::auth::{KeyId, UserId};

/// Separates item ids, because it occurs in none.
const ITEM_SEPARATOR: char = '\0';

/// One call, failed login or administrative command.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// Time at which it began.
    pub at: SystemTime,
    /// User whose library was used or whose account was changed.
    pub user: Option<UserId>,
    /// API key that was used, created or revoked.
    pub key: Option<KeyId>,
    /// Name of the client program; empty if unknown.
    pub client: Arc<str>,
    /// Transport: `http`, `websocket`, `stdio`, `page` or `cli`.
    pub transport: &'static str,
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// Protocol method, or `login`, `key.create`, `key.revoke`, `user.add`.
    pub method: &'static str,
    /// Canonical name of the tool.
    pub tool: Option<&'static str>,
    /// Items that were shown or changed.
    pub items: AuditedItems,
    /// Outcome.
    pub outcome: AuditOutcome,
    /// Code of the JSON-RPC error.
    pub code: Option<i32>,
    /// Machine-readable reason of a failure.
    pub reason: Option<&'static str>,
    /// Parameters of the call. They may hold queries and contents.
    pub arguments: Option<String>,
    /// Size of the reply, in bytes.
    pub bytes: usize,
    /// Duration.
    pub duration: Duration,
}

impl AuditEntry {
    /// Creates an entry that begins now, from no particular caller.
    pub fn new(method: &'static str, transport: &'static str, outcome: AuditOutcome) -> Self {
        Self {
            at: SystemTime::now(),
            user: None,
            key: None,
            client: Arc::default(),
            transport,
            address: None,
            method,
            tool: None,
            items: AuditedItems::default(),
            outcome,
            code: None,
            reason: None,
            arguments: None,
            bytes: 0,
            duration: Duration::ZERO,
        }
    }
}

/// Outcome of an audited call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuditOutcome {
    /// Success.
    Ok,
    /// The caller has not the right, or no valid credential.
    Denied,
    /// A rate limit, a quota or an overload refused the call.
    Limited,
    /// Tool error (`isError: true`).
    ToolError,
    /// Failure.
    Error,
    /// The client cancelled the call or disconnected.
    Cancelled,
}

impl AuditOutcome {
    /// Returns the name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Denied => "denied",
            Self::Limited => "limited",
            Self::ToolError => "tool_error",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Ids of the items that a call showed or changed. At most [`MAX_ITEMS`](Self::MAX_ITEMS) are kept;
/// the others are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditedItems {
    /// Ids, each followed by [`ITEM_SEPARATOR`]: one allocation for all.
    ids: String,
    count: usize,
}

impl AuditedItems {
    /// Maximum number of ids of one call.
    pub const MAX_ITEMS: usize = 200;
    /// Maximum length of all ids of one call, in bytes.
    const MAX_BYTES: usize = 16 * 1_024;

    /// Adds an id, unless it repeats the previous one.
    pub fn push(&mut self, id: impl Display) {
        if self.count >= Self::MAX_ITEMS {
            self.count += 1;
            return;
        }
        let start = self.ids.len();
        let is_written = write!(self.ids, "{id}{ITEM_SEPARATOR}").is_ok();
        let is_repeated = is_written && {
            let mut last = self.ids.rsplit_terminator(ITEM_SEPARATOR);
            start > 0 && last.next() == last.next()
        };
        // An id that does not fit is only counted.
        if !is_written || is_repeated || self.ids.len() > Self::MAX_BYTES {
            self.ids.truncate(start);
        }
        self.count += usize::from(!is_repeated);
    }

    /// Returns the number of items, including those whose ids were not kept.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the ids that were kept.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.split_terminator(ITEM_SEPARATOR)
    }

    /// Returns the sources of the items in order of appearance, without repetitions: the scheme of
    /// a URI, a profile as `profile:NAME`, `prompts` for a prompt as `prompt:NAME`, and
    /// `collections` for ids of documents and chunks.
    pub fn sources(&self) -> Vec<&str> {
        let mut sources = Vec::new();
        for id in self.ids() {
            let source = match id.split_once("://") {
                Some((scheme, _)) => scheme,
                None if id.starts_with("profile:") => id,
                None if id.starts_with("prompt:") => "prompts",
                None => "collections",
            };
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_name_their_sources_once() {
        let mut items = AuditedItems::default();
        let ids = [
            "notes://1",
            "media://2",
            "media://2",
            "notes://3",
            "posts:1#0",
            "profile:shop",
            "prompt:a",
        ];
        for id in ids {
            items.push(id);
        }
        assert_eq!(items.sources(), ["notes", "media", "collections", "profile:shop", "prompts"]);
        assert_eq!((items.count(), items.ids().nth(3)), (6, Some("posts:1#0")));
    }

    #[test]
    fn items_beyond_limits_are_counted_only() {
        let mut items = AuditedItems::default();
        for number in 0..=AuditedItems::MAX_ITEMS {
            items.push(format_args!("notes://{number}"));
        }
        assert_eq!(items.count(), AuditedItems::MAX_ITEMS + 1);
        assert_eq!(items.ids().count(), AuditedItems::MAX_ITEMS);
        let mut items = AuditedItems::default();
        items.push("x".repeat(AuditedItems::MAX_BYTES));
        items.push("notes://1");
        assert_eq!((items.count(), items.ids().collect::<Vec<_>>()), (2, vec!["notes://1"]));
    }
}
