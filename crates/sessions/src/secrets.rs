//! Finding secrets in texts, and replacing them by a mark.
//!
//! `secret_rules.toml` has the forms. A value without a form of its own, such as a password, counts if
//! its name says so and it looks random (`secret_value`).

use std::{collections::BTreeMap, ops::Range, sync::LazyLock, sync::OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::secret_value::{ValueCheck, is_secret};

/// Length from which a secret is replaced everywhere in its file, in bytes. Shorter ones may be words.
const MIN_SPREAD_BYTES: usize = 8;
/// Maximum number of different secrets of a file that are replaced everywhere in it.
const MAX_SPREAD: usize = 10_000;
/// Maximum size of a compiled rule, in bytes.
const MAX_REGEX_BYTES: usize = 16 * 1_024 * 1_024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    id: String,
    regex: String,
    keywords: Vec<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    check: ValueCheck,
}

/// A rule, compiled when its first keyword occurs.
struct Rule {
    text: RuleText,
    regex: OnceLock<Option<Regex>>,
}

/// All rules, and the search for their keywords.
struct Rules {
    list: Vec<Rule>,
    keywords: AhoCorasick,
    /// The rule of each keyword.
    owners: Vec<usize>,
}

static RULES: LazyLock<Option<Rules>> = LazyLock::new(|| {
    // The file is part of the program, and a test reads it.
    let file: RuleFile = toml::from_str(include_str!("secret_rules.toml")).ok()?;
    let (mut owners, mut keywords) = (Vec::new(), Vec::new());
    for (number, rule) in file.rule.iter().enumerate() {
        for keyword in &rule.keywords {
            owners.push(number);
            keywords.push(keyword.clone());
        }
    }
    let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(keywords).ok()?;
    let list = file.rule.into_iter().map(|text| Rule { text, regex: OnceLock::new() }).collect();
    Some(Rules { list, keywords, owners })
});

impl Rule {
    fn regex(&self) -> Option<&Regex> {
        let build =
            || regex::RegexBuilder::new(&self.text.regex).size_limit(MAX_REGEX_BYTES).build().ok();
        self.regex.get_or_init(build).as_ref()
    }
}

/// Number of secrets that were replaced, by rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redactions(pub BTreeMap<String, usize>);

impl Redactions {
    /// Returns the number of all.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Adds the numbers of another count.
    pub fn add(&mut self, other: &Self) {
        for (rule, count) in &other.0 {
            *self.0.entry(rule.clone()).or_default() += count;
        }
    }
}

/// Removes the secrets from the texts of one file: first all texts are shown to it, then each is
/// replaced, so that a value found once is removed everywhere.
#[derive(Debug, Default)]
pub struct Redactor {
    /// Secrets that were found, with the number of their rule.
    found: BTreeMap<String, usize>,
    is_used: bool,
    spread: Option<(AhoCorasick, Vec<usize>)>,
}

/// A secret in a text, and the number of its rule.
type Span = (Range<usize>, usize);

impl Redactor {
    /// Returns the number of different secrets that are replaced everywhere.
    pub fn secret_count(&self) -> usize {
        self.found.len()
    }

    /// Looks for secrets in a text.
    pub fn inspect(&mut self, text: &str) {
        for (range, rule) in find_spans(text) {
            self.is_used = true;
            if let Some(secret) = text.get(range)
                && secret.len() >= MIN_SPREAD_BYTES
                && self.found.len() < MAX_SPREAD
            {
                self.found.entry(secret.to_owned()).or_insert(rule);
            }
        }
        self.spread = None;
    }

    /// Replaces the secrets in a text by marks such as `[redacted: github-token]`, and counts them.
    pub fn redact(&mut self, text: &mut String, counts: &mut Redactions) {
        let Some(rules) = RULES.as_ref().filter(|_| self.is_used) else { return };
        let mut spans = find_spans(text);
        if self.spread.is_none() {
            let build = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(self.found.keys());
            self.spread = build.ok().map(|search| (search, self.found.values().copied().collect()));
        }
        if let Some((search, owners)) = &self.spread {
            let known = search.find_iter(text.as_str());
            spans.extend(
                known.filter_map(|it| Some((it.range(), *owners.get(it.pattern().as_usize())?))),
            );
        }
        if spans.is_empty() {
            return;
        }
        let mut redacted = String::with_capacity(text.len());
        let mut end = 0;
        for (range, rule) in merge(spans) {
            let id = rules.list.get(rule).map_or("", |rule| rule.text.id.as_str());
            redacted.push_str(text.get(end..range.start).unwrap_or_default());
            redacted.extend(["[redacted: ", id, "]"]);
            *counts.0.entry(id.to_owned()).or_default() += 1;
            end = range.end;
        }
        redacted.push_str(text.get(end..).unwrap_or_default());
        *text = redacted;
    }
}

/// Merges ranges that overlap. The first of them names the rule.
fn merge(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|(range, rule)| (range.start, *rule));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for (range, rule) in spans {
        match merged.last_mut() {
            Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push((range, rule)),
        }
    }
    merged
}

/// Finds the secrets of a text by the rules whose keywords occur in it.
fn find_spans(text: &str) -> Vec<Span> {
    let Some(Rules { list, keywords, owners }) = RULES.as_ref() else { return Vec::new() };
    let mut is_tried = vec![false; list.len()];
    for keyword in keywords.find_overlapping_iter(text) {
        if let Some(tried) =
            owners.get(keyword.pattern().as_usize()).and_then(|rule| is_tried.get_mut(*rule))
        {
            *tried = true;
        }
    }
    let mut spans = Vec::new();
    for (number, rule) in
        list.iter().enumerate().filter(|(number, _)| is_tried.get(*number) == Some(&true))
    {
        let Some(regex) = rule.regex() else { continue };
        for captures in regex.captures_iter(text) {
            let Some(found) = captures.get(1).or_else(|| captures.get(0)) else { continue };
            let name = captures
                .get(0)
                .map_or("", |whole| text.get(whole.start()..found.start()).unwrap_or_default());
            if is_secret(found.as_str(), name, rule.text.check, rule.text.entropy) {
                spans.push((found.range(), number));
            }
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret_samples::{SAMPLES, random_secret};

    fn redact(texts: &[&str]) -> (Vec<String>, Redactions) {
        let (mut redactor, mut counts) = (Redactor::default(), Redactions::default());
        for text in texts {
            redactor.inspect(text);
        }
        let mut texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        for text in &mut texts {
            redactor.redact(text, &mut counts);
        }
        (texts, counts)
    }

    #[test]
    fn all_rules_compile_and_have_keywords() {
        let rules = RULES.as_ref().unwrap();
        for rule in &rules.list {
            assert!(rule.regex().is_some(), "{}", rule.text.id);
            let keywords = &rule.text.keywords;
            assert!(!keywords.is_empty(), "{}", rule.text.id);
            assert!(keywords.iter().all(|it| *it == it.to_ascii_lowercase()), "{}", rule.text.id);
        }
    }

    #[test]
    fn planted_secrets_are_redacted() {
        let mut missed = Vec::new();
        for number in 0..1_000 {
            let (template, form) = SAMPLES[number % SAMPLES.len()];
            let secret = random_secret(form, number as u64);
            let text = template.replace("{}", &secret);
            let (texts, _) = redact(&[&text]);
            if texts[0].contains(&secret) || !texts[0].contains("[redacted: ") {
                missed.push(text);
            }
        }
        assert!(missed.len() <= 5, "{} missed: {missed:#?}", missed.len());
    }

    #[test]
    fn value_found_once_is_redacted_everywhere() {
        let secret = random_secret("a20", 7);
        let one = format!("api_key = \"{secret}\"");
        let other = format!("I used {secret} there, and {secret}.");
        let (texts, counts) = redact(&[&other, &one, "Nothing."]);
        assert!(texts.iter().all(|text| !text.contains(&secret)), "{texts:?}");
        assert_eq!(counts.total(), 3);
        assert_eq!(texts[2], "Nothing.");
    }

    #[test]
    fn private_key_is_redacted_with_all_its_lines() {
        let body = random_secret("a64", 1);
        let key = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----"
        );
        let (texts, _) = redact(&[&format!("cat key\n{key}\ndone")]);
        assert!(!texts[0].contains(&body) && texts[0].ends_with("\ndone"), "{}", texts[0]);
        let (texts, _) = redact(&[&format!("-----BEGIN PRIVATE KEY-----\n{body}\n{body}")]);
        assert!(!texts[0].contains(&body), "a key that is cut off: {}", texts[0]);
    }

    #[test]
    fn ordinary_lines_are_kept() {
        for text in [
            "export API_KEY=$OTHER_KEY",
            "api_key: <your-key>",
            "token = process.env.TOKEN",
            "password: String,",
            "let token = Token::new(&settings.auth.token_file)?;",
            "AKIAIOSFODNN7EXAMPLE",
            "postgres://user:password@localhost/db",
            "ssh git@github.com:ada/garden.git",
            "session_id: 7ff39056-5d28-43c4-a7d2-8251d79a0476",
            "toolu_01A09q90qw90lq917835lq9",
            "commit 8859fb5b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f",
            "checksum = \"23f2a97da3e3873c73cb2a2e71b35c40ff95e0b1eefa8d72d8499a6928c3b5b3\"",
            "access_log: /var/log/nginx/access.2026-01-31.log",
            "client_version = 1.102.4-beta.3",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            "The secret: bake it longer.",
            "Which password is it?",
            "authorization: Bearer {token}",
        ] {
            let (texts, _) = redact(&[text]);
            assert_eq!(texts[0], text);
        }
    }
}
