//! Stop words by language: queries ignore them, and they tell the language of a query or text.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::OnceLock,
};

use foldhash::fast::FixedState;

use crate::words::{fold_word, for_each_word};

/// Minimum number of stop words before a text is treated as another language than English. A
/// single `die` may be English.
const MIN_LANGUAGE_STOP_WORDS: usize = 2;
/// Maximum number of words for each stop word in a text. It is about two and a half in natural
/// language.
const MAX_WORDS_PER_STOP_WORD: usize = 7;
/// Number of words of a text that are looked at.
const MAX_DETECTED_WORDS: usize = 200;

/// Languages written with spaces that have a stop word list, other than English (ISO 639-1).
const LISTED_LANGUAGES: [&str; 19] = [
    "ar", "ca", "da", "de", "el", "es", "fi", "fr", "he", "hu", "id", "it", "nl", "no", "pt", "ro",
    "ru", "sv", "tr",
];

/// Stop words of languages without a list in the crate.
const OTHER_LISTS: [(&str, &str); 11] = [
    (
        "cs",
        "a aby ale ani ano až byl byla bylo být co další do i jak jako je jeho jejich jen ještě jsem jsou \
         k kde kdo když která které který má mezi na nebo není od po pod pro protože se si tak také \
         tato tím to ve však z za že",
    ),
    (
        "et",
        "ja on ei et see kui ta oma ning oli ka aga mis kes või siis nii välja üle selle tema olid seda \
         mida pärast kuid veel ainult juba",
    ),
    (
        "eu",
        "eta da ez bat du dute ere baina zen dira izan dago edo hau hori bere dela zuen behar egin \
         zer nola gehiago guztiak bezala dute dituzte ditu dela duen den izateko baten batean beste \
         gabe arabera bidez baita nahiz arteko",
    ),
    (
        "fa",
        "از است اما او اين ان آن اگر با باید برای بر بود به تا چه چند چرا در را روی شد شده که كه کدام \
         کرد کرده کند کنند ما من می نمی های ها هر هم و یا یک این آنها بودن شود",
    ),
    (
        "ga",
        "agus an na ar is bhí tá go le do sé sí mar ach ag níl atá seo sin leis don chun gur gach acu \
         nach féin raibh bheith ní nó gan faoi ba uile duine maidir féidir níor gur aon de i",
    ),
    (
        "hi",
        "और का की के को है हैं था थे थी में से पर ने यह वह इस उस एक लिए क्या किस कौन कब कहाँ कैसे जो तो भी \
         ही नहीं होता होती होते हुआ हुई कर किया गया गई कि या अपने साथ तक इन उन जब",
    ),
    (
        "lt",
        "ir kad yra buvo iš į su apie kaip bet tai jo jos tik nuo per prie dėl šis ši kur kuris kuri arba \
         jau dar po jie mes ar",
    ),
    (
        "pl",
        "a aby ale bardzo być był była było były co czy dla do gdy gdzie go i ich ile jak jako je jego jej \
         jest jeszcze już kiedy kto która które który lub ma między na nad nie niż o od oraz po pod \
         przez przy są się ta tak także te tego tej ten to tylko tym w we z za że",
    ),
    (
        "sr",
        "и је да у на се са за као од су који која које али или из до није био била било бити што како \
         кад где овај ова ово тај та то његов њихов",
    ),
    (
        "uk",
        "а або але в від він вона вони воно для до за з і із й його її їх коли ми на не нас про під по \
         та так також те ти то у хто це цей ця чи чому що щоб як який яка які якої є був була було \
         були де",
    ),
    (
        "vi",
        "ai bao bằng bị bởi cả các cái cho có của cùng cũng do đã đang đâu đây để đến đi được gì hay hoặc \
         khi không là lại lên loại mà mỗi một nào này nếu như nhưng những nó ở ra rằng rất sau sẽ số tại \
         theo thì trên trong trước từ và vào vẫn về vì với người nhiêu",
    ),
];

/// Stop words of the detected language of a query; `None` means English.
#[derive(Clone, Copy, Debug)]
pub struct StopWords(Option<usize>);

impl StopWords {
    /// Detects the language with the most stop words in the text. Ties go to English.
    pub fn detect(text: &str) -> Self {
        Self(StopWordCounts::new(text).detected_list().filter(|list| *list != ENGLISH))
    }

    /// Returns the stop words of a language (ISO 639-1), if they are known.
    pub fn of_language(code: &str) -> Option<Self> {
        let list = lists().codes.iter().position(|it| *it == code)?;
        Some(Self(Some(list).filter(|list| *list != ENGLISH)))
    }

    /// Returns whether a word in lowercase, with its accents, is a stop word.
    pub fn contains(self, written: &str) -> bool {
        let list = self.0.unwrap_or(ENGLISH);
        lists().words.get(written).is_some_and(|lists| lists & (1 << list) != 0)
    }
}

/// Returns whether a word in lowercase, with its accents, is a stop word of any language.
pub fn is_any_stop_word(written: &str) -> bool {
    lists().words.contains_key(written)
}

/// Returns the code (ISO 639-1) of the language of a query, if it has enough stop words.
pub fn detect_query_language(text: &str) -> Option<&'static str> {
    StopWordCounts::new(text).detected()
}

/// Numbers of stop words of each language in the beginning of a text.
#[derive(Debug)]
pub(crate) struct StopWordCounts {
    /// Numbers of stop words by list.
    of_lists: Vec<usize>,
    /// Number of words that were looked at.
    pub(crate) words: usize,
}

impl StopWordCounts {
    pub(crate) fn new(text: &str) -> Self {
        let known = lists();
        let mut of_lists = vec![0_usize; known.codes.len()];
        let mut words = 0;
        for_each_word(text, |word| {
            let written = word.accented.unwrap_or(word.folded);
            // A single letter may be anything.
            let mut lists = match written.len() {
                1 => 0,
                _ => known.words.get(written).copied().unwrap_or(0),
            };
            while lists != 0 {
                if let Some(count) = of_lists.get_mut(lists.trailing_zeros() as usize) {
                    *count += 1;
                }
                lists &= lists - 1;
            }
            words += 1;
            if words < MAX_DETECTED_WORDS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        Self { of_lists, words }
    }

    /// Returns the number of stop words of a language.
    pub(crate) fn of(&self, code: &str) -> usize {
        let list = lists().codes.iter().position(|it| *it == code);
        list.and_then(|list| self.of_lists.get(list)).copied().unwrap_or(0)
    }

    /// Returns the language with more stop words than any other, their number, and that of the language
    /// with the next most.
    pub(crate) fn leading(&self) -> Option<(&'static str, usize, usize)> {
        let mut sorted: Vec<(usize, usize)> = self.of_lists.iter().copied().zip(0..).collect();
        sorted.sort_unstable_by_key(|(count, _)| Reverse(*count));
        let [(most, list), (second, _), ..] = *sorted else { return None };
        let code = lists().codes.get(list)?;
        (most > second).then_some((*code, most, second))
    }

    /// Returns the language with enough stop words.
    pub(crate) fn detected(&self) -> Option<&'static str> {
        self.detected_list().and_then(|list| lists().codes.get(list)).copied()
    }

    fn detected_list(&self) -> Option<usize> {
        let counts = self.of_lists.iter().copied();
        let english = self.of_lists.first().copied().unwrap_or(0);
        let most = counts.zip(0..).skip(1).max_by_key(|(count, list)| (*count, usize::MAX - *list));
        match most {
            Some((count, list))
                if count >= MIN_LANGUAGE_STOP_WORDS.max(english + 1)
                    && count * MAX_WORDS_PER_STOP_WORD >= self.words =>
            {
                Some(list)
            }
            _ => (english > 0).then_some(ENGLISH),
        }
    }
}

/// Position of the English list.
const ENGLISH: usize = 0;

/// The stop words of all languages.
struct StopWordLists {
    /// Language of each list.
    codes: Vec<&'static str>,
    /// The lists that contain a word in lowercase, with its accents or folded: one bit for each. The
    /// keys are fixed, so a fast hash is safe.
    words: HashMap<String, u32, FixedState>,
}

fn lists() -> &'static StopWordLists {
    static LISTS: OnceLock<StopWordLists> = OnceLock::new();
    LISTS.get_or_init(|| {
        let listed = LISTED_LANGUAGES
            .map(|code| (code, stop_words::lookup(code).unwrap_or_default().to_vec()));
        let others = OTHER_LISTS.map(|(code, words)| (code, words.split_whitespace().collect()));
        let english = [("en", ENGLISH_STOP_WORDS.to_vec())];
        let all: Vec<(&str, Vec<&str>)> = english.into_iter().chain(listed).chain(others).collect();
        let mut words: HashMap<String, u32, FixedState> = HashMap::default();
        for (list, (code, list_words)) in all.iter().enumerate() {
            for word in list_words {
                // Without its tone, a word of Vietnamese is another word.
                let folded = (*code != "vi").then(|| fold_word(word));
                for form in HashSet::from([Some(word.to_lowercase()), folded]).into_iter().flatten()
                {
                    *words.entry(form).or_default() |= 1 << list;
                }
            }
        }
        StopWordLists { codes: all.iter().map(|(code, _)| *code).collect(), words }
    })
}

/// Returns whether a folded word is an English stop word.
pub fn is_stop_word(folded: &str) -> bool {
    ENGLISH_STOP_WORDS.binary_search(&folded).is_ok()
}

/// English stop words, sorted for binary search.
const ENGLISH_STOP_WORDS: [&str; 131] = [
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "d", "did", "do", "does", "doing", "don", "down", "during", "each", "few",
    "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "me", "more",
    "most", "my", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other", "our",
    "ours", "out", "over", "own", "please", "re", "s", "same", "shall", "she", "should", "so",
    "some", "such", "t", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "upon", "us",
    "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "would", "you", "your", "yours", "yourself",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(ENGLISH_STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("dough"));
    }

    #[test]
    fn language_is_detected_by_stop_words() {
        for (text, code) in [
            ("How do I knead the dough?", Some("en")),
            ("Wie heißt der König von Spanien und was macht er?", Some("de")),
            ("Quelle est la capitale de la France et où se trouve-t-elle ?", Some("fr")),
            ("Có bao nhiêu người sống ở Việt Nam?", Some("vi")),
            ("Что это такое и где оно находится", Some("ru")),
            ("Що це таке і чому воно є тут", Some("uk")),
            ("dough bread oven", None),
            ("", None),
        ] {
            assert_eq!(detect_query_language(text), code, "{text}");
        }
    }

    #[test]
    fn stop_words_keep_their_accents() {
        let vietnamese = StopWords::detect("số lượng người ở trong thành phố này là bao nhiêu");
        assert!(vietnamese.contains("của") && !vietnamese.contains("cua"));
        assert!(
            StopWords::detect("so what").contains("so")
                && !StopWords::detect("so what").contains("số")
        );
    }
}
