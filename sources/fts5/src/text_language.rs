//! The language of a text, told by its script, its stop words and its n-grams.
//!
//! The stop words of a language are quick to count, and certain where there are many. N-grams
//! (`whatlang`) need fewer words (`docs/adr/0069-forms-of-own-language.md`).

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use whatlang::{Detector, Lang};

use crate::{
    language::Script,
    letters::{is_letter, is_mark},
    stop_words::{StopWordCounts, StopWords},
};

/// Maximum length of the words of a text that are looked at, in bytes.
const MAX_SAMPLE_BYTES: usize = 600;
/// Maximum number of parts of a text that tell its languages.
const MAX_PARTS: usize = 4;
/// Minimum length of a part of a text that tells a language, in bytes. A shorter text has one part.
pub const LANGUAGE_PART_BYTES: usize = 2_000;
/// Number of stop words that tell a language without n-grams.
const CERTAIN_STOP_WORDS: usize = 4;
/// Maximum number of words for each of them.
const CERTAIN_WORDS_PER_STOP_WORD: usize = 5;
/// The same for English.
const MAX_WORDS_PER_ENGLISH_STOP_WORD: usize = 10;
/// Minimum confidence in n-grams that no stop word of the text confirms, from 0 to 1.
const MIN_CONFIDENCE: f64 = 0.1;
/// Minimum confidence in n-grams of a text in ASCII letters without more stop words of the language than
/// of English.
const MIN_UNCONFIRMED_CONFIDENCE: f64 = 0.5;
/// Length of words that may be in another language than English although they have some of its stop words, in
/// bytes.
const MIN_CERTAIN_BYTES: usize = 120;
/// Minimum length of words of which the n-grams tell the language, in bytes.
const MIN_NGRAM_BYTES: usize = 40;
/// Maximum ratio of the bytes of Latin words to those of another script in a text of that script. The
/// names of programs are Latin everywhere.
const MAX_LATIN_RATIO: usize = 3;

/// Languages that share most n-grams, with what only one of them has: words, endings such as `-hed`, and
/// letters.
const ALIKE: [[(&str, &str); 2]; 4] = [
    [
        (
            "da",
            "af altid bliver blive brug bruge dig efter enten hvad hver igen kun lige lære mellem mere mig \
             måske nogen noget nogle nu også på selv sig skal sådan tage tilføje ud uden være vælg \
             ændre æ -hed -heder -tion -tioner -tionen -else",
        ),
        (
            "no",
            "av alltid bare blir bli bruk bruke deg enten etter hva igjen legg legge lære mellom mer meg \
             noe noen nå også seg selv skal slik ta uten ut velg være endre åpne -het -heter -sjon -sjoner \
             -sjonen -else",
        ),
    ],
    [
        ("es", "el los las del una y con por ñ ¿ ¡ -ción -ciones es lo al"),
        ("pt", "o os do dos da das uma com não ã õ -ção -ções é ao em no na"),
    ],
    [
        ("es", "el y los las una con por ñ ¿ ¡ -ción -ciones es lo para"),
        ("ca", "els i les amb per una ç l·l -ció -cions és ho dels als -ment"),
    ],
    [
        ("cs", "ě ř ů jsou nebo jako pro při se který může pokud"),
        ("sk", "ľ ĺ ŕ ô ä sú alebo ako pre pri sa ktorý môže ak"),
    ],
];
/// Languages that stop words tell, and n-grams do not.
const WITHOUT_NGRAMS: [&str; 2] = ["eu", "ga"];

/// The languages that n-grams tell.
#[rustfmt::skip]
const LANGUAGES: [(Lang, &str); 59] = [
    (Lang::Amh, "am"), (Lang::Ara, "ar"), (Lang::Bel, "be"), (Lang::Ben, "bn"), (Lang::Bul, "bg"),
    (Lang::Cat, "ca"), (Lang::Ces, "cs"), (Lang::Cmn, "zh"), (Lang::Cym, "cy"), (Lang::Dan, "da"),
    (Lang::Deu, "de"), (Lang::Ell, "el"), (Lang::Eng, "en"), (Lang::Est, "et"), (Lang::Fin, "fi"),
    (Lang::Fra, "fr"), (Lang::Guj, "gu"), (Lang::Heb, "he"), (Lang::Hin, "hi"), (Lang::Hrv, "hr"),
    (Lang::Hun, "hu"), (Lang::Hye, "hy"), (Lang::Ind, "id"), (Lang::Ita, "it"), (Lang::Jpn, "ja"),
    (Lang::Kan, "kn"), (Lang::Kat, "ka"), (Lang::Khm, "km"), (Lang::Kor, "ko"), (Lang::Lav, "lv"),
    (Lang::Lit, "lt"), (Lang::Mal, "ml"), (Lang::Mar, "mr"), (Lang::Mkd, "mk"), (Lang::Mya, "my"),
    (Lang::Nep, "ne"), (Lang::Nld, "nl"), (Lang::Nob, "no"), (Lang::Ori, "or"), (Lang::Pan, "pa"),
    (Lang::Pes, "fa"), (Lang::Pol, "pl"), (Lang::Por, "pt"), (Lang::Ron, "ro"), (Lang::Rus, "ru"),
    (Lang::Sin, "si"), (Lang::Slk, "sk"), (Lang::Slv, "sl"), (Lang::Spa, "es"), (Lang::Srp, "sr"),
    (Lang::Swe, "sv"), (Lang::Tam, "ta"), (Lang::Tel, "te"), (Lang::Tha, "th"), (Lang::Tur, "tr"),
    (Lang::Ukr, "uk"), (Lang::Urd, "ur"), (Lang::Vie, "vi"), (Lang::Yid, "yi"),
];

static DETECTOR: LazyLock<Detector> =
    LazyLock::new(|| Detector::with_allowlist(LANGUAGES.map(|(language, _)| language).to_vec()));

/// Returns the code (ISO 639-1) of the language of a text, or `None` if too few words tell it. Code and
/// addresses do not count.
pub fn detect_language(text: &str) -> Option<&'static str> {
    let sample = Sample::new(text);
    if let Some(code) = sample.language_of_script() {
        return Some(code);
    }
    let counts = StopWordCounts::new(&sample.words);
    let by_stop_words = counts.leading();
    // English texts have names of programs and code between their words.
    let words_per_stop_word = |code: &str| match code {
        "en" => MAX_WORDS_PER_ENGLISH_STOP_WORD,
        _ => CERTAIN_WORDS_PER_STOP_WORD,
    };
    if let Some((code, most, second)) = by_stop_words
        && most >= CERTAIN_STOP_WORDS
        && most >= 2 * second + 2
        && most * words_per_stop_word(code) >= counts.words
    {
        return Some(tell_apart(code, &sample.words));
    }
    let Some((code, confidence)) = detect_by_ngrams(&sample.words) else {
        return counts.detected();
    };
    match by_stop_words {
        Some((leading, most, _))
            if WITHOUT_NGRAMS.contains(&leading) && most > 1 + counts.of(code) =>
        {
            Some(leading)
        }
        Some((leading, ..)) if leading == code => Some(tell_apart(code, &sample.words)),
        _ if is_confirmed(code, confidence, &sample.words, &counts) => {
            Some(tell_apart(code, &sample.words))
        }
        _ => counts.detected(),
    }
}

/// Returns whether the language that n-grams tell is certain enough. Titles have few stop words, and their
/// n-grams resemble other languages.
fn is_confirmed(code: &str, confidence: f64, words: &str, counts: &StopWordCounts) -> bool {
    let english = counts.of("en");
    if !words.is_ascii() || code == "en" || counts.of(code) > english {
        confidence >= MIN_CONFIDENCE
    } else {
        let is_long = words.len() >= MIN_CERTAIN_BYTES;
        let may_be = is_long || counts.of(code) == english;
        // Names and made-up words resemble some language, and have no stop word of it.
        let is_text = counts.of(code) > 0 || StopWords::of_language(code).is_none();
        may_be && is_text && confidence >= MIN_UNCONFIRMED_CONFIDENCE
    }
}

/// Returns the codes of the languages of a text, which may have several. Parts of a long text at equal
/// distances tell them.
pub fn detect_languages(text: &str) -> Vec<&'static str> {
    let mut codes: Vec<&str> = Vec::new();
    let step = (text.len() / MAX_PARTS).max(LANGUAGE_PART_BYTES);
    for start in (0..text.len()).step_by(step).take(MAX_PARTS) {
        let part = text.get(text.floor_char_boundary(start)..).unwrap_or_default();
        // The first word may be a part of one.
        let (_, part) =
            part.split_once(char::is_whitespace).filter(|_| start > 0).unwrap_or(("", part));
        let part = part.get(..part.floor_char_boundary(step)).unwrap_or(part);
        codes.extend(detect_language(part).filter(|code| !codes.contains(code)));
    }
    codes
}

/// Returns the language and the confidence from 0 to 1.
fn detect_by_ngrams(words: &str) -> Option<(&'static str, f64)> {
    let found = DETECTOR.detect(words).filter(|_| words.len() >= MIN_NGRAM_BYTES)?;
    let (_, code) = LANGUAGES.iter().find(|(language, _)| *language == found.lang())?;
    Some((*code, found.confidence()))
}

/// Returns the language, or one that is alike and has more of its marks in the text.
fn tell_apart(code: &'static str, text: &str) -> &'static str {
    let lower = text.to_lowercase();
    let mut best = code;
    for [(one, of_one), (other, of_other)] in ALIKE {
        let (alike, own, foreign) = match best {
            _ if best == one => (other, of_one, of_other),
            _ if best == other => (one, of_other, of_one),
            _ => continue,
        };
        if count_marks(&lower, foreign) > count_marks(&lower, own) {
            best = alike;
        }
    }
    best
}

/// Returns the number of words of a text in lowercase with one of the marks.
fn count_marks(text: &str, marks: &str) -> usize {
    let has_mark = |word: &str| {
        marks.split_whitespace().any(|mark| match mark.strip_prefix('-') {
            Some(ending) => word.ends_with(ending),
            None if !mark.is_ascii() && mark.chars().nth(1).is_none() => word.contains(mark),
            None => word == mark,
        })
    };
    text.split(|letter: char| !letter.is_alphabetic() && letter != '·')
        .filter(|it| has_mark(it))
        .count()
}

/// The first words of a text.
#[derive(Debug, Default)]
struct Sample {
    /// The words of the main script, separated by spaces.
    words: String,
    /// Bytes of Han characters, of Kana, and of Hangul.
    han: usize,
    kana: usize,
    hangul: usize,
}

impl Sample {
    fn new(text: &str) -> Self {
        let (mut latin, mut others) = (String::new(), String::new());
        let mut sample = Self::default();
        let (mut in_fence, mut in_code) = (false, false);
        for written in text.split_whitespace() {
            if written.contains("```") {
                in_fence = !in_fence;
                continue;
            }
            if in_fence {
                continue;
            }
            if written.is_ascii() {
                let was_code = in_code;
                in_code ^= written.matches('`').count() % 2 == 1;
                if !was_code && !written.contains('`') {
                    add_ascii_word(written, &mut latin);
                }
            } else {
                sample.add_word(written, &mut in_code, &mut latin, &mut others);
            }
            if latin.len() + others.len() >= MAX_SAMPLE_BYTES {
                break;
            }
        }
        sample.words = if others.len() * MAX_LATIN_RATIO >= latin.len() { others } else { latin };
        sample
    }

    /// Adds the letters of a word, Latin ones to `latin`, and the others to `others`.
    fn add_word(
        &mut self,
        written: &str,
        in_code: &mut bool,
        latin: &mut String,
        others: &mut String,
    ) {
        if written.contains("://") {
            return;
        }
        for letter in written.nfc() {
            *in_code ^= letter == '`';
            if *in_code {
                continue;
            }
            let words = if letter.is_ascii() || Script::of_letter(letter) == Some(Script::Latin) {
                &mut *latin
            } else {
                &mut *others
            };
            match u32::from(letter) {
                0x4E00..=0x9FFF | 0x3400..=0x4DBF => self.han += letter.len_utf8(),
                0x3040..=0x30FF => self.kana += letter.len_utf8(),
                0xAC00..=0xD7AF | 0x1100..=0x11FF => self.hangul += letter.len_utf8(),
                _ => {}
            }
            if is_letter(letter) || is_mark(letter) || matches!(letter, '\'' | '’') {
                words.push(letter);
            } else if !words.ends_with(' ') {
                words.push(' ');
            }
        }
        latin.push(' ');
        others.push(' ');
    }

    /// Returns the language that is the only one of the script of the text.
    fn language_of_script(&self) -> Option<&'static str> {
        let all = self.han + self.kana + self.hangul;
        if all * 2 < self.words.len() {
            return None;
        }
        if self.hangul * 2 > all {
            Some("ko")
        } else if self.kana * 10 > all {
            Some("ja")
        } else {
            (self.han > 0).then_some("zh")
        }
    }
}

/// Adds a word of ASCII letters. Words with other signs within them, and names such as `camelCase`,
/// are code.
fn add_ascii_word(written: &str, words: &mut String) {
    let word = written.trim_matches(|sign: char| !sign.is_ascii_alphanumeric());
    let others = word.get(1..).unwrap_or_default();
    if others.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'\'') {
        words.push_str(word);
        words.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_tell_their_language() {
        for (code, text) in [
            ("ar", "يخبز الخباز الخبز كل صباح قبل شروق الشمس"),
            (
                "ca",
                "El forner pasta la massa amb les mans abans que surti el sol i després la deixa reposar",
            ),
            ("cs", "Pekař hněte těsto ještě před východem slunce a nechává ho odpočinout"),
            ("da", "Bageren ælter dejen før solen står op, og lader den hvile i en skål"),
            ("de", "Der Bäcker knetet den Teig vor Sonnenaufgang und lässt ihn ruhen"),
            ("el", "Ο φούρναρης ζυμώνει το ζυμάρι πριν από την ανατολή του ήλιου"),
            ("en", "The baker kneads the dough before sunrise and lets it rest in a bowl"),
            ("es", "El panadero amasa la masa antes del amanecer y la deja reposar"),
            ("et", "Pagar sõtkub tainast enne päikesetõusu ja laseb sellel puhata"),
            (
                "eu",
                "Okinak eguzkia irten baino lehen oratzen du orea eta atseden hartzen uzten dio",
            ),
            ("fa", "نانوا پیش از طلوع آفتاب خمیر را ورز می‌دهد و می‌گذارد استراحت کند"),
            ("fi", "Leipuri vaivaa taikinan ennen auringonnousua ja antaa sen levätä"),
            ("fr", "Le boulanger pétrit la pâte avant le lever du soleil et la laisse reposer"),
            ("he", "האופה לש את הבצק לפני הזריחה ומניח לו לנוח בקערה"),
            ("hi", "बेकर सूरज निकलने से पहले आटा गूंधता है और उसे आराम करने देता है"),
            ("hu", "A pék napkelte előtt dagasztja a tésztát, és hagyja pihenni egy tálban"),
            ("id", "Tukang roti menguleni adonan sebelum matahari terbit dan membiarkannya"),
            ("it", "Il fornaio impasta prima dell'alba e lascia riposare la pasta in una ciotola"),
            ("ja", "パン屋は日の出前に生地をこねて、しばらく休ませます"),
            ("ko", "제빵사는 해가 뜨기 전에 반죽을 치대고 잠시 쉬게 한다"),
            ("lt", "Kepėjas minko tešlą prieš saulėtekį ir leidžia jai pailsėti dubenyje"),
            ("nl", "De bakker kneedt het deeg voor zonsopgang en laat het rusten in een kom"),
            ("no", "Bakeren elter deigen før soloppgang og lar den hvile i en bolle av tre"),
            ("pl", "Piekarz wyrabia ciasto przed wschodem słońca i pozwala mu odpocząć"),
            ("pt", "O padeiro amassa a massa antes do nascer do sol e deixa-a descansar"),
            ("ro", "Brutarul frământă aluatul înainte de răsărit și îl lasă să se odihnească"),
            ("ru", "Пекарь месит тесто до восхода солнца и даёт ему отдохнуть"),
            ("sk", "Pekár miesi cesto ešte pred východom slnka a necháva ho odpočívať"),
            ("sv", "Bagaren knådar degen före soluppgången och låter den vila i en skål"),
            ("th", "คนทำขนมปังนวดแป้งก่อนพระอาทิตย์ขึ้นและพักไว้ในชาม"),
            ("tr", "Fırıncı gün doğmadan önce hamuru yoğurur ve bir kapta dinlendirir"),
            ("uk", "Пекар місить тісто до сходу сонця і дає йому відпочити в мисці"),
            ("vi", "Người thợ làm bánh nhào bột trước khi mặt trời mọc rồi để bột nghỉ"),
            ("zh", "面包师在日出之前揉面，然后让面团静置一会儿"),
        ] {
            assert_eq!(detect_language(text), Some(code), "{text}");
        }
    }

    #[test]
    fn code_and_addresses_tell_no_language() {
        for text in ["", "x", "let mut is_known = false;", "https://example.org/die/und/der/ist"] {
            assert_eq!(detect_language(text), None, "{text}");
        }
        let code = "`und der die das` ```\nder die das ist ein\n``` The dough is on the table.";
        assert_eq!(detect_language(code), Some("en"));
    }

    #[test]
    fn names_of_programs_do_not_hide_language_of_text() {
        for (code, text) in [
            ("uk", "Відкрийте Google Chrome та Visual Studio Code і встановіть розширення"),
            ("ja", "Google Chromeを開いて、Visual Studio Codeの拡張機能をインストールします"),
            ("ko", "Google Chrome에서 Visual Studio Code 확장 기능을 설치하세요"),
        ] {
            assert_eq!(detect_language(text), Some(code), "{text}");
        }
    }

    #[test]
    fn long_text_tells_all_its_languages() {
        let english = "The baker kneads the dough before sunrise and lets it rest. ".repeat(60);
        let german = "Der Bäcker knetet den Teig und lässt ihn in der Schüssel ruhen. ".repeat(60);
        assert_eq!(detect_languages(&english), ["en"]);
        assert_eq!(detect_languages(&format!("{english}\n\n{german}")), ["en", "de"]);
        assert_eq!(detect_languages(&"ő".repeat(5_000)).len(), 1);
    }
}
