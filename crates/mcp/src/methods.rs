//! What each method answers.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Answer, Call, Capabilities, Client, Completion, Defaults, Failure, Input, InputRequired, Level,
    Listing, MOST_COMPLETIONS, NameStyle, Reference, Revision, Service, SessionId, Toolset, Typed,
    Unfinished, about,
    error::Kind,
    jsonrpc,
    page::page,
    revision::{Caching, Outcome, check_parameters},
    service::{Context, Peer},
    session::Introduction,
    state::Purpose,
    subscription::{Watched, Wishes, look_after, updated},
};
use vademecum_core::auth::Right;

/// Bytes of a client's name that are remembered.
const LONGEST_NAME: usize = 256;
/// Lists that only another program or another configuration changes.
const SETTLED: Caching = Caching { ttl_ms: 300_000, is_public: false };
/// Lists that the user's own work changes.
const LIVELY: Caching = Caching { ttl_ms: 5_000, is_public: false };
/// What the server says of itself.
const PUBLIC: Caching = Caching { ttl_ms: 300_000, is_public: true };
/// What may be another the next moment.
const FRESH: Caching = Caching { ttl_ms: 0, is_public: false };

#[derive(Deserialize)]
struct Initialize {
    #[serde(rename = "protocolVersion")]
    protocol_version: String,
    #[serde(default, rename = "clientInfo")]
    client_info: Option<ClientInfo>,
    #[serde(default)]
    capabilities: Option<Value>,
    #[serde(default)]
    config: Option<Value>,
}

#[derive(Deserialize)]
struct ClientInfo {
    #[serde(default)]
    name: String,
}

#[derive(Default, Deserialize)]
struct Paged {
    #[serde(default)]
    cursor: Option<String>,
}

/// What a request brings along that is sent once more.
#[derive(Deserialize)]
struct Again {
    #[serde(default, rename = "inputResponses")]
    responses: Option<Map<String, Value>>,
    #[serde(default, rename = "requestState")]
    state: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResourceRead {
    uri: String,
}

#[derive(Deserialize)]
struct PromptGet {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Complete {
    #[serde(rename = "ref")]
    reference: Reference,
    argument: Typed,
    #[serde(default)]
    context: Option<Others>,
}

#[derive(Deserialize)]
struct Others {
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct SetLevel {
    level: Level,
}

#[derive(Deserialize)]
struct Listen {
    notifications: Wishes,
}

impl Service {
    pub(super) fn initialize(
        &self,
        peer: &Peer,
        params: Option<&RawValue>,
        opened: &mut Option<SessionId>,
    ) -> Result<Outcome, Failure> {
        let params: Initialize = read(params)?;
        let wished = params.config.as_ref().map(config).transpose()?.unwrap_or_default();
        let revision = Revision::negotiate(&params.protocol_version);
        let mut name = params.client_info.map(|info| info.name).unwrap_or_default();
        // It is kept for as long as the session.
        name.truncate(name.floor_char_boundary(LONGEST_NAME));
        let known = peer.session.as_ref().filter(|id| self.knows(id, &peer.principal));
        let id = known.cloned().unwrap_or_else(|| {
            let id = self.sessions.open(&peer.principal);
            *opened = Some(id.clone());
            id
        });
        let agreed = Introduction {
            client: Client { name: name.into() },
            revision,
            capabilities: Capabilities::declared(params.capabilities.as_ref()),
            defaults: peer.defaults.or(wished),
        };
        let names = self.names(peer, &agreed.client);
        self.sessions.introduce(&id, agreed);
        Ok(Outcome::new(jsonrpc::json(&json!({
            "protocolVersion": revision.date(),
            "capabilities": about::capabilities(),
            "serverInfo": about::implementation(),
            "instructions": self.offer.tools().tell(about::INSTRUCTIONS, names),
        }))))
    }

    pub(super) async fn answer(
        &self,
        context: Context<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        if !context.revision.has(method) {
            return Err(Failure::method(method));
        }
        let context = &context;
        match method {
            "ping" => Ok(Outcome::empty()),
            "server/discover" => Ok(self.discover(context)),
            "tools/list" => {
                let Paged { cursor } = read(params)?;
                let listing = self.listing(context);
                // What a key may not call, whoever has it need not know of.
                let principal = &context.peer.principal;
                let write = listing.write && principal.may(Right::Write);
                let admin = listing.admin && principal.may(Right::Admin);
                let mut tools = self.offer.tools().list(&Listing { write, admin, ..listing });
                for tool in &mut tools {
                    self.offer.fit(tool, principal);
                }
                Ok(Outcome::new(page("tools", &tools, cursor.as_deref())?).cached(SETTLED))
            }
            "tools/call" => self.call_tool(context, params).await,
            "resources/list" => {
                let Paged { cursor } = read(params)?;
                let resources = self.offer.resources(&context.peer.principal);
                Ok(Outcome::new(page("resources", &resources, cursor.as_deref())?).cached(SETTLED))
            }
            "resources/templates/list" => {
                let Paged { cursor } = read(params)?;
                let list = page("resourceTemplates", &self.offer.templates(), cursor.as_deref())?;
                Ok(Outcome::new(list).cached(SETTLED))
            }
            "resources/read" => self.read_resource(context, params).await,
            "resources/subscribe" => self.subscribe(context, params).await,
            "resources/unsubscribe" => {
                let ResourceRead { uri } = read(params)?;
                if let Some(live) = &context.live {
                    live.watched.remove(&uri);
                }
                Ok(Outcome::empty())
            }
            "subscriptions/listen" => self.listen_to(context, params).await,
            "prompts/list" => {
                let Paged { cursor } = read(params)?;
                let prompts = self.offer.prompts(&context.call(Input::default())).await?;
                Ok(Outcome::new(page("prompts", &prompts, cursor.as_deref())?).cached(LIVELY))
            }
            "prompts/get" => self.get_prompt(context, params).await,
            "completion/complete" => self.complete(context, params).await,
            "logging/setLevel" => {
                let SetLevel { level } = read(params)?;
                if let Some(live) = &context.live {
                    live.set_level(level);
                }
                Ok(Outcome::empty())
            }
            unknown => Err(Failure::method(unknown)),
        }
    }

    async fn call_tool(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        let ToolCall { name, arguments } = read(params)?;
        let tool = self.offer.tools().find(&name, &self.listing(context))?;
        context.observed.calls(tool.name);
        let principal = &context.peer.principal;
        if !principal.may(tool.right) {
            return Err(Failure::forbidden(tool.right));
        }
        if let Some(wait) = self.rates.call(principal.user(), tool.name) {
            return Err(Failure::too_many(wait));
        }
        if let (false, Some(mirror)) = (context.revision.has_sessions(), &context.peer.mirror) {
            check_parameters(mirror, &tool.schemas.input, arguments)?;
        }
        let call = self.call(context, params, "tools/call", tool.name)?;
        let answer = self.offer.call(tool.name, arguments.unwrap_or(RawValue::NULL), &call).await;
        if answer.as_ref().is_ok_and(|answer| answer.is_error) {
            context.observed.refused();
        }
        self.or_ask(context, "tools/call", tool.name, answer.map(|answer| written(&answer)))
    }

    async fn read_resource(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        let ResourceRead { uri } = read(params)?;
        let call = self.call(context, params, "resources/read", &uri)?;
        let contents = self.offer.read(&uri, &call).await.map_err(|failure| match failure.kind {
            Kind::Resource => Failure { data: Some(json!({ "uri": uri })), ..failure },
            _ => failure,
        });
        let outcome = contents.map(|contents| {
            Outcome::new(jsonrpc::json(&json!({ "contents": [contents] }))).cached(FRESH)
        });
        self.or_ask(context, "resources/read", &uri, outcome)
    }

    async fn get_prompt(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        let PromptGet { name, arguments } = read(params)?;
        let call = self.call(context, params, "prompts/get", &name)?;
        let messages = self.offer.prompt(&name, &arguments.unwrap_or_default(), &call).await;
        let outcome = messages.map(|messages| Outcome::new(jsonrpc::json(&messages)));
        self.or_ask(context, "prompts/get", &name, outcome)
    }

    async fn complete(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        let Complete { reference, argument, context: others } = read(params)?;
        let others = others.and_then(|others| others.arguments).unwrap_or_default();
        let unfinished = Unfinished { reference, argument, others };
        let call = context.call(Input::default());
        let Completion { mut values, total } = self.offer.complete(&unfinished, &call).await?;
        let more = values.len() > MOST_COMPLETIONS || total > Some(values.len());
        let total = total.unwrap_or(values.len());
        values.truncate(MOST_COMPLETIONS);
        let completion = json!({ "values": values, "total": total, "hasMore": more });
        Ok(Outcome::new(jsonrpc::json(&json!({ "completion": completion }))))
    }

    async fn subscribe(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        let ResourceRead { uri } = read(params)?;
        let Some(live) = &context.live else {
            return Err(Failure::request(
                "subscriptions belong to a session: open one with `initialize`",
            ));
        };
        let call = context.call(Input::default());
        // Whoever looks after it must look before the resource can change.
        look_after(live, std::sync::Arc::clone(&self.offer), call.in_the_background());
        live.watched.add(&uri, &*self.offer, &call).await?;
        Ok(Outcome::empty())
    }

    /// Tells of changes until the client has heard enough or the server stops.
    async fn listen_to(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        let Listen { notifications: wishes } = read(params)?;
        let mut changes = self.offer.changes(&context.peer.principal);
        let call = context.call(Input::default());
        let watched = Watched::default();
        for uri in &wishes.resource_subscriptions {
            watched.add(uri, &*self.offer, &call).await?;
        }
        let stream: Value = serde_json::from_str(context.id.get()).unwrap_or_default();
        let about = json!({ "io.modelcontextprotocol/subscriptionId": stream });
        let agreed = json!({ "notifications": wishes, "_meta": about });
        let agreed = jsonrpc::notification("notifications/subscriptions/acknowledged", &agreed);
        if !context.link.send(agreed).await {
            return Err(Failure::request("this takes a stream: accept text/event-stream as well"));
        }
        let tell = async {
            while changes.changed().await.is_ok() {
                for uri in watched.changed(&*self.offer, &call).await {
                    let mut news = updated(&uri);
                    if let Value::Object(fields) = &mut news {
                        fields.insert("_meta".to_owned(), about.clone());
                    }
                    let news = jsonrpc::notification("notifications/resources/updated", &news);
                    context.link.send(news).await;
                }
            }
        };
        futures_util::future::select(Box::pin(tell), Box::pin(self.closed())).await;
        Ok(Outcome::empty().with_meta(about.as_object().cloned()))
    }

    /// The call that comes of a request, with what it brings along if it is
    /// sent once more.
    fn call(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
        method: &str,
        name: &str,
    ) -> Result<Call, Failure> {
        if context.revision.has_sessions() {
            return Ok(context.call(Input::default()));
        }
        let Again { responses, state } = read(params)?;
        let purpose = Purpose { principal: &context.peer.principal, method, name };
        let state = state.map(|sealed| self.seal.open(&sealed, purpose)).transpose()?;
        Ok(context.call(Input { responses: responses.unwrap_or_default(), state }))
    }

    /// What was answered, or what is asked of the client first.
    fn or_ask(
        &self,
        context: &Context<'_>,
        method: &str,
        name: &str,
        answer: Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        let failure = match answer {
            Err(failure) if !context.revision.has_sessions() => failure,
            other => return other,
        };
        let Kind::InputRequired(input) = failure.kind else { return Err(failure) };
        let InputRequired { requests, state } = *input;
        let purpose = Purpose { principal: &context.peer.principal, method, name };
        let mut asked = Map::from_iter([("inputRequests".to_owned(), requests.into())]);
        if let Some(state) = state {
            asked.insert("requestState".to_owned(), self.seal.seal(state, purpose).into());
        }
        Ok(Outcome::new(jsonrpc::json(&asked)).wants_input())
    }

    fn discover(&self, context: &Context<'_>) -> Outcome {
        let names = self.names(context.peer, &context.client);
        Outcome::new(jsonrpc::json(&json!({
            "supportedVersions": Revision::dates(),
            "capabilities": about::capabilities(),
            "instructions": self.offer.tools().tell(about::INSTRUCTIONS, names),
        })))
        .cached(PUBLIC)
    }

    /// How names of tools are written: as the address says, or the settings, or
    /// as suits the client.
    fn names(&self, peer: &Peer, client: &Client) -> NameStyle {
        peer.names.or(self.options.names).unwrap_or_else(|| client.names())
    }

    fn listing(&self, context: &Context<'_>) -> Listing {
        let (client, options) = (&context.client, &self.options);
        let shown = |toolset: &Toolset| {
            let auto = || match toolset {
                Toolset::DeepResearch => client.wants_deep_research(),
                toolset => self.offer.has(*toolset, &context.peer.principal),
            };
            options.toolsets.get(toolset).copied().unwrap_or_else(auto)
        };
        Listing {
            names: self.names(context.peer, client),
            toolsets: Toolset::ALL.into_iter().filter(shown).collect(),
            write: options.write,
            admin: true,
        }
    }
}

/// Reads parameters, and says where they are wrong.
fn read<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, Failure> {
    let text = params.map_or("{}", RawValue::get);
    if !text.starts_with('{') {
        return Err(Failure::parameters("params: expected an object"));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        let reason = error.into_inner();
        Failure::parameters(match place.as_str() {
            "." => format!("params: {reason}"),
            place => format!("params.{place}: {reason}"),
        })
    })
}

/// The `config` of a handshake: an object, or base64 as in an address.
fn config(value: &Value) -> Result<Defaults, Failure> {
    let read = match value {
        Value::String(text) => Defaults::from_base64(text),
        object => Defaults::from_json(object.to_string().as_bytes()),
    };
    read.map_err(|error| Failure::parameters(format!("params.config: {error}")))
}

/// Writes a tool's answer; what is JSON already is put in as it is.
fn written(answer: &Answer) -> Outcome {
    let mut result = if answer.blocks.is_empty() {
        let text = answer.text.as_ref().or(answer.structured.as_ref());
        let text = jsonrpc::json(&text.map_or("", String::as_str));
        format!(r#"{{"content":[{{"type":"text","text":{text}}}]"#)
    } else {
        format!(r#"{{"content":{}"#, jsonrpc::json(&answer.blocks))
    };
    if let Some(structured) = &answer.structured {
        result.push_str(r#","structuredContent":"#);
        result.push_str(structured);
        let members = structured.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if let Some(members) = members.filter(|it| answer.is_bare && !it.is_empty()) {
            result.push(',');
            result.push_str(members);
        }
    }
    result.push_str(if answer.is_error { r#","isError":true}"# } else { r#","isError":false}"# });
    Outcome::new(result).with_meta(answer.meta.clone())
}
