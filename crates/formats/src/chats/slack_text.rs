//! The markup of Slack's messages: `<@U1>`, `<#C1|name>`, `<https://example.org|text>`, `&lt;`.

use std::collections::HashMap;

/// Returns a message as Markdown. `names` are the names of people by their identifiers.
pub(super) fn to_markdown(text: &str, names: &HashMap<String, String>) -> String {
    let mut markdown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        markdown.push_str(before);
        let Some((inside, after)) = tag.split_once('>') else {
            markdown.push('<');
            rest = tag;
            break;
        };
        markdown.push_str(&reference(inside, names));
        rest = after;
    }
    markdown.push_str(rest);
    markdown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn reference(inside: &str, names: &HashMap<String, String>) -> String {
    let (target, label) = inside.split_once('|').unwrap_or((inside, ""));
    let labelled = |sign: char, name: &str| {
        let name = if label.is_empty() { name } else { label };
        format!("{sign}{name}")
    };
    let known = |id: &str| names.get(id).map_or_else(|| id.to_owned(), Clone::clone);
    match target.chars().next() {
        Some('@') => labelled('@', &known(&target[1..])),
        Some('#') => labelled('#', &target[1..]),
        Some('!') => labelled('@', target[1..].split('^').next().unwrap_or_default()),
        _ if label.is_empty() || label == target => target.to_owned(),
        _ => format!("[{label}]({target})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_entities_are_resolved() {
        let names = HashMap::from([("U1".to_owned(), "Ada".to_owned())]);
        for (text, markdown) in [
            ("<@U1> and <@U2|ben>", "@Ada and @ben"),
            ("<@U9> in <#C1|rye>, <!here>", "@U9 in #rye, @here"),
            (
                "<https://example.org|Rye> <https://a.org>",
                "[Rye](https://example.org) https://a.org",
            ),
            ("1 &lt; 2 &amp;&amp; 3 < 4", "1 < 2 && 3 < 4"),
            ("<", "<"),
            ("<>é<é|ö>", "é[ö](é)"),
        ] {
            assert_eq!(to_markdown(text, &names), markdown);
        }
    }
}
