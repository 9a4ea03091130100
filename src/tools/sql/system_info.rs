//! `pg://system_info` and its like: which program keeps a database, as a resource.
//!
//! Where somebody may use several databases of one engine, each has its own:
//! `pg://<profile>/system_info`.

use std::sync::Arc;

use super::asked::{connect, while_wanted};
use crate::{actors::CallError, tools::Toolbox};
use vademecum_core::auth::Principal;
use vademecum_mcp::{Call, Contents, Resource};
use vademecum_sql::{Engine, Profile, Profiles, System};

/// What the path of such a URI ends in.
const NAME: &str = "system_info";

/// The engines, by the schemes of their URIs.
const SCHEMES: [(&str, Engine); 3] =
    [("pg", Engine::Postgres), ("mysql", Engine::MySql), ("sqlite", Engine::Sqlite)];

/// What such a URI asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools) struct Asked {
    engine: Engine,
    /// The profile; without one, the only one of this engine.
    profile: Option<String>,
}

/// Those that somebody may read.
pub(in crate::tools) fn listed(profiles: &Profiles, principal: &Principal) -> Vec<Resource> {
    let all: Vec<&Arc<Profile>> = profiles.for_principal(principal).collect();
    let listed = all.iter().map(|profile| {
        let engine = profile.engine();
        let is_only = all.iter().filter(|other| other.engine() == engine).count() == 1;
        let name = profile.name();
        let uri = uri(engine, (!is_only).then_some(name));
        Resource {
            uri: uri.into(),
            name: format!("{name}-system-info").into(),
            title: format!("System of `{name}`").into(),
            description: format!(
                "Version, operating system and architecture of the database `{name}`."
            )
            .into(),
            mime_type: "application/json".into(),
        }
    });
    listed.collect()
}

fn uri(engine: Engine, profile: Option<&str>) -> String {
    let scheme = SCHEMES.iter().find(|(_, of)| *of == engine).map_or("pg", |(scheme, _)| scheme);
    match profile {
        Some(profile) => format!("{scheme}://{profile}/{NAME}"),
        None => format!("{scheme}://{NAME}"),
    }
}

impl Asked {
    /// What a URI asks about, if it is one of these.
    pub(in crate::tools) fn parse(uri: &str) -> Option<Self> {
        let (scheme, path) = uri.split_once("://")?;
        let engine = SCHEMES.iter().find(|(known, _)| *known == scheme)?.1;
        let profile = match path.strip_suffix(NAME)? {
            "" => None,
            profile => Some(profile.strip_suffix('/')?.to_owned()),
        };
        Some(Self { engine, profile })
    }

    /// The same, about this profile unless the URI names one.
    pub(super) fn of(self, profile: &str) -> Self {
        Self { profile: self.profile.or_else(|| Some(profile.to_owned())), ..self }
    }

    /// Reads what it asks about.
    pub(in crate::tools) async fn read(
        &self,
        toolbox: &Toolbox,
        uri: &str,
        call: &Call,
    ) -> Result<Contents, CallError> {
        let name = self.profile(toolbox.databases().profiles(), &call.principal, uri)?;
        let connection = connect(toolbox, call, Some(&name)).await?;
        let system = while_wanted(call, System::of(&connection)).await?;
        Ok(Contents::text(uri, "application/json", format!("{:#}", system.to_json())))
    }

    /// The profile that is meant.
    fn profile(
        &self,
        profiles: &Profiles,
        principal: &Principal,
        uri: &str,
    ) -> Result<String, CallError> {
        let all = profiles.for_principal(principal);
        let of_engine: Vec<&str> =
            all.filter(|it| it.engine() == self.engine).map(|it| it.name()).collect();
        match (&self.profile, of_engine.as_slice()) {
            (Some(name), known) if known.contains(&name.as_str()) => Ok(name.clone()),
            (None, [only]) => Ok((*only).to_owned()),
            (None, [_, _, ..]) => {
                let uris: Vec<String> =
                    of_engine.iter().map(|name| self::uri(self.engine, Some(name))).collect();
                let problem = format!("uri: there are several: {}", uris.join(", "));
                Err(CallError::Invalid(problem))
            }
            (Some(_), _) | (None, []) => {
                let known: Vec<String> =
                    listed(profiles, principal).iter().map(|it| it.uri.to_string()).collect();
                let known = known.join(", ");
                Err(CallError::NotFound(format!("no resource `{uri}`; there are: {known}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_an_engine_and_perhaps_a_profile() {
        let asked = |engine, profile: Option<&str>| {
            Some(Asked { engine, profile: profile.map(str::to_owned) })
        };
        for (uri, expected) in [
            ("pg://system_info", asked(Engine::Postgres, None)),
            ("pg://shop/system_info", asked(Engine::Postgres, Some("shop"))),
            ("mysql://system_info", asked(Engine::MySql, None)),
            ("sqlite://attic/system_info", asked(Engine::Sqlite, Some("attic"))),
            ("pg://nope", None),
            ("pg://xsystem_info", None),
            ("notes://system_info", None),
            ("system_info", None),
        ] {
            assert_eq!(Asked::parse(uri), expected, "{uri}");
        }
    }

    #[test]
    fn a_profile_beside_the_uri_does_not_overrule_it() {
        let of = |uri: &str| Asked::parse(uri).unwrap().of("other").profile;
        assert_eq!(of("pg://system_info").as_deref(), Some("other"));
        assert_eq!(of("pg://shop/system_info").as_deref(), Some("shop"));
    }
}
