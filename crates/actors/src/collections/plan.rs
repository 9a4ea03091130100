//! The plan of a collection: the source of its documents and their processing.

use serde::{Deserialize, Serialize};
use vademecum_collections::NewSource;
use vademecum_core::{
    auth::{AccessTag, UserId, UserIdError},
    config::{self, Chunking, CollectionTable, EmbeddingOptions, Folder, UrlTemplate},
};

use super::{CollectionError, CollectionRecord};

/// The plan of a collection, stored as JSON in the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionPlan {
    /// The settings describe the collection: without its section it is closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub configured: bool,
    /// Folders whose files become documents.
    #[serde(default)]
    pub folders: Vec<Folder>,
    /// Table whose rows become documents, if there are no folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<CollectionTable>,
    /// Access tags that a user needs in order to see the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_tags: Vec<String>,
    /// Division of documents into chunks; by default, at headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunking: Option<Chunking>,
    /// Whether chunks get vectors for semantic search.
    #[serde(default)]
    pub embedding: EmbeddingOptions,
}

/// The desired state of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionSpec {
    /// Name, unique among all collections without regard to ASCII case.
    pub name: String,
    /// Owner; without one, all users see the collection.
    pub owner: Option<UserId>,
    /// Source and processing of its documents.
    pub plan: CollectionPlan,
    /// Web addresses of its documents. They are not stored, so that a change holds at once.
    pub url: Option<UrlTemplate>,
}

impl CollectionPlan {
    /// Returns whether the plan has a source that can be read again.
    pub fn has_source(&self) -> bool {
        !self.folders.is_empty() || self.table.is_some()
    }

    /// Returns whether the settings described the collection at its last sync. Tables are described by
    /// the settings only.
    pub fn is_from_settings(&self) -> bool {
        self.configured || self.table.is_some()
    }

    /// Parses a plan from the catalogue. An error names the collection `name`.
    pub fn parse(name: &str, json: &str) -> Result<Self, CollectionError> {
        serde_json::from_str(json)
            .map_err(|source| CollectionError::UnreadablePlan { name: name.to_owned(), source })
    }

    /// Returns the source of the documents as the collection itself stores it.
    pub(super) fn source_row(&self, record: &CollectionRecord, backend_type: &str) -> NewSource {
        let json = |written: serde_json::Result<serde_json::Value>| {
            written.map(|it| it.to_string()).unwrap_or_default()
        };
        NewSource {
            source_id: record.source_id,
            name: record.name.clone(),
            backend_type: backend_type.to_owned(),
            doc_map_json: self
                .table
                .as_ref()
                .map_or_else(String::new, |it| json(serde_json::to_value(&it.doc_map))),
            chunking_json: self
                .chunking
                .as_ref()
                .map_or_else(String::new, |it| json(serde_json::to_value(it))),
            embedding_json: json(serde_json::to_value(self.embedding)),
        }
    }

    /// Returns the plan as JSON, as the catalogue stores it.
    pub fn to_json(&self) -> String {
        // Serialization cannot fail: there are no maps with keys other than strings.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl CollectionSpec {
    /// Creates the specification from the settings. Fails if they are invalid.
    pub fn from_settings(written: &config::Collection) -> Result<Self, CollectionError> {
        let wrong = |reason: String| CollectionError::InvalidSettings {
            name: written.name.clone(),
            reason,
        };
        let owner = written.owner.as_deref().map(str::parse).transpose();
        let plan = CollectionPlan {
            configured: true,
            folders: written.folders().to_vec(),
            table: written.table(),
            access_tags: written.access_tags.clone(),
            chunking: written.chunking.clone(),
            embedding: written.embedding,
        };
        if !plan.has_source() {
            return Err(wrong("`folders` is empty".to_owned()));
        }
        if let Some(problem) = plan.table.as_ref().and_then(CollectionTable::find_problem) {
            return Err(wrong(problem));
        }
        if let Some(error) = plan.access_tags.iter().find_map(|tag| tag.parse::<AccessTag>().err())
        {
            return Err(wrong(error.to_string()));
        }
        let owner = owner.map_err(|error: UserIdError| wrong(error.to_string()))?;
        Ok(Self { name: written.name.clone(), owner, plan, url: written.url.clone() })
    }

    /// Creates the specification from a record of the catalogue.
    pub fn from_record(record: &CollectionRecord) -> Result<Self, CollectionError> {
        let wrong = |error: UserIdError| CollectionError::InvalidSettings {
            name: record.name.clone(),
            reason: error.to_string(),
        };
        Ok(Self {
            name: record.name.clone(),
            owner: record.owner.as_deref().map(str::parse).transpose().map_err(wrong)?,
            plan: CollectionPlan::parse(&record.name, &record.plan)?,
            url: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn plan_survives_json_round_trip() {
        let written: config::Collection = toml::from_str(
            "name = \"docs\"\nfolders = [{ path = \"/srv/docs\", project = \"P\" }]\n\
             owner = \"ada\"\naccess_tags = [\"team:a\"]\nchunking = { chunk_size = 100 }\n\
             embedding = { enabled = false }",
        )
        .unwrap();
        let spec = CollectionSpec::from_settings(&written).unwrap();
        assert_eq!(spec.owner.as_ref().map(UserId::as_str), Some("ada"));
        assert_eq!(CollectionPlan::parse("docs", &spec.plan.to_json()).unwrap(), spec.plan);
        assert!(CollectionPlan::parse("docs", "{}").unwrap().folders.is_empty());
        let error = CollectionPlan::parse("docs", "[").unwrap_err().to_string();
        assert!(error.contains("`docs`"), "{error}");
    }

    #[test]
    fn table_plan_survives_json_round_trip() {
        let written: config::Collection = toml::from_str(
            "name = \"posts\"\nprofile = \"shop\"\ntable = \"posts\"\npk_column = \"Id\"\n\
             where = \"Score > 3\"\ncursor = { column = \"Id\" }\n[doc_map]\n\
             body = { concat = [{ col = \"Body\" }, { lit = \"\" }] }\n\
             metadata = { pick = [\"Id\"], rename = { Id = \"key\" } }",
        )
        .unwrap();
        let plan = CollectionSpec::from_settings(&written).unwrap().plan;
        assert_eq!(CollectionPlan::parse("posts", &plan.to_json()).unwrap(), plan);
        assert!(plan.to_json().contains("\"where\":\"Score > 3\""), "{}", plan.to_json());
        assert!(plan.has_source() && !CollectionPlan::default().has_source());
    }

    #[cfg(unix)]
    #[test]
    fn invalid_spec_is_rejected_with_collection_name() {
        for (written, reason) in [
            ("folders = []", "folders"),
            ("folders = [\"/a\"]\nowner = \"a b\"", "`a b`"),
            ("folders = [\"/a\"]\naccess_tags = [\"a\\nb\"]", "access tag"),
        ] {
            let written: config::Collection =
                toml::from_str(&format!("name = \"docs\"\n{written}")).unwrap();
            let error = CollectionSpec::from_settings(&written).unwrap_err().to_string();
            assert!(error.contains("`docs`") && error.contains(reason), "{error}");
        }
    }
}
