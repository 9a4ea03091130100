//! One message in, at most one message out; news and questions go out beside
//! it, over a [`Link`].

use std::{collections::HashMap, fmt, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, future::join_all};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, watch};
use vademecum_kit::model::Cancel;

use super::{
    Call, Capabilities, Capacity, Client, Defaults, Failure, Held, Input, Link, Mirror, NameStyle,
    Offer, Rates, Reply, Revision, Scope, SessionId, Sessions, Status, Toolset, Weight,
    admission::{Admission, Turn},
    call::Back,
    jsonrpc::{self, Incoming, Message, Request},
    live::Live,
    observed::{Observed, Observer},
    revision::{Era, Meta, Outcome, decide},
    session::Record,
    state::Seal,
};
use vademecum_core::auth::{Principal, Right};

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
    /// How many of its calls are worked on at the same time, on a connection that
    /// stays.
    pub turns: Option<Arc<Semaphore>>,
}

/// The protocol, for one product.
#[derive(Clone)]
pub struct Service {
    pub(super) offer: Arc<dyn Offer>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) options: Options,
    pub(super) seal: Seal,
    pub(super) rates: Arc<Rates>,
    admission: Arc<Admission>,
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
        let (rates, admission, observer) = (Arc::default(), Arc::default(), Observer::default());
        Self { offer, sessions, options, seal: Seal::new(), rates, admission, observer, closing }
    }

    /// No more than that is worked on at the same time.
    #[must_use]
    pub fn with_capacity(self, capacity: Capacity) -> Self {
        Self { admission: Arc::new(Admission::new(capacity)), ..self }
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
        self.admission.sweep();
    }

    /// Lets a connection last that a user opened, unless they have too many.
    pub fn hold(&self, principal: &Principal) -> Result<Held, Reply> {
        self.admission.hold(principal.user()).map_err(|failure| {
            let revision = Revision::NEWEST_WITH_SESSIONS;
            let message = jsonrpc::failure(None, revision.code(&failure.kind), &failure);
            let status = revision.status(&failure.kind);
            Reply { message: Some(message), status, opened: None }
        })
    }

    /// Calls that are worked on.
    pub fn running(&self) -> usize {
        self.admission.running()
    }

    /// Calls that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.admission.waiting()
    }

    /// `WebSocket`s, streams of news and subscriptions that last.
    pub fn held(&self) -> usize {
        self.admission.held()
    }

    /// Sessions that are remembered.
    pub fn open_sessions(&self) -> usize {
        self.sessions.count()
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

    /// What a message makes the server do. What comes beside calls must not wait for
    /// them: it may be what they wait for.
    pub fn weigh(text: &str) -> Weight {
        match jsonrpc::parse(text) {
            Ok(Incoming::One(Message::Request(request))) => Weight::of(&request.method),
            Ok(Incoming::One(Message::Notification { .. } | Message::Response { .. })) => {
                Weight::Silent
            }
            Ok(Incoming::Batch(_)) => Weight::Heavy,
            Err(_) => Weight::Light,
        }
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
        let work = self.in_turn(context, &method, params);
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

    /// Answers when it is this request's turn, and within the time that any may take.
    async fn in_turn(
        &self,
        context: Context<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Outcome, Failure> {
        let peer = context.peer;
        let user = peer.principal.user();
        let work = async {
            let _turn: Option<Turn> = match Weight::of(method) {
                Weight::Heavy => Some(self.admission.turn(user, peer.turns.as_ref()).await?),
                Weight::Light | Weight::Lasting | Weight::Silent => None,
            };
            // What panics costs its own answer.
            let answer = AssertUnwindSafe(self.answer(context, method, params)).catch_unwind();
            answer.await.unwrap_or_else(|_| {
                tracing::error!(method, "a request broke off");
                Err(Failure::broken())
            })
        };
        match Weight::of(method) {
            Weight::Lasting => {
                let _held = self.admission.hold(user)?;
                work.await
            }
            Weight::Heavy | Weight::Light | Weight::Silent => {
                let longest = self.admission.longest();
                let done = tokio::time::timeout(longest, work).await;
                done.unwrap_or_else(|_| Err(Failure::overdue(longest)))
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

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use futures_util::future::LocalBoxFuture;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Answer, Catalog, Completion, Contents, Messages, Prompt, PromptArguments, Resource,
        Template, Unfinished,
    };
    use vademecum_core::auth::desktop;

    /// Breaks off when a resource is read, and lists no prompts, ever.
    struct Broken(Catalog);

    impl Offer for Broken {
        fn tools(&self) -> &Catalog {
            &self.0
        }

        fn call<'a>(
            &'a self,
            tool: &'a str,
            _: &'a RawValue,
            _: &'a Call,
        ) -> LocalBoxFuture<'a, Result<Answer, Failure>> {
            std::future::ready(Err(Failure::method(tool))).boxed_local()
        }

        fn resources(&self, _: &Principal) -> Vec<Resource> {
            Vec::new()
        }

        fn templates(&self) -> Vec<Template> {
            Vec::new()
        }

        fn read<'a>(
            &'a self,
            uri: &'a str,
            _: &'a Call,
        ) -> LocalBoxFuture<'a, Result<Contents, Failure>> {
            async move { panic!("on purpose: {uri}") }.boxed_local()
        }

        fn prompts<'a>(&'a self, _: &'a Call) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
            std::future::pending().boxed_local()
        }

        fn prompt<'a>(
            &'a self,
            name: &'a str,
            _: &'a PromptArguments,
            _: &'a Call,
        ) -> LocalBoxFuture<'a, Result<Messages, Failure>> {
            std::future::ready(Err(Failure::method(name))).boxed_local()
        }

        fn complete<'a>(
            &'a self,
            _: &'a Unfinished,
            _: &'a Call,
        ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
            std::future::ready(Ok(Completion::default())).boxed_local()
        }

        fn changes(&self, _: &Principal) -> watch::Receiver<u64> {
            watch::Sender::new(0).subscribe()
        }

        fn forget(&self, _: &Principal, _: &Scope) {}
    }

    async fn ask(service: &Service, method: &str, params: &Value) -> Value {
        let peer = Peer {
            principal: desktop("ada".parse().unwrap()),
            session: None,
            defaults: Defaults::default(),
            names: None,
            mirror: None,
            turns: None,
        };
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let reply = service.handle(&peer, &message.to_string(), &Link::default()).await;
        serde_json::from_str(&reply.message.unwrap()).unwrap()
    }

    fn service(capacity: Capacity) -> Service {
        let sessions = Sessions::new(Duration::from_mins(1), NonZeroUsize::MIN);
        let offer = Broken(Catalog::new(Vec::new()));
        Service::new(Arc::new(offer), Arc::new(sessions), Options::default())
            .with_capacity(capacity)
    }

    #[actix::test]
    async fn what_panics_is_answered_and_gives_its_turn_back() {
        let service = service(Capacity { running_per_user: 1, ..Capacity::default() });
        for _ in 0..2 {
            let answer = ask(&service, "resources/read", &json!({ "uri": "notes://1" })).await;
            assert_eq!(answer["error"]["code"], -32_603, "{answer}");
            assert!(!answer.to_string().contains("on purpose"), "{answer}");
        }
        assert_eq!(ask(&service, "ping", &json!({})).await["result"], json!({}));
        assert_eq!(service.running(), 0);
    }

    #[actix::test]
    async fn what_takes_too_long_is_answered_and_gives_its_turn_back() {
        let longest = Duration::from_millis(5);
        let service = service(Capacity { longest, ..Capacity::default() });
        let answer = ask(&service, "prompts/list", &json!({})).await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("0.005 s"), "{answer}");
        assert_eq!(service.running(), 0);
    }
}
