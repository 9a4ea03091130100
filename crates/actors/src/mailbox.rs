//! Sending of request messages between actors.

use actix::{dev::ToEnvelope, prelude::*};

/// Sends a message to an actor; the returned future resolves to its reply.
///
/// In unit tests the sends of each thread are counted, so that a test can state how many messages
/// one request costs.
pub(super) fn send<A, M>(address: &Addr<A>, message: M) -> Request<A, M>
where
    A: Actor + Handler<M>,
    A::Context: ToEnvelope<A, M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    #[cfg(test)]
    counter::increment();
    address.send(message)
}

#[cfg(test)]
pub(super) mod counter {
    use std::cell::Cell;

    thread_local! {
        static SENDS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn increment() {
        SENDS.set(SENDS.get() + 1);
    }

    /// Returns the number of sends since the last call, and resets it.
    pub(in super::super) fn take() -> usize {
        SENDS.take()
    }
}
