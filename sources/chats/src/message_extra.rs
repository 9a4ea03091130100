//! The stored fields of a message besides its text: the model that wrote it, commands and files.

use serde_json::{Value, json};
use vademecum_model::MessageDraft;

/// The fields of a message that `message_metadata.extra_json` holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageExtra {
    pub(crate) model: Option<String>,
    pub(crate) commands: Vec<String>,
    pub(crate) files: Vec<String>,
}

impl MessageExtra {
    /// Reads the stored fields. Other programs may have stored others, which are ignored.
    pub(crate) fn parse(stored: Option<&str>) -> Self {
        let stored = stored.and_then(|stored| serde_json::from_str::<Value>(stored).ok());
        let Some(Value::Object(fields)) = stored else { return Self::default() };
        let texts = |name: &str| {
            let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let model = match fields.get("model") {
            Some(Value::String(model)) => Some(model.clone()),
            Some(model @ (Value::Number(_) | Value::Bool(_))) => Some(model.to_string()),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => None,
        };
        Self { model, commands: texts("commands"), files: texts("files") }
    }

    /// Returns the fields of a draft.
    pub(crate) fn of_draft(message: &MessageDraft) -> Self {
        let MessageDraft { model, commands, files, .. } = message;
        Self { model: model.clone(), commands: commands.clone(), files: files.clone() }
    }

    /// Returns the fields as they are stored; `null` stands for a field without a value.
    pub(crate) fn to_json(&self) -> String {
        let list = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        json!({ "model": self.model, "commands": list(&self.commands), "files": list(&self.files) })
            .to_string()
    }

    /// Returns whether both have the same commands and files, which are searched.
    pub(crate) fn has_same_actions(&self, other: &Self) -> bool {
        self.commands == other.commands && self.files == other.files
    }

    /// Returns the commands and files as they are searched.
    pub(crate) fn actions(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().chain(&self.files).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_other_programs_are_ignored() {
        let extra = MessageExtra::parse(Some(
            r#"{"model": 4, "commands": ["ls", 1], "files": 7, "x": {}}"#,
        ));
        assert_eq!(
            (extra.model.as_deref(), extra.commands.len(), extra.files.len()),
            (Some("4"), 1, 0)
        );
        for stored in [None, Some("no json"), Some("[1]"), Some("null")] {
            assert_eq!(MessageExtra::parse(stored), MessageExtra::default());
        }
    }
}
