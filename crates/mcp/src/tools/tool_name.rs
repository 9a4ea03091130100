//! Names of tools that live as long as the process.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// Names that were interned.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns a name that lives as long as the process, because logs, metrics and rate limits keep
/// names of tools without copies. A name is stored once, so memory grows only with the distinct
/// names that the settings had; never pass one that a client sent.
pub fn intern_tool_name(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(Box::from(name));
    names.insert(name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_stored_once() {
        let name = "orders_of_customer".to_owned();
        let first = intern_tool_name(&name);
        assert_eq!(first, name);
        assert!(std::ptr::eq(first, intern_tool_name(&name.clone())));
    }
}
