//! What the benches share: text, libraries filled with it, what they are
//! measured against, and clocks.
//!
//! Start with [`Options`], which says what can be asked of a bench, and
//! [`Text`], which says what the passages are.

mod agree;
mod ask;
mod clock;
mod clusters;
mod dial;
mod fill;
mod one_index;
mod options;
mod plain;
mod process;
mod program;
mod queries;
mod report;
mod stems;
mod tantivy_index;
mod text;

pub use agree::{Agreement, Scored, agree};
pub use ask::{DEPTH, PATIENCE, WAYS, Way};
pub use clock::{Cost, median, of_this_thread};
pub use clusters::{DIMENSIONS, Vectors};
pub use dial::{Http, Line, Socket};
pub use fill::{Place, Sizes, fill, fill_notes, source};
pub use one_index::OneIndex;
pub use options::Options;
pub use plain::{Plain, STATEMENTS, Statements};
pub use process::Process;
pub use program::{Program, bench_or_program, users};
pub use queries::{Kind, Queries, Sample, Tallies};
pub use report::{Figures, Report, mean};
pub use tantivy_index::{TantivyIndex, TantivyWriter};
pub use text::{Die, Passage, Passages, Text};
