//! A sync over a connection to another machine, such as SSH.
//!
//! The machine that connects asks for what it does not have, then sends what the other does not have, in
//! batches that are stored before they are acknowledged. An interrupted exchange continues with the next one.

use std::{
    collections::HashSet,
    io::{BufRead, Write},
};

use crate::{
    SyncError,
    apply::MissingReferences,
    database::SyncedDatabase,
    folder::SyncedLibrary,
    incoming::Incoming,
    outgoing::{next_batch, place_batch},
    peer_messages::{Channel, Message, VERSION},
    replica::{ReplicaId, ReplicaLock},
    report::SyncReport,
    scan::record_local_changes,
    state::Place,
};

/// Maximum number of exchanges of a database in one sync. The second one has what the first one merged.
const MAX_ROUNDS: usize = 4;

/// One side of an exchange.
struct Exchange<'a, R, W> {
    library: &'a SyncedLibrary,
    lock: ReplicaLock,
    peer: ReplicaId,
    target: String,
    channel: Channel<R, W>,
    report: SyncReport,
}

/// Exchanges changes with the machine at the other end of two streams.
pub fn sync_with_peer(
    library: &SyncedLibrary,
    input: impl BufRead,
    output: impl Write,
) -> Result<SyncReport, SyncError> {
    let mut exchange = Exchange::begin(library, Channel::new(input, output))?;
    for database in &library.databases {
        record_local_changes(database, exchange.lock.replica(), &mut exchange.report)?;
        for _ in 0..MAX_ROUNDS {
            let name = database.name().to_owned();
            exchange.channel.send(&Message::Pull { database: name.clone() })?;
            exchange.channel.flush()?;
            let received = exchange.receive_items(database)?;
            exchange.channel.send(&Message::Push { database: name })?;
            let sent = exchange.send_items(database)?;
            if received == 0 || sent == 0 {
                break;
            }
        }
    }
    exchange.channel.send(&Message::Bye)?;
    exchange.channel.flush()?;
    Ok(exchange.report)
}

/// Answers the machine at the other end of two streams until the exchange is over.
pub fn serve_peer(
    library: &SyncedLibrary,
    input: impl BufRead,
    output: impl Write,
) -> Result<SyncReport, SyncError> {
    let mut channel = Channel::new(input, output);
    match Exchange::begin_with(library, &mut channel) {
        Ok((lock, peer)) => {
            let mut exchange = Exchange::new(library, lock, peer, channel);
            let served = exchange.serve();
            if let Err(error) = served {
                exchange.channel.send(&Message::Failed { reason: error.to_string() }).ok();
                exchange.channel.flush().ok();
                return Err(error);
            }
            Ok(exchange.report)
        }
        Err(error) => {
            channel.send(&Message::Failed { reason: error.to_string() }).ok();
            channel.flush().ok();
            Err(error)
        }
    }
}

impl<'a, R: BufRead, W: Write> Exchange<'a, R, W> {
    fn begin(library: &'a SyncedLibrary, mut channel: Channel<R, W>) -> Result<Self, SyncError> {
        let (lock, peer) = Self::begin_with(library, &mut channel)?;
        Ok(Self::new(library, lock, peer, channel))
    }

    /// Locks the library and exchanges greetings.
    fn begin_with(
        library: &SyncedLibrary,
        channel: &mut Channel<R, W>,
    ) -> Result<(ReplicaLock, ReplicaId), SyncError> {
        let lock = ReplicaLock::acquire(&library.folder)?;
        let replica = lock.replica().clone();
        channel.send(&Message::Hello { vademecum_sync: VERSION, replica: replica.clone() })?;
        channel.flush()?;
        match channel.receive()? {
            Message::Hello { replica: peer, .. } if peer == replica => Err(SyncError::SameLibrary),
            Message::Hello { vademecum_sync: VERSION, replica } => Ok((lock, replica)),
            Message::Hello { vademecum_sync, .. } => Err(SyncError::Protocol(format!(
                "version {vademecum_sync} of the exchange, this program has version {VERSION}; \
                 install the same version on both machines"
            ))),
            other => Channel::<R, W>::unexpected(&other),
        }
    }

    fn new(
        library: &'a SyncedLibrary,
        lock: ReplicaLock,
        peer: ReplicaId,
        channel: Channel<R, W>,
    ) -> Self {
        let target = format!("peer {peer}");
        Self { library, lock, peer, target, channel, report: SyncReport::default() }
    }

    fn serve(&mut self) -> Result<(), SyncError> {
        loop {
            match self.channel.receive()? {
                Message::Pull { database } => {
                    let database = self.find_database(&database)?;
                    record_local_changes(database, self.lock.replica(), &mut self.report)?;
                    self.send_items(database)?;
                }
                Message::Push { database } => {
                    let database = self.find_database(&database)?;
                    self.receive_items(database)?;
                }
                Message::Bye => return Ok(()),
                other => return Channel::<R, W>::unexpected(&other),
            }
        }
    }

    fn find_database(&self, name: &str) -> Result<&'a SyncedDatabase, SyncError> {
        let found = self.library.databases.iter().find(|database| database.name() == name);
        found.ok_or_else(|| SyncError::Protocol("the name of an unknown database".to_owned()))
    }

    /// Sends the items that the other machine does not have, and returns their number.
    fn send_items(&mut self, database: &SyncedDatabase) -> Result<usize, SyncError> {
        let (mut sent, mut after) = (0, 0);
        loop {
            let batch = next_batch(database, &self.target, after)?;
            let Some(last) = batch.last else { break };
            after = last;
            if batch.records.is_empty() {
                continue;
            }
            let mut records = Vec::with_capacity(batch.records.len());
            for (number, record) in batch.records {
                let message = Message::Item(Box::new(record));
                self.channel.send(&message)?;
                if let Message::Item(record) = message {
                    records.push((number, *record));
                }
            }
            self.channel.send(&Message::Batch)?;
            self.channel.flush()?;
            let (refused, waiting) = match self.channel.receive()? {
                Message::Stored { refused, waiting } => (refused, waiting),
                other => return Channel::<R, W>::unexpected(&other),
            };
            let again: HashSet<_> =
                refused.iter().chain(&waiting).map(|(source, key)| (*source, key)).collect();
            records.retain(|(_, it)| !again.contains(&(it.source, &it.key)));
            for (source, key) in &refused {
                self.report.add_problem(format!("{source} {key}: not taken by the other machine"));
            }
            let place = Place { target: &self.target, replica: &self.peer, file: 0 };
            place_batch(database, place, &records)?;
            sent += records.len();
        }
        self.channel.send(&Message::End)?;
        self.channel.flush()?;
        self.report.sent += sent;
        Ok(sent)
    }

    /// Receives items until there are no more, and returns their number.
    fn receive_items(&mut self, database: &SyncedDatabase) -> Result<usize, SyncError> {
        let place = Place { target: &self.target, replica: &self.peer, file: 0 };
        let missing = MissingReferences::Drop;
        let mut incoming = Incoming::new(database, self.lock.replica(), place, missing);
        let mut received = 0;
        loop {
            match self.channel.receive()? {
                Message::Item(record) => {
                    received += 1;
                    let (source, key) = (record.source, record.key.clone());
                    match record.check() {
                        Ok(record) => incoming.push(record, &mut self.report)?,
                        Err(error) => {
                            incoming.problems.push(format!("{source} {key}: {error}"));
                            incoming.refused.push((source, key));
                        }
                    }
                }
                Message::Batch => {
                    incoming.flush(&mut self.report)?;
                    let refused = std::mem::take(&mut incoming.refused);
                    let waiting = std::mem::take(&mut incoming.waiting);
                    for problem in std::mem::take(&mut incoming.problems) {
                        self.report.add_problem(problem);
                    }
                    self.channel.send(&Message::Stored { refused, waiting })?;
                    self.channel.flush()?;
                }
                Message::End => return Ok(received),
                other => return Channel::<R, W>::unexpected(&other),
            }
        }
    }
}
