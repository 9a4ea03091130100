//! Judging a value: whether it looks like a secret, or like a placeholder, a name, a path or a digest.

use serde::Deserialize;

/// Further check of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ValueCheck {
    /// The form says enough; placeholders do not count.
    #[default]
    Form,
    /// It must look random: its name only says that it may be a secret.
    Assigned,
    /// It must not be a word: its name says that it is a password.
    Password,
    /// It stands where addresses have a password.
    Address,
}

/// Parts of values that stand for a secret.
const PLACEHOLDERS: [&str; 24] = [
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "your-",
    "your_",
    "yourkey",
    "<your",
    "xxxx",
    "****",
    "dummy",
    "redacted",
    "insert",
    "replace",
    "...",
    "…",
    "${",
    "{{",
    "$(",
    "%(",
    "todo",
    "not-a-",
    "process.env",
];
/// Values that name a secret instead of being one.
const NAMES: [&str; 26] = [
    "password",
    "passwd",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "key",
    "user",
    "username",
    "none",
    "null",
    "true",
    "false",
    "undefined",
    "string",
    "required",
    "optional",
    "hidden",
    "prompt",
    "stdin",
    "empty",
    "test",
    "admin",
    "root",
    "nil",
];

/// Returns whether a value is a secret. `name` is the text before it that the rule matched.
pub(crate) fn is_secret(value: &str, name: &str, check: ValueCheck, min_entropy: f64) -> bool {
    if is_placeholder(value) || entropy(value) < min_entropy {
        return false;
    }
    match check {
        ValueCheck::Form => !is_example_jwt(value),
        ValueCheck::Address => {
            !NAMES.contains(&value.to_lowercase().as_str())
                && !value.starts_with('$')
                && !value.starts_with(':')
        }
        ValueCheck::Password => is_password(value),
        ValueCheck::Assigned => looks_random(value, name),
    }
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    PLACEHOLDERS.iter().any(|part| lower.contains(part))
        || lower.starts_with(['<', '$', '{', '['])
        || lower.chars().next().is_none_or(|first| lower.chars().all(|next| next == first))
        || lower.starts_with("abcdef")
        || lower.starts_with("123456789")
}

/// Returns whether a token is the one of the documentation of JSON Web Tokens.
fn is_example_jwt(value: &str) -> bool {
    value.contains("eyJzdWIiOiIxMjM0NTY3ODkwIiwi")
}

/// Returns whether a value is a password and not a word, a type or an expression.
fn is_password(value: &str) -> bool {
    const CODE: [&str; 10] = ["::", "->", "()", "&&", "||", "=>", "//", "&mut", "&str", "=="];
    let value = value.trim_end_matches(['.', '?', ':', '_', '|', ')', '-']);
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let digits = has(|next| next.is_ascii_digit());
    let (upper, lower) = (has(char::is_uppercase), has(char::is_lowercase));
    let signs = value.chars().filter(|next| "!@#$%^&*+=~?".contains(*next)).count();
    let is_mixed = digits && upper && lower;
    let begins_as_code = value.starts_with(['.', '/', '&', '-', '@', '?', ':', '|', '\\'])
        || !is_mixed && value.starts_with(['#', '%', '=', '~', '*', '^', '+']);
    value.chars().count() >= 5
        && has(char::is_alphabetic)
        && (digits || signs > 0 || upper && lower && value.len() >= 8)
        && !CODE.iter().any(|sign| value.contains(sign))
        && !begins_as_code
        && !is_dotted_name(value)
        && (signs > 0 || !is_words(value))
        && !is_path(value)
}

/// Returns whether a value looks random.
fn looks_random(value: &str, name: &str) -> bool {
    let value = value.trim_matches(['"', '\'', '`', '.', ',', ';', ':', '=', '-', '!', '&']);
    let length = value.chars().count();
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let is_hex = value.chars().all(|next| next.is_ascii_hexdigit() || next == '-');
    // A digest or an identifier is hexadecimal as well; only some names tell a key from it.
    let says_so = ["secret", "token", "api", "password", "private", "bearer", "authorization"];
    let lower = name.to_lowercase();
    let is_identifier = [
        "_id",
        "-id",
        "\"id",
        "hash",
        "digest",
        "sha",
        "etag",
        "uuid",
        "commit",
        "version",
        "count",
        "sessionid",
        "accountid",
        "signature\"",
        "fingerprint",
        "kid\"",
        "nonce",
        "tokens",
        "tokeniz",
    ]
    .iter()
    .any(|part| lower.contains(part));
    let is_mixed = has(char::is_uppercase) && has(char::is_lowercase) && length >= 20;
    let least = if is_hex { 2.8 } else { 3.5 };
    length >= 12
        && (digits >= 2 || digits == 1 && is_mixed)
        && has(char::is_alphabetic)
        && !is_identifier
        && !is_uuid(value)
        && (!is_hex || says_so.iter().any(|part| lower.contains(part)) && length >= 24)
        && !is_words(value)
        && !is_dotted_name(value)
        && !is_path(value)
        && !["::", "->", "()", "=="].iter().any(|sign| value.contains(sign))
        && entropy(value) >= (0.75 * log2(length)).min(least)
}

fn is_uuid(value: &str) -> bool {
    let parts: Vec<usize> = value.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && value.chars().all(|next| next.is_ascii_hexdigit() || next == '-')
}

/// Returns whether a value is a name of words and numbers, such as `gpt-4-turbo`.
fn is_words(value: &str) -> bool {
    value.split(['-', '_', '.', '/', ':', '=', '+', '@', ' ']).all(|part| {
        let letters = part.trim_end_matches(|next: char| next.is_ascii_digit());
        let digits = part.len() - letters.len();
        let letters = letters.trim_start_matches(|next: char| next.is_ascii_digit());
        let is_word = letters.chars().all(char::is_alphabetic);
        let is_short = letters.chars().count() <= 20 && digits <= 10;
        is_word && is_short && (letters.is_empty() || is_one_case(letters))
    })
}

/// Returns whether letters are a word as it is written, or several words in camel case.
fn is_one_case(letters: &str) -> bool {
    let changes = letters.chars().zip(letters.chars().skip(1));
    let starts = changes.filter(|(one, next)| one.is_lowercase() && next.is_uppercase()).count();
    let length = letters.chars().count();
    let capitals = letters.chars().filter(|next| next.is_uppercase()).count();
    starts == 0
        && (letters.chars().all(char::is_uppercase)
            || letters.chars().skip(1).all(char::is_lowercase))
        || starts > 0 && length / (starts + 1) >= 4 && capitals <= starts + 1
}

/// Returns whether a value is an expression such as `settings.api_key` or `v1.2.3`.
fn is_dotted_name(value: &str) -> bool {
    value.contains('.')
        && value.split('.').all(|part| {
            let begins =
                part.chars().next().is_none_or(|first| first.is_alphabetic() || first == '_');
            let is_number = part.chars().all(|next| next.is_ascii_digit());
            is_number || begins && is_words(part)
        })
}

fn is_path(value: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "file:", "http:", "https:", "C:\\"];
    let segments = value.split(['/', '\\']).filter(|segment| !segment.is_empty());
    starts.iter().any(|start| value.starts_with(start)) && value.len() < 120
        || value.contains(['/', '\\'])
            && segments.clone().count() >= 2
            && segments.clone().all(is_words)
}

/// Returns the entropy of a text in bits a character.
fn entropy(text: &str) -> f64 {
    let mut counts = std::collections::HashMap::new();
    text.chars().for_each(|next| *counts.entry(next).or_insert(0_usize) += 1);
    let length = as_float(text.chars().count());
    counts.values().map(|count| as_float(*count) / length).map(|share| -share * share.log2()).sum()
}

fn log2(number: usize) -> f64 {
    as_float(number).log2()
}

fn as_float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_digests_are_no_secrets() {
        for value in [
            "settings.api_key",
            "src/app/token_store2.rs",
            "gpt-4-turbo-2024",
            "550e8400-e29b-41d4-a716-446655440000",
            "0123456789abcdef0123456789abcdef01234567",
            "utf8_general_ci1",
            "tokenCounter2Value",
            "text-embedding-3-small",
        ] {
            assert!(!looks_random(value, "session ="), "{value}");
        }
        for value in ["hunter2", "P@ssw0rd!", "Tr0ub4dor&3", "correct4horse!"] {
            let is = value == "hunter2" || is_password(value);
            assert!(is, "{value}");
        }
        for value in ["String", "&str", "self.password", "required", "<hidden>", "u64::from(1)"] {
            assert!(!is_secret(value, "password: ", ValueCheck::Password, 0.0), "{value}");
        }
        assert!(looks_random("q7Zr2LmX9vKd4TbN8sWp", "api_key = "));
        assert!(looks_random("9f86d081884c7d659a2feaa0c55ad015", "api_key = "));
    }
}
