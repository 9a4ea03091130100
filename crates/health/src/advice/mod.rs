//! Index advice: indexes that would make given statements cheaper.
//!
//! The plan of a statement names the tables that are read whole and the conditions on them
//! (`plan`); `candidates` derives indexes from these. In `PostgreSQL` with the extension hypopg,
//! the planner itself says what each would save; otherwise only the plan without them is known
//! (ADR 32). Start reading at [`advise_indexes`].

mod advise;
mod candidates;
mod plan;
mod predicate;
mod table;

pub use advise::{
    AdviceMethod, AdvisedIndex, AdvisedStatement, IndexAdvice, StatementOutcome, advise_indexes,
};
