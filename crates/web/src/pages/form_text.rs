//! Texts in the forms of pages. Browsers change the ends of lines, and lose a few characters; lines that
//! come back as they were shown are stored as they were.

use vademecum_search::safe_text::restore_lines;

/// Returns a text as a form shows it: lines end with a line feed, and characters that HTML cannot have
/// are replaced.
pub(super) fn form_text(stored: &str) -> String {
    stored.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// Returns the text of a form as it is to be stored instead of `stored`.
pub(super) fn text_of_form(stored: &str, sent: &str) -> String {
    let sent = form_text(sent);
    let has_crlf = stored.contains("\r\n");
    let all_crlf = has_crlf && stored.matches('\n').count() == stored.matches("\r\n").count();
    if all_crlf {
        let lines = stored.replace("\r\n", "\n");
        return restore_lines(&lines, &form_text(&lines), &sent).replace('\n', "\r\n");
    }
    restore_lines(stored, &form_text(stored), &sent).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text that a browser sends.
    fn send(shown: &str) -> String {
        shown.replace('\n', "\r\n")
    }

    #[test]
    fn text_that_was_not_edited_stays() {
        for stored in ["", "a", "a\n", "a\r\nb\r\n", "a\r\nb", "a\nb\r\n\nc", "\u{feff}a\0b\n c \n"]
        {
            assert_eq!(text_of_form(stored, &send(&form_text(stored))), stored, "{stored:?}");
        }
    }

    #[test]
    fn edited_lines_get_the_ends_of_the_others() {
        let sent = send(&form_text("a\r\nb\r\n").replace('b', "b\nc"));
        assert_eq!(text_of_form("a\r\nb\r\n", &sent), "a\r\nb\r\nc\r\n");
        assert_eq!(text_of_form("a\nb\n", "a\r\nc\r\n"), "a\nc\n");
    }
}
