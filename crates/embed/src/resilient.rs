//! One batch at a provider: let through or not, tried again where that helps,
//! and its answer checked. What comes out of here is sound and of length one.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use super::{EmbedError, Embedder, Purpose, breaker::Breaker, retry, vector};
use vademecum_core::config::Embeddings;

/// A provider that is asked with patience, and whose answers are not believed
/// unseen.
#[derive(Debug)]
pub(super) struct Resilient {
    provider: Box<dyn Embedder>,
    retries: u32,
    breaker: Breaker,
    /// How long its vectors are, once that is known.
    dimensions: OnceLock<usize>,
    wait: fn(Duration),
}

impl Resilient {
    /// The provider, asked as the settings say.
    pub(super) fn new(provider: Box<dyn Embedder>, settings: &Embeddings) -> Self {
        let breaker = Breaker::new(settings.breaker_failures.get(), settings.breaker_pause());
        let dimensions = provider.model().dimensions.map(OnceLock::from).unwrap_or_default();
        let wait = std::thread::sleep;
        Self { provider, retries: settings.retries, breaker, dimensions, wait }
    }

    /// The provider.
    pub(super) fn provider(&self) -> &dyn Embedder {
        &*self.provider
    }

    /// How long vectors are, once that is known.
    pub(super) fn dimensions(&self) -> Option<usize> {
        self.dimensions.get().copied()
    }

    /// Whether a vector that was made before is as long as those that are made now.
    pub(super) fn fits(&self, vector: &[f32]) -> bool {
        *self.dimensions.get_or_init(|| vector.len()) == vector.len()
    }

    /// A vector for each text. No try begins after `until`.
    pub(super) fn embed(
        &self,
        texts: &[&str],
        purpose: Purpose,
        until: Option<Instant>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.once(texts, purpose) {
                Ok(vectors) => return Ok(vectors),
                Err(error) => error,
            };
            let pause = retry::pause(&error, tries, retry::chance()).filter(|pause| {
                tries <= self.retries && until.is_none_or(|until| Instant::now() + *pause < until)
            });
            match pause {
                Some(pause) => (self.wait)(pause),
                None => return Err(error),
            }
        }
    }

    fn once(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let provider = self.provider.model().provider;
        self.breaker.admit(Instant::now()).map_err(|open| EmbedError::Resting {
            provider,
            failures: open.failures,
            wait: open.wait,
        })?;
        let answer = self.provider.embed(texts, purpose);
        match &answer {
            Err(error) if error.is_passing() => {
                if self.breaker.failed(Instant::now()) {
                    tracing::warn!(provider, %error, "`{provider}` failed too often and is left alone for a while");
                }
            }
            // Whoever refuses is there.
            Ok(_) | Err(_) => self.breaker.succeeded(),
        }
        self.checked(answer?, texts.len())
    }

    fn checked(&self, vectors: Vec<Vec<f32>>, texts: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
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

    type Answers = VecDeque<Result<Vec<Vec<f32>>, EmbedError>>;

    /// Somebody who says what it was told to say.
    #[derive(Clone, Debug)]
    struct Scripted {
        model: Model,
        answers: Arc<Mutex<Answers>>,
    }

    impl Embedder for Scripted {
        fn model(&self) -> &Model {
            &self.model
        }

        fn embed(&self, _: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.answers.lock().unwrap().pop_front().unwrap()
        }
    }

    fn busy() -> Result<Vec<Vec<f32>>, EmbedError> {
        let reason = "busy".to_owned();
        Err(EmbedError::Busy { provider: "scripted", status: 503, reason, retry_after: None })
    }

    fn resilient(
        dimensions: Option<usize>,
        answers: impl IntoIterator<Item = Result<Vec<Vec<f32>>, EmbedError>>,
    ) -> (Resilient, Arc<Mutex<Answers>>) {
        let model = Model { provider: "scripted", name: "m".to_owned(), dimensions };
        let answers = Arc::new(Mutex::new(answers.into_iter().collect()));
        let provider = Scripted { model, answers: Arc::clone(&answers) };
        let settings = Embeddings {
            retries: 2,
            breaker_failures: NonZeroU32::MIN.saturating_add(3),
            ..Embeddings::default()
        };
        let resilient = Resilient::new(Box::new(provider), &settings);
        (Resilient { wait: |_| (), ..resilient }, answers)
    }

    fn ask(resilient: &Resilient) -> Result<Vec<Vec<f32>>, EmbedError> {
        resilient.embed(&["a"], Purpose::Query, None)
    }

    #[test]
    fn what_may_pass_is_tried_again_as_often_as_is_set() {
        let (provider, left) = resilient(None, [busy(), busy(), Ok(vec![vec![3.0, 4.0]])]);
        assert_eq!(ask(&provider).unwrap(), [[0.6, 0.8]]);
        assert!(left.lock().unwrap().is_empty());
        let (provider, left) = resilient(None, [busy(), busy(), busy(), busy()]);
        assert_eq!(ask(&provider), busy());
        assert_eq!(left.lock().unwrap().len(), 1);
    }

    #[test]
    fn nothing_is_tried_again_when_the_time_is_up() {
        let (provider, left) = resilient(None, [busy(), busy()]);
        assert_eq!(provider.embed(&["a"], Purpose::Query, Some(Instant::now())), busy());
        assert_eq!(left.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_provider_that_fails_and_fails_is_not_asked_any_more() {
        let (provider, left) = resilient(None, (0..5).map(|_| busy()));
        assert_eq!(ask(&provider), busy());
        let error = ask(&provider).unwrap_err();
        assert!(matches!(error, EmbedError::Resting { failures: 4, .. }), "{error}");
        assert_eq!(left.lock().unwrap().len(), 1);
    }

    #[test]
    fn vectors_are_as_long_as_the_model_says_or_else_as_the_first() {
        let (provider, _) = resilient(Some(3), [Ok(vec![vec![1.0, 0.0]])]);
        let error = ask(&provider).unwrap_err();
        assert!(matches!(error, EmbedError::Dimensions { expected: 3, found: 2, .. }), "{error}");
        let (provider, _) = resilient(None, [Ok(vec![vec![1.0, 0.0]]), Ok(vec![vec![1.0]])]);
        assert_eq!(provider.dimensions(), None);
        ask(&provider).unwrap();
        assert_eq!(provider.dimensions(), Some(2));
        let error = ask(&provider).unwrap_err();
        assert!(matches!(error, EmbedError::Dimensions { expected: 2, found: 1, .. }), "{error}");
    }

    #[test]
    fn an_answer_that_is_not_sound_is_not_handed_on() {
        for answer in [vec![], vec![vec![1.0], vec![1.0]], vec![vec![f32::NAN]], vec![vec![0.0]]] {
            let (provider, _) = resilient(None, [Ok(answer.clone())]);
            let error = ask(&provider).unwrap_err();
            assert!(matches!(error, EmbedError::Malformed { .. }), "{answer:?}: {error}");
            assert_eq!(provider.dimensions(), None);
        }
    }
}
