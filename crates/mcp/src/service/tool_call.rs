//! Calls of tools by the program itself, for pages.

use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use tracing::Instrument as _;

use crate::{
    Failure, Input, Outbound, Peer, ProtocolVersion, Reply, ReplyStatus, RequestContext, Service,
    message::jsonrpc::Request,
    request::request_metrics::RequestMetrics,
    revision::{RequestMeta, RequestMode},
};

const METHOD: &str = "tools/call";

/// A call that was not admitted, or that failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallProblem<E> {
    /// The peer lacks a right, has reached a limit, or the call took too long.
    #[error("{message}")]
    NotAdmitted {
        /// Outcome for the peer.
        status: ReplyStatus,
        /// The problem, for the peer.
        message: String,
    },
    /// The work failed.
    #[error(transparent)]
    Failed(E),
}

/// Tools that a page may use. Those that the operator disabled are in neither selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolSelection {
    /// Those that the peer would be offered as a client.
    Listed,
    /// Those, and the tools that write, also if clients may not write.
    WithWriting,
}

impl Service {
    /// Runs `work` as a call of a tool by the peer. Rights, limits, metrics and the audit log are those
    /// of a message that calls it with these arguments.
    pub async fn run_as_tool<T, E>(
        &self,
        peer: &Peer,
        tool: &str,
        arguments: &Value,
        work: impl AsyncFnOnce(&RequestContext) -> Result<T, E>,
    ) -> Result<T, CallProblem<E>> {
        self.run_work(peer, (tool, ToolSelection::Listed), arguments, work).await
    }

    /// Runs `work` as [`run_as_tool`](Self::run_as_tool) does, also for a tool that writes while clients may
    /// not write: people may change their library on pages while agents may not.
    pub async fn run_as_person<T, E>(
        &self,
        peer: &Peer,
        tool: &str,
        arguments: &Value,
        work: impl AsyncFnOnce(&RequestContext) -> Result<T, E>,
    ) -> Result<T, CallProblem<E>> {
        self.run_work(peer, (tool, ToolSelection::WithWriting), arguments, work).await
    }

    async fn run_work<T, E>(
        &self,
        peer: &Peer,
        (tool, selection): (&str, ToolSelection),
        arguments: &Value,
        work: impl AsyncFnOnce(&RequestContext) -> Result<T, E>,
    ) -> Result<T, CallProblem<E>> {
        let params = to_raw_value(&json!({ "name": tool, "arguments": arguments })).ok();
        let request =
            Request { id: RawValue::NULL, method: METHOD.into(), params: params.as_deref() };
        let metrics = RequestMetrics::begin(&self.options.observer, peer, &request);
        let answer = self
            .run_tool_work(peer, (tool, selection), &metrics, work)
            .instrument(metrics.span.clone())
            .await;
        let revision = ProtocolVersion::NEWEST_WITH_SESSIONS;
        let (status, answer) = match answer {
            Ok(Ok(output)) => (ReplyStatus::Ok, Ok(output)),
            Ok(Err(error)) => {
                metrics.record_tool_error();
                (ReplyStatus::Ok, Err(CallProblem::Failed(error)))
            }
            Err(failure) => {
                metrics.record_failure(revision.error_code(&failure.kind), &failure.kind);
                let status = revision.reply_status(&failure.kind);
                let message = failure.message;
                (status, Err(CallProblem::NotAdmitted { status, message }))
            }
        };
        metrics.record_reply(&Reply { message: None, status, opened_session: None });
        answer
    }

    async fn run_tool_work<T, E>(
        &self,
        peer: &Peer,
        (tool, selection): (&str, ToolSelection),
        metrics: &RequestMetrics<'_>,
        work: impl AsyncFnOnce(&RequestContext) -> Result<T, E>,
    ) -> Result<Result<T, E>, Failure> {
        self.check_admission(&peer.principal, METHOD)?;
        let mode = RequestMode::Session(ProtocolVersion::NEWEST_WITH_SESSIONS);
        let (meta, outbound) = (RequestMeta::default(), Outbound::default());
        let context = self.build_context(peer, RawValue::NULL, mode, meta, &outbound, metrics);
        let context =
            context.ok_or_else(|| Failure::invalid_request("the session does not exist"))?;
        let call = Box::pin(async {
            let catalog = self.handler.tools();
            if catalog.is_disabled(tool) {
                let problem = format!("the tool `{tool}` is disabled on this server");
                return Err(Failure::invalid_params(problem));
            }
            let mut listing = self.tool_listing(&context);
            listing.include_write |= selection == ToolSelection::WithWriting;
            let tool = catalog.find_tool(tool, &listing)?;
            self.admit_tool(&context, tool)?;
            Ok(work(&context.request_context(Input::default())).await)
        });
        self.run_admitted(peer, METHOD, call).await
    }
}
