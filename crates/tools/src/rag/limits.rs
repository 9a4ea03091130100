//! Limits and timeouts of the `rag.*` tools, checks of their arguments, and access to collections
//! on the blocking pool.

use std::{sync::Arc, time::Duration};

use vademecum_actors::{CallError, collections::VisibleCollection};
use vademecum_mcp::RequestContext;
use vademecum_model::Deadline;
use vademecum_source::SourceError;

use crate::{ToolServices, segments::visible_collections};

/// Number of results of a search: default and maximum.
pub(super) const DEFAULT_K: usize = 10;
pub(super) const MAX_K: usize = 50;
/// Maximum number of candidates of a search.
pub(super) const MAX_CANDIDATES: usize = 500;
/// Maximum length of a query, in bytes.
const MAX_QUERY_BYTES: usize = 8_192;
/// Maximum number of ids in one call.
const MAX_IDS: usize = 500;
/// Maximum size of a search result, in bytes.
pub(super) const MAX_RESPONSE_BYTES: usize = 5_000_000;
/// Maximum size of all texts in a result, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 2_000_000;

/// Timeouts of the tools.
pub(super) const FTS_TIMEOUT: Duration = Duration::from_secs(1);
pub(super) const VECTOR_TIMEOUT: Duration = Duration::from_millis(1_500);
pub(super) const HYBRID_TIMEOUT: Duration = Duration::from_secs(2);
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the number of results for argument `k`, limited to [`MAX_K`]. Without one, and for
/// numbers below 1, it is [`DEFAULT_K`].
pub(super) fn parse_k(k: Option<i64>) -> usize {
    let requested = k.filter(|k| *k >= 1).map(|k| usize::try_from(k).unwrap_or(MAX_K));
    requested.unwrap_or(DEFAULT_K).min(MAX_K)
}

/// Returns a number of at least 1, limited to `most`. Fails if it is smaller.
pub(super) fn parse_count(
    name: &str,
    number: Option<i64>,
    default: usize,
    most: usize,
) -> Result<usize, CallError> {
    match number {
        None => Ok(default),
        Some(number) if number < 1 => {
            Err(CallError::Invalid(format!("{name}: expected 1 to {most}, got {number}")))
        }
        Some(number) => Ok(usize::try_from(number).unwrap_or(most).min(most)),
    }
}

/// Fails if a query is blank or too long.
pub(super) fn check_query(name: &str, query: &str) -> Result<(), CallError> {
    if query.len() > MAX_QUERY_BYTES {
        let problem = format!(
            "{name}: has {} bytes; at most {MAX_QUERY_BYTES} are accepted, shorten it",
            query.len()
        );
        return Err(CallError::LimitExceeded(problem));
    }
    if query.trim().is_empty() {
        return Err(CallError::Invalid(format!("{name}: is blank; say what to search for")));
    }
    Ok(())
}

/// Fails if a list of ids is empty or too long.
pub(super) fn check_ids(name: &str, ids: &[String]) -> Result<(), CallError> {
    if ids.is_empty() {
        return Err(CallError::Invalid(format!("{name}: is empty; name at least one")));
    }
    if ids.len() > MAX_IDS {
        let found = ids.len();
        return Err(CallError::LimitExceeded(format!(
            "{name}: has {found} ids; at most {MAX_IDS} are accepted"
        )));
    }
    Ok(())
}

/// Runs `work` with the collections visible to the caller, on the blocking pool, with a deadline of
/// `limit` from now.
pub(crate) async fn with_collections<T: Send + 'static>(
    services: &ToolServices,
    call: &RequestContext,
    limit: Duration,
    work: impl FnOnce(&[VisibleCollection], &Deadline) -> Result<T, SourceError> + Send + 'static,
) -> Result<T, CallError> {
    let deadline = Deadline::after(limit).with_cancellation(&call.cancel);
    let opened: Arc<[VisibleCollection]> = visible_collections(services, call).await?;
    let done = services.run_blocking(call, move || work(&opened, &deadline)).await?;
    done.map_err(CallError::from)
}
