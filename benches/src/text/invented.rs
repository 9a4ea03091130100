//! Invented text that is spread like real text.
//!
//! Words are as uneven as Zipf says, and there are always new ones. A passage
//! is about one or two topics, whose words come together, and a word that was
//! said once is said again: so the same word counts differently in different
//! passages. Half of the words say nothing, as in any sentence.

use super::{Die, LENGTH, Passage};

/// Words that can be said at all.
const WORDS: usize = 500_000;
/// Topics that there are.
const TOPICS: usize = 250;
/// Words that belong to a topic.
const TOPIC_WORDS: usize = 400;
/// Of a hundred words: how many say nothing, belong to the topic, or were
/// said before. The rest is anything.
const EMPTY: usize = 44;
const TOPICAL: usize = 22;
const AGAIN: usize = 14;

/// Words that say nothing, most frequent first.
const EMPTY_WORDS: [&str; 50] = [
    "the", "of", "and", "to", "a", "in", "is", "that", "it", "for", "as", "with", "be", "on", "by",
    "this", "are", "from", "or", "an", "at", "not", "which", "have", "can", "has", "but", "if",
    "will", "all", "when", "there", "its", "more", "they", "what", "how", "you", "should", "into",
    "some", "than", "then", "other", "no", "so", "each", "because", "where", "why",
];

/// Syllables that make words which the stemmer leaves apart.
const SYLLABLES: [&str; 14] =
    ["ba", "ko", "ri", "ten", "lu", "mak", "do", "vi", "sho", "ga", "pel", "nu", "fra", "zi"];

/// Text about the topics of one part, without end.
#[derive(Debug)]
pub(crate) struct Invented {
    die: Die,
    empty: Zipf,
    any: Zipf,
    of_topic: Zipf,
    /// For each topic the words that belong to it.
    topics: Vec<Vec<usize>>,
    /// The topics that most passages of this part are about.
    own: std::ops::Range<usize>,
}

impl Invented {
    /// The text of one part of several.
    pub(crate) fn new(part: usize, parts: usize) -> Self {
        // Words are the same for all parts; what is said with them is not.
        let mut die = Die::new(usize::MAX);
        let general = Zipf::new(WORDS / 10, 200);
        let topics = (0..TOPICS)
            .map(|_| (0..TOPIC_WORDS).map(|_| general.draw(&mut die)).collect())
            .collect();
        Self {
            die: Die::new(part),
            empty: Zipf::new(EMPTY_WORDS.len(), 1),
            any: Zipf::new(WORDS, 6),
            of_topic: Zipf::new(TOPIC_WORDS, 12),
            topics,
            own: part * TOPICS / parts..(part + 1) * TOPICS / parts,
        }
    }

    /// What a passage is about: one topic or two, and seldom those of others.
    fn topics(&mut self) -> Vec<usize> {
        let count = 1 + self.die.below(2);
        (0..count)
            .map(|_| match self.die.below(6) {
                0 => self.die.below(TOPICS),
                _ => self.own.start + self.die.below(self.own.len()),
            })
            .collect()
    }

    /// A word that says something.
    fn word(&mut self, topics: &[usize], said: &mut Vec<usize>) -> usize {
        let number = match self.die.below(100 - EMPTY) {
            thrown if thrown < TOPICAL => {
                let topic = topics.get(self.die.below(topics.len())).copied().unwrap_or(0);
                let place = self.of_topic.draw(&mut self.die);
                self.topics.get(topic).and_then(|words| words.get(place)).copied().unwrap_or(0)
            }
            thrown if thrown < TOPICAL + AGAIN && !said.is_empty() => {
                said.get(self.die.below(said.len())).copied().unwrap_or(0)
            }
            _ => self.any.draw(&mut self.die),
        };
        said.push(number);
        number
    }

    fn sentence(&mut self, topics: &[usize], said: &mut Vec<usize>, text: &mut String) {
        let count = 6 + self.die.below(18);
        for place in 0..count {
            let start = text.len();
            if self.die.below(100) < EMPTY {
                let number = self.empty.draw(&mut self.die);
                text.push_str(EMPTY_WORDS.get(number).copied().unwrap_or_default());
            } else {
                spell(self.word(topics, said), text);
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

impl Iterator for Invented {
    type Item = Passage;

    fn next(&mut self) -> Option<Passage> {
        let topics = self.topics();
        let mut said = Vec::new();
        let (mut title, mut body) = (String::new(), String::new());
        for _ in 0..3 + self.die.below(4) {
            spell(self.word(&topics, &mut said), &mut title);
            title.push(' ');
        }
        let length = LENGTH / 2 + self.die.below(LENGTH);
        while body.len() < length {
            self.sentence(&topics, &mut said, &mut body);
        }
        body.truncate(body.trim_end().len());
        title.truncate(title.trim_end().len());
        Some(Passage { title, body })
    }
}

/// Writes the word of a number; frequent ones are short.
fn spell(number: usize, text: &mut String) {
    let mut rest = number + SYLLABLES.len();
    while rest > 0 {
        text.push_str(SYLLABLES[rest % SYLLABLES.len()]);
        rest /= SYLLABLES.len();
    }
}

/// Numbers, of which the first are drawn most often.
#[derive(Debug)]
struct Zipf {
    /// For each number, how often it or an earlier one is drawn.
    sums: Vec<f64>,
}

impl Zipf {
    /// So many numbers; the higher `shift`, the less do the first stand out.
    fn new(count: usize, shift: u32) -> Self {
        let mut sum = 0.0;
        let sums = (shift..).take(count).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        Self { sums: sums.collect() }
    }

    fn draw(&self, die: &mut Die) -> usize {
        let thrown = die.share() * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|sum| *sum < thrown).min(self.sums.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_says_the_same_and_every_part_something_else() {
        let first = |part| Invented::new(part, 5).next().unwrap();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn a_passage_is_about_a_thousand_characters_long() {
        let lengths: Vec<usize> =
            Invented::new(0, 1).take(500).map(|passage| passage.body.len()).collect();
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!((LENGTH - 150..LENGTH + 150).contains(&mean), "{mean}");
    }
}
