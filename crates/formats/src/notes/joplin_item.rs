//! One item of Joplin: a text whose last block has the fields `id: …` to `type_: …`.

use vademecum_model::Timestamp;

use crate::text::datetime;

/// A note, folder, tag, file, or the connection of a note with a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JoplinItem<'t> {
    pub(super) title: &'t str,
    pub(super) body: &'t str,
    fields: Vec<(&'t str, &'t str)>,
}

impl<'t> JoplinItem<'t> {
    /// Parses an item; `None` if its last block has no identifier and type.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let text = text.trim_end();
        let (before, block) = text.rsplit_once("\n\n").unwrap_or(("", text));
        let fields: Option<Vec<_>> = block
            .lines()
            .map(|line| {
                let (name, value) = line.split_once(':')?;
                Some((name, value.trim()))
            })
            .collect();
        let (title, body) = before.split_once('\n').unwrap_or((before, ""));
        let item = Self { title: title.trim(), body: body.trim(), fields: fields? };
        let id = item.field("id");
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_id && !item.field("type_").is_empty()).then_some(item)
    }

    /// Returns a field; empty if it is missing.
    pub(super) fn field(&self, name: &str) -> &'t str {
        let found = self.fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).unwrap_or_default()
    }

    /// Returns `true` if a field is set: neither missing nor 0.
    pub(super) fn is_set(&self, name: &str) -> bool {
        !matches!(self.field(name), "" | "0")
    }

    /// Returns the first of these fields that is a time.
    pub(super) fn time(&self, names: [&str; 2]) -> Option<Timestamp> {
        names.iter().find_map(|name| datetime::parse_text(self.field(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_has_title_body_and_fields() {
        let id = "0".repeat(32);
        let text = format!("Rye\n\nKnead: a day.\n\nid: {id}\nis_todo: 0\ntodo_due: 5\ntype_: 1");
        let item = JoplinItem::parse(&text).unwrap();
        assert_eq!((item.title, item.body), ("Rye", "Knead: a day."));
        assert_eq!((item.field("id"), item.field("none")), (id.as_str(), ""));
        assert!(!item.is_set("is_todo") && item.is_set("todo_due") && !item.is_set("none"));
        let tag = format!("id: {id}\ntype_: 6");
        assert_eq!(JoplinItem::parse(&tag).unwrap().title, "");
        for text in ["", "# Rye\n\nid: 5\ntype_: 1", "# Rye\n\nText", &format!("id: {id}")] {
            assert_eq!(JoplinItem::parse(text), None, "{text}");
        }
    }
}
