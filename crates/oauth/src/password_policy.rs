//! Passwords that a user may choose: long enough, and none that programs which guess passwords try
//! early.

use secrecy::{ExposeSecret as _, SecretString};
use vademecum_core::auth::UserId;
use zxcvbn::{Score, feedback::Feedback, zxcvbn};

/// Minimum length of a password, in characters.
const MIN_LENGTH: usize = 10;
/// Maximum length of a password, in bytes.
pub(crate) const MAX_LENGTH: usize = 1_000;
/// Name of the product, a likely password of its users.
const PRODUCT: &str = "vademecum";
/// Least score of a password: about 10^8 guesses, in the order in which programs guess.
const MIN_SCORE: Score = Score::Three;

/// Password that passed the checks for new ones.
#[derive(Clone, Debug)]
pub struct NewPassword(SecretString);

/// Reason why a password cannot be chosen. The messages are for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// It has too few characters.
    #[error("a password has at least {MIN_LENGTH} characters")]
    TooShort,
    /// It has too many bytes.
    #[error("a password has at most {MAX_LENGTH} bytes")]
    TooLong,
    /// It consists of the name of the account or of the product, perhaps with a few characters more.
    #[error(
        "this password is easy to guess: it is little more than the name of the account or of the \
         program. Choose several words that have nothing to do with each other"
    )]
    Name,
    /// It is common, or like a common one.
    #[error(
        "this password is easy to guess: {0}. Choose several words that have nothing to do with \
         each other"
    )]
    Guessable(String),
}

impl NewPassword {
    /// Checks a password that `user` chooses.
    pub fn check(user: &UserId, password: SecretString) -> Result<Self, PasswordError> {
        let text = password.expose_secret();
        if text.chars().count() < MIN_LENGTH {
            return Err(PasswordError::TooShort);
        }
        if text.len() > MAX_LENGTH {
            return Err(PasswordError::TooLong);
        }
        let names = [user.as_str(), PRODUCT];
        let rating = zxcvbn(text, &names);
        if rating.score() >= MIN_SCORE {
            return Ok(Self(password));
        }
        let lowercase = text.to_lowercase();
        if names.iter().any(|name| lowercase.contains(&name.to_lowercase())) {
            return Err(PasswordError::Name);
        }
        let warning = rating.feedback().and_then(Feedback::warning);
        let reason = warning.map_or_else(
            || "it is short for what it consists of".to_owned(),
            |warning| lowercase_first(warning.to_string().trim_end_matches('.')),
        );
        Err(PasswordError::Guessable(reason))
    }

    /// Returns the text.
    pub(crate) fn expose(&self) -> &SecretString {
        &self.0
    }
}

fn lowercase_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), PasswordError> {
        NewPassword::check(&"adalovelace".parse().unwrap(), text.into()).map(drop)
    }

    #[test]
    fn common_passwords_are_refused_with_reason() {
        for (text, reason) in [
            ("password123", "common"),
            ("P@ssw0rd123", "common"),
            ("1234567890", "common"),
            ("qwertyuiop123", "common"),
            ("iloveyou2025", "common"),
            ("aaaaaaaaaaaa", "repeats"),
            ("abcdefghijklm", "sequences"),
            ("        ", "at least 10"),
            ("            ", "repeats"),
            ("short", "at least 10"),
        ] {
            let refused = check(text).unwrap_err().to_string();
            assert!(refused.contains(reason), "{text}: {refused}");
        }
        assert_eq!(check(&"long ".repeat(201)), Err(PasswordError::TooLong));
    }

    #[test]
    fn names_of_account_and_product_are_refused() {
        for text in [
            "adalovelace",
            "AdaLovelace1",
            "adalovelace2026",
            "Vademecum!",
            "vademecum2026",
            "vademecum123",
        ] {
            assert_eq!(check(text), Err(PasswordError::Name), "{text}");
        }
    }

    #[test]
    fn good_passwords_are_accepted() {
        for text in [
            "correct horse battery",
            "a password for tests",
            "glacier-tulip-oven",
            "kT7#vq9Lm2xP",
            "Ein Pferd frisst keinen Gurkensalat",
            "漢字の長いパスワードです",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }
}
