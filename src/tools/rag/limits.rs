//! What one call may ask for, and the thread that the work is done on.

use std::{sync::Arc, time::Duration};

use vademecum_kit::{model::Deadline, source::SourceError};

use crate::{
    actors::CallError,
    collections::Opened,
    tools::{Toolbox, segments::visible},
};
use vademecum_mcp::Call;

/// Results of a search: as many, if nobody says, and at most.
pub(super) const K: usize = 10;
pub(super) const MOST: usize = 50;
/// Results that a search looks at on its way, at most.
pub(super) const CANDIDATES: usize = 500;
/// The longest query, in bytes.
const QUERY_BYTES: usize = 8_192;
/// Identifiers that one call may name.
const IDS: usize = 500;
/// The longest answer, in bytes.
pub(super) const ANSWER_BYTES: usize = 5_000_000;
/// Texts that one answer holds, in bytes.
pub(super) const TEXT_BYTES: usize = 2_000_000;

/// How long each tool may take.
pub(super) const SEARCH_FTS: Duration = Duration::from_secs(1);
pub(super) const SEARCH_VECTOR: Duration = Duration::from_millis(1_500);
pub(super) const SEARCH_HYBRID: Duration = Duration::from_secs(2);
pub(super) const READ: Duration = Duration::from_secs(1);

/// How many results are wanted: what is more than the most is the most.
pub(super) fn wanted(k: Option<i64>) -> Result<usize, CallError> {
    positive("k", k, K, MOST)
}

/// A number of things: what is more than the most is the most.
pub(super) fn positive(
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

/// A text to search for.
pub(super) fn query(name: &str, query: &str) -> Result<(), CallError> {
    if query.len() > QUERY_BYTES {
        let problem = format!(
            "{name}: has {} bytes; at most {QUERY_BYTES} are read, shorten it",
            query.len()
        );
        return Err(CallError::TooMuch(problem));
    }
    if query.trim().is_empty() {
        return Err(CallError::Invalid(format!("{name}: is blank; say what to search for")));
    }
    Ok(())
}

/// Identifiers that are to be read.
pub(super) fn identifiers(name: &str, ids: &[String]) -> Result<(), CallError> {
    if ids.is_empty() {
        return Err(CallError::Invalid(format!("{name}: is empty; name at least one")));
    }
    if ids.len() > IDS {
        let found = ids.len();
        return Err(CallError::TooMuch(format!("{name}: names {found}; at most {IDS} are read")));
    }
    Ok(())
}

/// Does `work` with the collections that the caller may see, beside the event
/// loop, within `limit`.
pub(crate) async fn with_collections<T: Send + 'static>(
    toolbox: &Toolbox,
    call: &Call,
    limit: Duration,
    work: impl FnOnce(&[Opened], &Deadline) -> Result<T, SourceError> + Send + 'static,
) -> Result<T, CallError> {
    let deadline = Deadline::after(limit).unless(&call.cancel);
    let opened: Arc<[Opened]> = visible(toolbox, call).await?;
    let done = toolbox.beside(call, move || work(&opened, &deadline)).await?;
    done.map_err(CallError::from)
}
