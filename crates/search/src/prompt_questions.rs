//! The questions that a prompt of an agent has, and their words.

use vademecum_fts5::is_any_stop_word;

/// Length up to which a prompt is one question, in characters. Of any prompt, the first and the last
/// sentence are questions too: people paste texts and ask before or after them.
const MAX_QUESTION_CHARS: usize = 300;
/// Maximum number of words of a question; the rest is ignored.
const MAX_WORDS: usize = 16;

/// Returns the questions of a prompt, without repetitions.
pub fn prompt_questions(prompt: &str) -> Vec<String> {
    let prompt = prompt.trim();
    let is_end = |letter: char| matches!(letter, '\n' | '?' | '!' | '.' | '。' | '？' | '！');
    let first: String =
        prompt.chars().take(MAX_QUESTION_CHARS).take_while(|letter| !is_end(*letter)).collect();
    let end = prompt.trim_end_matches(is_end);
    let mut last: Vec<char> =
        end.chars().rev().take(MAX_QUESTION_CHARS).take_while(|letter| !is_end(*letter)).collect();
    last.reverse();
    let is_short = prompt.chars().nth(MAX_QUESTION_CHARS).is_none();
    let whole = is_short.then(|| prompt.to_owned());
    let mut questions: Vec<String> = Vec::new();
    for question in whole.into_iter().chain([first, last.into_iter().collect()]) {
        // The whole may be its only sentence.
        let bare = question.trim_matches(|letter| is_end(letter) || letter == ' ').to_owned();
        if !questions.contains(&bare) {
            questions.push(bare);
        }
    }
    questions
}

/// Returns the distinct words of a question without stop words, in lower case.
pub fn question_words(question: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in question.split(|letter: char| !letter.is_alphanumeric()) {
        let word = word.to_lowercase();
        let is_content = word.chars().nth(1).is_some() && !is_any_stop_word(&word);
        if is_content && !words.contains(&word) && words.len() < MAX_WORDS {
            words.push(word);
        }
    }
    words
}

/// Returns the weight of a word that occurs in `count` of `passages` passages: its inverse document
/// frequency, as in BM25.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn word_weight(count: usize, passages: usize) -> f64 {
    let (count, passages) = (count as f64, passages.max(count) as f64);
    ((passages - count + 0.5) / (count + 0.5)).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_prompt_is_read_at_both_ends() {
        let long = format!("Where is the boiler?{}. Who repaired it?", " x".repeat(5_000_000));
        assert_eq!(prompt_questions(&long), ["Where is the boiler", "Who repaired it"]);
        assert_eq!(prompt_questions(" short "), ["short"]);
        assert_eq!(prompt_questions("Hi! Is it so?"), ["Hi! Is it so", "Hi", "Is it so"]);
        let endless = "x ".repeat(1_000);
        assert!(prompt_questions(&endless).iter().all(|it| it.len() <= MAX_QUESTION_CHARS));
    }

    #[test]
    fn words_have_no_stop_words() {
        let words = question_words("What did we decide about the boiler of the greenhouse?");
        assert_eq!(words, ["decide", "boiler", "greenhouse"]);
        assert_eq!(question_words(&"rye ".repeat(40)), ["rye"]);
    }
}
