//! The names of all settings, from their schema.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::Settings;

/// Name of a table that the user chooses, such as that of a profile, in the path of a key.
const ANY_NAME: &str = "*";
/// Maximum depth of tables in tables.
const MAX_DEPTH: usize = 8;
/// Minimum similarity of a suggested name, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.8;

/// A setting or a section.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingKey {
    /// Its name, with dots between sections; a part that the user chooses is `*`.
    pub path: String,
    /// Its default, if it has one.
    pub default: Option<Value>,
}

impl SettingKey {
    /// Returns all sections and settings.
    pub fn all() -> Vec<Self> {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema = generator.into_root_schema_for::<Settings>().to_value();
        let mut keys = Vec::new();
        collect_keys(&schema, &schema["$defs"], "", MAX_DEPTH, &mut keys);
        keys
    }

    /// Returns the setting or section with this name.
    pub fn find(name: &str) -> Option<Self> {
        let is_named = |key: &Self| {
            let (mut parts, mut named) = (key.path.split('.'), name.split('.'));
            loop {
                match (parts.next(), named.next()) {
                    (None, None) => return true,
                    (Some(part), Some(name)) if part == name || part == ANY_NAME => {}
                    _ => return false,
                }
            }
        };
        Self::all().into_iter().find(is_named)
    }

    /// Returns the name of the setting that was probably meant: that with the most similar last part, in
    /// the most similar section.
    pub fn nearest(name: &str) -> Option<String> {
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        let wanted = last(name);
        let known = Self::all().into_iter().map(|key| key.path).filter(|key| !key.contains('*'));
        let rated = known.filter_map(|key| {
            let similar = strsim::jaro_winkler(&last(&key), &wanted);
            let whole = strsim::jaro_winkler(&key, name);
            (similar >= MIN_SIMILARITY).then_some((similar, whole, key))
        });
        let order = |one: &(f64, f64, String), other: &(f64, f64, String)| {
            one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
        };
        rated.max_by(order).map(|(_, _, key)| key)
    }
}

/// Replaces the list of all names in the message about an unknown one by the name that was probably
/// meant.
pub(super) fn explain_unknown(key: &str, message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let Some((name, expected)) = unknown else { return message.to_owned() };
    let near = nearest_name(name, expected.split('`').skip(1).step_by(2)).map(str::to_owned);
    let section = key.strip_suffix(name).unwrap_or(key);
    let elsewhere = || SettingKey::nearest(&format!("{section}{name}"));
    match near.or_else(elsewhere) {
        Some(near) => format!("unknown field `{name}`; did you mean `{near}`?"),
        None => message.to_owned(),
    }
}

/// Returns the name in a list that is most similar to `name`, if one is similar enough.
fn nearest_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let similar = |known: &str| strsim::jaro_winkler(known, name);
    let best = known.max_by(|one, other| similar(one).total_cmp(&similar(other)))?;
    (similar(best) >= MIN_SIMILARITY).then_some(best)
}

/// Adds the keys below a schema.
fn collect_keys(
    schema: &Value,
    definitions: &Value,
    prefix: &str,
    depth: usize,
    keys: &mut Vec<SettingKey>,
) {
    let schema = resolve(schema, definitions);
    let named = schema["properties"].as_object().into_iter().flat_map(Map::iter);
    let named = named.map(|(name, property)| (name.as_str(), property));
    let chosen = Some(&schema["additionalProperties"]).filter(|it| it.is_object());
    for (name, property) in named.chain(chosen.map(|property| (ANY_NAME, property))) {
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let default = property.get("default").filter(|value| !value.is_null()).cloned();
        keys.push(SettingKey { path: path.clone(), default });
        if depth > 0 {
            collect_keys(property, definitions, &path, depth - 1, keys);
        }
    }
}

/// Follows a reference, also one of an optional value.
fn resolve<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    let name = |schema: &'a Value| schema["$ref"].as_str()?.rsplit('/').next();
    let choices = ["anyOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array());
    let referred = name(schema).or_else(|| choices.flatten().find_map(name));
    referred.map_or(schema, |name| resolve(&definitions[name], definitions))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_of_sections_tables_and_maps_are_known() {
        let default = |key: &str| SettingKey::find(key).unwrap_or_else(|| panic!("{key}")).default;
        assert_eq!(default("server.listen"), Some(json!("127.0.0.1:7744")));
        assert_eq!(default("tools.write"), Some(json!(false)));
        for key in
            ["server", "auth.jwt.issuer", "profiles.shop.dsn", "tools.custom.orders.parameters"]
        {
            default(key);
        }
        for unknown in ["listen", "server.lissen", "server.listen.port", "profiles.shop.dsm"] {
            assert!(SettingKey::find(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn nearest_key_is_in_any_section() {
        let nearest = |key| SettingKey::nearest(key);
        assert_eq!(nearest("listen").as_deref(), Some("server.listen"));
        assert_eq!(nearest("server.lissen").as_deref(), Some("server.listen"));
        assert_eq!(nearest("server.data").as_deref(), Some("storage.data"));
        assert_eq!(nearest("qqq"), None);
    }
}
