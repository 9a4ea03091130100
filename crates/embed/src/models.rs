//! What is known of models by their names.

/// How long the vectors of well-known models are.
const KNOWN: [(&str, usize); 13] = [
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

/// How long the vectors of a model are, if that is known and not a matter of
/// its tag, which stands behind a colon.
pub(super) fn dimensions(model: &str) -> Option<usize> {
    let name = model.strip_suffix(":latest").unwrap_or(model);
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, dimensions)| *dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_its_name() {
        assert_eq!(dimensions("text-embedding-3-large"), Some(3_072));
        assert_eq!(dimensions("all-minilm:latest"), Some(384));
        assert_eq!(dimensions("all-minilm:l12"), None);
        assert_eq!(dimensions("voyage-9"), None);
    }
}
