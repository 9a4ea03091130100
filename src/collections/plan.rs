//! What a collection is made of.

use serde::{Deserialize, Serialize};

use super::{CollectionError, Record};
use vademecum_core::{
    auth::{AccessTag, UserId, UserIdError},
    config::{self, Chunking, Embedding, Folder, Table},
};

/// What a collection is made of and how, as the catalogue keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The folders whose files it is made of.
    #[serde(default)]
    pub folders: Vec<Folder>,
    /// The table whose rows it is made of, if it is not made of folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Table>,
    /// The access tags that one must have to see its documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_tags: Vec<String>,
    /// How documents are cut. Without it, at their headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunking: Option<Chunking>,
    /// Whether it can be searched by meaning.
    #[serde(default)]
    pub embedding: Embedding,
}

/// A collection as somebody wants it to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What it is called.
    pub name: String,
    /// Whose it is; everybody's, if nobody's.
    pub owner: Option<UserId>,
    /// What it is made of.
    pub plan: Plan,
}

impl Plan {
    /// Whether it is made of anything that can be read again.
    pub fn has_origin(&self) -> bool {
        !self.folders.is_empty() || self.table.is_some()
    }

    /// Reads the plan of a collection of that name.
    pub fn parse(name: &str, json: &str) -> Result<Self, CollectionError> {
        serde_json::from_str(json)
            .map_err(|source| CollectionError::Plan { name: name.to_owned(), source })
    }

    /// The plan as the catalogue keeps it.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to be written: no map, no number that is none.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Wanted {
    /// The collection that the settings describe.
    pub fn configured(written: &config::Collection) -> Result<Self, CollectionError> {
        let wrong =
            |reason: String| CollectionError::Settings { name: written.name.clone(), reason };
        let owner = written.owner.as_deref().map(str::parse).transpose();
        let plan = Plan {
            folders: written.folders.clone(),
            table: written.table.clone(),
            access_tags: written.access_tags.clone(),
            chunking: written.chunking.clone(),
            embedding: written.embedding,
        };
        if !plan.has_origin() {
            return Err(wrong("`folders` names none".to_owned()));
        }
        if let Some(problem) = plan.table.as_ref().and_then(Table::problem) {
            return Err(wrong(problem));
        }
        if let Some(error) = plan.access_tags.iter().find_map(|tag| tag.parse::<AccessTag>().err())
        {
            return Err(wrong(error.to_string()));
        }
        let owner = owner.map_err(|error: UserIdError| wrong(error.to_string()))?;
        Ok(Self { name: written.name.clone(), owner, plan })
    }

    /// The collection that the catalogue has, as it wants to be.
    pub fn recorded(record: &Record) -> Result<Self, CollectionError> {
        let wrong = |error: UserIdError| CollectionError::Settings {
            name: record.name.clone(),
            reason: error.to_string(),
        };
        Ok(Self {
            name: record.name.clone(),
            owner: record.owner.as_deref().map(str::parse).transpose().map_err(wrong)?,
            plan: Plan::parse(&record.name, &record.plan)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let written: config::Collection = toml::from_str(
            "name = \"docs\"\nfolders = [{ path = \"/srv/docs\", project = \"P\" }]\n\
             owner = \"ada\"\naccess_tags = [\"team:a\"]\nchunking = { chunk_size = 100 }\n\
             embedding = { enabled = false }",
        )
        .unwrap();
        let wanted = Wanted::configured(&written).unwrap();
        assert_eq!(wanted.owner.as_ref().map(UserId::as_str), Some("ada"));
        assert_eq!(Plan::parse("docs", &wanted.plan.to_json()).unwrap(), wanted.plan);
        assert!(Plan::parse("docs", "{}").unwrap().folders.is_empty());
        let error = Plan::parse("docs", "[").unwrap_err().to_string();
        assert!(error.contains("`docs`"), "{error}");
    }

    #[test]
    fn the_plan_of_a_table_is_kept_with_all_that_it_says() {
        let written: config::Collection = toml::from_str(
            "name = \"posts\"\nprofile = \"shop\"\ntable = \"posts\"\npk_column = \"Id\"\n\
             where = \"Score > 3\"\ncursor = { column = \"Id\" }\n[doc_map]\n\
             body = { concat = [{ col = \"Body\" }, { lit = \"\" }] }\n\
             metadata = { pick = [\"Id\"], rename = { Id = \"key\" } }",
        )
        .unwrap();
        let plan = Wanted::configured(&written).unwrap().plan;
        assert_eq!(Plan::parse("posts", &plan.to_json()).unwrap(), plan);
        assert!(plan.to_json().contains("\"where\":\"Score > 3\""), "{}", plan.to_json());
        assert!(plan.has_origin() && !Plan::default().has_origin());
    }

    #[test]
    fn what_cannot_be_is_refused_by_the_name_of_the_collection() {
        let base = config::Collection {
            name: "docs".to_owned(),
            folders: Vec::new(),
            table: None,
            owner: None,
            access_tags: Vec::new(),
            chunking: None,
            embedding: config::Embedding::default(),
        };
        let folders = vec![config::Folder { path: "/a".into(), project: None, version: None }];
        for (written, reason) in [
            (base.clone(), "folders"),
            (
                config::Collection {
                    owner: Some("a b".to_owned()),
                    folders: folders.clone(),
                    ..base.clone()
                },
                "`a b`",
            ),
            (
                config::Collection { access_tags: vec!["a\nb".to_owned()], folders, ..base },
                "access tag",
            ),
        ] {
            let error = Wanted::configured(&written).unwrap_err().to_string();
            assert!(error.contains("`docs`") && error.contains(reason), "{error}");
        }
    }
}
