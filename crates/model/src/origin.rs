//! Where the content of items comes from.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Uri, is_invisible};

/// Maximum number of items that are named as those an item is derived from.
const MAX_DERIVED_FROM: usize = 50;
/// Maximum number of clients that are named for an item.
const MAX_AGENTS: usize = 16;
/// Maximum length of the name of a client, in characters.
const MAX_CLIENT_CHARS: usize = 64;

/// Where the content of an item comes from, as far as the library knows. Everything but
/// [`Own`](Self::Own) may have been written by strangers. A later origin is stricter.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ContentOrigin {
    /// Written in the library by its user.
    #[default]
    Own,
    /// Imported from a file or from the data of another program.
    ImportedFile,
    /// Written or changed by an agent.
    Agent,
    /// Not known: an agent wrote it in a call without a session.
    Unknown,
    /// Rows of a database.
    Database,
    /// A document of a collection, which several users may share.
    SharedCollection,
    /// An entry of a feed.
    Feed,
    /// A web page, or a document with a web address.
    #[serde(alias = "web")]
    WebPage,
    /// A mail.
    Mail,
}

/// Error for text that names no origin.
#[derive(Debug, thiserror::Error)]
#[error(
    "unknown origin `{0}`: use own, imported_file, agent, unknown, database, shared_collection, feed, \
     web_page or mail"
)]
pub struct UnknownOrigin(String);

impl ContentOrigin {
    /// All origins.
    pub const ALL: [Self; 9] = [
        Self::Own,
        Self::ImportedFile,
        Self::Agent,
        Self::Unknown,
        Self::Database,
        Self::SharedCollection,
        Self::Feed,
        Self::WebPage,
        Self::Mail,
    ];

    /// Returns the name in outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::ImportedFile => "imported_file",
            Self::Agent => "agent",
            Self::Unknown => "unknown",
            Self::Database => "database",
            Self::SharedCollection => "shared_collection",
            Self::Feed => "feed",
            Self::WebPage => "web_page",
            Self::Mail => "mail",
        }
    }

    /// Returns true for texts that strangers may have sent, and for those of which that is not known.
    pub fn is_foreign(self) -> bool {
        match self {
            Self::Own | Self::ImportedFile | Self::Agent => false,
            Self::Unknown
            | Self::Database
            | Self::SharedCollection
            | Self::Feed
            | Self::WebPage
            | Self::Mail => true,
        }
    }

    /// Returns the origin that the media type and the URL of an item tell, if any. The SQL of
    /// `access_media.sql` tells the same.
    pub fn of_document(media_type: Option<&str>, url: Option<&str>) -> Option<Self> {
        match media_type {
            Some("email") => Some(Self::Mail),
            Some("feed" | "podcast") => Some(Self::Feed),
            Some("html" | "article") => Some(Self::WebPage),
            Some(_) | None => {
                let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
                url.filter(|url| is_web(url)).map(|_| Self::WebPage)
            }
        }
    }
}

impl FromStr for ContentOrigin {
    type Err = UnknownOrigin;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = if text == "web" { Self::WebPage.as_str() } else { text };
        let found = Self::ALL.into_iter().find(|origin| origin.as_str() == name);
        found.ok_or_else(|| UnknownOrigin(text.chars().take(100).collect()))
    }
}

/// A set of origins.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(from = "Vec<ContentOrigin>", into = "Vec<ContentOrigin>")]
pub struct OriginSet(u16);

impl OriginSet {
    /// Adds an origin.
    pub fn insert(&mut self, origin: ContentOrigin) {
        self.0 |= 1 << origin as u16;
    }

    /// Removes an origin.
    pub fn remove(&mut self, origin: ContentOrigin) {
        self.0 &= !(1 << origin as u16);
    }

    /// Returns true if the origin is in the set.
    pub fn contains(self, origin: ContentOrigin) -> bool {
        self.0 & (1 << origin as u16) != 0
    }

    /// Returns true if the set has no origin.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the origins of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the origins, the strictest first.
    pub fn iter(self) -> impl Iterator<Item = ContentOrigin> {
        ContentOrigin::ALL.into_iter().rev().filter(move |origin| self.contains(*origin))
    }

    /// Returns the strictest origin; `own` for an empty set.
    pub fn strictest(self) -> ContentOrigin {
        self.iter().next().unwrap_or_default()
    }
}

impl FromIterator<ContentOrigin> for OriginSet {
    fn from_iter<I: IntoIterator<Item = ContentOrigin>>(origins: I) -> Self {
        let mut set = Self::default();
        origins.into_iter().for_each(|origin| set.insert(origin));
        set
    }
}

impl From<Vec<ContentOrigin>> for OriginSet {
    fn from(origins: Vec<ContentOrigin>) -> Self {
        origins.into_iter().collect()
    }
}

impl From<OriginSet> for Vec<ContentOrigin> {
    fn from(origins: OriginSet) -> Self {
        origins.iter().collect()
    }
}

/// An item that an agent had been shown before it wrote another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DerivedFrom {
    /// Canonical pointer, such as `media://3`.
    pub uri: Uri,
    /// The strictest origin of its contents.
    pub origin: ContentOrigin,
}

/// Provenance of an item that agents wrote. The default is that of an item that none has written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// Names of their clients.
    pub agents: Vec<String>,
    /// Origins of all that they had been shown, and of what that was derived from in turn.
    pub origins: OriginSet,
    /// Items that they had been shown. The list is bounded; `origins` is complete.
    pub derived_from: Vec<DerivedFrom>,
}

impl Provenance {
    /// Creates that of an item whose author is an agent with this client and has been shown nothing.
    pub fn of_agent(client: &str) -> Self {
        let origins = OriginSet::from_iter([ContentOrigin::Agent]);
        Self { agents: vec![safe_client_name(client)], origins, derived_from: Vec::new() }
    }

    /// Returns true if no agent wrote the item.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.origins.is_empty()
    }

    /// Adds what another change brings. Of too many items, those with the strictest origins are kept.
    pub fn merge(&mut self, other: &Self) {
        for agent in &other.agents {
            let agent = safe_client_name(agent);
            if self.agents.len() < MAX_AGENTS && !self.agents.contains(&agent) {
                self.agents.push(agent);
            }
        }
        self.origins = self.origins.union(other.origins);
        for from in &other.derived_from {
            match self.derived_from.iter_mut().find(|known| known.uri == from.uri) {
                Some(known) => known.origin = known.origin.max(from.origin),
                None => self.derived_from.push(from.clone()),
            }
        }
        self.derived_from.sort_by_key(|from| std::cmp::Reverse(from.origin));
        self.derived_from.truncate(MAX_DERIVED_FROM);
    }
}

/// Returns the name of a client, which the client chose, as one short word or a few, without signs
/// that a line of text gives a meaning.
fn safe_client_name(name: &str) -> String {
    let kept = name.chars().filter(|sign| sign.is_whitespace() || !is_invisible(*sign));
    let plain = kept.map(|sign| match sign {
        sign if sign.is_alphanumeric() || "._-+/@".contains(sign) => sign,
        _ => ' ',
    });
    let plain: String = plain.take(4 * MAX_CLIENT_CHARS).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(MAX_CLIENT_CHARS).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceName;

    fn from(number: usize, origin: ContentOrigin) -> DerivedFrom {
        DerivedFrom { uri: Uri::item(SourceName::Media, number.to_string()), origin }
    }

    #[test]
    fn strictest_origin_comes_first() {
        let set =
            OriginSet::from_iter([ContentOrigin::Own, ContentOrigin::Mail, ContentOrigin::Agent]);
        assert_eq!(set.strictest(), ContentOrigin::Mail);
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, r#"["mail","agent","own"]"#);
        assert_eq!(serde_json::from_str::<OriginSet>(&json).unwrap(), set);
        for origin in ContentOrigin::ALL {
            assert_eq!(origin.as_str().parse::<ContentOrigin>().unwrap(), origin);
            assert_eq!(serde_json::to_value(origin).unwrap(), origin.as_str());
        }
        assert_eq!("web".parse::<ContentOrigin>().unwrap(), ContentOrigin::WebPage);
        assert!("letters".parse::<ContentOrigin>().is_err());
    }

    #[test]
    fn merged_items_are_bounded_and_keep_mails() {
        let mut all = Provenance::of_agent("one");
        all.merge(&Provenance { derived_from: vec![from(0, ContentOrigin::Mail)], ..all.clone() });
        let many = (1..100).map(|number| from(number, ContentOrigin::Own)).collect();
        let origins = OriginSet::from_iter([ContentOrigin::Own, ContentOrigin::Feed]);
        all.merge(&Provenance { agents: vec!["two".to_owned()], origins, derived_from: many });
        assert_eq!(all.agents, ["one", "two"]);
        assert_eq!(all.derived_from.len(), MAX_DERIVED_FROM);
        assert_eq!(all.derived_from[0], from(0, ContentOrigin::Mail));
        assert!(all.origins.contains(ContentOrigin::Agent));
        assert!(all.origins.contains(ContentOrigin::Feed));
    }

    #[test]
    fn client_name_is_plain_and_short() {
        for (name, expected) in [
            ("claude-code/2.1", "claude-code/2.1"),
            ("", "unknown"),
            ("\u{202e}\u{e0041}", "unknown"),
            ("own]\n[x](http://a)", "own x http //a"),
        ] {
            assert_eq!(Provenance::of_agent(name).agents, [expected], "{name}");
        }
        assert_eq!(safe_client_name(&"é".repeat(500)).chars().count(), MAX_CLIENT_CHARS);
    }
}
