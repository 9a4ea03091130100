//! Finding the phrases of a query in a text.
//!
//! The text is read in one pass. Parts without the first letters of any word of the query are skipped
//! without dividing them into words; most of the other words are rejected by their first letters,
//! before they are folded.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{HashMap, VecDeque},
    ops::{ControlFlow, Range},
    sync::OnceLock,
};

use vademecum_fts5::{
    EXACT_MARK, LANGUAGE_PART_BYTES, Language, Word, WordBeginnings, detect_language,
    detect_languages, for_each_candidate_word, for_each_word, is_unspaced, with_stem,
};

use super::{
    FtsQuery,
    phrase::{InflectedWord, QueryLanguage, QueryWord},
    word_stems::WordStems,
};

/// Maximum number of words compared in one phrase: the number of bits in a `u64`.
const MAX_PHRASE_WORDS: usize = 64;

/// One occurrence of a query phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhraseMatch {
    /// Index of the phrase, in query order.
    pub(crate) phrase: usize,
    /// Byte range in the text.
    pub(crate) range: Range<usize>,
}

/// A phrase, and positions of a word in it: one bit per position.
type PhrasePositions = Vec<(usize, u64)>;

/// Query phrases prepared for matching against many texts.
#[derive(Clone, Debug)]
pub(crate) struct PhraseMatcher<'q> {
    /// Number of words in each way of writing a phrase; these are the phrases of the fields below.
    lengths: Vec<usize>,
    /// Phrase of the query that each belongs to.
    owners: Vec<usize>,
    /// Words of which any form matches, with a phrase and a position.
    inflected: Vec<(&'q InflectedWord, usize, u64)>,
    /// Stems of these words in the languages of the query.
    stems: Vec<StemPositions>,
    /// Positions of words as they are. Texts in other languages than that of the query have no other
    /// forms.
    exact_positions: HashMap<String, PhrasePositions>,
    /// Phrases that are a prefix of a word.
    prefixes: Vec<(&'q str, usize)>,
    /// First letters of all words.
    beginnings: WordBeginnings,
    /// Stems in the languages of texts that are not languages of the query, for [`Language::ALL`].
    of_texts: [OnceLock<Box<StemPositions>>; Language::ALL.len()],
}

/// Stems of the words of a query in one language.
#[derive(Clone, Debug)]
struct StemPositions {
    language: Language,
    positions: HashMap<String, PhrasePositions>,
    /// First letters that all forms of a word share.
    beginnings: WordBeginnings,
}

impl StemPositions {
    fn new(language: Language, words: &[(&InflectedWord, usize, u64)]) -> Self {
        let mut stems =
            Self { language, positions: HashMap::new(), beginnings: WordBeginnings::default() };
        for (word, phrase, place) in words {
            for typed in &word.typed {
                let of_word = WordStems::new(language, typed);
                for stem in of_word.iter() {
                    let known = stems.positions.entry(stem.to_owned()).or_default();
                    add_position(known, *phrase, *place);
                }
                of_word.beginnings(language).iter().for_each(|it| stems.beginnings.add(it));
                // The word itself has its stem in every language.
                stems.beginnings.add(&typed.folded);
            }
        }
        stems
    }

    /// Calls `visit` with the positions of each phrase that the word can have, by one of the stems.
    fn for_each_position(&self, word: &Word<'_>, mut visit: impl FnMut(usize, u64)) {
        for written in [Some(word.folded), word.accented].into_iter().flatten() {
            let found = with_stem(self.language, written, |stem| self.positions.get(stem));
            found
                .into_iter()
                .flatten()
                .for_each(|(phrase, position_bits)| visit(*phrase, *position_bits));
        }
    }
}

fn add_position(known: &mut PhrasePositions, phrase: usize, position_bits: u64) {
    match known.iter_mut().find(|(known, _)| *known == phrase) {
        Some((_, known)) => *known |= position_bits,
        None => known.push((phrase, position_bits)),
    }
}

/// Partial match of a phrase, and the word position that must come next.
#[derive(Clone, Copy, Default)]
struct PartialMatch {
    matched_bits: u64,
    next_position: usize,
}

impl<'q> PhraseMatcher<'q> {
    /// Prepares the phrases of `query`.
    pub(crate) fn new(query: &'q FtsQuery) -> Self {
        let mut matcher = Self {
            lengths: Vec::new(),
            owners: Vec::new(),
            inflected: Vec::new(),
            stems: Vec::new(),
            exact_positions: HashMap::new(),
            prefixes: Vec::new(),
            beginnings: WordBeginnings::default(),
            of_texts: [const { OnceLock::new() }; Language::ALL.len()],
        };
        let phrases = query.phrases().enumerate();
        let sequences = phrases
            .flat_map(|(owner, phrase)| phrase.sequences().map(move |it| (owner, phrase, it)));
        for (number, (owner, phrase, sequence)) in sequences.enumerate() {
            let words: Vec<MatchedWord<'q>> =
                matched_words(sequence).take(MAX_PHRASE_WORDS).collect();
            matcher.lengths.push(words.len());
            matcher.owners.push(owner);
            for (place, word) in words.into_iter().enumerate() {
                matcher.add_word(word, phrase.prefix, number, 1 << place);
            }
        }
        let languages = query_languages(&matcher.inflected);
        matcher.stems = languages
            .into_iter()
            .map(|language| StemPositions::new(language, &matcher.inflected))
            .collect();
        for stems in &matcher.stems {
            matcher.beginnings.merge(&stems.beginnings);
        }
        matcher
    }

    fn add_word(&mut self, word: MatchedWord<'q>, prefix: bool, phrase: usize, place: u64) {
        match word {
            MatchedWord::Inflected(word) => {
                for typed in &word.typed {
                    let known = self.exact_positions.entry(typed.folded.clone()).or_default();
                    add_position(known, phrase, place);
                    self.beginnings.add(&typed.folded);
                }
                self.inflected.push((word, phrase, place));
            }
            MatchedWord::Exact(word) if prefix => {
                self.prefixes.push((word, phrase));
                self.beginnings.add(word);
            }
            MatchedWord::Exact(word) => {
                add_position(
                    self.exact_positions.entry(word.to_owned()).or_default(),
                    phrase,
                    place,
                );
                self.beginnings.add(word);
            }
        }
    }

    /// Returns the stems that count in a text in some languages, like those that its row in a full-text
    /// table is found by: in these languages and in English, or in those of the query if there are none.
    fn stems_for_text(&self, of_text: &[&str]) -> Vec<&StemPositions> {
        if of_text.is_empty() {
            return self.stems.iter().collect();
        }
        let is_known = self.inflected.iter().all(|(word, ..)| word.language.is_some());
        let of_english = |stems: &&StemPositions| stems.language == Language::English;
        let english = self.stems.iter().find(of_english).filter(|_| !of_text.contains(&"en"));
        let find_stems = |code: &str| {
            let known = self.stems.iter().find(|stems| stems.language.code() == code);
            known
                .or_else(|| if is_known { None } else { self.stems_in(Language::from_code(code)?) })
        };
        of_text.iter().copied().filter_map(find_stems).chain(english).collect()
    }

    /// Returns the stems in a language that is not one of the query.
    fn stems_in(&self, language: Language) -> Option<&StemPositions> {
        let (_, stems) =
            Language::ALL.into_iter().zip(&self.of_texts).find(|it| it.0 == language)?;
        Some(stems.get_or_init(|| Box::new(StemPositions::new(language, &self.inflected))))
    }

    /// Returns the letters with which the words begin that have one of the stems.
    fn beginnings_for(&self, stems: &[&StemPositions]) -> Cow<'_, WordBeginnings> {
        let is_known = |stems: &&StemPositions| {
            self.stems.iter().any(|known| known.language == stems.language)
        };
        let mut others = stems.iter().filter(|stems| !is_known(stems));
        let Some(other) = others.next() else { return Cow::Borrowed(&self.beginnings) };
        let mut all = other.beginnings.clone();
        all.merge(&self.beginnings);
        others.for_each(|it| all.merge(&it.beginnings));
        Cow::Owned(all)
    }

    /// Returns the number of phrases.
    pub(crate) fn phrase_count(&self) -> usize {
        self.owners.last().map_or(0, |last| last + 1)
    }

    /// Returns whether a word is part of any phrase for which `accepts` returns true.
    pub(crate) fn is_phrase_word(&self, word: &Word<'_>, accepts: impl Fn(usize) -> bool) -> bool {
        let owner = |phrase: usize| self.owners.get(phrase).copied();
        let mut found = PhrasePositions::new();
        self.find_positions(word, &self.stems.iter().collect::<Vec<_>>(), &mut found);
        found.iter().any(|(phrase, _)| owner(*phrase).is_some_and(&accepts))
    }

    /// Stores each phrase that contains a word in `found`, with the word's positions in it.
    fn find_positions(
        &self,
        word: &Word<'_>,
        stems: &[&StemPositions],
        found: &mut PhrasePositions,
    ) {
        found.clear();
        for stems in stems {
            stems.for_each_position(word, |phrase, position_bits| {
                add_position(found, phrase, position_bits);
            });
        }
        for (phrase, position_bits) in self.exact_positions.get(word.folded).into_iter().flatten() {
            add_position(found, *phrase, *position_bits);
        }
        for (beginning, phrase) in &self.prefixes {
            if word.folded.starts_with(beginning) {
                add_position(found, *phrase, 1);
            }
        }
        found.sort_unstable();
    }

    /// Calls `visit` for every match in `text`, ordered by match end, until it breaks.
    pub(crate) fn for_each_match(
        &self,
        text: &str,
        mut visit: impl FnMut(PhraseMatch) -> ControlFlow<()>,
    ) {
        if self.lengths.is_empty() {
            return;
        }
        let is_found = Cell::new(false);
        let mut visit = |found: PhraseMatch| {
            is_found.set(true);
            visit(found)
        };
        // The beginning of a text tells its language sooner than all of it.
        let first = detect_language(text);
        self.for_each_match_in(text, first.as_slice(), &mut visit);
        let may_have_others = text.len() > LANGUAGE_PART_BYTES && !self.inflected.is_empty();
        if !is_found.get() && may_have_others {
            let all = detect_languages(text);
            if all.iter().any(|code| Some(*code) != first) {
                self.for_each_match_in(text, &all, &mut visit);
            }
        }
    }

    /// Calls `visit` for every match in a text in some languages, until it breaks.
    fn for_each_match_in(
        &self,
        text: &str,
        languages: &[&str],
        visit: &mut impl FnMut(PhraseMatch) -> ControlFlow<()>,
    ) {
        let stems = self.stems_for_text(languages);
        let beginnings = self.beginnings_for(&stems);
        let mut matching = Matching::new(self, stems);
        for_each_candidate_word(text, &beginnings, |word| matching.add_word(&word, visit));
    }
}

/// State of the search for phrases in a text.
struct Matching<'m> {
    matcher: &'m PhraseMatcher<'m>,
    /// The stems that count in the text.
    stems: Vec<&'m StemPositions>,
    /// Number of words of the longest phrase.
    longest: usize,
    progress: Vec<PartialMatch>,
    /// Start positions of the most recent query words.
    starts: VecDeque<usize>,
    /// Phrases of the present word.
    found: PhrasePositions,
}

impl<'m> Matching<'m> {
    fn new(matcher: &'m PhraseMatcher<'m>, stems: Vec<&'m StemPositions>) -> Self {
        let longest = matcher.lengths.iter().copied().max().unwrap_or(0);
        Self {
            matcher,
            stems,
            longest,
            progress: vec![PartialMatch::default(); matcher.lengths.len()],
            starts: VecDeque::with_capacity(longest),
            found: PhrasePositions::new(),
        }
    }

    /// Adds the next word of the text and calls `visit` for the matches that end with it. Words that
    /// are part of no phrase may be left out.
    fn add_word(
        &mut self,
        word: &Word<'_>,
        visit: &mut impl FnMut(PhraseMatch) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (matcher, starts) = (self.matcher, &mut self.starts);
        matcher.find_positions(word, &self.stems, &mut self.found);
        if !self.found.is_empty() {
            if starts.len() == self.longest {
                starts.pop_front();
            }
            starts.push_back(word.range.start);
        }
        for (phrase, position_bits) in &self.found {
            let (lengths, progress) = (&matcher.lengths, &mut self.progress);
            let advanced = advance_match(lengths, progress, *phrase, *position_bits, word.position);
            let Some(length) = advanced else { continue };
            let first = starts.len().checked_sub(length).and_then(|first| starts.get(first));
            let start = first.copied().unwrap_or(word.range.start);
            let Some(phrase) = matcher.owners.get(*phrase).copied() else { continue };
            visit(PhraseMatch { phrase, range: start..word.range.end })?;
        }
        ControlFlow::Continue(())
    }
}

/// A word to compare with those of a text.
#[derive(Clone, Copy)]
enum MatchedWord<'q> {
    Exact(&'q str),
    Inflected(&'q InflectedWord),
}

/// Returns the words of a sequence. A pair of characters from a script without spaces is one token
/// but two words. A combining mark belongs to the preceding character, as in `が`, which folds into
/// two.
fn matched_words(words: &[QueryWord]) -> impl Iterator<Item = MatchedWord<'_>> {
    words.iter().flat_map(|word| {
        let token = match word {
            QueryWord::Inflected(word) => return vec![MatchedWord::Inflected(word)],
            QueryWord::Exact(token) => token,
        };
        if !token.starts_with(is_unspaced) {
            return vec![MatchedWord::Exact(token.trim_start_matches(EXACT_MARK))];
        }
        let mut words = Vec::new();
        for_each_word(token, |word| {
            words.extend(token.get(word.range).map(MatchedWord::Exact));
            ControlFlow::Continue(())
        });
        words
    })
}

/// Returns the language of the query, otherwise the usual ones of the scripts of its words.
fn query_languages(words: &[(&InflectedWord, usize, u64)]) -> Vec<Language> {
    let mut languages = Vec::new();
    for (word, ..) in words {
        let usual = || word.typed.first()?.script()?.default_language();
        let language = match word.language {
            Some(QueryLanguage::Stemmed(language)) => Some(language),
            Some(QueryLanguage::Vietnamese) | None => usual(),
        };
        let language = language.unwrap_or(Language::English);
        if !languages.contains(&language) {
            languages.push(language);
        }
    }
    languages
}

/// Advances the partial match of a phrase by one word. Returns the phrase length if the match is
/// complete.
fn advance_match(
    lengths: &[usize],
    progress: &mut [PartialMatch],
    phrase: usize,
    position_bits: u64,
    position: usize,
) -> Option<usize> {
    let length = *lengths.get(phrase)?;
    let so_far = progress.get_mut(phrase)?;
    let before = if so_far.next_position == position { so_far.matched_bits << 1 } else { 0 };
    *so_far =
        PartialMatch { matched_bits: (before | 1) & position_bits, next_position: position + 1 };
    let last = 1_u64.checked_shl(u32::try_from(length.checked_sub(1)?).ok()?)?;
    (so_far.matched_bits & last != 0).then_some(length)
}

impl FtsQuery {
    /// Returns the byte range of the first match of any phrase in `text`.
    pub fn find_first_match(&self, text: &str) -> Option<Range<usize>> {
        let mut first = None;
        PhraseMatcher::new(self).for_each_match(text, |found| {
            first = Some(found.range);
            ControlFlow::Break(())
        });
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_matches<'t>(query: &str, text: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        PhraseMatcher::new(&FtsQuery::parse(query)).for_each_match(text, |match_| {
            found.push(&text[match_.range]);
            ControlFlow::Continue(())
        });
        found
    }

    /// Texts in several languages, with signs, numbers, names and words of other scripts.
    const TEXTS: [&str; 13] = [
        "We were kneading the dough. The e-mail of the U.S.A. says 12,500 loaves - or 12\u{a0}500?\n\
         Rye bread, rye-bread; rye \u{2014} bread. See readFiles() in C++, iPhone 15 and iPhone15.",
        "Der König von Spanien wohnt nicht in den Häusern, und die Straße ist für ihn gesperrt. \
         Er geht mit der Königin über die Straßen in das Haus; T-Müll, naïve Café-Gäste.",
        "La capitale de la France est une ville où l’école et les élèves se trouvent. Les écoles \
         d’été n’ont pas de maîtres\u{a0}: « c’est l’e\u{301}cole de la rue ».",
        "Что это такое и где оно находится? Книги и книга лежат на столе, в книге — хлеб. Ёлка, ёлки.",
        "ما هو الكتاب الذي في المكتبة؟ الكتب من هذا البيت إلى المكتبه، ثم على كتابهم.",
        "यह किताब घर में है और किताबें मेज पर हैं। किताबों के लिए यह घर है।",
        "昨日、東京都へ行った。京の都はTokyo東京2020です。ただこの景色がよい。",
        "คนกำลังมาที่บ้าน และกำลังกินขนมปัง",
        "서울역에서 빵을 먹었다. 서울의 빵집은 서울역 앞에 있다.",
        "Kitabı ve kitaplarımızdan bir tanesi bu evde, İstanbul’da. Bir ekmek daha ve iki ev için kitap.",
        "Có bao nhiêu người sống ở Việt Nam? Người Việt ăn bánh mì và phở, không phải là bánh.",
        "great🙂🎉 👍🏽 ❤️ 🇩🇪🇫🇷 bread🙂 1️⃣ ＦＵＬＬ width ﬁre \u{301}mark snake_case a.out www.example.org/rye-bread",
        "Bread RYE breads\tRYEBREAD\u{b}bread\u{0}rye\u{2028}bread\r\nbread",
    ];

    /// Returns the queries of a text: each word, pairs of adjacent words, and phrases of two and three.
    fn queries_of(text: &str) -> Vec<String> {
        let words: Vec<&str> = text.split_whitespace().map(|it| it.trim_matches('"')).collect();
        let words = words.as_slice();
        let single = words.iter().map(|word| (*word).to_owned());
        let pairs = words.windows(2).map(|pair| pair.join(" "));
        let phrases = words.windows(2).chain(words.windows(3)).map(|it| it.join(" "));
        let phrases = phrases.map(|it| format!("\"{it}\" {}", words.first().unwrap()));
        let beginnings = words.iter().map(|word| word.chars().take(3).collect::<String>() + "*");
        single.chain(pairs).chain(phrases).chain(beginnings).collect()
    }

    #[test]
    fn skipped_parts_have_no_matches() {
        let mut count = 0;
        for query in TEXTS.iter().flat_map(|text| queries_of(text)) {
            let query = FtsQuery::parse(&query);
            let matcher = PhraseMatcher::new(&query);
            for text in TEXTS {
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                matcher.for_each_match(text, |match_| {
                    found.push(match_);
                    ControlFlow::Continue(())
                });
                let stems = matcher.stems_for_text(&detect_languages(text));
                let beginnings = matcher.beginnings_for(&stems);
                let mut matching = Matching::new(&matcher, stems);
                for_each_word(text, |word| {
                    if !beginnings.may_match(word.folded) {
                        return ControlFlow::Continue(());
                    }
                    matching.add_word(&word, &mut |match_| {
                        expected.push(match_);
                        ControlFlow::Continue(())
                    })
                });
                count += expected.len();
                assert_eq!(found, expected, "{query:?} in {text}");
            }
        }
        assert!(count > 2_000, "{count}");
    }

    #[test]
    fn matcher_ignores_inflection_and_accents() {
        let text = "We were kneading the Pâte slowly.";
        let found =
            |query: &str| FtsQuery::parse(query).find_first_match(text).map(|place| &text[place]);
        assert_eq!(found("kneads"), Some("kneading"));
        assert_eq!(found("pate"), Some("Pâte"));
        assert_eq!(found("\"the pate\""), Some("the Pâte"));
        assert_eq!(found("oven"), None);
    }

    #[test]
    fn matcher_finds_every_word_form() {
        let families = [
            ["hope", "hoping", "hoped"],
            ["die", "dying", "died"],
            ["sky", "skies", "sky"],
            ["happy", "happiness", "happily"],
            ["sensible", "sensibility", "sensibly"],
            ["early", "Early", "EARLY"],
            ["relate", "relational", "relating"],
            ["run", "running", "runs"],
        ];
        for family in families {
            for typed in family {
                for written in family {
                    let stemmed = |word: &str| {
                        with_stem(Language::English, &word.to_lowercase(), str::to_owned)
                    };
                    let stems = (stemmed(typed), stemmed(written));
                    let found = FtsQuery::parse(typed).find_first_match(written).is_some();
                    assert_eq!(found, stems.0 == stems.1, "{typed} in {written}: {stems:?}");
                }
            }
        }
    }

    #[test]
    fn matcher_finds_unspaced_text_inside_longer_text() {
        assert_eq!(all_matches("京都", "昨日、東京都へ行った。京の都"), ["京都"]);
        assert_eq!(all_matches("東京都", "東京都"), ["東京", "京都"]);
    }

    #[test]
    fn matcher_keeps_combining_mark_with_character() {
        assert_eq!(
            all_matches("\"ただこの景色が\"", "ない。ただこの景色がよい"),
            ["ただこの景色が"]
        );
        assert_eq!(all_matches("がぎ", "かがぎく"), ["がぎ"]);
        assert_eq!(all_matches("ลัง", "คนกำลังมา"), ["ลัง"]);
    }

    #[test]
    fn phrase_matches_only_adjacent_words() {
        let text = "rye bread, rye-bread; rye, then bread. Bread rye. Rye rye bread";
        assert_eq!(all_matches(r#""rye bread""#, text), ["rye bread", "rye-bread", "rye bread"]);
        assert_eq!(all_matches(r#""rye rye bread""#, text), ["Rye rye bread"]);
        assert_eq!(all_matches(r#""rye bread""#, "rye - bread, rye é bread"), ["rye - bread"]);
        assert_eq!(all_matches(r#""a b a b c""#, "a b a b a b c"), ["a b a b c"]);
    }

    #[test]
    fn all_phrases_ending_at_word_are_reported() {
        assert_eq!(all_matches(r#""rye bread" bread"#, "my rye bread"), ["rye bread", "bread"]);
    }
}
