//! The tasks in the text of a note: `- [ ]` and `- [x]`, and the keywords of Logseq and Org mode.

use std::borrow::Cow;

use vademecum_model::{FrontMatterBlock, TaskState};
use vademecum_search::bounded_markup;

use super::{Dialect, masking::mask_literal_parts};

/// Keywords of tasks that are to be done.
const OPEN_KEYWORDS: [&str; 9] =
    ["TODO", "DOING", "NOW", "LATER", "NEXT", "WAITING", "WAIT", "STARTED", "IN-PROGRESS"];
/// Keywords of tasks that are done or cancelled.
const DONE_KEYWORDS: [&str; 4] = ["DONE", "CANCELED", "CANCELLED", "CLOSED"];

/// Number of tasks in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskCounts {
    pub(super) open: i64,
    pub(super) done: i64,
}

impl TaskCounts {
    /// Counts the tasks of a text.
    pub(super) fn of(text: &str, dialect: Dialect) -> Self {
        let mut counts = Self::default();
        for_each_task(text, dialect, |state, _| match state {
            TaskState::Open => counts.open += 1,
            TaskState::Done => counts.done += 1,
        });
        counts
    }
}

/// Calls `read` for each task of a text, in order, with its state and its text on one line.
pub(super) fn for_each_task(text: &str, dialect: Dialect, mut read: impl FnMut(TaskState, &str)) {
    if dialect == Dialect::Plain || !may_have_tasks(text, dialect) {
        return;
    }
    let body = match dialect {
        Dialect::Markdown | Dialect::Logseq => FrontMatterBlock::body_of(text),
        _ => text,
    };
    let body = bounded_markup(body);
    let masked: Cow<'_, str> = mask_literal_parts(body, dialect);
    let mut at = 0;
    for line in masked.split_inclusive('\n') {
        if let Some((state, rest)) = read_task(line, dialect) {
            // Code in the text of a task is masked, the text itself has the same length.
            let start = at + line.len() - rest.len();
            let written = body.get(start..at + line.len()).unwrap_or(rest).trim();
            if !written.is_empty() {
                read(state, written);
            }
        }
        at += line.len();
    }
}

fn may_have_tasks(text: &str, dialect: Dialect) -> bool {
    text.contains("[ ] ")
        || text.contains("] ")
        || (has_keywords(dialect)
            && OPEN_KEYWORDS.iter().chain(&DONE_KEYWORDS).any(|word| text.contains(word)))
}

fn has_keywords(dialect: Dialect) -> bool {
    dialect.is_logseq() || dialect.is_org()
}

/// Returns the state of the task on a line, and the rest of the line after its mark.
fn read_task(line: &str, dialect: Dialect) -> Option<(TaskState, &str)> {
    let quoted = line.trim_start_matches([' ', '\t', '>']);
    let bare = strip_bullet(quoted);
    if let Some(rest) = bare.and_then(|bare| bare.trim_start().strip_prefix('[')) {
        let mark = rest.chars().next()?;
        if let Some(rest) = rest.get(mark.len_utf8()..).and_then(|rest| rest.strip_prefix("] ")) {
            return Some((state_of_mark(mark), rest));
        }
    }
    if !has_keywords(dialect) {
        return None;
    }
    let heading = line.trim_start_matches('*').trim_start();
    let is_heading = line.starts_with('*') && heading.len() < line.len();
    let bare = bare.or(is_heading.then_some(heading))?.trim_start_matches('#').trim_start();
    let word = bare.split_whitespace().next()?;
    let state = if OPEN_KEYWORDS.contains(&word) {
        TaskState::Open
    } else if DONE_KEYWORDS.contains(&word) {
        TaskState::Done
    } else {
        return None;
    };
    Some((state, bare.get(word.len()..)?))
}

/// Returns the text after the mark of an element of a list.
fn strip_bullet(line: &str) -> Option<&str> {
    let rest = match line.chars().next()? {
        '-' | '*' | '+' => line.get(1..)?,
        _ => {
            let after = line.trim_start_matches(|next: char| next.is_ascii_digit());
            let is_number = after.len() < line.len() && line.len() - after.len() <= 9;
            after.strip_prefix(['.', ')']).filter(|_| is_number)?
        }
    };
    rest.starts_with([' ', '\t']).then_some(rest)
}

fn state_of_mark(mark: char) -> TaskState {
    match mark {
        'x' | 'X' | '-' | '✓' | '✔' => TaskState::Done,
        _ => TaskState::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(text: &str, dialect: Dialect) -> Vec<String> {
        let mut found = Vec::new();
        for_each_task(text, dialect, |state, text| found.push(format!("{state:?} {text}")));
        found
    }

    #[test]
    fn checkboxes_are_tasks() {
        let text = "---\na: \"- [ ] no\"\n---\n- [ ] Call `Ada` #now\n  * [x] Buy rye\n1. [/] Bake\n> - [-] Sell\n\
                    - [] no\n- [a](b)\n[ ] no\n```\n- [ ] code\n```\n- [ ] \n- TODO no\n";
        let expected = ["Open Call `Ada` #now", "Done Buy rye", "Open Bake", "Done Sell"];
        assert_eq!(tasks(text, Dialect::Markdown), expected);
        assert_eq!(TaskCounts::of(text, Dialect::Markdown), TaskCounts { open: 2, done: 2 });
    }

    #[test]
    fn keywords_are_tasks_of_logseq_and_org() {
        let logseq = "- TODO Call\n\t- DOING [#A] Bake\n- DONE Sell\n- TODOS\n- text TODO\n";
        let expected = ["Open Call", "Open [#A] Bake", "Done Sell"];
        assert_eq!(tasks(logseq, Dialect::Logseq), expected);
        let org = "* TODO Call\n** DONE Sell\n- [X] Bake\n* Text\nTODO no\n#+begin_src x\n* TODO no\n#+end_src\n";
        assert_eq!(tasks(org, Dialect::Org), ["Open Call", "Done Sell", "Done Bake"]);
    }
}
