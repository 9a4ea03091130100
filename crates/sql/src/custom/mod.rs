//! Statements of the settings with parameters, which are offered as tools.
//!
//! A [`CustomStatement`] is a definition that was checked: its places and its parameters agree, and
//! the guard accepts it. A call is bound to a [`BoundStatement`]; values are always sent apart from
//! the text (`docs/adr/0028-custom-tools.md`). Start with `statement`.

mod decimal;
mod literal;
mod parameter;
mod statement;
mod value;

pub use parameter::ParameterRule;
pub use statement::{BoundStatement, CustomStatement, DefinitionError};
pub use value::Argument;
