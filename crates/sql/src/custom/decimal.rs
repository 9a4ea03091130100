//! Decimal numbers as text, which keeps every digit.

use std::cmp::Ordering;

/// Maximum number of digits of a number.
const MAX_DIGITS: usize = 1_000;

/// Decimal number: digits with at most one point, without an exponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Digits before the point, without leading zeros.
    whole: String,
    /// Digits after the point, without trailing zeros.
    fraction: String,
}

impl Decimal {
    /// Parses a number as JSON writes it: `-12.50`, `1e3`. Returns `None` for anything else, and for
    /// a number with more than [`MAX_DIGITS`] digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (is_negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let are_digits =
            |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let shift = usize::try_from(exponent.unsigned_abs()).ok()?;
        if whole.len() + fraction.len() + shift > MAX_DIGITS {
            return None;
        }
        let zeros = "0".repeat(shift);
        let digits = format!("{zeros}{whole}{fraction}{zeros}");
        let point = if exponent < 0 { whole.len() } else { whole.len() + 2 * shift };
        let (whole, fraction) = digits.split_at_checked(point)?;
        let (whole, fraction) =
            (whole.trim_start_matches('0').to_owned(), fraction.trim_end_matches('0').to_owned());
        let is_zero = whole.is_empty() && fraction.is_empty();
        Some(Self { is_negative: is_negative && !is_zero, whole, fraction })
    }

    /// Returns the numbers of digits before and after the point.
    pub(super) fn digits(&self) -> (usize, usize) {
        (self.whole.len(), self.fraction.len())
    }

    /// Returns the integer, if the number is one of 64 bits.
    pub(super) fn to_integer(&self) -> Option<i64> {
        if self.fraction.is_empty() { self.to_string().parse().ok() } else { None }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        let by_length = self.whole.len().cmp(&other.whole.len());
        // Digits of equal places compare like text; a fraction is the beginning of a longer one.
        by_length.then_with(|| (&self.whole, &self.fraction).cmp(&(&other.whole, &other.fraction)))
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        let whole = if self.whole.is_empty() { "0" } else { &self.whole };
        let point = if self.fraction.is_empty() { "" } else { "." };
        write!(out, "{sign}{whole}{point}{}", self.fraction)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_keeps_every_digit() {
        for (text, written) in [
            ("0", "0"),
            ("-0", "0"),
            ("007", "7"),
            ("1.50", "1.5"),
            ("-12.034", "-12.034"),
            ("1e3", "1000"),
            ("12.5E-3", "0.0125"),
            ("1.25e1", "12.5"),
            ("99999999999999999999.000000000000000001", "99999999999999999999.000000000000000001"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), written, "{text}");
        }
        for text in ["", "-", ".", "1.", ".5", "1e", "0x1", "NaN", "1e99999", "1 ", "+1", "1_0"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse("9223372036854775807").unwrap().to_integer(), Some(i64::MAX));
        assert_eq!(Decimal::parse("9223372036854775808").unwrap().to_integer(), None);
        assert_eq!(Decimal::parse("1.5").unwrap().to_integer(), None);
    }

    #[test]
    fn numbers_compare_by_value() {
        let sorted = ["-10", "-9.5", "-9.05", "0", "0.05", "0.5", "0.51", "9", "10", "10.1"];
        for pair in sorted.windows(2) {
            let [low, high] = [0, 1].map(|at| Decimal::parse(pair[at]).unwrap());
            assert_eq!(low.cmp(&high), Ordering::Less, "{pair:?}");
            assert_eq!(high.cmp(&low), Ordering::Greater, "{pair:?}");
        }
    }
}
