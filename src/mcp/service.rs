//! One message in, at most one message out; news and questions go out beside
//! it, over a [`Link`].

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::value::RawValue;
use tokio::sync::watch;
use vademecum_kit::model::Cancel;

use super::{
    Call, Capabilities, Client, Defaults, Failure, Input, Link, Mirror, NameStyle, Offer, Rates,
    Revision, Scope, SessionId, Sessions, Toolset,
    call::Back,
    jsonrpc::{self, Incoming, Message, Request},
    live::Live,
    observed::{Observed, Observer},
    revision::{Era, Meta, decide},
    session::Record,
    state::Seal,
};
use crate::auth::{Principal, Right};

/// Messages in a batch at most.
const LARGEST_BATCH: usize = 100;

/// What the service does where the client leaves it a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How tool names are listed; without one, the client decides.
    pub names: Option<NameStyle>,
    /// Sets of tools that are always there, or never; the others are there if there
    /// is something for them to do.
    pub toolsets: HashMap<Toolset, bool>,
    /// Whether tools that change something are there.
    pub write: bool,
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
    /// What its headers say of the message, where there are headers.
    pub mirror: Option<Mirror>,
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
    /// The message is not right.
    BadRequest,
    /// There is no such session or method.
    NotFound,
    /// The principal lacks this right.
    Forbidden(Right),
    /// The user has asked too often, and must wait so long.
    TooMany(Duration),
}

/// The protocol, for one product.
#[derive(Clone)]
pub struct Service {
    pub(super) offer: Arc<dyn Offer>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) options: Options,
    pub(super) seal: Seal,
    pub(super) rates: Arc<Rates>,
    pub(super) observer: Observer,
    closing: Arc<watch::Sender<bool>>,
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Service").field("options", &self.options).finish_non_exhaustive()
    }
}

/// What is known about a request besides its method and parameters.
pub(super) struct Context<'a> {
    pub(super) peer: &'a Peer,
    pub(super) id: &'a RawValue,
    pub(super) revision: Revision,
    pub(super) client: Client,
    pub(super) live: Option<Arc<Live>>,
    defaults: Defaults,
    capabilities: Capabilities,
    meta: Meta,
    pub(super) link: &'a Link,
    pub(super) observed: &'a Observed<'a>,
    cancel: CancelOnDrop,
}

/// Says that work is not wanted any more when nobody waits for it.
#[derive(Default)]
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Service {
    /// The protocol for what is offered.
    pub fn new(offer: Arc<dyn Offer>, sessions: Arc<Sessions>, options: Options) -> Self {
        let closing = Arc::new(watch::Sender::new(false));
        let (seal, rates, observer) = (Seal::new(), Arc::default(), Observer::default());
        Self { offer, sessions, options, seal, rates, observer, closing }
    }

    /// No user may ask more often than that.
    #[must_use]
    pub fn limited(self, rates: Rates) -> Self {
        Self { rates: Arc::new(rates), ..self }
    }

    /// Opens the session of a connection; whoever closes that ends it.
    pub fn connect(&self, principal: &Principal) -> SessionId {
        self.sessions.connect(principal)
    }

    /// Whether this session may be spoken in.
    pub fn knows(&self, id: &SessionId, principal: &Principal) -> bool {
        self.sessions.find(id, principal).is_some()
    }

    /// Sends the news of a session here; tells whether there is such a session.
    pub fn listen(&self, id: &SessionId, principal: &Principal, link: Link) -> bool {
        match self.sessions.find(id, principal) {
            Some(record) => {
                record.live.listen(link);
                true
            }
            None => false,
        }
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
        self.rates.sweep();
    }

    /// Ends all streams: the server is about to stop.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Whether the server is about to stop.
    pub fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits until the server is about to stop.
    pub async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The sender is here: it cannot be gone.
        drop(closing.wait_for(|closing| *closing).await);
    }

    /// Whether this takes its turn among the calls of a connection. What comes
    /// beside them must not wait for them: it may be what they wait for.
    pub fn takes_turn(text: &str) -> bool {
        match jsonrpc::parse(text) {
            Ok(Incoming::One(Message::Request(request))) => {
                request.method != "subscriptions/listen"
            }
            Ok(Incoming::One(Message::Notification { .. } | Message::Response { .. })) => false,
            Ok(Incoming::Batch(_)) | Err(_) => true,
        }
    }

    /// Refuses what could not be read at all.
    pub fn refuse(problem: &str) -> String {
        let failure = Failure::request(problem);
        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
        jsonrpc::failure(None, code, &failure)
    }

    /// Refuses what came with wrong parameters beside the message.
    pub fn refuse_parameters(problem: &str) -> String {
        let failure = Failure::parameters(problem);
        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
        jsonrpc::failure(None, code, &failure)
    }

    /// Answers what came in.
    pub async fn handle(&self, peer: &Peer, text: &str, link: &Link) -> Reply {
        match jsonrpc::parse(text) {
            Err(unreadable) => Reply::unreadable(&unreadable),
            Ok(Incoming::One(message)) => self.one(peer, message, link).await,
            Ok(Incoming::Batch(messages)) => self.batch(peer, &messages, link).await,
        }
    }

    async fn batch(&self, peer: &Peer, messages: &[&RawValue], link: &Link) -> Reply {
        let session = peer.session.as_ref().map(|id| self.sessions.find(id, &peer.principal));
        let revision = match session {
            Some(None) => return Reply::no_session(None),
            Some(Some(record)) => Some(record.revision),
            None => {
                peer.mirror.as_ref().and_then(|mirror| Revision::dated(mirror.version.as_deref()?))
            }
        };
        let problem = if !revision.is_none_or(Revision::takes_batches) {
            "this revision has no batches: send one message at a time".to_owned()
        } else if messages.len() > LARGEST_BATCH {
            format!("a batch has at most {LARGEST_BATCH} messages")
        } else {
            let answers = messages.iter().map(|message| async move {
                match jsonrpc::read(message.get()) {
                    Err(unreadable) => Reply::unreadable(&unreadable).message,
                    Ok(Message::Request(request)) if request.method == "initialize" => {
                        let failure = Failure::request("a handshake cannot be part of a batch");
                        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
                        Some(jsonrpc::failure(Some(request.id), code, &failure))
                    }
                    Ok(message) => self.one(peer, message, link).await.message,
                }
            });
            let answers: Vec<String> = join_all(answers).await.into_iter().flatten().collect();
            if answers.is_empty() {
                return Reply::accepted();
            }
            let message = format!("[{}]", answers.join(","));
            return Reply { message: Some(message), status: Status::Ok, opened: None };
        };
        Reply { message: Some(Self::refuse(&problem)), status: Status::BadRequest, opened: None }
    }

    async fn one(&self, peer: &Peer, message: Message<'_>, link: &Link) -> Reply {
        match message {
            Message::Request(request) => self.observe(peer, request, link).await,
            Message::Notification { method, params } => {
                let Ok(record) = self.record(peer) else { return Reply::no_session(None) };
                if let (Some(record), "notifications/cancelled", Some(params)) =
                    (record, &*method, params)
                    && let Ok(cancelled) = serde_json::from_str::<Cancelled<'_>>(params.get())
                {
                    record.live.cancel(cancelled.request);
                }
                Reply::accepted()
            }
            Message::Response { id, outcome } => {
                let Ok(record) = self.record(peer) else { return Reply::no_session(None) };
                if let Some(record) = record {
                    record.live.answered(id, outcome);
                }
                Reply::accepted()
            }
        }
    }

    /// The session that a message belongs to; an error if it is named and not there.
    fn record(&self, peer: &Peer) -> Result<Option<Record>, ()> {
        let Some(id) = &peer.session else { return Ok(None) };
        self.sessions.find(id, &peer.principal).map(Some).ok_or(())
    }

    pub(super) async fn request(
        &self,
        peer: &Peer,
        request: Request<'_>,
        link: &Link,
        observed: &Observed<'_>,
    ) -> Reply {
        let Request { id, method, params } = request;
        let fail = |(revision, failure): (Revision, Failure)| {
            observed.failed();
            Reply {
                message: Some(jsonrpc::failure(Some(id), revision.code(&failure.kind), &failure)),
                status: revision.status(&failure.kind),
                opened: None,
            }
        };
        let mut meta = match Meta::of(params) {
            Ok(meta) => meta,
            Err(failure) => return fail((Revision::NEWEST_WITH_SESSIONS, failure)),
        };
        let era = match decide(&method, params, &mut meta, peer.mirror.as_ref()) {
            Ok(era) => era,
            Err(refused) => return fail(refused),
        };
        if let Err(failure) = self.admit(&peer.principal, &method) {
            return fail((Revision::NEWEST_WITH_SESSIONS, failure));
        }
        if let (Era::Session(_), "initialize") = (&era, &*method) {
            let mut opened = None;
            return match self.initialize(peer, params, &mut opened) {
                Ok(outcome) => {
                    let result = outcome.seal(Revision::NEWEST_WITH_SESSIONS);
                    let message = Some(jsonrpc::result(id, &result));
                    Reply { message, status: Status::Ok, opened }
                }
                Err(failure) => fail((Revision::NEWEST_WITH_SESSIONS, failure)),
            };
        }
        let Some(context) = self.context(peer, id, era, meta, link, observed) else {
            return Reply::no_session(Some(id));
        };
        let revision = context.revision;
        let live = context.live.clone();
        let work = self.answer(context, &method, params);
        let answer = match live {
            Some(live) => live.run(id, work).await,
            None => Some(work.await),
        };
        match answer {
            // Nobody wants to hear of it any more.
            None => Reply::accepted(),
            Some(Err(failure)) => fail((revision, failure)),
            Some(Ok(outcome)) => {
                let message = Some(jsonrpc::result(id, &outcome.seal(revision)));
                Reply { message, status: Status::Ok, opened: None }
            }
        }
    }

    /// Whether the principal may ask that, and now. What a tool needs is
    /// looked at when the tool is known.
    fn admit(&self, principal: &Principal, method: &str) -> Result<(), Failure> {
        if let Some(wait) = self.rates.request(principal.user()) {
            return Err(Failure::too_many(wait));
        }
        let reads = ["resources/", "prompts/", "completion/", "subscriptions/"];
        if reads.iter().any(|family| method.starts_with(family)) && !principal.may(Right::Read) {
            return Err(Failure::forbidden(Right::Read));
        }
        Ok(())
    }

    /// What is known about a request; nothing if its session is not there.
    fn context<'a>(
        &self,
        peer: &'a Peer,
        id: &'a RawValue,
        era: Era,
        meta: Meta,
        link: &'a Link,
        observed: &'a Observed<'a>,
    ) -> Option<Context<'a>> {
        let context = |revision, client, capabilities, defaults, live| Context {
            peer,
            id,
            revision,
            client,
            live,
            defaults,
            capabilities,
            meta,
            link,
            observed,
            cancel: CancelOnDrop::default(),
        };
        match (era, self.record(peer)) {
            (Era::Alone { capabilities, client }, record) => {
                let client = Client { name: client.name.into() };
                // On a connection, what is asked can be taken back. A session
                // that HTTP names means nothing here.
                let record = record.ok().flatten().filter(|_| peer.mirror.is_none());
                let live = record.map(|record| record.live);
                Some(context(Revision::V2026_07_28, client, capabilities, peer.defaults, live))
            }
            (Era::Session(_), Err(())) => None,
            (Era::Session(revision), Ok(None)) => {
                let capabilities = Capabilities::default();
                Some(context(revision, Client::default(), capabilities, peer.defaults, None))
            }
            (Era::Session(_), Ok(Some(record))) => {
                let Record { client, revision, capabilities, defaults, live, .. } = record;
                let defaults = peer.defaults.or(defaults);
                Some(context(revision, client, capabilities, defaults, Some(live)))
            }
        }
    }
}

#[derive(serde::Deserialize)]
struct Cancelled<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

impl Context<'_> {
    /// The call that comes of the request.
    pub(super) fn call(&self, input: Input) -> Call {
        let in_session = self.revision.has_sessions();
        let openai = self.meta.openai_session.clone().filter(|id| id.len() <= 256);
        let scope = match (&self.peer.session, openai) {
            (Some(id), _) if in_session => Some(Scope::Session(id.clone())),
            (_, Some(id)) => Some(Scope::OpenAi(id)),
            (_, None) => None,
        };
        let level = match &self.live {
            Some(live) if in_session => Some(live.level()),
            _ => self.meta.level,
        };
        Call {
            principal: self.peer.principal.clone(),
            scope,
            defaults: self.defaults,
            cancel: self.cancel.0.clone(),
            input,
            capabilities: self.capabilities,
            back: Back {
                link: self.link.clone(),
                token: self.meta.token.clone(),
                level,
                live: self.live.clone().filter(|_| in_session),
                asks_by_result: !in_session,
            },
        }
    }
}

impl Reply {
    fn accepted() -> Self {
        Self { message: None, status: Status::Accepted, opened: None }
    }

    fn unreadable(unreadable: &jsonrpc::Unreadable<'_>) -> Self {
        let code = Revision::NEWEST_WITH_SESSIONS.code(&unreadable.failure.kind);
        Self {
            message: Some(jsonrpc::failure(unreadable.id, code, &unreadable.failure)),
            status: Status::BadRequest,
            opened: None,
        }
    }

    fn no_session(id: Option<&RawValue>) -> Self {
        let failure =
            Failure::request("this session is over or was never opened: send `initialize` again");
        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
        let message = Some(jsonrpc::failure(id, code, &failure));
        Self { message, status: Status::NotFound, opened: None }
    }
}
