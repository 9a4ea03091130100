//! The statement of each check and product.

use super::{HealthCheck, ServerProduct};

/// Returns the statement of a check, or `None` if the product has nothing to check.
pub(super) fn check_statement(check: HealthCheck, product: ServerProduct) -> Option<&'static str> {
    match product {
        ServerProduct::Postgres => postgres_statement(check),
        ServerProduct::MySql | ServerProduct::MariaDb => mysql_statement(check, product),
        ServerProduct::Sqlite => sqlite_statement(check),
    }
}

/// Returns true if the statement takes the seconds from which on a transaction counts as long.
pub(super) fn takes_seconds(check: HealthCheck) -> bool {
    check == HealthCheck::Transactions
}

fn postgres_statement(check: HealthCheck) -> Option<&'static str> {
    Some(match check {
        HealthCheck::Overview => include_str!("postgres/overview.sql"),
        HealthCheck::Settings => include_str!("postgres/settings.sql"),
        HealthCheck::Cache => include_str!("postgres/cache.sql"),
        HealthCheck::Bloat => include_str!("postgres/bloat.sql"),
        HealthCheck::Vacuum => include_str!("postgres/vacuum.sql"),
        HealthCheck::Wraparound => include_str!("postgres/wraparound.sql"),
        HealthCheck::DuplicateIndexes => include_str!("postgres/duplicate_indexes.sql"),
        HealthCheck::UnusedIndexes => include_str!("postgres/unused_indexes.sql"),
        HealthCheck::InvalidIndexes => include_str!("postgres/invalid_indexes.sql"),
        HealthCheck::MissingIndexes => include_str!("postgres/missing_indexes.sql"),
        HealthCheck::Locks => include_str!("postgres/locks.sql"),
        HealthCheck::Transactions => include_str!("postgres/transactions.sql"),
        HealthCheck::Replication => include_str!("postgres/replication.sql"),
        HealthCheck::Sequences => include_str!("postgres/sequences.sql"),
        // Only an extension reads all pages.
        HealthCheck::Integrity => return None,
    })
}

fn mysql_statement(check: HealthCheck, product: ServerProduct) -> Option<&'static str> {
    let is_mariadb = product == ServerProduct::MariaDb;
    Some(match check {
        HealthCheck::Overview if is_mariadb => include_str!("mariadb/overview.sql"),
        HealthCheck::Overview => include_str!("mysql/overview.sql"),
        HealthCheck::Settings if is_mariadb => include_str!("mariadb/settings.sql"),
        HealthCheck::Settings => include_str!("mysql/settings.sql"),
        HealthCheck::Cache if is_mariadb => include_str!("mariadb/cache.sql"),
        HealthCheck::Cache => include_str!("mysql/cache.sql"),
        HealthCheck::Bloat => include_str!("mysql/bloat.sql"),
        HealthCheck::DuplicateIndexes => include_str!("mysql/duplicate_indexes.sql"),
        HealthCheck::UnusedIndexes => include_str!("mysql/unused_indexes.sql"),
        HealthCheck::MissingIndexes => include_str!("mysql/missing_indexes.sql"),
        HealthCheck::Locks if is_mariadb => include_str!("mariadb/locks.sql"),
        HealthCheck::Locks => include_str!("mysql/locks.sql"),
        HealthCheck::Transactions => include_str!("mysql/transactions.sql"),
        HealthCheck::Sequences => include_str!("mysql/sequences.sql"),
        HealthCheck::Replication if !is_mariadb => include_str!("mysql/replication.sql"),
        HealthCheck::Replication
        | HealthCheck::Vacuum
        | HealthCheck::Wraparound
        | HealthCheck::InvalidIndexes
        | HealthCheck::Integrity => return None,
    })
}

fn sqlite_statement(check: HealthCheck) -> Option<&'static str> {
    match check {
        HealthCheck::DuplicateIndexes => Some(include_str!("sqlite/duplicate_indexes.sql")),
        HealthCheck::MissingIndexes => Some(include_str!("sqlite/missing_indexes.sql")),
        HealthCheck::Overview => Some(include_str!("sqlite/overview.sql")),
        HealthCheck::Bloat => Some(include_str!("sqlite/bloat.sql")),
        HealthCheck::Vacuum => Some(include_str!("sqlite/vacuum.sql")),
        HealthCheck::Integrity => Some(include_str!("sqlite/integrity.sql")),
        HealthCheck::Settings
        | HealthCheck::Cache
        | HealthCheck::Wraparound
        | HealthCheck::UnusedIndexes
        | HealthCheck::InvalidIndexes
        | HealthCheck::Locks
        | HealthCheck::Transactions
        | HealthCheck::Replication
        | HealthCheck::Sequences => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_sql::guard;

    const PRODUCTS: [ServerProduct; 4] = [
        ServerProduct::Postgres,
        ServerProduct::MySql,
        ServerProduct::MariaDb,
        ServerProduct::Sqlite,
    ];

    #[test]
    fn every_statement_passes_guard() {
        for product in PRODUCTS {
            for check in HealthCheck::ALL {
                let Some(text) = check_statement(check, product) else { continue };
                let engine = product.engine();
                let checked = guard::check_own_query(engine, text);
                assert!(checked.is_ok(), "{product:?} {check:?}: {checked:?}");
            }
        }
    }

    #[test]
    fn only_checks_with_seconds_have_parameters() {
        for product in PRODUCTS {
            for check in HealthCheck::ALL {
                let Some(text) = check_statement(check, product) else { continue };
                let has_parameter = text
                    .lines()
                    .filter(|line| !line.starts_with("--"))
                    .any(|line| line.contains("$1") || line.contains(">= ?"));
                assert_eq!(has_parameter, takes_seconds(check), "{product:?} {check:?}");
            }
        }
    }
}
