//! The list of embedding providers, and their selection by the settings.

use super::{Embedder, LocalEmbedder, SetupError, ollama::Ollama, openai::OpenAi, voyage::Voyage};
use vademecum_core::config::{EmbeddingProvider, Embeddings};

/// Opens the provider that the settings name, or returns `None` if they name none.
pub(super) fn open_provider(
    settings: &Embeddings,
) -> Result<Option<Box<dyn Embedder>>, SetupError> {
    Ok(match settings.provider {
        EmbeddingProvider::None => None,
        EmbeddingProvider::Local => Some(Box::new(LocalEmbedder::open(settings)?)),
        EmbeddingProvider::Ollama => Some(Box::new(Ollama::open(settings)?)),
        EmbeddingProvider::OpenAi => Some(Box::new(OpenAi::open(settings)?)),
        EmbeddingProvider::Voyage => Some(Box::new(Voyage::open(settings)?)),
        EmbeddingProvider::Stub => Some(open_stub(settings)?),
    })
}

/// Opens the provider for tests, which is built only with the feature `stub`.
#[cfg(feature = "stub")]
fn open_stub(settings: &Embeddings) -> Result<Box<dyn Embedder>, SetupError> {
    use super::StubEmbedder;

    if !settings.allow_stub {
        return Err(SetupError::StubNotAllowed);
    }
    let dimensions = settings.dimensions.map_or(StubEmbedder::DEFAULT_DIMENSIONS, usize::from);
    Ok(Box::new(StubEmbedder::new(dimensions)))
}

#[cfg(not(feature = "stub"))]
fn open_stub(_: &Embeddings) -> Result<Box<dyn Embedder>, SetupError> {
    Err(SetupError::NotBuiltIn { provider: "stub", feature: "stub" })
}
