//! The links of a section: those in its text, and those of other items to its heading.

use std::{collections::HashSet, ops::Range};

use vademecum_model::{DraftBody, ItemId, Uri};
use vademecum_search::find_section;
use vademecum_source::SourceError;

use super::links::{ItemLinks, LinkGraph, ResolvedLink};

impl LinkGraph {
    /// Keeps the links in a section of an item, and those of other items to its heading. The section is found in
    /// the whole text, because an answer may have its beginning only.
    pub async fn links_of_section(
        &self,
        links: ItemLinks,
        heading: String,
    ) -> Result<ItemLinks, SourceError> {
        let text = self.text_of(&links.item.uri).await?;
        self.run_blocking(move || {
            let section = section_chars(&text, &heading);
            keep_section(links, &section, &heading)
        })
        .await
    }

    /// Returns the text of an item that can have sections; an empty one for others.
    async fn text_of(&self, uri: &Uri) -> Result<String, SourceError> {
        let source = self.sources.iter().find(|source| source.name() == uri.source);
        let source = source.ok_or_else(|| SourceError::not_found("item", uri))?;
        let id = ItemId::from(uri.id.as_str());
        Ok(match source.load_draft(&id, self.deadline.clone()).await?.body {
            DraftBody::Note(note) => note.content,
            DraftBody::Media(media) => media.content,
            DraftBody::Chat(_) | DraftBody::Character(_) | DraftBody::Prompt(_) => String::new(),
        })
    }
}

/// Returns the place of a section in characters; an empty one if it does not exist.
fn section_chars(text: &str, heading: &str) -> Range<usize> {
    let section = find_section(text, heading).unwrap_or_default();
    let chars = |bytes: Range<usize>| text.get(bytes).unwrap_or_default().chars().count();
    let start = chars(0..section.start);
    start..start + chars(section)
}

fn keep_section(mut links: ItemLinks, section: &Range<usize>, heading: &str) -> ItemLinks {
    let is_inside = |link: &ResolvedLink| section.contains(&link.link.link.position);
    links.out.retain(is_inside);
    links.quoted.retain(is_inside);
    let last = |heading: &str| heading.rsplit('#').next().unwrap_or_default().trim().to_lowercase();
    let wanted = last(heading);
    links.incoming.retain(|link| last(&link.link.link.fragment) == wanted);
    links.quoting.clear();
    let addresses: HashSet<String> =
        links.out.iter().map(|link| link.link.link.target.clone()).collect();
    links.shared.retain(|link| addresses.contains(&link.link.link.target));
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_is_counted_in_characters() {
        let text = "ö\n# A\nä\n## B\nb\n# C\nc";
        assert_eq!(section_chars(text, "a"), 2..15);
        assert_eq!(section_chars(text, "C"), 15..20);
        assert_eq!(section_chars(text, "D"), 0..0);
        let long = format!("# A\n{}\n# B\n", "ä ".repeat(200_000));
        assert_eq!(section_chars(&long, "A"), 0..400_005, "longer than an answer");
    }
}
