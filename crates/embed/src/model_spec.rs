//! The model that the settings select, and the vector length to request.

use super::{Model, known_models};
use vademecum_core::config::Embeddings;

/// A model that is requested from a provider by name.
#[derive(Clone, Debug)]
pub(super) struct ModelSpec {
    /// The model, with the vector length if the settings or the list of known models give one.
    pub(super) model: Model,
    /// Length to request. Set only if the settings give a length that differs from the model's own,
    /// because models that cannot shorten vectors reject the parameter.
    pub(super) dimensions: Option<usize>,
}

impl ModelSpec {
    /// Selects the model of the settings, or the model `usual` if they name none.
    pub(super) fn new(settings: &Embeddings, provider: &'static str, usual: &str) -> Self {
        let name = settings.model.clone().unwrap_or_else(|| usual.to_owned());
        let (set, known) =
            (settings.dimensions.map(usize::from), known_models::known_dimensions(&name));
        Self {
            model: Model { provider, name, dimensions: set.or(known) },
            dimensions: set.filter(|_| set != known),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    fn spec_dimensions(
        model: Option<&str>,
        dimensions: Option<usize>,
    ) -> (Option<usize>, Option<usize>) {
        let settings = Embeddings {
            model: model.map(str::to_owned),
            dimensions: dimensions.and_then(NonZeroUsize::new),
            ..Embeddings::default()
        };
        let spec = ModelSpec::new(&settings, "openai", "text-embedding-3-small");
        (spec.model.dimensions, spec.dimensions)
    }

    #[test]
    fn length_is_requested_only_if_it_differs() {
        assert_eq!(spec_dimensions(None, None), (Some(1_536), None));
        assert_eq!(spec_dimensions(None, Some(1_536)), (Some(1_536), None));
        assert_eq!(spec_dimensions(None, Some(512)), (Some(512), Some(512)));
        assert_eq!(spec_dimensions(Some("mine"), None), (None, None));
        assert_eq!(spec_dimensions(Some("mine"), Some(64)), (Some(64), Some(64)));
    }
}
