//! The guard: says which statements may run, and is the only maker of a
//! [`ReadOnlyQuery`].
//!
//! A statement is read twice. `lexer` cuts it into tokens by the rules of its
//! engine and takes the comments out, so that what runs is the very text that was
//! looked at. Then `form` says what kind of statement it is, `rules` and
//! `functions` look at every token, and `tree` at what the parser makes of it.
//! Each of them can refuse; none can undo the refusal of another. Start at
//! [`read`].
//!
//! What it takes for granted about the session, the driver sees to: in
//! `PostgreSQL`, `standard_conforming_strings = on`; in `MySQL`, a character set
//! of UTF-8 and an `sql_mode` without `ANSI_QUOTES`, `NO_BACKSLASH_ESCAPES`,
//! `PIPES_AS_CONCAT`, `IGNORE_SPACE` and `ORACLE`.

mod condition;
mod form;
mod functions;
mod lexer;
mod policy;
mod pragma;
mod read;
mod refusal;
mod relations;
mod rules;
mod statement;
mod token;
mod tree;
mod write;

pub use condition::condition;
pub use functions::FunctionName;
pub use policy::may_be_volatile;
pub use read::read;
pub use statement::{Condition, Kind, ReadOnlyQuery, WriteStatement};
pub use write::one_statement;

#[cfg(test)]
mod tests;
