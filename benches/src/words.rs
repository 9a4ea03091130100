//! Invented text whose words are as unevenly spread as real ones (Zipf).

/// A vocabulary and a die, the same in every run.
#[derive(Clone, Debug)]
pub struct Words {
    vocabulary: Vec<String>,
    /// For each word, how likely it is that the die shows it or an earlier one.
    sums: Vec<f64>,
    state: u64,
}

/// What a query is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words that few passages hold.
    Rare,
    /// One rare, one in the middle, one common.
    Mixed,
    /// Words that many passages hold.
    Common,
    /// A question, with its stop words.
    Question,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Rare, Self::Mixed, Self::Common, Self::Question];
}

impl Words {
    /// A vocabulary of so many words.
    pub fn new(count: usize) -> Self {
        let syllables = [
            "ba", "ko", "ri", "ten", "lu", "mas", "do", "vi", "sho", "ga", "pel", "nu", "fra", "zi",
        ];
        let vocabulary = (0..count)
            .map(|number| {
                let mut rest = number + 14;
                let mut word = String::new();
                while rest > 0 {
                    word.push_str(syllables[rest % 14]);
                    rest /= 14;
                }
                word
            })
            .collect();
        let mut sum = 0.0;
        let sums = (0_u32..)
            .take(count)
            .map(|rank| {
                sum += 1.0 / f64::from(rank + 10);
                sum
            })
            .collect();
        Self { vocabulary, sums, state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// About so many words of text: half to one and a half times as many.
    pub fn text(&mut self, about: usize) -> String {
        let count = about / 2 + self.die() % (about + 1);
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words
            .chunks(12)
            .map(|sentence| format!("{}. ", sentence.join(" ")))
            .collect::<Vec<_>>()
            .concat()
    }

    /// A query.
    pub fn query(&mut self, kind: Kind) -> String {
        let count = self.vocabulary.len();
        match kind {
            Kind::Rare => self.pick(&[(count / 2, count), (count / 2, count)]),
            Kind::Mixed => self.pick(&[(count / 2, count), (500, 2_000), (20, 100)]),
            Kind::Common => self.pick(&[(0, 50), (0, 50), (50, 200)]),
            Kind::Question => {
                let words = self.pick(&[(count / 4, count), (200, 2_000), (20, 200), (0, 50)]);
                format!("how do I find out what the {words} are and why is it so?")
            }
        }
    }

    fn pick(&mut self, ranges: &[(usize, usize)]) -> String {
        let words: Vec<String> = ranges
            .iter()
            .map(|(from, to)| {
                let index = from + self.die() % (to - from);
                self.vocabulary.get(index).cloned().unwrap_or_default()
            })
            .collect();
        words.join(" ")
    }

    fn word(&mut self) -> String {
        let total = self.sums.last().copied().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "20 bits of a die")]
        let thrown = (self.die() % (1 << 20)) as f64 / f64::from(1 << 20) * total;
        let index = self.sums.partition_point(|sum| *sum < thrown);
        self.vocabulary.get(index).cloned().unwrap_or_default()
    }

    /// xorshift64*: good enough to spread words.
    fn die(&mut self) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        usize::try_from(self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap_or(0)
    }
}
