//! SQL guard: decides which statements may run, and is the only source of a [`ReadOnlyQuery`].
//!
//! A statement is checked in several stages. `lexer` tokenizes it by the rules of its engine and
//! blanks comments, so that exactly the checked text is run. Then `classify` determines the kind of
//! statement, `rules`, `relations` and `functions` check every token, and `tree` checks the syntax
//! tree of a parser. Each stage can reject the statement; none can override the rejection of
//! another. Start reading at [`check_query`].
//!
//! The guard relies on session settings that the driver makes: in `PostgreSQL`,
//! `standard_conforming_strings = on`; in `MySQL`, a UTF-8 character set and an `sql_mode` without
//! `ANSI_QUOTES`, `NO_BACKSLASH_ESCAPES`, `PIPES_AS_CONCAT`, `IGNORE_SPACE` and `ORACLE`.

mod change;
mod change_functions;
mod classify;
mod condition;
mod function_policy;
mod functions;
mod lexer;
mod mask;
mod mysql_functions;
mod object_functions;
mod plpgsql;
mod postgres_functions;
mod pragma;
mod read;
mod rejection;
mod relations;
mod rules;
mod scan;
mod source_tables;
mod statement;
mod statistics;
mod strings;
mod template;
mod token;
mod tree;
mod write;

pub use change::{ChangeLimits, check_change, is_change};
pub use condition::check_condition;
pub use functions::QualifiedName;
pub use mask::mask_literals;
pub use mysql_functions::is_server_function;
pub use postgres_functions::{FunctionVerdict, PostgresFunction, is_allowed};
pub(crate) use pragma::is_read_only_pragma;
pub use read::{check_own_query, check_query};
pub use statement::{Condition, ReadOnlyQuery, StatementKind, WriteStatement};
pub(crate) use statistics::excludes_statistics_of;
pub(crate) use strings::{body_names, replace_strings, text_names};
pub use template::{PlaceForm, StatementTemplate, TemplatePart};
pub use write::check_write;
