//! Indexes that do not exist.

/// Indexes of the extension hypopg that a plan is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HypotheticalIndexes {
    /// Schema of the extension.
    pub extension_schema: String,
    /// Definitions, in sets of which each gives a plan.
    pub sets: Vec<Vec<String>>,
}
