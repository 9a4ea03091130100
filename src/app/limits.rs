//! Limits and options of the services, from the settings.

use vademecum_core::config::{Import, Settings, ToolNames};
use vademecum_import::ReaderLimits;
use vademecum_mcp::{
    AdmissionLimits, NameStyle, RateLimits, ServiceOptions, SessionLimits, Toolset,
};

/// Returns the concurrency limits of the settings.
fn call_capacity(settings: &Settings) -> AdmissionLimits {
    let limits = &settings.limits;
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    AdmissionLimits {
        max_running_per_user: count(limits.concurrent_calls_per_user.get()),
        max_waiting_per_user: count(limits.waiting_calls_per_user),
        max_running: count(limits.concurrent_calls_in_all.get()),
        max_waiting: count(limits.waiting_calls_in_all),
        queue_timeout: limits.queue_timeout(),
        call_timeout: limits.call_timeout(),
        max_connections_per_user: count(settings.server.connections_per_user.get()),
        max_subscriptions_per_session: count(limits.subscriptions_per_session.get()),
        max_subscriptions_per_user: count(limits.subscriptions_per_user.get()),
    }
}

/// Returns the protocol options of the settings: tool naming, toolsets, write access, login and
/// limits.
pub(super) fn protocol_options(settings: &Settings) -> ServiceOptions {
    let Settings { tools, limits, sessions, .. } = settings;
    ServiceOptions {
        name_style: match tools.tool_names {
            ToolNames::Auto => None,
            ToolNames::Dotted => Some(NameStyle::Dotted),
            ToolNames::Underscored => Some(NameStyle::Underscored),
        },
        toolsets: [
            (Toolset::Knowledge, tools.knowledge),
            (Toolset::DeepResearch, tools.deep_research),
            (Toolset::Rag, tools.rag),
            (Toolset::RagSearch, tools.rag_search),
            (Toolset::Knowledgebase, tools.knowledgebase),
            (Toolset::Databases, tools.databases),
        ]
        .into_iter()
        .filter_map(|(toolset, shown)| Some((toolset, shown.fixed_visibility()?)))
        .collect(),
        list_write_tools: tools.write,
        has_oauth: settings.auth.oauth,
        sessions: SessionLimits {
            idle_timeout: sessions.idle_timeout(),
            max_sessions: sessions.most,
            max_per_user: sessions.most_per_user,
        },
        admission: call_capacity(settings),
        rates: RateLimits::per_minute(limits.requests_per_minute, limits.calls_per_tool_per_minute),
        ..ServiceOptions::default()
    }
}

/// Returns the limits of parsing a file.
pub(super) fn reader_limits(settings: &Import) -> ReaderLimits {
    ReaderLimits { memory_mb: settings.file_memory_mb, seconds: settings.file_seconds }
}
