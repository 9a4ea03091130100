//! The Model Context Protocol, independent of any transport.
//!
//! Messages enter through [`Service::handle`] and leave as a [`Reply`]. The product sits behind
//! [`ServerHandler`], which knows neither transport nor protocol revision. Start with `service`,
//! then `methods`; differences between protocol revisions are confined to `revision`.

mod admission;
mod app;
mod audit_trail;
mod capability;
mod catalog;
mod client;
mod completion;
mod content;
mod defaults;
mod early_rejection;
mod error;
mod extension_methods;
mod handler;
mod icon;
mod jsonrpc;
mod key_scope;
mod method_context;
mod method_params;
mod methods;
mod name_style;
mod outbound;
mod pagination;
mod peer;
mod prompt;
mod rate_limits;
mod reply;
mod reply_status;
mod request_context;
mod request_metrics;
mod resource;
mod revision;
mod schema_compaction;
mod scope;
mod server_info;
mod service;
mod session;
mod session_channel;
mod session_id;
mod session_sharing;
mod shared_sessions;
mod signed_state;
mod skill;
mod subscription;
mod suggestion;
mod tool_call;
mod tool_entry;
mod tool_field;
mod tool_name;
mod watched_resources;

pub use admission::{AdmissionLimits, ConnectionPermit, MessageCost};
pub use app::{APP_MIME_TYPE, offline_app_meta};
pub use audit_trail::{ItemTrail, PeerConnection};
pub use capability::ClientCapabilities;
pub use catalog::{DisableToolError, ToolCatalog, ToolListing};
pub use client::Client;
pub use completion::{
    Completion, CompletionReference, CompletionRequest, MAX_COMPLETIONS, PartialArgument,
};
pub use content::{ContentBlock, ResourceBody, ResourceContents};
pub use defaults::{DefaultsError, RequestDefaults, Shape};
pub use error::{Failure, FailureKind, InputRequired};
pub use handler::{CallToolResult, ServerHandler};
pub use name_style::NameStyle;
pub use outbound::{LogLevel, Outbound, ProgressReporter};
pub use peer::Peer;
pub use prompt::{GetPromptResult, Prompt, PromptArgument, PromptArguments, PromptMessage, Role};
pub use rate_limits::RateLimits;
pub use reply::Reply;
pub use reply_status::ReplyStatus;
pub use request_context::{Input, RequestContext};
pub use request_metrics::RequestObserver;
pub use resource::{Resource, ResourceTemplate};
pub use revision::{MessageHeaders, ProtocolVersion};
pub use scope::Scope;
pub use service::{Service, ServiceOptions};
pub use session::ProtocolSessions;
pub use session_id::SessionId;
pub use shared_sessions::{SessionRecords, Unreachable};
pub use skill::{Skill, SkillResource};
pub use suggestion::{closest_name, did_you_mean, normalize_name};
pub use tool_call::ToolCallError;
pub use tool_entry::{ToolAudience, ToolEffect, ToolEntry, ToolPresentation, ToolSchemas, Toolset};
pub use tool_field::ToolField;
pub use tool_name::intern_tool_name;
