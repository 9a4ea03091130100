//! Who speaks in subtitles that have no mark for it: lines such as `Ada: Rye?`.
//!
//! A sentence may have a colon too, so names are believed only where they make a
//! pattern: two of them, each of which begins several lines, and between them a good
//! part of all cues. A name that comes once stays in the text, where it is read.

use std::collections::HashMap;

use vademecum_kit::model::Cue;

/// How many names there must be, and how often each begins a line.
const NAMES: usize = 2;
const TIMES: usize = 2;
/// Of so many cues, one must begin with a name.
const CUES_FOR_A_NAME: usize = 3;
/// Longest name, in characters and in words.
const MAX_NAME: usize = 40;
const MAX_WORDS: usize = 4;

/// The cues with their speakers, if names stand before what they say; each in one
/// line. Where speakers are marked, nothing else is taken for one.
pub(super) fn told_apart(cues: &[Cue]) -> Vec<Cue> {
    let names = if cues.iter().any(|cue| cue.speaker.is_some()) { Vec::new() } else { names(cues) };
    cues.iter().flat_map(|cue| split(cue, &names)).collect()
}

/// The names that are believed.
fn names(cues: &[Cue]) -> Vec<String> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for (name, _) in cues.iter().flat_map(|cue| cue.text.lines()).filter_map(named) {
        *times.entry(name).or_default() += 1;
    }
    times.retain(|_, times| *times >= TIMES);
    let is_named = |cue: &&Cue| named(&cue.text).is_some_and(|(name, _)| times.contains_key(name));
    let begun = cues.iter().filter(is_named).count();
    if times.len() < NAMES || begun * CUES_FOR_A_NAME < cues.len() {
        return Vec::new();
    }
    times.into_keys().map(str::to_owned).collect()
}

/// A cue for each speaker in it; lines without a name belong to the one before.
fn split(cue: &Cue, names: &[String]) -> Vec<Cue> {
    let mut parts: Vec<Cue> = Vec::new();
    for line in cue.text.lines() {
        let said = named(line).filter(|(name, _)| names.iter().any(|known| known == name));
        match (said, parts.last_mut()) {
            (None, Some(part)) => {
                part.text.push(' ');
                part.text.push_str(line);
            }
            (None, None) => parts.push(Cue { text: line.to_owned(), ..cue.clone() }),
            (Some((name, said)), _) => {
                let speaker = Some(name.to_owned());
                parts.push(Cue { speaker, text: said.to_owned(), ..cue.clone() });
            }
        }
    }
    parts
}

/// A line that may begin with a name, and what follows it.
fn named(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(['-', '>', '\u{2013}', '\u{2014}', ' ']);
    let (at, colon) = line.char_indices().take(MAX_NAME + 1).find(|(_, it)| is_colon(*it))?;
    let (name, said) = (line[..at].trim_end(), &line[at + colon.len_utf8()..]);
    // No space follows the colon of a time or of an address.
    let is_apart = colon != ':' || said.starts_with(' ');
    (is_apart && is_name(name) && !said.trim().is_empty()).then(|| (name, said.trim()))
}

fn is_colon(letter: char) -> bool {
    matches!(letter, ':' | '\u{ff1a}')
}

/// Whether a text looks like a name: few words of letters, each with a large one
/// first where a script has such, or a number after the first (`Speaker 2`).
fn is_name(text: &str) -> bool {
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
    (1..=MAX_WORDS).contains(&words) && text.split(' ').enumerate().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said, with who says it, of cues with these texts.
    fn said(texts: &[&str]) -> Vec<(Option<String>, String)> {
        let cue = |text: &&str| Cue { text: (*text).to_owned(), ..Cue::default() };
        let cues = told_apart(&texts.iter().map(cue).collect::<Vec<_>>());
        cues.into_iter().map(|cue| (cue.speaker, cue.text)).collect()
    }

    fn speakers(texts: &[&str]) -> Vec<Option<String>> {
        said(texts).into_iter().map(|(speaker, _)| speaker).collect()
    }

    #[test]
    fn names_that_make_a_pattern_are_speakers() {
        let texts = ["Ada: Rye?", "Dr. Eve O'Hara: Oat.", "It rises\nslowly.", "Ada: And:\nsalt?"];
        assert_eq!(speakers(&texts), [None, None, None, None], "one of them speaks only once");
        let texts = [&texts[..], &[">> Dr. Eve O'Hara: Yes.\n- Ada: Good.", "Bob: Hi."]].concat();
        let [ada, eve] = ["Ada", "Dr. Eve O'Hara"].map(|name| Some(name.to_owned()));
        let text = |text: &str| text.to_owned();
        assert_eq!(
            said(&texts),
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
    fn names_are_known_in_other_scripts_and_with_numbers() {
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
    fn a_sentence_with_a_colon_is_nobody_speaking() {
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
            assert_eq!(said(&texts), expected);
        }
    }

    #[test]
    fn where_speakers_are_marked_no_other_is_made_up() {
        let mut cues: Vec<Cue> = ["Ada: a", "Eve: b", "Ada: c", "Eve: d"]
            .map(|text| Cue { text: text.to_owned(), ..Cue::default() })
            .into();
        cues[0].speaker = Some("Host".to_owned());
        assert_eq!(told_apart(&cues), cues);
    }
}
