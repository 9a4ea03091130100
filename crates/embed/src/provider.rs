//! Which provider the settings name: the list of all there are.

use super::{Embedder, Local, SetupError, Stub, ollama::Ollama, openai::OpenAi, voyage::Voyage};
use vademecum_core::config::{Embeddings, Provider};

/// The provider that the settings name, if they name one.
pub(super) fn open(settings: &Embeddings) -> Result<Option<Box<dyn Embedder>>, SetupError> {
    Ok(match settings.provider {
        Provider::None => None,
        Provider::Local => Some(Box::new(Local::open(settings)?)),
        Provider::Ollama => Some(Box::new(Ollama::open(settings)?)),
        Provider::OpenAi => Some(Box::new(OpenAi::open(settings)?)),
        Provider::Voyage => Some(Box::new(Voyage::open(settings)?)),
        Provider::Stub => {
            let dimensions = settings.dimensions.map_or(Stub::DIMENSIONS, usize::from);
            Some(Box::new(Stub::new(dimensions)))
        }
    })
}
