//! What every transport needs to know.

use std::num::NonZeroU32;

use crate::{auth::Principal, config::Server, mcp::Service};

/// What every transport needs to know.
#[derive(Clone, Debug)]
pub struct Door {
    /// The protocol.
    pub service: Service,
    /// Who comes in.
    pub principal: Principal,
    /// Where clients connect, and what they may send.
    pub server: Server,
    /// How many calls one connection works on at the same time.
    pub concurrent_calls: NonZeroU32,
}
