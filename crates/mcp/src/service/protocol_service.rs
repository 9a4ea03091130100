//! Protocol service: takes one message and returns at most one reply. Notifications and server
//! requests go out separately, over an [`Outbound`].

use std::{collections::HashMap, fmt, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, future::join_all};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tracing::Instrument as _;

use crate::{
    AdmissionLimits, ByteBudget, ByteLimits, Client, ClientCapabilities, ConnectionPermit, Failure,
    Freshness, InFlightBytes, MessageCost, NameStyle, Outbound, Peer, ProtocolVersion, RateLimits,
    Reply, ReplyStatus, RequestObserver, Scope, ServerHandler, SessionLimits, SessionRecords,
    Toolset,
    limits::admission::{AdmissionControl, CallPermit},
    message::jsonrpc::{self, Message, ParsedInput, Request},
    request::{
        method_context::{CancelOnDrop, MethodContext},
        request_metrics::RequestMetrics,
        signed_state::StateSigner,
    },
    revision::{RequestMeta, RequestMode, detect_request_mode},
    session::protocol_sessions::{ProtocolSessions, SessionRecord},
};
use vademecum_core::{
    audit::AuditLog,
    auth::{Principal, Right},
};

/// Maximum number of messages in a batch.
const MAX_BATCH_MESSAGES: usize = 100;

/// Operator settings of the protocol service. The default has no rate limits and records nothing.
#[derive(Debug, Default)]
pub struct ServiceOptions {
    /// Style of listed tool names; `None` chooses it by client.
    pub name_style: Option<NameStyle>,
    /// Tool sets that are always listed or never; a set without an entry is listed if the handler
    /// has it.
    pub toolsets: HashMap<Toolset, bool>,
    /// List tools that modify data.
    pub list_write_tools: bool,
    /// Users log in with the server's own authorization server.
    pub has_oauth: bool,
    /// Lifetime and numbers of sessions.
    pub sessions: SessionLimits,
    /// Limits of calls and connections.
    pub admission: AdmissionLimits,
    /// Budgets of the bytes in flight.
    pub bytes: ByteLimits,
    /// Limits of the rates of requests and calls.
    pub rates: RateLimits,
    /// Receivers of observations, such as the audit log.
    pub observer: RequestObserver,
    /// Records through which other servers continue the sessions of this one, and this one theirs.
    pub session_records: Option<Arc<dyn SessionRecords>>,
}

/// MCP protocol service for one [`ServerHandler`]. Cloning is cheap.
#[derive(Clone)]
pub struct Service {
    pub(crate) handler: Arc<dyn ServerHandler>,
    pub(crate) options: Arc<ServiceOptions>,
    pub(crate) sessions: Arc<ProtocolSessions>,
    pub(crate) admission: Arc<AdmissionControl>,
    bytes: Arc<ByteBudget>,
    pub(crate) state_signer: StateSigner,
    shutdown: Arc<watch::Sender<bool>>,
    pub(crate) ended_users: Arc<watch::Sender<u64>>,
    pub(crate) tool_changes: Arc<watch::Sender<u64>>,
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Service").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Service {
    /// Creates a service without sessions. The handler and the options stay the same for its life.
    pub fn new(handler: Arc<dyn ServerHandler>, options: ServiceOptions) -> Self {
        Self {
            handler,
            sessions: Arc::new(ProtocolSessions::new(options.sessions)),
            admission: Arc::new(AdmissionControl::new(options.admission)),
            bytes: Arc::new(ByteBudget::new(options.bytes)),
            options: Arc::new(options),
            state_signer: StateSigner::new(),
            shutdown: Arc::new(watch::Sender::new(false)),
            ended_users: Arc::new(watch::Sender::new(0)),
            tool_changes: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Returns the audit log of the options.
    pub fn audit_log(&self) -> &AuditLog {
        &self.options.observer.audit
    }

    /// Removes expired sessions and unused rate limit and admission entries.
    pub fn remove_expired(&self) {
        for (owner, id) in self.sessions.remove_expired() {
            self.handler.forget_scope(&owner, &Scope::Session(id));
        }
        self.options.rates.remove_recovered();
        self.admission.remove_idle_users();
    }

    /// Acquires a permit for an open connection. When the user has reached the limit, returns the
    /// error reply to send.
    pub fn acquire_connection_permit(
        &self,
        principal: &Principal,
    ) -> Result<ConnectionPermit, Reply> {
        let permit = self.admission.acquire_connection_permit(principal.user());
        permit.map_err(|failure| Reply::refusal(&failure))
    }

    /// Returns an empty count of bytes in flight of a user.
    pub fn bytes_in_flight(&self, principal: &Principal) -> InFlightBytes {
        self.bytes.in_flight(principal.user())
    }

    /// Returns the number of bytes of all messages and replies that are in flight.
    pub fn all_bytes_in_flight(&self) -> usize {
        self.bytes.bytes()
    }

    /// Returns the number of calls of all users that hold a permit.
    pub fn running_calls(&self) -> usize {
        self.admission.running()
    }

    /// Returns the number of calls of all users that wait for a permit.
    pub fn queued_calls(&self) -> usize {
        self.admission.waiting()
    }

    /// Returns the number of open `WebSocket`s, listening streams and subscriptions.
    pub fn open_connections(&self) -> usize {
        self.admission.open_connections()
    }

    /// Returns the number of sessions, those of persistent connections included.
    pub fn open_sessions(&self) -> usize {
        self.sessions.session_count()
    }

    /// Returns a receiver that changes whenever the sessions of a user were ended, so that open
    /// connections check their credentials.
    pub fn ended_users(&self) -> watch::Receiver<u64> {
        self.ended_users.subscribe()
    }

    /// Announces shutdown: ends all streams.
    pub fn begin_shutdown(&self) {
        self.shutdown.send_replace(true);
    }

    /// Returns `true` once shutdown has been announced.
    pub fn is_shutting_down(&self) -> bool {
        *self.shutdown.borrow()
    }

    /// Waits until shutdown is announced.
    pub async fn wait_for_shutdown(&self) {
        let mut shutdown = self.shutdown.subscribe();
        // This value owns the sender, so waiting cannot fail.
        drop(shutdown.wait_for(|shutdown| *shutdown).await);
    }

    /// Returns the processing cost of a message. Notifications and responses must not queue behind
    /// calls, because a call may be waiting for them.
    pub fn message_cost(text: &str) -> MessageCost {
        match jsonrpc::parse_input(text) {
            Ok(ParsedInput::Single(Message::Request(request))) => {
                MessageCost::of_method(&request.method)
            }
            Ok(ParsedInput::Single(Message::Notification { .. } | Message::Response { .. })) => {
                MessageCost::NoReply
            }
            Ok(ParsedInput::Batch(_)) => MessageCost::Queued,
            Err(_) => MessageCost::Immediate,
        }
    }

    /// Processes a message or a batch and returns the reply.
    pub async fn handle(&self, peer: &Peer, text: &str, outbound: &Outbound) -> Reply {
        let input = match jsonrpc::parse_input(text) {
            Err(unreadable) => return Reply::unreadable(&unreadable),
            Ok(input) => input,
        };
        // Subscriptions of one session at two servers would be known to neither.
        let freshness = match &input {
            ParsedInput::Single(Message::Request(request))
                if request.method == "resources/subscribe" =>
            {
                Freshness::Now
            }
            ParsedInput::Single(_) | ParsedInput::Batch(_) => Freshness::Recent,
        };
        self.refresh_session(peer.session.as_ref(), &peer.principal, freshness).await;
        let reply = match input {
            ParsedInput::Single(message) => self.handle_message(peer, message, outbound).await,
            ParsedInput::Batch(messages) => self.handle_batch(peer, &messages, outbound).await,
        };
        if let Some(id) = &reply.opened_session {
            self.share_session(id.clone(), &peer.principal).await;
        }
        reply
    }

    async fn handle_batch(
        &self,
        peer: &Peer,
        messages: &[&RawValue],
        outbound: &Outbound,
    ) -> Reply {
        let session =
            peer.session.as_ref().map(|id| self.sessions.find_session(id, &peer.principal));
        let revision = match session {
            Some(None) => return Reply::no_session(None),
            Some(Some(record)) => Some(record.revision),
            None => peer
                .headers
                .as_ref()
                .and_then(|headers| ProtocolVersion::from_date(headers.version.as_deref()?)),
        };
        let problem = if !revision.is_none_or(ProtocolVersion::supports_batches) {
            "this revision does not support batches: send one message at a time".to_owned()
        } else if messages.len() > MAX_BATCH_MESSAGES {
            format!("a batch has at most {MAX_BATCH_MESSAGES} messages")
        } else {
            let answers = messages.iter().map(|message| async move {
                match jsonrpc::parse_message(message.get()) {
                    Err(unreadable) => Reply::unreadable(&unreadable).message,
                    Ok(Message::Request(request)) if request.method == "initialize" => {
                        let failure =
                            Failure::invalid_request("a handshake cannot be part of a batch");
                        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
                        Some(jsonrpc::error_response(Some(request.id), code, &failure))
                    }
                    Ok(message) => self.handle_message(peer, message, outbound).await.message,
                }
            });
            let answers: Vec<String> = join_all(answers).await.into_iter().flatten().collect();
            if answers.is_empty() {
                return Reply::accepted();
            }
            let message = format!("[{}]", answers.join(","));
            return Reply { message: Some(message), status: ReplyStatus::Ok, opened_session: None };
        };
        Reply {
            message: Some(Self::rejection(&problem)),
            status: ReplyStatus::BadRequest,
            opened_session: None,
        }
    }

    async fn handle_message(
        &self,
        peer: &Peer,
        message: Message<'_>,
        outbound: &Outbound,
    ) -> Reply {
        match message {
            Message::Request(request) => self.observe_request(peer, request, outbound).await,
            Message::Notification { method, params } => {
                let Ok(record) = self.session_record(peer) else { return Reply::no_session(None) };
                if let (Some(record), "notifications/cancelled", Some(params)) =
                    (record, &*method, params)
                    && let Ok(cancelled) = serde_json::from_str::<CancelledParams<'_>>(params.get())
                {
                    record.channel.cancel_request(cancelled.request);
                }
                Reply::accepted()
            }
            Message::Response { id, outcome } => {
                let Ok(record) = self.session_record(peer) else { return Reply::no_session(None) };
                if let Some(record) = record {
                    record.channel.complete_request(id, outcome);
                }
                Reply::accepted()
            }
        }
    }

    /// Returns the session record of the peer; `Err` if it names a session that does not exist.
    fn session_record(&self, peer: &Peer) -> Result<Option<SessionRecord>, ()> {
        let Some(id) = &peer.session else { return Ok(None) };
        self.sessions.find_session(id, &peer.principal).map(Some).ok_or(())
    }

    /// Handles a request and records metrics, log line and span.
    async fn observe_request(
        &self,
        peer: &Peer,
        request: Request<'_>,
        outbound: &Outbound,
    ) -> Reply {
        let request_metrics = RequestMetrics::begin(&self.options.observer, peer, &request);
        let reply = self
            .handle_request(peer, request, outbound, &request_metrics)
            .instrument(request_metrics.span.clone())
            .await;
        request_metrics.record_reply(&reply);
        reply
    }

    async fn handle_request(
        &self,
        peer: &Peer,
        request: Request<'_>,
        outbound: &Outbound,
        request_metrics: &RequestMetrics<'_>,
    ) -> Reply {
        let Request { id, method, params } = request;
        let fail = |(revision, failure): (ProtocolVersion, Failure)| {
            let code = revision.error_code(&failure.kind);
            request_metrics.record_failure(code, &failure.kind);
            Reply {
                message: Some(jsonrpc::error_response(Some(id), code, &failure)),
                status: revision.reply_status(&failure.kind),
                opened_session: None,
            }
        };
        let mut meta = match RequestMeta::from_params(params) {
            Ok(meta) => meta,
            Err(failure) => return fail((ProtocolVersion::NEWEST_WITH_SESSIONS, failure)),
        };
        let mode = match detect_request_mode(&method, params, &mut meta, peer.headers.as_ref()) {
            Ok(mode) => mode,
            Err(refused) => return fail(refused),
        };
        if let Err(failure) = self.check_admission(&peer.principal, &method) {
            return fail((ProtocolVersion::NEWEST_WITH_SESSIONS, failure));
        }
        if let (RequestMode::Session(_), "initialize") = (&mode, &*method) {
            let mut opened = None;
            return match self.initialize(peer, params, &mut opened) {
                Ok(outcome) => {
                    let result = outcome.encode(ProtocolVersion::NEWEST_WITH_SESSIONS);
                    let message = Some(jsonrpc::result_response(id, &result));
                    Reply { message, status: ReplyStatus::Ok, opened_session: opened }
                }
                Err(failure) => fail((ProtocolVersion::NEWEST_WITH_SESSIONS, failure)),
            };
        }
        let Some(context) = self.build_context(peer, id, mode, meta, outbound, request_metrics)
        else {
            return Reply::no_session(Some(id));
        };
        request_metrics.record_client(&context.client);
        let revision = context.revision;
        let channel = context.session_channel.clone();
        let work = self.run_admitted(
            peer,
            &method,
            Box::pin(self.dispatch_method(context, &method, params)),
        );
        let answer = match channel {
            Some(channel) => channel.run_cancellable(id, work).await,
            None => Some(work.await),
        };
        match answer {
            // The client cancelled the request and expects no response.
            None => Reply::accepted(),
            Some(Err(failure)) => fail((revision, failure)),
            Some(Ok(outcome)) => {
                let message = Some(jsonrpc::result_response(id, &outcome.encode(revision)));
                Reply { message, status: ReplyStatus::Ok, opened_session: None }
            }
        }
    }

    /// Acquires the permits that the method needs and runs its work within the call timeout.
    pub(super) async fn run_admitted<T>(
        &self,
        peer: &Peer,
        method: &str,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let user = peer.principal.user();
        let work = async {
            let _permit: Option<CallPermit> = match MessageCost::of_method(method) {
                MessageCost::Queued => Some(
                    self.admission.acquire_call_permit(user, peer.call_permits.as_ref()).await?,
                ),
                MessageCost::Immediate | MessageCost::LongLived | MessageCost::NoReply => None,
            };
            // A panic fails only its own request.
            AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!(method, "request handler panicked");
                Err(Failure::panicked())
            })
        };
        match MessageCost::of_method(method) {
            MessageCost::LongLived => {
                let _permit = self.admission.acquire_connection_permit(user)?;
                work.await
            }
            MessageCost::Queued | MessageCost::Immediate | MessageCost::NoReply => {
                let timeout = self.admission.limits.call_timeout;
                let done = tokio::time::timeout(timeout, work).await;
                done.unwrap_or_else(|_| Err(Failure::call_timeout(timeout)))
            }
        }
    }

    /// Checks the request rate limit and the right to use the method. Rights and rates of tools are
    /// checked once the tool is known.
    pub(super) fn check_admission(
        &self,
        principal: &Principal,
        method: &str,
    ) -> Result<(), Failure> {
        if let Some(wait) = self.options.rates.count_request(principal.user()) {
            return Err(Failure::too_many(wait));
        }
        let reads = ["resources/", "prompts/", "completion/", "subscriptions/"];
        if reads.iter().any(|family| method.starts_with(family))
            && !principal.has_right(Right::Read)
        {
            return Err(Failure::forbidden(Right::Read));
        }
        Ok(())
    }

    /// Builds the context of a request; `None` if its session does not exist.
    pub(super) fn build_context<'a>(
        &self,
        peer: &'a Peer,
        id: &'a RawValue,
        mode: RequestMode,
        meta: RequestMeta,
        outbound: &'a Outbound,
        request_metrics: &'a RequestMetrics<'a>,
    ) -> Option<MethodContext<'a>> {
        let context = |revision, client: Client, capabilities, defaults, channel| MethodContext {
            peer,
            principal: peer
                .principal
                .for_client(&client.name)
                .unwrap_or_else(|| peer.principal.clone()),
            id,
            revision,
            client,
            session_channel: channel,
            defaults,
            capabilities,
            meta,
            outbound,
            request_metrics,
            cancel: CancelOnDrop::default(),
        };
        match (mode, self.session_record(peer)) {
            (RequestMode::Stateless { capabilities, client }, record) => {
                let client = Client { name: client.name.into() };
                // On a persistent connection, requests can be cancelled. A session named in an HTTP
                // header has no meaning in this protocol revision.
                let record = record.ok().flatten().filter(|_| peer.headers.is_none());
                let channel = record.map(|record| record.channel);
                Some(context(
                    ProtocolVersion::V2026_07_28,
                    client,
                    capabilities,
                    peer.defaults,
                    channel,
                ))
            }
            (RequestMode::Session(_), Err(())) => None,
            (RequestMode::Session(revision), Ok(None)) => {
                let capabilities = ClientCapabilities::default();
                Some(context(revision, Client::default(), capabilities, peer.defaults, None))
            }
            (RequestMode::Session(_), Ok(Some(record))) => {
                let SessionRecord { client, revision, capabilities, defaults, channel, .. } =
                    record;
                let defaults = peer.defaults.or(defaults);
                Some(context(revision, client, capabilities, defaults, Some(channel)))
            }
        }
    }
}

#[derive(serde::Deserialize)]
struct CancelledParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::LocalBoxFuture;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        CallToolResult, Completion, CompletionRequest, GetPromptResult, Prompt, PromptArguments,
        RequestContext, RequestDefaults, Resource, ResourceContents, ResourceTemplate, ToolCatalog,
    };
    use vademecum_core::auth::local_principal;

    /// A handler that panics in `read_resource` and never completes `list_prompts`.
    struct BrokenHandler;

    impl ServerHandler for BrokenHandler {
        fn tools(&self) -> Arc<ToolCatalog> {
            Arc::new(ToolCatalog::new(Vec::new()))
        }

        fn call_tool<'a>(
            &'a self,
            tool: &'a str,
            _: &'a RawValue,
            _: &'a RequestContext,
        ) -> LocalBoxFuture<'a, Result<CallToolResult, Failure>> {
            std::future::ready(Err(Failure::method_not_found(tool))).boxed_local()
        }

        fn list_resources(&self, _: &RequestContext) -> Vec<Resource> {
            Vec::new()
        }

        fn resource_templates(&self, _: &Principal) -> Vec<ResourceTemplate> {
            Vec::new()
        }

        fn read_resource<'a>(
            &'a self,
            uri: &'a str,
            _: &'a RequestContext,
        ) -> LocalBoxFuture<'a, Result<ResourceContents, Failure>> {
            async move { panic!("on purpose: {uri}") }.boxed_local()
        }

        fn list_prompts<'a>(
            &'a self,
            _: &'a RequestContext,
        ) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
            std::future::pending().boxed_local()
        }

        fn get_prompt<'a>(
            &'a self,
            name: &'a str,
            _: &'a PromptArguments,
            _: &'a RequestContext,
        ) -> LocalBoxFuture<'a, Result<GetPromptResult, Failure>> {
            std::future::ready(Err(Failure::method_not_found(name))).boxed_local()
        }

        fn complete_argument<'a>(
            &'a self,
            _: &'a CompletionRequest,
            _: &'a RequestContext,
        ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
            std::future::ready(Ok(Completion::default())).boxed_local()
        }

        fn subscribe_changes(&self, _: &Principal) -> watch::Receiver<u64> {
            watch::Sender::new(0).subscribe()
        }

        fn forget_scope(&self, _: &Principal, _: &Scope) {}
    }

    async fn send_request(service: &Service, method: &str, params: &Value) -> Value {
        let peer = Peer {
            principal: local_principal("ada".parse().unwrap()),
            session: None,
            defaults: RequestDefaults::default(),
            ignored_config: Vec::new(),
            name_style: None,
            headers: None,
            call_permits: None,
            connection: None,
        };
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let reply = service.handle(&peer, &message.to_string(), &Outbound::default()).await;
        serde_json::from_str(&reply.message.unwrap()).unwrap()
    }

    fn broken_service(admission: AdmissionLimits) -> Service {
        let options = ServiceOptions { admission, ..ServiceOptions::default() };
        Service::new(Arc::new(BrokenHandler), options)
    }

    #[actix::test]
    async fn panicking_request_is_answered_and_releases_permit() {
        let service = broken_service(AdmissionLimits {
            max_running_per_user: 1,
            ..AdmissionLimits::default()
        });
        for _ in 0..2 {
            let answer =
                send_request(&service, "resources/read", &json!({ "uri": "notes://1" })).await;
            assert_eq!(answer["error"]["code"], -32_603, "{answer}");
            assert!(!answer.to_string().contains("on purpose"), "{answer}");
        }
        assert_eq!(send_request(&service, "ping", &json!({})).await["result"], json!({}));
        assert_eq!(service.running_calls(), 0);
    }

    #[actix::test]
    async fn timed_out_request_is_answered_and_releases_permit() {
        let call_timeout = Duration::from_millis(5);
        let service =
            broken_service(AdmissionLimits { call_timeout, ..AdmissionLimits::default() });
        let answer = send_request(&service, "prompts/list", &json!({})).await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("0.005 s"), "{answer}");
        assert_eq!(service.running_calls(), 0);
    }
}
