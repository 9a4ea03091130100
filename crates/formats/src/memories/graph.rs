//! Entities with observations and relations, of which each entity is a note that links to others.

use std::collections::{BTreeMap, HashSet};

use super::memory_note::{MemoryNote, list};
use crate::format::ParsedFormat;

/// Entities by name.
#[derive(Debug, Default)]
pub(super) struct Graph {
    entities: BTreeMap<String, Entity>,
}

#[derive(Debug, Default)]
struct Entity {
    kinds: Vec<String>,
    observations: Vec<String>,
    relations: Vec<String>,
    /// The observations and relations so far.
    known: HashSet<(Part, String)>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Part {
    Observation,
    Relation,
}

impl Graph {
    /// Adds an entity, or more observations of it.
    pub(super) fn add_entity(&mut self, name: &str, kind: &str, observations: Vec<String>) {
        let entity = self.entities.entry(name.to_owned()).or_default();
        entity.kinds.push(kind.to_owned());
        let Entity { observations: all, known, .. } = entity;
        all.extend(
            observations.into_iter().filter(|it| known.insert((Part::Observation, it.clone()))),
        );
    }

    /// Adds a relation, as a link with its name. An entity that has no entry of its own gets one.
    pub(super) fn add_relation(&mut self, from: &str, relation: &str, to: &str, remark: &str) {
        self.entities.entry(to.to_owned()).or_default();
        let entity = self.entities.entry(from.to_owned()).or_default();
        let line = format!("{relation} [[{to}]]{remark}");
        if entity.known.insert((Part::Relation, line.clone())) {
            entity.relations.push(line);
        }
    }

    /// Adds a note for each entity. `prefix` is that of the origins.
    pub(super) fn add_notes(self, prefix: &str, parsed: &mut ParsedFormat) {
        for (name, entity) in self.entities {
            let note = MemoryNote {
                title: name.clone(),
                blocks: vec![list("", &entity.observations), list("Relations", &entity.relations)],
                tags: entity.kinds,
                ..MemoryNote::default()
            };
            parsed.add_note(format!("{prefix}:{name}"), note.into_draft(), &name);
        }
    }
}
