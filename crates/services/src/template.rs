//! Text templates with placeholders of the form `{{name}}`.

/// Maximum length of a placeholder name, in bytes; longer ones are literal text.
const MAX_NAME_BYTES: usize = 64;

/// A part of a template: literal text or the name of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fragment<'t> {
    Text(&'t str),
    Placeholder(&'t str),
}

/// Returns the names of all placeholders, each once, in order of first appearance.
pub fn placeholder_names<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<&'t str> {
    let mut names = Vec::new();
    for piece in texts.into_iter().flat_map(split_fragments) {
        if let Fragment::Placeholder(name) = piece
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Replaces each placeholder by its value. Values are not expanded again; they may contain braces.
pub fn fill_placeholders<'v>(text: &str, value: impl Fn(&str) -> &'v str) -> String {
    split_fragments(text)
        .into_iter()
        .map(|piece| match piece {
            Fragment::Text(text) => text,
            Fragment::Placeholder(name) => value(name),
        })
        .collect()
}

fn split_fragments(text: &str) -> Vec<Fragment<'_>> {
    let mut pieces = Vec::new();
    // `start`: end of the last fragment; `at`: position where the search for `{{` continues.
    let (mut start, mut at) = (0, 0);
    while let Some(open) = text.get(at..).and_then(|rest| rest.find("{{")).map(|found| at + found) {
        let inside = text.get(open + 2..).unwrap_or_default();
        match inside.find("}}").and_then(|end| Some((placeholder_name(inside.get(..end)?)?, end))) {
            Some((name, end)) => {
                pieces.extend(text.get(start..open).map(Fragment::Text));
                pieces.push(Fragment::Placeholder(name));
                start = open + end + 4;
                at = start;
            }
            None => at = open + 1,
        }
    }
    pieces.extend(text.get(start..).map(Fragment::Text));
    pieces
}

/// Returns the trimmed text between braces if it is a valid name.
fn placeholder_name(inside: &str) -> Option<&str> {
    let name = inside.trim();
    let is_name =
        !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(['{', '}', '\n']);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholder_names_are_unique_and_ordered() {
        let texts = ["Write {{ kind }} about {{topic}}.", "{{topic}} for {{who reads}}{{größe}}"];
        assert_eq!(placeholder_names(texts), ["kind", "topic", "who reads", "größe"]);
    }

    #[test]
    fn malformed_placeholders_remain_literal_text() {
        for text in
            ["", "{{}}", "{{ }}", "{{a", "a}}", "{a}", "{{a\nb}}", "{ {a}}", "{{{}}}", "ß{{"]
        {
            assert_eq!(placeholder_names([text]), Vec::<&str>::new(), "{text}");
            assert_eq!(fill_placeholders(text, |_| "x"), text);
        }
        assert_eq!(
            placeholder_names([format!("{{{{{}}}}}", "x".repeat(MAX_NAME_BYTES + 1)).as_str()]),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn braces_around_placeholder_are_kept() {
        assert_eq!(fill_placeholders("{{{a}}} {{a}}}} {{ {{a}}", |_| "x"), "{x} x}} {{ x");
    }

    #[test]
    fn placeholder_values_are_not_expanded_again() {
        let filled =
            fill_placeholders(
                "{{a}} and {{b}}",
                |name| if name == "a" { "{{b}}" } else { "{{a}}" },
            );
        assert_eq!(filled, "{{b}} and {{a}}");
    }
}
