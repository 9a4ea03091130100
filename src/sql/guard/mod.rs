//! What may run: the only maker of statements that are known to read.

mod statement;

pub use statement::{
    FunctionName, Kind, ReadOnlyQuery, WriteStatement, may_be_volatile, one_statement, read,
};
