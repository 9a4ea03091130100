//! Extraction of the links of a text.

use vademecum_model::FrontMatterBlock;
use vademecum_search::bounded_markup;

use super::{
    Dialect, Link, LinkKind,
    found_link::FoundLink,
    front_matter::FrontMatterLinks,
    key::{LinkKey, block_key, name_key},
    masking::mask_literal_parts,
    quotes::block_quotes,
    scan::Scanner,
};

/// Maximum number of web addresses of an item, and of other links; further ones are counted. Those in the end of
/// a long text that consists of signs are not looked for.
const MAX_LINKS: usize = 20_000;
/// Maximum number of characters of the context on each side of a link.
const CONTEXT_CHARS: usize = 60;

/// The links of a text, and the names that it gives to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The links, in the order of the text.
    pub links: Vec<Link>,
    /// Identifiers of its blocks: `id:: …`, `^…` at the end of a line, `:ID: …`.
    pub blocks: Vec<String>,
    /// Other names in its front matter.
    pub aliases: Vec<String>,
    /// Web addresses that its front matter gives as its own.
    pub addresses: Vec<String>,
    /// Number of links beyond the maximum.
    pub omitted: usize,
}

/// Returns the links of a text. At most 20,000 web addresses and 20,000 other links are returned.
pub fn extract_links(text: &str, dialect: Dialect) -> Extracted {
    let front = match dialect {
        Dialect::Markdown | Dialect::Logseq => FrontMatterBlock::find(text),
        Dialect::Org | Dialect::LogseqOrg | Dialect::Plain => None,
    };
    let body = front.map_or(text, |block| block.body);
    let body_start = text.len() - body.len();
    let mut extracted = Extracted::default();
    let mut found = Vec::new();
    if let Some(block) =
        front.filter(|block| block.matter.len() <= FrontMatterBlock::MAX_READ_BYTES)
    {
        let matter = FrontMatterLinks::parse(block.matter);
        found.extend(matter.links.into_iter().map(|link| link.shifted(block.start)));
        (extracted.aliases, extracted.addresses) = (matter.aliases, matter.addresses);
    }
    let body = bounded_markup(body);
    let masked = mask_literal_parts(body, dialect);
    let scanned = Scanner::new(&masked, dialect, MAX_LINKS).scan();
    found.extend(scanned.links.into_iter().map(|link| link.shifted(body_start)));
    (extracted.blocks, extracted.omitted) = (scanned.blocks, scanned.omitted);
    if dialect != Dialect::Plain {
        found.extend(block_quotes(body).into_iter().map(|link| link.shifted(body_start)));
    }
    found.sort_by_key(|link| link.at);
    extracted.links = located_links(text, found, dialect);
    extracted
}

/// Adds to links their positions, contexts and keys.
fn located_links(text: &str, found: Vec<FoundLink>, dialect: Dialect) -> Vec<Link> {
    let (mut bytes, mut characters) = (0, 0);
    let located = found.into_iter().map(|link| {
        characters += text.get(bytes..link.at).unwrap_or_default().chars().count();
        bytes = link.at;
        let context =
            if dialect == Dialect::Plain { String::new() } else { context(text, link.at) };
        Link {
            key: LinkKey::of(&link.key.unwrap_or_else(|| link_key(link.kind, &link.target))),
            kind: link.kind,
            target: link.target,
            fragment: link.fragment,
            position: characters,
            context,
        }
    });
    located.collect()
}

fn link_key(kind: LinkKind, target: &str) -> String {
    if kind == LinkKind::Block { block_key(target) } else { name_key(target) }
}

/// Returns the text around a position, within its line, with single spaces.
fn context(text: &str, at: usize) -> String {
    let (before, after) = surroundings(text, at);
    let before = before.rsplit('\n').next().unwrap_or_default();
    let after = after.split('\n').next().unwrap_or_default();
    let start = before.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at);
    let end = after.char_indices().nth(2 * CONTEXT_CHARS).map_or(after.len(), |(at, _)| at);
    let around = [before.get(start..), after.get(..end)].map(Option::unwrap_or_default).concat();
    around.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text before and after a position that may be its context: a line may be as long as the
/// text, and have thousands of links.
fn surroundings(text: &str, at: usize) -> (&str, &str) {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.ceil_char_boundary(before.len().saturating_sub(4 * CONTEXT_CHARS));
    let end = after.floor_char_boundary(8 * CONTEXT_CHARS);
    (before.get(start..).unwrap_or_default(), after.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the links as `kind target#fragment`.
    fn links(text: &str, dialect: Dialect) -> Vec<String> {
        let shown = extract_links(text, dialect).links.into_iter().map(|link| {
            let mark = if link.fragment.is_empty() { "" } else { "#" };
            format!("{} {}{mark}{}", link.kind.as_str(), link.target, link.fragment)
        });
        shown.collect()
    }

    #[test]
    fn links_between_rules_are_found() {
        let text = "---\nSee [[Rye]] and [[Oat]].\n---\n[[Spelt]]";
        assert_eq!(
            links(text, Dialect::Markdown),
            ["wikilink Rye", "wikilink Oat", "wikilink Spelt"]
        );
    }

    #[test]
    fn obsidian_links_are_found() {
        let cases: [(&str, &[&str]); 30] = [
            ("[[Rye]]", &["wikilink Rye"]),
            ("[[Rye|bread]] and [[Rye\\|x]]", &["wikilink Rye", "wikilink Rye"]),
            ("[[Rye#Crust#Dark|x]]", &["wikilink Rye#Crust#Dark"]),
            ("[[Rye#^a1]]", &["wikilink Rye#^a1"]),
            ("[[#Crust]]", &["wikilink #Crust"]),
            ("![[a b.png|100]]", &["embed a b.png"]),
            ("[x](Rye%20bread.md#Crust)", &["markdown Rye bread.md#Crust"]),
            ("[x](<Rye bread.md>)", &["markdown Rye bread.md"]),
            ("[x](Rye%20(1).md \"title\")", &["markdown Rye (1).md"]),
            ("![x](../img/a.png)", &["image ../img/a.png"]),
            ("[x](#Crust)", &["markdown #Crust"]),
            ("[x](mailto:a@example.org)", &[]),
            ("[x](https://example.org/a)", &["address https://example.org/a"]),
            ("See https://example.org/a_(b), ok.", &["address https://example.org/a_(b)"]),
            ("<https://example.org/>", &["address https://example.org/"]),
            ("[![a](b.png)](Rye.md)", &["markdown Rye.md", "image b.png"]),
            ("\\[[Rye]] [[ ]] [[]] [[a\nb]]", &[]),
            ("`[[Rye]]` %%[[Rye]]%%", &[]),
            ("```\n[[Rye]]\n```", &[]),
            ("#Rye #[[Rye]]", &["wikilink Rye"]),
            ("[[a [[Rye]]", &["wikilink Rye"]),
            (
                "---\nup: \"[[Rye|x]]\"\nx: [\"[[A]]\", '[[B]]']\ny: [[C]]\n---\n",
                &["property Rye", "property A", "property B"],
            ),
            ("---\nsupersedes: Old note\n---\n", &["supersedes Old note"]),
            (
                "---\nsupersedes:\n  - \"[[Old]]\"\n  - notes://7\n---\n",
                &["supersedes Old", "supersedes notes://7"],
            ),
            (
                "---\nsuperseded_by: [a, \"b, c\"]\n---\n",
                &["superseded_by a", "superseded_by b, c"],
            ),
            ("+++\nsupersedes = [\"a\"]\n+++\n", &["supersedes a"]),
            ("supersedes:: [[Old]], [[Older]]", &["supersedes Old", "supersedes Older"]),
            (
                "((6f9619ff-8b86-d011-b42d-00c04fc964ff))",
                &["block 6f9619ff-8b86-d011-b42d-00c04fc964ff"],
            ),
            ("[x](obsidian://open?vault=v&file=A%2FRye)", &["markdown A/Rye"]),
            ("[x](media://3) notes://a-b.", &["uri media://3", "uri notes://a-b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(links(text, Dialect::Markdown), expected, "{text}");
        }
    }

    #[test]
    fn logseq_links_are_found() {
        let cases: [(&str, &[&str]); 12] = [
            ("- [[C# basics|x]]", &["wikilink C# basics|x"]),
            ("- #rye, #[[two words]] a#b #1.", &["tag rye", "tag two words", "tag 1"]),
            ("- [[a [[Rye]] b]]", &["wikilink a [[Rye]] b", "wikilink Rye"]),
            ("- {{embed [[Rye]]}}", &["embed Rye"]),
            (
                "- {{embed ((6f9619ff-8b86-d011-b42d-00c04fc964ff))}}",
                &["embed 6f9619ff-8b86-d011-b42d-00c04fc964ff"],
            ),
            ("- [x]([[Rye]])", &["wikilink Rye"]),
            (
                "- [x](((6f9619ff-8b86-d011-b42d-00c04fc964ff)))",
                &["block 6f9619ff-8b86-d011-b42d-00c04fc964ff"],
            ),
            ("tags:: a, [[b]], #c", &["tag a", "wikilink b", "tag c"]),
            ("- ![x](../assets/a b.png)", &["image ../assets/a b.png"]),
            ("- supersedes:: [[Old]]", &["supersedes Old"]),
            ("- # heading #rye", &["tag rye"]),
            ("- ```\n  #no [[no]]\n  ```\n- #yes", &["tag yes"]),
        ];
        for (text, expected) in cases {
            assert_eq!(links(text, Dialect::Logseq), expected, "{text}");
        }
    }

    #[test]
    fn org_links_are_found() {
        let cases: [(&str, &[&str]); 7] = [
            ("[[id:AB-1][Rye]]", &["block AB-1"]),
            ("[[file:../a b.org::*Crust][x]]", &["markdown ../a b.org#Crust"]),
            ("[[./a.org]]", &["markdown ./a.org"]),
            ("[[*Crust]]", &["wikilink #Crust"]),
            ("[[https://example.org][x]]", &["address https://example.org"]),
            ("[[Rye]]", &["wikilink Rye"]),
            ("#+begin_src x\n[[Rye]]\n#+end_src", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(links(text, Dialect::Org), expected, "{text}");
        }
    }

    #[test]
    fn plain_text_has_addresses_and_uris_only() {
        let text = "[[Rye]] [x](a.md) (https://example.org/a) chats://5f #tag";
        assert_eq!(
            links(text, Dialect::Plain),
            ["address https://example.org/a", "uri chats://5f"]
        );
    }

    #[test]
    fn blocks_aliases_and_addresses_are_names() {
        let text = "---\naliases: [Loaf, \"Brown, dark\"]\nsource: https://example.org/a\n---\n\
                    Text ^a-1\n- b\n  id:: 6F9619FF-8B86-D011-B42D-00C04FC964FF\nx^2 ^ y";
        let found = extract_links(text, Dialect::Markdown);
        assert_eq!(found.aliases, ["Loaf", "Brown, dark"]);
        assert_eq!(found.addresses, ["https://example.org/a"]);
        assert_eq!(found.blocks, ["a-1", "6F9619FF-8B86-D011-B42D-00C04FC964FF"]);
        let org = extract_links("* A\n:PROPERTIES:\n:ID: x-1\n:END:\n", Dialect::Org);
        assert_eq!(org.blocks, ["x-1"]);
    }

    #[test]
    fn link_has_position_key_and_context() {
        let text = "Ünder\nDough  of [[Folder/Rye Bread#Crust|rye]] and salt\nmore";
        let link = extract_links(text, Dialect::Markdown).links.remove(0);
        assert_eq!((link.position, link.key), (16, LinkKey::of("rye bread")));
        assert_eq!(link.context, "Dough of [[Folder/Rye Bread#Crust|rye]] and salt");
    }

    #[test]
    fn context_is_searched_near_its_link() {
        let text = format!("{0}[[Rye]]{0}", "é🙂 ".repeat(10_000));
        let at = text.find('[').unwrap();
        let (before, after) = surroundings(&text, at);
        assert!(before.len() <= 4 * CONTEXT_CHARS && after.len() <= 8 * CONTEXT_CHARS);
        let link = extract_links(&text, Dialect::Markdown).links.remove(0);
        let (left, right) = link.context.split_once("[[Rye]]").unwrap();
        let letters = |part: &str| part.chars().filter(|letter| *letter != ' ').count();
        assert_eq!((letters(left), letters(right)), (40, 76));
        assert_eq!(surroundings("[[Rye]]", 0), ("", "[[Rye]]"));
    }

    #[test]
    fn quotes_of_some_length_are_links() {
        let quote = "the crumb of a rye loaf\n> needs a full day before it can be cut";
        let text = format!("> [!quote] Title\n> {quote}\n\n> too short\n");
        let target = "the crumb of a rye loaf needs a full day before it can be cut";
        assert_eq!(links(&text, Dialect::Markdown), [format!("quote {target}")]);
    }

    #[test]
    fn addresses_take_no_room_of_links() {
        let addresses = (0..MAX_LINKS + 7).map(|number| format!("https://e.org/{number} "));
        let text = addresses.collect::<Vec<_>>().concat() + "[[Rye]]";
        let found = extract_links(&text, Dialect::Markdown);
        assert_eq!((found.links.len(), found.omitted), (MAX_LINKS + 1, 7));
        assert_eq!(found.links.last().map(|link| link.kind), Some(LinkKind::Wikilink));
    }

    #[test]
    fn floods_of_open_links_end_soon() {
        for piece in ["[[", "](", "((", "[[a|", "](a ", "https://", "%%", "$", "id:: ", "`", "![["]
        {
            let text = piece.repeat(50_000);
            for dialect in [Dialect::Markdown, Dialect::Logseq, Dialect::Org, Dialect::Plain] {
                assert!(extract_links(&text, dialect).links.len() <= MAX_LINKS + 1);
            }
        }
    }
}
