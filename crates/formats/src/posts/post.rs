//! Posts, joined to threads.

use std::collections::{BTreeMap, HashMap};

use vademecum_model::{MediaDraft, Timestamp};

use crate::{format::ParsedFormat, text::keywords::distinct_keywords};

/// Maximum number of posts of a thread above a post.
const MAX_DEPTH: usize = 1_000;

/// A post.
#[derive(Clone, Debug, Default)]
pub(super) struct Post {
    pub(super) id: String,
    /// Identifier of the post that it answers; empty if it answers none.
    pub(super) answered: String,
    pub(super) text: String,
    pub(super) url: String,
    pub(super) tags: Vec<String>,
    pub(super) created_at: Option<Timestamp>,
}

/// Adds a document for each thread. `service` is the prefix of the origins.
pub(super) fn add_threads(
    parsed: &mut ParsedFormat,
    service: &str,
    author: &str,
    posts: Vec<Post>,
) {
    let answered: HashMap<String, String> =
        posts.iter().map(|post| (post.id.clone(), post.answered.clone())).collect();
    let mut threads: BTreeMap<String, Vec<Post>> = BTreeMap::new();
    for post in posts {
        let mut first = post.id.as_str();
        for _ in 0..MAX_DEPTH {
            match answered.get(first).filter(|above| answered.contains_key(above.as_str())) {
                Some(above) => first = above,
                None => break,
            }
        }
        threads.entry(first.to_owned()).or_default().push(post.clone());
    }
    for (first, mut posts) in threads {
        posts.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        let texts: Vec<&str> = posts.iter().map(|post| post.text.trim()).collect();
        let text = texts.join("\n\n");
        if text.trim().is_empty() {
            parsed.add_problem(format!("post {first}"), "it has no text");
            continue;
        }
        let title: String = text.lines().next().unwrap_or_default().chars().take(80).collect();
        let url = posts.iter().map(|post| post.url.clone()).find(|url| !url.is_empty());
        let document = MediaDraft {
            title,
            content: text,
            media_type: "post".to_owned(),
            author: Some(author.to_owned()).filter(|author| !author.is_empty()),
            url,
            tags: distinct_keywords(posts.iter().flat_map(|post| post.tags.clone())),
            created_at: posts.first().and_then(|post| post.created_at),
            modified_at: posts.last().and_then(|post| post.created_at),
            ..MediaDraft::default()
        };
        parsed.add_document(format!("{service}:{first}"), document, "Post");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circle_of_answers_ends() {
        let post = |id: &str, answered: &str| Post {
            id: id.to_owned(),
            answered: answered.to_owned(),
            text: id.to_owned(),
            ..Post::default()
        };
        let mut parsed = ParsedFormat::default();
        add_threads(&mut parsed, "x", "", vec![post("a", "b"), post("b", "a"), post("c", "gone")]);
        assert!(parsed.drafts.iter().any(|draft| draft.origin == "x:c"));
    }
}
