//! The rights to a collection: those of the settings, from the moment that the settings are read.
//!
//! The documents of a collection carry the access tags of its last sync. Until the next one, the
//! rights of the settings decide in their place: a caller needs all access tags of the settings, and
//! tags that the settings no longer name are not needed. A collection whose section was removed from
//! the settings is closed.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};

use vademecum_collections::Access;
use vademecum_core::{auth::Principal, config::UrlTemplate};
use vademecum_model::{SourceAccess, matches_pattern};

use super::{CollectionPlan, CollectionRecord, CollectionSpec, folder_scan};

/// The collections that the settings describe; unknown until the settings are read.
#[derive(Debug, Default)]
pub(super) struct ConfiguredCollections(RwLock<Option<Arc<[CollectionSpec]>>>);

/// The rights to a collection at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionRights {
    /// Owner; without one, all users see the collection.
    pub owner: Option<String>,
    /// Access tags that a caller needs in order to see the documents.
    pub access_tags: BTreeSet<String>,
    /// Access tags that the documents carry since the last sync.
    stored_tags: BTreeSet<String>,
    /// Owner since the last sync.
    stored_owner: Option<String>,
}

impl ConfiguredCollections {
    /// Replaces the collections of the settings.
    pub(super) fn set(&self, specs: Vec<CollectionSpec>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(specs.into());
    }

    /// Returns the collections of the settings; none if they are unknown.
    pub(super) fn specs(&self) -> Arc<[CollectionSpec]> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.clone().unwrap_or_default()
    }

    /// Returns the web addresses of the documents of a collection, if the settings say them.
    pub(super) fn url_template(&self, name: &str) -> Option<UrlTemplate> {
        find_spec(&self.specs(), name)?.url.clone()
    }

    /// Returns the rights to a collection, or `None` if it is closed, because its section was removed
    /// from the settings.
    pub(super) fn rights(&self, record: &CollectionRecord) -> Option<CollectionRights> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        let stored = CollectionPlan::parse(&record.name, &record.plan).ok();
        let is_from_settings = stored.as_ref().is_some_and(CollectionPlan::is_from_settings);
        let stored_tags: BTreeSet<String> =
            stored.into_iter().flat_map(|plan| plan.access_tags).collect();
        let spec = known.as_deref().and_then(|specs| find_spec(specs, &record.name));
        let (owner, access_tags) = match spec {
            Some(spec) => {
                let tags = spec.plan.access_tags.iter().cloned().collect();
                (spec.owner.as_ref().map(ToString::to_string), tags)
            }
            None if known.is_some() && is_from_settings => return None,
            None => (record.owner.clone(), stored_tags.clone()),
        };
        Some(CollectionRights {
            owner,
            access_tags,
            stored_tags,
            stored_owner: record.owner.clone(),
        })
    }
}

/// Returns the specification of the collection of that name, ignoring case.
pub(super) fn find_spec<'s>(specs: &'s [CollectionSpec], name: &str) -> Option<&'s CollectionSpec> {
    specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name))
}

impl CollectionRights {
    /// Returns whether a sync would change the stored owner or access tags. The present rights hold
    /// before it.
    pub fn are_pending(&self) -> bool {
        self.has_other_tags() || self.owner != self.stored_owner
    }

    /// Describes who sees the collection, for people.
    pub fn describe(&self) -> String {
        let owner = match &self.owner {
            None => "shared".to_owned(),
            Some(owner) => format!("{owner}'s"),
        };
        if self.access_tags.is_empty() {
            return owner;
        }
        let tags: Vec<&str> = self.access_tags.iter().map(String::as_str).collect();
        format!("{owner}, needs {}", tags.join(", "))
    }

    /// Returns whether the collection belongs to the principal, or to all users.
    pub(super) fn permit_user(&self, principal: &Principal) -> bool {
        self.owner.as_ref().is_none_or(|owner| owner == principal.user().as_str())
    }

    /// Returns the access rights of a principal to the documents of the collection.
    pub(super) fn document_access(
        &self,
        principal: &Principal,
        rules: Option<&SourceAccess>,
        record: &CollectionRecord,
    ) -> Access {
        if rules.is_some_and(|rules| self.is_hidden_by(rules)) {
            return Access::Nothing;
        }
        let tags = if principal.sees_everything() {
            None
        } else {
            let own: BTreeSet<String> =
                principal.tags().iter().map(|tag| tag.as_str().to_owned()).collect();
            if !self.access_tags.is_subset(&own) {
                return Access::Nothing;
            }
            // Tags that the settings no longer name are not needed.
            Some(own.union(&self.stored_tags).cloned().collect())
        };
        match (rules, tags) {
            (None, None) => Access::Everything,
            (None, Some(tags)) => Access::Tags(tags),
            (Some(rules), tags) => {
                let folders = rules.denied_folders.iter();
                let denied_folders = folders
                    .flat_map(|folder| folder_scan::document_prefixes(record, folder))
                    .collect();
                let items = Arc::new(SourceAccess { denied_folders, ..rules.clone() });
                Access::Restricted { tags, items }
            }
        }
    }

    /// Returns whether rules hide all documents, because the documents still carry other access tags
    /// than the rules have to be applied to.
    fn is_hidden_by(&self, rules: &SourceAccess) -> bool {
        let is_denied = |tag: &String| rules.denied_tags.iter().any(|it| matches_pattern(it, tag));
        self.has_other_tags()
            && (rules.allowed_tags.is_some() || self.access_tags.iter().any(is_denied))
    }

    fn has_other_tags(&self) -> bool {
        self.access_tags != self.stored_tags
    }
}

#[cfg(test)]
mod tests {
    use vademecum_core::{
        auth::{Rights, local_principal},
        config,
    };

    use super::*;

    fn record(owner: Option<&str>, plan: &str) -> CollectionRecord {
        CollectionRecord {
            source_id: 1,
            name: "Docs".to_owned(),
            owner: owner.map(str::to_owned),
            file: "Docs.1.db".to_owned(),
            plan: plan.to_owned(),
            updated_at: None,
        }
    }

    fn configured(sections: &[&str]) -> ConfiguredCollections {
        let specs = sections.iter().map(|section| {
            let text = format!("name = \"docs\"\nfolders = [\"/srv/docs\"]\n{section}");
            let written: config::Collection = toml::from_str(&text).unwrap();
            CollectionSpec::from_settings(&written).unwrap()
        });
        let found = ConfiguredCollections::default();
        found.set(specs.collect());
        found
    }

    const SYNCED: &str = r#"{"configured": true, "access_tags": ["team:a"]}"#;

    #[test]
    fn section_decides_in_place_of_catalogue() {
        let rights = |section: &str| configured(&[section]).rights(&record(None, SYNCED)).unwrap();
        assert_eq!(rights("").describe(), "shared");
        let closed = rights("owner = \"ada\"\naccess_tags = [\"team:b\"]");
        assert_eq!(closed.describe(), "ada's, needs team:b");
        let user = |name: &str| local_principal(name.parse().unwrap());
        assert!(closed.permit_user(&user("ada")) && !closed.permit_user(&user("bob")));
        assert!(closed.are_pending() && !rights("access_tags = [\"team:a\"]").are_pending());
    }

    #[test]
    fn removed_section_closes_collection() {
        let (none, unknown) = (configured(&[]), ConfiguredCollections::default());
        for (plan, is_closed) in [(SYNCED, true), ("{}", false), ("not JSON", false)] {
            assert_eq!(none.rights(&record(None, plan)).is_none(), is_closed, "{plan}");
            assert!(unknown.rights(&record(None, plan)).is_some(), "the settings were not read");
        }
    }

    #[test]
    fn caller_needs_tags_of_settings_only() {
        let caller = |tags: &[&str]| {
            let tags: BTreeSet<_> = tags.iter().map(|tag| tag.parse().unwrap()).collect();
            Principal::new("ada".parse().unwrap(), Rights::ALL, tags.into())
        };
        let access = |section: &str, tags: &[&str], rules: Option<&SourceAccess>| {
            let record = record(None, SYNCED);
            let rights = configured(&[section]).rights(&record).unwrap();
            rights.document_access(&caller(tags), rules, &record)
        };
        let tags = |list: &[&str]| Access::Tags(list.iter().map(|it| (*it).to_owned()).collect());
        let both = "access_tags = [\"team:a\", \"team:b\"]";
        assert_eq!(access(both, &["team:a"], None), Access::Nothing);
        assert_eq!(access(both, &["team:a", "team:b"], None), tags(&["team:a", "team:b"]));
        assert_eq!(access("", &[], None), tags(&["team:a"]), "the tag is not needed any more");
        // The documents still carry `team:a`, to which no rule may be applied.
        let scope = |allowed: Option<&str>, denied: &[&str]| SourceAccess {
            allowed_tags: allowed.map(|tag| vec![tag.to_owned()]),
            denied_tags: denied.iter().map(|tag| (*tag).to_owned()).collect(),
            ..SourceAccess::default()
        };
        let new = "access_tags = [\"team:b\"]";
        for (rules, is_hidden) in [
            (scope(Some("team:a"), &[]), true),
            (scope(None, &["team:*"]), true),
            (scope(None, &["other"]), false),
        ] {
            let access = access(new, &["team:b"], Some(&rules));
            assert_eq!(access == Access::Nothing, is_hidden, "{rules:?}");
        }
    }
}
