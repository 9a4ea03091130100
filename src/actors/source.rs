//! One source of one user, as an actor.
//!
//! The actor is born holding its user's database and nothing else, so no
//! message needs to say whose data it is about, and none could ask for
//! somebody else's. The blocking work runs beside the event loop.

mod writing;

use std::sync::Arc;

use actix::prelude::*;
use vademecum_kit::{
    model::{
        Ask, Change, Deadline, Draft, Filters, Get, Hit, Holdings, Item, Ranking, Saved,
        SourceName, Statistics, StoredPrompt, Suggestions, View, Written,
    },
    retrieve::{FtsQuery, Similar},
    source::{Source, SourceError},
    store::Store,
};
use vademecum_tldw::{File, Followed, TldwError, User, Vanished, follow};

use self::writing::{Alter, Remove, Rename, Save};
use super::{
    asked::Asked,
    desk::{Desk, Undone},
    mirror::Mirror,
};
use vademecum_core::telemetry::{Meter, Metrics};

/// The only place that knows that a source is an actor.
#[derive(Clone, Debug)]
pub struct SourceHandle {
    source: Arc<dyn Source>,
    store: Arc<Store>,
    address: Addr<SourceActor>,
    /// What the store follows, if it is not the truth itself.
    mirror: Option<Arc<Mirror>>,
    /// What counts what it is asked.
    meter: Option<Arc<Meter>>,
}

impl SourceHandle {
    /// Starts the actor of a source on one user's store; its blocking work is
    /// done at the desk of the user's library.
    pub(crate) fn start(source: Arc<dyn Source>, store: Arc<Store>, desk: Arc<Desk>) -> Self {
        let actor = SourceActor { source: Arc::clone(&source), store: Arc::clone(&store), desk };
        Self { source, store, address: actor.start(), mirror: None, meter: None }
    }

    /// The same, with an actor on this event loop.
    pub(crate) fn here(&self, desk: &Arc<Desk>) -> Self {
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let actor = SourceActor { source, store, desk: Arc::clone(desk) };
        Self { address: actor.start(), ..self.clone() }
    }

    /// The same, counted there.
    pub(crate) fn counted(self, metrics: &Metrics) -> Self {
        Self { meter: metrics.source(self.name().as_str()), ..self }
    }

    /// The same, for a store that follows something.
    pub(crate) fn following(self, mirror: Option<Arc<Mirror>>) -> Self {
        Self { mirror, ..self }
    }

    /// Says why nothing can be saved here, if so.
    pub fn writable(&self) -> Result<(), SourceError> {
        self.mirror.as_ref().map_or(Ok(()), |mirror| Err(mirror.refusal()))
    }

    /// Copies what a user of tldw has of it, and tells what became of it.
    /// `progress` is told how many items are done, of how many.
    pub async fn copy(
        &self,
        user: User,
        mut progress: impl FnMut(usize, usize) + Send + 'static,
    ) -> Result<Followed, TldwError> {
        self.writable()?;
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let copy = move || {
            let Some(path) = user.file(source.database()) else { return Ok(Followed::default()) };
            let file = File::open(&path, source.database())?;
            follow(&user, &file, &store, &*source, Vanished::Keep, &mut progress)
        };
        let copied = tokio::task::spawn_blocking(copy).await;
        copied.unwrap_or_else(|_| Err(broken(self.name()).into()))
    }

    /// Whether its actor is there.
    pub(crate) fn is_running(&self) -> bool {
        self.address.connected()
    }

    /// Which source it is.
    pub fn name(&self) -> SourceName {
        self.source.name()
    }

    /// The statistics of a query as far as they are remembered: asks nobody.
    pub(crate) fn known(&self, query: &FtsQuery, filters: &Filters) -> Option<Statistics> {
        self.source.known(&self.store, query, filters)
    }

    /// Finds the matches that come first.
    pub async fn rank(&self, ask: Ask, deadline: Deadline) -> Result<Ranking, SourceError> {
        self.asked(Some(&deadline.clone()), Rank { ask, deadline }).await
    }

    /// The stored words that look like any of these.
    pub(crate) async fn similar(
        &self,
        words: Vec<String>,
        deadline: Deadline,
    ) -> Result<Vec<Similar>, SourceError> {
        self.asked(Some(&deadline.clone()), Guess { words, deadline }).await
    }

    /// Reads matches for a list of results.
    pub async fn show(&self, view: View, deadline: Deadline) -> Result<Vec<Hit>, SourceError> {
        self.asked(Some(&deadline.clone()), Show { view, deadline }).await
    }

    /// Reads one item.
    pub async fn get(&self, get: Get, deadline: Deadline) -> Result<Item, SourceError> {
        self.asked(Some(&deadline.clone()), Fetch { get, deadline }).await
    }

    /// Tells which kinds of items there are.
    pub async fn kinds(&self, deadline: Deadline) -> Result<Vec<(String, usize)>, SourceError> {
        self.asked(Some(&deadline.clone()), Kinds { deadline }).await
    }

    /// What something that is being typed may become: `most` at most.
    pub async fn suggest(
        &self,
        wish: Wish,
        typed: String,
        most: usize,
        deadline: Deadline,
    ) -> Result<Suggestions, SourceError> {
        self.asked(Some(&deadline.clone()), Suggest { wish, typed, most, deadline }).await
    }

    /// The prompts that can be filled in and sent.
    pub async fn prompts(&self, deadline: Deadline) -> Result<Vec<StoredPrompt>, SourceError> {
        self.asked(Some(&deadline.clone()), ListPrompts { deadline }).await
    }

    /// How much it holds.
    pub async fn holdings(&self, deadline: Deadline) -> Result<Holdings, SourceError> {
        self.asked(Some(&deadline.clone()), Count { deadline }).await
    }

    /// Saves drafts, in one transaction if all of them can be saved.
    ///
    /// One that cannot be saved is left out and keeps its reason; the rest go in.
    pub async fn save(
        &self,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Result<Saved, SourceError>>, SourceError> {
        self.writable()?;
        self.asked(None, Save { drafts, keep: true }).await
    }

    /// Tells what would become of drafts if they were saved; saves nothing.
    pub async fn rehearse(
        &self,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Result<Saved, SourceError>>, SourceError> {
        self.asked(None, Save { drafts, keep: false }).await
    }

    /// Takes away what came from an origin or a part of it, unless it was changed
    /// here since; tells how many items that are.
    pub async fn remove(&self, origin: String) -> Result<usize, SourceError> {
        self.writable()?;
        self.asked(None, Remove { origin }).await
    }

    /// What came from one origin comes from another from now on.
    pub async fn rename(&self, from: String, to: String) -> Result<(), SourceError> {
        self.writable()?;
        self.asked(None, Rename { from, to }).await
    }

    /// Changes something, as somebody asks for. It is on the disk when this answers.
    pub async fn change(&self, change: Change, deadline: Deadline) -> Result<Written, SourceError> {
        self.writable()?;
        self.asked(Some(&deadline.clone()), Alter { change, deadline }).await
    }

    /// Asks the actor, for an answer that is worth nothing after the deadline.
    async fn asked<M, T>(&self, deadline: Option<&Deadline>, message: M) -> Result<T, SourceError>
    where
        M: Message<Result = Result<T, SourceError>> + Send + 'static,
        T: Send + 'static,
        SourceActor: Handler<M>,
    {
        let asked = Asked::begin(self.meter.clone(), deadline);
        let answer = async {
            if let Some(mirror) = &self.mirror {
                mirror.ready().await?;
            }
            self.address.send(message).await.unwrap_or_else(|_| Err(broken(self.name())))
        };
        asked.over(answer.await)
    }
}

fn broken(name: SourceName) -> SourceError {
    SourceError::Unavailable(format!("source `{name}` is not running"))
}

#[derive(Debug)]
struct SourceActor {
    source: Arc<dyn Source>,
    store: Arc<Store>,
    desk: Arc<Desk>,
}

impl Actor for SourceActor {
    type Context = Context<Self>;
}

impl SourceActor {
    /// Runs `work` beside the event loop. A panic costs this answer only.
    fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Source, &Store) -> Result<T, SourceError> + Send + 'static,
    ) -> ResponseFuture<Result<T, SourceError>> {
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let name = source.name();
        let answer = self.desk.give(move || work(&*source, &store));
        Box::pin(async move {
            answer.await.unwrap_or_else(|undone| {
                Err(match undone {
                    Undone::BrokenOff => broken(name),
                    Undone::Full => SourceError::Unavailable(format!(
                        "source `{name}` has too much to do: try again in a moment"
                    )),
                })
            })
        })
    }
}

/// Finds the matches that come first.
#[derive(Debug, Message)]
#[rtype(result = "Result<Ranking, SourceError>")]
struct Rank {
    ask: Ask,
    deadline: Deadline,
}

impl Handler<Rank> for SourceActor {
    type Result = ResponseFuture<Result<Ranking, SourceError>>;

    fn handle(&mut self, Rank { ask, deadline }: Rank, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| store.read(deadline, |reader| source.rank(reader, &ask)))
    }
}

/// Finds stored words that look like some that are not stored.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Similar>, SourceError>")]
struct Guess {
    words: Vec<String>,
    deadline: Deadline,
}

impl Handler<Guess> for SourceActor {
    type Result = ResponseFuture<Result<Vec<Similar>, SourceError>>;

    fn handle(&mut self, Guess { words, deadline }: Guess, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| {
            store.read(deadline, |reader| source.similar(reader, &words))
        })
    }
}

/// Reads matches for a list of results.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Hit>, SourceError>")]
struct Show {
    view: View,
    deadline: Deadline,
}

impl Handler<Show> for SourceActor {
    type Result = ResponseFuture<Result<Vec<Hit>, SourceError>>;

    fn handle(&mut self, Show { view, deadline }: Show, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| store.read(deadline, |reader| source.show(reader, &view)))
    }
}

/// Reads one item.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, SourceError>")]
struct Fetch {
    get: Get,
    deadline: Deadline,
}

impl Handler<Fetch> for SourceActor {
    type Result = ResponseFuture<Result<Item, SourceError>>;

    fn handle(&mut self, Fetch { get, deadline }: Fetch, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| store.read(deadline, |reader| source.get(reader, &get)))
    }
}

/// Tells which kinds of items there are.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<(String, usize)>, SourceError>")]
struct Kinds {
    deadline: Deadline,
}

impl Handler<Kinds> for SourceActor {
    type Result = ResponseFuture<Result<Vec<(String, usize)>, SourceError>>;

    fn handle(&mut self, Kinds { deadline }: Kinds, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| store.read(deadline, |reader| source.kinds(reader)))
    }
}

/// What is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The identifier of an item, or words of its title.
    Id,
    /// A keyword.
    Keyword,
}

/// Tells what something that is being typed may become.
#[derive(Debug, Message)]
#[rtype(result = "Result<Suggestions, SourceError>")]
struct Suggest {
    wish: Wish,
    typed: String,
    most: usize,
    deadline: Deadline,
}

impl Handler<Suggest> for SourceActor {
    type Result = ResponseFuture<Result<Suggestions, SourceError>>;

    fn handle(&mut self, suggest: Suggest, _: &mut Self::Context) -> Self::Result {
        let Suggest { wish, typed, most, deadline } = suggest;
        self.beside(move |source, store| {
            store.read(deadline, |reader| match wish {
                Wish::Id => source.suggest(reader, &typed, most),
                Wish::Keyword => source.keywords(reader, &typed, most),
            })
        })
    }
}

/// Lists the prompts that can be filled in and sent.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<StoredPrompt>, SourceError>")]
struct ListPrompts {
    deadline: Deadline,
}

impl Handler<ListPrompts> for SourceActor {
    type Result = ResponseFuture<Result<Vec<StoredPrompt>, SourceError>>;

    fn handle(&mut self, list: ListPrompts, _: &mut Self::Context) -> Self::Result {
        let ListPrompts { deadline } = list;
        self.beside(move |source, store| store.read(deadline, |reader| source.prompts(reader)))
    }
}

/// Counts what there is.
#[derive(Debug, Message)]
#[rtype(result = "Result<Holdings, SourceError>")]
struct Count {
    deadline: Deadline,
}

impl Handler<Count> for SourceActor {
    type Result = ResponseFuture<Result<Holdings, SourceError>>;

    fn handle(&mut self, Count { deadline }: Count, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| store.read(deadline, |reader| source.holdings(reader)))
    }
}
