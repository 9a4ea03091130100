//! Entries of `trust` in a profile: functions that reads may call without a proof.

use schemars::JsonSchema;
use serde::Deserialize;

/// Functions that a profile trusts: those of an extension (`extension:postgis`), or those whose
/// `name` or `schema.name` matches, with `*` for any characters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub enum TrustPattern {
    /// Functions of the extension of this name.
    Extension(String),
    /// Functions whose name matches.
    Name(String),
}

impl TrustPattern {
    /// Returns the name of the extension, if it names one.
    pub fn extension(&self) -> Option<&str> {
        match self {
            Self::Extension(name) => Some(name),
            Self::Name(_) => None,
        }
    }

    /// Returns the pattern of names as a pattern of `LIKE`, if it is one.
    pub fn like_pattern(&self) -> Option<String> {
        let Self::Name(pattern) = self else { return None };
        let mut like = String::with_capacity(pattern.len());
        for sign in pattern.chars() {
            match sign {
                '*' => like.push('%'),
                '%' | '_' | '\\' => like.extend(['\\', sign]),
                other => like.push(other),
            }
        }
        Some(like)
    }
}

impl TryFrom<String> for TrustPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("extension:") {
            return match name.trim() {
                "" => Err("`extension:` needs the name of an extension".to_owned()),
                name => Ok(Self::Extension(name.to_owned())),
            };
        }
        // A pattern of all functions would trust functions that do not exist yet.
        if text.chars().any(|sign| !"*._ ".contains(sign)) {
            return Ok(Self::Name(text));
        }
        Err(format!(
            "`{text}` matches functions of every name; write a schema or a part of the name"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TrustPattern, String> {
        text.to_owned().try_into()
    }

    #[test]
    fn trust_names_extension_or_pattern() {
        assert_eq!(parse("extension:postgis").unwrap().extension(), Some("postgis"));
        for (text, like) in
            [("st_*", "st\\_%"), ("app.*", "app.%"), ("app.is_owner", "app.is\\_owner")]
        {
            assert_eq!(parse(text).unwrap().like_pattern().as_deref(), Some(like), "{text}");
        }
        for text in ["*", "*.*", "", "_*", "extension:", "extension: "] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
