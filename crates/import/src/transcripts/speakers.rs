//! Detection of speakers in subtitles without speaker tags, from lines such as `Ada: Rye?`.
//!
//! Any sentence may contain a colon, so names count only if they form a pattern: at least two
//! names, each at the beginning of several lines, and together in a third of all cues. A name that
//! occurs once stays in the text.

use std::collections::HashMap;

use vademecum_model::Cue;

/// Minimum number of names, and of lines per name.
const MIN_NAMES: usize = 2;
const MIN_LINES_PER_NAME: usize = 2;
/// One of this many cues must begin with a name.
const MAX_CUES_PER_NAMED_CUE: usize = 3;
/// Maximum length of a name, in characters and in words.
const MAX_NAME_CHARS: usize = 40;
const MAX_NAME_WORDS: usize = 4;

/// Returns the cues split by detected speakers, each on one line. If any cue already has a speaker,
/// no others are detected.
pub(super) fn assign_speakers(cues: &[Cue]) -> Vec<Cue> {
    let names =
        if cues.iter().any(|cue| cue.speaker.is_some()) { Vec::new() } else { detect_names(cues) };
    cues.iter().flat_map(|cue| split_by_speaker(cue, &names)).collect()
}

/// Returns the names that form a pattern; empty if there is none.
fn detect_names(cues: &[Cue]) -> Vec<String> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for (name, _) in cues.iter().flat_map(|cue| cue.text.lines()).filter_map(split_name) {
        *times.entry(name).or_default() += 1;
    }
    times.retain(|_, times| *times >= MIN_LINES_PER_NAME);
    let is_named =
        |cue: &&Cue| split_name(&cue.text).is_some_and(|(name, _)| times.contains_key(name));
    let begun = cues.iter().filter(is_named).count();
    if times.len() < MIN_NAMES || begun * MAX_CUES_PER_NAMED_CUE < cues.len() {
        return Vec::new();
    }
    times.into_keys().map(str::to_owned).collect()
}

/// Returns one cue per speaker; a line without a name belongs to the preceding speaker.
fn split_by_speaker(cue: &Cue, names: &[String]) -> Vec<Cue> {
    let mut parts: Vec<Cue> = Vec::new();
    for line in cue.text.lines() {
        let speech = split_name(line).filter(|(name, _)| names.iter().any(|known| known == name));
        match (speech, parts.last_mut()) {
            (None, Some(part)) => {
                part.text.push(' ');
                part.text.push_str(line);
            }
            (None, None) => parts.push(Cue { text: line.to_owned(), ..cue.clone() }),
            (Some((name, speech)), _) => {
                let speaker = Some(name.to_owned());
                parts.push(Cue { speaker, text: speech.to_owned(), ..cue.clone() });
            }
        }
    }
    parts
}

/// Splits a line into a possible name and the text after it.
fn split_name(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(['-', '>', '\u{2013}', '\u{2014}', ' ']);
    let (at, colon) = line.char_indices().take(MAX_NAME_CHARS + 1).find(|(_, it)| is_colon(*it))?;
    let (name, speech) = (line[..at].trim_end(), &line[at + colon.len_utf8()..]);
    // In times and addresses, no space follows the colon.
    let is_apart = colon != ':' || speech.starts_with(' ');
    (is_apart && looks_like_name(name) && !speech.trim().is_empty()).then(|| (name, speech.trim()))
}

fn is_colon(letter: char) -> bool {
    matches!(letter, ':' | '\u{ff1a}')
}

/// Returns `true` if a text has the form of a name: at most four words of letters, each beginning
/// with a capital where the script has capitals, or a number after the first word (`Speaker 2`).
fn looks_like_name(text: &str) -> bool {
    let is_word = |(place, word): (usize, &str)| {
        let mut letters = word.chars();
        let first = letters.next().is_some_and(|first| {
            first.is_alphabetic() && !first.is_lowercase() || place > 0 && first.is_numeric()
        });
        first
            && letters
                .all(|next| next.is_alphanumeric() || matches!(next, '.' | '\'' | '\u{2019}' | '-'))
    };
    let words = text.split(' ').count();
    (1..=MAX_NAME_WORDS).contains(&words) && text.split(' ').enumerate().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns speakers and texts of the cues split from these texts.
    fn speakers_and_texts(texts: &[&str]) -> Vec<(Option<String>, String)> {
        let cue = |text: &&str| Cue { text: (*text).to_owned(), ..Cue::default() };
        let cues = assign_speakers(&texts.iter().map(cue).collect::<Vec<_>>());
        cues.into_iter().map(|cue| (cue.speaker, cue.text)).collect()
    }

    fn speakers(texts: &[&str]) -> Vec<Option<String>> {
        speakers_and_texts(texts).into_iter().map(|(speaker, _)| speaker).collect()
    }

    #[test]
    fn names_forming_a_pattern_become_speakers() {
        let texts = ["Ada: Rye?", "Dr. Eve O'Hara: Oat.", "It rises\nslowly.", "Ada: And:\nsalt?"];
        assert_eq!(speakers(&texts), [None, None, None, None], "one of them speaks only once");
        let texts = [&texts[..], &[">> Dr. Eve O'Hara: Yes.\n- Ada: Good.", "Bob: Hi."]].concat();
        let [ada, eve] = ["Ada", "Dr. Eve O'Hara"].map(|name| Some(name.to_owned()));
        let text = |text: &str| text.to_owned();
        assert_eq!(
            speakers_and_texts(&texts),
            [
                (ada.clone(), text("Rye?")),
                (eve.clone(), text("Oat.")),
                (None, text("It rises slowly.")),
                (ada.clone(), text("And: salt?")),
                (eve, text("Yes.")),
                (ada, text("Good.")),
                (None, text("Bob: Hi.")),
            ]
        );
    }

    #[test]
    fn names_are_detected_in_other_scripts_and_numbered() {
        let speak = |one: &str, two: &str| {
            let texts = [one, two, one, two];
            speakers(&texts).iter().flatten().count()
        };
        assert_eq!(speak("SPEAKER 1: Hi.", "SPEAKER 2: Yes."), 4);
        assert_eq!(
            speak(
                "\u{592a}\u{90ce}\u{ff1a}\u{306f}\u{3044}",
                "\u{82b1}\u{5b50}\u{ff1a}\u{3044}\u{3048}"
            ),
            4
        );
        assert_eq!(speak("\u{130}nci: Evet.", "\u{c9}lise: Oui."), 4);
    }

    #[test]
    fn sentence_with_colon_has_no_speaker() {
        let sentence = "what he said was: no";
        for texts in [
            vec!["Note: it rises.", "Note: it falls.", "Note: it rests."],
            vec![sentence, sentence, "the other one: yes", "the other one: yes"],
            vec!["At 10:30 we met.", "At 10:30 we left.", "See https://a.b", "See https://a.b"],
            vec!["Ada, Eve: no", "Ada, Eve: no", "No! Yes: no", "No! Yes: no"],
            vec!["Ada:", "Ada:", "Eve:", "Eve:"],
            vec![
                "First: a", "First: b", "Then: c", "Then: d", "x", "x", "x", "x", "x", "x", "x",
                "x", "x",
            ],
        ] {
            let expected: Vec<(Option<String>, String)> =
                texts.iter().map(|text| (None, (*text).to_owned())).collect();
            assert_eq!(speakers_and_texts(&texts), expected);
        }
    }

    #[test]
    fn tagged_speakers_prevent_detection() {
        let mut cues: Vec<Cue> = ["Ada: a", "Eve: b", "Ada: c", "Eve: d"]
            .map(|text| Cue { text: text.to_owned(), ..Cue::default() })
            .into();
        cues[0].speaker = Some("Host".to_owned());
        assert_eq!(assign_speakers(&cues), cues);
    }
}
