//! The digest by which changed content is detected.

use std::fmt::Write;

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of `version` and `parts` as hex. `version` is that of the importer, so that
/// a new version of it reads unchanged files again.
pub fn digest<'a>(version: &'a str, parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in [version.as_bytes()].into_iter().chain(parts) {
        // The length distinguishes `ab` + `c` from `a` + `bc`.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a `String` is infallible.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_parts_borders_and_version() {
        let all = [
            digest("notes/1", [b"ab".as_slice(), b"c"]),
            digest("notes/1", [b"a".as_slice(), b"bc"]),
            digest("notes/2", [b"ab".as_slice(), b"c"]),
        ];
        assert!(all[0] != all[1] && all[0] != all[2]);
        assert!(all.iter().all(|hex| hex.len() == 64));
        assert_eq!(all[0], digest("notes/1", [b"ab".as_slice(), b"c"]));
    }
}
