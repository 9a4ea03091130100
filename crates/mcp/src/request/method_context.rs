//! Context of one request while its method runs.

use std::sync::Arc;

use serde_json::value::RawValue;
use vademecum_core::auth::{Principal, Right};
use vademecum_model::CancelFlag;

use crate::{
    Client, ClientCapabilities, Input, Outbound, Peer, PeerConnection, ProtocolVersion,
    RequestContext, RequestDefaults, Scope, ToolField,
    request::{request_context::ClientChannel, request_metrics::RequestMetrics},
    revision::RequestMeta,
    session::session_channel::SessionChannel,
};

/// Properties of a request other than its method and parameters.
pub(crate) struct MethodContext<'a> {
    pub(crate) peer: &'a Peer,
    /// Principal of the peer, restricted by the rules for its client.
    pub(crate) principal: Principal,
    pub(crate) id: &'a RawValue,
    pub(crate) revision: ProtocolVersion,
    pub(crate) client: Client,
    pub(crate) session_channel: Option<Arc<SessionChannel>>,
    pub(crate) defaults: RequestDefaults,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) meta: RequestMeta,
    pub(crate) outbound: &'a Outbound,
    pub(crate) request_metrics: &'a RequestMetrics<'a>,
    pub(crate) cancel: CancelOnDrop,
}

/// Cancels the work of a request when dropped.
#[derive(Default)]
pub(crate) struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl MethodContext<'_> {
    /// Builds the context that is passed to the handler.
    pub(crate) fn request_context(&self, input: Input) -> RequestContext {
        let in_session = self.revision.has_sessions();
        let openai = self.meta.openai_session.clone().filter(|id| id.len() <= 256);
        let scope = match (&self.peer.session, openai) {
            (Some(id), _) if in_session => Some(Scope::Session(id.clone())),
            (_, Some(id)) => Some(Scope::OpenAi(id)),
            (_, None) => None,
        };
        let connection = self.peer.connection.as_ref();
        let is_stdio = connection.is_some_and(|it| it.transport == PeerConnection::STDIO);
        let scope_is_named = !(is_stdio && matches!(scope, Some(Scope::Session(_))));
        let level = match &self.session_channel {
            Some(channel) if in_session => Some(channel.level()),
            _ => self.meta.level,
        };
        RequestContext {
            principal: self.principal.clone(),
            client: Arc::clone(&self.client.name),
            scope,
            scope_is_named,
            defaults: self.defaults,
            cancel: self.cancel.0.clone(),
            input,
            capabilities: self.capabilities,
            items: self.request_metrics.items.clone(),
            client_channel: ClientChannel {
                outbound: self.outbound.clone(),
                progress_token: self.meta.token.clone(),
                min_log_level: level,
                session_channel: self.session_channel.clone().filter(|_| in_session),
                input_via_result: !in_session,
            },
        }
    }

    /// Returns whether one of the reads of the request so far may have been old.
    pub(crate) fn has_stale_reads(&self) -> bool {
        self.cancel.0.is_stale()
    }

    /// Returns the optional fields of listed tools that the client reads.
    pub(crate) fn tool_fields(&self, has_oauth: bool) -> Vec<ToolField> {
        let Self { client, revision, principal, .. } = self;
        // An app is a resource: it is of no use to a caller who may not read resources.
        let apps = self.capabilities.apps
            && principal.has_right(Right::Read)
            && principal.access().permits_methods("resources");
        [
            (ToolField::App, apps),
            // Such a client has a graphical interface; the icons are too large for all others.
            (ToolField::Icons, apps && revision.has_icons()),
            (ToolField::ResultSize, client.reads_result_size()),
            (ToolField::SecuritySchemes, has_oauth && client.reads_security_schemes()),
        ]
        .into_iter()
        .filter_map(|(field, is_read)| is_read.then_some(field))
        .collect()
    }
}
