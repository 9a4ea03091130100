//! Synthetic text with the statistics of real text.
//!
//! Word frequencies follow Zipf's law, and new words keep appearing. A passage is about one or two
//! topics, whose words occur together, and used words are repeated; so term frequencies vary
//! between passages. Nearly half of the words are function words.

use super::{PASSAGE_CHARS, Passage, SeededRng};

/// Size of the vocabulary.
const VOCABULARY_SIZE: usize = 500_000;
/// Number of topics.
const TOPIC_COUNT: usize = 250;
/// Number of words per topic.
const WORDS_PER_TOPIC: usize = 400;
/// Percentages of function words, topic words and repeated words. The rest is drawn from the whole
/// vocabulary.
const FUNCTION_WORD_PERCENT: usize = 44;
const TOPIC_WORD_PERCENT: usize = 22;
const REPEATED_WORD_PERCENT: usize = 14;

/// Function words, most frequent first.
const FUNCTION_WORDS: [&str; 50] = [
    "the", "of", "and", "to", "a", "in", "is", "that", "it", "for", "as", "with", "be", "on", "by",
    "this", "are", "from", "or", "an", "at", "not", "which", "have", "can", "has", "but", "if",
    "will", "all", "when", "there", "its", "more", "they", "what", "how", "you", "should", "into",
    "some", "than", "then", "other", "no", "so", "each", "because", "where", "why",
];

/// Syllables that form words which the stemmer does not merge.
const SYLLABLES: [&str; 14] =
    ["ba", "ko", "ri", "ten", "lu", "mak", "do", "vi", "sho", "ga", "pel", "nu", "fra", "zi"];

/// Unlimited synthetic text about the topics of one part.
#[derive(Debug)]
pub(crate) struct SyntheticText {
    rng: SeededRng,
    function_words: Zipf,
    all_words: Zipf,
    topic_words: Zipf,
    /// The words of each topic, by number.
    topics: Vec<Vec<usize>>,
    /// The topics that most passages of this part are about.
    own_topics: std::ops::Range<usize>,
}

impl SyntheticText {
    /// Creates the text of part `part` of `parts`.
    pub(crate) fn new(part: usize, parts: usize) -> Self {
        // The vocabulary is the same for all parts; only its use differs.
        let mut die = SeededRng::new(usize::MAX);
        let general = Zipf::new(VOCABULARY_SIZE / 10, 200);
        let topics = (0..TOPIC_COUNT)
            .map(|_| (0..WORDS_PER_TOPIC).map(|_| general.draw(&mut die)).collect())
            .collect();
        Self {
            rng: SeededRng::new(part),
            function_words: Zipf::new(FUNCTION_WORDS.len(), 1),
            all_words: Zipf::new(VOCABULARY_SIZE, 6),
            topic_words: Zipf::new(WORDS_PER_TOPIC, 12),
            topics,
            own_topics: part * TOPIC_COUNT / parts..(part + 1) * TOPIC_COUNT / parts,
        }
    }

    /// Chooses one or two topics for a passage, seldom one of another part.
    fn topics(&mut self) -> Vec<usize> {
        let count = 1 + self.rng.below(2);
        (0..count)
            .map(|_| match self.rng.below(6) {
                0 => self.rng.below(TOPIC_COUNT),
                _ => self.own_topics.start + self.rng.below(self.own_topics.len()),
            })
            .collect()
    }

    /// Chooses a content word.
    fn content_word(&mut self, topics: &[usize], used_words: &mut Vec<usize>) -> usize {
        let number = match self.rng.below(100 - FUNCTION_WORD_PERCENT) {
            thrown if thrown < TOPIC_WORD_PERCENT => {
                let topic = topics.get(self.rng.below(topics.len())).copied().unwrap_or(0);
                let place = self.topic_words.draw(&mut self.rng);
                self.topics.get(topic).and_then(|words| words.get(place)).copied().unwrap_or(0)
            }
            thrown
                if thrown < TOPIC_WORD_PERCENT + REPEATED_WORD_PERCENT
                    && !used_words.is_empty() =>
            {
                used_words.get(self.rng.below(used_words.len())).copied().unwrap_or(0)
            }
            _ => self.all_words.draw(&mut self.rng),
        };
        used_words.push(number);
        number
    }

    fn write_sentence(&mut self, topics: &[usize], used_words: &mut Vec<usize>, text: &mut String) {
        let count = 6 + self.rng.below(18);
        for place in 0..count {
            let start = text.len();
            if self.rng.below(100) < FUNCTION_WORD_PERCENT {
                let number = self.function_words.draw(&mut self.rng);
                text.push_str(FUNCTION_WORDS.get(number).copied().unwrap_or_default());
            } else {
                write_word(self.content_word(topics, used_words), text);
            }
            if place == 0
                && let Some(first) = text.get_mut(start..=start)
            {
                first.make_ascii_uppercase();
            }
            text.push_str(if place + 1 < count { " " } else { ". " });
        }
    }
}

impl Iterator for SyntheticText {
    type Item = Passage;

    fn next(&mut self) -> Option<Passage> {
        let topics = self.topics();
        let mut used_words = Vec::new();
        let (mut title, mut body) = (String::new(), String::new());
        for _ in 0..3 + self.rng.below(4) {
            write_word(self.content_word(&topics, &mut used_words), &mut title);
            title.push(' ');
        }
        let length = PASSAGE_CHARS / 2 + self.rng.below(PASSAGE_CHARS);
        while body.len() < length {
            self.write_sentence(&topics, &mut used_words, &mut body);
        }
        body.truncate(body.trim_end().len());
        title.truncate(title.trim_end().len());
        Some(Passage { title, body })
    }
}

/// Appends the word with this number. Frequent words are short.
fn write_word(number: usize, text: &mut String) {
    let mut rest = number + SYLLABLES.len();
    while rest > 0 {
        text.push_str(SYLLABLES[rest % SYLLABLES.len()]);
        rest /= SYLLABLES.len();
    }
}

/// A Zipf distribution over numbers, lowest numbers first.
#[derive(Debug)]
struct Zipf {
    /// Cumulative weights.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// Creates a distribution over `count` numbers. A higher `shift` flattens it.
    fn new(count: usize, shift: u32) -> Self {
        let mut sum = 0.0;
        let sums = (shift..).take(count).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        Self { cumulative: sums.collect() }
    }

    fn draw(&self, die: &mut SeededRng) -> usize {
        let thrown = die.unit_interval() * self.cumulative.last().copied().unwrap_or_default();
        self.cumulative
            .partition_point(|sum| *sum < thrown)
            .min(self.cumulative.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_deterministic_and_differs_between_parts() {
        let first = |part| SyntheticText::new(part, 5).next().unwrap();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn passage_has_about_a_thousand_characters() {
        let lengths: Vec<usize> =
            SyntheticText::new(0, 1).take(500).map(|passage| passage.body.len()).collect();
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!((PASSAGE_CHARS - 150..PASSAGE_CHARS + 150).contains(&mean), "{mean}");
    }
}
