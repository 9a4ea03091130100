//! Cache keys of vectors.

use sha2::{Digest as _, Sha256};

use super::{Model, Purpose};

/// SHA-256 digest of everything that a vector depends on.
pub(super) type VectorKey = [u8; 32];

/// Returns the key of the vector that `model` makes of `text` for `purpose`.
pub(super) fn vector_key(model: &Model, purpose: Purpose, text: &str) -> VectorKey {
    // The length is part of the key, because shortened vectors differ.
    let dimensions = model.dimensions.unwrap_or(0).to_string();
    let mut hash = Sha256::new();
    for part in [model.provider, &model.name, &dimensions, purpose.as_str(), text] {
        // The length prefix keeps `ab` + `c` apart from `a` + `bc`.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_key_depends_on_every_input() {
        let model = |provider, name: &str, dimensions| Model {
            provider,
            name: name.to_owned(),
            dimensions,
        };
        let keys = [
            vector_key(&model("a", "bc", None), Purpose::Query, "d"),
            vector_key(&model("ab", "c", None), Purpose::Query, "d"),
            vector_key(&model("a", "bc", Some(3)), Purpose::Query, "d"),
            vector_key(&model("a", "bc", None), Purpose::Document, "d"),
            vector_key(&model("a", "bc", None), Purpose::Query, "e"),
        ];
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(keys[0], vector_key(&model("a", "bc", None), Purpose::Query, "d"));
    }
}
