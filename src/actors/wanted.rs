//! Whom a search asks.

use schemars::JsonSchema;
use serde::Serialize;
use vademecum_kit::model::{Filters, Order, SourceName, Uri};

use crate::collections::Opened;

/// A source that is to be asked, and for what.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which source.
    pub source: SourceName,
    /// Which collection, where the source is one.
    pub collection: Option<Opened>,
    /// Which of its items count.
    pub filters: Filters,
    /// In which order, if not in that of the whole.
    pub order: Option<Order>,
}

impl Wanted {
    /// A source of the library.
    pub fn source(source: SourceName, filters: Filters) -> Self {
        Self { source, collection: None, filters, order: None }
    }

    /// A collection.
    pub fn collection(opened: Opened) -> Self {
        let collection = Some(opened);
        Self { collection, ..Self::source(SourceName::Collections, Filters::default()) }
    }

    /// Whether something is from there.
    pub(crate) fn holds(&self, uri: &Uri) -> bool {
        let in_it = |opened: &Opened| {
            let rest = uri.id.strip_prefix(opened.record.name.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.source == uri.source && self.collection.as_ref().is_none_or(in_it)
    }

    /// That it gave no answer.
    pub(crate) fn failed(&self, reason: impl Into<String>) -> Failed {
        let collection = self.collection.as_ref().map(|opened| opened.record.name.clone());
        Failed { source: self.source, collection, reason: reason.into() }
    }
}

/// A source that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failed {
    /// Which source.
    pub source: SourceName,
    /// Which collection, where the source is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Why, in a few words.
    pub reason: String,
}

impl Failed {
    /// Which source, in words.
    pub fn whom(&self) -> String {
        match &self.collection {
            Some(name) => format!("collection `{name}`"),
            None => self.source.to_string(),
        }
    }
}
