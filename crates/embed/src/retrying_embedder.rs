//! Retries, circuit breaking and validation around a provider. The vectors it returns are valid and
//! have length one.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use super::{EmbedError, Embedder, Purpose, circuit_breaker::CircuitBreaker, retry, vector};
use vademecum_core::config::Embeddings;

/// A provider with retries, a circuit breaker and validated responses.
#[derive(Debug)]
pub(super) struct RetryingEmbedder {
    pub(super) provider: Box<dyn Embedder>,
    retries: u32,
    breaker: CircuitBreaker,
    /// Number of dimensions: the model's, or that of the first vector.
    dimensions: OnceLock<usize>,
    sleep: fn(Duration),
}

impl RetryingEmbedder {
    /// Wraps `provider` with the retries and circuit breaker of the settings.
    pub(super) fn new(provider: Box<dyn Embedder>, settings: &Embeddings) -> Self {
        let breaker =
            CircuitBreaker::new(settings.breaker_failures.get(), settings.breaker_pause());
        let dimensions = provider.model().dimensions.map(OnceLock::from).unwrap_or_default();
        let sleep = std::thread::sleep;
        Self { provider, retries: settings.retries, breaker, dimensions, sleep }
    }

    /// Returns the number of dimensions, once it is known.
    pub(super) fn dimensions(&self) -> Option<usize> {
        self.dimensions.get().copied()
    }

    /// Returns `true` if a cached vector has the dimensions of the model. If they are not known yet,
    /// those of `vector` are taken.
    pub(super) fn has_expected_length(&self, vector: &[f32]) -> bool {
        *self.dimensions.get_or_init(|| vector.len()) == vector.len()
    }

    /// Embeds one batch, with retries. No attempt begins after `until`.
    pub(super) fn embed(
        &self,
        texts: &[&str],
        purpose: Purpose,
        until: Option<Instant>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.try_once(texts, purpose) {
                Ok(vectors) => return Ok(vectors),
                Err(error) => error,
            };
            let pause =
                retry::retry_pause(&error, tries, retry::random_fraction()).filter(|pause| {
                    tries <= self.retries
                        && until.is_none_or(|until| Instant::now() + *pause < until)
                });
            match pause {
                Some(pause) => (self.sleep)(pause),
                None => return Err(error),
            }
        }
    }

    fn try_once(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let provider = self.provider.model().provider;
        self.breaker.admit(Instant::now()).map_err(|open| EmbedError::CircuitOpen {
            provider,
            failures: open.failures,
            wait: open.wait,
        })?;
        let answer = self.provider.embed(texts, purpose);
        match &answer {
            Err(error) if error.is_transient() => {
                if self.breaker.record_failure(Instant::now()) {
                    tracing::warn!(provider, %error, "circuit breaker of `{provider}` opened after repeated failures");
                }
            }
            // A provider that rejects a request is reachable.
            Ok(_) | Err(_) => self.breaker.record_success(),
        }
        self.validate_vectors(answer?, texts.len())
    }

    fn validate_vectors(
        &self,
        vectors: Vec<Vec<f32>>,
        texts: usize,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let model = self.provider.model();
        let malformed = |reason| EmbedError::Malformed { provider: model.provider, reason };
        if vectors.len() != texts {
            let found = vectors.len();
            return Err(malformed(format!("it has {found} vectors for {texts} texts")));
        }
        let check = |vector: Vec<f32>| {
            let found = vector.len();
            let vector = vector::normalise(vector).ok_or_else(|| {
                malformed("a vector is zero or has a number that is not finite".to_owned())
            })?;
            let expected = *self.dimensions.get_or_init(|| found);
            if found != expected {
                let (provider, model) = (model.provider, model.name.clone());
                return Err(EmbedError::Dimensions { provider, model, expected, found });
            }
            Ok(vector)
        };
        vectors.into_iter().map(check).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        num::NonZeroU32,
        sync::{Arc, Mutex},
    };

    use super::{super::Model, *};

    type Responses = VecDeque<Result<Vec<Vec<f32>>, EmbedError>>;

    /// A provider that returns prepared responses.
    #[derive(Clone, Debug)]
    struct ScriptedEmbedder {
        model: Model,
        answers: Arc<Mutex<Responses>>,
    }

    impl Embedder for ScriptedEmbedder {
        fn model(&self) -> &Model {
            &self.model
        }

        fn embed(&self, _: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.answers.lock().unwrap().pop_front().unwrap()
        }
    }

    fn busy_response() -> Result<Vec<Vec<f32>>, EmbedError> {
        let reason = "busy".to_owned();
        Err(EmbedError::Busy { provider: "scripted", status: 503, reason, retry_after: None })
    }

    fn retrying_embedder(
        dimensions: Option<usize>,
        answers: impl IntoIterator<Item = Result<Vec<Vec<f32>>, EmbedError>>,
    ) -> (RetryingEmbedder, Arc<Mutex<Responses>>) {
        let model = Model { provider: "scripted", name: "m".to_owned(), dimensions };
        let answers = Arc::new(Mutex::new(answers.into_iter().collect()));
        let provider = ScriptedEmbedder { model, answers: Arc::clone(&answers) };
        let settings = Embeddings {
            retries: 2,
            breaker_failures: NonZeroU32::MIN.saturating_add(3),
            ..Embeddings::default()
        };
        let resilient = RetryingEmbedder::new(Box::new(provider), &settings);
        (RetryingEmbedder { sleep: |_| (), ..resilient }, answers)
    }

    fn embed_one(resilient: &RetryingEmbedder) -> Result<Vec<Vec<f32>>, EmbedError> {
        resilient.embed(&["a"], Purpose::Query, None)
    }

    #[test]
    fn transient_errors_are_retried_up_to_limit() {
        let (provider, left) =
            retrying_embedder(None, [busy_response(), busy_response(), Ok(vec![vec![3.0, 4.0]])]);
        assert_eq!(embed_one(&provider).unwrap(), [[0.6, 0.8]]);
        assert!(left.lock().unwrap().is_empty());
        let (provider, left) = retrying_embedder(
            None,
            [busy_response(), busy_response(), busy_response(), busy_response()],
        );
        assert_eq!(embed_one(&provider), busy_response());
        assert_eq!(left.lock().unwrap().len(), 1);
    }

    #[test]
    fn retry_stops_at_deadline() {
        let (provider, left) = retrying_embedder(None, [busy_response(), busy_response()]);
        assert_eq!(provider.embed(&["a"], Purpose::Query, Some(Instant::now())), busy_response());
        assert_eq!(left.lock().unwrap().len(), 1);
    }

    #[test]
    fn breaker_stops_requests_after_repeated_failures() {
        let (provider, left) = retrying_embedder(None, (0..5).map(|_| busy_response()));
        assert_eq!(embed_one(&provider), busy_response());
        let error = embed_one(&provider).unwrap_err();
        assert!(matches!(error, EmbedError::CircuitOpen { failures: 4, .. }), "{error}");
        assert_eq!(left.lock().unwrap().len(), 1);
    }

    #[test]
    fn dimensions_follow_model_or_first_vector() {
        let (provider, _) = retrying_embedder(Some(3), [Ok(vec![vec![1.0, 0.0]])]);
        let error = embed_one(&provider).unwrap_err();
        assert!(matches!(error, EmbedError::Dimensions { expected: 3, found: 2, .. }), "{error}");
        let (provider, _) =
            retrying_embedder(None, [Ok(vec![vec![1.0, 0.0]]), Ok(vec![vec![1.0]])]);
        assert_eq!(provider.dimensions(), None);
        embed_one(&provider).unwrap();
        assert_eq!(provider.dimensions(), Some(2));
        let error = embed_one(&provider).unwrap_err();
        assert!(matches!(error, EmbedError::Dimensions { expected: 2, found: 1, .. }), "{error}");
    }

    #[test]
    fn invalid_response_is_rejected() {
        for answer in [vec![], vec![vec![1.0], vec![1.0]], vec![vec![f32::NAN]], vec![vec![0.0]]] {
            let (provider, _) = retrying_embedder(None, [Ok(answer.clone())]);
            let error = embed_one(&provider).unwrap_err();
            assert!(matches!(error, EmbedError::Malformed { .. }), "{answer:?}: {error}");
            assert_eq!(provider.dimensions(), None);
        }
    }
}
