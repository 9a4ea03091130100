//! What a vector depends on, as one short key.

use sha2::{Digest as _, Sha256};

use super::{Model, Purpose};

/// Names a vector by all that it depends on.
pub(super) type Key = [u8; 32];

/// The key of the vector that a model makes of a text.
pub(super) fn key(model: &Model, purpose: Purpose, text: &str) -> Key {
    // Vectors that were shortened are others.
    let dimensions = model.dimensions.unwrap_or(0).to_string();
    let mut hash = Sha256::new();
    for part in [model.provider, &model.name, &dimensions, purpose.as_str(), text] {
        // The length keeps `ab` + `c` apart from `a` + `bc`.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_vector_depends_on_is_in_its_key() {
        let model = |provider, name: &str, dimensions| Model {
            provider,
            name: name.to_owned(),
            dimensions,
        };
        let keys = [
            key(&model("a", "bc", None), Purpose::Query, "d"),
            key(&model("ab", "c", None), Purpose::Query, "d"),
            key(&model("a", "bc", Some(3)), Purpose::Query, "d"),
            key(&model("a", "bc", None), Purpose::Document, "d"),
            key(&model("a", "bc", None), Purpose::Query, "e"),
        ];
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(keys[0], key(&model("a", "bc", None), Purpose::Query, "d"));
    }
}
