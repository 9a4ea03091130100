//! Limits and options of the services, from the settings.

use vademecum_core::config::{Import, Settings, ToolNames};
use vademecum_import::ReaderLimits;
use vademecum_mcp::{
    AdmissionLimits, ByteLimits, NameStyle, RateLimits, ServiceOptions, SessionLimits, Toolset,
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

/// Returns the budgets of bytes in flight. Buffers grow by doubling, so a message takes up to four
/// times its size while it is received; a budget has room for at least one.
fn byte_limits(settings: &Settings) -> ByteLimits {
    let (server, limits) = (&settings.server, &settings.limits);
    let longest = server.max_body_bytes.max(server.max_message_bytes).get();
    let reserved_per_user = longest.saturating_mul(4);
    ByteLimits {
        per_user: limits.bytes_in_flight_per_user.get().max(reserved_per_user),
        in_all: limits.bytes_in_flight_in_all.get(),
        reserved_per_user,
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
        bytes: byte_limits(settings),
        rates: RateLimits::per_minute(limits.requests_per_minute, limits.calls_per_tool_per_minute),
        ..ServiceOptions::default()
    }
}

/// Returns the limits of parsing a file.
pub(super) fn reader_limits(settings: &Import) -> ReaderLimits {
    let Import { file_memory_mb: memory_mb, file_seconds: seconds, reader_processes, .. } =
        *settings;
    let processes = reader_processes.unwrap_or(ReaderLimits::default().processes);
    ReaderLimits { memory_mb, seconds, processes }
}
