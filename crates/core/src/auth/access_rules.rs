//! Restrictions of a principal: the scope of its key and the deny rules of the settings.
//!
//! The rules only take away. They say which tools a principal may call and which items exist for
//! it; rights and access tags apply besides (`docs/adr/0025-access-rules.md`).

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use vademecum_model::{
    ContentOrigin, ItemAccess, OriginSet, SourceAccess, SourceName, matches_pattern,
};

use crate::config::Deny;

/// Source name for the database profiles, which are no source of a library.
const DATABASES: &str = "databases";

/// Scope of a key. A list that is `None` restricts nothing; an empty list permits nothing.
///
/// All entries may contain `*` for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyScope {
    /// Names of tools. `resources`, `prompts` and `completion` name the methods of these families.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Names of sources, or `databases` for the database profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
    /// Names of collections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collections: Option<Vec<String>>,
    /// Tags; only items with one of them exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Origins; only items in which everything is of one of them exist. No pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<ContentOrigin>>,
    /// Users that a delegating key may act for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
    /// Access tags that a delegating key may pass on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_tags: Option<Vec<String>>,
}

/// Error for a key scope with an unknown source.
#[derive(Debug, thiserror::Error)]
#[error(
    "unknown source `{0}`: use notes, media, chats, characters, prompts, collections or databases"
)]
pub struct KeyScopeError(String);

impl KeyScope {
    /// Returns an error if a source name matches no source.
    pub fn check(&self) -> Result<(), KeyScopeError> {
        let is_known = |pattern: &&String| {
            SourceName::ALL
                .map(SourceName::as_str)
                .into_iter()
                .chain(["collections", DATABASES])
                .any(|name| matches_pattern(pattern, name))
        };
        match self.sources.iter().flatten().find(|pattern| !is_known(pattern)) {
            Some(unknown) => Err(KeyScopeError(unknown.chars().take(100).collect())),
            None => Ok(()),
        }
    }

    /// Returns the scope as JSON, for the account database.
    pub fn to_json(&self) -> String {
        // Serialization cannot fail: there are no maps.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Formats the lists that are set, for people.
    pub fn describe(&self) -> String {
        let lists = [
            ("tools", &self.tools),
            ("sources", &self.sources),
            ("collections", &self.collections),
            ("tags", &self.tags),
            ("users", &self.users),
            ("session tags", &self.session_tags),
        ];
        let set = lists.into_iter().filter_map(|(name, list)| Some((name, list.as_ref()?)));
        let mut texts: Vec<String> =
            set.map(|(name, list)| format!("{name}: {}", list.join(", "))).collect();
        if let Some(origins) = &self.origins {
            let names: Vec<&str> = origins.iter().map(|origin| origin.as_str()).collect();
            texts.push(format!("origins: {}", names.join(", ")));
        }
        texts.join("; ")
    }
}

/// Restrictions of a principal. The default restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessRules {
    scope: KeyScope,
    denied: Vec<DenyRule>,
    /// The principal has no library.
    is_guest: bool,
}

/// A deny rule that applies to a principal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DenyRule {
    /// Client that the rule waits for; `None` applies to any client.
    client: Option<String>,
    sources: Vec<String>,
    tags: Vec<String>,
    folders: Vec<PathBuf>,
    origins: OriginSet,
}

impl AccessRules {
    /// Creates rules that restrict a principal to the scope of its key.
    pub fn for_scope(scope: KeyScope) -> Self {
        Self { scope, ..Self::default() }
    }

    /// Takes away the library.
    #[must_use]
    pub fn without_library(self) -> Self {
        Self { is_guest: true, ..self }
    }

    /// Adds the deny rules that apply.
    #[must_use]
    pub fn with_denied<'a>(mut self, rules: impl IntoIterator<Item = &'a Deny>) -> Self {
        let added = rules.into_iter().map(|rule| DenyRule {
            client: rule.client.clone(),
            sources: rule.sources.clone(),
            tags: rule.tags.clone(),
            folders: rule.folders.clone(),
            origins: rule.origins.iter().copied().collect(),
        });
        for rule in added {
            if !self.denied.contains(&rule) {
                self.denied.push(rule);
            }
        }
        self
    }

    /// Returns the rules for a client of this name, or `None` if they do not depend on the client.
    pub fn for_client(&self, name: &str) -> Option<Self> {
        if self.denied.iter().all(|rule| rule.client.is_none()) {
            return None;
        }
        let applies = |rule: &&DenyRule| {
            rule.client.as_ref().is_none_or(|pattern| matches_pattern(pattern, name))
        };
        let denied = self.denied.iter().filter(applies);
        let denied = denied.map(|rule| DenyRule { client: None, ..rule.clone() }).collect();
        Some(Self { denied, ..self.clone() })
    }

    /// Returns the rules that apply so far.
    fn active_rules(&self) -> impl Iterator<Item = &DenyRule> {
        self.denied.iter().filter(|rule| rule.client.is_none())
    }

    /// Returns true if the principal has a library of its own.
    pub fn has_library(&self) -> bool {
        !self.is_guest
    }

    /// Returns true if a tool may be listed and called. `name` is the name with dots. Tools of a
    /// source of which nothing is visible are not permitted.
    pub fn permits_tool(&self, name: &str) -> bool {
        let source = name.split('.').next().and_then(|prefix| prefix.parse::<SourceName>().ok());
        let is_in_scope = |patterns: &Vec<String>| {
            patterns.iter().any(|pattern| {
                matches_pattern(pattern, name) || matches_pattern(pattern, &name.replace('.', "_"))
            })
        };
        self.scope.tools.as_ref().is_none_or(is_in_scope)
            && source.is_none_or(|source| !self.hides_source(source))
    }

    /// Returns true if methods of a family, such as `resources`, may be called.
    pub fn permits_methods(&self, family: &str) -> bool {
        permits(self.scope.tools.as_ref(), family)
    }

    /// Returns true if a collection of this name may exist for the principal.
    pub fn permits_collection(&self, name: &str) -> bool {
        permits(self.scope.collections.as_ref(), name)
            && !self.source_access(SourceName::Collections).is_hidden
    }

    /// Returns true if the principal may use database profiles. Their rows have no tags, so a scope
    /// of tags excludes them, as does a denied origin `database`; a principal without a library has
    /// none.
    pub fn permits_databases(&self) -> bool {
        let is_denied = |rule: &DenyRule| rule.covers_all() && rule.concerns(DATABASES);
        permits(self.scope.sources.as_ref(), DATABASES)
            && self.scope.tags.is_none()
            && !self.denied_origins(DATABASES).contains(ContentOrigin::Database)
            && !self.is_guest
            && !self.active_rules().any(is_denied)
    }

    /// Returns true if nothing of a source is visible.
    fn hides_source(&self, source: SourceName) -> bool {
        self.source_access(source).is_hidden
    }

    /// Returns the access to the items of a library; `None` if all are visible.
    pub fn item_access(&self) -> Option<ItemAccess> {
        if *self == Self::default() {
            return None;
        }
        let mut access = ItemAccess::default();
        for source in SourceName::ALL {
            *access.source_mut(source) = self.source_access(source);
        }
        (!access.is_unrestricted()).then_some(access)
    }

    /// Returns the access to the documents of collections; `None` if the rules hide none.
    pub fn document_access(&self) -> Option<Arc<SourceAccess>> {
        let access = self.source_access(SourceName::Collections);
        (access != SourceAccess::default()).then(|| Arc::new(access))
    }

    fn source_access(&self, source: SourceName) -> SourceAccess {
        let rules = || self.active_rules().filter(|rule| rule.concerns(source.as_str()));
        let is_personal = source != SourceName::Collections;
        let denied_origins = self.denied_origins(source.as_str());
        let text = |folder: &PathBuf| folder.to_string_lossy().into_owned();
        SourceAccess {
            is_hidden: (is_personal && self.is_guest)
                || !permits(self.scope.sources.as_ref(), source.as_str())
                || rules().any(DenyRule::covers_all)
                || !is_personal && denied_origins.contains(ContentOrigin::SharedCollection),
            allowed_tags: self.scope.tags.clone(),
            denied_tags: rules().flat_map(|rule| rule.tags.clone()).collect(),
            denied_folders: rules().flat_map(|rule| rule.folders.iter().map(text)).collect(),
            // No document of a collection is of another origin.
            denied_origins: if is_personal { denied_origins } else { OriginSet::default() },
        }
    }

    /// Returns the origins that must not be in an item of a source.
    fn denied_origins(&self, source: &str) -> OriginSet {
        let rules = self.active_rules().filter(|rule| rule.concerns(source));
        let mut denied =
            rules.fold(OriginSet::default(), |denied, rule| denied.union(rule.origins));
        if denied.iter().any(ContentOrigin::is_foreign) {
            // An unknown origin may be any of them.
            denied.insert(ContentOrigin::Unknown);
        }
        if let Some(allowed) = &self.scope.origins {
            let others = ContentOrigin::ALL.into_iter().filter(|origin| !allowed.contains(origin));
            others.for_each(|origin| denied.insert(origin));
        }
        denied
    }
}

impl DenyRule {
    /// Returns true if the rule applies to a source.
    fn concerns(&self, source: &str) -> bool {
        self.sources.is_empty() || permits(Some(&self.sources), source)
    }

    /// Returns true if the rule hides everything in its sources.
    fn covers_all(&self) -> bool {
        self.tags.is_empty() && self.folders.is_empty() && self.origins.is_empty()
    }
}

fn permits(patterns: Option<&Vec<String>>, name: &str) -> bool {
    patterns.is_none_or(|patterns| patterns.iter().any(|pattern| matches_pattern(pattern, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn deny(text: &str) -> Deny {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn scope_limits_tools_in_either_spelling() {
        let scope = KeyScope {
            tools: Some(list(&["notes_search", "rag.*"])),
            sources: Some(list(&["notes", "media"])),
            ..KeyScope::default()
        };
        let rules = AccessRules::for_scope(scope);
        for (tool, expected) in [
            ("notes.search", true),
            ("notes.get", false),
            ("rag.get_chunks", true),
            ("rag_search", false),
            ("chats.search", false),
        ] {
            assert_eq!(rules.permits_tool(tool), expected, "{tool}");
        }
        assert!(!rules.permits_methods("resources") && !rules.permits_databases());
        assert!(AccessRules::default().permits_methods("resources"));
    }

    #[test]
    fn tools_of_hidden_sources_are_not_permitted() {
        let rule = deny("sources = [\"chats\"]");
        let rules = AccessRules::default().with_denied([&rule]);
        assert!(!rules.permits_tool("chats.search") && rules.permits_tool("notes.search"));
        assert!(rules.permits_tool("knowledge.search"));
        let access = rules.item_access().unwrap();
        assert!(access.hides_source(SourceName::Chats) && !access.hides_source(SourceName::Notes));
        assert_eq!(rules.document_access(), None);
    }

    #[test]
    fn deny_rule_by_tag_hides_no_whole_source() {
        let rule = deny("tags = [\"private\"]\nfolders = [\"/home/ada/diary\"]");
        let rules = AccessRules::default().with_denied([&rule, &rule]);
        let access = rules.item_access().unwrap();
        let notes = access.source(SourceName::Notes).unwrap();
        assert!(!notes.is_hidden && rules.permits_databases());
        assert_eq!(notes.denied_tags, ["private"]);
        assert_eq!(notes.denied_folders, ["/home/ada/diary"]);
    }

    #[test]
    fn denied_origin_hides_what_may_be_of_it() {
        let rule = deny("origins = [\"mail\"]");
        let rules = AccessRules::default().with_denied([&rule]);
        let denied = rules.item_access().unwrap().source(SourceName::Notes).unwrap().denied_origins;
        let expected = [ContentOrigin::Mail, ContentOrigin::Unknown];
        assert_eq!(denied, OriginSet::from_iter(expected));
        assert!(rules.permits_databases() && rules.document_access().is_none());
        let rule = deny("origins = [\"agent\"]");
        let rules = AccessRules::default().with_denied([&rule]);
        let denied = rules.item_access().unwrap().source(SourceName::Media).unwrap().denied_origins;
        assert_eq!(denied, OriginSet::from_iter([ContentOrigin::Agent]));
        let rule = deny("origins = [\"shared_collection\", \"database\"]");
        let rules = AccessRules::default().with_denied([&rule]);
        assert!(!rules.permits_databases() && !rules.permits_collection("docs"));
    }

    #[test]
    fn scope_of_origins_denies_all_others() {
        let origins = Some(vec![ContentOrigin::Own, ContentOrigin::ImportedFile]);
        let scope = KeyScope { origins, ..KeyScope::default() };
        assert_eq!(serde_json::from_str::<KeyScope>(&scope.to_json()).unwrap(), scope);
        assert_eq!(scope.describe(), "origins: own, imported_file");
        let rules = AccessRules::for_scope(scope);
        let access = rules.item_access().unwrap();
        let denied = access.source(SourceName::Chats).unwrap().denied_origins;
        assert_eq!(denied.iter().count(), ContentOrigin::ALL.len() - 2);
        assert!(!denied.contains(ContentOrigin::Own));
        assert!(!rules.permits_collection("docs") && !rules.permits_databases());
    }

    #[test]
    fn client_rule_applies_once_client_is_known() {
        let rule = deny("client = \"cursor*\"\nsources = [\"chats\"]");
        let rules = AccessRules::default().with_denied([&rule]);
        assert_eq!(rules.item_access(), None);
        let hides_chats = |client| {
            let access = rules.for_client(client).unwrap().item_access();
            access.is_some_and(|access| access.hides_source(SourceName::Chats))
        };
        assert!(hides_chats("Cursor-vscode") && !hides_chats("claude-code") && !hides_chats(""));
        assert_eq!(AccessRules::default().for_client("cursor"), None);
    }

    #[test]
    fn guest_has_no_library_but_collections() {
        let rules = AccessRules::default().without_library();
        assert!(!rules.has_library() && rules.permits_collection("handbook"));
        assert!(!rules.permits_tool("notes.search") && rules.permits_tool("rag_search"));
        let access = rules.item_access().unwrap();
        assert!(SourceName::ALL.into_iter().all(|source| access.hides_source(source)));
    }
}
