//! URL-encoded parameters of queries and forms.

use std::collections::BTreeMap;

use url::form_urlencoded;

use super::OAuthError;

/// Reads URL-encoded parameters, each at most once.
pub(crate) fn parse_parameters(
    text: &[u8],
    max_length: usize,
) -> Result<BTreeMap<String, String>, OAuthError> {
    if text.len() > max_length {
        return Err(OAuthError::invalid_request("the parameters are too long"));
    }
    let mut parameters = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(text) {
        if parameters.insert(name.to_string(), value.into_owned()).is_some() {
            return Err(OAuthError::invalid_request("a parameter occurs more than once"));
        }
    }
    Ok(parameters)
}
