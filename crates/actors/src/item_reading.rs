//! Reading of one item of one source.

use actix::prelude::*;
use tracing::Instrument as _;
use vademecum_model::{Deadline, SourceName};
use vademecum_search::{GetRequest, Item};

use super::{CallContext, CallError, aggregator::Aggregator};

/// Reads one item of one source.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, CallError>")]
pub(crate) struct ReadSourceItem {
    pub(crate) source: SourceName,
    pub(crate) get: GetRequest,
    pub(crate) context: CallContext,
}

impl Handler<ReadSourceItem> for Aggregator {
    type Result = ResponseFuture<Result<Item, CallError>>;

    fn handle(&mut self, message: ReadSourceItem, _: &mut Self::Context) -> Self::Result {
        let ReadSourceItem { source, get, context: waiting } = message;
        let deadline = Deadline::after(self.timeout).with_cancellation(&waiting.cancel);
        let source = self.source_by_name(source);
        let read = async move {
            let source = source.ok_or(CallError::Unavailable)?;
            let at = deadline.expires_at.into();
            match tokio::time::timeout_at(at, source.read_item(get, deadline)).await {
                Ok(answer) => answer.map_err(CallError::from),
                Err(_) => Err(CallError::DeadlineExceeded),
            }
        };
        Box::pin(read.instrument(waiting.span))
    }
}
