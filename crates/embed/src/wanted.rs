//! Which model the settings want, and how long its vectors are to be.

use super::{Model, models};
use vademecum_core::config::Embeddings;

/// A model of a provider that is asked by name.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The model, with the length that its vectors must have as far as it is known.
    pub(super) model: Model,
    /// The length to ask for: where one is set, and the model does not make such
    /// vectors anyway. Models that cannot shorten them refuse to be asked.
    pub(super) dimensions: Option<usize>,
}

impl Wanted {
    /// The model in the settings or, without one, the provider's `usual` one.
    pub(super) fn new(settings: &Embeddings, provider: &'static str, usual: &str) -> Self {
        let name = settings.model.clone().unwrap_or_else(|| usual.to_owned());
        let (set, known) = (settings.dimensions.map(usize::from), models::dimensions(&name));
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

    fn wanted(model: Option<&str>, dimensions: Option<usize>) -> (Option<usize>, Option<usize>) {
        let settings = Embeddings {
            model: model.map(str::to_owned),
            dimensions: dimensions.and_then(NonZeroUsize::new),
            ..Embeddings::default()
        };
        let wanted = Wanted::new(&settings, "openai", "text-embedding-3-small");
        (wanted.model.dimensions, wanted.dimensions)
    }

    #[test]
    fn a_length_is_asked_for_only_where_the_model_makes_another() {
        assert_eq!(wanted(None, None), (Some(1_536), None));
        assert_eq!(wanted(None, Some(1_536)), (Some(1_536), None));
        assert_eq!(wanted(None, Some(512)), (Some(512), Some(512)));
        assert_eq!(wanted(Some("mine"), None), (None, None));
        assert_eq!(wanted(Some("mine"), Some(64)), (Some(64), Some(64)));
    }
}
