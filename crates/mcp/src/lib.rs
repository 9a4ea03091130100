//! The Model Context Protocol, independent of any transport.
//!
//! Messages enter through [`Service::handle`] and leave as a [`Reply`]. The product sits behind
//! [`ServerHandler`], which knows neither transport nor protocol revision. Start with `service`,
//! then `methods`; differences between protocol revisions are confined to `revision`.
//!
//! `relay` is for programs that pass the messages of a client on to a server.
//!
//! The folders import downwards in this order: `methods`, `service`, `handler`, `request`, `tools`,
//! `session`, `limits`, `revision`, `client`, `message`; a method is a part of [`Service`].

mod client;
mod handler;
mod limits;
mod message;
mod methods;
mod relay;
mod request;
mod revision;
mod service;
mod session;
mod tools;

pub use client::{
    APP_MIME_TYPE, Client, ClientCapabilities, DefaultsError, NameStyle, ReadConfig,
    RequestDefaults, ResultText, Shape, offline_app_meta,
};
pub use handler::{
    CallToolResult, Completion, CompletionReference, CompletionRequest, ContentBlock,
    GetPromptResult, MAX_COMPLETIONS, PartialArgument, Prompt, PromptArgument, PromptArguments,
    PromptMessage, Resource, ResourceBody, ResourceContents, ResourceTemplate, Role, ServerHandler,
    Skill, SkillResource,
};
pub use limits::{
    AdmissionLimits, ByteBudget, ByteLimits, ConnectionPermit, InFlightBytes, MessageCost,
    RateLimits,
};
pub use message::{Failure, FailureKind, InputRequired, ReplyStatus, plain_json_error};
pub use relay::RelayState;
pub use request::{
    Input, ItemTrail, Peer, PeerConnection, Reply, RequestContext, RequestObserver, ShownItem,
};
pub use revision::{MessageHeaders, ProtocolVersion};
pub use service::{CallProblem, Service, ServiceOptions};
pub use session::{
    Freshness, LogLevel, Outbound, OutboundMessage, ProgressReporter, Scope, SessionId,
    SessionLimits, SessionRecords, Unreachable,
};
pub use tools::{
    DisableToolError, ToolAudience, ToolCatalog, ToolEffect, ToolEntry, ToolField, ToolListing,
    ToolPresentation, ToolSchemas, Toolset, closest_name, did_you_mean, intern_tool_name,
    normalize_name,
};
