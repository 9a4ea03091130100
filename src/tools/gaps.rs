//! Texts with gaps: `{{name}}` stands for what is put there.

/// Longest name of a gap, in bytes; what is longer is text.
const LONGEST: usize = 64;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    Gap(&'t str),
}

/// The names of the gaps, each once, in the order in which they appear.
pub(crate) fn gaps<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<&'t str> {
    let mut names = Vec::new();
    for piece in texts.into_iter().flat_map(pieces) {
        if let Piece::Gap(name) = piece
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// The text with its gaps filled. What is put there is not looked through: it
/// may have braces of its own.
pub(crate) fn fill<'v>(text: &str, value: impl Fn(&str) -> &'v str) -> String {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Gap(name) => value(name),
        })
        .collect()
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    // Where the text begins that no piece has yet, and where a gap may begin.
    let (mut start, mut at) = (0, 0);
    while let Some(open) = text.get(at..).and_then(|rest| rest.find("{{")).map(|found| at + found) {
        let inside = text.get(open + 2..).unwrap_or_default();
        match inside.find("}}").and_then(|end| Some((name(inside.get(..end)?)?, end))) {
            Some((name, end)) => {
                pieces.extend(text.get(start..open).map(Piece::Text));
                pieces.push(Piece::Gap(name));
                start = open + end + 4;
                at = start;
            }
            None => at = open + 1,
        }
    }
    pieces.extend(text.get(start..).map(Piece::Text));
    pieces
}

/// What stands between braces, if it can be a name.
fn name(inside: &str) -> Option<&str> {
    let name = inside.trim();
    let is_name = !name.is_empty() && name.len() <= LONGEST && !name.contains(['{', '}', '\n']);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_once_in_order() {
        let texts = ["Write {{ kind }} about {{topic}}.", "{{topic}} for {{who reads}}{{größe}}"];
        assert_eq!(gaps(texts), ["kind", "topic", "who reads", "größe"]);
    }

    #[test]
    fn what_is_no_gap_is_text() {
        for text in
            ["", "{{}}", "{{ }}", "{{a", "a}}", "{a}", "{{a\nb}}", "{ {a}}", "{{{}}}", "ß{{"]
        {
            assert_eq!(gaps([text]), Vec::<&str>::new(), "{text}");
            assert_eq!(fill(text, |_| "x"), text);
        }
        assert_eq!(
            gaps([format!("{{{{{}}}}}", "x".repeat(LONGEST + 1)).as_str()]),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn braces_around_a_gap_stay() {
        assert_eq!(fill("{{{a}}} {{a}}}} {{ {{a}}", |_| "x"), "{x} x}} {{ x");
    }

    #[test]
    fn what_is_filled_in_is_not_looked_through() {
        let filled = fill("{{a}} and {{b}}", |name| if name == "a" { "{{b}}" } else { "{{a}}" });
        assert_eq!(filled, "{{b}} and {{a}}");
    }
}
