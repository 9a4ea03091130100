//! One message in, at most one message out.

use std::{fmt, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Answer, Call, Client, Defaults, Failure, Listing, NameStyle, Offer, Revision, Scope, SessionId,
    Sessions,
    jsonrpc::{self, Message},
};
use crate::auth::Principal;

/// What the service does where the client leaves it a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How tool names are listed; without one, the client decides.
    pub names: Option<NameStyle>,
    /// Whether the library's own tools are there; without one, they are.
    pub knowledge: Option<bool>,
    /// Whether `search` and `fetch` are there; without one, the client decides.
    pub deep_research: Option<bool>,
}

/// The other end of a connection, or of one HTTP request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Who it is.
    pub principal: Principal,
    /// The session it speaks in, if it has one.
    pub session: Option<SessionId>,
    /// What it asked for in its address.
    pub defaults: Defaults,
    /// How it wants tool names, if it said so in its address.
    pub names: Option<NameStyle>,
}

/// What goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The message, unless none is wanted.
    pub message: Option<String>,
    /// How it went, for transports that have a word for that.
    pub status: Status,
    /// The session that was opened by this message.
    pub opened: Option<SessionId>,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is an answer.
    Ok,
    /// There is nothing to answer.
    Accepted,
    /// The message cannot be read.
    BadRequest,
    /// The session is over, or never was.
    NoSession,
}

/// The protocol, for one product.
#[derive(Clone)]
pub struct Service {
    offer: Arc<dyn Offer>,
    sessions: Arc<Sessions>,
    options: Options,
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Service").field("options", &self.options).finish_non_exhaustive()
    }
}

/// What is known about a request besides its method and parameters.
struct Context<'a> {
    peer: &'a Peer,
    client: Client,
    defaults: Defaults,
}

#[derive(Deserialize)]
struct Initialize {
    #[serde(rename = "protocolVersion")]
    protocol_version: String,
    #[serde(default, rename = "clientInfo")]
    client_info: Option<ClientInfo>,
    #[serde(default)]
    config: Option<Value>,
}

#[derive(Deserialize)]
struct ClientInfo {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default, rename = "openai/session")]
    openai_session: Option<String>,
}

#[derive(Deserialize)]
struct ResourceRead {
    uri: String,
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

/// What the product is, and how it is best used. Clients may cut it after 512
/// characters, so what matters comes first.
const INSTRUCTIONS: &str = "The user's own library: notes, media, chats, characters and prompts. \
Use knowledge.search with a natural question or a few words to find things, then knowledge.get \
with a hit's source, id and loc to read there (retrieval.mode: chunk_with_siblings for context, \
full for everything). Quote \"phrases\" that must occur, put - before words that must not. Cite \
what you use by its uri. Within a session, repeating a search shows further results, not the same \
ones again; next_offset pages on. Each source also has a search and a get of its own with filters.";

impl Service {
    /// The protocol for what is offered.
    pub fn new(offer: Arc<dyn Offer>, sessions: Arc<Sessions>, options: Options) -> Self {
        Self { offer, sessions, options }
    }

    /// Opens the session of a connection; whoever closes that ends it.
    pub fn connect(&self, principal: &Principal) -> SessionId {
        self.sessions.connect(principal)
    }

    /// Whether this session may be spoken in.
    pub fn knows(&self, id: &SessionId, principal: &Principal) -> bool {
        self.sessions.find(id, principal).is_some()
    }

    /// Ends a session and forgets what it left behind; tells whether there was
    /// one to end.
    pub fn end(&self, id: &SessionId, principal: &Principal) -> bool {
        let ended = self.sessions.end(id, principal);
        if ended {
            self.offer.forget(principal, &Scope::Session(id.clone()));
        }
        ended
    }

    /// Ends the sessions that lie idle.
    pub fn sweep(&self) {
        for (owner, id) in self.sessions.sweep() {
            self.offer.forget(&owner, &Scope::Session(id));
        }
    }

    /// Answers a message that the transport could not take.
    pub fn refuse(problem: &str) -> String {
        jsonrpc::failure(None, &Failure::request(problem))
    }

    /// Answers one message.
    pub async fn handle(&self, peer: &Peer, text: &str) -> Reply {
        match jsonrpc::parse(text) {
            Err(unreadable) => Reply {
                message: Some(jsonrpc::failure(unreadable.id, &unreadable.failure)),
                status: Status::BadRequest,
                opened: None,
            },
            Ok(Message::Response | Message::Notification) => match &peer.session {
                Some(id) if !self.knows(id, &peer.principal) => Reply::no_session(None),
                _ => Reply::accepted(),
            },
            Ok(Message::Request { id, method, params }) => {
                self.request(peer, id, &method, params).await
            }
        }
    }

    async fn request(
        &self,
        peer: &Peer,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Reply {
        let mut opened = None;
        let answer = if method == "initialize" {
            self.initialize(peer, params, &mut opened)
        } else {
            let Some(context) = self.context(peer) else { return Reply::no_session(Some(id)) };
            self.answer(&context, method, params).await
        };
        let message = match answer {
            Ok(result) => jsonrpc::result(id, &result),
            Err(failure) => jsonrpc::failure(Some(id), &failure),
        };
        Reply { message: Some(message), status: Status::Ok, opened }
    }

    fn context<'a>(&self, peer: &'a Peer) -> Option<Context<'a>> {
        let Some(id) = &peer.session else {
            return Some(Context { peer, client: Client::default(), defaults: peer.defaults });
        };
        let record = self.sessions.find(id, &peer.principal)?;
        let defaults = peer.defaults.or(record.defaults);
        tracing::trace!(session.id = %id, revision = record.revision.date(), "in session");
        Some(Context { peer, client: record.client, defaults })
    }

    fn initialize(
        &self,
        peer: &Peer,
        params: Option<&RawValue>,
        opened: &mut Option<SessionId>,
    ) -> Result<String, Failure> {
        let params: Initialize = read(params)?;
        let wished = params.config.as_ref().map(config).transpose()?.unwrap_or_default();
        let revision = Revision::negotiate(&params.protocol_version);
        let client = Client { name: params.client_info.map(|info| info.name).unwrap_or_default() };
        let known = peer.session.as_ref().filter(|id| self.knows(id, &peer.principal));
        let id = known.cloned().unwrap_or_else(|| {
            let id = self.sessions.open(&peer.principal);
            *opened = Some(id.clone());
            id
        });
        self.sessions.introduce(&id, client, revision, peer.defaults.or(wished));
        Ok(jsonrpc::json(&json!({
            "protocolVersion": revision.date(),
            "capabilities": {
                "tools": { "listChanged": false },
                "resources": { "subscribe": false, "listChanged": false },
            },
            "serverInfo": {
                "name": "vademecum",
                "title": "Vademecum",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "instructions": INSTRUCTIONS,
        })))
    }

    async fn answer(
        &self,
        context: &Context<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<String, Failure> {
        match method {
            "ping" => Ok("{}".to_owned()),
            "tools/list" => {
                let tools = self.offer.tools().list(self.listing(context));
                Ok(jsonrpc::json(&json!({ "tools": tools })))
            }
            "tools/call" => self.call(context, params).await,
            "resources/list" => Ok(jsonrpc::json(&json!({ "resources": self.offer.resources() }))),
            "resources/templates/list" => {
                Ok(jsonrpc::json(&json!({ "resourceTemplates": self.offer.templates() })))
            }
            "resources/read" => {
                let params: ResourceRead = read(params)?;
                let call = context.call(params.meta);
                let contents = self.offer.read(&params.uri, &call).await?;
                Ok(jsonrpc::json(&json!({ "contents": [contents] })))
            }
            unknown => Err(Failure::method(unknown)),
        }
    }

    async fn call(
        &self,
        context: &Context<'_>,
        params: Option<&RawValue>,
    ) -> Result<String, Failure> {
        let params: ToolCall<'_> = read(params)?;
        let tool = self.offer.tools().find(&params.name, self.listing(context))?;
        let nothing = RawValue::NULL;
        let arguments = params.arguments.unwrap_or(nothing);
        let call = context.call(params.meta);
        let answer = self.offer.call(tool.name, arguments, &call).await?;
        Ok(result(&answer))
    }

    fn listing(&self, context: &Context<'_>) -> Listing {
        let (client, options) = (&context.client, self.options);
        Listing {
            names: context.peer.names.or(options.names).unwrap_or_else(|| client.names()),
            knowledge: options.knowledge.unwrap_or(true),
            deep_research: options.deep_research.unwrap_or_else(|| client.wants_deep_research()),
        }
    }
}

impl Context<'_> {
    fn call(&self, meta: Option<Meta>) -> Call {
        let openai = meta.and_then(|meta| meta.openai_session).filter(|id| id.len() <= 256);
        let scope = match (&self.peer.session, openai) {
            (Some(id), _) => Some(Scope::Session(id.clone())),
            (None, Some(id)) => Some(Scope::OpenAi(id)),
            (None, None) => None,
        };
        Call { principal: self.peer.principal.clone(), scope, defaults: self.defaults }
    }
}

impl Reply {
    fn accepted() -> Self {
        Self { message: None, status: Status::Accepted, opened: None }
    }

    fn no_session(id: Option<&RawValue>) -> Self {
        let failure =
            Failure::request("this session is over or was never opened: send `initialize` again");
        Self {
            message: Some(jsonrpc::failure(id, &failure)),
            status: Status::NoSession,
            opened: None,
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
fn result(answer: &Answer) -> String {
    let text = answer.text.as_ref().or(answer.structured.as_ref());
    let text = jsonrpc::json(&text.map_or("", String::as_str));
    let mut result = format!(r#"{{"content":[{{"type":"text","text":{text}}}]"#);
    if let Some(structured) = &answer.structured {
        result.push_str(r#","structuredContent":"#);
        result.push_str(structured);
    }
    if let Some(meta) = &answer.meta {
        result.push_str(r#","_meta":"#);
        result.push_str(&jsonrpc::json(meta));
    }
    result.push_str(if answer.is_error { r#","isError":true}"# } else { r#","isError":false}"# });
    result
}
