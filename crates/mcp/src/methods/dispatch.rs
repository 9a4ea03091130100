//! Implementation of each MCP method.

use futures_util::future::{join, select};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    Client, ClientCapabilities, Completion, CompletionRequest, Failure, FailureKind, Input,
    InputRequired, MAX_COMPLETIONS, NameStyle, Peer, ProtocolVersion, RequestContext, Service,
    SessionId, ToolEntry, ToolListing, Toolset,
    message::{jsonrpc, pagination::list_page, plain_json_error},
    methods::{
        key_scope::out_of_scope,
        method_params::{
            CallToolParams, CompleteParams, GetPromptParams, InitializeParams, ListParams,
            ListenParams, ResourceParams, RetryParams, SetLevelParams,
        },
        server_info,
        subscription::updated_params,
        tool_result::{note_ignored_config, parse_config, serialize_tool_result},
    },
    request::{method_context::MethodContext, signed_state::StateBinding},
    revision::{CacheHint, MethodResult, SERVER_INFO, check_parameter_headers, implementation},
    session::{protocol_sessions::HandshakeResult, watched_resources::WatchedResources},
};
use vademecum_core::auth::Right;

/// Maximum stored length of a client's name, in bytes.
const MAX_CLIENT_NAME_BYTES: usize = 256;
/// Field of `_meta`, or of the data of an error, of an answer that was read from a copy which may be old.
const STALE: &str = "vademecum/stale";
/// Lists that only a new version or configuration of the server changes.
const STATIC_LIST_CACHE: CacheHint = CacheHint { ttl_ms: 300_000, is_public: false };
/// Lists that the user's data changes.
pub(crate) const USER_LIST_CACHE: CacheHint = CacheHint { ttl_ms: 5_000, is_public: false };
/// Server information, the same for every user.
const PUBLIC_CACHE: CacheHint = CacheHint { ttl_ms: 300_000, is_public: true };
/// Results that may change at any time.
const NO_CACHE: CacheHint = CacheHint { ttl_ms: 0, is_public: false };

impl Service {
    pub(crate) fn initialize(
        &self,
        peer: &Peer,
        params: Option<&RawValue>,
        opened: &mut Option<SessionId>,
    ) -> Result<MethodResult, Failure> {
        let params: InitializeParams = parse_params(params)?;
        let requested = params.config.as_ref().map(parse_config).transpose()?.unwrap_or_default();
        let ignored = [peer.ignored_config.as_slice(), &requested.ignored].concat();
        let revision = ProtocolVersion::negotiate(&params.protocol_version);
        let mut name = params.client_info.map(|info| info.name).unwrap_or_default();
        // The name is stored for the lifetime of the session.
        name.truncate(name.floor_char_boundary(MAX_CLIENT_NAME_BYTES));
        let existing = peer.session.as_ref().filter(|id| self.has_session(id, &peer.principal));
        let id = existing.cloned().unwrap_or_else(|| {
            let id = self.sessions.open_session(&peer.principal, peer.session.as_ref());
            *opened = Some(id.clone());
            id
        });
        let handshake = HandshakeResult {
            client: Client { name: name.into() },
            revision,
            capabilities: ClientCapabilities::from_declaration(params.capabilities.as_ref()),
            defaults: peer.defaults.or(requested.defaults),
        };
        let names = self.name_style(peer, &handshake.client);
        let capabilities = server_info::capabilities(&*self.handler, handshake.capabilities);
        self.sessions.record_handshake(&id, handshake);
        let implementation = if revision.has_icons() {
            server_info::implementation_with_icons()
        } else {
            implementation()
        };
        let mut result = MethodResult::new(jsonrpc::to_json(&json!({
            "protocolVersion": revision.date(),
            "capabilities": capabilities,
            "serverInfo": implementation,
            "instructions": self.handler.tools().format_tool_names(server_info::INSTRUCTIONS, names),
        })));
        note_ignored_config(&mut result, &ignored);
        Ok(result)
    }

    /// Runs a method. The result is marked if one of the reads for it may have been old.
    pub(crate) async fn dispatch_method(
        &self,
        context: MethodContext<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        if !context.revision.has_method(method) {
            return Err(Failure::method_not_found(method));
        }
        let context = &context;
        if let Some(outcome) = out_of_scope(context, method) {
            return outcome;
        }
        let mut outcome = self.run_method(context, method, params).await;
        if let Ok(result) = &mut outcome {
            note_ignored_config(result, &context.peer.ignored_config);
        }
        if context.has_stale_reads() {
            match &mut outcome {
                Ok(result) => drop(result.meta.insert(STALE.to_owned(), true.into())),
                Err(failure) => failure.add_data(STALE, true.into()),
            }
        }
        outcome
    }

    async fn run_method(
        &self,
        context: &MethodContext<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        match method {
            "ping" => Ok(MethodResult::empty()),
            "server/discover" => Ok(self.discover(context)),
            "tools/list" => {
                let ListParams { cursor } = parse_params(params)?;
                let listing = self.tool_listing(context);
                // Tools that the principal's key may not call are not listed.
                let principal = &context.principal;
                let write = listing.include_write && principal.has_right(Right::Write);
                let admin = listing.include_admin && principal.has_right(Right::Admin);
                let mut tools = self.handler.tools().list_tools(&ToolListing {
                    include_write: write,
                    include_admin: admin,
                    ..listing
                });
                for tool in &mut tools {
                    self.handler.adapt_tool(tool, principal);
                }
                let list = list_page("tools", &tools, cursor.as_deref())?;
                Ok(MethodResult::cached(list, STATIC_LIST_CACHE))
            }
            "tools/call" => self.call_tool(context, params).await,
            "resources/list" => self.list_resources(context, params).await,
            "skills/list" | "skills/get" | "resources/directory/read"
                if self.handler.offers_skills() =>
            {
                self.call_skill_method(context, method, params).await
            }
            "vademecum/recall" => self.recall(context, params).await,
            "resources/templates/list" => {
                let ListParams { cursor } = parse_params(params)?;
                let list = list_page(
                    "resourceTemplates",
                    &self.handler.resource_templates(&context.principal),
                    cursor.as_deref(),
                )?;
                Ok(MethodResult::cached(list, STATIC_LIST_CACHE))
            }
            "resources/read" => self.read_resource(context, params).await,
            "resources/subscribe" => self.subscribe_resource(context, params).await,
            "resources/unsubscribe" => {
                let ResourceParams { uri } = parse_params(params)?;
                context.request_metrics.items.record([&uri]);
                if let Some(channel) = &context.session_channel {
                    channel.watched_resources.unwatch(&uri);
                    if channel.watched_resources.is_empty() {
                        let (session, principal) = (&context.peer.session, &context.peer.principal);
                        // Otherwise the session stays bound to this server.
                        self.share_subscriptions(session.as_ref(), principal).await.ok();
                    }
                }
                Ok(MethodResult::empty())
            }
            "subscriptions/listen" => self.stream_subscriptions(context, params).await,
            "prompts/list" => {
                let ListParams { cursor } = parse_params(params)?;
                let prompts =
                    self.handler.list_prompts(&context.request_context(Input::default())).await?;
                let list = list_page("prompts", &prompts, cursor.as_deref())?;
                Ok(MethodResult::cached(list, USER_LIST_CACHE))
            }
            "prompts/get" => self.get_prompt(context, params).await,
            "completion/complete" => self.complete(context, params).await,
            "logging/setLevel" => {
                let SetLevelParams { level } = parse_params(params)?;
                if let Some(channel) = &context.session_channel {
                    channel.set_log_level(level);
                }
                Ok(MethodResult::empty())
            }
            unknown => Err(Failure::method_not_found(unknown)),
        }
    }

    /// Checks the right to call a tool and its rate limit.
    pub(crate) fn admit_tool(
        &self,
        context: &MethodContext<'_>,
        tool: &ToolEntry,
    ) -> Result<(), Failure> {
        context.request_metrics.record_tool(tool.name);
        let principal = &context.principal;
        if !principal.has_right(tool.right) {
            return Err(Failure::forbidden(tool.right));
        }
        match self.options.rates.count_tool_call(principal.user(), tool.name) {
            Some(wait) => Err(Failure::too_many(wait)),
            None => Ok(()),
        }
    }

    async fn call_tool(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let CallToolParams { name, arguments } = parse_params(params)?;
        let catalog = self.handler.tools();
        let tool = catalog.find_tool(&name, &self.tool_listing(context))?;
        self.admit_tool(context, tool)?;
        if let (false, Some(headers)) = (context.revision.has_sessions(), &context.peer.headers) {
            check_parameter_headers(headers, &tool.schemas.input, arguments)?;
        }
        let call = self.request_context(context, params, "tools/call", tool.name)?;
        let answer =
            self.handler.call_tool(tool.name, arguments.unwrap_or(RawValue::NULL), &call).await;
        if answer.as_ref().is_ok_and(|answer| answer.is_error) {
            context.request_metrics.record_tool_error();
        }
        let sends_text = call.sends_text();
        self.result_or_input_request(
            context,
            "tools/call",
            tool.name,
            answer.map(|answer| serialize_tool_result(&answer, sends_text)),
        )
    }

    async fn read_resource(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let ResourceParams { uri } = parse_params(params)?;
        let call = self.request_context(context, params, "resources/read", &uri)?;
        call.items.record([&uri]);
        let contents =
            self.handler.read_resource(&uri, &call).await.map_err(|failure| match failure.kind {
                FailureKind::ResourceNotFound => {
                    Failure { data: Some(json!({ "uri": uri })), ..failure }
                }
                _ => failure,
            });
        let outcome = contents.map(|contents| {
            let mut meta = server_info::untrusted_contents();
            if let Some(read_on) = &contents.read_on {
                meta.insert("vademecum/read_on".to_owned(), read_on.as_str().into());
            }
            let contents = contents.into_parts();
            let json = jsonrpc::to_json(&json!({ "contents": contents }));
            MethodResult { meta, ..MethodResult::cached(json, NO_CACHE) }
        });
        self.result_or_input_request(context, "resources/read", &uri, outcome)
    }

    async fn get_prompt(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let GetPromptParams { name, arguments } = parse_params(params)?;
        let call = self.request_context(context, params, "prompts/get", &name)?;
        let messages = self.handler.get_prompt(&name, &arguments.unwrap_or_default(), &call).await;
        let outcome = messages.map(|messages| {
            let meta = server_info::untrusted_contents();
            MethodResult { meta, ..MethodResult::new(jsonrpc::to_json(&messages)) }
        });
        self.result_or_input_request(context, "prompts/get", &name, outcome)
    }

    async fn complete(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let CompleteParams { reference, argument, context: others } = parse_params(params)?;
        let others = others.and_then(|others| others.arguments).unwrap_or_default();
        let request = CompletionRequest { reference, argument, known_arguments: others };
        let call = context.request_context(Input::default());
        let Completion { mut values, total } =
            self.handler.complete_argument(&request, &call).await?;
        let more = values.len() > MAX_COMPLETIONS || total > Some(values.len());
        let total = total.unwrap_or(values.len());
        values.truncate(MAX_COMPLETIONS);
        let completion = json!({ "values": values, "total": total, "hasMore": more });
        Ok(MethodResult::new(jsonrpc::to_json(&json!({ "completion": completion }))))
    }

    async fn subscribe_resource(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let ResourceParams { uri } = parse_params(params)?;
        let Some(channel) = &context.session_channel else {
            return Err(Failure::invalid_request(
                "subscriptions belong to a session: open one with `initialize`",
            ));
        };
        let call = context.request_context(Input::default());
        // Watch for changes first, so that none is missed between reading the resource and watching
        // it.
        self.spawn_watcher(channel, call.detached());
        let watched = &channel.watched_resources;
        self.watch_resource(watched, &uri, &call).await?;
        let (session, principal) = (context.peer.session.as_ref(), &context.peer.principal);
        if self.share_subscriptions(session, principal).await.is_err() {
            watched.unwatch(&uri);
            return Err(Failure::archive_unreachable());
        }
        Ok(MethodResult::empty())
    }

    /// Sends change notifications until the client cancels the request or the server shuts down.
    async fn stream_subscriptions(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let ListenParams { notifications: mut filter } = parse_params(params)?;
        filter.tools_list_changed &= self.handler.can_change_tools();
        let mut tool_changes = self.tool_changes.subscribe();
        let mut changes = self.handler.subscribe_changes(&context.principal);
        let call = context.request_context(Input::default());
        let watched = WatchedResources::default();
        let permit = self.admission.acquire_call_permit(call.principal.user(), None).await?;
        for uri in &filter.resource_subscriptions {
            self.watch_resource(&watched, uri, &call).await?;
        }
        drop(permit);
        let stream: Value = serde_json::from_str(context.id.get()).unwrap_or_default();
        let meta = Map::from_iter([("io.modelcontextprotocol/subscriptionId".to_owned(), stream)]);
        let acknowledged = json!({ "notifications": filter, "_meta": meta });
        let acknowledged =
            jsonrpc::notification("notifications/subscriptions/acknowledged", &acknowledged);
        if !context.outbound.send(acknowledged).await {
            return Err(Failure::invalid_request(
                "this method needs a stream: accept text/event-stream as well",
            ));
        }
        let notify = |method: &str, mut params: Value| {
            if let Value::Object(fields) = &mut params {
                fields.insert("_meta".to_owned(), meta.clone().into());
            }
            context.outbound.send(jsonrpc::notification(method, &params))
        };
        let resource_updates = async {
            while let Some(permit) = self.next_change(&mut changes, &call).await {
                let changed = self.take_changed(&watched, &call).await;
                drop(permit);
                for uri in changed {
                    notify("notifications/resources/updated", updated_params(&uri)).await;
                }
            }
        };
        let tool_updates = async {
            while filter.tools_list_changed && tool_changes.changed().await.is_ok() {
                notify("notifications/tools/list_changed", json!({})).await;
            }
        };
        let updates = Box::pin(join(resource_updates, tool_updates));
        select(updates, Box::pin(self.wait_for_shutdown())).await;
        Ok(MethodResult { meta, ..MethodResult::empty() })
    }

    /// Builds the request context, with the client's input if the request is a retry.
    fn request_context(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
        method: &str,
        name: &str,
    ) -> Result<RequestContext, Failure> {
        if context.revision.has_sessions() {
            return Ok(context.request_context(Input::default()));
        }
        let RetryParams { responses, state } = parse_params(params)?;
        let purpose = StateBinding { principal: &context.principal, method, name };
        let state = state.map(|sealed| self.state_signer.verify(&sealed, purpose)).transpose()?;
        Ok(context.request_context(Input { responses: responses.unwrap_or_default(), state }))
    }

    /// Returns the method's result, or converts `InputRequired` into a result that carries the
    /// requests to the client.
    fn result_or_input_request(
        &self,
        context: &MethodContext<'_>,
        method: &str,
        name: &str,
        answer: Result<MethodResult, Failure>,
    ) -> Result<MethodResult, Failure> {
        let failure = match answer {
            Err(failure) if !context.revision.has_sessions() => failure,
            other => return other,
        };
        let FailureKind::InputRequired(input) = failure.kind else { return Err(failure) };
        let InputRequired { requests, state } = *input;
        let purpose = StateBinding { principal: &context.principal, method, name };
        let mut fields = Map::from_iter([("inputRequests".to_owned(), requests.into())]);
        if let Some(state) = state {
            fields.insert("requestState".to_owned(), self.state_signer.sign(state, purpose).into());
        }
        let input_required = true;
        Ok(MethodResult { input_required, ..MethodResult::new(jsonrpc::to_json(&fields)) })
    }

    fn discover(&self, context: &MethodContext<'_>) -> MethodResult {
        let names = self.name_style(context.peer, &context.client);
        let client = context.capabilities;
        let info = (SERVER_INFO.to_owned(), server_info::implementation_with_icons());
        let json = jsonrpc::to_json(&json!({
            "supportedVersions": ProtocolVersion::dates(),
            "capabilities": server_info::capabilities(&*self.handler, client),
            "instructions": self.handler.tools().format_tool_names(server_info::INSTRUCTIONS, names),
        }));
        let cache_hint = if client.apps { STATIC_LIST_CACHE } else { PUBLIC_CACHE };
        MethodResult { meta: Map::from_iter([info]), ..MethodResult::cached(json, cache_hint) }
    }

    /// Returns the style of tool names: from the URL, else from the settings, else by client.
    fn name_style(&self, peer: &Peer, client: &Client) -> NameStyle {
        peer.name_style.or(self.options.name_style).unwrap_or_else(|| client.name_style())
    }

    pub(crate) fn tool_listing(&self, context: &MethodContext<'_>) -> ToolListing {
        let (client, options) = (&context.client, &self.options);
        let shown = |toolset: &Toolset| {
            let auto = || match toolset {
                Toolset::DeepResearch => client.wants_deep_research(),
                toolset => self.handler.has_toolset(*toolset, &context.principal),
            };
            options.toolsets.get(toolset).copied().unwrap_or_else(auto)
        };
        ToolListing {
            name_style: self.name_style(context.peer, client),
            toolsets: Toolset::ALL.into_iter().filter(shown).collect(),
            include_write: options.list_write_tools,
            include_admin: true,
            access: Some(context.principal.clone()),
            fields: context.tool_fields(options.has_oauth),
        }
    }
}

/// Deserializes parameters. The error message names the path of the invalid value.
pub(crate) fn parse_params<'a, T: Deserialize<'a>>(
    params: Option<&'a RawValue>,
) -> Result<T, Failure> {
    let text = params.map_or("{}", RawValue::get);
    if !text.starts_with('{') {
        return Err(Failure::invalid_params("params: expected an object"));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let reason = plain_json_error(&error.into_inner());
        Failure::invalid_params(match path.as_str() {
            "." => format!("params: {reason}"),
            path => format!("params.{path}: {reason}"),
        })
    })
}
