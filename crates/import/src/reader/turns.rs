//! The reader processes of this program, of all users together: their number, and whose turn it is.
//!
//! A process belongs to one pool. A pool that wants a file parsed asks for a [`Turn`]. While others
//! wait, a process serves its pool for [`TURN_TIME`] at most and then ends, so that the pool of the
//! next user may start one. Its place is free when it has really ended.

use std::{
    collections::VecDeque,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use vademecum_sandbox::Worker;

/// Time after which a pool ends its process for others that wait.
const TURN_TIME: Duration = Duration::from_millis(500);

/// The turns of this program.
static TURNS: Turns = Turns::new();

/// All processes, and the pools that wait for one.
#[derive(Debug)]
struct Turns(Mutex<TurnState>);

#[derive(Debug)]
struct TurnState {
    /// Number of places that are taken: by processes, and by turns that may start one.
    taken: usize,
    /// Processes without a file, the longest first.
    idle: VecDeque<IdleProcess>,
    /// Pools that wait, by user. The first user is next.
    waiting: VecDeque<(Arc<str>, VecDeque<Ticket>)>,
    last_pool: u64,
}

#[derive(Debug)]
struct IdleProcess {
    pool: u64,
    worker: Worker,
    /// Beginning of the turn of its pool.
    since: Instant,
}

/// A place for a process, which is free again when this value is dropped.
#[derive(Debug)]
struct Place(&'static Turns);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.change(|state| state.taken = state.taken.saturating_sub(1));
    }
}

/// What a turn holds.
#[derive(Debug)]
enum Seat {
    /// An idle process.
    Process(Worker),
    /// The right to start one.
    Place(Place),
    /// A process at work, or one that has ended.
    Empty,
}

/// A pool that waits.
struct Ticket {
    member: Member,
    grant: Box<dyn FnOnce(Turn) + Send>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Ticket").field(&self.member).finish()
    }
}

/// A pool, as known to the turns.
#[derive(Clone, Debug)]
pub(super) struct Member {
    turns: &'static Turns,
    pool: u64,
    owner: Arc<str>,
    max_processes: usize,
}

/// The right of a pool to have a file parsed by a process. It ends when it is dropped.
#[derive(Debug)]
pub struct Turn {
    /// `None` for a pool without processes.
    member: Option<Member>,
    seat: Seat,
    since: Instant,
}

impl Turn {
    /// Returns a turn of a pool without processes.
    pub(super) fn without_process() -> Self {
        Self { member: None, seat: Seat::Empty, since: Instant::now() }
    }

    /// Takes the idle process of this turn, if it has one.
    pub(super) fn take_process(&mut self) -> Option<Worker> {
        match std::mem::replace(&mut self.seat, Seat::Empty) {
            Seat::Process(worker) => Some(worker),
            other => {
                self.seat = other;
                None
            }
        }
    }

    /// Gives the place of this turn to a process that was started, until it has ended.
    pub(super) fn seat_process(&mut self, worker: &Worker) {
        if let Seat::Place(place) = std::mem::replace(&mut self.seat, Seat::Empty) {
            worker.on_end(move || drop(place));
        }
    }

    /// Keeps a process for the next file.
    pub(super) fn keep_process(&mut self, worker: Worker) {
        self.seat = Seat::Process(worker);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let seat = std::mem::replace(&mut self.seat, Seat::Empty);
        if let (Some(member), Seat::Process(worker)) = (self.member.take(), seat) {
            member.turns.finish(&member, worker, self.since);
        }
    }
}

impl Member {
    /// Returns a new pool of this owner, which may start a process while fewer than
    /// `max_processes` exist.
    pub(super) fn new(owner: &str, max_processes: NonZeroU32) -> Self {
        TURNS.add_member(owner, max_processes)
    }

    /// Calls `grant` when it is the turn of this pool.
    pub(super) fn ask(&self, grant: impl FnOnce(Turn) + Send + 'static) {
        self.turns.ask(Ticket { member: self.clone(), grant: Box::new(grant) });
    }

    /// Ends the idle processes of this pool.
    pub(super) fn end_processes(&self) {
        let mut ended = VecDeque::new();
        self.turns.change(|state| {
            let idle = std::mem::take(&mut state.idle).into_iter();
            (ended, state.idle) = idle.partition(|process| process.pool == self.pool);
        });
    }
}

impl Turns {
    const fn new() -> Self {
        let state =
            TurnState { taken: 0, idle: VecDeque::new(), waiting: VecDeque::new(), last_pool: 0 };
        Self(Mutex::new(state))
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_member(&'static self, owner: &str, max_processes: NonZeroU32) -> Member {
        let mut state = self.lock();
        state.last_pool += 1;
        let max_processes = usize::try_from(max_processes.get()).unwrap_or(usize::MAX);
        Member { turns: self, pool: state.last_pool, owner: owner.into(), max_processes }
    }

    /// Changes the state, and then grants the places that are free.
    fn change(&'static self, change: impl FnOnce(&mut TurnState)) {
        let mut state = self.lock();
        change(&mut state);
        let mut granted = Vec::new();
        while let Some(ticket) = state.next_for_free_place() {
            state.taken += 1;
            granted.push(ticket);
        }
        drop(state);
        for ticket in granted {
            ticket.grant(Seat::Place(Place(self)), Instant::now());
        }
    }

    fn ask(&'static self, ticket: Ticket) {
        let mut state = self.lock();
        if let Some(process) = state.idle_of(ticket.member.pool) {
            drop(state);
            return ticket.grant(Seat::Process(process.worker), process.since);
        }
        state.add_ticket(ticket);
        drop(state);
        let mut ended = None;
        self.change(|state| {
            let is_full = state.waiting.front().is_some_and(|(_, tickets)| {
                tickets.front().is_some_and(|it| it.member.max_processes <= state.taken)
            });
            // A process that does nothing makes room when it has ended.
            ended = if is_full { state.idle.pop_front() } else { None };
        });
    }

    /// Ends the work of a process on one file.
    fn finish(&'static self, member: &Member, worker: Worker, since: Instant) {
        let mut state = self.lock();
        let own = if since.elapsed() < TURN_TIME {
            state.take_ticket_of(member).map(|ticket| (ticket, since))
        } else {
            state.take_next_of(member.pool).map(|ticket| (ticket, Instant::now()))
        };
        if let Some((ticket, since)) = own {
            drop(state);
            ticket.grant(Seat::Process(worker), since);
        } else if state.waiting.is_empty() {
            state.idle.push_back(IdleProcess { pool: member.pool, worker, since });
        } else {
            // Its place is granted when it has ended.
            drop(state);
            drop(worker);
        }
    }
}

impl Ticket {
    fn grant(self, seat: Seat, since: Instant) {
        (self.grant)(Turn { member: Some(self.member), seat, since });
    }
}

impl TurnState {
    fn add_ticket(&mut self, ticket: Ticket) {
        let owner = &ticket.member.owner;
        match self.waiting.iter_mut().find(|(it, _)| it == owner) {
            Some((_, tickets)) => tickets.push_back(ticket),
            None => self.waiting.push_back((Arc::clone(owner), VecDeque::from([ticket]))),
        }
    }

    fn idle_of(&mut self, pool: u64) -> Option<IdleProcess> {
        let at = self.idle.iter().position(|process| process.pool == pool)?;
        self.idle.remove(at)
    }

    /// Takes the next ticket. Its user is the last one from now on.
    fn take_next(&mut self) -> Option<Ticket> {
        let (owner, mut tickets) = self.waiting.pop_front()?;
        let ticket = tickets.pop_front();
        if !tickets.is_empty() {
            self.waiting.push_back((owner, tickets));
        }
        ticket
    }

    fn next(&self) -> Option<&Ticket> {
        self.waiting.front().and_then(|(_, tickets)| tickets.front())
    }

    /// Takes the next ticket if a place is free for it.
    fn next_for_free_place(&mut self) -> Option<Ticket> {
        let max = self.next()?.member.max_processes;
        if self.taken < max { self.take_next() } else { None }
    }

    /// Takes the next ticket if it is of this pool.
    fn take_next_of(&mut self, pool: u64) -> Option<Ticket> {
        if self.next()?.member.pool == pool { self.take_next() } else { None }
    }

    /// Takes a ticket of this pool out of turn.
    fn take_ticket_of(&mut self, member: &Member) -> Option<Ticket> {
        let at = self.waiting.iter().position(|(owner, _)| *owner == member.owner)?;
        let (_, tickets) = self.waiting.get_mut(at)?;
        let own = tickets.iter().position(|ticket| ticket.member.pool == member.pool)?;
        let ticket = tickets.remove(own);
        if tickets.is_empty() {
            self.waiting.remove(at);
        }
        ticket
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    fn turns() -> &'static Turns {
        Box::leak(Box::new(Turns::new()))
    }

    fn count(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    type Granted = (&'static str, Turn);

    fn ask(turns: &'static Turns, owner: &'static str, max: u32, sender: &Sender<Granted>) {
        let sender = sender.clone();
        turns.add_member(owner, count(max)).ask(move |turn| {
            sender.send((owner, turn)).ok();
        });
    }

    fn next(receiver: &Receiver<Granted>) -> Granted {
        receiver.recv_timeout(Duration::from_mins(1)).unwrap()
    }

    #[test]
    fn waiting_users_take_turns() {
        let (turns, (sender, receiver)) = (turns(), mpsc::channel());
        for owner in ["a", "a", "a", "a", "b", "b", "c"] {
            ask(turns, owner, 1, &sender);
        }
        let mut order = Vec::new();
        for _ in 0..7 {
            let (owner, turn) = next(&receiver);
            assert!(receiver.try_recv().is_err(), "one at a time");
            order.push(owner);
            drop(turn);
        }
        assert_eq!(order, ["a", "a", "b", "c", "a", "b", "a"]);
    }

    #[test]
    fn dropped_turn_passes_to_next_user() {
        let (turns, (sender, receiver)) = (turns(), mpsc::channel());
        let (gone, closed) = mpsc::channel();
        drop(closed);
        ask(turns, "a", 1, &sender);
        ask(turns, "b", 1, &gone);
        ask(turns, "c", 1, &sender);
        drop(next(&receiver));
        assert_eq!(next(&receiver).0, "c");
        assert_eq!(turns.lock().taken, 0);
    }

    #[cfg(unix)]
    mod with_processes {
        use std::{
            process::{Command, Stdio},
            sync::atomic::{AtomicUsize, Ordering},
            thread,
        };

        use vademecum_sandbox::{ChildSettings, Restrictions, SandboxLayers};

        use super::*;

        /// Has a file read by a process, which does nothing.
        fn read(member: &Member, running: &Arc<AtomicUsize>) -> usize {
            let (sender, receiver) = mpsc::channel();
            member.ask(move |turn| sender.send(turn).unwrap());
            let mut turn = receiver.recv_timeout(Duration::from_mins(5)).unwrap();
            let worker = turn.take_process().unwrap_or_else(|| {
                let mut command = Command::new("/bin/sh");
                let layers = serde_json::to_string(&SandboxLayers::default()).unwrap();
                let script = format!("read settings; echo 'ready{layers}'; read end");
                command.args(["-c", &script]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                let settings = ChildSettings { restrictions: Restrictions::default(), work: 1 };
                let deadline = Instant::now() + Duration::from_mins(5);
                let worker = Worker::start(command, &settings, deadline).unwrap();
                running.fetch_add(1, Ordering::SeqCst);
                let running = Arc::clone(running);
                let Seat::Place(place) = std::mem::replace(&mut turn.seat, Seat::Empty) else {
                    panic!("no place for a process")
                };
                worker.on_end(move || {
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(place);
                });
                worker
            });
            let number = running.load(Ordering::SeqCst);
            turn.keep_process(worker);
            number
        }

        #[test]
        fn processes_of_all_users_are_bounded() {
            let (turns, running) = (turns(), Arc::new(AtomicUsize::new(0)));
            let owners = ["a"; 12].into_iter().chain(["b", "c"]);
            let most = thread::scope(|scope| {
                let imports: Vec<_> = owners
                    .map(|owner| {
                        let (member, running) = (turns.add_member(owner, count(3)), &running);
                        scope.spawn(move || {
                            let most = (0..8).map(|_| read(&member, running)).max();
                            member.end_processes();
                            most.unwrap()
                        })
                    })
                    .collect();
                imports.into_iter().map(|it| it.join().unwrap()).max().unwrap()
            });
            assert_eq!(most, 3);
            assert!(turns.lock().waiting.is_empty() && turns.lock().idle.is_empty());
        }

        #[test]
        fn idle_process_makes_room_for_another_pool() {
            let (turns, running) = (turns(), Arc::new(AtomicUsize::new(0)));
            let [first, second] = ["a", "b"].map(|owner| turns.add_member(owner, count(1)));
            assert_eq!(read(&first, &running), 1);
            assert_eq!(turns.lock().idle.len(), 1);
            assert_eq!(read(&second, &running), 1);
            assert_eq!(turns.lock().idle.front().unwrap().pool, second.pool);
        }
    }
}
