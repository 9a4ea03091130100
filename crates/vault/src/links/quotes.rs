//! Quotes of one item in another: block quotes whose text is also in another item.
//!
//! A quote is no link to a name, so it is looked up by its text: the items with its first words, as a
//! phrase of full text, are compared with it. The items that quote an item are found by comparing it
//! with the newest quotes of the library. Both are bounded.

use rusqlite::named_params;
use vademecum_model::{DraftBody, Filters, Order, Uri};
use vademecum_search::{FtsQuery, RankRequest};
use vademecum_source::{Source, SourceError};
use vademecum_store::Reader;

use super::{LinkKey, LinkKind, StoredLink, found_link::FoundLink};

/// Key that all quotes share, because they are looked up by their text.
pub(super) const QUOTE_KEY: &str = "quote:";
/// Minimum length of a quote, in characters: shorter texts occur in several items by chance.
const MIN_QUOTE_CHARS: usize = 40;
/// Number of characters of a quote that are stored and compared.
const MAX_QUOTE_CHARS: usize = 300;
/// Maximum number of quotes of an item.
const MAX_QUOTES: usize = 16;
/// Number of words of a quote that are searched as a phrase.
const PHRASE_WORDS: usize = 10;
/// Maximum number of items with the phrase that are compared with the quote.
const MAX_CANDIDATES: usize = 8;
/// Maximum number of quotes of a source with which an item is compared.
const MAX_QUOTES_COMPARED: usize = 2_000;

/// Returns the block quotes of a Markdown or Org text that are long enough, the first 16 of them.
pub(super) fn block_quotes(text: &str) -> Vec<FoundLink> {
    let mut quotes = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let (mut at, mut in_block) = (0, false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start().trim_start_matches("- ").trim_start();
        let marked = bare.strip_prefix('>').map(|it| it.trim_start_matches(['>', ' ']));
        let is_mark =
            |mark: &str| bare.get(..mark.len()).is_some_and(|it| it.eq_ignore_ascii_case(mark));
        if is_mark("#+begin_quote") {
            (in_block, open) = (true, Some((at, String::new())));
        } else if is_mark("#+end_quote") {
            in_block = false;
            finish(&mut quotes, open.take());
        } else if let Some(quoted) = marked.or_else(|| in_block.then_some(bare)) {
            let (_, quote) = open.get_or_insert_with(|| (at, String::new()));
            if !quoted.starts_with("[!") && quote.len() <= 4 * MAX_QUOTE_CHARS {
                quote.push(' ');
                quote.push_str(quoted);
            }
        } else {
            finish(&mut quotes, open.take());
        }
        at += line.len();
        if quotes.len() >= MAX_QUOTES {
            return quotes;
        }
    }
    finish(&mut quotes, open);
    quotes
}

fn finish(quotes: &mut Vec<FoundLink>, open: Option<(usize, String)>) {
    let Some((at, text)) = open else { return };
    let text = collapse(&text);
    if text.chars().count() < MIN_QUOTE_CHARS {
        return;
    }
    let end = text.char_indices().nth(MAX_QUOTE_CHARS).map_or(text.len(), |(at, _)| at);
    let mut quote = FoundLink::new(LinkKind::Quote, at, text.get(..end).unwrap_or(&text), "");
    quote.key = Some(QUOTE_KEY.to_owned());
    quotes.push(quote);
}

/// Returns a text with single spaces between its words.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An item, its quotes and its text.
#[derive(Clone, Debug)]
pub struct QuotingItem {
    /// Canonical pointer to the item.
    pub uri: Uri,
    /// The texts that it quotes.
    pub quotes: Vec<String>,
    /// Its text, as [`LinkRows::text`](super::LinkRows) has it; empty if its quotes in other items are
    /// not looked up.
    pub text: String,
}

/// Returns the items of a source with the text of a quote, which `from` contains: at most eight items
/// with its first words are compared.
pub(super) fn find_quoted(
    source: &dyn Source,
    reader: &Reader<'_>,
    from: &Uri,
    quote: &str,
) -> Result<Vec<Uri>, SourceError> {
    let words: Vec<&str> = quote
        .split(|next: char| !next.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(PHRASE_WORDS)
        .collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let request = RankRequest {
        query: std::sync::Arc::new(FtsQuery::parse(&format!("\"{}\"", words.join(" ")))),
        filters: Filters::default(),
        order: Order::Relevance,
        limit: MAX_CANDIDATES,
        ..RankRequest::default()
    };
    let mut found: Vec<Uri> = Vec::new();
    for ranked in source.rank_matches(reader, &request)?.ranked.into_iter().take(MAX_CANDIDATES) {
        let uri = Uri::item(ranked.uri.source, ranked.uri.id);
        if uri != *from
            && !found.contains(&uri)
            && quotable_text(&source.load_draft(reader, &uri.id)?.body).contains(quote)
        {
            found.push(uri);
        }
    }
    Ok(found)
}

/// Returns the quotes of a source that are part of a text of [`quotable_text`]. At most 2,000 quotes of
/// the source are compared. Hidden items are not left out.
pub(super) fn find_quoting(
    source: &dyn Source,
    reader: &Reader<'_>,
    text: &str,
) -> Result<Vec<StoredLink>, SourceError> {
    let name = source.name();
    let limit = i64::try_from(MAX_QUOTES_COMPARED).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    let parts = TextParts::new(text);
    reader.for_each_row(
        include_str!("sql/quotes.sql"),
        named_params! { ":key": LinkKey::of(QUOTE_KEY).in_source(name), ":most": limit },
        |row| {
            let quote: String = row.get("target")?;
            if parts.may_contain(&quote) && text.contains(&quote) {
                found.push(StoredLink::from_row(name, row)?);
            }
            Ok(())
        },
    )?;
    Ok(found)
}

/// The parts of eight bytes of a text. Most quotes of other texts have parts that it does not have.
struct TextParts(Vec<u64>);

impl TextParts {
    /// Number of bits of a hash: 65,536 bits are 8 KB.
    const HASH_BITS: u32 = 16;

    fn new(text: &str) -> Self {
        let mut bits = vec![0; 1 << (Self::HASH_BITS - u64::BITS.ilog2())];
        for part in text.as_bytes().windows(size_of::<u64>()) {
            let (word, bit) = Self::place(part);
            if let Some(word) = bits.get_mut(word) {
                *word |= bit;
            }
        }
        Self(bits)
    }

    /// Returns whether the text may contain a quote: it has the first and the last part of it.
    fn may_contain(&self, quote: &str) -> bool {
        let quote = quote.as_bytes();
        let parts = [quote.first_chunk(), quote.last_chunk::<{ size_of::<u64>() }>()];
        parts.into_iter().flatten().all(|part| {
            let (word, bit) = Self::place(part);
            self.0.get(word).is_some_and(|known| known & bit != 0)
        })
    }

    /// Returns the index of a word of bits, and the bit, of a part of a text.
    fn place(part: &[u8]) -> (usize, u64) {
        let number = part.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let hash = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - Self::HASH_BITS);
        (usize::try_from(hash >> 6).unwrap_or(0), 1 << (hash & 63))
    }
}

/// Returns the text of an item in which quotes are looked up, with single spaces between its words.
pub(super) fn quotable_text(body: &DraftBody) -> String {
    collapse(&super::body_text::body_text(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_text_may_be_contained() {
        let text = "One kneads the dough, waits – and bakes the bread in the hot oven.";
        let parts = TextParts::new(text);
        for start in 0..text.len() {
            for end in start..=text.len() {
                if let Some(quote) = text.get(start..end) {
                    assert!(parts.may_contain(quote), "{quote}");
                }
            }
        }
        for quote in ["One kneads the breads", "someone kneads the dough", "and bakes the breads"] {
            assert!(!parts.may_contain(quote), "{quote}");
        }
        assert!(!TextParts::new("short").may_contain("a longer text"));
    }
}
