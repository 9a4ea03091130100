//! Vector lengths of well-known models.

/// Model names and their number of dimensions.
const KNOWN_DIMENSIONS: [(&str, usize); 13] = [
    ("text-embedding-3-small", 1_536),
    ("text-embedding-3-large", 3_072),
    ("text-embedding-ada-002", 1_536),
    ("voyage-3", 1_024),
    ("voyage-3-lite", 512),
    ("voyage-3-large", 1_024),
    ("voyage-3.5", 1_024),
    ("voyage-3.5-lite", 1_024),
    ("voyage-2", 1_024),
    ("voyage-2-lite", 1_024),
    ("nomic-embed-text", 768),
    ("mxbai-embed-large", 1_024),
    ("all-minilm", 384),
];

/// Returns the number of dimensions of a well-known model. The tag `:latest` is ignored; other tags
/// may change the length, so such names are unknown.
pub(super) fn known_dimensions(model: &str) -> Option<usize> {
    let name = model.strip_suffix(":latest").unwrap_or(model);
    KNOWN_DIMENSIONS.iter().find(|(known, _)| *known == name).map(|(_, dimensions)| *dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_model_has_dimensions_by_name() {
        assert_eq!(known_dimensions("text-embedding-3-large"), Some(3_072));
        assert_eq!(known_dimensions("all-minilm:latest"), Some(384));
        assert_eq!(known_dimensions("all-minilm:l12"), None);
        assert_eq!(known_dimensions("voyage-9"), None);
    }
}
