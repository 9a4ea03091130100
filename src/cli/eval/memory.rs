//! Evaluation of questions about long conversations: each history is a library of its own, a session
//! is a conversation, and a hit is a session.

use std::{ops::ControlFlow, path::Path, thread};

use anyhow::{Context, Result, anyhow};
use serde_json::json;
use vademecum_eval::{
    CorpusDocument, Fts5Baseline, MemoryHistory, MemoryReport, MemoryResult, MemoryScores,
    RECALL_DEPTH, read_memory_file,
};

use super::{corpus_import::import_corpus, run::ranked_positions};
use crate::{
    app::App,
    cli::{
        common::CommonOptions,
        get::{parse_tool_reply, tool_call_message},
    },
};

/// Evaluates a file of questions about conversations.
pub(super) async fn evaluate_memory(common: &CommonOptions, path: &Path) -> Result<MemoryReport> {
    // One history waits while another is evaluated: a file has up to 3 GB.
    let (sender, mut histories) = tokio::sync::mpsc::channel::<MemoryHistory>(1);
    let file = path.to_owned();
    let reader = thread::spawn(move || {
        read_memory_file(&file, |history| match sender.blocking_send(history) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        })
    });
    let (mut count, mut unanswerable, mut results) = (0, 0, Vec::new());
    while let Some(history) = histories.recv().await {
        count += 1;
        unanswerable += history.unanswerable;
        if !history.questions.is_empty() {
            results.extend(evaluate_history(common, &history).await?);
        }
    }
    reader.join().map_err(|_| anyhow!("the file could not be read"))??;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(MemoryReport::new(name, count, unanswerable, &results))
}

/// Asks the questions of one history.
async fn evaluate_history(
    common: &CommonOptions,
    history: &MemoryHistory,
) -> Result<Vec<MemoryResult>> {
    let folder = tempfile::tempdir()?;
    let mut settings = common.load_settings()?;
    settings.storage.data = Some(folder.path().to_owned());
    settings.archive = vademecum_core::config::Archive::default();
    settings.limits.requests_per_minute = 0;
    settings.limits.calls_per_tool_per_minute = 0;
    let app = App::new(settings)?;
    let (sessions, messages): (Vec<usize>, Vec<CorpusDocument>) =
        history.messages().into_iter().unzip();
    let scattered = import_corpus(&app.library(), &messages).await?;
    let plain = Fts5Baseline::build(&history.whole_sessions())?;
    let mut results = Vec::with_capacity(history.questions.len());
    for question in &history.questions {
        let arguments =
            json!({ "query": question.text, "limit": RECALL_DEPTH, "sources": ["chats"] });
        let message = tool_call_message("knowledge.search", &arguments);
        let answer = app.handle_message(&message).await.context("the server sent no reply")?;
        let answer = parse_tool_reply(&answer).with_context(|| question.text.clone())?;
        let positions = ranked_positions(&answer, &scattered)?;
        let ranked = positions.iter().filter_map(|place| sessions.get(*place).copied());
        let ours = MemoryScores::score(&distinct(ranked), &question.evidence);
        let plain = MemoryScores::score(&plain.search(&question.text)?, &question.evidence);
        results.push(MemoryResult { category: question.category.clone(), ours, plain });
    }
    Ok(results)
}

/// Returns the sessions in order, each once.
fn distinct(ranked: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sessions = Vec::new();
    for session in ranked {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    sessions
}
