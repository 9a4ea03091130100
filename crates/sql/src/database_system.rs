//! Database system behind a profile: product, version and platform.

use serde_json::{Value, json};

use super::{Engine, ProfileConnection, SqlError};
use vademecum_core::config::platform;

/// Value for unknown properties.
const UNKNOWN: &str = "unknown";

/// Database system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSystem {
    /// Product: `postgresql`, `mariadb`, `mysql` or `sqlite`.
    pub product: &'static str,
    /// Version.
    pub version: String,
    /// Version as an increasing number: 150020 is 15.20, 101119 is 10.11.19.
    pub version_number: String,
    /// Full version text of the server.
    pub full_version: String,
    /// Operating system of the server.
    pub operating_system: String,
    /// Target architecture of the build.
    pub architecture: String,
    /// Compiler of the build.
    pub compiler: String,
    /// `64-bit` or `32-bit`.
    pub bit_version: String,
}

impl DatabaseSystem {
    /// Queries the properties of the system.
    pub async fn fetch(connection: &ProfileConnection) -> Result<Self, SqlError> {
        let engine = connection.engine();
        let question = match engine {
            Engine::Postgres => include_str!("catalogue/postgres_system.sql"),
            Engine::MySql => include_str!("catalogue/mysql_system.sql"),
            Engine::Sqlite => include_str!("catalogue/sqlite_system.sql"),
        };
        let rows =
            connection.run_own_query(question, &[], connection.profile().query_caps()).await?;
        let catalog_text =
            |name| rows.catalog_rows().next().and_then(|record| record.optional_text(name));
        let text = |name| catalog_text(name).unwrap_or_else(|| UNKNOWN.to_owned());
        let (version, full_version) = (text("version"), text("full_version"));
        Ok(match engine {
            Engine::Postgres => Self::parse_postgres(version, text("version_number"), full_version),
            Engine::MySql => {
                let architecture = text("architecture");
                Self {
                    product: if version.contains("MariaDB") { "mariadb" } else { "mysql" },
                    version_number: encode_version(&version, 100).to_string(),
                    operating_system: text("operating_system"),
                    compiler: UNKNOWN.to_owned(),
                    bit_version: word_size(&architecture),
                    version,
                    full_version,
                    architecture,
                }
            }
            Engine::Sqlite => {
                let (operating_system, architecture) = platform();
                Self {
                    product: "sqlite",
                    version_number: encode_version(&version, 1_000).to_string(),
                    operating_system: operating_system.to_owned(),
                    architecture: architecture.to_owned(),
                    compiler: text("compiler"),
                    bit_version: format!("{}-bit", usize::BITS),
                    version,
                    full_version,
                }
            }
        })
    }

    /// Parses a text such as `PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by gcc 11.2.0,
    /// 64-bit`.
    fn parse_postgres(version: String, version_number: String, full_version: String) -> Self {
        let on = full_version.split_once(" on ").map_or("", |(_, on)| on);
        let architecture = on.split(',').next().unwrap_or_default();
        let built = on.split_once("compiled by ").map_or("", |(_, built)| built);
        let (compiler, bit_version) = built.rsplit_once(", ").unwrap_or((built, ""));
        let known_or_unknown = |text: &str| if text.is_empty() { UNKNOWN } else { text }.to_owned();
        Self {
            product: "postgresql",
            operating_system: known_or_unknown(architecture.split('-').nth(2).unwrap_or_default()),
            architecture: known_or_unknown(architecture),
            compiler: known_or_unknown(compiler),
            bit_version: known_or_unknown(bit_version),
            version,
            version_number,
            full_version,
        }
    }

    /// Returns the properties as JSON: `{"postgresql_version": …, …}`.
    pub fn to_json(&self) -> Value {
        json!({
            format!("{}_version", self.product): self.version,
            "version_number": self.version_number,
            "full_version": self.full_version,
            "operating_system": self.operating_system,
            "architecture": self.architecture,
            "compiler": self.compiler,
            "bit_version": self.bit_version,
        })
    }
}

/// Combines the first three parts of a version into one number, in base `room`.
fn encode_version(version: &str, room: u64) -> u64 {
    let parts = version.split(|sign: char| !sign.is_ascii_digit()).take(3);
    let parts: Vec<u64> = parts.map(|part| part.parse().unwrap_or_default()).collect();
    (0..3).fold(0, |number, at| number * room + parts.get(at).copied().unwrap_or_default())
}

fn word_size(machine: &str) -> String {
    if machine.contains("64") { "64-bit" } else { "32-bit" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_version_text_is_parsed() {
        let full = "PostgreSQL 15.20 (Debian 15.20-0+deb12u1) on x86_64-pc-linux-gnu, compiled by \
                    gcc (Debian 12.2.0-14) 12.2.0, 64-bit";
        let system = DatabaseSystem::parse_postgres(
            "15.20".to_owned(),
            "150020".to_owned(),
            full.to_owned(),
        );
        assert_eq!(
            system.to_json(),
            json!({
                "postgresql_version": "15.20",
                "version_number": "150020",
                "full_version": full,
                "operating_system": "linux",
                "architecture": "x86_64-pc-linux-gnu",
                "compiler": "gcc (Debian 12.2.0-14) 12.2.0",
                "bit_version": "64-bit",
            })
        );
        let short = DatabaseSystem::parse_postgres(
            "9".to_owned(),
            "9".to_owned(),
            "PostgreSQL 9".to_owned(),
        );
        assert_eq!((short.compiler.as_str(), short.architecture.as_str()), (UNKNOWN, UNKNOWN));
    }

    #[test]
    fn encoded_versions_increase() {
        assert_eq!(encode_version("10.11.19-MariaDB-0+deb12u1", 100), 101_119);
        assert_eq!(encode_version("8.4.0", 100), 80_400);
        assert_eq!(encode_version("3.40.1", 1_000), 3_040_001);
    }
}
