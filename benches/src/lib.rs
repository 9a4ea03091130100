//! What the benches share: a library made of invented text, and clocks.

mod clock;
mod fill;
mod words;

pub use clock::{Cost, median};
pub use fill::{Size, fill};
pub use words::{Kind, Words};
