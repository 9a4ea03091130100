//! Names of months in several languages.

/// Names of each month in English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish,
/// Danish, Polish, Russian and Turkish, in lower case.
const MONTHS: [&[&str]; 12] = [
    &[
        "january",
        "januar",
        "jänner",
        "janvier",
        "enero",
        "gennaio",
        "janeiro",
        "januari",
        "stycznia",
        "января",
        "ocak",
        "jan",
    ],
    &[
        "february",
        "februar",
        "février",
        "febrero",
        "febbraio",
        "fevereiro",
        "februari",
        "lutego",
        "февраля",
        "şubat",
        "feb",
    ],
    &["march", "märz", "mars", "marzo", "março", "maart", "marts", "marca", "марта", "mart", "mar"],
    &["april", "avril", "abril", "aprile", "kwietnia", "апреля", "nisan", "apr"],
    &["may", "mai", "mayo", "maggio", "maio", "mei", "maj", "maja", "мая", "mayıs"],
    &["june", "juni", "juin", "junio", "giugno", "junho", "czerwca", "июня", "haziran", "jun"],
    &["july", "juli", "juillet", "julio", "luglio", "julho", "lipca", "июля", "temmuz", "jul"],
    &["august", "août", "agosto", "augustus", "augusti", "sierpnia", "августа", "ağustos", "aug"],
    &[
        "september",
        "septembre",
        "septiembre",
        "settembre",
        "setembro",
        "września",
        "сентября",
        "eylül",
        "sep",
        "sept",
    ],
    &[
        "october",
        "oktober",
        "octobre",
        "octubre",
        "ottobre",
        "outubro",
        "października",
        "октября",
        "ekim",
        "oct",
        "okt",
    ],
    &["november", "novembre", "noviembre", "novembro", "listopada", "ноября", "kasım", "nov"],
    &[
        "december",
        "dezember",
        "décembre",
        "diciembre",
        "dicembre",
        "dezembro",
        "grudnia",
        "декабря",
        "aralık",
        "dec",
        "dez",
    ],
];

/// Returns the number of a month, 1 to 12, from its name or an abbreviation in lower case.
pub fn month_number(word: &str) -> Option<u32> {
    let position = MONTHS.iter().position(|names| names.contains(&word))?;
    u32::try_from(position + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_abbreviations_have_numbers() {
        for (word, number) in
            [("january", 1), ("mai", 5), ("sept", 9), ("октября", 10), ("dez", 12)]
        {
            assert_eq!(month_number(word), Some(number), "{word}");
        }
        assert_eq!((month_number("march of"), month_number("")), (None, None));
    }
}
