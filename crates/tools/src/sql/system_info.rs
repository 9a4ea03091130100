//! Resources `pg://system_info`, `mysql://system_info` and `sqlite://system_info`: version and
//! platform of a database.
//!
//! A caller with several databases of one engine addresses each as `pg://<profile>/system_info`.

use std::sync::Arc;

use vademecum_actors::CallError;
use vademecum_core::auth::Principal;
use vademecum_mcp::{RequestContext, Resource, ResourceContents};
use vademecum_sql::{DatabaseSystem, Engine, Profile, Profiles};

use super::sql_call::{connect_profile, run_until_cancelled};
use crate::ToolServices;

/// Last path segment of the URI.
const SYSTEM_INFO: &str = "system_info";

/// Engines by URI scheme.
const ENGINE_SCHEMES: [(&str, Engine); 3] =
    [("pg", Engine::Postgres), ("mysql", Engine::MySql), ("sqlite", Engine::Sqlite)];

/// A parsed system information URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SystemInfoUri {
    engine: Engine,
    /// Profile; `None` means the default, or the only one of this engine.
    profile: Option<String>,
}

/// Returns the resources that the principal may read.
pub(crate) fn list_resources(
    profiles: &Profiles,
    principal: &Principal,
    may_write: bool,
) -> Vec<Resource> {
    let all: Vec<&Arc<Profile>> = profiles.visible_profiles(principal).collect();
    let listed = all.iter().map(|profile| {
        let engine = profile.engine();
        let is_only = all.iter().filter(|other| other.engine() == engine).count() == 1;
        let name = profile.name();
        let uri = system_info_uri(engine, (!is_only).then_some(name));
        Resource {
            uri: uri.into(),
            name: format!("{name}-system-info").into(),
            title: format!("System of `{name}`").into(),
            description: format!(
                "Version, operating system and architecture of the database `{name}`, which is {}.",
                profile.mode(may_write)
            )
            .into(),
            mime_type: "application/json".into(),
        }
    });
    listed.collect()
}

fn system_info_uri(engine: Engine, profile: Option<&str>) -> String {
    let scheme =
        ENGINE_SCHEMES.iter().find(|(_, of)| *of == engine).map_or("pg", |(scheme, _)| scheme);
    match profile {
        Some(profile) => format!("{scheme}://{profile}/{SYSTEM_INFO}"),
        None => format!("{scheme}://{SYSTEM_INFO}"),
    }
}

impl SystemInfoUri {
    /// Parses a URI; `None` if it is not a system information URI.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let (scheme, path) = uri.split_once("://")?;
        let engine = ENGINE_SCHEMES.iter().find(|(known, _)| *known == scheme)?.1;
        let profile = match path.strip_suffix(SYSTEM_INFO)? {
            "" => None,
            profile => Some(profile.strip_suffix('/')?.to_owned()),
        };
        Some(Self { engine, profile })
    }

    /// Sets the profile, unless the URI names one.
    pub(super) fn with_profile(self, profile: &str) -> Self {
        Self { profile: self.profile.or_else(|| Some(profile.to_owned())), ..self }
    }

    /// Reads the system information from the database.
    pub(crate) async fn read_system_info(
        &self,
        services: &ToolServices,
        uri: &str,
        call: &RequestContext,
    ) -> Result<ResourceContents, CallError> {
        let name = self.profile(services.databases.profiles(), &call.principal, uri)?;
        let connection = connect_profile(services, call, Some(&name)).await?;
        let system = run_until_cancelled(call, DatabaseSystem::fetch(&connection)).await?;
        Ok(ResourceContents::text(uri, "application/json", format!("{:#}", system.to_json())))
    }

    /// Resolves the profile. Fails if it is unknown or, without a name, not unique.
    fn profile(
        &self,
        profiles: &Profiles,
        principal: &Principal,
        uri: &str,
    ) -> Result<String, CallError> {
        let all = profiles.visible_profiles(principal);
        let of_engine: Vec<&str> =
            all.filter(|it| it.engine() == self.engine).map(|it| it.name()).collect();
        let default = match profiles.marked_default(principal) {
            Ok(Some(default)) if default.engine() == self.engine => Some(default.name().to_owned()),
            Ok(_) | Err(_) => None,
        };
        match (self.profile.as_ref().or(default.as_ref()), of_engine.as_slice()) {
            (Some(name), known) if known.contains(&name.as_str()) => Ok(name.clone()),
            (None, [only]) => Ok((*only).to_owned()),
            (None, [_, _, ..]) => {
                let uris: Vec<String> = of_engine
                    .iter()
                    .map(|name| self::system_info_uri(self.engine, Some(name)))
                    .collect();
                let problem =
                    format!("uri: matches several databases; use one of {}", uris.join(", "));
                Err(CallError::Invalid(problem))
            }
            (Some(_), _) | (None, []) => {
                let known: Vec<String> = list_resources(profiles, principal, false)
                    .iter()
                    .map(|it| it.uri.to_string())
                    .collect();
                let known = known.join(", ");
                Err(CallError::NotFound(format!("no resource `{uri}`; available: {known}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_has_engine_and_optional_profile() {
        let parsed = |engine, profile: Option<&str>| {
            Some(SystemInfoUri { engine, profile: profile.map(str::to_owned) })
        };
        for (uri, expected) in [
            ("pg://system_info", parsed(Engine::Postgres, None)),
            ("pg://shop/system_info", parsed(Engine::Postgres, Some("shop"))),
            ("mysql://system_info", parsed(Engine::MySql, None)),
            ("sqlite://attic/system_info", parsed(Engine::Sqlite, Some("attic"))),
            ("pg://nope", None),
            ("pg://xsystem_info", None),
            ("notes://system_info", None),
            ("system_info", None),
        ] {
            assert_eq!(SystemInfoUri::parse(uri), expected, "{uri}");
        }
    }

    #[test]
    fn profile_in_uri_wins_over_argument() {
        let of = |uri: &str| SystemInfoUri::parse(uri).unwrap().with_profile("other").profile;
        assert_eq!(of("pg://system_info").as_deref(), Some("other"));
        assert_eq!(of("pg://shop/system_info").as_deref(), Some("shop"));
    }
}
